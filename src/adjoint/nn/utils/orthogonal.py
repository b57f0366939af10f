"""Weights whose columns, or rows if there are fewer of these, stay orthogonal and of length 1."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.late import service
from adjoint.core.types import Array
from adjoint.nn.init import Rng
from adjoint.nn.module import Module
from adjoint.nn.utils.parametrize import register_parametrization
from adjoint.tape.tensor import Tensor

_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """An orthogonal matrix from any matrix; and behind a fixed one, `base`, if there is one."""

    base: Tensor

    def __init__(self, way: str, use_trivialization: bool, rng: Rng) -> None:
        self.way, self.use_trivialization, self.rng = way, use_trivialization, np.random.default_rng(rng)

    def forward(self, x: Array) -> Array:
        lying = x.shape[-2] < x.shape[-1]
        x = np.swapaxes(x, -1, -2) if lying else x
        q = _reflected(x) if self.way == "householder" else _rotation(x, self.way)
        q = np.matmul(self.base, q) if self.use_trivialization else q
        return np.swapaxes(q, -1, -2) if lying else q

    def right_inverse(self, weight: Array) -> Array:
        """What gives `weight`, if it is orthogonal; else an orthogonal matrix that is made from it."""
        w = weight.detach().numpy() if isinstance(weight, Tensor) else np.asarray(weight)
        lying = w.shape[-2] < w.shape[-1]
        tall = np.swapaxes(w, -1, -2) if lying else w
        n, k = tall.shape[-2:]
        if not self.use_trivialization:
            if self.way != "householder":
                raise NotImplementedError(  # which `register_parametrization` asks for
                    f"orthogonal: {self.way!r} has no inverse; with use_trivialization=True, a weight can be set"
                )
            h, tau = np.linalg.qr(tall, mode="raw")
            found = np.array(np.swapaxes(h, -1, -2))
            i = np.arange(k)
            found[..., i, i] = np.where(tau == 0, -1, 1) * np.sign(found[..., i, i])
            return np.array(np.swapaxes(found, -1, -2)) if lying else found
        if n > k:
            more = self.rng.standard_normal((*tall.shape[:-1], n - k)).astype(w.dtype)
            tall = np.concatenate([tall, more], axis=-1)
        if n > k or not _is_orthogonal(tall):
            q, r = np.linalg.qr(tall)
            tall = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
        self.register_buffer("base", np.array(tall))
        return np.array(np.broadcast_to(-np.eye(*w.shape[-2:], dtype=w.dtype), w.shape))


def _is_orthogonal(q: np.ndarray) -> bool:
    n = q.shape[-1]
    near = 10 * n * np.finfo(q.dtype).eps
    return bool(np.allclose(np.matmul(np.conj(np.swapaxes(q, -1, -2)), q), np.eye(n), rtol=1e-5, atol=near))


def _rotation(x: Array, way: str) -> Array:
    """The exponential, or Cayley's transform, of the skew matrix with what is below the diagonal of `x`."""
    n, k = x.shape[-2:]
    x = np.tril(x)
    if n > k:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], n - k), x.dtype)], axis=-1)
    a = x - np.conj(np.swapaxes(x, -1, -2))
    if way == "matrix_exp":
        q = service("scipy").linalg.expm(a)
    else:
        one = np.eye(n, dtype=a.dtype)
        q = np.linalg.solve(one - a / 2, one + a / 2)
    return q[..., :k]


def _reflected(x: Array) -> Array:
    """The product of the reflections that the columns below the diagonal define, times the signs on the diagonal.

    Together they are ``1 - v t⁻¹ vᵀ`` with a triangular t (Schreiber and Van Loan, 1989).
    """
    n, k = x.shape[-2:]
    signs = np.trunc(np.diagonal(x.detach() if isinstance(x, Tensor) else x, axis1=-2, axis2=-1))
    one = np.eye(n, k, dtype=x.dtype)
    v = np.tril(x, -1) + one
    products = np.matmul(np.swapaxes(v, -1, -2), v)
    t = np.triu(products, 1) + products * (one[:k] / 2)
    q = one - np.matmul(v, np.linalg.solve(t, np.swapaxes(v[..., :k, :], -1, -2)))
    return q * signs[..., None, :]


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
    rng: Rng = None,
) -> Module:
    """Keep a weight orthogonal: its columns, or its rows if it has fewer of these, have length 1 and product 0.

    Args:
        module: has the weight.
        name: its name.
        orthogonal_map: what makes a matrix orthogonal: "matrix_exp" (Lezcano-Casado and Martínez-Rubio, 2019), "cayley"
            or "householder". If not given, the first for square and complex ones, the last for others.
        use_trivialization: learn the change from the present weight (Lezcano-Casado, 2019), not from the identity.
        rng: draws the columns that are added to a weight with fewer columns than rows, to make it square.

    Raises:
        ArgumentError: for another map, or a weight that it does not take.
        ShapeError: if the weight is no matrix, nor a stack of matrices.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 5, rng=0), rng=1)
        >>> bool(np.allclose(layer.weight.T @ layer.weight, np.eye(3)))
        True
    """
    weight = getattr(module, name)
    if weight.ndim < 2:
        raise ShapeError(f"orthogonal: the weight is a matrix, or a stack of them; {name!r} has shape {weight.shape}")
    is_complex = weight.dtype.kind == "c"
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or is_complex else "householder"
    if orthogonal_map not in _MAPS or (is_complex and orthogonal_map == "householder"):
        raise ArgumentError(
            f"orthogonal: orthogonal_map is one of {', '.join(map(repr, _MAPS))}, the last for real weights; got "
            f"{orthogonal_map!r} for {weight.dtype}"
        )
    return register_parametrization(module, name, _Orthogonal(orthogonal_map, use_trivialization, rng))
