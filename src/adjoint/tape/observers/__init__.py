"""Observers of a graph or of a backward pass: hooks, saved values, anomalies, tables, lines of source.

In: nodes, residuals and cotangents of the tape. Out: the same ones, or what an observer replaced them by.
"""
