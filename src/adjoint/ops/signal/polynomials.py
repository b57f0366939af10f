"""Polynomials as NumPy's older functions have them: coefficients from the highest power down."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import beside, refuse_foreign
from adjoint.core.box import Box, raw
from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError, BatchedValueError, NotSupportedError, ShapeError
from adjoint.core.late import service
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Axis, Value


def _row(x: Array) -> Array:
    x = x if hasattr(x, "shape") else np.asarray(x)
    return np.atleast_1d(x)


@composite(
    np.poly,
    samples=lambda r: [call(r(3)), call(r(2) + 1j * r(2)), call(r(3, 3) + np.diag([3.0, 6.0, 9.0]))],
    errors=lambda r: [call(r(2, 3))],
)
def poly(seq_of_zeros: Array) -> Array:
    """The coefficients of the polynomial with these roots, or of a matrix's characteristic polynomial."""
    zeros = _row(seq_of_zeros)
    if zeros.shape == (0,):
        return 1.0
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1]:
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ArgumentError(f"np.poly takes roots, or a square matrix; got an array of shape {zeros.shape}")
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char))
    result = beside(zeros, np.ones((1,), zeros.dtype))
    for i in range(zeros.shape[0]):
        nothing = beside(zeros, np.zeros((1,), zeros.dtype))
        result = np.concatenate([result, nothing]) - np.concatenate([nothing, result * zeros[i]])
    plain = raw(zeros)
    if plain.dtype.kind == "c":
        refuse_foreign((plain,))
    paired = plain.dtype.kind == "c" and np.array_equal(np.sort(plain), np.sort(plain.conjugate()))
    return np.real(result) if paired else result


@composite(
    np.roots,
    flags=("host",),
    samples=lambda r: [call(np.array([1.0, -6.0, 11.0, -6.5])), call([0.0, 2.0, r(), 1.5, 0.0])],
)
def roots(p: Array) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix."""
    p = p if hasattr(p, "shape") else np.stack([_row(c)[0] for c in p])
    p = _row(p)
    if p.ndim != 1:
        raise ArgumentError(f"np.roots takes one row of coefficients; got an array of shape {p.shape}")
    if not p.shape[0]:
        return np.zeros(0)
    given = np.not_equal(raw(p).reshape(-1, p.shape[0]), 0)  # a row a sample, inside vmap
    kept = np.flatnonzero(given.any(axis=0))
    if not given[:, kept[:1]].all() or not given[:, kept[-1:]].all():
        raise BatchedValueError(
            "np.roots inside vmap: the first or the last coefficient is 0 for some samples only, so the number of "
            "roots differs. Call it for one sample after another"
        )
    if not kept.size:
        return np.array([])
    at_zero = p.shape[0] - int(kept[-1]) - 1
    whole: Value = p[int(kept[0]) :]
    p = p[int(kept[0]) : int(kept[-1]) + 1]
    p = p if p.dtype.kind in "fc" else p.astype(float)
    n = p.shape[0] - 1
    if n:
        companion = np.concatenate([np.reshape(-p[1:] / p[0], (1, n)), np.eye(n - 1, n, dtype=p.dtype)])
        found = np.linalg.eigvals(companion)
    else:
        found = np.zeros(0)
    found = np.concatenate([found, np.zeros(at_zero, found.dtype)]) if at_zero else found
    moves = at_zero == 1 and isinstance(whole, Box)
    if moves:  # its coefficient moves all roots: Newton's steps see it
        for _ in range(2):
            step = np.polyval(whole, found) / np.polyval(np.polyder(whole), found)
            found = found - (step - detached(step))  # of the same value
    return found


@composite(
    np.polydiv,
    samples=lambda r: [call(r(5), r(3, low=0.5, high=2)), call(r(2), r(3, low=0.5, high=2))],
    flags=("host",),
)
def polydiv(u: Array, v: Array) -> Array:
    """Quotient and remainder, by long division."""
    u, v = _row(u) * 1.0, _row(v) * 1.0
    if not u.size or not v.size:
        raise ShapeError("np.polydiv takes rows of one coefficient or more; got an empty one")
    u = u.astype(np.result_type(u, v))
    m, n = u.shape[0] - 1, v.shape[0] - 1
    quotient = []
    for k in range(m - n + 1):
        factor = 1.0 / v[0] * u[k]
        quotient.append(factor)
        parts = [u[:k], u[k : k + n + 1] - factor * v, u[k + n + 1 :]]
        u = np.concatenate(parts)
    plain = raw(u)
    first = 0
    while first < u.shape[0] - 1 and np.allclose(plain[..., first], 0, rtol=1e-14):
        first += 1
    return np.stack(quotient) if quotient else np.zeros((1,), np.result_type(u, v)), u[first:]


@composite(
    np.polyfit,
    flags=("host",),
    samples=lambda r: [
        call(np.array([-1.0, -0.3, 0.4, 1.1, 1.7]), r(5), 2),
        call(np.array([-1.0, -0.3, 0.4, 1.1]), r(4, 2), 1, w=r(4, low=0.5, high=2)),
        call(np.array([-1.0, -0.3, 0.4, 1.1, 1.7]), r(5), 1, cov=True),
    ],
    errors=lambda r: [call(r(3), r(4), 1), call(r(3), r(3), -1), call(r(5), r(5), 1, full=True)],
)
def polyfit(
    x: Array, y: Array, deg: Value, rcond: Value = None, full: bool = False, w: Array = None, cov: object = False
) -> Array:
    """The least-squares polynomial; differentiable in `x`, `y` and `w`."""
    x, y = _row(x) + 0.0, _row(y) + 0.0
    if np.ndim(deg) or int(deg) != deg or deg < 0:
        raise ArgumentError(f"np.polyfit on a tensor takes one degree, a whole number from 0 up; got {deg!r}")
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0] or not x.shape[0]:
        raise TypeError(f"np.polyfit takes as many x as y, one or more; got shapes {x.shape} and {y.shape}")
    if full:
        raise NotSupportedError("np.polyfit(full=True) of a tensor; call np.linalg.lstsq(np.vander(x, deg + 1), y)")
    powers, target = np.vander(x, int(deg) + 1), y
    if w is not None:
        if np.shape(w) != x.shape or np.iscomplexobj(w):
            raise TypeError(f"np.polyfit: w is a real weight for each x, of shape {x.shape}; got shape {np.shape(w)}")
        w = _row(w) + 0.0
        powers = (powers * w[:, None]).astype(powers.dtype)  # in place, as NumPy weighs them
        target = (target * (w[:, None] if y.ndim == 2 else w)).astype(target.dtype)
    scale = np.sqrt(np.sum(np.square(powers), axis=0))
    rcond = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    c, _, rank, _ = np.linalg.lstsq(powers / scale, target, rcond)
    if rank != deg + 1:
        service("warn at each call")("Polyfit may be poorly conditioned", np.exceptions.RankWarning)
    c = c / (scale[:, None] if y.ndim == 2 else scale)
    if not cov:
        return c
    base = np.linalg.inv(np.matmul((powers / scale).T, powers / scale)) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        spread: Value = 1.0
    else:
        if x.shape[0] <= deg + 1:
            raise ArgumentError(f"np.polyfit(cov=True) of degree {deg} needs more than {deg + 1} points")
        apart = target - np.matmul(powers, c)
        squares = np.square(np.real(apart)) + np.square(np.imag(apart)) if np.iscomplexobj(apart) else np.square(apart)
        spread = np.sum(squares, axis=0) / (x.shape[0] - deg - 1)
    return c, base[:, :, None] * spread if y.ndim == 2 else base * spread


@composite(
    np.trim_zeros,
    flags=("host",),
    samples=lambda r: [call(r(4)), call(r(2, 3), "f", axis=1)],
    errors=lambda r: [call(r(3), "x")],
)
def trim_zeros(filt: Array, trim: str = "fb", axis: Axis = None) -> Array:
    """`numpy.trim_zeros`: a slice, chosen by the values."""
    shape = np.shape(filt)
    trim = trim.lower()
    if trim not in ("f", "b", "fb", "bf"):
        raise ArgumentError(f"np.trim_zeros: trim is 'f', 'b' or 'fb'; got {trim!r}")
    axes = range(len(shape)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, len(shape))
    if not axes:
        return filt
    found = {_extent(one, axes, trim) for one in np.reshape(raw(filt), (-1 if 0 not in shape else 1, *shape))}
    if not found:
        raise BatchedValueError(
            "vmap over no samples: what np.trim_zeros leaves has no shape. Leave the call out when there are none"
        )
    if len(found) > 1:
        raise BatchedValueError(
            "np.trim_zeros inside vmap: what is left has not the same shape for all samples. Call it for one sample "
            "after another"
        )
    return filt[tuple(slice(*ends) for ends in found.pop())]


def _extent(x: Array, axes: Axis, trim: str) -> tuple[tuple[int | None, int | None], ...]:
    """Where along each axis the zeros end, and where they start again."""
    at = np.argwhere(x)
    start = at.min(axis=0) if len(at) else np.asarray(x.shape)
    stop = at.max(axis=0) + 1 if len(at) else np.zeros(x.ndim, int)
    return tuple(
        (int(start[i]) if i in axes and "f" in trim else None, int(stop[i]) if i in axes and "b" in trim else None)
        for i in range(x.ndim)
    )
