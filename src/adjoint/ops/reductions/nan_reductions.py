"""Reductions that leave nan out. A left-out element gets no gradient."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.backend import is_elsewhere, maybe_all, maybe_any
from adjoint.core.box import raw
from adjoint.core.constructors import composite
from adjoint.core.errors import DTypeError
from adjoint.core.memory import NEW_K, settled_as
from adjoint.core.messages.frames import warn_user
from adjoint.core.op import call
from adjoint.core.protocol import put, widened
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, DType, Function, Value
from adjoint.ops.reductions.moments import degrees, over, root, summed_into


def _given(value: Array, default: Array) -> Array:
    """NumPy's own mark for an argument that was not given, resolved."""
    return default if value is np._NoValue else value


def _gaps(r: Array) -> Array:
    return np.where(np.eye(3, 4), np.nan, r(3, 4, low=0.5, high=2))


_whole: Value = lambda r: [  # noqa: E731 - a table of samples, shared by several functions
    call(_gaps(r)),
    call(_gaps(r), 1),
    call(_gaps(r), axis=0, keepdims=True),
]


def _filled(a: Array, value: float) -> Array:
    return np.where(np.isnan(a), value, a) if np.result_type(a).kind in "fc" else a


def _copied(a: Array, value: float) -> Array:
    """The same, which lies as a copy of `a` does."""
    return settled_as(NEW_K, _filled(a, value), [a]) if np.result_type(a).kind in "fc" else a


def _options(initial: Array, where: Array) -> dict[str, Array]:
    return {"initial": _given(initial, None), "where": _given(where, True)}


@composite(np.nansum, samples=_whole)
def nansum(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    keepdims: bool = False,
    initial: Array = None,
    where: Array = True,
) -> Array:
    keepdims = bool(_given(keepdims, False))
    return np.sum(_copied(a, 0.0), axis, dtype, out, keepdims=keepdims, **_options(initial, where))


@composite(np.nanprod, samples=_whole)
def nanprod(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    keepdims: bool = False,
    initial: Array = None,
    where: Array = True,
) -> Array:
    keepdims = bool(_given(keepdims, False))
    return np.prod(_copied(a, 1.0), axis, dtype, out, keepdims=keepdims, **_options(initial, where))


def _there(a: Array, axis: Axis, keepdims: bool, where: Array) -> Array:
    """How many elements are there."""
    return np.sum(np.logical_and(~np.isnan(a), where), axis=axis, keepdims=keepdims)


def _counted(a: Array, axis: Axis, keepdims: bool, where: Array) -> Array:
    """How many elements are there; 0 gives nan, with NumPy's warning."""
    count = _there(a, axis, keepdims, where)
    if not maybe_all(raw(count)):
        warn_user("Mean of empty slice", RuntimeWarning)
    return np.where(count == 0, np.nan, count)


def _mean(a: Array, axis: Axis, dtype: DType, out: Array, keepdims: bool, where: Array) -> Array:
    total = summed_into(_copied(a, 0.0), axis, dtype, out, keepdims, where)
    return over(total, _counted(a, axis, keepdims, where))


@composite(np.nanmean, samples=_whole)
def nanmean(
    a: Array, axis: Axis = None, dtype: DType = None, out: Array = None, keepdims: bool = False, *, where: Array = True
) -> Array:
    where, keepdims = _given(where, True), bool(_given(keepdims, False))
    if dtype_of(a).kind in "iub":  # without nan
        return np.mean(a, axis, dtype, out, keepdims, where=where)
    _refuse_wholes(dtype, out)
    return put(_mean(a, axis, dtype, out, keepdims, where), out, np.nanmean)


def _refuse_wholes(dtype: DType, out: Array) -> None:
    """Refuse what NumPy refuses: means of real numbers that become whole ones."""
    for given in (dtype, getattr(out, "dtype", None)):
        if given is not None and np.dtype(given).kind not in "fc":
            raise DTypeError(f"means of fractions are no whole numbers; got {np.dtype(given)}. Convert the result")


@composite(np.nanvar, samples=lambda r: [*_whole(r), call(_gaps(r), axis=1, ddof=1)])
def nanvar(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Array = True,
    mean: Array = None,
    correction: object = None,
) -> Array:
    return put(_variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction), out, np.nanvar)


def _variance(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Array = True,
    mean: Array = None,
    correction: object = None,
) -> Array:
    """The variance in NumPy's steps, which are rounded to the dtypes of `a`, `dtype` and `out` in turn."""
    where, mean, ddof = _given(where, True), _given(mean, None), degrees(ddof, _given(correction, None))
    keepdims = bool(_given(keepdims, False))
    if dtype_of(a).kind in "iub":  # without nan
        return np.var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    _refuse_wholes(dtype, out)
    if mean is not None and np.iscomplexobj(mean) and not np.iscomplexobj(a):
        raise DTypeError("np.nanvar and np.nanstd: the mean of real numbers is real; got a complex one")
    centre = _mean(a, axis, dtype, None, True, where) if mean is None else mean
    apart = np.where(np.isnan(a), 0.0, a - centre)
    apart = apart if apart.dtype == a.dtype else apart.astype(a.dtype)
    square = np.square(apart) if apart.dtype.kind != "c" else np.square(np.real(apart)) + np.square(np.imag(apart))
    total = summed_into(settled_as(NEW_K, square, [a]), axis, dtype, out, keepdims, where)
    left = _there(a, axis, keepdims, where) - ddof
    return over(total, np.where(left <= 0, np.nan, left))


@composite(np.nanstd, flags=("number",), samples=lambda r: [*_whole(r), call(_gaps(r), axis=1, ddof=1)])
def nanstd(
    a: Array, axis: Axis = None, dtype: DType = None, out: Array = None, *args: Value, **options: Value
) -> Array:
    if dtype_of(a).kind in "iub":  # without nan
        return _std_of_wholes(a, axis, dtype, out, *args, **options)
    return put(root(_variance(a, axis, dtype, out, *args, **options)), out, np.nanstd)


def _std_of_wholes(
    a: Array, axis: Axis, dtype: DType, out: Array, ddof: float = 0, keepdims: bool = False, **options: object
) -> Array:
    given: dict[str, Value] = {name: x for name, x in options.items() if x is not np._NoValue}
    return np.std(a, axis, dtype, out, ddof, bool(_given(keepdims, False)), **given)


def _extreme(
    reduce: Function, fill: float, a: Array, axis: Axis, keepdims: bool, initial: Array, where: Array
) -> Array:
    none_counts = isinstance(initial, float | np.floating) and math.isnan(initial)  # nan counts for nothing
    keepdims, options = bool(_given(keepdims, False)), _options(fill if none_counts else initial, where)
    if np.result_type(a).kind not in "fc":
        return reduce(a, axis=axis, keepdims=keepdims, **options)
    result = reduce(_filled(a, fill), axis=axis, keepdims=keepdims, **options)
    if (options["initial"] is None or none_counts) and maybe_any(result == fill):
        left_out = np.isnan(a) if where is np._NoValue else np.logical_or(np.isnan(a), np.logical_not(where))
        empty = np.all(left_out, axis=axis, keepdims=keepdims)
        if maybe_any(empty):
            if not is_elsewhere(empty):
                warn_user("All-NaN slice encountered", RuntimeWarning)
            result = np.where(empty, np.nan, result)
    return result


@composite(np.nanmax, flags=("number",), samples=_whole)
def nanmax(
    a: Array, axis: Axis = None, out: Array = None, keepdims: bool = False, initial: Array = None, where: Array = True
) -> Array:
    return put(_extreme(np.max, -np.inf, widened(a, out, np.fmax), axis, keepdims, initial, where), out, np.nanmax)


@composite(np.nanmin, flags=("number",), samples=_whole)
def nanmin(
    a: Array, axis: Axis = None, out: Array = None, keepdims: bool = False, initial: Array = None, where: Array = True
) -> Array:
    return put(_extreme(np.min, np.inf, widened(a, out, np.fmin), axis, keepdims, initial, where), out, np.nanmin)


_both = lambda r: [call(_gaps(r)), call(_gaps(r), 1)]  # noqa: E731 - shared samples


@composite(np.nancumsum, samples=_both)
def nancumsum(a: Array, axis: Axis = None, dtype: DType = None, out: Array = None) -> Array:
    return np.cumsum(_copied(a, 0.0), axis, dtype, out)


@composite(np.nancumprod, samples=_both)
def nancumprod(a: Array, axis: Axis = None, dtype: DType = None, out: Array = None) -> Array:
    return np.cumprod(_copied(a, 1.0), axis, dtype, out)
