"""Choosing between values, and the parts of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.backend import as_beside
from adjoint.core.box import Box, outermost
from adjoint.core.constructors import composite, elementwise, linear
from adjoint.core.errors import ArgumentError
from adjoint.core.memory import LOCKED_VIEW, NEW_C, lies, lying_as
from adjoint.core.op import Op, Samples, call
from adjoint.core.protocol import put, repeats
from adjoint.core.rules.choosing import where_false, where_true
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, DType, Function, Value
from adjoint.ops.elementwise.comparison import not_equal
from adjoint.ops.indexing.reading import scatter_add, scattered

choose_either = elementwise(
    lambda condition, x, y: np.where(condition, x, y),
    inputs=("condition", "x", "y"),
    partials=(
        None,
        # Selected, not multiplied by 0 or 1: what was not chosen may be inf or nan.
        lambda g, condition: where_true(condition, g),
        lambda g, condition: where_false(condition, g),
    ),
    name="choose_either",
    flags=("selects", "picks", "finite", "array"),
    samples=lambda r: [
        call(np.array([[True], [False]]), r(2, 3), r(3)),
        call(np.array([True, False]), r(2), 1.5),
        call(True, r(), r(2)),
    ],
)


@composite(np.where, samples=lambda r: [call(np.array([True, False, True]), r(3), r(2, 1)), call(True, 2.0, r(2))])
def where(condition: Array, *values: Array) -> Array:
    if isinstance(condition, Box) and condition.dtype.kind != "b":  # type: ignore[attr-defined]  # every box has a dtype
        condition = not_equal(condition, 0)
    if not values:
        return np.nonzero(condition)
    if len(values) != 2:
        raise ArgumentError(f"np.where takes a condition alone, or with x and y; got {1 + len(values)} arguments")
    return choose_either(condition, *values)


@composite(
    np.select,
    memory=NEW_C,
    samples=lambda r: [call([np.array([True, False, False]), np.array([True, True, False])], [r(3), r(3)], 7.0)],
)
def select(condlist: Sequence[Array], choicelist: Sequence[Array], default: Array = 0) -> Array:
    if len(condlist) != len(choicelist):
        raise ArgumentError(
            f"np.select needs one choice a condition; got {len(condlist)} conditions, {len(choicelist)} choices"
        )
    condlist = [np.asarray(c) if isinstance(c, list | tuple) else c for c in condlist]
    if any(np.result_type(condition).kind != "b" for condition in condlist):
        raise TypeError("np.select: conditions are arrays of truth values; write x != 0 of numbers")
    weak = (int, float, complex)  # Python's numbers do not promote
    values = [x if isinstance(x, Box) or type(x) in weak else np.asarray(x) for x in (*choicelist, default)]
    dtype = np.result_type(*map(_promoting, values))
    *choices, result = (np.asarray(x, dtype)[()] if type(x) in weak else x for x in values)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = np.where(condition, choice, result)
    return result if dtype == result.dtype else result.astype(dtype)


@composite(np.choose, memory=NEW_C, samples=lambda r: [call(np.array([0, 1, 1]), [r(3), r(3)])])
def choose(a: Array, choices: Array, out: Array = None, mode: str = "raise") -> Array:
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"np.choose: mode is 'raise', 'wrap' or 'clip'; got {mode!r}")
    stacked = choices
    if isinstance(choices, list | tuple):
        if any(choice is None for choice in choices):
            raise TypeError("np.choose: choices are arrays or numbers; got None among them")
        shown = np.broadcast_arrays(*(as_beside(a, choice) for choice in choices))
        stacked = np.stack(shown).astype(np.result_type(*map(_promoting, choices)), copy=False)
    a = np.broadcast_to(a, np.broadcast_shapes(np.shape(a), np.shape(stacked)[1:]))
    stacked = np.reshape(stacked, (len(stacked), *(1,) * (a.ndim + 1 - np.ndim(stacked)), *np.shape(stacked)[1:]))
    stacked = np.broadcast_to(stacked, (stacked.shape[0], *a.shape))
    index = np.clip(a, 0, len(stacked) - 1) if mode == "clip" else a % len(stacked) if mode == "wrap" else a
    return put(np.take_along_axis(stacked, index[None], axis=0)[0], out, np.choose)


_NUMBERS = (float, int)
_OR_NONE = frozenset((float, int, type(None)))
# NumPy has two loops for `np.clip`, which differ where x and a bound are zeros of different sign. Between numbers x
# stays; beside an array of bounds the bound is taken, as by `np.maximum`. Between these, if an array is broadcast along
# some axes, NumPy decides by lengths and memory.


def _between_numbers(x: Array, low: Array, high: Array) -> Array:
    if type(x) is np.ndarray and type(low) in _NUMBERS and type(high) in _NUMBERS:
        return x.clip(low, high)
    if np.ndim(low) == np.ndim(high) == 0 and outermost((x, low, high)) is None:
        return np.clip(x, low, high)
    return _first(np.minimum, np.greater, _first(np.maximum, np.less, x, low), high)


def _first(extreme: np.ufunc, beyond: np.ufunc, x: Array, bound: Array) -> Array:
    if type(bound) in _NUMBERS and not math.isnan(bound):
        return _as_extremes(np.where(beyond(x, bound), bound, x))
    return _as_extremes(np.where(np.equal(x, bound), x, extreme(x, bound)))


def _between_arrays(x: Array, low: Array, high: Array) -> Array:
    lowest, highest = _range(dtype_of(x))
    if type(low) is not type(lowest) or low != lowest:
        x = _second(np.maximum, np.greater, x, low)
        if type(high) is type(highest) and high == highest:
            return x
    return _second(np.minimum, np.less, x, high)


def _second(extreme: np.ufunc, beyond: np.ufunc, x: Array, bound: Array) -> Array:
    """The larger or smaller one; the bound of two zeros, where NumPy's `extreme` gives x for some dtypes."""
    found = extreme(x, bound)
    if found.dtype.char not in "GDFg":
        return found
    with np.errstate(invalid="ignore"):  # complex numbers that are nan are compared with a warning
        return _as_extremes(np.where(np.logical_or(beyond(x, bound), np.isnan(x)), x, bound))


def _as_extremes(chosen: Array) -> Array:
    """What `np.where` chose; a number where it has no axes, as `np.maximum` gives."""
    return chosen if np.ndim(chosen) else chosen[()]


def _clamping(forward: Function, name: str, samples: Samples) -> Op:
    return elementwise(
        forward,
        name=name,
        inputs=("x", "low", "high"),
        partials=(
            lambda g, x, low, high: where_true(np.logical_and(np.less_equal(low, x), np.less_equal(x, high)), g),
            lambda g, x, low, high: where_true(np.logical_and(np.less(x, low), np.less_equal(low, high)), g),
            lambda g, x, low, high: where_true(np.logical_or(np.greater(x, high), np.greater(low, high)), g),
        ),
        flags=("selects", "picks", "finite"),
        samples=samples,
    )


clamp = _clamping(
    _between_numbers,
    "clamp",
    lambda r: [
        call(r(3, 4), -0.5, 0.7),
        call(r(3, 4), r(4, low=-1, high=-0.5), r(high=1, low=0.5)),
        call(r(3), -np.inf, 0.3),
    ],
)
clamp_between = _clamping(
    _between_arrays,
    "clamp_between",
    lambda r: [call(r(3, 4), r(4, low=-1, high=-0.5), r(high=1, low=0.5)), call(r(3), -np.inf, 0.3)],
)


@composite(
    np.clip,
    samples=lambda r: [
        call(r(3, 4), -0.5, 0.7),
        call(r(3), None, 0.3),
        call(r(3), min=0.1),
        call(r(2, 3), r(3, low=-1, high=-0.5), None),
    ],
)
def clip(
    a: Array, a_min: Array = ..., a_max: Array = ..., out: Array = None, *, min: Array = ..., max: Array = ...
) -> Array:
    if a_min is ... and a_max is ...:
        low, high = (None if bound is ... else bound for bound in (min, max))
    elif a_min is ... or a_max is ...:
        raise TypeError(f"clip() missing 1 required positional argument: {'a_min' if a_min is ... else 'a_max'!r}")
    elif min is not ... or max is not ...:
        raise ArgumentError("np.clip takes either a_min and a_max, or min and max; got some of both")
    else:
        low, high = a_min, a_max
    given = a = a.as_array() if isinstance(a, Box) else a if hasattr(a, "dtype") else np.asarray(a)
    dtype = a.dtype
    if dtype.kind in "iu":  # Python's bounds outside of the dtype bound nothing
        lowest, highest = _range(dtype)
        low = None if type(low) is int and low <= lowest else low
        high = None if type(high) is int and high >= highest else high
    if dtype.kind in "biu":  # the others may promote, and NumPy compares in the result's dtype
        dtype = np.result_type(dtype, *(_promoting(x) for x in (low, high) if x is not None))
        a = a if dtype == a.dtype else a.astype(dtype)
    stays = dtype.kind == "f"  # whether a zero stays as it is beside a bound that is a zero of the other sign
    if stays and not (type(low) in _NUMBERS and type(high) in _NUMBERS):
        stays = dtype.char in "eg" if {type(low), type(high)} <= _OR_NONE else _stays(a, low, high)
    lowest, highest = _range(dtype)
    low, high = lowest if low is None else low, highest if high is None else high
    found = (clamp if stays else clamp_between)(a, low, high)
    if a is not given and repeats(given):
        found = lying_as(found, lambda x: np.clip(x, lies(low), lies(high)), given)
    return put(found, out, np.clip)


def _stays(a: Array, low: Array, high: Array) -> bool:
    """Whether a zero stays as it is beside a bound of the other sign, where one bound at least is an array."""
    if low is None or high is None:
        given = [x for x in (low, high) if x is not None and type(x) not in _NUMBERS]
        dtype: DType = np.result_type(a, *given) if given else a.dtype
        return dtype.char in ("e", "g")
    if a.dtype.char == "e" and np.result_type(a, low, high).char == "e":
        return True
    shapes: set[tuple[int, ...]] = {np.shape(x) for x in (low, high)}
    if any(math.prod(shape) != 1 for shape in shapes):
        return False
    return shapes == {()} or math.prod(a.shape) != 1 or len((shapes | {a.shape}) - {()}) > 1


def _promoting(x: Array) -> Value:
    """What decides the dtype of a result with `x`: Python's numbers as they are, which promote less."""
    if isinstance(x, Box) and x.is_python:
        return x.python_type(1)  # type: ignore[attr-defined]  # these have one
    return x if type(x) in (bool, int, float, complex) else dtype_of(x)


def _range(dtype: DType) -> tuple[Array, Array]:
    """The least and the largest number of `dtype`, as Python's, which do not promote."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    if dtype.kind == "c":  # by the imaginary part, where the real ones are equal
        return complex(-np.inf, -np.inf), complex(np.inf, np.inf)
    return (False, True) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


@linear(
    transpose=lambda g, k: np.tril(g, k),
    batch="leading",
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 3), -1)],
    flags=("idempotent", "moves", "pads", "selects"),
)
def tril(m: Array, /, k: int = 0) -> Array:
    return np.tril(m, k)


@composite(np.tril, samples=lambda r: [call(r(3, 4)), call(r(3), 1)])
def lower_triangle(m: Array, k: int = 0) -> Array:
    return tril(_as_rows(m), k)


@linear(
    transpose=lambda g, k: np.triu(g, k),
    batch="leading",
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 3), 1)],
    flags=("idempotent", "moves", "pads", "selects"),
)
def triu(m: Array, /, k: int = 0) -> Array:
    return np.triu(m, k)


@composite(np.triu, samples=lambda r: [call(r(3, 4)), call(r(3), 1)])
def upper_triangle(m: Array, k: int = 0) -> Array:
    return triu(_as_rows(m), k)


def _as_rows(m: Array) -> Array:
    """Of a vector, the square matrix whose rows it is, as NumPy has it."""
    return np.broadcast_to(m, (np.shape(m)[0],) * 2) if np.ndim(m) == 1 else m


def _places(shape: tuple[int, ...], offset: int) -> tuple[Array, Array]:
    """The rows and columns of a diagonal."""
    i = np.arange(max(0, min(shape[-2] + min(offset, 0), shape[-1] - max(offset, 0))))
    return i + max(-offset, 0), i + max(offset, 0)


def _on_diagonal(g: Array, a_shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Array:
    """Zeros of `a_shape` with `g` on a diagonal."""
    if len(a_shape) == 2:
        rows, columns = _places(a_shape if axis1 % 2 == 0 else a_shape[::-1], offset)
        return scattered(g, a_shape, (rows, columns) if axis1 % 2 == 0 else (columns, rows), False)
    moved = np.moveaxis(np.empty(a_shape, bool), (axis1, axis2), (-2, -1)).shape
    zeros = scatter_add(g, index=(..., *_places(moved, offset)), shape=moved)
    return np.moveaxis(zeros, (-2, -1), (axis1, axis2))


@linear(
    np.diagonal,
    transpose=_on_diagonal,
    batch="axes",
    memory=LOCKED_VIEW,
    flags=("moves", "selects"),
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 4), 1, 1, 2), call(r(3, 4), -1, 1, 0), call(r(2, 3, 4), -1, 2, 0)],
    errors=lambda r: [call(r(3))],
)
def diagonal(a: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    return np.diagonal(a, offset, axis1, axis2)


@composite(np.trace, samples=lambda r: [call(r(3, 4)), call(r(2, 3, 3), offset=1, axis1=1, axis2=2)])
def trace(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType = None, out: Array = None) -> Array:
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype, out)


@composite(np.diag, samples=lambda r: [call(r(3)), call(r(3), -1), call(r(3, 4)), call(r(3, 4), 1)])
def diag(v: Array, k: int = 0) -> Array:
    shape = np.shape(v)
    if len(shape) == 2:
        return np.diagonal(v, k)
    if len(shape) != 1:
        raise ArgumentError(f"np.diag takes a vector or a matrix; got {len(shape)} dimensions")
    n = shape[0] + abs(k)
    i = np.arange(shape[0])
    return scatter_add(v, index=(i + max(-k, 0), i + max(k, 0)), shape=(n, n))


@composite(np.diagflat, samples=lambda r: [call(r(2, 2)), call(r(3), 1)])
def diagflat(v: Array, k: int = 0) -> Array:
    return np.diag(np.ravel(v), k)


@composite(np.extract, samples=lambda r: [call(np.array([True, False, True]), r(3))])
def extract(condition: Array, arr: Array) -> Array:
    return np.ravel(arr)[np.nonzero(np.ravel(condition))[0]]


@composite(np.compress, memory=NEW_C, samples=lambda r: [call([True, False, True], r(3, 4), 0), call([0, 1], r(2, 2))])
def compress(condition: Array, a: Array, axis: Axis = None, out: Array = None) -> Array:
    return put(np.take(a, np.nonzero(np.asarray(condition))[0], axis), out, np.compress)
