"""``copy.copy`` and ``copy.deepcopy`` of objects that say how they are copied, by the twins of their methods."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Iterable

from adjoint.core.box import Box
from adjoint.core.types import Function, Value
from adjoint.twin.runtime.operators import MethodOf

#: The methods that take part in a copy.
COPYING = ("__copy__", "__deepcopy__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")


def concerns(f: object, methods: Iterable[str]) -> bool:
    """Whether `f` copies objects of classes that define these names."""
    return (f is copy.copy or f is copy.deepcopy) and any(name in methods for name in COPYING)


def copying(f: Function, otherwise: Function, resolve: Function, method: MethodOf) -> Function:
    """What is called in place of `f`; `otherwise` is called for objects of no user's class."""
    return _deep(otherwise, resolve, method) if f is copy.deepcopy else _shallow(otherwise, resolve, method)


def _shallow(otherwise: Function, resolve: Function, method: MethodOf) -> Function:
    def shallow(x: Value) -> Value:
        if (twin := method(type(x), "__copy__")) is not None:
            return twin(x)
        found = _reduced(x, method)
        return otherwise(x) if found is None else _made(x, None, found, resolve)

    return shallow


def _deep(otherwise: Function, resolve: Function, method: MethodOf) -> Function:
    def deep(x: Value, memo: Value = None) -> Value:
        kind = type(x)
        memo = {} if memo is None else memo
        if id(x) in memo:
            return memo[id(x)]
        if isinstance(x, Box):
            made = otherwise(x)
        elif (twin := method(kind, "__deepcopy__")) is not None:
            made = twin(x, memo)
        elif kind is list:
            made = memo[id(x)] = []
            made += [deep(part, memo) for part in x]
        elif kind is dict:
            made = memo[id(x)] = {}
            made |= {deep(key, memo): deep(value, memo) for key, value in x.items()}
        elif kind is tuple:
            made = tuple(deep(part, memo) for part in x)
            made = x if all(new is old for new, old in zip(made, x, strict=True)) else made
        elif (found := _reduced(x, method, _is_users(kind, method))) is not None:
            made = _made(x, memo, found, resolve, deepcopy=deep)
        else:
            return otherwise(x, memo)
        memo[id(x)] = made
        memo.setdefault(id(memo), []).append(x)  # it lives as long as its number is known
        return made

    return deep


def _is_users(kind: type, method: MethodOf) -> bool:
    """Whether attributes of objects of `kind`, a user's class without methods for copies, may have such methods."""
    return method(kind, "__init__") is not None and not hasattr(kind, "__deepcopy__")


def _reduced(x: Value, method: MethodOf, always: bool = False) -> Value:
    """What `x` says that it is made of; None if its class leaves that to Python."""
    kind = type(x)
    if (twin := method(kind, "__reduce_ex__")) is not None:
        return twin(x, 4)
    if (twin := method(kind, "__reduce__")) is not None:
        return twin(x)
    if (twin := method(kind, "__getstate__")) is not None:
        given = x.__getnewargs__() if hasattr(x, "__getnewargs__") else ()
        items = iter(x) if isinstance(x, list) else None
        pairs = iter(x.items()) if isinstance(x, dict) else None
        return copyreg.__newobj__, (kind, *given), twin(x), items, pairs  # type: ignore[attr-defined]  # of `copy`'s
    return x.__reduce_ex__(4) if always or method(kind, "__setstate__") is not None else None


def _made(x: object, memo: Value, found: Value, resolve: Function, **settings: Function) -> Value:
    return x if isinstance(found, str) else resolve(copy._reconstruct)(x, memo, *found, **settings)  # type: ignore[attr-defined]  # of Python's, which is followed
