"""SciPy's functions: those of `adjoint.scipy`, if an argument has a history; otherwise SciPy's own, with numbers."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import AdjointError, LeavesGraphError
from adjoint.core.late import service
from adjoint.core.types import Array, Function, Value
from adjoint.twin.standins.of_numpy.joining import joined
from adjoint.twin.standins.of_scipy.compiled import kernel_for
from adjoint.twin.standins.of_scipy.sparse import of_linalg, of_sparse, resolving
from adjoint.twin.standins.values import PLAIN, any_live, called_plainly, live, plainly, reaches

# The modules of SciPy that have a counterpart in `adjoint.scipy`.
MODULES = ("fft", "fftpack", "integrate", "interpolate", "linalg", "optimize", "signal", "sparse", "special", "stats")
_WITH_CALLBACKS = ("integrate", "optimize")
# Where some of our functions have words of their own, or lie a module deeper.
_BY_NAME = (*_WITH_CALLBACKS, "spatial")
# What gives indices alone: of pairs, of extrema.
_INDICES = frozenset({"linear_sum_assignment", "argrelextrema", "argrelmax", "argrelmin", "label", "find_objects"})


def module_of(original: object) -> str:
    """The public module of SciPy that `original` is of: ``optimize``, say; empty if it is not SciPy's."""
    # Functions of scipy.fft, and Cython's, are objects of packages of their own, which bear their modules' names.
    own = isinstance(original, type | FunctionType | BuiltinFunctionType)
    own = own or type(original).__module__.startswith(("uarray", "_cython_"))
    home = getattr(original if own else type(original), "__module__", None)
    if home == "scipy._lib._sparse" or (type(original).__name__ == "SuperLU" and home == "builtins"):
        return "sparse"
    if not isinstance(home, str) or not home.startswith("scipy."):
        return ""
    return home.split(".")[1]


def counterpart(original: object) -> tuple[str, Value] | None:
    """The module of `original`, and our function or object of its name; None if there is none."""
    name = module_of(original)
    theirs = sys.modules.get(f"scipy.{name}")
    if theirs is None:
        return None
    if name in _BY_NAME:
        ours = service("scipy").twin(original)
        return None if ours is None else (name, ours)
    public: Value = getattr(original, "__name__", None)
    named = getattr(theirs, public, None) if isinstance(public, str) else None
    if name == "sparse" and named is not original:
        return of_linalg(original, public)
    if named is not original and (named is None or getattr(named, "__wrapped__", None) is not original):
        public = next((n for n, value in vars(theirs).items() if value is original and n[0] != "_"), None)
        if public is None:
            return None
    if name == "fft" and hasattr(np.fft, public):
        return name, getattr(np.fft, public)
    if name not in MODULES:
        return None
    try:
        ours = getattr(getattr(service("scipy"), name), public)
    except AttributeError:
        return None
    return name, ours


def stand_in_for(original: Value) -> Function | None:
    """The stand-in of a function, class or distribution of SciPy's; None if a twin calls it as it is."""
    if module_of(original) and getattr(original, "__name__", None) in _INDICES:
        return of_indices(original)
    if (ours := kernel_for(original)) is not None:
        return ours
    found = counterpart(original)
    if found is None:
        return StandInObject(original, None) if _is_distribution(original) else None
    name, ours = found
    if isinstance(original, type) and original.__name__ == "Rotation":
        return None  # its methods have stand-ins of their own
    if name in _WITH_CALLBACKS:
        return calling(original, ours, lambda f: f)
    if name == "sparse":
        return of_sparse(original, ours)
    if name == "fft" and ours is getattr(np.fft, getattr(original, "__name__", ""), None):
        ours = _without_hints(ours)
    if _is_distribution(original):
        return StandInObject(original, ours)
    return either(original, ours)


def _without_hints(ours: Value) -> Function:
    """NumPy's transform, called as SciPy's: how to compute, and with how many threads, is left to it."""

    def transform(*args: Value, **kwargs: Value) -> Value:
        kwargs = {k: v for k, v in kwargs.items() if k not in _HINTS}
        sizes = args[1] if len(args) > 1 else kwargs.get("s")
        if sizes is not None and ours.__name__.endswith("n") and len(args) < 3 and kwargs.get("axes") is None:
            kwargs["axes"] = tuple(range(-len(sizes), 0))  # NumPy would rather be told
        return ours(*args[:4], **kwargs)

    return transform


_HINTS = frozenset({"overwrite_x", "workers", "plan"})


def followed(original: Function, make: Callable[[], Function]) -> Function:
    """The twin of a function of SciPy's, which is made when an argument is more than numbers; of numbers, itself."""

    @functools.wraps(original, updated=())
    def stand_in(*args: Value, **kwargs: Value) -> object:
        if all(map(_is_plain, (*args, *kwargs.values()))):
            return original(*args, **kwargs)
        try:
            return make()(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, LeavesGraphError) as error:
            refusal = _refusal(original, args, kwargs, error)
        raise refusal

    return stand_in


def _is_plain(x: Value, depth: int = 4) -> bool:
    """Whether `x` is numbers or texts, or holds nothing else."""
    if type(x) is np.ndarray:
        return bool(x.dtype != object)
    if depth and type(x) in (list, tuple, dict):
        return all(_is_plain(q, depth - 1) for q in (x.values() if type(x) is dict else x))
    return type(x) in PLAIN


def _refusal(original: Function, args: tuple[Value, ...], kwargs: dict[str, Value], error: Exception) -> Exception:
    """The exception to raise for `error`: the error itself, if SciPy's function raises for plain numbers too."""
    reads = isinstance(error, LeavesGraphError) and str(error).startswith("memoryview(t)")  # from Python 3.12 on
    if (isinstance(error, AdjointError) and not reads) or original.__module__.startswith(("scipy._lib.", "scipy._ext")):
        return error  # of these functions, the caller has a name that is known
    if not reads and not _NAMES_OURS.search(str(error)):
        if "." in original.__qualname__:  # a method may have changed its object: it is not called again
            return error
        try:
            called_plainly(original, args, kwargs)
        except Exception as theirs:
            return theirs if type(theirs) is type(error) else error
    said = "it asks for memoryview(t)" if reads else f"{type(error).__name__}: {error}"
    return LeavesGraphError(
        f"{original.__module__.partition('._')[0]}.{original.__qualname__} hands its arguments to compiled code that "
        f"takes numbers only ({said}), and their derivative would be lost"
    )


# What compiled code says of an argument that is a box.
_NAMES_OURS = re.compile(r"\b(Tensor|TensorNumber|View|Dual|Batched)\b|No matching signature|bytes-like object")


def either(original: Function, ours: Function) -> Function:
    """`ours` where an argument is live, and else `original` of numbers."""

    def stand_in(*args: object, **kwargs: object) -> object:
        if any_live(args, kwargs):
            given = tuple(joined(a) if isinstance(a, list) else a for a in args)
            return ours(*given, **{k: joined(v) if isinstance(v, list) else v for k, v in kwargs.items()})
        return called_plainly(original, args, kwargs)

    stand_in.__name__ = stand_in.__qualname__ = getattr(original, "__name__", "stand_in")
    stand_in.__wrapped__ = original  # type: ignore[attr-defined]  # functions take attributes
    if isinstance(original, type):
        for name, made in vars(original).items():
            if isinstance(made, classmethod | staticmethod) and not name.startswith("__"):
                setattr(stand_in, name, getattr(ours if hasattr(ours, name) else original, name))
    return stand_in


def of_indices(original: Function) -> Function:
    """The stand-in of a function that gives indices, which have no derivative."""

    def stand_in(*args: Array, **kwargs: object) -> object:
        return called_plainly(original, args, kwargs)

    return stand_in


def calling(original: Function, ours: Function, resolve: Callable[[Value], Value]) -> Function:
    """The stand-in of a solver, whose functions may use live boxes that are not among its arguments."""

    def _resolved(x: object) -> object:
        return resolve(x) if _is_function(x) else _joined_list(x)

    def named_resolved(kwargs: dict[str, Value]) -> dict[str, object]:
        """Those of a call by name; a list of further arguments of a user's function stays one."""
        return {k: v if k == "args" else _resolved(v) for k, v in kwargs.items()}

    def stand_in(*args: Value, **kwargs: Value) -> object:
        given = (*args, *kwargs.values())
        if any_live(args, kwargs) or any(map(reaches, _functions(given))):
            return ours(*map(_resolved, args), **named_resolved(kwargs))
        numbers = tuple(_of_numbers(a) if _is_function(a) else plainly(a) for a in args)
        named = {k: _of_numbers(v) if _is_function(v) else plainly(v) for k, v in kwargs.items()}
        try:
            return original(*numbers, **named)
        except _LiveError:  # it uses what could not be found by looking at it
            return ours(*map(_resolved, args), **named_resolved(kwargs))

    stand_in.__name__ = stand_in.__qualname__ = getattr(original, "__name__", "stand_in")
    stand_in.__wrapped__ = original  # type: ignore[attr-defined]  # functions take attributes
    return stand_in


def _is_function(x: object) -> bool:
    return callable(x) and not isinstance(x, Box | type)


def _functions(x: object, depth: int = 4) -> Iterator[Function]:
    """The functions in an argument: itself, or those that its lists, dictionaries and constraints hold."""
    if callable(x):
        yield from [x] if _is_function(x) else []
    elif depth and isinstance(x, dict | list | tuple):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _functions(part, depth - 1)
    elif depth and module_of(x) == "optimize":
        yield from _functions(vars(x), depth - 1)


class _LiveError(BaseException):
    """A function that was assumed to use numbers alone gave something else: no solver may catch this."""


def _joined_list(x: Value) -> Value:
    """A list of numbers as an array; one with None in it, such as bounds, stays."""
    if not isinstance(x, list):
        return x
    parts = (part for q in x for part in (q if isinstance(q, list | tuple) else (q,)))
    return x if any(part is None for part in parts) else joined(x)


def _of_numbers(f: Function) -> Function:
    """`f`, whose results SciPy can read: constants as numbers.

    Raises:
        _LiveError: if a result has a history.
    """
    if not isinstance(f, FunctionType | MethodType):
        return f

    def numbers(*args: Array, **kwargs: object) -> object:
        value = f(*args, **kwargs)
        if live(value):
            raise _LiveError
        return plainly(value)

    return numbers


def maker_for(original: Function) -> Function | None:
    """The maker of the stand-in for a solver of SciPy's; None for anything else."""
    if module_of(original) not in _WITH_CALLBACKS or isinstance(original, type):
        return None
    found = counterpart(original)
    return None if found is None else lambda resolve: calling(original, found[1], resolve)


_OF_OBJECTS = ("interpolate", "sparse", "spatial")


def of_made(original: Value) -> Value:
    """The stand-in of an interpolant or a tree that SciPy made, made anew at each look; None for anything else."""
    name = module_of(original)
    if name not in _OF_OBJECTS or isinstance(original, type | FunctionType | BuiltinFunctionType):
        return None
    try:
        ours = getattr(service("scipy"), name).of_scipy(original)
    except AttributeError:  # it is being made
        return None
    return None if ours is None else StandInObject(original, ours)


def _is_distribution(x: Value) -> bool:
    """Whether `x` is a distribution of SciPy's, of one variable or of several, with its parameters or without."""
    return module_of(x) == "stats" and not isinstance(x, type | FunctionType) and hasattr(x, "rvs")


class StandInObject:
    """The stand-in of an object of SciPy's, such as a distribution: its methods are ours where something is live.

    Methods that ours has not are SciPy's, as `resolve` follows them.
    """

    def __init__(self, original: Value, ours: Value, resolve: Callable[[Value], Value] = lambda f: f) -> None:
        self._original, self._ours, self._resolve = original, ours, resolve

    def has_own(self, name: str) -> bool:
        """Whether a method of ours is called in the place of SciPy's of this name."""
        return name != "expect" and getattr(self._ours, name, None) is not None

    def __getattr__(self, name: str) -> object:
        theirs = getattr(self._original, name)
        mine = getattr(self._ours, name, None)
        if name == "expect" and hasattr(self._original, "pdf"):
            return _of_standard(self._resolve(theirs))
        if not callable(theirs) or mine is None:
            return self._resolve(theirs) if isinstance(theirs, MethodType) else theirs
        return mine if self._holds_live() else either(theirs, mine)

    def _holds_live(self) -> bool:
        """Whether the object itself was made of live boxes, by SciPy's code that was followed."""
        return _keeps_live(self._original)

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        if not hasattr(self._original, "rvs"):  # no distribution, which a call would freeze
            live_here = any(map(live, (*args, *kwargs.values()))) or self._holds_live()
            return self._ours(*args, **kwargs) if live_here else called_plainly(self._original, args, kwargs)
        if any(map(live, (*args, *kwargs.values()))):
            if self._ours is None and not hasattr(self._original, "freeze"):  # of several variables
                return self._resolve(self._original.__call__)(*args, **kwargs)
            return _FrozenStandIn(self, self._ours and self._ours(*args, **kwargs), args, kwargs)
        return StandInObject(self._original(*map(plainly, args), **{k: plainly(v) for k, v in kwargs.items()}),
                            self._ours and self._ours(*args, **kwargs), self._resolve)  # fmt: skip


def _keeps_live(x: Value, depth: int = 2) -> bool:
    """Whether an object of SciPy's keeps a live box among its attributes, or what it delegates to does."""
    slots = (name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ()))
    kept = [getattr(x, name, None) for name in (*getattr(x, "__dict__", ()), *slots)]
    return any(map(live, kept)) or (depth > 1 and any(module_of(q) and _keeps_live(q, depth - 1) for q in kept))


def _of_standard(expect: Function) -> Function:
    """``expect`` by way of the standard variable, where loc or scale is live: infinite ends do not move with them."""

    def stand_in(
        func: Function | None = None,
        args: tuple[Value, ...] = (),
        loc: Value = 0,
        scale: Value = 1,
        lb: Value = None,
        ub: Value = None,
        *rest: Value,
        **kwargs: Value,
    ) -> object:
        if not (live(loc) or live(scale)) or np.any(raw(np.less_equal(scale, 0))):
            return expect(func, args, loc, scale, lb, ub, *rest, **kwargs)
        lb, ub = (end if end is None else (end - loc) / scale for end in (lb, ub))

        def standard(z: Value) -> Value:
            x = loc + scale * z
            return x if func is None else func(x)

        return expect(standard, args, 0, 1, lb, ub, *rest, **kwargs)

    return stand_in


class _FrozenStandIn:
    """A distribution with parameters that are live: its methods are ours, or those of the distribution with these."""

    def __init__(self, general: StandInObject, ours: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        self._general, self._ours, self._args, self._kwargs = general, ours, args, kwargs

    def __getattr__(self, name: str) -> Value:
        if name not in _OF_PARAMETERS | _OF_PLACES or getattr(self._ours, name, None) is not None:
            return getattr(self._ours, name)
        method: Value = getattr(self._general, name)
        return lambda *args, **kwargs: method(*args, *self._args, **self._kwargs, **kwargs)


_OF_PLACES = frozenset({"pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "pmf", "logpmf"})
_OF_PARAMETERS = frozenset({"ppf", "isf", "mean", "var", "std", "median", "entropy", "interval", "moment"})


def maker_of_object(original: Value) -> Function | None:
    """The maker of the stand-in for a distribution of SciPy's; None for anything else."""
    if isinstance(original, type) and module_of(original) == "sparse" and original.__name__ == "LinearOperator":
        ours = service("scipy").sparse.linalg.LinearOperator
        return lambda resolve: resolving(original, ours, resolve)
    if isinstance(original, type) or not str(type(original).__module__).startswith("scipy.stats."):
        return None
    found = stand_in_for(original)
    if not isinstance(found, StandInObject):
        return None
    return lambda resolve: StandInObject(original, found._ours, resolve)
