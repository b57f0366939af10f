"""What every picture is made from: vertices with their texts, and where their wires come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.messages.words import shortened
from adjoint.core.op import Op
from adjoint.core.types import Array, DType, Index, Settings, ShapeLike
from adjoint.graph.text.numpy_source import index_text, literal
from adjoint.tape.inside import arrays
from adjoint.tape.observers.lines import UsersPlace

BoxKind = Literal["input", "constant", "call", "again", "more"]


@dataclass(slots=True)
class Vertex:
    """One value of a program, and the operation that makes it.

    Attributes:
        key: its number; inputs have smaller ones.
        kind: ``again`` stands for a value shown elsewhere, ``more`` for what is left out.
        label: the text in its box.
        name: what the listing calls it.
        inputs: keys of the vertices that it uses, once for each use.
        op: the operation's name.
        holds: shape and dtype.
        value, cotangent: in short; empty where unknown.
        line: the user's line, if known.
        simple: whether it works number by number on one argument, so that chains of such can be one.
        times: for the vertices of a block that is repeated, how often.
        block: the number of that block; 0 outside of any.
        result: of an output, its name.
        module: the class of the user's whose `forward` made it, and `at` where in its code.
        tagged: whether a picture names it elsewhere, so that its name must be shown.
    """

    key: int
    kind: BoxKind
    label: str
    name: str = ""
    inputs: list[int] = field(default_factory=list)
    op: str = ""
    holds: str = ""
    value: str = ""
    cotangent: str = ""
    line: str = ""
    simple: bool = False
    times: int = 1
    block: int = 0
    tagged: bool = False
    result: str = ""
    module: str = ""
    at: int = 0

    @property
    def holds_short(self) -> str:
        """Shape and dtype, if not those of one plain number; the name, if another place says it; and a result's."""
        said = self.holds.replace("float64", "").replace("any", "") if self.kind != "again" else ""
        parts = (self.name if self.tagged else "", said, f"→ {self.result}" if self.result else "")
        return " ".join(part for part in parts if part)


@dataclass(slots=True)
class Diagram:
    """Vertices, each after its inputs; which of them are results; and notes."""

    title: str
    vertices: dict[int, Vertex]
    outputs: list[int]
    notes: list[str] = field(default_factory=list)

    def users(self) -> dict[int, list[int]]:
        """The vertices that use each vertex, once for every use."""
        users: dict[int, list[int]] = {key: [] for key in self.vertices}
        for vertex in self.vertices.values():
            for key in vertex.inputs:
                users[key].append(vertex.key)
        return users

    def pruned(self) -> int:
        """Leave out what no longer leads to an output; give how many vertices that were."""
        seen, stack = set(self.outputs), list(self.outputs)
        while stack:
            for key in self.vertices[stack.pop()].inputs:
                if key not in seen:
                    seen.add(key)
                    stack.append(key)
        count = len(self.vertices) - len(seen)
        self.vertices = {key: vertex for key, vertex in self.vertices.items() if key in seen}
        return count


TIMES, MINUS = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}"
SIGNS = {
    "add": "+", "subtract": MINUS, "multiply": TIMES, "divide": "÷", "power": "^", "matmul": "@", "remainder": "mod",
    "less": "<", "less_equal": "≤", "greater": ">", "greater_equal": "≥", "equal": "=", "not_equal": "≠",
}  # fmt: skip
_NAMES = {
    "negative": MINUS, "reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min",
    "reduce_mean": "mean", "reduce_var": "var", "reduce_std": "std", "reduce_logsumexp": "logsumexp",
    "choose_either": "where", "euclidean_norm": "norm", "absolute": "abs", "maximum": "max", "minimum": "min",
    "running_sum": "cumsum", "running_product": "cumprod", "join": "concatenate", "pile": "stack",
    "scatter_add": "place", "overwrite": "write", "stacked_solve": "solve", "stacked_det": "det",
    "solve_keeping_factors": "solve", "det_keeping_factors": "det", "cholesky_factor": "cholesky",
    "negative_log_likelihood": "cross entropy",
}  # fmt: skip


def label_of(op: Op, args: Sequence[str | None], settings: Settings) -> str:
    """The text in an operation's box. `args` are None where a wire comes in, else a constant's text."""
    sign = SIGNS.get(op.name)
    if sign and len(args) == 2:
        left, right = (arg or "" for arg in args)
        return f"{left} {sign} {right}".strip()
    if op.name in ("getitem", "scatter_add", "overwrite") and "index" in settings:
        where = "" if settings.get("path") else f"[{shortened(_index(settings['index']), 18)}]"
        return where if op.name == "getitem" else f"{_NAMES[op.name]} {where}".strip()
    if op.name == "name":
        return str(settings.get("label", "name"))
    name = _NAMES.get(op.name, op.name)
    if any(args):
        name += f"({', '.join('·' if arg is None else arg for arg in args)})"
    said = [
        _said(key, value) for key, value in settings.items()
        if key not in ("path", "repeats", "keepdims", "copy", "order", "needs", "kept") and value is not None
        and not _same(value, op.settings.get(key))
    ]  # fmt: skip
    return shortened(" ".join([name, *said]), 30)


def _index(index: Index) -> str:
    try:
        return index_text(index, lambda part: "…" if isinstance(part, np.ndarray) and part.size > 4 else _plain(part))
    except NotSupportedError:
        return "…"


def _plain(part: object) -> str:
    return str(part.tolist()) if isinstance(part, np.ndarray) else literal(part)


def _said(key: str, value: object) -> str:
    if value is True:
        return key
    text = str(value.name) if isinstance(value, np.dtype) else " ".join(str(value).split())
    return text if key in ("dtype", "shape") else f"{key}={text}"


def _same(value: object, default: object) -> bool:
    return value is default or (isinstance(value, int | float | str | tuple) and bool(value == default))


def stands_in(vertex: Vertex, place: UsersPlace | None) -> None:
    """Note the class whose `forward` a place in the user's code is in."""
    if place is not None and place[0].co_qualname.endswith(".forward"):
        vertex.module, vertex.at = place[0].co_qualname.split(".")[-2], place[1]


def holds(shape: ShapeLike, dtype: DType) -> str:
    """``float64[3, 4]``; ``any`` where nothing is fixed."""
    if shape is None:
        return "any"
    if isinstance(dtype, tuple):
        return "(" + ", ".join(holds(s, d) for s, d in zip(shape, dtype, strict=True)) + ")"
    return f"{dtype}{list(shape) if shape else ''}"


def number(x: Array, digits: int = 4) -> str:
    """A number in so many digits."""
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    if isinstance(x, complex | np.complexfloating):
        return f"{number(x.real)}{'+' if x.imag >= 0 else '-'}{number(abs(x.imag))}j"
    return f"{x:.{digits}g}" if np.isfinite(x) else str(float(x))


def summary(value: Array) -> str:
    """An array in short: a number as it is, a few in a list, and of more the smallest and the largest."""
    found = list(arrays(value)) if not isinstance(value, bool | int | float | complex) else [np.asarray(value)]
    if len(found) != 1:
        return f"{len(found)} arrays" if found else ""
    x = np.asarray(found[0])
    if x.size == 0:
        return "empty"
    if x.dtype.kind not in "biufc":
        return str(x.dtype)
    if x.ndim == 0:
        return number(x[()])
    if x.size <= 3:
        return str([_Bare(number(item)) for item in x.reshape(-1)])
    if x.dtype.kind == "b":
        return f"{np.count_nonzero(x)} of {x.size} true"
    if x.dtype.kind == "c":
        return f"|·| ≤ {number(np.max(np.abs(x)))}"
    if not np.all(np.isfinite(x)):
        return f"{np.count_nonzero(~np.isfinite(x))} of {x.size} not finite"
    low, high = np.min(x), np.max(x)
    return f"all {number(low)}" if low == high else f"{number(low, 3)} … {number(high, 3)}"


class _Bare(str):
    """A text that lists print without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
