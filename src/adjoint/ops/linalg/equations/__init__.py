"""Equations: with one matrix or a stack of them (`solving`), with one triangle (`triangular`), and least squares."""
