"""Parts of complex numbers, and what tidies numbers up.

The gradient of a complex number is the direction of steepest ascent: the gradient by its real part plus
1j times the gradient by its imaginary part. So a cotangent ``g`` of ``out`` means ``real(sum(conj(g) * d_out))``.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from adjoint.core.backend import is_foreign, surely_all
from adjoint.core.box import Box, raw
from adjoint.core.constructors import composite, elementwise, general, linear
from adjoint.core.memory import AS_MADE, NEW, NEW_K, VIEW, Memory, keeping, lying_as
from adjoint.core.op import call
from adjoint.core.protocol import detached, put, store, widened
from adjoint.core.types import Array, DType
from adjoint.ops.shape.copying import axes_of_each
from adjoint.ops.values import is_number


def _z(r: Array, *shape: int) -> Array:
    return r(*shape) + 1j * r(*shape)


@linear(
    np.real,
    transpose=lambda g: g,
    batch="leading",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(_z(r, 3)), call(r(2, 3)), call(_z(r))],
)
def real(val: Array, /) -> Array:
    return np.real(val)


def _imag_each(val: Array) -> Array:
    if np.iscomplexobj(val):
        return imag(val)
    axes = axes_of_each(val, "A")  # NumPy's zeros lie as Fortran's where a sample does, else as C's
    return np.transpose(imag(np.transpose(val, axes)), tuple(map(axes.index, range(len(axes)))))


@linear(
    np.imag,
    transpose=lambda g, val_dtype: g * 1j if val_dtype.kind == "c" else np.zeros_like(g),
    batch=_imag_each,
    memory=AS_MADE,
    flags=("moves", "selects", "as_given"),
    samples=lambda r: [call(_z(r, 3)), call(r(2, 3)), call(_z(r))],
)
def imag(val: Array, /) -> Array:
    return np.imag(val)


conj = elementwise(
    np.conjugate,
    vjp=lambda g: np.conj(g),
    name="conj",
    flags=("finite",),
    samples=lambda r: [call(r(2, 3)), call(_z(r, 3))],
)


def _joined(x: Array, y: Array) -> Array:
    if "c" in (np.result_type(x).kind, np.result_type(y).kind):
        raise TypeError("join_parts takes the real and the imaginary part, which are real")
    if is_foreign(x) or is_foreign(y):
        return x + 1j * y
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    joined = np.empty(shape, np.result_type(np.result_type(x, y), np.complex64))
    joined.real, joined.imag = x, y
    return joined[()]


#: ``x + 1j * y`` without its arithmetic, which loses the sign of a zero and makes nan of an infinity.
join_parts = elementwise(_joined, partials=(lambda g: np.real(g), lambda g: np.imag(g)), name="join_parts")


@composite(np.angle, samples=lambda r: [call(_z(r, 3)), call(_z(r, 2, 2), deg=True), call(r(3))])
def angle(z: Array, deg: bool = False) -> Array:
    if not np.iscomplexobj(z):
        z = z.astype(float) if np.result_type(z).kind == "b" else z
        return np.arctan2(np.zeros_like(z, shape=()), z) * (180 / math.pi if deg else 1.0)
    turn = np.arctan2(np.imag(z), np.real(z))
    return turn * (180 / math.pi) if deg else turn


@composite(np.real_if_close, samples=lambda r: [call(r(3)), call(_z(r, 3))])
def real_if_close(a: Array, tol: float = 100) -> Array:
    a = a[...] if is_number(a) else a
    if not np.iscomplexobj(a):
        return a
    within = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return np.real(a) if surely_all(np.abs(np.imag(raw(a))) < within) else a


@composite(
    np.nan_to_num,
    memory=Memory("perhaps", "K"),
    flags=("number",),
    samples=lambda r: [
        call(np.append(r(2), np.nan)),
        call(np.append(r(2), [np.nan, np.inf, -np.inf]), nan=1.5, posinf=9.0, neginf=-7.0),
        call(_z(r, 2)),
    ],
)
def nan_to_num(
    x: Array, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """`numpy.nan_to_num`; what is replaced gets no gradient."""
    np.array(np.empty(0), copy=copy)  # refuses what NumPy refuses
    if copy:
        return _replaced(x, nan, posinf, neginf)
    return store(_replaced(x, nan, posinf, neginf), x) if np.result_type(x).kind in "fc" else x


@partial(keeping, NEW_K)
def _replaced(x: Array, nan: Array, posinf: Array, neginf: Array) -> Array:
    if np.iscomplexobj(x):
        return join_parts(*(_replaced(part, nan, posinf, neginf) for part in (np.real(x), np.imag(x))))
    if np.result_type(x).kind != "f":
        return np.copy(x)
    dtype = np.result_type(x)
    limits = np.finfo(dtype)
    above, below = np.isposinf(x), np.isneginf(x)  # before a nan is filled with one of these
    x = np.where(np.isnan(x), _filling(nan, dtype), x)
    x = np.where(above, limits.max if posinf is None else _filling(posinf, dtype), x)
    return np.where(below, limits.min if neginf is None else _filling(neginf, dtype), x)


def _filling(value: Array, dtype: DType) -> Array:
    """`value` in the `dtype` of the array that it is written into, if NumPy casts it so."""
    if isinstance(value, Box):
        return value.astype(dtype)  # type: ignore[attr-defined]  # every box has it
    filled = np.empty(np.shape(value), dtype)
    np.copyto(filled, value)
    return filled[()]


@general(
    vjp=lambda g: np.zeros_like(g),
    batch="leading",
    memory=NEW,
    flags=("selects", "finite", "own_order"),
    samples=lambda r: [call(np.round(r(3, 4, low=-3, high=3)) + r(3, 4, low=0.1, high=0.4))],
)
def rounded(a: Array, /, decimals: int = 0) -> Array:
    return np.round(a, decimals)


@composite(
    np.round, np.around, samples=lambda r: [call(r(3, 4, low=0.1, high=0.4)), call(r(3, low=0.01, high=0.04), 1)]
)
def round_(a: Array, decimals: int = 0, out: Array = None) -> Array:
    if out is not None and np.result_type(a).kind == "f" and out.dtype.kind in "fc":  # complex ones are not widened
        a = widened(a, out)
    whole = decimals == 0 and np.result_type(a).kind == "f"
    return put(np.rint(a) if whole else rounded(a, decimals=decimals), out, np.round)


@composite(np.fix, samples=lambda r: [call(r(3, 4, low=0.1, high=0.9))])
def fix(x: Array, out: Array = None) -> Array:
    return put(np.trunc(x), out, np.fix)


@composite(np.modf, samples=lambda r: [call(r(3, 4, low=0.1, high=0.9))])
def modf(x: Array, /) -> Array:
    if np.result_type(x).kind in "iub":
        x = lying_as(x.astype(np.sqrt(np.zeros(0, x.dtype)).dtype), np.sqrt, x)
    part = np.fmod(np.where(np.isinf(x), 0.0, x), 1.0)  # with the sign of x, also where it is 0
    return np.where(np.isinf(x), np.copysign(0.0, detached(x)), part)[()], np.trunc(x)


@composite(
    np.divmod,
    samples=lambda r: [call(r(3, 4, low=0.1, high=0.9), r(4, low=1.1, high=1.9))],
    errors=lambda r: [call(r(3), r(4))],
)
def divmod_(x: Array, y: Array, /) -> Array:
    return np.floor_divide(x, y), np.remainder(x, y)
