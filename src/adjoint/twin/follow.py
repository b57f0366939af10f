"""The way in: `follow` gives what a transform calls in place of a function, and `differentiable` does so eagerly."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, overload

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Function, P, R, T, Tree
from adjoint.twin.fresh import Call
from adjoint.twin.policy import Patterns, forgets, package, patterns

if TYPE_CHECKING:
    from adjoint.twin.twins import Depends, Twins


_twins: dict[Patterns, Twins] = {}
_by_home: dict[tuple[str, Patterns], Twins] = {}
_rooted: dict[int, tuple[Any, Any, Patterns, Depends, Function, Function]] = {}
# Code that runs as it is, in whichever function object: a `lambda` is made anew each time that its line runs. The last
# entry says whether it does with lists among its arguments, too.
_as_is: dict[int, tuple[Any, Any, Patterns, Depends, bool]] = {}
_lock = Lock()


def follow(f: Any, args: Sequence[Any] = ()) -> Any:
    """What a transform calls in place of the user's function `f`: its twin, or `f` itself where that does as well.

    That may depend on whether there are lists among its arguments `args`.
    """
    known = _rooted.get(id(f))
    if known is not None:
        _, code, named, depends, twin, with_lists = known
        if code is f.__code__ and named is patterns():
            for scope, name, value in depends:
                if scope.get(name) is not value:
                    _of(_home(f)).forget()
                    break
            else:
                return twin if with_lists is twin or not _listed(args) else with_lists
    elif type(f) is FunctionType and _runs_as_it_is(f, args):
        return f
    if not callable(f):
        raise ArgumentError(f"a transform takes a function; got {f!r}")
    home = _home(f)
    if home.startswith("adjoint.") or type(f).__module__.startswith("adjoint."):  # a compiled function, which follows
        return f
    twins = twins_for(f)
    twin = twins.resolve(f) if isinstance(f, FunctionType | MethodType) or twins.matters(f) else f
    is_twin = twins.made(f)  # a twin that its twin caller gives to a transform inside
    with_lists = twin = twin if twin is f and not is_twin else _root(twin)
    if type(f) is FunctionType:
        if not (is_twin or twins.matters(f)):
            twin = f
        gone, depends = weakref.ref(f, forgets(_rooted, id(f))), twins.depends(f)
        _rooted[id(f)] = gone, f.__code__, patterns(), depends, twin, with_lists
        if twin is f and not is_twin and twins.is_plain(f):
            _as_is[id(f.__code__)] = f.__code__, f.__globals__, patterns(), depends, with_lists is f
    return with_lists if _listed(args) else twin


def needs_twin(f: FunctionType, args: Sequence[Any]) -> bool:
    """Whether `follow` gives the twin of `f` for these arguments."""
    twins = twins_for(f)
    return twins.made(f) or twins.matters(f) or _listed(args)


def _runs_as_it_is(f: FunctionType, args: Sequence[Any]) -> bool:
    """Whether another function of the same code did, under the same names."""
    known = _as_is.get(id(f.__code__))
    if known is None:
        return False
    code, scope, named, depends, also_with_lists = known
    if not also_with_lists and _listed(args):
        return False
    if code is not f.__code__ or scope is not f.__globals__ or named is not patterns():
        return False
    if not depends or all(names.get(name) is value for names, name, value in depends):
        return True
    _of(_home(f)).forget()
    _as_is.pop(id(code), None)
    return False


def _listed(args: Sequence[Any]) -> bool:
    """Whether there are lists among `args`, or what may hold some."""
    return not _LISTS.isdisjoint(map(type, args))


_LISTS = frozenset({list, tuple, dict})


def callee(f: Function, *arguments: Any) -> Function:
    """What is called in place of `f` with these arguments: its twin, if they are those of a transform."""
    return follow(f) if any(box.level > 0 for box in _boxes(arguments)) else f


def _home(f: Any) -> str:
    """The module that a callable was written in."""
    while isinstance(f, functools.partial):
        f = f.func
    if isinstance(f, MethodType):
        f = f.__func__
    if isinstance(f, FunctionType):
        return str(f.__globals__.get("__name__", ""))
    return str(getattr(f, "__module__", None) or type(f).__module__)


def _of(home: str) -> Twins:
    """The twins of the policy that holds here for a function of the module `home`."""
    named = patterns()
    found = _by_home.get((home, named))
    if found is None:
        names = named | {package(home)}
        from adjoint.twin.twins import Twins  # on first use: it loads the stand-ins

        with _lock:
            found = _by_home[home, named] = _twins.setdefault(names, _twins.get(names) or Twins(names))
    return found


def twins_for(f: Any) -> Twins:
    """The twins of the policy that holds here for a function that is differentiated, and for what it calls."""
    twins = _of(_home(f))
    twins.refresh()
    return twins


def _root(twin: Function) -> Function:
    """`twin` as a transform calls it: new arrays inside are of the kind of its arguments."""

    @functools.wraps(twin)
    def rooted(*args: Any, **kwargs: Any) -> Any:
        return Call(_boxes, (args, kwargs)).around(twin, args, kwargs)

    return rooted


def _boxes(tree: Tree) -> Iterable[Box]:
    """The boxes in nested containers, and in the attributes of objects one level down."""
    todo = [(tree, 0)]
    met: set[tuple[int, int]] = set()  # lists and dictionaries, which may hold themselves
    while todo:
        value, depth = todo.pop()
        if isinstance(value, Box):
            yield value
        elif isinstance(value, tuple | set):
            todo += [(v, depth) for v in value]
        elif isinstance(value, list | dict):
            if (id(value), depth) not in met:
                met.add((id(value), depth))
                todo += [(v, depth) for v in (value.values() if isinstance(value, dict) else value)]
        elif depth < 1 and hasattr(value, "__dict__") and not isinstance(value, type | FunctionType):
            todo += [(v, depth + 1) for v in vars(value).values()]


@overload
def differentiable(f: type[T]) -> type[T]: ...
@overload
def differentiable(f: Callable[P, R]) -> Callable[P, R]: ...
def differentiable(f: Any) -> Any:
    """Let NumPy's idioms in a function or class of your own differentiate where you use it without a transform.

    Inside `grad` and the other transforms your code has this already. A call without tensors runs `f` as it is.

    Args:
        f: a function, or a class, whose methods and properties are then like this.

    Returns:
        A function with the arguments of `f`; the same class.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> @ad.differentiable
        ... def rotation(angle):
        ...     c, s = np.cos(angle), np.sin(angle)
        ...     return np.array([[c, -s], [s, c]])
        >>> angle = ad.tensor(0.0, requires_grad=True)
        >>> rotation(angle)[1, 0].backward()
        >>> angle.grad
        tensor(1.)
    """
    if isinstance(f, type):
        for name, value in list(vars(f).items()):
            if isinstance(value, FunctionType):
                setattr(f, name, differentiable(value))
            elif isinstance(value, staticmethod | classmethod):
                setattr(f, name, type(value)(differentiable(value.__func__)))
            elif isinstance(value, property):
                made: list[Any] = [g and differentiable(g) for g in (value.fget, value.fset, value.fdel)]
                setattr(f, name, property(*made))
        return f

    @functools.wraps(f)
    def eager(*args: Any, **kwargs: Any) -> Any:
        for _ in _boxes((args, kwargs)):
            return follow(f, args)(*args, **kwargs)
        return f(*args, **kwargs)

    return eager
