"""Calls of NumPy's functions and ours with arguments of every kind, compiled against plain.

Each sample call of the registry is made with one argument of another kind, by place or by name. The compiled function
must give what the plain one gives: values, classes, dtypes, layouts, shared memory, written arguments, errors and
warnings.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.core.registry import Entry
from adjoint.testing.cases import cases
from tests.bad_calls.registry import ENDS, INSTEAD, KEYWORDS, NOT_CALLED, Unlike
from tests.compiler.attacks.seen import Seen, close, scrubbed

HOME = {"__name__": __name__}
SPOKEN = ("divide by zero", "invalid value", "overflow", "underflow", "Mean of empty", "Degrees of freedom")


class Word(str):
    """A string of a class of its own."""


# What stands in the place of an array: of what Python and NumPy take for numbers, and of what they do not.
KINDS: dict[str, Callable[[Any], Any]] = {
    "an element": lambda a: a.flat[0] if a.size else a,
    "a float": lambda a: a.flat[0].item() if a.size else 0.5,
    "its own int": lambda a: int(np.real(a.flat[0])) if a.size else 1,
    "True": lambda a: True,
    "a tuple": lambda a: tuple(a.tolist()) if a.ndim else (a.item(),),
    "a list of arrays": lambda a: list(a) if a.ndim else [a],
    "single": lambda a: a.astype(np.float32) if a.dtype.kind == "f" else a.astype(np.complex64),
    "Fortran's": lambda a: np.asfortranarray(a) if a.ndim > 1 else a,
    "backwards": lambda a: a[::-1] if a.ndim else a,
    "repeated": lambda a: np.broadcast_to(a.flat[0], a.shape) if a.size else a,
    "a tensor": ad.tensor,
    "a leaf": lambda a: ad.tensor(a, requires_grad=True),
    **{
        name: make
        for name, make in INSTEAD.items()
        if name not in ("a thing", "a function", "records", "another shape")
    },
}
# What stands in the place of another argument.
OTHERS: dict[str, Callable[[Any], Any]] = {
    "a float": lambda x: float(x) if isinstance(x, int | float) else 1.0,
    "a float of NumPy's": lambda x: np.float64(x) if isinstance(x, int | float) else np.float64(1.0),
    "an int": lambda x: int(x) if isinstance(x, int | float) else 1,
    "an int of NumPy's": lambda x: np.int64(x) if isinstance(x, int | float) else np.int64(1),
    "an array without axes": lambda x: np.array(x) if isinstance(x, int | float | bool) else np.array(1),
    "a float array without axes": lambda x: np.array(1.0),
    "an array": lambda x: np.array([1, 0]),
    "an array of one": lambda x: np.array([1.0]),
    "a tensor": lambda x: ad.tensor(1.0),
    "True": lambda x: True,
    "a truth of NumPy's": lambda x: np.False_,
    "a list": lambda x: list(x) if isinstance(x, tuple) else [0],
    "a tuple": lambda x: tuple(x) if isinstance(x, list) else (0,),
    "None": lambda x: None,
    "a word": lambda x: "nonsense",
    "its own word": lambda x: Word(x) if isinstance(x, str) else np.str_("C"),
    "minus one": lambda x: -1,
    "a complex": lambda x: 1j,
}


class Call(NamedTuple):
    """A call of `function`, and a name that says what is changed in it."""

    name: str
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def called(function: Any, args: Any, kwargs: Any) -> Any:
    """What is compiled."""
    return function(*args, **kwargs)


def functions(entry: Entry) -> list[Any]:
    """What a user calls to reach `entry`."""
    found = [f for f in entry.answers if isinstance(f, np.ufunc) or str(f.__module__).startswith("numpy")]
    return found or ([getattr(ad, entry.name)] if entry.name in dir(ad) else [])


def calls(entry: Entry) -> Iterator[Call]:
    """The calls of all samples of `entry`."""
    if NOT_CALLED.match(entry.name):
        return
    seen = set()
    for function in functions(entry):
        for number, case in enumerate(cases(entry)):
            for name, args, kwargs in _changed(function, case.args, dict(case.kwargs)):
                whole = f"{entry.name}[{number}], {name}"
                if (number == 0 or (function, name) not in seen) and not ENDS.match(whole):
                    seen.add((function, name))
                    yield Call(f"{getattr(function, '__name__', '?')} of {whole}", function, args, kwargs)


def _changed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    yield "as it is", args, kwargs
    leaves, rebuild = flatten((args, kwargs))
    for k, x in enumerate(leaves):
        if isinstance(x, np.ndarray | np.generic):
            for name, change in KINDS.items():
                yield f"leaf {k} {name}", *rebuild([*leaves[:k], _or(change, np.asarray(x), x), *leaves[k + 1 :]])
    for name, change in KINDS.items():
        if name in ("a tensor", "a leaf", "single", "a list", "an element"):
            new = [_or(change, np.asarray(x), x) if isinstance(x, np.ndarray | np.generic) else x for x in leaves]
            yield f"all {name}", *rebuild(new)
    for k, x in enumerate(args):
        for name, change in OTHERS.items():
            yield f"argument {k} {name}", (*args[:k], _or(change, x, x), *args[k + 1 :]), kwargs
    yield from _by_place(function, args, kwargs)
    for name, values in KEYWORDS.items():
        for k, value in enumerate(values):
            yield f"{name}= number {k}", args, {**kwargs, name: value}


def _by_place(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """The parameters that are left, each by name and by place."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    before: list[Any] | None = []  # what stands between `args` and the parameter; None where nothing may stand
    for k, (key, given) in enumerate(parameters.items()):
        if given.kind in (given.VAR_POSITIONAL, given.VAR_KEYWORD):
            return
        if k < len(args):
            if k == len(args) - 1 and given.kind is not given.POSITIONAL_ONLY:
                yield f"{key} by name", args[:k], {key: args[k], **kwargs}
            continue
        if given.default is given.empty:
            before = None
            continue
        value = kwargs.get(key, given.default)
        for name, change in OTHERS.items():
            yield f"{key}= {name}", args, {**kwargs, key: _or(change, value, value)}
        if given.kind is given.KEYWORD_ONLY or before is None:
            continue
        rest = {n: v for n, v in kwargs.items() if n not in [*parameters][: k + 1]}
        for name in ("a float", "an array", "its own word", "a list"):
            yield f"{key} by place {name}", (*args, *before, _or(OTHERS[name], value, value)), rest
        yield f"{key} by place", (*args, *before, value), rest
        before.append(value)


def _or(change: Callable[[Any], Any], x: Any, otherwise: Any) -> Any:
    """What `change` makes of `x`; what is there already where it cannot."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return change(x)
    except (TypeError, ValueError, OverflowError, ad.AdjointError):
        return otherwise


def with_outs(call: Call) -> Iterator[Call]:
    """The call with an array to write into, by name and by place: of what it gives, and of another dtype."""
    if "out" in call.kwargs or not call.name.endswith("as it is"):
        return
    with warnings.catch_warnings(action="ignore"):
        try:
            found = call.function(*copy.deepcopy(call.args), **copy.deepcopy(call.kwargs))
        except Exception:
            return
    if not isinstance(found, np.ndarray | np.generic):
        return
    for name, out in {
        "its like": np.zeros_like(found),
        "single": np.zeros(np.shape(found), np.float32),
        "Fortran's": np.zeros(np.shape(found), np.asarray(found).dtype, order="F"),
        "a tensor": ad.tensor(np.zeros(np.shape(found), np.asarray(found).dtype)),
        "a tuple": (np.zeros_like(found),),
        "a row more": np.zeros((2, *np.shape(found)), np.asarray(found).dtype),
    }.items():
        yield call._replace(name=f"{call.name}, out= {name}", kwargs={**call.kwargs, "out": out})
        if isinstance(call.function, np.ufunc):
            yield call._replace(name=f"{call.name}, out by place {name}", args=(*call.args, out))


def outcome(f: Any, call: Call) -> list[tuple[str, Any]]:
    """All that is seen of a call with copies of its arguments."""
    args, kwargs = copied((call.args, call.kwargs))
    result = error = None
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            result = f(call.function, args, kwargs)
        except Exception as raised:
            error = raised
    seen = Seen(HOME, {"made": [], "own": set()})
    seen.add("raised", (type(error).__name__, scrubbed(str(error))))
    seen.add("warned", [(w.category.__name__, str(w.message)) for w in warned if not str(w.message).startswith(SPOKEN)])
    seen.walk("args", args)
    seen.walk("kwargs", kwargs)
    seen.walk("result", result)
    seen.overlaps()
    for path, x in seen.arrays:
        if path.startswith("result") and x.size > 1:
            seen.add(f"{path}.strides", [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1])
    return seen.tokens


def copied(tree: Any) -> Any:
    """The tree with arrays of its own that lie as these do; what cannot be copied stays."""
    if isinstance(tree, np.ndarray) and type(tree) is np.ndarray:
        if 0 in tree.strides and tree.size > 1:
            return np.broadcast_to(tree.flat[0], tree.shape) if not any(tree.strides) else tree.copy()
        made = np.array(tree[::-1], order="K")[::-1] if tree.ndim and tree.strides[0] < 0 else np.array(tree, order="K")
        made.flags.writeable = tree.flags.writeable
        return made
    if type(tree) is ad.Tensor:
        return ad.tensor(np.array(tree.data), requires_grad=tree.requires_grad)
    if type(tree) in (list, tuple):
        return type(tree)(map(copied, tree))
    if type(tree) is dict:
        return {k: copied(v) for k, v in tree.items()}
    return tree if isinstance(tree, Unlike) else _or(copy.deepcopy, tree, tree)


def differs(call: Call, rtol: float = 1e-9) -> str | None:
    """How the compiled call differs from the plain one, in words; None if it does not."""
    expected = outcome(called, call)
    if "where" in call.kwargs and "out" not in call.kwargs and isinstance(call.function, np.ufunc):
        return None  # what is left out is what was in memory
    compiled = ad.compile(called, wait=True, backend="numpy")
    for time in (1, 2, 3):
        found = outcome(compiled, call)
        for (path, x), (other, y) in zip(expected, found, strict=False):
            if path != other or not close(x, y, rtol):
                return f"time {time}: {path} is {x!r}, compiled {y if path == other else (other, y)!r}"
        if len(expected) != len(found):
            return f"time {time}: {len(found)} things are seen instead of {len(expected)}"
    return None


def of_entry(entry: Entry, every: int = 1, start: int = 0) -> tuple[int, list[tuple[str, str]]]:
    """How many calls of `entry` were made, and those that differ."""
    count, found = 0, []
    number = 0
    for call in calls(entry):
        for one in (call, *with_outs(call)):
            number += 1
            if (number + start) % every:
                continue
            count += 1
            text = differs(one)
            if text:
                found.append((one.name, text))
    return count, found
