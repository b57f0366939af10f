"""Differences, numerical derivatives and integrals, interpolation."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from adjoint.core.backend import as_beside, maybe_any, surely_all, surely_any
from adjoint.core.box import Box, raw
from adjoint.core.constructors import composite, general
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.memory import NEW_C, NEW_K
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.indexing.reading import read
from adjoint.ops.reductions.sums import axes_of
from adjoint.ops.values import with_shape


def _part(axis: int, ndim: int, start: int | None, stop: int | None) -> tuple[slice, ...]:
    return (*(slice(None),) * normalize_axis_index(axis, ndim), slice(start, stop))


@composite(
    np.diff,
    samples=lambda r: [
        call(r(5)),
        call(r(3, 4), 2, axis=0),
        call(r(3), prepend=0.5, append=r(2)),
        call(r(2, 3), axis=1, append=1.0),
    ],
    errors=lambda r: [call(r(3), n=-1), call(r())],
)
def diff(a: Array, n: int = 1, axis: int = -1, prepend: Array = np._NoValue, append: Value = np._NoValue) -> Array:
    if n < 0:
        raise ArgumentError(f"np.diff: the order n must not be negative; got {n}")
    if n == 0:
        return a
    a = with_shape(a)
    if np.ndim(a) == 0:
        raise ArgumentError("np.diff takes an array of one dimension or more; got a single number")
    given = [x for x in (prepend, a, append) if x is not np._NoValue]
    if len(given) > 1:
        single = tuple(1 if i == axis % a.ndim else k for i, k in enumerate(a.shape))
        given = [np.broadcast_to(as_beside(a, x), single) if np.ndim(x) == 0 else x for x in given]
        a = np.concatenate(given, axis=axis)
    after, before = _part(axis, a.ndim, 1, None), _part(axis, a.ndim, None, -1)
    for _ in range(n):
        a = np.not_equal(a[after], a[before]) if a.dtype == bool else a[after] - a[before]
    return a


@composite(np.ediff1d, samples=lambda r: [call(r(4)), call(r(2, 3), 9.0, r(2))])
def ediff1d(ary: Array, to_end: object = None, to_begin: Value = None) -> Array:
    flat = np.ravel(ary)
    parts = [to_begin, flat[1:] - flat[:-1], to_end]
    given = [np.ravel(as_beside(flat, p)) for p in parts if p is not None]
    if any(not np.can_cast(p.dtype, flat.dtype, "same_kind") for p in given):
        raise TypeError(f"np.ediff1d: to_begin and to_end must fit the array's dtype, {flat.dtype}; convert them first")
    return np.concatenate([p.astype(flat.dtype) for p in given])


@composite(
    np.trapezoid,
    samples=lambda r: [
        call(r(5)),
        call(r(3, 4), dx=0.5, axis=0),
        call(r(3, 4), r(4)),
        call(r(3, 4), r(3), axis=0),
        call(r(3, 4), r(3, 4), axis=0),
    ],
)
def trapezoid(y: Array, x: Array = None, dx: Array = 1.0, axis: int = -1) -> Array:
    """The integral of `y` by the trapezium rule; differentiable in `y`, `x` and `dx`."""
    y = with_shape(y)
    if x is not None:
        x = with_shape(x)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = -1
            dx = np.reshape(np.diff(x), shape)
        else:
            dx = np.diff(x, axis=axis)
    after, before = _part(axis, y.ndim, 1, None), _part(axis, y.ndim, None, -1)
    return np.sum(dx * (y[after] + y[before]) / 2.0, axis=axis)


@composite(
    np.gradient,
    memory=NEW_K,
    samples=lambda r: [
        call(r(5)),
        call(r(5), 0.5, edge_order=2),
        call(r(3, 4)),
        call(r(3, 4), 0.5, 2.0),
        call(r(5), np.array([0.0, 1.0, 1.5, 3.0, 3.5])),
        call(r(5), np.array([0.0, 1.0, 1.5, 3.0, 3.5]), edge_order=2),
        call(r(3, 4), 2.0, axis=1),
        call(r(3, 4), np.array([0.0, 0.5, 2.0]), 1.0, axis=(0, 1)),
    ],
    errors=lambda r: [call(r(1)), call(r(5), 1.0, 2.0), call(r(5), r(4)), call(r(2), edge_order=2)],
)
def gradient(f: Value, *varargs: Value, axis: Axis = None, edge_order: int = 1) -> Array:
    """`numpy.gradient`; differentiable in the values and in the spacing."""
    f = with_shape(f)
    if f.dtype.kind == "b":
        raise TypeError("np.gradient: truth values have no differences; convert them first: f.astype(float)")
    f = f if f.dtype.kind in "fc" else f.astype(float)
    axes = axes_of(tuple(axis) if np.ndim(axis) else axis, f.ndim)
    if len(set(axes)) < len(axes):
        raise ArgumentError(f"np.gradient: an axis is there twice in {axis}")
    spacings = list(varargs) or [1.0]
    if any(with_shape(h).dtype.kind not in "biuf" for h in spacings):
        raise DTypeError("np.gradient: spacings are real numbers; complex ones, dates and objects are none")
    if len(spacings) == 1 and (len(axes) == 1 or np.ndim(spacings[0]) == 0):
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"np.gradient takes no spacing, one, or one an axis ({len(axes)}); got {len(spacings)}")
    if edge_order not in (1, 2):
        raise ArgumentError(f"np.gradient: edge_order is 1 or 2; got {edge_order}")
    slopes = (_slopes(f, h, i, edge_order) for h, i in zip(spacings, axes, strict=True))
    results = tuple(x if x.dtype == f.dtype else x.astype(f.dtype) for x in slopes)
    return results[0] if len(axes) == 1 else results


def _steps(h: Array) -> Array:
    """The distances between coordinates, which NumPy takes of whole numbers in double precision."""
    return np.diff(h.astype(np.float64) if h.dtype.kind in "iu" else h.astype(np.result_type(h, np.float16)))


def _slopes(f: Value, h: Array, axis: int, edge_order: int) -> Array:
    """Central differences along `axis`, one-sided at the ends."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ArgumentError(
            f"np.gradient needs at least {edge_order + 1} points an axis for edge_order={edge_order}; axis {axis} "
            f"has {n}"
        )
    if np.ndim(h) > 1 or (np.ndim(h) == 1 and np.shape(h)[0] != n):
        raise ShapeError(f"np.gradient: coordinates of axis {axis} must be {n} numbers; got shape {np.shape(h)}")
    y = np.moveaxis(f, axis, -1)
    steps = _steps(with_shape(h)) if np.ndim(h) == 1 else h
    if np.ndim(h) == 0 or n == 2:
        step = steps if np.ndim(h) == 0 else steps[0]
        return np.moveaxis(np.concatenate(_evenly(y, step, edge_order), axis=-1), -1, axis)
    lost = _lost(detached(steps))
    parts = _evenly(y, steps[0], edge_order) if maybe_any(lost) else []
    if not parts or not surely_all(lost):
        uneven = _unevenly(y, steps, edge_order)
        parts = [np.where(lost, x, z) for x, z in zip(parts, uneven, strict=True)] if parts else uneven
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, axis)


def _lost(steps: Array) -> Array:
    """Whether all steps are equal, and their square is beyond their dtype: NumPy divides by an even step alone."""
    size, limits = np.abs(steps[0]), np.finfo(steps.dtype)
    far = np.logical_or(size < math.sqrt(limits.smallest_normal), size > math.sqrt(limits.max) / 2)
    return np.logical_and(np.all(np.equal(steps, steps[0])), far)


def _evenly(y: Array, step: Array, edge_order: int) -> list[Array]:
    """The slopes at the first point, inside and at the last, where the points are `step` apart."""
    inner = (y[..., 2:] - y[..., :-2]) / (2.0 * step)
    if edge_order == 1:
        return [(y[..., 1:2] - y[..., :1]) / step, inner, (y[..., -1:] - y[..., -2:-1]) / step]
    far, near, here = -0.5 / step, 2.0 / step, -1.5 / step
    left = here * y[..., :1] + near * y[..., 1:2] + far * y[..., 2:3]
    return [left, inner, -far * y[..., -3:-2] - near * y[..., -2:-1] - here * y[..., -1:]]


def _unevenly(y: Array, steps: Array, edge_order: int) -> list[Array]:
    """The same, where the points are `steps` apart."""
    d1, d2 = steps[:-1], steps[1:]
    total = d1 + d2
    inner = (
        y[..., :-2] * (-d2 / (d1 * total)) + y[..., 1:-1] * ((d2 - d1) / (d1 * d2)) + y[..., 2:] * (d1 / (d2 * total))
    )
    if edge_order == 1:
        return [(y[..., 1:2] - y[..., :1]) / steps[0], inner, (y[..., -1:] - y[..., -2:-1]) / steps[-1]]
    here, near, far = _edge(steps[0], steps[1])
    left = -here * y[..., :1] + near * y[..., 1:2] - far * y[..., 2:3]
    here, near, far = _edge(steps[-1], steps[-2])
    return [left, inner, far * y[..., -3:-2] - near * y[..., -2:-1] + here * y[..., -1:]]


def _edge(h1: Value, h2: Value) -> tuple[Array, Array, Array]:
    """What a slope at the end takes of three points, `h1` and then `h2` apart: of the first with the other sign."""
    total = h1 + h2
    return (2.0 * h1 + h2) / (h1 * total), total / (h1 * h2), h1 / (h2 * total)


@composite(
    np.interp,
    memory=NEW_C,
    flags=("number",),
    samples=lambda r: [
        call(r(4), np.array([-1.5, -0.3, 0.4, 1.7]), r(4)),
        call(r(), np.array([-1.5, -0.3, 0.4]), r(3)),
        call(r(4), np.array([-1.0, 0.1, 0.9]), r(3), left=-5.0, right=r()),
        call(r(4), np.array([0.2, 1.1, 0.7]), r(3), period=1.3),
        call(r(2, 2), np.array([0.5]), r(1)),
    ],
    errors=lambda r: [call(r(3), r(3), r(4)), call(r(3), r(0), r(0))],
)
def interp(x: Array, xp: Array, fp: Array, left: Array = None, right: Array = None, period: Array = None) -> Array:
    """Linear interpolation; differentiable in `x`, `xp`, `fp`, `left` and `right`."""
    if np.iscomplexobj(x) or np.iscomplexobj(xp):
        raise TypeError("np.interp: x and xp must be real numbers; got complex ones. Take np.real or np.abs of them")
    if any(with_shape(v).dtype.kind not in "biufc" for v in (x, xp, fp, left, right) if v is not None):
        raise DTypeError("np.interp: places and values must be numbers")
    x, xp = (with_shape(v).astype(float) for v in (x, xp))  # NumPy computes in double precision
    fp = with_shape(fp)
    fp = fp.astype(complex if fp.dtype.kind == "c" else float)
    if 0 == xp.size == fp.size == x.size:
        nothing: Value = np.empty(0)
        np.interp(nothing, nothing, nothing)  # the newer NumPys take no points for no questions
        return x * 0.0
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ShapeError(f"np.interp: xp and fp must be vectors of one length; got shapes {xp.shape} and {fp.shape}")
    for name, border in (("left", left), ("right", right)):
        if border is not None and (np.ndim(border) or (np.iscomplexobj(border) and fp.dtype.kind != "c")):
            raise DTypeError(f"np.interp: {name} is one number like those of fp, {fp.dtype}; got {border!r}")
    if period is not None:
        if surely_any(np.equal(raw(period), 0)):
            raise ArgumentError("np.interp: period must not be 0")
        period = abs(period)
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = read(xp, order), read(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    low, high = (fp[0] if left is None else left), (fp[-1] if right is None else right)
    inside = x * 0.0 + fp[0]
    n = xp.shape[0]
    if n > 1:
        i = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 2)
        start = read(xp, i)
        wide = read(xp, i + 1) - start
        wide = np.where(np.equal(wide, 0), 1.0, wide)
        before, after = read(fp, i), read(fp, i + 1)
        slope = (after - before) / wide
        inside = before + (x - start) * slope
        if isinstance(raw(fp), Box) or maybe_any(np.logical_not(np.isfinite(raw(fp)))):  # NumPy goes around nan
            inside = np.where(np.isnan(inside), after + (x - read(xp, i + 1)) * slope, inside)
            at = np.logical_or(np.equal(x, start), np.logical_and(np.isnan(inside), np.equal(before, after)))
            inside = np.where(np.logical_and(np.logical_not(np.isfinite(slope)), at), before, inside)
        inside = np.where(np.equal(x, xp[-1]), fp[-1], inside)
    return np.where(np.greater(x, xp[-1]), high, np.where(np.less(x, xp[0]), low, inside))


@general(
    vjp=lambda g: g,
    jvp=lambda t: t,
    batch="axes",
    samples=lambda r: [call(r(5) * 5), call(r(2, 4) * 5, axis=0), call(r(5) * 5, period=2.5)],
)
def unwrapped(p: Array, /, discont: Value = None, axis: int = -1, period: float = 2 * math.pi) -> Array:
    """Values to which whole periods were added, so the gradient is that of `p`."""
    return np.unwrap(p, discont, axis, period=period)


@composite(np.unwrap, samples=lambda r: [call(r(5) * 5), call(r(2, 4) * 5, axis=0), call(r(5) * 5, period=2.5)])
def unwrap(p: Array, discont: Value = None, axis: int = -1, *, period: float = 2 * math.pi) -> Array:
    """`numpy.unwrap`."""
    return unwrapped(p, discont=discont, axis=axis, period=period)
