"""Decompositions whose factors the matrix does not determine: refused, with what depends on it smoothly."""

from __future__ import annotations

from adjoint.scipy.refused import refused

_PAIR = (
    "of tensors is not there: its factors can be turned without changing the pair. Compute the eigenvalues, "
    "np.linalg.eigvals(np.linalg.solve(B, A)), or the form of one matrix, scipy.linalg.schur(np.linalg.solve(B, A))"
)
qz = refused("linalg.qz", f"scipy.linalg.qz {_PAIR}")
ordqz = refused("linalg.ordqz", f"scipy.linalg.ordqz {_PAIR}")
cossin = refused(
    "linalg.cossin",
    "scipy.linalg.cossin of tensors is not there: its factors can be turned without changing the matrix. Compute the "
    "angles: np.arccos(np.linalg.svd(X[:p, :q], compute_uv=False))",
)
