"""Functions that take functions: their arguments are resolved to twins first."""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from adjoint.core.box import varies
from adjoint.core.types import Array, Axis, DType, Function, ShapeLike, Value
from adjoint.twin.standins.of_numpy.calls import dressed
from adjoint.twin.standins.of_numpy.joining import asarray, joined
from adjoint.twin.standins.of_python import builtin
from adjoint.twin.standins.values import boxed, is_box, live, plainly, reaches

Resolve = Callable[[Value], Value]
Maker = Callable[[Resolve], Callable[..., Value]]


def _follows(f: object) -> bool:
    """Whether `f` may have a twin or a stand-in: classes of users are resolved where instances are made."""
    return callable(f) and not is_box(f)


def resolving(original: Function) -> Maker:
    """The maker of a function whose arguments may be functions: each of these is resolved."""

    def make(resolve: Resolve) -> Function:
        def call(*args: object, **kwargs: object) -> Value:
            args = tuple(resolve(a) if _follows(a) else a for a in args)
            return original(*args, **{k: resolve(v) if _follows(v) else v for k, v in kwargs.items()})

        return call

    return make


def _of_key(original: Function, ours: Function) -> Maker:
    """The maker of ``min``, ``max`` and ``sorted``: what has a key is compared by it."""

    def make(resolve: Resolve) -> Function:
        def call(*args: Array, **kwargs: object) -> Array:
            key = kwargs.get("key")
            if key is None:
                return ours(*args, **kwargs)
            return original(*args, **{**kwargs, "key": resolve(key)})

        return call

    return make


def _methodcaller(resolve: Resolve) -> Function:
    def make(name: str, /, *args: object, **kwargs: object) -> Callable[[Value], Value]:
        return lambda x: method_of(x, name, resolve)(*args, **kwargs)

    return make


def method_of(x: object, name: str, resolve: Resolve) -> Function:
    """Return what a twin calls for ``x.name``."""
    from adjoint.twin.standins.of_numpy.methods import array_method, box_method  # these use this module

    ours = box_method(name) if is_box(x) else array_method(name) if type(x) is np.ndarray else None
    return functools.partial(ours, x) if ours is not None else resolve(getattr(x, name))


def _attrgetter(resolve: Resolve) -> Function:
    from adjoint.twin.standins.of_numpy.methods import box_attribute  # this uses this module

    def read(x: Array, path: str) -> Value:
        for name in path.split("."):
            ours = box_attribute(name) if is_box(x) else None
            x = getattr(x, name) if ours is None else ours(x)
        return x

    def make(*names: str) -> Callable[[Value], Value]:
        getter = operator.attrgetter(*names)  # checks them
        del getter
        return lambda x: read(x, names[0]) if len(names) == 1 else tuple(read(x, name) for name in names)

    return make


def _dunder(original: Function, name: str, ours: Function | None = None) -> Maker:
    """The maker of ``abs(x)`` and its like, which call a method of the user's class."""

    def make(resolve: Resolve) -> Function:
        def call(*args: object, **kwargs: object) -> Array | None:
            if args and not is_box(args[0]):
                method = getattr(type(args[0]), name, None)
                if type(method) is types.FunctionType:
                    return resolve(method)(*args, **kwargs)
            return (ours or original)(*args, **kwargs)

        return call

    return make


def _iter(resolve: Resolve) -> Function:
    of_class = _dunder(iter, "__iter__")(resolve)

    def call(*args: object) -> Value:
        return iter(resolve(args[0]), args[1]) if len(args) == 2 else of_class(*args)

    return call


def _along_axis(resolve: Resolve) -> Function:
    def call(func1d: Function, axis: Axis, arr: Array, *args: object, **kwargs: object) -> Array:
        twin, arr = resolve(func1d), joined(arr)
        rows = np.moveaxis(asarray(arr), operator.index(axis), -1)
        results = [joined(twin(rows[i], *args, **kwargs)) for i in np.ndindex(*rows.shape[:-1])]
        if not any(map(boxed, results)):
            again = iter(results)
            return np.apply_along_axis(lambda *_: next(again), axis, plainly(arr))
        results = [asarray(x) for x in results]
        inner = np.shape(results[0])
        made = np.reshape(np.stack(results), rows.shape[:-1] + inner)
        start, lead = axis % np.ndim(arr), rows.ndim - 1
        return np.moveaxis(made, range(lead, lead + len(inner)), range(start, start + len(inner)))

    return call


def _over_axes(resolve: Resolve) -> Function:
    return lambda func, a, axes: np.apply_over_axes(resolve(func), joined(a), axes)


def _fromfunction(resolve: Resolve) -> Function:
    def call(
        function: Value, shape: ShapeLike, *, dtype: DType = float, like: object = None, **kwargs: object
    ) -> Value:
        return resolve(function)(*np.indices(shape, dtype=dtype), **kwargs)

    return call


def _piecewise(resolve: Resolve) -> Function:
    def call(x: Array, condlist: Value, funclist: Value, *args: Value, **kw: Value) -> Array:
        functions = [resolve(f) if callable(f) and not is_box(f) else f for f in funclist]
        x = joined(x)
        if varies(x):
            return _chosen(x, condlist, functions, args, kw)
        if not live(x) and (any(map(live, (*functions, *args, *kw.values()))) or any(map(reaches, funclist))):
            return _chosen(asarray(plainly(x)), condlist, functions, args, kw)
        return np.piecewise(x, condlist, functions, *args, **kw)

    return dressed(call, np.piecewise)


def _chosen(x: Value, condlist: Value, functions: list[Value], args: Value, kw: Value) -> Array:
    """`numpy.piecewise` of every function everywhere: for plain places, and for those of many samples."""
    conditions = list(condlist) if np.ndim(condlist[0]) or not x.ndim else [condlist]
    for i, condition in enumerate(conditions):
        shape = np.shape(condition)
        if shape != x.shape[: len(shape)]:
            raise IndexError(f"np.piecewise: a condition of shape {shape} does not fit values of shape {x.shape}")
        conditions[i] = np.reshape(condition, (*shape, *(1,) * (x.ndim - len(shape))))
    if len(functions) > len(conditions):
        conditions.append(np.logical_not(functools.reduce(np.logical_or, conditions)))
    made = np.zeros_like(x) if is_box(x) else np.zeros(x.shape, x.dtype)
    if made.dtype.kind in "iu":  # an error where a number does not fit
        functions = [np.array(f, made.dtype) if isinstance(f, int | float) else f for f in functions]
    with np.errstate(all="ignore"):
        values = [f(x, *args, **kw) if callable(f) and not is_box(f) else f for f in functions]
    for condition, value in zip(conditions, values, strict=True):
        chosen = np.where(condition, value, made)
        made = chosen if chosen.dtype == made.dtype else chosen.astype(made.dtype)
    return made


def _cmp_to_key(resolve: Resolve) -> Function:
    return lambda mycmp: functools.cmp_to_key(resolve(mycmp))


def of_partial(original: functools.partial[object]) -> Maker:
    """The maker of the stand-in for a `functools.partial` that was made before."""
    return lambda resolve: functools.partial(resolve(original.func), *original.args, **original.keywords)


def _reduce_all(resolve: Resolve) -> Function:
    return lambda function, *rest: functools.reduce(resolve(function), *rest)


def _accumulate(resolve: Resolve) -> Function:
    def call(iterable: Value, func: Value = operator.add, **kwargs: Value) -> Iterator[Value]:
        return itertools.accumulate(iterable, resolve(operator.add if func is None else func), **kwargs)

    return call


def _sort(resolve: Resolve) -> Function:
    return lambda items, *, key=None, reverse=False: items.sort(
        key=None if key is None else resolve(key), reverse=reverse
    )


def table() -> Iterable[tuple[Value, Maker]]:
    """The functions that take functions, and the makers of their stand-ins."""
    original: Value
    for original in (map, filter, functools.partial, functools.partialmethod):
        yield original, resolving(original)
    for name in ("starmap", "takewhile", "dropwhile", "filterfalse", "groupby"):
        yield getattr(itertools, name), resolving(getattr(itertools, name))
    ours = dict(builtin.table())
    yield sorted, _of_key(sorted, sorted)
    yield min, _of_key(min, ours[min])
    yield max, _of_key(max, ours[max])
    yield list.sort, _sort
    yield functools.reduce, _reduce_all
    yield functools.cmp_to_key, _cmp_to_key
    yield itertools.accumulate, _accumulate
    yield operator.methodcaller, _methodcaller
    yield operator.attrgetter, _attrgetter
    yield iter, _iter
    for original in (next, abs, len, reversed):
        yield original, _dunder(original, f"__{original.__name__}__")
    for original in (float, complex, round):
        yield original, _dunder(original, f"__{original.__name__}__", ours[original])
    yield np.apply_along_axis, _along_axis
    yield np.apply_over_axes, _over_axes
    yield np.fromfunction, _fromfunction
    yield np.piecewise, _piecewise
