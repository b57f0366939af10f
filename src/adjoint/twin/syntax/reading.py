"""Whether a function only reads the arrays that it is given: then a gradient needs no copies of them.

Between the function and its backward pass nothing but the function itself runs. So if the source shows that it writes
into no memory, what its operations save is the same when the pass comes. The source is one function, or several that
call one another; it names NumPy's functions and operators, and what it is given, closes over and finds in modules are
arrays, numbers and texts of Python's and NumPy's own classes, of which it is known what they do. Whatever else is met
makes the answer no: then arrays are copied where an operation saves them.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from types import CellType, FunctionType, ModuleType
from typing import cast

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.memory import owner
from adjoint.core.op import Op
from adjoint.core.registry import Composite, answer
from adjoint.core.types import Settings, Value
from adjoint.twin.syntax.names import MISSING
from adjoint.twin.syntax.source import is_filled
from adjoint.twin.syntax.uses import Fact, NamePath, NamesUsed, OutsideCall, is_written, uses_of


def only_reads(f: Value, args: Sequence[Value], kwargs: Settings) -> bool:
    """Whether ``f(*args, **kwargs)`` writes into no array but those that operations make inside."""
    while type(f) is functools.partial:
        f, args, kwargs = f.func, (*f.args, *args), {**f.keywords, **kwargs}
    if type(f) is not FunctionType or (uses := uses_of(f)) is None:
        return False
    code = f.__code__
    if not kwargs and len(args) == code.co_argcount and is_data(args):  # nearly every call
        return uses.takes_data and _reads(f, uses, set())
    given = dict(zip(code.co_varnames[: code.co_argcount], args, strict=False))
    if kwargs or len(given) < code.co_argcount:
        given = _defaults(f) | given | dict(kwargs)
    kinds = {name: value for name, value in given.items() if not is_data(value)}
    return (
        uses.own.issuperset(kinds)
        and all(map(is_data, args[code.co_argcount :]))
        and (_finds(f, uses, kinds) if kinds else uses.takes_data)
        and _reads(f, uses, set())
    )


def _defaults(f: FunctionType) -> dict[str, Value]:
    """The values that parameters have if they are not given."""
    values = f.__defaults__ or ()
    names = f.__code__.co_varnames[f.__code__.co_argcount - len(values) :]
    return dict(zip(names, values, strict=False)) | (f.__kwdefaults__ or {})


def _finds(f: FunctionType, uses: NamesUsed, given: Mapping[str, Value]) -> bool:
    """Whether `f` writes into no array by those parameters that are modules and functions, the `given` ones."""
    for path in uses.own_values:
        if path[0] in given and not _is_constant(*_found(path, given[path[0]])):
            return False
    for call in uses.own_calls:
        if call.path[0] not in given:
            if len(call.path) < 2 or not call.is_method():
                return False
        elif not _is_allowed(*_found(call.path, given[call.path[0]]), call):
            return False
    return True


def _found(path: NamePath, value: Value, depends: list[Fact] | None = None) -> tuple[Value, int]:
    """What the longest part of a path that leads through modules from `value` stands for, and how much is left."""
    at = 1
    while at < len(path) and type(value) is ModuleType:
        scope, name = vars(value), path[at]
        value = scope.get(name, MISSING)
        if depends is not None:
            depends.append((scope, name, value))
        at += 1
    return value, len(path) - at


def _reads(f: FunctionType, uses: NamesUsed, met: set[int]) -> bool:
    """Whether `f` writes into no array by what it finds outside."""
    depends, values, calls = uses.settled
    for scope, name, value in depends:
        if scope.get(name, MISSING) is not value or depends[0][0] is not f.__globals__:
            depends, values, calls = (), uses.values, uses.calls
            break
    if not (values or calls):
        return True
    met.add(id(f.__code__))
    free = f.__code__.co_freevars
    facts: list[Fact] = []
    values_left: list[NamePath] = []
    calls_left: list[OutsideCall] = []

    def start(name: str) -> tuple[Value, list[Fact]]:
        if name in free:
            cell = cast(tuple[CellType, ...], f.__closure__)[free.index(name)]
            return cell.cell_contents if is_filled(cell) else MISSING, []
        value = f.__globals__.get(name, MISSING)
        if value is not MISSING:
            return value, [(f.__globals__, name, value)]
        value = vars(builtins).get(name, MISSING)
        return value, [(f.__globals__, name, MISSING), (vars(builtins), name, value)]

    for path in values:
        value, way = start(path[0])
        value, left = _found(path, value, way)
        if not _is_constant(value, left):
            return False
        if way and _is_kind(value):
            facts += way
        else:
            values_left.append(path)
    for call in calls:
        value, way = start(call.path[0])
        value, left = _found(call.path, value, way)
        if _is_allowed(value, left, call):
            if way and not left:
                facts += way
                continue
        elif left or not _is_followed(value, met):
            return False
        calls_left.append(call)
    if facts:
        uses.settled = (*depends, *facts), tuple(values_left), tuple(calls_left)
    return True


def _is_followed(f: Value, met: set[int]) -> bool:
    """Whether a function of the user's that is given data writes into no array."""
    if type(f) is not FunctionType or (uses := uses_of(f)) is None:
        return False
    if id(f.__code__) in met:
        return True
    return uses.takes_data and all(map(is_data, _defaults(f).values())) and _reads(f, uses, met)


# -- Data ---------------------------------------------------------------------------------------------

_NUMBERS = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), slice, range))
_MANY = 10_000


def is_data(value: Value) -> bool:
    """Whether `value` is an array, a number or a text, or made of these, so that it is known what operators do."""
    todo, seen = [value], 0
    while todo:
        x = todo.pop()
        kind = type(x)
        seen += 1
        if kind in _NUMBERS:
            continue
        if kind is np.ndarray:
            if x.dtype.hasobject or not (x.flags.owndata or is_own(x)):
                return False
        elif kind is tuple or kind is list:
            todo += x
        elif kind is dict:
            todo += x.keys()
            todo += x.values()
        elif issubclass(kind, Box):
            if not kind.__module__.startswith("adjoint.") or getattr(raw(x), "is_formula", False):
                return False
        elif not issubclass(kind, np.generic | np.dtype):
            return False
        if seen > _MANY:
            return False
    return True


def is_own(array: np.ndarray) -> bool:
    """Whether memory belongs to an array: no file or other process writes there."""
    held = owner(array)
    return type(held) is np.ndarray and held.flags.owndata


def _is_kind(value: Value) -> bool:
    """Whether `value` is a class of Python's or NumPy's, such as a dtype."""
    return isinstance(value, type) and value.__module__ in ("builtins", "numpy")


# -- Calls --------------------------------------------------------------------------------------------

#: Functions of NumPy's that make arrays, which need no rule; and Python's, which look at what they are given.
_MAKING = (
    "zeros ones empty full eye identity arange array asarray asanyarray ascontiguousarray indices ndim shape size "
    "iscomplexobj isscalar result_type tri triu_indices tril_indices diag_indices argwhere unravel_index"
)
_LOOKING = (
    "abs all any bool complex dict divmod enumerate float int isinstance len list max min pow range reversed round "
    "slice str sum tuple zip"
)
_READING = {id(f): f for f in (
    *(getattr(np, name) for name in _MAKING.split()),
    *(getattr(builtins, name) for name in _LOOKING.split()),
    *(f for f in vars(math).values() if callable(f)),
)}  # fmt: skip
_LIBRARIES = ("numpy", "scipy")


def _is_constant(value: Value, left: int) -> bool:
    """Whether `value`, of which some attributes are `left` to be asked, is data or a dtype."""
    return is_data(value) or (not left and _is_kind(value))


def _is_allowed(f: Value, left: int, call: OutsideCall) -> bool:
    """Whether a call of `f`, or of a method of it if attributes are `left`, writes into no array, and calls nobody."""
    if left:
        return is_data(f) and call.is_method()
    if _READING.get(id(f)) is f:
        return not call.writes
    if isinstance(f, type):
        return _is_kind(f) and issubclass(f, np.generic)
    if not isinstance(f, np.ufunc) and str(getattr(f, "__module__", "")).partition(".")[0] not in _LIBRARIES:
        return False
    return not call.writes and call.positional <= _most(f)


@functools.lru_cache(maxsize=1024)
def _most(f: Value) -> float:
    """How many arguments `f` takes before one that it writes into; -1 if it is not known to read the others."""
    if isinstance(f, np.ufunc):
        known = any(getattr(sys.modules.get(name), f.__name__, None) is f for name in ("numpy", "scipy.special"))
        return f.nin if known else -1
    rule = answer(f)
    if not isinstance(rule, Op | Composite) or not rule.flags.isdisjoint(("in_place", "not_supported")):
        return -1
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return -1
    for i, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_POSITIONAL:
            break
        if is_written(parameter.name):
            return i
    return math.inf
