"""The universal functions of `scipy.special`. Loaded when SciPy is in use, and not before.

In: arrays that broadcast. Out: an array of their common shape. `forms` makes a function of SciPy's into an operation.
"""
