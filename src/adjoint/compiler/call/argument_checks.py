"""Conditions, as Python's text, that arguments are like those of an earlier call: for functions that are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adjoint.compiler.trace.loops.numbers.reaches import LARGEST
from adjoint.core.types import Value
from adjoint.tape.tensor import Tensor

MISS: Value = object()  # what a written function gives for a call that does not fit
MISSES = (ArithmeticError, LookupError, ValueError, AttributeError, TypeError)  # of conditions on other arguments
_PLAIN = (int, bool, str, bytes, range)


def _lies(x: np.ndarray, name: str, views: bool) -> str:
    """The condition that an array lies in memory as `x` does: others have other views, and traces of their own.

    Arrays of one axis have the same values in the same order; only where `views` are given back, it matters which.
    """
    if not x.flags.c_contiguous:
        return f" and {name}.strides == {x.strides}"
    return f" and {name}.flags.c_contiguous" if x.ndim > 1 or (views and x.ndim) else ""


class ArgumentChecks:
    """The conditions for arguments like `leaves`, of which those with numbers in `varies` may have other values.

    `views` says whether views of them may be given back.
    """

    def __init__(self, leaves: Sequence[Value], varies: set[int], views: bool = False) -> None:
        self.leaves, self.varies, self.views = leaves, varies, views
        self.scope: dict[str, Value] = {"MISS": MISS, "ndarray": np.ndarray, "int64": np.int64, "Tensor": Tensor}
        self._names: dict[int, str] = {}
        self.gets: list[str] = []  # the leaves
        self.fits: list[str] = []  # conditions on them
        self.given: list[str] = []  # those that vary
        self.turned: list[str] = []  # whole numbers among them become NumPy's
        self.places: Value = ()  # the arguments, with the numbers of their leaves in them

    def name(self, thing: Value) -> str:
        """What `thing` is called in the function."""
        if id(thing) not in self._names:
            self._names[id(thing)] = f"a{len(self._names)}"
            self.scope[self._names[id(thing)]] = thing
        return self._names[id(thing)]

    def takes(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
        """Whether arguments of this structure, with numbers of leaves in it, can come this way."""
        inside = [*((f"args[{i}]", part) for i, part in enumerate(args)),
                  *((f"kwargs[{name!r}]", part) for name, part in kwargs.items())]  # fmt: skip
        return all(self._part(path, part) for path, part in inside) and all(map(self._leaf, range(len(self.leaves))))

    def opening(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> list[str]:
        """The line that looks how many arguments there are."""
        keywords = f"len(kwargs) != {len(kwargs)}" if kwargs else "kwargs"
        return [f"if len(args) != {len(args)} or {keywords}: return MISS"]

    def _part(self, path: str, part: Value) -> bool:
        if type(part) is int:
            self.gets.append(f"x{part} = {path}")
            return True
        if part is None:
            self.gets.append(f"if {path} is not None: return MISS")
            return True
        kind = type(part)
        if kind not in (dict, list, tuple):
            return False
        self.gets.append(f"if type({path}) is not {kind.__name__} or len({path}) != {len(part)}: return MISS")
        items = part.items() if kind is dict else enumerate(part)
        return all(self._part(f"{path}[{self.name(key)}]", inner) for key, inner in items)

    def _leaf(self, k: int) -> bool:
        x, name = self.leaves[k], f"x{k}"
        kind = type(x)
        if k not in self.varies:
            if kind in _PLAIN:
                self.fits.append(f"type({name}) is {self.name(kind)} and {name} == {self.name(x)}")
                if kind is range:  # equal ones may begin and end elsewhere
                    ends = f"({name}.start, {name}.stop, {name}.step)"
                    self.fits.append(f"{ends} == {(x.start, x.stop, x.step)}")
                return True
            self.fits.append(f"{name} is {self.name(x)}")
            return self.takes_object(x)
        self.given.append(name)
        if kind is np.ndarray:
            self.fits.append(f"type({name}) is ndarray and {name}.shape == {x.shape}{_lies(x, name, self.views)}")
        elif kind is float or kind is int or issubclass(kind, np.generic):
            self.fits.append(f"type({name}) is {self.name(kind)}")
            if kind is int:
                self.fits.append(f"{-LARGEST} < {name} < {LARGEST}")
                self.turned.append(f"{name} = int64({name})")
        else:
            return kind is Tensor and self._tensor(x, name)
        return True

    def takes_object(self, x: object) -> bool:
        """Whether `x`, which is no array or number, may be an argument: the same one in each call."""
        return getattr(type(x), "__eq__", None) is object.__eq__

    def _tensor(self, x: Tensor, name: str) -> bool:
        self.given[-1] += ".held"
        lies = _lies(x.held, f"{name}.held", self.views)
        self.fits.append(
            f"type({name}) is Tensor and type({name}.held) is ndarray and {name}.held.shape == {x.shape}{lies}"
        )
        return type(x.held) is np.ndarray
