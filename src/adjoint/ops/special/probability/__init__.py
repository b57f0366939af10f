"""Incomplete gamma and beta functions, and the distributions of `scipy.special` that are made of them.

In: arrays that broadcast. Out: an array of their common shape. Derivatives are by all arguments, also by shapes.
"""
