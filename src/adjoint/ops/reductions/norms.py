"""Norms of vectors and matrices. At kinks the gradient is the smallest subgradient: 0 at 0, even shares at ties."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import is_foreign
from adjoint.core.box import Box, raw
from adjoint.core.constructors import composite, general, unreduced
from adjoint.core.errors import ArgumentError, NotDifferentiableError
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.reductions.sums import axes_of, refuse_axes_of_number


def _direction(g: Array, a: Array, out: Array, axis: Axis, keepdims: bool) -> Array:
    """g a / |a|, and 0 at 0; of half precision by the norm in single precision, since squares end at 65504."""
    if out.dtype.char != "e":
        return _towards(g, a, out, axis, keepdims)
    wide = a.astype(np.float32)
    norm = euclidean_norm(wide, axis=axis, keepdims=keepdims)
    return _towards(g.astype(np.float32), wide, norm, axis, keepdims).astype(np.float16)


def _towards(g: Array, a: Array, out: Array, axis: Axis, keepdims: bool) -> Array:
    shape = np.shape(a)
    g, out = unreduced(g, shape, axis, keepdims), unreduced(out, shape, axis, keepdims)
    return a * (g / np.where(np.equal(out, 0), 1.0, out))


def _along(t: Array, a: Array, out: Array, axis: Axis, keepdims: bool) -> Array:
    """The real part of the inner product of t and a / |a|."""
    units = _direction(np.ones_like(out), a, out, axis, keepdims)
    return _product(units, t, axis, keepdims)


def _product(a: Array, t: Array, axis: Axis, keepdims: bool) -> Array:
    terms = np.real(np.conj(a) * t) if a.dtype.kind == "c" else a * t
    return np.sum(terms, axis=axis, keepdims=keepdims)


@general(
    vjp=_direction,
    jvp=_along,
    samples=lambda r: [
        call(r(5)),
        call(r(3, 4), axis=1),
        call(r(2, 3, 4), axis=(0, 2), keepdims=True),
        call(r(3) + 1j * r(3)),
    ],
)
def euclidean_norm(a: Array, /, axis: Axis = None, keepdims: bool = False) -> Array:
    if axis is None and not keepdims:
        return np.linalg.norm(a)
    if is_foreign(a):  # of all axes, where NumPy's `norm` is for vectors and matrices
        return np.sqrt(np.sum(np.real(a * np.conj(a)), axis=axis, keepdims=keepdims))
    return np.linalg.vector_norm(a, axis=axis, keepdims=keepdims)


def _p_direction(g: Array, a: Array, out: Array, ord: float, axis: Axis, keepdims: bool) -> Array:
    """g sign(a) (|a| / |a|_p)**(p - 1); the ratio neither overflows nor divides by 0."""
    shape = np.shape(a)
    g, out = unreduced(g, shape, axis, keepdims), unreduced(out, shape, axis, keepdims)
    zero = np.equal(a, 0) | np.equal(out, 0)
    ratio = np.where(zero, 1.0, np.abs(a)) / np.where(np.equal(out, 0), 1.0, out)
    return np.where(zero, 0.0, g * np.sign(a) * ratio ** (ord - 1))


@general(
    vjp=_p_direction,
    jvp=lambda t, a, out, ord, axis, keepdims: _product(
        _p_direction(np.ones_like(out), a, out, ord, axis, keepdims), t, axis, keepdims
    ),
    samples=lambda r: [
        call(r(5), ord=3.0),
        call(r(3, 4), ord=1.5, axis=1),
        call(r(2, 3, low=0.5, high=2), ord=-2, axis=(0, 1), keepdims=True),
    ],
)
def p_norm(a: Array, /, ord: float = 2, axis: Axis = None, keepdims: bool = False) -> Array:
    if is_foreign(a):
        return np.sum(np.abs(a) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)
    return np.linalg.vector_norm(a, axis=axis, keepdims=keepdims, ord=ord)


def _vector(x: Array, ord: Value, axis: Axis, keepdims: bool) -> Array:
    moves = isinstance(ord, Box) and np.all(np.isfinite(raw(ord)))
    if moves:  # the order has a gradient, too
        return np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)
    if ord is None or ord == 2:
        return euclidean_norm(x, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ArgumentError(f"the norm of a vector takes ord=a number, inf or -inf; got {ord!r}, which is for matrices")
    if ord == 0:
        return np.sum(np.not_equal(x, 0).astype(x.real.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if np.isinf(ord):
        return (_largest if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    return p_norm(x, ord=ord, axis=axis, keepdims=keepdims)


def _matrix(x: Array, ord: Value, axis: tuple[int, int], keepdims: bool) -> Array:
    if isinstance(ord, Box):
        raise NotDifferentiableError("the norm of a matrix has no derivative by its order: pass ord as a plain number")
    if ord is None or ord in ("fro", "f"):
        return euclidean_norm(x, axis=axis, keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        rows, columns = axis if ord in (1, -1) else axis[::-1]
        sums = np.sum(np.abs(x), axis=rows, keepdims=True)
        result = (_largest if ord > 0 else np.min)(sums, axis=columns, keepdims=True)
    elif ord in (2, -2, "nuc"):
        s = np.linalg.svdvals(np.moveaxis(x, axis, (-2, -1)))
        reduce: Value = {2: _largest, -2: np.min, "nuc": np.sum}[ord]
        result = reduce(s, axis=-1)
        return np.expand_dims(result, tuple(sorted(axis))) if keepdims else result
    else:
        raise ArgumentError(f"the norm of a matrix takes ord='fro', 'nuc', 1, -1, 2, -2, inf or -inf; got {ord!r}")
    return result if keepdims else np.squeeze(result, axis)


def _largest(x: Array, axis: Axis, keepdims: bool = False) -> Array:
    """The largest of numbers that are not negative; 0 of none."""
    if not np.size(x):
        return np.max(x, axis=axis, keepdims=keepdims, initial=0.0)
    return np.max(x, axis=axis, keepdims=keepdims)


def _floating(x: Array) -> Array:
    return x if np.result_type(x).kind in "fc" else x.astype(float)


@composite(
    np.linalg.norm,
    flags=("number",),
    samples=lambda r: [
        call(r(5)),
        call(r(2, 3, 2)),
        *(call(r(5), ord=k) for k in (1, 2, 3, 0.5, np.inf, -np.inf)),
        *(call(r(3, 2), ord=k) for k in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
        call(r(2, 3, 4), 3, axis=1, keepdims=True),
        call(r(2, 3, 4), axis=(0, 2), keepdims=True),
        call(r(2, 3, 4), 1, axis=(2, 0)),
        call(r(2, 3, 4), "nuc", axis=(2, 0), keepdims=True),
    ],
    errors=lambda r: [call(r(3), "fro"), call(r(3, 3), 3), call(r(2, 2, 2), 1)],
)
def norm(x: Array, ord: Value = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """`numpy.linalg.norm`: of vectors for one axis, of matrices for two."""
    x = _floating(x)
    ndim = np.ndim(x)
    if axis is None:
        given = None if isinstance(ord, Box) else ord
        if ord is None or (ndim == 1 and given == 2) or (ndim == 2 and given in ("fro", "f")):
            return euclidean_norm(x, axis=None, keepdims=keepdims)  # by NumPy as a dot product, of the same bits
        if ndim not in (1, 2):
            raise ArgumentError(
                f"np.linalg.norm(ord={ord!r}) takes a vector or a matrix; got {ndim} dimensions. Say which axes: "
                f"axis=-1 for vectors, axis=(-2, -1) for matrices"
            )
        axis = tuple(range(ndim))
    axes = axes_of(tuple(axis) if isinstance(axis, list) else axis, ndim)
    refuse_axes_of_number(axes, ndim)
    if len(axes) == 1:
        return _vector(x, ord, axes[0], keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ArgumentError(f"np.linalg.norm takes one axis, or two different ones; got {axis}")
    return _matrix(x, ord, axes, keepdims)


@composite(
    np.linalg.vector_norm,
    flags=("number",),
    samples=lambda r: [
        call(r(2, 3)),
        call(r(2, 3), axis=1, ord=1),
        call(r(2, 3, 2), axis=(0, 1), ord=3, keepdims=True),
    ],
)
def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: Value = 2) -> Array:
    return _vector(_floating(x), ord, axis, keepdims)


@composite(
    np.linalg.matrix_norm,
    flags=("number",),
    samples=lambda r: [call(r(2, 3)), call(r(2, 3, 2), ord="nuc"), call(r(2, 3), ord=1, keepdims=True)],
    errors=lambda r: [call(r(3))],
)
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    if np.ndim(x) < 2:
        raise ArgumentError(f"np.linalg.matrix_norm takes a matrix or a stack of them; got {np.ndim(x)} dimension(s)")
    return _matrix(_floating(x), ord, (np.ndim(x) - 2, np.ndim(x) - 1), keepdims)


def norm_of_elements(x: Array, p: Array = "fro", dim: Axis = None, keepdim: bool = False) -> Array:
    """`torch.norm`: of all elements, or of those along `dim`, as one vector; "nuc" is for matrices."""
    if dtype_of(x) == np.float16:  # in which squares overflow from 256 on
        return norm_of_elements(x.astype(np.float32), p, dim, keepdim).astype(np.float16)
    if p == "nuc":
        return norm(x, "nuc", dim, keepdim)
    axes = tuple(dim) if isinstance(dim, list) else dim
    return np.linalg.vector_norm(x, axis=axes, keepdims=keepdim, ord=2 if p in ("fro", None) else p)
