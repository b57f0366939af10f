"""Derivatives of the determinant, of any order and of any matrix: singular, nearly singular, badly scaled.

The determinant is a polynomial, so its derivatives are sums of minors. By det(A) A^-1 they are differences of large
numbers, of which nothing is left near a singular matrix. By singular values nothing is divided: with A = U S V^H,
det(A + T) = det(U) det(V^H) det(S + U^H T V), whose derivatives are products of the other singular values.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import conj, fitted, hermitian

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _balanced(a: Array) -> tuple[Array, Array]:
    """Powers of two for rows and for columns that bring the largest element of each near 1."""
    size: Array = np.abs(a)
    rows: Array = np.zeros((*a.shape[:-1], 1), int)
    columns: Array = np.zeros((*a.shape[:-2], 1, a.shape[-1]), int)
    for _ in range(2):
        rows -= np.frexp(np.max(np.ldexp(size, rows + columns), axis=-1, keepdims=True))[1]
        columns -= np.frexp(np.max(np.ldexp(size, rows + columns), axis=-2, keepdims=True))[1]
    most = np.finfo(a.dtype).maxexp // 2 - 1
    return np.clip(rows, -most, most), np.clip(columns, -most, most)


def _products_of_others(s: Array, order: int, power: Array) -> Array:
    """The product of all of `s` but `order` of them, for each choice, over 2 to the `power`; 0 for one chosen twice."""
    fractions, exponents = np.frexp(s)
    small = fractions < 0.7  # so that products of many neither overflow nor underflow
    fractions, exponents = np.where(small, 2 * fractions, fractions), exponents - small
    left: Array = np.sum(exponents, axis=-1) - power
    n, out = s.shape[-1], fractions
    same: Array = np.eye(n, dtype=bool)
    for k in range(order):
        out = np.where(same, 1, out[..., None, :])
        left = left[..., None] - exponents.reshape(exponents.shape[:-1] + (1,) * k + (n,))
    out = np.ldexp(np.prod(out, axis=-1), left)
    for j in range(order):
        for i in range(j):
            out = np.where(same.reshape([n if k in (i, j) else 1 for k in range(order)]), 0, out)
    return out


def _sum_of_minors(products: Array, directions: list[Array]) -> Array:
    """The derivative of det(S + sum of e_k X_k) by each e_k and by one more matrix, at 0."""
    order, n = len(directions), products.shape[-1]
    total: Array = 0
    for places in permutations(range(order + 1)):
        odd = sum(places[i] > places[j] for j in range(order + 1) for i in range(j)) % 2
        pairs = [_LETTERS[k] + _LETTERS[place] for k, place in enumerate(places)]
        on_diagonal = places[order] == order
        last = pairs.pop()[: 1 if on_diagonal else 2]
        terms = ",".join(f"...{x}" for x in (_LETTERS[: order + 1], *pairs))
        term = np.einsum(f"{terms}->...{last}", products, *directions)
        term = term[..., None] * np.eye(n, dtype=term.dtype) if on_diagonal else term
        total = total - term if odd else total + term
    return total


def _cotangents(g: Array, arrays: Array, needs: Value) -> list[Array]:
    """The derivatives are symmetric in the directions, and of the next order by the matrix."""
    a, *directions = arrays
    g = conj(g)
    found = {}
    if 0 in needs:
        found[0] = minors(a, *directions, g)
    for k in range(1, len(arrays)):
        if k in needs:
            found[k] = minors(a, *directions[: k - 1], *directions[k:], g)
    return [fitted(conj(found[k]), x.shape) if k in found else None for k, x in enumerate(arrays)]


def _tangent(t: Array, arrays: Array) -> Array:
    a, *directions = arrays
    shares = [] if t[0] is None else [minors(a, *directions, t[0])]
    for k, moved in enumerate(t[1:]):
        if moved is not None:
            shares.append(minors(a, *directions[:k], moved, *directions[k + 1 :]))
    return sum(shares[1:], shares[0])


def _by_singular_values(a: Array, directions: list[Array]) -> Array:
    dtype = np.result_type(a, *directions, np.float32)
    n, eps = a.shape[-1], np.finfo(dtype).eps
    finite = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)
    a = np.where(finite, a, 0)
    rows, columns = _balanced(a)
    one = np.finfo(dtype).dtype.type(1)
    u, s, vh = np.linalg.svd(a * np.ldexp(one, rows + columns))
    s = np.where(s > n * eps * s[..., :1], s, 0)  # what rounding alone would make is 0
    power = np.sum(rows, axis=(-2, -1)) + np.sum(columns, axis=(-2, -1))
    common = power // n  # of what multiplies the directions and the result: so nothing underflows between
    power = power - common * (len(directions) + 1)
    scale = np.ldexp(one, rows + columns - common[..., None, None])
    inner = [np.matmul(np.matmul(hermitian(u), x * scale), hermitian(vh)) for x in directions]
    total = _sum_of_minors(_products_of_others(s, len(inner) + 1, power), inner)
    sign = (np.linalg.slogdet(u)[0] * np.linalg.slogdet(vh)[0])[..., None, None]
    out = np.matmul(np.matmul(conj(u), total), conj(vh)) * sign * scale
    return np.where(finite, out, np.nan).astype(dtype, copy=False)


@general(
    vjp=_cotangents,
    jvp=_tangent,
    batch="elementwise",
    samples=lambda r: [
        call(r(3, 3)),
        call(np.ones((3, 3)) + 0.0, r(3, 3)),
        call(r(2, 3, 3), r(3, 3)),
        call(r(3, 3) + 1j * r(3, 3), r(3, 3)),
        call(r(4, 4), r(2, 4, 4), r(4, 4)),
    ],
    flags=("raises", "host"),
)
def minors(*arrays: Array) -> Array:
    """The derivative of det(a) in the directions that follow, and by the matrix: of a alone, its cofactors."""
    a, *directions = arrays
    if len(arrays) > a.shape[-1]:
        return np.zeros(np.broadcast_shapes(*(x.shape for x in arrays)), np.result_type(*arrays))
    if directions:
        return _by_singular_values(a, directions)
    det = np.linalg.det(a)
    regular = np.abs(det) > np.finfo(det.dtype).tiny / np.finfo(det.dtype).eps
    if np.all(regular):
        return np.multiply(det[..., None, None], np.swapaxes(np.linalg.inv(a), -1, -2), order="C")
    out = np.empty(a.shape, det.dtype)
    out[regular] = det[regular][:, None, None] * np.swapaxes(np.linalg.inv(a[regular]), -1, -2)
    out[~regular] = _by_singular_values(a[~regular], directions)
    return out
