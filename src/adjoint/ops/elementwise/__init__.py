"""Functions of each element by itself: arithmetic, powers and logarithms, circles, comparisons, complex parts.

In: arrays that broadcast. Out: an array of their common shape. A rule is the partial derivative by each argument.
"""
