"""The entry: `follow` gives the function that a transform calls instead, and `differentiable` does so eagerly."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Array, F, Function, P, R, T, Tree, Value
from adjoint.twin.policy import GENERATED, MODULES, NAMES, Patterns, forgets, has_module, is_modules, package, patterns
from adjoint.twin.runtime.fresh import TwinCall, in_call
from adjoint.twin.subclasses.base import MET
from adjoint.twin.syntax.source import has_defaults_of

if TYPE_CHECKING:
    from adjoint.tape.number import TensorNumber
    from adjoint.twin.codes import Depends
    from adjoint.twin.twins import Twins


_twins: dict[Patterns, Twins] = {}
_by_home: dict[tuple[str, Patterns], Twins] = {}
_rooted: dict[
    int, tuple[weakref.ref[FunctionType], CodeType, Patterns, int, Depends, Function | None, Function | None]
] = {}
_by_code: WeakIds[CodeType, _Choice] = WeakIds()
_lock = Lock()
# How many modules that are gone, or never were, may have twins.
_GONE = 8


class _Choice(NamedTuple):
    """How functions of one code are called: a `lambda` is made anew each time that its line runs."""

    scope: Mapping[str, Value]
    named: Patterns
    known: int
    depends: Depends
    #: What makes the twin; None if the function runs as it is.
    made: Callable[[FunctionType], Function] | None
    #: Whether it is the twin that runs, whatever the arguments are.
    always: bool


def follow(f: Value, args: Sequence[object] = ()) -> Value:
    """Return what a transform calls in place of the user's function `f`: its twin, or `f` itself if it needs none.

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
            and (with_lists is None or has_defaults_of(f, vars(with_lists).get("__wrapped__")))
        ):
            return (twin if with_lists is twin or not _listed(args) else with_lists) or f
    elif type(f) is FunctionType and (choice := _by_code.get(f.__code__)) is not None:
        before = choice.depends
        if choice.scope is f.__globals__ and choice.named is patterns():
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
        if not is_twin and has_module(f) and twins.is_known(f):
            made = None if with_lists is f else twins.twin_of
            _by_code[f.__code__] = _Choice(f.__globals__, patterns(), known, depends, made, twin is not f)
    return with_lists if _listed(args) else twin


def _by_choice(
    f: FunctionType, choice: _Choice, made: Callable[[FunctionType], Function], args: Sequence[object]
) -> Function:
    """Return what is called in place of `f`, if another function of the same code was met before and has a twin."""
    if not (choice.always or _listed(args)):
        return f
    twin = _root(made(f))
    if choice.always:
        _keep(f, choice.known, choice.depends, twin, twin)
    return twin


def _keep(f: FunctionType, known: int, depends: Depends, twin: Function, with_lists: Function) -> None:
    """Keep what is called in place of a module's function. Others would be kept alive by it: it leads back to them."""
    if is_modules(f):
        gone = weakref.ref(f, forgets(_rooted, id(f)))
        made, listed = (None if twin is f else twin), (None if with_lists is f else with_lists)
        _rooted[id(f)] = gone, f.__code__, patterns(), known, depends, made, listed


def _holds(depends: Depends) -> bool:
    """Whether the global names on which the choice depends have kept their values."""
    return all(scope.get(name) is value for scope, name, value in depends)


def in_classes(f: object, args: Sequence[object], call: Sequence[Value]) -> Sequence[Value]:
    """The boxes `call` of a transform, as arrays of the classes of users that the arguments `args` of `f` have.

    Raises:
        NotSupportedError: for an array of a class with arithmetic of its own whose package is not followed.
    """
    for kind in set(map(type, args)) - _COMMON:
        if _may_be_of_class(kind):
            return twins_for(f).classes.like(args, call)
    return call


def _may_be_of_class(kind: type) -> bool:
    """Whether arguments of the type `kind` may be arrays of users' classes, or hold some, if there are such classes."""
    return kind is not np.ndarray and (issubclass(kind, np.ndarray) or (bool(MET) and not issubclass(kind, Box)))


# Types of arguments that are no arrays of users' classes, and hold none.
_COMMON = frozenset({np.ndarray, float, int, complex, bool, str, np.float64, type(None)})


def needs_twin(f: FunctionType, args: Sequence[object]) -> bool:
    """Whether `follow` gives the twin of `f` for these arguments."""
    twins = twins_for(f)
    return twins.made(f) or twins.matters(f) or _listed(args)


def _listed(args: Sequence[object]) -> bool:
    """Whether there are lists among `args`, or objects that may hold lists."""
    return not _LISTS.isdisjoint(map(type, args))


_LISTS = frozenset({list, tuple, dict})


def callee(f: Function, *arguments: Value) -> tuple[Function, bool]:
    """Return what is called in place of `f` with these arguments, and whether they are those of a transform.

    It is the twin for those of a transform, and where a twin calls.
    """
    inside = any(box.level > 0 for box in _boxes(arguments))
    return follow(f) if inside or in_call() is not None else f, inside


def _home(f: object) -> str:
    """The module that a callable was written in."""
    while (inner := f.func if isinstance(f, functools.partial) else _checkpointed(f)) is not None:
        f = inner
    if isinstance(f, MethodType):
        f = f.__func__
    if isinstance(f, FunctionType):
        return str(f.__globals__.get("__name__") or GENERATED)
    return str(getattr(f, "__module__", None) or type(f).__module__)


def _checkpointed(f: Value) -> Value:
    """The function that `f` computes again on the way back; None if it is not of `checkpoint`."""
    ours = isinstance(f, FunctionType) and f.__globals__.get("__name__") == "adjoint.tape.checkpoints.checkpoint"
    return getattr(f, "__wrapped__", None) if ours else None


def _of(home: str) -> Twins:
    """The twins of the policy that holds here for a function of the module `home`."""
    named = patterns()
    found = _by_home.get((home, named))
    if found is None:
        names = named | {package(home)}
        from adjoint.twin.twins import Twins  # on first use: it loads the stand-ins

        _forget_gone()
        with _lock:
            found = _by_home[home, named] = _twins.setdefault(names, _twins.get(names) or Twins(names))
    return found


def _forget_gone() -> None:
    """Forget the twins of modules that are not loaded any more, but for the latest."""
    with _lock:
        gone = [key for key in _by_home if key[0] not in MODULES][:-_GONE]
        left = [_by_home.pop(key) for key in gone]
        for names, twins in list(_twins.items()):
            if not any(twins is kept for kept in _by_home.values()):
                del _twins[names]
    if not gone:
        return
    for twins in left:
        twins.forget()
    homes = {home for home, _ in gone}
    for key, (f, *_) in list(_rooted.items()):
        if (function := f()) is None or _home(function) in homes:
            _rooted.pop(key, None)
    _by_code.clear()


def twins_for(f: object) -> Twins:
    """The twins of the policy that holds here for a function that is differentiated, and for what it calls."""
    twins = _of(_home(f))
    twins.refresh()
    return twins


def _root(twin: Function) -> Function:
    """`twin` as a transform calls it: new arrays inside are of the kind of its arguments."""

    def rooted(*args: object, **kwargs: object) -> Array | None:
        return TwinCall(_boxes, (args, kwargs)).around(twin, args, kwargs)

    rooted.__wrapped__ = twin  # type: ignore[attr-defined]  # what `functools.wraps` takes three times as long to do
    rooted.__name__ = getattr(twin, "__name__", "rooted")  # a partial has none
    rooted.__qualname__ = getattr(twin, "__qualname__", "rooted")
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
                todo += [(v, depth) for v in list(value.values() if isinstance(value, dict) else value)]
        elif depth < 1 and hasattr(value, "__dict__") and not isinstance(value, type | FunctionType):
            todo += [(v, depth + 1) for v in list(vars(value).values())]


@overload
def differentiable(f: type[T]) -> type[T]: ...
@overload
def differentiable(f: F) -> F: ...
@overload
def differentiable(f: Callable[P, R]) -> Callable[P, R]: ...
def differentiable(f: Function) -> Function:
    """Make NumPy's idioms in a function or class of your own differentiate where you use it without a transform.

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
