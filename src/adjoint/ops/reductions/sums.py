"""Sums, products, extremes and `logsumexp` along axes."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, cast

import numpy as np

from adjoint.core.backend import as_array, maybe_any
from adjoint.core.box import Box, raw
from adjoint.core.constructors import composite, reduction, spread, unreduced
from adjoint.core.errors import ArgumentError
from adjoint.core.memory import apart
from adjoint.core.messages.unpacked import alone
from adjoint.core.op import SampleCall, call
from adjoint.core.protocol import detached, fitting_mask, put, reduced_as, widened
from adjoint.core.registry import REDUCTIONS
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, DType, Function, Value
from adjoint.ops.reductions.masked import product_of_masked

if TYPE_CHECKING:
    from adjoint.core.op import Op


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """`axis` as a tuple of numbers from 0."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    for a in axes:
        if ndim and not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim)
    return tuple(a % ndim if ndim else a for a in axes)


def refuse_axes_of_number(axis: Axis, ndim: int) -> None:
    """Refuse an axis of what has none: sums take it, means and norms do not."""
    if not ndim and axis is not None and axis != ():
        raise np.exceptions.AxisError(axis[0] if isinstance(axis, tuple) else axis, ndim)


def count_along(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements a reduction of an array of `shape` over `axis` takes together."""
    return math.prod(shape[a] for a in axes_of(axis, len(shape))) if shape else 1  # a number has an axis 0, too


_PLAIN = (np.ndarray, np.generic)


def shared(g: Array, won: Array, axis: Axis) -> Array:
    """`g` in even shares to the elements that have `won`, and nothing to the others; where none has, nan to all."""
    if axis is None and type(won) is np.ndarray and isinstance(g, _PLAIN) and g.dtype.char in "fd":
        places = np.flatnonzero(won)  # few
        if not places.size:
            return np.full(won.shape, np.nan, g.dtype)
        c: np.ndarray = np.zeros(won.size, g.dtype)
        c[places] = np.reshape(g, ()) / places.size
        return np.reshape(c, won.shape)
    if type(won) is np.ndarray and isinstance(g, _PLAIN) and g.dtype.char in "fd":
        count = np.add.reduce(won, axis=axis, dtype=g.dtype, keepdims=True)
        if count.all():  # one has, everywhere
            return np.where(won, g / count, 0.0)
    won, count = _winners(won, g.dtype, axis)
    return np.where(won, divided(g, count), 0.0)


def _winners(won: Array, dtype: DType, axis: Axis) -> tuple[Array, Array]:
    """Where an element has won, and how many have, with the reduced axes; where none has, all have, and are nan."""
    wide = np.float32 if dtype.char == "e" else dtype  # half precision ends at 65504
    count = np.sum(won.astype(wide), axis=axis, keepdims=True)
    none = np.equal(count, 0)
    return np.logical_or(won, none), np.where(none, np.nan, count)


def divided(g: Array, count: Array) -> Array:
    """``g / count``, in the dtype of `g`, also where that cannot hold the count."""
    return g / count if g.dtype.char != "e" else (g.astype(np.float32) / count).astype(np.float16)


def _to_extreme(g: Array, a: Array, out: Array, axis: Axis, keepdims: bool) -> Array:
    shape = np.shape(a)
    return shared(unreduced(g, shape, axis, keepdims), np.equal(a, unreduced(out, shape, axis, keepdims)), axis)


def _of_extreme(t: Array, a: Array, out: Array, axis: Axis, keepdims: bool) -> Array:
    won, count = _winners(np.equal(a, unreduced(out, np.shape(a), axis, keepdims)), t.dtype, axis)
    return np.sum(np.where(won, divided(t, count), 0.0), axis=axis, keepdims=keepdims)


def _others(a: Array, out: Array, axis: Axis) -> Array:
    """For each element the product of all others along `axis`."""
    if not maybe_any(raw(a) == 0):
        return out / a
    if not np.ndim(a):  # an axis of a number is its only element
        return np.ones_like(a)
    axes = axes_of(axis, np.ndim(a))
    rest = tuple(i for i in range(np.ndim(a)) if i not in axes)
    moved = np.transpose(a, rest + axes)
    rows = np.reshape(moved, (*moved.shape[: len(rest)], -1))
    ones = np.ones_like(rows[..., :1])
    before = np.cumprod(np.concatenate([ones, rows[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, rows[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    inverse = tuple(int(i) for i in np.argsort(rest + axes))
    return np.transpose(np.reshape(before * after, moved.shape), inverse)


def _reducing(ufunc: np.ufunc, function: Value) -> Array:
    """`ufunc.reduce`; NumPy's `function` of the same meaning for other libraries' arrays."""

    def forward(a: Array, axis: Axis, keepdims: bool) -> Array:
        if type(a) is np.ndarray:
            return ufunc.reduce(a, axis=axis, keepdims=keepdims)
        return function(a, axis=axis, keepdims=keepdims)

    return forward


reduce_sum = reduction(_reducing(np.add, np.sum), partial=1, name="reduce_sum", flags=("moves",))

reduce_prod = reduction(
    _reducing(np.multiply, np.prod),
    partial=_others,
    name="reduce_prod",
    samples=lambda r: [
        call(r(5, low=0.5, high=2)),
        call(r(2, 3, 4, low=0.5, high=2), axis=(0, -1)),
        call(np.append(r(3, 3), np.zeros((3, 1)), axis=1), axis=1),
        call(r(low=0.5, high=2)),
    ],
)

reduce_max = reduction(
    _reducing(np.maximum, np.max), vjp=_to_extreme, jvp=_of_extreme, name="reduce_max", flags=("selects", "finite")
)

reduce_min = reduction(
    _reducing(np.minimum, np.min), vjp=_to_extreme, jvp=_of_extreme, name="reduce_min", flags=("selects", "finite")
)


def _starting(ufunc: np.ufunc, function: Value) -> Function:
    """`ufunc.reduce` that begins with a number: NumPy may add the elements to it one by one, which rounds otherwise."""

    def forward(a: Array, axis: Axis, keepdims: bool, initial: float) -> Array:
        if type(a) is np.ndarray:
            return ufunc.reduce(a, axis=axis, keepdims=keepdims, initial=initial)
        return ufunc(function(a, axis=axis, keepdims=keepdims), initial)

    return forward


def _others_from(a: Array, axis: Axis, initial: float) -> Array:
    return _others(a, np.prod(a, axis=axis, keepdims=True), axis) * initial


def _started(r: Function) -> list[SampleCall]:
    """Calls of sums and products that begin with a number."""
    return [
        call(r(5), initial=0.5),
        call(r(3, 4), axis=0, initial=1.5),
        call(np.append(r(3, 3), np.zeros((3, 1)), axis=1), axis=0, initial=2.0),
        call(np.array(0.0), initial=2.0),
        call(r(2, 3, 4), axis=(0, -1), initial=2.0),
        call(r(3, 4), axis=0, keepdims=True, initial=-1.5),
    ]


sum_from = reduction(
    _starting(np.add, np.sum),
    vjp=lambda g, a_shape, axis, keepdims: spread(g, a_shape, axis, keepdims),
    jvp=lambda t, axis, keepdims: np.sum(t, axis=axis, keepdims=keepdims),
    name="reduce_sum_from",
    settings={"initial": 0.0},
    samples=_started,
)
prod_from = reduction(
    _starting(np.multiply, np.prod),
    partial=_others_from,
    name="reduce_prod_from",
    settings={"initial": 1.0},
    samples=_started,
)

summed, largest = _reducing(np.add, np.sum), _reducing(np.maximum, np.max)


def _logsumexp(a: Array, axis: Axis, keepdims: Value) -> Array:
    """log(sum(exp(a))) with the largest element taken out first, so that nothing overflows."""
    if a.size == 0:
        return np.logaddexp.reduce(a, axis=axis, keepdims=keepdims)
    if a.dtype.char == "e":  # a sum of exponentials ends at 65504
        return _logsumexp(a.astype(np.float32), axis, keepdims).astype(np.float16)
    top = largest(a, axis, True)
    top = np.where(np.isfinite(top), top, 0).astype(a.dtype)
    with np.errstate(divide="ignore"):
        out = np.log(summed(np.exp(a - top), axis, True)) + top
    return out if keepdims else np.reshape(out, summed(a, axis, False).shape)[()]


reduce_logsumexp = reduction(_logsumexp, partial=lambda a, out: np.exp(a - out), name="reduce_logsumexp")


@composite(
    samples=lambda r: [
        call(r(5)),
        call(r(3, 4), axis=1, keepdims=True),
        call(r(3, 4), axis=0, b=r(3, 1, low=0.5, high=2)),
        call(r(3, 4), axis=(0, 1), b=np.array([1.0, 0.0, 2.0, 0.5])),
    ]
)
def logsumexp(a: Array, axis: Axis = None, b: Array = None, keepdims: bool = False, return_sign: bool = False) -> Array:
    """log(sum(b * exp(a))) for numbers of any size, with the arguments of `scipy.special.logsumexp`.

    Args:
        a, b: real arrays that broadcast; where a constant `b` is 0, `a` may be anything. True or False in place of
            `b` is PyTorch's third argument, `keepdims`.
        axis, keepdims: as in `numpy.sum`.
        return_sign: give ``(log(abs(sum)), sign(sum))``, for sums that may be negative (else their log is nan).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.grad(ad.logsumexp)(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    if a is None:
        raise ArgumentError("logsumexp takes an array; got None")
    if type(b) is bool:  # PyTorch's third argument
        b, keepdims = None, b
    if dtype_of(a).kind not in "fc":
        a = np.asarray(a).astype(float) if not isinstance(a, Box) else cast(Array, a).astype(float)
    if b is None and not return_sign:
        return reduce_logsumexp(a, axis=axis, keepdims=keepdims)
    b = 1.0 if b is None else b
    if np.shape(a) != np.shape(b):
        a = np.broadcast_to(a, np.broadcast_shapes(np.shape(a), np.shape(b)))
    a = a if isinstance(b, Box) else np.where(np.equal(b, 0), -np.inf, a)
    top = np.max(detached(a), axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.sum(b * np.exp(a - top), axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        out = np.log(np.abs(total) if return_sign else total) + top
    if not keepdims:
        out, total = np.squeeze(out, axis), np.squeeze(total, axis)
    return (out, np.sign(detached(total))) if return_sign else out


def _like(number: Array, dtype: DType) -> Array:
    if isinstance(number, Box) or np.ndim(number):
        return cast(Array, number if isinstance(number, Box) else as_array(number)).astype(dtype)[()]
    place = np.empty((), dtype)
    place[()] = number  # NumPy's refusal of nan, infinities and complex numbers where they do not fit
    return place[()]


_FROM = {"reduce_sum": sum_from, "reduce_prod": prod_from}


def _reduced(op: Op, combine: np.ufunc, identity: object, a: Array, options: dict[str, Array]) -> Array:
    """A reduction with all of NumPy's arguments; what `where` leaves out is replaced by `identity`."""
    axis, where, initial, dtype = options["axis"], options["where"], options["initial"], options["dtype"]
    out, given = options["out"], a
    if where is not True and initial is None and identity is None:
        raise ArgumentError(f"{op.name} with where= needs initial=, the result where everything is left out")
    a = widened(a, out, combine) if dtype is None else a.astype(dtype)
    if initial is not None and hasattr(out, "dtype"):  # NumPy begins with what `out` holds
        initial = _like(initial, a.dtype).astype(out.dtype)
    mask: Value = None if where is True else fitting_mask(where, np.shape(a))
    if mask is not None:
        a = np.where(mask, a, _like(initial if identity is None else identity, a.dtype))
    keepdims = bool(options["keepdims"])
    if initial is not None and identity is None and count_along(np.shape(a), axis) == 0:
        kept = np.shape(np.sum(a, axis=axis, keepdims=keepdims))
        return put(np.broadcast_to(initial, kept).astype(a.dtype), out, combine)
    if initial is not None and op.name in _FROM and not isinstance(initial, Box):
        wide = a.dtype
        if dtype is None and wide.kind in "iub":  # NumPy's whole numbers grow
            wide = np.promote_types(wide, np.uint if wide.kind == "u" else np.int_)
        initial = _like(initial, wide).item()
        if mask is not None and op.name == "reduce_prod" and wide.kind == "c" and not np.isfinite(initial):
            result = product_of_masked(a, mask, axis, keepdims, _like(initial, wide))
        else:
            result = _FROM[op.name](a, axis=axis, keepdims=keepdims, initial=initial)
        initial = None
    else:
        result = op(a, axis=axis, keepdims=keepdims)
    if a is not given:
        result = reduced_as(result, given, axis, keepdims, where)
    if dtype is not None and result.dtype != dtype:  # whole numbers, which are summed in wide ones: the rest is cut off
        result = result.astype(dtype)
    if initial is not None:
        result = combine(_like(initial, result.dtype), result)  # of equal zeros, NumPy keeps the second
    return put(result, out, combine)


_whole = lambda r: [  # noqa: E731 - a table of samples, shared by four functions
    call(r(3, 4)),
    call(r(3, 4), 1),
    call(r(3, 4), axis=0, keepdims=True, initial=1.5),
    call(r(3, 4), axis=-1, where=np.array([True, False, True, True]), initial=0.5),
]


@composite(np.sum, samples=_whole, errors=lambda r: [call(r(3), axis=1)])
def sum_(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    keepdims: bool = False,
    initial: Array = None,
    where: Array = True,
) -> Array:
    if dtype is None and out is None and initial is None and where is True:
        return reduce_sum(a, axis=axis, keepdims=operator.index(keepdims) != 0)
    return _reduced(reduce_sum, np.add, 0, a, locals())


@composite(np.prod, samples=_whole)
def prod_(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    keepdims: bool = False,
    initial: Array = None,
    where: Array = True,
) -> Array:
    if dtype is None and out is None and initial is None and where is True:
        return reduce_prod(a, axis=axis, keepdims=bool(keepdims))
    return _reduced(reduce_prod, np.multiply, 1, a, locals())


def _is_array(axis: Array) -> bool:
    """Whether what stands in the place of an axis is none: an array of numbers."""
    kind = type(axis)
    return (kind is np.ndarray or issubclass(kind, Box)) and (np.ndim(axis) > 0 or dtype_of(axis).kind == "f")


@composite(np.max, np.amax, samples=_whole, errors=lambda r: [call(r(0))])
def max_(
    a: Array, axis: Axis = None, out: Array = None, keepdims: bool = False, initial: Array = None, where: Array = True
) -> Array:
    if out is None and initial is None and where is True:
        if axis is not None and type(axis) is not int and _is_array(axis):  # PyTorch's of two tensors
            return np.maximum(a, axis)
        found = reduce_max(a, axis=axis, keepdims=bool(keepdims))
        return found if axis is None else alone("max", axis, found)
    return _reduced(reduce_max, np.maximum, None, a, {**locals(), "dtype": None})


@composite(np.min, np.amin, samples=_whole, errors=lambda r: [call(r(0))])
def min_(
    a: Array, axis: Axis = None, out: Array = None, keepdims: bool = False, initial: Array = None, where: Array = True
) -> Array:
    if out is None and initial is None and where is True:
        if axis is not None and type(axis) is not int and _is_array(axis):  # PyTorch's of two tensors
            return np.minimum(a, axis)
        found = reduce_min(a, axis=axis, keepdims=bool(keepdims))
        return found if axis is None else alone("min", axis, found)
    return _reduced(reduce_min, np.minimum, None, a, {**locals(), "dtype": None})


@composite(np.ptp, samples=lambda r: [call(r(3, 4)), call(r(3, 4), axis=1)])
def ptp(a: Array, axis: Axis = None, out: Array = None, keepdims: bool = False) -> Array:
    if out is not None:  # where NumPy writes the maxima before it reads the minima
        apart(out, a, "np.ptp(t.copy(), 0, out=t[0])")
    high, low = np.max(a, axis=axis, keepdims=keepdims), np.min(a, axis=axis, keepdims=keepdims)
    if hasattr(out, "dtype") and (high.dtype.kind != "c" or out.dtype.kind == "c"):  # NumPy writes both steps there
        high = high.astype(out.dtype)
    return put(high - low, out, np.ptp)


def _logaddexp_reduced(
    a: Array, axis: Axis = 0, keepdims: bool = False, initial: Array = None, where: Array = True
) -> Array:
    none = np.zeros(0, a.dtype)
    a = a if a.dtype.kind == "f" else a.astype(np.logaddexp(none, none).dtype)  # differences of whole numbers wrap
    options = {"axis": axis, "keepdims": keepdims, "initial": initial, "where": where, "dtype": None, "out": None}
    return _reduced(reduce_logsumexp, np.logaddexp, -np.inf, a, options)


REDUCTIONS |= {
    (np.add, "reduce"): sum_,
    (np.multiply, "reduce"): prod_,
    (np.maximum, "reduce"): max_,
    (np.minimum, "reduce"): min_,
    (np.logaddexp, "reduce"): _logaddexp_reduced,
}
