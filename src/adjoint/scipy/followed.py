"""A solver's result on plain numbers, as a function of everything that its equations use.

The solver runs on numbers: the values of the user's functions are made plain on their way to SciPy. Then the equations
that the solution satisfies are evaluated on the tape. There all tensors take part, wherever they come from: arguments,
closures, attributes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from copy import copy
from dis import opmap
from functools import update_wrapper, wraps
from inspect import Parameter, signature
from types import CellType, CodeType, FunctionType
from typing import NamedTuple

import numpy as np
from scipy.optimize import NonlinearConstraint

from adjoint.arrays.python_number import as_python
from adjoint.batch.batched import Batched
from adjoint.core.box import Box, new_level
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.attached import attached

NO_NUMBERS = (
    "a solver of SciPy's needs numbers, and while a program is captured there are none; capture what comes before it "
    "and after it"
)


def assembled(value: Array) -> Array:
    """A number, an array, or lists of these, tensors among them, as one array."""
    if isinstance(value, list | tuple):
        return np.stack([assembled(v) for v in value]) if value else np.zeros(0)
    return array(value)


def vector(value: Array) -> Array:
    """The same as a vector."""
    value = assembled(value)
    return value if value.ndim == 1 else np.reshape(value, (-1,))


_running: ContextVar[Unboxing | None] = ContextVar("running", default=None)


class _Many(BaseException):  # no error: no solver may catch it
    """There is a value for each of `count` samples at `level`, and none was picked."""

    def __init__(self, level: int, count: int) -> None:
        self.level, self.count = level, count


class Unboxing:
    """Makes plain numbers of boxes. `boxed` tells whether the solution depends on one of them.

    Args:
        picks: the sample to take at each level of `vmap`.

    A solver may run inside the function of another one, which expects numbers. Boxes that are older than the outer
    solver's run are noted by the outer solver.
    """

    def __init__(self, picks: Mapping[int, int]) -> None:
        self.outer: Unboxing | None = _running.get()
        self.picks: Mapping[int, int] = {**(self.outer.picks if self.outer is not None else {}), **picks}
        self.boxed, self.start = False, new_level()

    def met(self, level: int) -> None:
        """There is something of `level`."""
        if self.outer is None or level > self.outer.start:
            self.boxed = True
        else:
            self.outer.met(level)

    def number(self, x: Array) -> Array:
        """The numbers of an array of any kind; anything else as it is."""
        if not isinstance(x, Box):
            return x
        while isinstance(x, Box):
            x = x.settled()
            self.met(x.level)
            held: Value = x.held
            if held is x:
                raise NotSupportedError(NO_NUMBERS)
            if isinstance(x, Batched) and x.layers[1]:
                if x.level not in self.picks:
                    raise _Many(x.level, held.shape[0])
                held = held[self.picks[x.level]]
            x = held
        return x

    def numbers(self, tree: Tree) -> Array:
        """The same for everything in tuples, lists and dictionaries."""
        return _mapped(self.number, tree)

    def call(self, theirs: Function, given: Mapping[str, Value]) -> Array:
        """SciPy's function on plain arguments, where functions give plain numbers."""
        return theirs(**{name: self.plain(x) for name, x in given.items()})

    def plain(self, x: Array) -> Array:
        """Numbers, or functions that give them, and whatever holds such."""
        return _mapped(self._plain, x)

    def _plain(self, x: Array) -> Array:
        if isinstance(x, NonlinearConstraint):
            x = copy(x)
            x.fun, x.jac, x.hess = _PlainFunction(x.fun, self), self._plain(x.jac), self._plain(x.hess)
            return x
        function = callable(x) and not isinstance(x, type)  # a class is asked for as it is
        return _PlainFunction(x, self) if function else self.number(x)


def _mapped(function: Function, tree: Tree) -> Array:
    """`tree` with ``function(x)`` for everything in its tuples, lists and dictionaries."""
    if type(tree) is dict:
        return {key: _mapped(function, x) for key, x in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_mapped(function, x) for x in tree)
    return function(tree)


class _PlainFunction:
    """A user's function that gives plain numbers; in all other respects itself."""

    def __init__(self, f: Value, unboxing: Unboxing) -> None:
        self.__wrapped__, self._watch = f, unboxing

    def __call__(self, *args: Value, **kwargs: Value) -> Array:
        value = self.__wrapped__(*args, **kwargs)
        return value if type(value) in _NUMBERS else self._watch.numbers(value)

    def __getattr__(self, name: str) -> Array:
        return getattr(self.__wrapped__, name)


def without_tensors(f: Value, unboxing: Unboxing, around: tuple[Value, ...] = ()) -> Value:
    """`f` with numbers for the tensors in its closure, so that a solver's calls of it are plain NumPy.

    It is `f` itself if it is no function, or if it writes into its closure. Functions in the closure are treated alike;
    `around` are those whose closures it is in.
    """
    if type(f) is not FunctionType or not f.__closure__ or f in around or _writes_outside(f.__code__):
        return f
    cells = [_without_tensors_in(cell, unboxing, (*around, f)) for cell in f.__closure__]
    if all(map(operator.is_, cells, f.__closure__)):
        return f
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def _without_tensors_in(cell: CellType, unboxing: Unboxing, around: tuple[Value, ...]) -> CellType:
    try:
        held = cell.cell_contents
    except ValueError:  # not yet filled
        return cell
    if isinstance(held, FunctionType):
        made = without_tensors(held, unboxing, around)
    else:
        tensors = isinstance(held, Box) or (type(held) is tuple and any(isinstance(x, Box) for x in held))
        made = unboxing.numbers(held) if tensors else held
    return cell if made is held else CellType(made)


def _writes_outside(code: CodeType) -> bool:
    """Whether it, or a function in it, may write variables of a function around it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return _STORE in code.co_code[::2] or any(map(_writes_outside, inner))


_STORE = opmap["STORE_DEREF"]
_NUMBERS = (float, np.float64, np.ndarray, bool, type(None))


def like(theirs: Function) -> Callable[[Callable[[dict[str, Array]], Array]], Function]:
    """A function of the arguments by name, as one that is called as `theirs` is."""
    form = signature(theirs)

    def decorate(ours: Callable[[dict[str, Value]], Value]) -> Function:
        def called(*args: object, **kwargs: object) -> Array:
            try:
                bound = form.bind(*args, **kwargs)
            except TypeError:
                return theirs(*args, **kwargs)  # which says what is wrong
            given = dict(bound.arguments)
            for name, parameter in form.parameters.items():
                if parameter.kind is Parameter.VAR_KEYWORD:
                    given |= given.pop(name, {})
            return ours(given)

        update_wrapper(called, ours)
        called.__signature__ = form  # type: ignore[attr-defined]  # what `inspect` looks for
        del called.__wrapped__  # type: ignore[attr-defined]  # has another signature
        return called

    return decorate


def solver(theirs: Function) -> Callable[[Callable[[dict[str, Value], SolverResults], Value]], Function]:
    """As `like`, for a function that is also given what `theirs` found; without tensors, that is the result."""

    def decorate(ours: Callable[[dict[str, Value], SolverResults], Value]) -> Function:
        @wraps(ours)
        def solved(given: dict[str, Value]) -> Array:
            found = SolverResults(lambda unboxing: unboxing.call(theirs, given))
            return ours(given, found) if found.boxed else found.one

        return like(theirs)(solved)

    return decorate


class _SampleStack(NamedTuple):
    """What was found for each sample of one `vmap`."""

    level: int
    parts: list[Value]


class SolverResults:
    """What ``run(unboxing)`` gives: once, or for one sample after another.

    Args:
        run: hands `unboxing.function(f)` and `unboxing.numbers(x)` to a solver.

    Attributes:
        boxed: whether there were tensors or their like anywhere.
        results: one; inside `vmap` one for each sample.
    """

    def __init__(self, run: Callable[[Unboxing], Value]) -> None:
        self.results: list[Value] = []
        self.boxed = False
        self._tree = self._found(run, {})
        for name in ("success", "converged"):  # of several, one report says whether all are well
            if self.several and hasattr(self.one, name):
                setattr(self.one, name, all(getattr(result, name) for result in self.results))

    def _found(self, run: Callable[[Unboxing], Value], picks: Mapping[int, int]) -> Array:
        unboxing, many, before = Unboxing(picks), None, _running.get()
        try:
            _running.set(unboxing)
            self.results.append(run(unboxing))  # recorded: an object may keep what it computes here for later
        except _Many as met:
            if unboxing.outer is not None and met.level <= unboxing.outer.start:
                raise
            many = met
        finally:
            _running.set(before)
        if many is not None:
            self.boxed = True
            return _SampleStack(many.level, [self._found(run, {**picks, many.level: i}) for i in range(many.count)])
        self.boxed = self.boxed or unboxing.boxed
        return len(self.results) - 1

    @property
    def one(self) -> Array:
        """The result; of several the last."""
        return self.results[-1]

    @property
    def several(self) -> bool:
        """Whether there is one for each sample."""
        return isinstance(self._tree, _SampleStack)

    def each(self, get: Callable[[Value], Value]) -> Array:
        """``get(result)``, an array; of samples, all of them as an array of their `vmap`."""

        def stacked(tree: Tree) -> Array:
            if isinstance(tree, _SampleStack):
                return Batched.of((np.stack([stacked(part) for part in tree.parts]), True), tree.level)
            return np.asarray(get(self.results[tree]))

        return stacked(self._tree)


def follow(found: SolverResults, get: Callable[[Value], Value], equations: Function, symmetric: bool = False) -> Array:
    """What `get` takes from each result, an array of any shape, as `attached` by `equations` of such arrays."""
    python = isinstance(get(found.one), float | complex) and not isinstance(get(found.one), np.generic)
    first = np.asarray(get(found.one))
    split = first.dtype.kind == "c"

    def flat(value: Array) -> Array:
        value = vector(value)
        return np.concatenate([np.real(value), np.imag(value)]) if split else value

    def whole(v: Array) -> Array:
        v = v[: first.size] + 1j * v[first.size :] if split else v
        if first.ndim:
            return np.reshape(v, first.shape)
        number = v[0]
        return as_python(number) if python and isinstance(number, Box) else number

    z = attached(found.each(lambda result: flat(get(result))), lambda v: flat(equations(whole(v))), symmetric)
    x = whole(z)
    return x if x.dtype == first.dtype or first.dtype.kind not in "fc" else x.astype(first.dtype)
