"""Linear algebra: products, equations, factors, determinants, eigenvalues, singular values, least squares.

In: matrices and stacks of them. Out: arrays, or named tuples of them.

- products: `products`, `einsum`; the array API's names: `array_api`
- how well equations are posed: `conditioning`
- determinants: `determinants`; their derivatives, of any order: `minors`
- in folders: `equations`; `factors`, eigenvalues and singular values among them
- what the rules share: `lapack`, `matrices`
"""
