"""Linear algebra: products, equations, factors, determinants, eigenvalues, singular values, least squares.

In: matrices and stacks of them. Out: arrays, or named tuples of them. `lapack` and `matrices` hold what the rules
share.
"""
