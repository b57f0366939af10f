"""Reductions: sums, extremes, moments, norms, running sums, statistics, histograms.

In: an array, and the axes to reduce. Out: an array without these axes (running sums keep them).
"""
