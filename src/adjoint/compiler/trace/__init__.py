"""Trace through a twin: what a function reads becomes guards and inputs, what it writes is done after the call."""
