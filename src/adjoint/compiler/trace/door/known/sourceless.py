"""What the door does with a function without source: its code runs with stand-ins for everything that it reads."""

from __future__ import annotations

import dis
import types
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.door.known.libraries import IMPURE
from adjoint.compiler.trace.door.known.pythons import SPECIAL
from adjoint.compiler.trace.door.objects import PURE
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import Frame, Outside
from adjoint.core.box import Box
from adjoint.core.op import Op
from adjoint.core.registry import Composite
from adjoint.core.types import Function, Value

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.calls import Calls

_WRITES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "LOAD_NAME"))
_LIVE = IMPURE | {"random", "compile", "capture", "io", "data", "train", "save_on_disk", "backward"}
_FUNCTIONS = (types.FunctionType, types.ModuleType, np.ufunc, type(np.where), type, Op, Composite)


def without_source(door: Calls, frame: Frame, why: str) -> Function:
    """A function of the same code, whose globals and closure are what stands for them.

    The code does not go through the door, so what it does there has to be harmless: it reads arrays, tensors, numbers
    and functions, and writes nothing but its own variables. Else it is refused.
    """
    function = frame.function.o
    names = _globals_of(door, function.__code__, why)
    space = {name: _known(door, name, door.glob(frame, name), why) for name in names}
    cells = [_known(door, name, door.free(frame, name), why) for name in function.__code__.co_freevars]
    made = types.FunctionType(
        function.__code__, {**space, "__builtins__": {}}, function.__name__, None, tuple(map(types.CellType, cells))
    )
    made.__defaults__ = _plain(door, function.__defaults__ or (), why)
    named = function.__kwdefaults__ or {}
    made.__kwdefaults__ = dict(zip(named, _plain(door, tuple(named.values()), why), strict=True))
    called: Function = door.made(lambda *args, **kwargs: door.of_ours(made, args, kwargs))
    return called


def _globals_of(door: Calls, code: types.CodeType, why: str) -> set[str]:
    """The global names that `code` reads, and all code inside of it."""
    names = set()
    for step in dis.get_instructions(code):
        outer = step.opname == "STORE_DEREF" and step.argval in code.co_freevars
        if step.opname in _WRITES or outer or (step.opname[:9] in ("LOAD_ATTR", "LOAD_METH") and step.argval in _LIVE):
            raise door.refuse(f"{why}, and it uses {step.argval}")
        if step.opname == "LOAD_GLOBAL":
            names.add(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _globals_of(door, inner, why)
    return names


def _known(door: Calls, name: str, x: Outside, why: str) -> Value:
    """The plain value that stands for `value`, for code that may do anything with it."""
    if isinstance(x, Outside):
        builtin = isinstance(x.o, types.BuiltinFunctionType) and (x.o in SPECIAL or x.o in PURE)
        if not builtin and not isinstance(x.o, _FUNCTIONS):
            raise door.refuse(f"{why}, and it uses {name}, a {x.what}")
    elif not isinstance(x, Box | np.ndarray | np.generic) and type(x) not in (*PLAIN, tuple):
        raise door.refuse(f"{why}, and it uses {name}, a {type(x).__name__}")
    return door.val(x)


def _plain(door: Calls, values: tuple[object, ...], why: str) -> tuple[Value, ...]:
    if not all(type(x) in PLAIN for x in values):
        raise door.refuse(f"{why}, and it has defaults that are no numbers")
    return values
