"""What the door does with caches of functions, regular expressions and contexts that are generators."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator

from adjoint.compiler.trace.guards import PLAIN, Binding, NameOf
from adjoint.compiler.trace.outside import Outside
from adjoint.core.types import Array, Function, Value

CACHE: type = type(functools.cache(len))
EXPRESSIONS = (re.Pattern, re.Match)
CONTEXTS = contextlib.contextmanager(lambda: iter(())).__code__  # of what the decorator makes


# -- Functions with a cache ---------------------------------------------------------------------------


class CacheBinding(Binding):
    """What a function with a cache gives for plain arguments: `key` is these."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"a value of {self.holder.__name__}"

    def read(self) -> Array:
        return self.holder(*self.key[0], **dict(self.key[1]))

    def text(self, name_of: NameOf) -> str:
        return f"{name_of(self.holder)}(*{name_of(self.key[0])}, **{name_of(dict(self.key[1]))})"


def cached(door: Value, f: Outside, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A call of a function with a cache: it is made at each call of the program, since the cache may know a value."""
    if not door.inputs.fills_caches:
        raise door.refuse("it calls a function with a cache, which may note a value then")
    if any(isinstance(known, Outside) and known.changed for known in door.memo.values()) or door.inputs.new():
        raise door.refuse("it calls a function with a cache after it has written something")
    given = tuple(_constant(door, x) for x in args)
    named = tuple((name, _constant(door, x)) for name, x in kwargs.items())
    place = CacheBinding(f.o, (given, named))
    return door.take(door.native(place.read, (), {}), place)


def _constant(door: Value, x: Value) -> Value:
    if type(x) is tuple:
        return tuple(_constant(door, part) for part in x)
    if type(x) in PLAIN:
        return x
    if type(x) is Outside and x.path is None and not x.changed:
        return x.o
    raise door.refuse("it calls a function with a cache with values of the program")


# -- Regular expressions ------------------------------------------------------------------------------


def _of_expressions(name: str) -> Function:
    """A function of the module `re`, of a pattern and texts."""
    original = getattr(re, name)

    def call(door: Value, *args: Value, **kwargs: Value) -> Value:
        given = [x.o if type(x) is Outside and type(x.o) is re.Pattern else x for x in args]
        if given and type(given[0]) is re.Pattern and name != "compile":
            return of_expression(door, given[0], name, tuple(given[1:]), kwargs)
        return _matched(door, original, given, kwargs)

    return call


def of_expression(door: Value, of: Value, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A method of a pattern or a match."""
    return _matched(door, getattr(of, name), args, kwargs)


def _matched(door: Value, f: Function, args: Value, kwargs: dict[str, Value]) -> Value:
    values, named = [door.value(x) for x in args], {name: door.value(x) for name, x in kwargs.items()}
    if f.__name__ in ("sub", "subn"):  # which may call a function for each match
        at = 1 if len(values) > 1 and f.__module__ == "re" else 0
        if at < len(values) and type(values[at]) is not str:
            replaces = values[at]
            values[at] = lambda match: door.call(replaces, (match,), {})
    known = [*values, *named.values()]
    if not all(type(x) in (*PLAIN, re.RegexFlag, *EXPRESSIONS) or type(x).__name__ == "function" for x in known):
        raise door.refuse(f"it calls re.{f.__name__} of objects")
    found = door.native(f, tuple(values), named)
    return iter(list(found)) if f.__name__ == "finditer" else found


_FUNCTIONS = ("compile", "match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn", "escape")


# -- Contexts -----------------------------------------------------------------------------------------


def context_of(door: Value, f: Outside, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A call of a function that `contextlib.contextmanager` made of a generator."""
    begun = door.call(door.pinned(vars(f.o)["__wrapped__"]), args, kwargs)
    return door.native(contextlib._GeneratorContextManager, (lambda: begun, (), {}), {})


def _nullcontext(door: Value, enter_result: Value = None) -> Value:
    def begun() -> Iterator[Value]:
        yield enter_result

    return door.native(contextlib._GeneratorContextManager, (begun, (), {}), {})


def _suppress(door: Value, *kinds: Value) -> Value:
    def begun() -> Iterator[None]:
        try:
            yield
        except door.caught(kinds):
            pass

    return door.native(contextlib._GeneratorContextManager, (begun, (), {}), {})


#: What is called in place of each of them.
LIBRARY: dict[Value, Function] = {
    **{getattr(re, name): _of_expressions(name) for name in _FUNCTIONS},
    contextlib.nullcontext: _nullcontext,
    contextlib.suppress: _suppress,
}

__all__ = ["CACHE", "CONTEXTS", "EXPRESSIONS", "LIBRARY", "cached", "context_of", "of_expression"]
