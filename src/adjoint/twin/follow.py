"""The entry: `follow` gives the function that a transform calls instead, and `differentiable` does so eagerly."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, NamedTuple, overload

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, F, Function, P, R, T, Tree, Value
from adjoint.twin.fresh import TwinCall
from adjoint.twin.policy import MODULES, NAMES, Patterns, forgets, package, patterns

if TYPE_CHECKING:
    from adjoint.tape.number import TensorNumber
    from adjoint.twin.twins import Depends, Twins


_twins: dict[Patterns, Twins] = {}
_by_home: dict[tuple[str, Patterns], Twins] = {}
_rooted: dict[int, tuple[object, CodeType, Patterns, int, Depends, Function, Function]] = {}
_by_code: dict[int, _Choice] = {}
_lock = Lock()


class _Choice(NamedTuple):
    """How functions of one code are called: a `lambda` is made anew each time that its line runs."""

    code: CodeType
    scope: Mapping[str, Value]
    named: Patterns
    known: int
    depends: Depends
    #: What makes the twin; None if the function runs as it is.
    made: Callable[[FunctionType], Function] | None
    #: Whether it is the twin that runs, whatever the arguments are.
    always: bool


def follow(f: Value, args: Sequence[object] = ()) -> Value:
    """What a transform calls in place of the user's function `f`: its twin, or `f` itself where that does as well.

    That may depend on whether there are lists among its arguments `args`.
    """
    before: Depends = ()
    if (found := _rooted.get(id(f))) is not None:
        _, code, named, known, before, twin, with_lists = found
        if (
            code is f.__code__
            and named is patterns()
            and known == len(MODULES) + len(NAMES)
            and (not before or _holds(before))
        ):
            return twin if with_lists is twin or not _listed(args) else with_lists
    elif type(f) is FunctionType and (choice := _by_code.get(id(f.__code__))) is not None:
        before = choice.depends
        if choice.code is f.__code__ and choice.scope is f.__globals__ and choice.named is patterns():
            if choice.known == len(MODULES) + len(NAMES) and (not before or _holds(before)):
                return f if choice.made is None else _by_choice(f, choice, choice.made, args)
    if not callable(f):
        raise ArgumentError(f"a transform takes a function; got {f!r}")
    home = _home(f)
    if home.startswith("adjoint.") or type(f).__module__.startswith("adjoint."):  # a compiled function, which follows
        return f
    known = len(MODULES) + len(NAMES)
    twins = twins_for(f)
    if not _holds(before):
        twins.forget()
    twin = twins.resolve(f) if isinstance(f, FunctionType | MethodType) or twins.matters(f) else f
    is_twin = twins.made(f)  # a twin that its twin caller gives to a transform inside
    with_lists = twin = twin if twin is f and not is_twin else _root(twin)
    if type(f) is FunctionType:
        if not (is_twin or twins.matters(f)):
            twin = f
        depends = twins.depends(f)
        _keep(f, known, depends, twin, with_lists)
        if not is_twin and twins.is_known(f):
            made = None if with_lists is f else twins.twin_of
            _by_code[id(f.__code__)] = _Choice(
                f.__code__, f.__globals__, patterns(), known, depends, made, twin is not f
            )
    return with_lists if _listed(args) else twin


def _by_choice(
    f: FunctionType, choice: _Choice, made: Callable[[FunctionType], Function], args: Sequence[object]
) -> Function:
    """What is called in place of a function of which another one of the same code was met, and has a twin."""
    if not (choice.always or _listed(args)):
        return f
    twin = _root(made(f))
    if choice.always:
        _keep(f, choice.known, choice.depends, twin, twin)
    return twin


def _keep(f: FunctionType, known: int, depends: Depends, twin: Function, with_lists: Function) -> None:
    gone = weakref.ref(f, forgets(_rooted, id(f)))
    _rooted[id(f)] = gone, f.__code__, patterns(), known, depends, twin, with_lists


def _holds(depends: Depends) -> bool:
    """Whether the global names that decided are what they were."""
    return all(scope.get(name) is value for scope, name, value in depends)


def needs_twin(f: FunctionType, args: Sequence[object]) -> bool:
    """Whether `follow` gives the twin of `f` for these arguments."""
    twins = twins_for(f)
    return twins.made(f) or twins.matters(f) or _listed(args)


def _listed(args: Sequence[object]) -> bool:
    """Whether there are lists among `args`, or what may hold some."""
    return not _LISTS.isdisjoint(map(type, args))


_LISTS = frozenset({list, tuple, dict})


def callee(f: Function, *arguments: Value) -> Function:
    """What is called in place of `f` with these arguments: its twin, if they are those of a transform."""
    return follow(f) if any(box.level > 0 for box in _boxes(arguments)) else f


def _home(f: object) -> str:
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


def twins_for(f: object) -> Twins:
    """The twins of the policy that holds here for a function that is differentiated, and for what it calls."""
    twins = _of(_home(f))
    twins.refresh()
    return twins


def _root(twin: Function) -> Function:
    """`twin` as a transform calls it: new arrays inside are of the kind of its arguments."""

    @functools.wraps(twin)
    def rooted(*args: object, **kwargs: object) -> Array | None:
        return TwinCall(_boxes, (args, kwargs)).around(twin, args, kwargs)

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
def differentiable(f: F) -> F: ...
@overload
def differentiable(f: Callable[P, R]) -> Callable[P, R]: ...
def differentiable(f: Function) -> Function:
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
                made: list[Value] = [g and differentiable(g) for g in (value.fget, value.fset, value.fdel)]
                setattr(f, name, property(*made))
        return f

    @functools.wraps(f)
    def eager(*args: TensorNumber, **kwargs: Value) -> Array:
        for _ in _boxes((args, kwargs)):
            return follow(f, args)(*args, **kwargs)
        return f(*args, **kwargs)

    return eager
