"""Functions that depend on the order of elements: sorting, quantiles, sets, extremes with their positions.

In: arrays of numbers that compare. Out: some of their elements. A gradient goes back to the elements that were taken.
"""
