"""Linear algebra: products, equations, factors, determinants, eigenvalues, singular values, least squares.

In: matrices and stacks of them. Out: arrays, or named tuples of them.

- products: `products`, `einsum`; the array API's names: `array_api`
- equations: `solving`, `triangular`, `least_squares`; how well they are posed: `conditioning`
- factors: `cholesky`, `lu`, `qr`
- determinants: `determinants`; their derivatives, of any order: `minors`
- eigenvalues and singular values: `eigen`, `svd`; the free phases of vectors: `phases`; equal values: `gaps`
- what the rules share: `lapack`, `matrices`
"""
