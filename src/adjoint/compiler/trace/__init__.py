"""Tracing through a twin: what a function reads becomes guards and inputs; what it writes is written after the call."""
