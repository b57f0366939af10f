"""Factors of matrices, and equations solved with factors that are kept.

- `cholesky`, `lu`, `qr`
- eigenvalues and singular values: `eigen`, `svd`; the free phases of vectors: `phases`; equal values: `gaps`
"""
