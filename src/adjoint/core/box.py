"""The one door: `apply` hands a call to the outermost kind of array among its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.core.op import Op

_levels = count(1)


def new_level() -> int:
    """A level above every level in use. Levels only grow, so none has to be given back."""
    return next(_levels)


class Box:
    """An array that is more than numbers. A box of a lower level is a constant to a higher one."""

    __slots__ = ("level",)
    level: int

    def process(self, op: Op, args: Sequence[Any], settings: Mapping[str, Any]) -> Any:
        """Carry out `op`, where this box has the highest level among `args`."""
        raise NotImplementedError


def apply(op: Op, args: Sequence[Any], settings: Mapping[str, Any]) -> Any:
    """Carry out `op`: by the outermost box among `args`, or by NumPy if there is none."""
    top: Box | None = None
    for arg in args:
        if isinstance(arg, Box) and (top is None or arg.level > top.level):
            top = arg
    if top is None:
        return op.forward(*args, **settings)
    return top.process(op, args, settings)


def outermost(args: Sequence[Any]) -> Box | None:
    """The box of the highest level among `args`; the first of several, None if there is none."""
    return max((arg for arg in args if isinstance(arg, Box)), key=lambda box: box.level, default=None)
