"""What NumPy gives for a call, beside what the program gives: whether it refuses, and the kind of its results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from adjoint.core.box import Box, has_box
from adjoint.core.messages.warned import REFUSES, is_refused
from adjoint.core.types import Array, Function, Value
from adjoint.graph.symbol import LEVEL, Number, Symbol
from adjoint.tape.tensor import Tensor

__warningregistry__: Value = REFUSES  # what the call warns of, the program does
_PYTHON = (bool, int, float, complex)
_OF_NUMPY = (np.ndarray, np.generic)
MOST_AGREED = 1 << 14
_AGREED: set[Hashable] = set()  # the kinds of calls of which NumPy and the program give the same


def in_form(
    g: Function | str,
    values: Sequence[object],
    named: dict[str, object],
    found: Array,
    refuse: Callable[[str], BaseException],
) -> Array | None:
    """`found`, which `g` gave for symbols, as what `g` gives for their values: a number of either kind, or an array.

    The first call of a kind is made with the values, too. If NumPy refuses it, or gives another class, dtype or shape,
    the program is refused. `g` may be the name of a method of the first value.
    """
    if type(found) is Symbol:
        ends = not np.ndim(found.value) and "out" not in named
    else:
        whole = found if isinstance(found, tuple) else (found,)
        ends = any(type(x) is Symbol and not np.ndim(x.value) for x in whole) and "out" not in named
    kind = (g, ends, *map(_kind, values), *((k, _kind(v)) for k, v in named.items()))
    if kind in _AGREED:
        return found
    given, settings = _bare(values), _bare(named)
    if any(map(has_box, (*given, *settings.values()))):
        return found
    name = g if isinstance(g, str) else g.__name__
    try:
        of, given = (getattr(given[0], g), given[1:]) if isinstance(g, str) else (g, given)
        plain = _silently(of, given, settings)
    except Exception as error:
        raise refuse(f"NumPy refuses this call of {name}: {error}") from None
    made = found
    if ends and not isinstance(found, tuple):
        made = formed(found, plain)
    elif ends:
        parts = tuple(map(formed, found, plain))
        if any(a is not b for a, b in zip(parts, found, strict=True)):
            made = type(found)(*parts) if hasattr(found, "_fields") else parts
    if not _has_tensor((*values, *named.values())):
        if not _alike(made, plain):
            raise refuse(f"NumPy gives {_shown(plain)} for this call of {name}, where the program has {_shown(made)}")
        if made is found:
            if len(_AGREED) >= MOST_AGREED:
                _AGREED.clear()  # they are found again
            _AGREED.add(kind)
    return made


def _silently(g: Function, args: Sequence[object], kwargs: dict[str, object]) -> Value:
    """``g(*args, **kwargs)``, which warns of nothing."""
    try:
        return g(*args, **kwargs)
    except TypeError as error:
        if not is_refused(error):
            raise
    with warnings.catch_warnings(action="ignore"):
        return eval("g(*args, **kwargs)", {"g": g, "args": args, "kwargs": kwargs})


def formed(x: Symbol, plain: Array) -> Symbol:
    """A symbol without axes as what `plain` is."""
    if type(x) is not Symbol or np.ndim(x.value):
        return x
    if type(plain) in _PYTHON:
        return Number.of((x.value.item(), x.node), LEVEL)
    if isinstance(plain, np.ndarray) is isinstance(x.value, np.ndarray):
        return x
    value = np.asarray(x.value)
    return Symbol.of((value if isinstance(plain, np.ndarray) else value[()], x.node), LEVEL)


def _bare(x: Value) -> Value:
    """The values that symbols have now, in a tree; arrays as copies, since a call may write into them."""
    if isinstance(x, Symbol):
        return _bare(x.value)
    if isinstance(x, Tensor) and not x.level:
        return _bare(x.held)
    if isinstance(x, np.ndarray):
        return x.copy(order="K")
    if type(x) in (list, tuple):
        return type(x)(map(_bare, x))
    return {k: _bare(v) for k, v in x.items()} if type(x) is dict else x


def _kind(x: Value) -> Hashable:
    """What decides whether NumPy takes an argument, and what it gives: its class, dtype and axes; words themselves."""
    value = x.value if isinstance(x, Symbol) else x
    if isinstance(value, _OF_NUMPY):
        return type(value), value.dtype.char, value.ndim, 0 in value.shape
    if isinstance(value, Box):
        return type(value), None
    if type(value) in (list, tuple):
        return type(value), len(value), frozenset(map(_kind, value))
    if isinstance(value, str | bool | type | np.dtype | np.ufunc) or value is None:
        return value
    return type(value), value < 0 if type(value) is int else None


def _has_tensor(values: Sequence[object]) -> bool:
    """Whether what runs is one of our functions, also where the function is not compiled."""
    return any(isinstance(x, Tensor) or (isinstance(x, list | tuple) and _has_tensor(x)) for x in values)


def _alike(found: Value, plain: Value) -> bool:
    """Whether a result of the program is of the kind that NumPy's is."""
    if isinstance(plain, list | tuple):
        return _called(found) == _called(plain) and len(found) == len(plain) and all(map(_alike, found, plain))
    if isinstance(found, Symbol):
        if type(found) is Number:
            return type(plain) is type(found.value)
        if type(plain) not in (type(found.value), np.ndarray):
            return False
        return (found.shape, found.dtype) == (plain.shape, plain.dtype)
    return isinstance(found, Tensor) or type(found) is type(plain)


def _shown(x: Value) -> str:
    """A result in a few words."""
    value = x.value if isinstance(x, Symbol) else x
    if isinstance(value, np.ndarray | np.generic):
        return f"{type(value).__name__} of {value.dtype} and shape {value.shape}"
    return type(value).__name__


def _called(x: Value) -> tuple[Value, ...]:
    """The class of a list or tuple; a named tuple of ours and NumPy's are alike if their names are."""
    fields = getattr(x, "_fields", None)
    return (type(x),) if fields is None else (type(x).__name__, fields)
