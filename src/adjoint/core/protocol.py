"""NumPy's two protocols: how ``np.sin(t)`` and ``np.concatenate([t, u])`` reach our operations."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextvars import ContextVar
from functools import partial
from typing import cast

import numpy as np

from adjoint.core.axes import along_axes
from adjoint.core.box import Box, outermost, raw, varies
from adjoint.core.errors import ArgumentError, DTypeError, LeavesGraphError, NotSupportedError, ShapeError
from adjoint.core.leaks.notes import refused
from adjoint.core.memory import lies, lying_as
from adjoint.core.messages.refusals import numbers_only
from adjoint.core.objects.foreign import plain_array
from adjoint.core.objects.keys import looked_up
from adjoint.core.objects.trees import flatten
from adjoint.core.registry import ANSWERS, REDUCTIONS, answer, entries, method_of
from adjoint.core.types import Array, Axis, DType, Function, Settings, Value

_EQUALITIES = (np.equal, np.not_equal)


def promoting(x: Array) -> Array:
    """A number of Python's as an array, which decides the dtype of a result as other arrays do."""
    return x.as_array() if isinstance(x, Box) else x if hasattr(x, "dtype") else np.asarray(x)


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Array, ...], kwargs: dict[str, Value]) -> Array:
    """Answer ``ufunc(...)``, ``ufunc.reduce(...)``, ``ufunc.accumulate(...)`` and ``ufunc.outer(...)``."""
    ours = answer(ufunc)
    if ours is None:
        raise unknown(ufunc, inputs)
    if method == "outer":
        a, b = map(promoting, inputs)
        a = np.reshape(a, (*np.shape(a), *(1,) * np.ndim(b)))
        return array_ufunc(ufunc, "__call__", (a, b), kwargs)
    if method != "__call__":
        return _by_method(ufunc, method, inputs, kwargs)
    if ufunc in _EQUALITIES and not any(map(np.ndim, inputs)):
        looked_up(*inputs)  # ``np.float64.__eq__`` calls it
    if not kwargs:
        return ours(*inputs)
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    if isinstance(out, tuple) and len(out) != ufunc.nout:
        raise ArgumentError(
            f"np.{ufunc.__name__}: out= is an array for each of its {ufunc.nout} results; got {len(out)}"
        )
    out = _single(out)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    numbers_only(dtype)
    casting = kwargs.get("casting", "same_kind")
    if ufunc.signature is not None:  # np.vecdot(x, y, axis=0) and its like
        inputs = inputs if dtype is None else _of_loop(ufunc, inputs, dtype, casting)  # NumPy may refuse it
        return store(_fitting(_cast(along_axes(ours, ufunc, inputs, kwargs), dtype), out, casting, ufunc), out)
    _only(ufunc, kwargs, casting=("same_kind", "unsafe", "safe"), order=("K", "C", "A"), subok=(True, False))
    given = inputs
    if dtype is not None:
        inputs = _of_loop(ufunc, inputs, dtype, casting)
    if where is not True:
        return _masked(ours, ufunc, inputs, out, where, dtype, casting)
    result = _cast(ours(*inputs), dtype)
    if dtype is not None and any(map(repeats, given)):  # by which NumPy decides before it converts
        result = lying_as(result, partial(ufunc, dtype=dtype, casting=casting), *given)
    return store(_fitting(result, out, casting, ufunc), out)


def repeats(x: Array) -> bool:
    """Whether `x` repeats numbers along an axis."""
    model = lies(x)
    return isinstance(model, np.ndarray) and 0 in model.strides


def _in_rows(x: Array) -> bool:
    """Whether `x` lies in C order."""
    model = lies(x)
    return not isinstance(model, np.ndarray) or model.flags.c_contiguous


def _fitting(result: Array, out: Array, casting: Value, function: Function) -> Array:
    """`result`, which ``out=`` can take by the rule `casting`."""
    if out is not None and not isinstance(result, tuple) and isinstance(out, Box | np.ndarray):
        given, wanted = getattr(result, "dtype", np.dtype(type(result))), cast(Value, out).dtype
        if not np.can_cast(given, wanted, casting):
            raise DTypeError(
                f"np.{function.__name__}: the result has dtype {given}, which does not fit into out= of {wanted} by "
                f"the rule {casting!r}; pass an array of {given} as out="
            )
    return result


def _single(out: Array) -> Array:
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _cast(value: Array, dtype: DType) -> Array:
    if isinstance(value, tuple):
        return tuple(_cast(x, dtype) for x in value)
    return value if dtype is None else value.astype(dtype)


def _of_loop(ufunc: np.ufunc, inputs: tuple[Array, ...], dtype: DType, casting: Value) -> tuple[object, ...]:
    """`inputs` in the dtypes in which NumPy computes results of `dtype`."""
    given = [x.dtype if hasattr(x, "dtype") else type(x) for x in inputs]
    wanted = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    loop = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout), signature=wanted, casting=casting)
    return tuple(x.astype(d) if hasattr(x, "dtype") and x.dtype != d else x for x, d in zip(inputs, loop, strict=False))


def _only(function: Value, kwargs: Settings, **harmless: tuple[object, ...]) -> None:
    for name, value in kwargs.items():
        if value not in harmless.get(name, ()):
            raise NotSupportedError(f"np.{function.__name__} on a tensor does not take {name}={value!r}; leave it out")


def fitting_mask(where: Array, shape: tuple[int, ...]) -> Array:
    """The argument ``where=``: truth values, which fit an array of `shape`. Numbers in a list are true unless 0."""
    dtype, given = getattr(where, "dtype", None), np.shape(where)
    if dtype is None and not any(isinstance(x, Box) for x in flatten(where)[0]):
        where, dtype = np.asarray(where, bool), np.dtype(bool)
    if dtype is not None and dtype != np.bool_:
        raise DTypeError(f"where= is an array of truth values; got {dtype}. Compare: where=mask != 0")
    if len(given) > len(shape) or any(m not in (1, n) for m, n in zip(given[::-1], shape[::-1], strict=False)):
        raise ShapeError(f"where= of shape {given} does not fit an array of shape {shape}")
    return where


def _inside(x: Array, where: Array) -> Array:
    """What may stand for `x` where the mask is off: a value from where it is on, so that nothing there is singular."""
    x, mask = detached(x), raw(where)
    if not isinstance(mask, np.ndarray) or varies(where) or not mask.any():
        return x
    shape = np.broadcast_shapes(np.shape(x), mask.shape)
    if 0 in shape:
        return x
    at = np.unravel_index(np.argmax(np.broadcast_to(mask, shape)), shape)
    return np.broadcast_to(x, shape)[tuple(map(int, at))]


def _masked(
    ours: Function, ufunc: np.ufunc, inputs: tuple[Array, ...], out: Array, where: Array, dtype: DType, casting: str
) -> Array:
    """``ufunc(..., out=out, where=mask)``: elements outside the mask keep what `out` has, and its gradient."""
    if out is None:
        raise ArgumentError(
            f"np.{ufunc.__name__}(..., where=mask) without out= leaves elements undefined; say what they "
            f"are: np.where(mask, np.{ufunc.__name__}(x), 0.0), or pass out=np.zeros(...)"
        )
    where = fitting_mask(where, np.shape(out[0] if isinstance(out, tuple) else out))
    # A constant where the mask is off: its cotangent is selected away, not multiplied by 0.
    chosen = [
        np.where(where, cast(Value, x), _inside(x, where)) if isinstance(x, Box) or np.shape(x) else x for x in inputs
    ]
    with np.errstate(all="ignore"):
        made = _cast(ours(*chosen), dtype)
        if isinstance(made, tuple):  # of np.modf and its like, which have two
            made = tuple(np.where(where, cast(Value, x), before) for x, before in zip(made, out, strict=True))
        else:
            made = np.where(where, _fitting(made, out, casting, ufunc), out)
    return store(made, out)


# Whether a rule asks for values without history: where it does, their derivative is 0 anyway.
for_a_rule: ContextVar[bool] = ContextVar("for_a_rule", default=False)


def detached(x: Array) -> Array:
    """The same values without their history, for a rule whose derivative by them is 0."""
    if not isinstance(x, Box):
        return x
    before = for_a_rule.get()
    try:
        for_a_rule.set(True)
        value = cast(Value, x).detach()
    finally:
        for_a_rule.set(before)
    return value


def _reduced_at(
    ufunc: np.ufunc, array: Array, indices: Array, axis: int = 0, dtype: DType = None, out: Array = None
) -> Array:
    """``ufunc.reduceat``: a reduction for each two indices that follow each other."""
    out = _single(out)
    given = widened(array, out, ufunc) if dtype is None else array.astype(dtype)
    rows, at = np.moveaxis(given, axis, 0), np.asarray(detached(indices)).astype(np.intp).tolist()
    np.add.reduceat(np.zeros(rows.shape[0]), at)  # NumPy's refusals of indices
    parts = [ufunc.reduce(rows[i:j]) if i < j else rows[i] for i, j in zip(at, [*at[1:], len(rows)], strict=True)]
    made = lying_as(np.moveaxis(np.stack(parts), 0, axis), lambda x: ufunc.reduceat(x, at, axis=axis), array)
    return _put(made, out, ufunc)


def _by_method(ufunc: np.ufunc, method: str, inputs: tuple[Array, ...], kwargs: dict[str, Value]) -> Array | None:
    """``ufunc.reduce``, ``ufunc.accumulate``, ``ufunc.at`` and ``ufunc.reduceat``."""
    if method == "reduceat" and method_of(ufunc, "reduce"):
        return _reduced_at(ufunc, *inputs, **kwargs)
    ours = method_of(ufunc, method)
    if ours is None:
        entries()  # all of them
        near = ", ".join(sorted(f"np.{u.__name__}.{m}" for u, m in REDUCTIONS))
        raise NotSupportedError(f"np.{ufunc.__name__}.{method} on a tensor is not supported; these are: {near}")
    if method == "at":
        return ours(*inputs)
    a, *rest = inputs
    if not isinstance(a, Box) and sys._getframe(4).f_code.co_name in _IN_STEPS:  # the caller of NumPy's protocol
        raise NotSupportedError(
            "mean, var and std of a plain array write into out= in several steps of NumPy's own, of which a tensor "
            "sees the first only; call the function: np.mean(array, out=t)"
        )
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    given = {"axis": 0} | dict(zip(names, rest, strict=False)) | kwargs
    out, dtype = _single(given.pop("out", None)), given.pop("dtype", None)
    where, initial = given.pop("where", True), given.pop("initial", None)
    numbers_only(dtype)
    if dtype is not None:
        getattr(ufunc, method)(np.ones(1), dtype=dtype)  # NumPy's refusal where it has no loop
    if where is not True:
        given["where"] = where
    if initial is not None and initial is not np._NoValue:
        if hasattr(out, "dtype"):  # NumPy begins with what `out` holds
            initial = cast(Value, initial if isinstance(initial, Box) else np.asarray(initial)).astype(out.dtype)[()]
        given["initial"] = initial
    result = ours(widened(a, out, ufunc) if dtype is None else a.astype(dtype), **given)
    if method == "reduce":
        result = reduced_as(result, a, given["axis"], bool(given.get("keepdims")), where)
    return _put(result if dtype is None or result.dtype == dtype else result.astype(dtype), out, ufunc)


def reduced_as(result: Array, a: Array, axis: Axis, keepdims: bool, where: Array = True) -> Array:
    """`result`, which lies as NumPy's reduction of `a` itself does, where it is that of a copy of `a`."""
    if np.ndim(result) < 2 or not (repeats(a) or (where is not True and not (_in_rows(a) and _in_rows(where)))):
        return result
    options: dict[str, Value] = {"axis": axis, "keepdims": keepdims, "where": where if where is True else lies(where)}
    return lying_as(result, lambda x: np.add.reduce(x, **options), a)


def store(result: Array, out: Array) -> Array | None:
    """Put `result` into `out`, as ``out=`` does, and give `out` back; without `out`, the result."""
    if out is None:
        return result
    if isinstance(result, tuple):  # of np.modf and its like, which have two
        return tuple(map(store, result, out))
    if isinstance(out, Box):
        target = cast(Value, out)
        if target.dtype.kind != "c" and getattr(result, "dtype", target.dtype).kind == "c":
            raise DTypeError(f"out= of dtype {target.dtype} cannot hold a complex result; pass a complex one, or none")
        if target.dtype.kind in "iu" and getattr(result, "dtype", target.dtype) != target.dtype:
            result = cast(Value, result).astype(target.dtype)  # whole numbers wrap around; assigned ones are refused
        return target.assign(result)
    if not isinstance(out, np.ndarray):
        plain_array(out)  # which asks objects that answer NumPy's protocols
    if isinstance(result, Box) and in_graph(result):
        instead = "leave out= away, pass a tensor as out=, or take the values only: np.copyto(out, t.detach().numpy())"
        raise LeavesGraphError(f"out= is a plain array, which cannot hold a gradient's history; {instead}")
    out[...] = np.asarray(result, out.dtype)
    return out


def dtype_of_sums(ufunc: np.ufunc, dtype: DType, out: DType) -> np.dtype[Value]:
    """The dtype in which NumPy takes numbers of `dtype` together into an array of the dtype `out`.

    Raises:
        TypeError: by NumPy, if `ufunc` does not take these.
    """
    return ufunc.resolve_dtypes((np.dtype(out), np.dtype(dtype), None), casting="unsafe", reduction=True)[1]


def widened(a: Array, out: Array, ufunc: np.ufunc = np.add) -> Array:
    """`a` in the dtype in which NumPy takes its numbers together into `out`."""
    if out is None or not hasattr(a, "dtype") or not hasattr(out, "dtype"):
        return a
    wide = dtype_of_sums(ufunc, a.dtype, out.dtype)
    return a if wide == a.dtype else _cast(a, wide)


# Functions of NumPy that write into ``out=`` in two steps, and look at it in between.
_IN_STEPS = frozenset(("_mean", "_var"))
# By which rule functions that are no ufuncs convert a result into ``out=``; the others by none.
_CASTING: Mapping[Function, str] = {
    **dict.fromkeys((np.dot, np.linalg.multi_dot, np.argmax, np.argmin), "no"),
    **dict.fromkeys((np.clip, np.std, np.round, np.around, np.concatenate, np.stack, np.outer, np.ptp), "same_kind"),
    **dict.fromkeys((np.percentile, np.quantile, np.fix), "same_kind"),
    np.einsum: "safe",
}
_ROWS_ONLY = (np.dot, np.linalg.multi_dot)  # whose ``out=`` lies in C order
_BROADCAST = frozenset(  # whose last step is a ufunc
    (np.clip, np.fix, np.outer, np.quantile, np.percentile, np.nanquantile, np.nanpercentile, np.nanmedian)
)
# They convert `out` first, and back; from NumPy 2.5 on they convert the result into any dtype.
_THROUGH_OUT = (np.take, np.compress) if np.lib.NumpyVersion(np.__version__) < "2.5.0" else ()
_PLACES = (np.argmax, np.argmin)
# They look at `out` themselves: at its dtype, in which NumPy computes, or at its memory.
_LOOKING = frozenset(
    (
        *(np.sum, np.prod, np.cumsum, np.cumprod, np.mean, np.var, np.std, np.round, np.around),
        *(np.nansum, np.nanprod, np.nancumsum, np.nancumprod, np.nanmean, np.nanvar, np.nanstd),
        *(np.max, np.amax, np.min, np.amin, np.ptp, np.nanmax, np.nanmin, np.median, np.trace),
        *(np.quantile, np.percentile, np.cumulative_sum, np.cumulative_prod, np.concatenate, np.stack),
    )
)


def put(result: Array, out: Array, function: Function, last: Function | None = None) -> Value:
    """`result` as ``out=`` of `function` gets it, if there is one: in its shape, by NumPy's rule of conversion.

    That rule is the rule of the function that NumPy calls `last`.

    Raises:
        DTypeError: if the result's dtype does not fit.
        ShapeError: if `out` has another shape.
    """
    if out is None:
        return result
    dtype = getattr(result, "dtype", None)
    if function in _PLACES and dtype is not None:
        if out.dtype != dtype and np.can_cast(out.dtype, dtype, "safe"):  # in which they are written first
            return _put(result, out, function)
    elif (last or function) in _THROUGH_OUT and dtype is not None:
        if not np.can_cast(getattr(out, "dtype", dtype), dtype, "safe"):
            raise DTypeError(f"np.{function.__name__}: out= has dtype {out.dtype}; pass an array of {dtype}")
    return _put(_fitting(result, out, _CASTING.get(last or function, "unsafe"), function), out, function)


def _put(result: Array, out: Array, function: Function) -> object:
    """`store`, into what has the shape of the result: only ufuncs that are called broadcast into `out`."""
    if out is not None and not isinstance(out, Box | np.ndarray):
        raise TypeError(f"np.{function.__name__}: out= must be an array; got {type(out).__name__}")
    shape = np.shape(result) if out is None else cast(Value, out).shape
    if shape != np.shape(result) and function not in _BROADCAST:
        raise ShapeError(
            f"np.{function.__name__}: out= has shape {shape}, and the result {np.shape(result)}; pass an array of "
            f"the result's shape"
        )
    if function in _ROWS_ONLY and isinstance(model := lies(out), np.ndarray) and not model.flags.c_contiguous:
        raise ArgumentError(
            f"np.{function.__name__}: out= must lie in memory row by row; pass np.zeros({shape}) as out="
        )
    return store(result, out)


def in_graph(x: Array) -> bool:
    """Whether `x` is a box whose history matters."""
    return isinstance(x, Box) and bool(getattr(x, "requires_grad", True))


def array_function(function: Function, args: tuple[Array, ...], kwargs: Settings) -> Array | None:
    """Answer any NumPy function that is not a ufunc."""
    ours = answer(function)
    if ours is None:
        raise unknown(function, args)
    if function in _LOOKING:
        return ours(*args, **{k: _single(v) if k == "out" else v for k, v in kwargs.items()})
    if "out" in kwargs:
        rest = {k: v for k, v in kwargs.items() if k != "out"}
        out = _single(kwargs["out"])
        if function is np.einsum and hasattr(out, "dtype"):  # it counts and adds in the dtype of `out`
            given = [x.dtype for x in args if hasattr(x, "dtype")]
            if all(np.can_cast(dtype, out.dtype, "safe") and dtype != out.dtype for dtype in given):
                rest.setdefault("dtype", out.dtype)
        result = ours(*args, **rest)
        casting = rest.get("casting")
        return put(_fitting(result, out, casting, function) if casting else result, out, function)
    return ours(*args, **kwargs)


def unknown(function: Value, args: tuple[Array, ...]) -> NotSupportedError:
    """The error for a function that has no counterpart: it names the nearest that have."""
    import difflib  # needed for this message only

    name = function.__name__.lstrip("_")  # of a function that a public one calls
    module = getattr(function, "__module__", "numpy")
    box = outermost(flatten(args)[0])
    if box is not None:
        refused(box, f"{module}.{name}", 0)
    near = difflib.get_close_matches(name, list(entries()), n=3, cutoff=0.5)
    hint = f"the nearest that are: {', '.join(near)}; or " if near else ""
    hint += "where no gradient is needed take its numbers, t.detach().numpy(); docs/add_an_op.md shows how to add it"
    return NotSupportedError(f"{module}.{name} is not supported on a tensor ({hint})")


__all__ = [
    "ANSWERS",
    "array_function",
    "array_ufunc",
    "detached",
    "dtype_of_sums",
    "in_graph",
    "put",
    "reduced_as",
    "repeats",
    "store",
    "unknown",
    "widened",
]
