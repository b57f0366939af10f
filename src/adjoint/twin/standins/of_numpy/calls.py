"""Stand-ins for NumPy's functions that have a rule: the same for boxes, and for lists that hold some.

NumPy checks whether an argument is a box, but not what a list contains: ``np.sum([t, u])`` would make a plain array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, ModuleType

import numpy as np

from adjoint.core.box import Box, raw, varies
from adjoint.core.memory import lying_as
from adjoint.core.messages.refusals import STUMBLED, numpys
from adjoint.core.op import Op
from adjoint.core.protocol import store
from adjoint.core.registry import answer, method_of
from adjoint.core.types import Array, Axis, DType, Function, Value
from adjoint.tape.fast import eligible
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor, fast_path_of
from adjoint.twin.standins.of_numpy.joining import joined
from adjoint.twin.standins.values import SEQUENCES, any_live, boxed, called_plainly, is_box, live, plainly

# These take sequences of arrays, whose order and number count: of nested ones, each part is joined.
_OF_ARRAYS = frozenset(
    (
        *(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.select, np.choose, np.lexsort),
        *(np.linalg.multi_dot, np.histogramdd),
    )
)
_TENSORS = frozenset((Tensor, TensorNumber))
_NO_LISTS = _TENSORS | frozenset((np.ndarray, float, int, bool, str, type(None), np.float64, slice, type))
_PLAIN = frozenset((np.ndarray, float, np.float64))
# These get nested lists unchanged.
_AS_IT_IS = frozenset((np.block,))


def _parts(x: object) -> Array:
    """The arrays of a sequence, those that are nested lists joined."""
    if not isinstance(x, SEQUENCES):
        return x
    return tuple(map(joined, x)) if isinstance(x, tuple) else list(map(joined, x))


def overlooked(original: Value) -> tuple[Value, ...]:
    """The place and name of an argument that may have a gradient, where NumPy does not look for tensors."""
    return (1, "ord") if original is np.linalg.norm else ("ord",) if original is np.linalg.vector_norm else ()


def of_function(original: Function, ours: Function | None) -> Function:
    """The stand-in of a NumPy function; `ours` answers for it, if it has a rule."""
    if ours is None:
        return without_rule(original)
    together = _parts if original in _OF_ARRAYS else joined
    direct, hidden, needed, known = ours, overlooked(original), *_arguments(original)

    def stand_in(*args: object, **kwargs: object) -> object:
        if len(args) == 1:
            x: Value = args[0]
            if type(x) is Tensor and needed < 2:
                if not kwargs:
                    return direct(x)
                if (
                    "out" not in kwargs
                    and known.issuperset(kwargs)
                    and _NO_LISTS.issuperset(map(type, kwargs.values()))
                ):
                    return answered(x, **kwargs)
            if type(x) not in _NO_LISTS and not isinstance(x, Box):
                if boxed(x):
                    args = (together(x),)
                elif together is _parts and type(x) in (list, tuple) and _PLAIN.issuperset(map(type, x)):
                    if not kwargs or all(type(value) is int for value in kwargs.values()):
                        return original(x, **kwargs)  # most of what a solver calls
        elif not _NO_LISTS.issuperset(map(type, args)) and any(map(boxed, args)):
            args = tuple(map(together, args))
        if kwargs:
            kwargs = {name: together(value) for name, value in kwargs.items()}
            if "out" in kwargs:
                return original(*args, **kwargs)
        # NumPy looks at some of the arguments only: at the array of np.take, and not at its index.
        # Constants in lists are made arrays on NumPy's own way.
        kinds = frozenset(map(type, args))
        if _NO_LISTS.issuperset(kinds):
            straight = not _TENSORS.isdisjoint(kinds)
        else:
            straight = any(map(is_box, args)) and not any(issubclass(kind, SEQUENCES) for kind in kinds)
        if hidden:
            straight = straight or any(is_box(kwargs.get(name)) for name in hidden)
        if len(args) + len(kwargs) < needed or not (straight or original in _OF_ARRAYS) or not known.issuperset(kwargs):
            return original(*args, **kwargs)
        return answered(*args, **kwargs)

    def answered(*args: object, **kwargs: object) -> object:
        try:
            return direct(*args, **kwargs)
        except STUMBLED as error:
            found = numpys(error, original, args, kwargs)
            if found is error:
                raise
            raise found from None

    return dressed(stand_in, original)


class _Everything:
    """The names of the arguments of a function that does not say them."""

    def issuperset(self, names: Iterable[str]) -> bool:
        return True


def _arguments(original: Function) -> tuple[int, Value]:
    """How many arguments NumPy's function needs, and the names of all. Ours may need fewer, and know more."""
    function = getattr(original, "__wrapped__", original)
    if not isinstance(function, FunctionType) or function.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return 0, _Everything()
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return code.co_argcount - len(function.__defaults__ or ()), frozenset(names)


def carried(original: Function) -> Function:
    """The stand-in of a NumPy function, by its rule if it has one."""
    return of_function(original, answer(original))


def without_rule(original: Function) -> Function:
    """The stand-in of a function without a rule: it takes the numbers of constants, and refuses live boxes itself."""

    def stand_in(*args: object, **kwargs: object) -> Array:
        if any_live(args, kwargs):
            return original(*map(joined, args), **{name: joined(value) for name, value in kwargs.items()})
        return called_plainly(original, args, kwargs)

    return dressed(stand_in, original)


def dressed(stand_in: Function, original: Function) -> Function:
    """`stand_in` with the name and docstring of its original."""
    stand_in.__name__ = stand_in.__qualname__ = getattr(original, "__name__", type(original).__name__)
    stand_in.__doc__ = getattr(original, "__doc__", None)
    stand_in.__wrapped__ = original  # type: ignore[attr-defined]  # functions take attributes
    return stand_in


def of_ufunc(ufunc: np.ufunc) -> Function:
    """The stand-in of a ufunc, with the methods and facts of one."""
    ours = answer(ufunc)
    short = fast_path_of(ours) if isinstance(ours, Op) and eligible(ours) and not ours.settings else None
    paths: Mapping[object, Value] = {} if short is None else ours.pullbacks  # type: ignore[union-attr]  # then it is an operation

    def stand_in(*args: object, **kwargs: object) -> Array | None:
        if kwargs:
            kwargs = {name: value if name == "out" else joined(value) for name, value in kwargs.items()}
        for x in args:
            if type(x) not in _NO_LISTS and not isinstance(x, Box) and boxed(x):
                return ufunc(*map(joined, args), **kwargs)
        return ufunc(*args, **kwargs)

    def of_one(x: Array, *rest: object, **kwargs: object) -> Array:
        if not rest and not kwargs:
            kind = type(x)
            if kind is Tensor or kind is TensorNumber:
                return short(x)  # type: ignore[misc]  # chosen where there is one
            if kind in _NO_LISTS:
                return ufunc(x)
            other = paths.get(kind)  # of duals and batches
            if other is not None:
                return other(x)
        return stand_in(x, *rest, **kwargs)

    chosen: Value = of_one if short is not None and ufunc.nin == 1 else stand_in
    if ours is None:
        chosen = without_rule(ufunc)
    for name in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "resolve_dtypes"):
        setattr(chosen, name, getattr(ufunc, name))
    for name, method in _METHODS.items():
        setattr(chosen, name, method(ufunc))
    return dressed(chosen, ufunc)


def _reduce(ufunc: np.ufunc) -> Function:
    if method_of(ufunc, "reduce"):
        return of_function(ufunc.reduce, None if answer(ufunc) is None else ufunc.reduce)

    def stand_in(
        a: Array, axis: Axis = 0, dtype: DType = None, out: object = None, keepdims: object = False,
        initial: Array = np._NoValue, where: Value = True,
    ) -> Array:  # fmt: skip
        a = joined(a)
        if not any_live((a, out, initial, where), {}):
            return called_plainly(ufunc.reduce, (a, axis, dtype, out, keepdims, initial, where), {})
        a, shape = _in_dtype(a, dtype, out), np.shape(a)
        # NumPy says what fits, and the result's shape.
        asked = (np.ones(shape, a.dtype), axis, None, None, keepdims, initial, where)
        like = called_plainly(ufunc.reduce, asked, {})
        flat = axis is None or not shape  # NumPy takes a number for a row of one
        axes = tuple(range(len(shape))) if flat else np.atleast_1d(axis).tolist()
        rows, masks = _rows(a, axes), None if where is True else _rows(np.broadcast_to(where, shape), axes)
        first = ufunc.identity if initial is np._NoValue else initial
        if first is None or (initial is np._NoValue and masks is None and len(rows) > 1):
            result, start = rows[0], 1
        else:  # np.hypot.reduce([-1.0]) is 1
            number = len(rows) and type(first) in (int, float, bool)  # which promotes less than an array
            result, start = first if number else np.broadcast_to(first, np.shape(rows)[1:]), 0
        for i in range(start, len(rows)):
            step = ufunc(result, rows[i])
            result = step if masks is None else np.where(masks[i], step, result)
        result = np.reshape(result, np.shape(like))
        result = np.copy(result) if len(rows) else np.full_like(like, result)
        return store(result if np.shape(like) else result[()], _alone(out))

    return stand_in


def _rows(a: Array, axes: Axis) -> Array:
    """`a` with `axes` as one axis, the first."""
    moved = np.moveaxis(a, axes, range(len(axes)))
    shape = np.shape(moved)
    return np.reshape(moved, (math.prod(shape[: len(axes)]), *shape[len(axes) :]))


def _alone(out: object) -> object:
    return out[0] if isinstance(out, tuple) else out


def _in_dtype(a: Array, dtype: DType, out: object) -> Array:
    """`a` in the dtype in which NumPy reduces it: `dtype`, or that of `out`."""
    dtype = getattr(_alone(out), "dtype", None) if dtype is None else dtype
    return a if dtype is None or dtype == a.dtype else a.astype(dtype)


def _accumulate(ufunc: np.ufunc) -> Function:
    if method_of(ufunc, "accumulate"):
        return of_function(ufunc.accumulate, ufunc.accumulate)

    def stand_in(a: Value, axis: Axis = 0, dtype: DType = None, out: object = None) -> object:
        a = joined(a)
        if not any_live((a, out), {}) or not np.size(a):
            return called_plainly(ufunc.accumulate, (a, axis, dtype, out), {})
        a = _in_dtype(a, dtype, out)
        rows = list(np.moveaxis(a, axis, 0))
        for i in range(1, len(rows)):
            rows[i] = ufunc(rows[i - 1], rows[i])
        return store(_together(rows, axis, lambda model: ufunc.accumulate(model, axis=axis), a), _alone(out))

    return stand_in


def _reduceat(ufunc: np.ufunc) -> Function:
    def stand_in(array: Array, indices: object, axis: Axis = 0, dtype: DType = None, out: object = None) -> Array:
        array = joined(array)
        if not any_live((array, out), {}) or not np.size(array):
            return called_plainly(ufunc.reduceat, (array, indices, axis, dtype, out), {})
        array = _in_dtype(array, dtype, out)
        rows, starts = np.moveaxis(array, axis, 0), np.asarray(plainly(indices)).tolist()
        parts = [
            _reduce(ufunc)(rows[start:stop]) if start < stop else rows[start]
            for start, stop in zip(starts, [*starts[1:], rows.shape[0]], strict=True)
        ]
        made = _together(parts, axis, lambda model: ufunc.reduceat(model, starts, axis=axis), array)
        return store(made, _alone(out))

    return stand_in


def _together(rows: list[Array], axis: int, by_numpy: Callable[[Value], Value], a: Array) -> Array:
    """`rows` along `axis` of one array, which lies in memory as NumPy's result for `a` does."""
    return lying_as(np.moveaxis(np.stack(rows), 0, axis), by_numpy, a)


def _at(ufunc: np.ufunc) -> Function:
    def stand_in(a: Value, indices: Value, *b: Value) -> None:
        b = tuple(map(joined, b))
        if not (live(a) or any(map(live, b))):
            called_plainly(ufunc.at, (a, indices, *b), {})
        elif not is_box(a) or method_of(ufunc, "at"):
            ufunc.at(a, indices, *b)
        else:  # one after another, as places may come up several times
            places = np.arange(a.size).reshape(a.shape)[plainly(indices)]
            values = [np.broadcast_to(x, places.shape) for x in b]
            for where in np.ndindex(*places.shape):
                at = tuple(int(i) for i in np.unravel_index(places[where], a.shape))
                a[at] = ufunc(a[at], *(x[where] for x in values))

    return stand_in


def _outer(ufunc: np.ufunc) -> Function:
    return of_function(ufunc.outer, ufunc.outer)


_METHODS: dict[str, Callable[[np.ufunc], Function]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "at": _at,
    "outer": _outer,
}
# Functions that a twin calls as they are: they take no arrays, or make a plain one of plain things.
_NAMES = (
    "zeros ones empty eye identity tri indices ndindex errstate seterr geterr seterrcall geterrcall setbufsize "
    "getbufsize dtype load fromfile frombuffer fromstring fromregex loadtxt genfromtxt memmap get_include "
    "show_config show_runtime info issubdtype promote_types finfo iinfo printoptions set_printoptions "
    "get_printoptions isdtype typename mask_indices tril_indices triu_indices diag_indices fromfunction "
    "broadcast_shapes bmat "
)
_UNTOUCHED = frozenset(_NAMES.split())


def table() -> Iterable[tuple[Value, Callable[[Value], Function]]]:
    """NumPy's functions, those of its linear algebra and Fourier transforms, and what makes the stand-in of each."""
    modules: tuple[ModuleType, ...] = (np, np.linalg, np.fft, np.lib.stride_tricks)
    for module in modules:
        own = vars(module)  # a look at other names would load modules that nobody asked for
        for name in sorted(set(getattr(module, "__all__", own)) & own.keys()):
            original = own[name]
            if (
                isinstance(original, type | ModuleType)
                or not callable(original)
                or name in _UNTOUCHED
                or original in _AS_IT_IS
            ):
                continue
            yield original, of_ufunc if isinstance(original, np.ufunc) else carried
    yield np.poly1d, carried


def compares(function: Function) -> bool:
    """Whether a function is one of ``np.testing.assert_…``."""
    named = str(function.__module__).startswith("numpy.testing") and function.__name__.startswith("assert_")
    return type(function) is FunctionType and named


def comparing(original: Function) -> Function:
    """The stand-in of what compares values, through which nothing flows."""

    def stand_in(*args: Value, **kwargs: object) -> object:
        if len(args) > 1 and any(map(varies, args[:2])):
            args = (*np.broadcast_arrays(*map(raw, np.broadcast_arrays(*args[:2]))), *args[2:])
        return called_plainly(original, args, kwargs)

    return dressed(stand_in, original)
