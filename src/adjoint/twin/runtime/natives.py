"""Builtins that run methods of classes: ``abs(o)``, ``sum(o)``, ``sorted(os)``, ``getattr(o, "x")``, by their twins."""

from __future__ import annotations

import builtins
import cmath
import collections
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType

import numpy as np

from adjoint.core.box import Box
from adjoint.core.objects.foreign import overrides
from adjoint.core.types import Array, Function, Value
from adjoint.twin.runtime.ordered import COMPARING, comparing
from adjoint.twin.standins.of_python.sample_texts import TextsOfSamples
from adjoint.twin.subclasses.array import answered
from adjoint.twin.subclasses.base import found_in, inside, of_class
from adjoint.twin.syntax.names import BINARY, COMPARISONS, UNARY

#: Builtins that ask one method of their first argument, and the method.
ASKING = {
    abs: "__abs__", len: "__len__", float: "__float__", int: "__int__", complex: "__complex__", round: "__round__",
    next: "__next__", iter: "__iter__", reversed: "__reversed__", hash: "__hash__", format: "__format__",
    operator.index: "__index__",
    math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__",
}  # fmt: skip
# Those that take the one number that an array holds.
_ONE_NUMBER = frozenset({float, int, complex})
#: Those that ask for another one where there is not the first.
_OR_ELSE: dict[Value, tuple[str, ...]] = {
    complex: ("__complex__", "__float__", "__index__"),
    float: ("__float__", "__index__"),
    int: ("__int__", "__index__", "__trunc__"),
}
#: What asks for a method of sequences else.
_OF_SEQUENCES = (iter, reversed)
#: Those that show it, and the methods that they ask, the first that there is.
SHOWING = {str: ("__str__", "__repr__"), repr: ("__repr__",), ascii: ("__repr__",)}
#: Those that give what the method gave, whatever that is.
_AS_THEY_ARE = frozenset({abs, round, next, reversed, math.floor, math.ceil, math.trunc})
#: Those that ask each argument for its number: what they ask for first, of real and of complex numbers.
_COMPLEX = frozenset({f for f in vars(cmath).values() if callable(f)} | {np.complex64, np.complex128})
_OF_OTHERS = {math.prod, math.fsum, math.dist, math.isqrt, math.comb, math.perm, math.gcd, math.lcm, math.factorial}
_REAL = {f for f in vars(math).values() if callable(f)} - _OF_OTHERS - {getattr(math, "sumprod", None)}
_NUMBERS = _COMPLEX | _REAL | {np.float64, np.float32, np.float16, np.longdouble}
#: Builtins that iterate over their arguments.
GOING = frozenset({sum, list, tuple, set, any, all, enumerate, zip, map, filter, dict, sorted, min, max})
GOING |= {frozenset, math.fsum}
#: Those that ask for a truth: of the object itself, or of each that they go through.
_TRUTH = frozenset({bool, operator.truth, operator.not_})
_OF_TRUTHS = frozenset({any, all, filter, itertools.filterfalse})
# Of these, those that go through all of their arguments, and those that go through all but the first, a function.
_THROUGH_ALL = frozenset({zip, itertools.chain, itertools.product, itertools.zip_longest, itertools.compress})
_BY_FUNCTION = frozenset({map, filter, functools.reduce, itertools.takewhile, itertools.dropwhile})
_BY_FUNCTION |= {itertools.filterfalse}
GOING |= _THROUGH_ALL | _BY_FUNCTION | {itertools.accumulate, itertools.islice, itertools.pairwise, itertools.cycle}
GOING |= {itertools.permutations, itertools.combinations, itertools.combinations_with_replacement, itertools.groupby}
GOING |= {itertools.tee, collections.deque}
_ORDERING = frozenset({sorted, min, max})
#: Those that combine what they go through by an operator, and where they begin.
_FOLDING: Mapping[Value, tuple[str, int]] = {sum: ("add", 0), math.prod: ("mul", 1)}
#: Operators as functions, by the names of their hooks.
_OPERATORS: Mapping[Value, str] = {
    **{getattr(operator, name): name for name in (*BINARY.values(), *COMPARISONS.values(), *UNARY.values())},
    divmod: "divmod",
    pow: "pow",
    **{getattr(operator, f"i{name.rstrip('_')}"): f"i{name}" for name in BINARY.values()},
}
_ITEMS = {operator.getitem, operator.setitem, operator.delitem, operator.itemgetter}
# Functions of NumPy's, which ask an object for its array.
_OF_NUMPY = (np.ufunc, type(np.sum))
#: Builtins that look an attribute up.
LOOKING = {getattr, hasattr, setattr, operator.attrgetter}


def concerns(f: object, methods: Iterable[str], attributes: Iterable[str]) -> bool:
    """Whether the builtin `f` may run a method of classes that define these names."""
    if type(f) in _OF_NUMPY:
        return any(name in methods for name in ("__array__", *_PROTOCOLS))
    if type(f) not in (BuiltinFunctionType, type):
        return type(f) is FunctionType and f in COMPARING and "__lt__" in methods
    try:
        if f in COMPARING:
            return "__lt__" in methods
        if f in _OPERATORS:
            plain = _OPERATORS[f].rstrip("_")
            return any(f"__{start}{plain}__" in methods for start in ("", "r")) or f"__{plain[1:]}__" in methods
        if f in _FOLDING and any(f"__{start}{_FOLDING[f][0]}__" in methods for start in ("", "r")):
            return True
        if f in _MAKING_ARRAYS:
            return any(n in methods for n in ("__array__", "__float__", "__getitem__"))
        if f in _NUMBERS and any(n in methods for n in ("__float__", "__complex__")):
            return True
        name = ASKING.get(f)
        if name is not None:
            return any(n in methods for n in _OR_ELSE.get(f, (name,))) or (
                f in _OF_SEQUENCES and "__getitem__" in methods
            )
        if f in _TRUTH or f in _OF_TRUTHS:
            return any(n in methods for n in ("__bool__", "__len__", "__iter__", "__next__", "__getitem__"))
        if f is operator.contains:
            return any(n in methods for n in ("__contains__", "__iter__", "__getitem__", "__eq__"))
        if f in _ITEMS:
            return any(n in methods for n in ("__getitem__", "__setitem__", "__delitem__", "__missing__"))
        if f in SHOWING:
            return any(n in methods for n in SHOWING[f])
        if f in GOING:
            return any(n in methods for n in ("__iter__", "__next__", "__getitem__")) or (
                f in _ORDERING and "__lt__" in methods
            )
        return f in LOOKING and (bool(attributes) or any(n in methods for n in ("__getattr__", "__getattribute__")))
    except TypeError:  # what has no hash is no builtin
        return False


def native(f: Value, otherwise: Function, hooks: Value, method: Callable[[type, str], Function | None]) -> Function:
    """Return what is called in place of the builtin `f`; `otherwise` is called for objects of no user's class."""
    if type(f) in _OF_NUMPY or f in _MAKING_ARRAYS:
        return _of_arrays(f, otherwise, hooks, method)
    if f in COMPARING:
        return comparing(f, hooks.protocols)
    if f in _OPERATORS:
        operation: Function = hooks.operators[_OPERATORS[f]]
        return operation if f is not pow else lambda x, y, *mod: pow(x, y, *mod) if mod else operation(x, y)
    if f in _FOLDING:
        return _folding(f, otherwise, hooks, method)
    if f in _TRUTH:
        return _asking_truth(f, otherwise, hooks)
    if f is operator.contains:
        return lambda o, item: hooks.protocols.contains(o, item)
    if f is operator.itemgetter:
        return lambda *at: lambda o: otherwise(*at)(hooks.protocols.items(o))
    if f in _ITEMS:
        return lambda o, *rest: otherwise(hooks.protocols.items(o), *rest)
    if f in LOOKING:
        return _looking(f, otherwise, hooks)
    if f in GOING:
        return _going(f, otherwise, hooks, method)
    if f in _NUMBERS:
        otherwise = _of_numbers(f, otherwise, method)
        if f not in ASKING:
            return otherwise
    names = SHOWING.get(f) or _OR_ELSE.get(f) or (ASKING[f],)

    def asking(*args: Value, **kwargs: object) -> Value:
        if f in _ONE_NUMBER and args and of_class(args[0]):
            return otherwise(*inside(args), **kwargs)
        if f in _OF_SEQUENCES and len(args) == 1 and not hasattr(type(args[0]), names[0]):
            return otherwise(_sequence(args[0], f, hooks, method))
        known = ((name, method(type(args[0]), name)) for name in names) if args else ()
        name, twin = next((each for each in known if each[1] is not None), (names[0], None))
        if twin is None or (f is iter and len(args) == 2):  # of a function and what ends it
            return otherwise(*args, **kwargs)
        if f is next and len(args) == 2:
            try:
                return twin(args[0])
            except StopIteration:
                return args[1]
        result = twin(*args, **kwargs)
        if f is complex and isinstance(result, Box):
            return otherwise(result)
        if f in _AS_THEY_ARE or isinstance(result, Box | TextsOfSamples) or (f is bool and type(result) is np.bool_):
            return result  # a box, or what a question about one gives: a number in the user's program
        return taken(f, (name,), args[0], result, *args[1:])

    return asking


def _sequence(o: Value, f: Function, hooks: Value, method: Callable[[type, str], Function | None]) -> object:
    """What `iter` or `reversed` goes through in place of `o`, whose class has only ``__getitem__``."""
    item = method(type(o), "__getitem__")
    if item is None or f is iter:
        return hooks.protocols.iterated(o)
    return [item(o, i) for i in range(hooks.resolve(len)(o))]


def _asking_truth(f: Function, otherwise: Function, hooks: Value) -> Function:
    def asking(*args: object) -> object:
        if args and of_class(args[0]):
            return otherwise(*inside(args))
        return otherwise(*map(hooks.protocols.truth, args))

    return asking


def taken(f: Function, names: Iterable[str], of: object, result: object, *rest: object) -> Value:
    """The `result` of a special method as the builtin `f` takes it: Python raises where it is of a wrong type."""
    kind: Value = type(type(of).__name__, (), dict.fromkeys(names, lambda *_: result))
    return f(kind(), *rest)


def _going(f: Function, otherwise: Function, hooks: Value, method: Callable[[type, str], Function | None]) -> Function:
    protocols = hooks.protocols

    def going(*args: Value, **kwargs: Value) -> object:
        if f is dict:
            args = tuple(map(protocols.mapped, args))
            args = args if not args or hasattr(args[0], "keys") else (protocols.iterated(args[0]), *args[1:])
        elif f in _BY_FUNCTION:
            last = 2 if f is functools.reduce else None  # what it begins with is a value
            first = (protocols.truth if f in _OF_TRUTHS and args[0] is None else args[0],) if args else ()
            args = (*first, *map(protocols.iterated, args[1:last]), *(() if last is None else args[last:]))
        elif f in _THROUGH_ALL:
            args = tuple(map(protocols.iterated, args))
        elif f not in (min, max) or len(args) == 1:  # the rest are values: where a sum begins, say
            args = (*map(protocols.iterated, args[:1]), *args[1:])
        if f in (any, all):
            args = tuple(map(protocols.truth, several) for several in args)
        if f in _ORDERING and args:
            args, kwargs = _ordered(args, kwargs, hooks)
        return otherwise(*args, **kwargs)

    if f is itertools.chain:

        def of_each(several: Value) -> itertools.chain[Value]:
            return itertools.chain.from_iterable(map(protocols.iterated, protocols.iterated(several)))

        going.from_iterable = of_each  # type: ignore[attr-defined]  # as chain has it
    return going


def _ordered(args: Value, kwargs: dict[str, Value], hooks: Value) -> tuple[Value, dict[str, Value]]:
    """The arguments of ``sorted`` and its like, with a key that compares objects by the twins of their methods."""
    several, key = args[0] if len(args) == 1 else args, kwargs.get("key")
    if key is None:
        if isinstance(several, np.ndarray | Box):
            return args, kwargs
        if not isinstance(several, list | tuple):
            several = list(several)
            args = (several,)
        return args, kwargs | {"key": hooks.protocols.ordering} if hooks.protocols.orders(several) else kwargs
    resolved = hooks.resolve(key)
    return args, kwargs | {"key": lambda x: hooks.protocols.comparable(resolved(x))}


def _folding(
    f: Function, otherwise: Function, hooks: Value, method: Callable[[type, str], Function | None]
) -> Function:  # fmt: skip
    name, neutral = _FOLDING[f]

    def folding(items: Value, /, *start: Value, **kwargs: Value) -> object:
        if isinstance(items, np.ndarray | Box):
            return otherwise(items, *start, **kwargs)
        items, begin = list(hooks.protocols.iterated(items)), kwargs.get("start", start[0] if start else neutral)
        kinds = {type(x) for x in (begin, *items)}
        if any(method(kind, f"__{way}{name}__") is not None for kind in kinds for way in ("", "r")):
            return functools.reduce(hooks.operators[name], items, begin)
        return otherwise(items, *start, **kwargs)

    return folding


def _number(x: object, ways: Iterable[type], method: Callable[[type, str], Function | None]) -> object:
    """`x`, or its number if it is an object of a followed class that has one: what the first of `ways` gives."""
    cls = type(x)
    if cls in (float, int, np.float64, np.ndarray) or issubclass(cls, Box):
        return x
    if of_class(x):
        return inside(x)
    for way in ways:
        name = f"__{way.__name__}__"
        if (twin := method(cls, name)) is not None:
            found = twin(x)
            return found if isinstance(found, Box) else taken(way, (name,), x, found)
    return x


def _of_numbers(f: Value, otherwise: Function, method: Callable[[type, str], Function | None]) -> Function:
    ways = (complex, float) if f in _COMPLEX else (float,)

    @functools.wraps(otherwise, updated=())
    def of_numbers(*args: object, **kwargs: object) -> Value:
        return otherwise(*[_number(x, ways, method) for x in args], **kwargs)

    return of_numbers


_PROTOCOLS = ("__array_ufunc__", "__array_function__")


def _overridden(f: Function, method: Callable[[type, str], Function | None], args: Value, kwargs: Value) -> Value:
    """What an object of a followed class among the arguments answers in place of NumPy's `f`; else NotImplemented."""
    of_ufunc = isinstance(f, np.ufunc)
    flat = [part for x in args for part in (x if type(x) in (list, tuple) else (x,))]
    for x in flat:
        cls = type(x)
        if cls is np.ndarray or issubclass(cls, Box | float | int) or not overrides(cls):
            continue
        if of_ufunc and (twin := method(cls, "__array_ufunc__")) is not None:
            found = twin(x, f, "__call__", *args, **kwargs)
        elif not of_ufunc and (twin := method(cls, "__array_function__")) is not None:
            kinds = tuple({type(p) for p in flat if hasattr(type(p), "__array_function__")})
            found = twin(x, f, kinds, args, kwargs)
        else:
            continue
        if found is not NotImplemented:
            return found
    return NotImplemented


def _of_arrays(f: Value, otherwise: Function, hooks: Value, method: Callable[[type, str], Function | None]) -> Function:
    """A function of NumPy's, which takes objects that have an ``__array__``, or answer its protocols."""

    makes = f in _MAKING_ARRAYS

    def converted(x: Value, ways: Sequence[type] = (), depth: int = 3) -> Value:
        if type(x) in (list, tuple) and depth:
            parts = [converted(q, ways, depth - 1) for q in x]
            return x if all(new is old for new, old in zip(parts, x, strict=True)) else type(x)(parts)
        cls = type(x)
        twin = None if isinstance(x, np.ndarray | Box) or hasattr(cls, "__array_ufunc__") else method(cls, "__array__")
        if twin is not None:
            return twin(x)
        item = method(cls, "__getitem__") if makes and hasattr(cls, "__len__") else None
        if item is None or isinstance(x, dict | str | np.ndarray | Box):
            return _number(x, ways, method)
        return [converted(item(x, i), ways, depth - 1) for i in range(hooks.resolve(len)(x))] if depth else x

    @functools.wraps(otherwise, updated=())
    def of_arrays(*args: Value, **kwargs: Value) -> Value:
        if not makes:
            args = hooks.lifted_beside_boxes(args)
            if found_in((args, kwargs)):
                return f(*args, **kwargs)  # NumPy asks them, by its own order
            found = _overridden(f, method, args, kwargs)
            if found is not NotImplemented:
                return found
        else:
            if args and found_in(args[0]):
                return hooks.array_of(f, otherwise, *args, **kwargs)
            dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
            if dtype is not None and np.dtype(dtype).kind in "fc":
                ways = (complex, float) if np.dtype(dtype).kind == "c" else (float,)
                return otherwise(converted(args[0], ways), *args[1:], **kwargs) if args else otherwise(**kwargs)
        return otherwise(*map(converted, args), **kwargs)

    if hasattr(f, "_implementation"):
        of_arrays._implementation = functools.partial(answered, f, otherwise)  # type: ignore[attr-defined]  # as NumPy's
    for name in ("nin", "nout", "nargs", "identity", "reduce", "accumulate", "reduceat", "outer", "at"):
        if hasattr(otherwise, name):
            setattr(of_arrays, name, getattr(otherwise, name))
    return of_arrays


_MAKING_ARRAYS = frozenset({np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray})


def _looking(f: Function, otherwise: Function, hooks: Value) -> Function:
    def get(o: object, name: str, *default: object) -> Value:
        if isinstance(o, Box):
            return otherwise(o, name, *default)
        try:
            return hooks.attribute(o, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def has(o: Array, name: str) -> bool:
        if isinstance(o, Box):
            return bool(otherwise(o, name))
        try:
            hooks.attribute(o, name)
        except AttributeError:
            return False
        return True

    def getter(*names: str) -> Function:
        f(*names)  # checks them
        paths = [name.split(".") for name in names]
        if len(paths) == 1:
            return lambda o: functools.reduce(hooks.attribute, paths[0], o)
        return lambda o: tuple(functools.reduce(hooks.attribute, path, o) for path in paths)

    if f is operator.attrgetter:
        return getter
    table: dict[Value, Function] = {builtins.getattr: get, builtins.hasattr: has, builtins.setattr: hooks.set}
    return table[f]
