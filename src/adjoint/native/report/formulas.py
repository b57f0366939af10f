"""What a step computes, as a formula in one line: ``tanh(x @ w.T + b)``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Index, Value
from adjoint.graph.node import Node
from adjoint.graph.text.numpy_source import INFIX, index_text, literal
from adjoint.native.plan.pairs.splitting import for_numpy

LONGEST = 300  # letters, after which a formula is cut: one that names a value often would double with every step
ATOM = 4
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "@": 2}  # the others: 0
_NAMES = {
    "choose_either": "where", "absolute": "abs", "logical_and": "and", "logical_or": "or", "pile": "stack",
    "join": "concatenate", "scatter_add": "place", "overwrite": "write", "sort_along": "sort",
    "partition_along": "partition", "running_sum": "cumsum",
    "running_product": "cumprod", "fourier": "fft", "inverse_fourier": "ifft", "half_spectrum": "rfft",
    "from_half_spectrum": "irfft", "repeat_each": "repeat", "stacked_solve": "solve", "stacked_det": "det",
    "gather": "take", "scatter": "place", "assemble": "parts",
}  # fmt: skip
_ELEMENTS = {"element": "{}.flat[{}]", "with_element": "{}.flat[{}] := {}", "with_added": "{}.flat[{}] += {}"}
# Their results' shapes and kinds stand beside the formula.
_UNSAID_CALLS = frozenset(
    {"reshape", "broadcast_to", "squeeze", "expand_dims", "copy", "name", "as_numpy", "as_python"}
)
_UNSAID = frozenset({"keepdims", "copy", "order", "path", "repeats", "needs", "dtype", "casting", "subok",
                     "strides", "offset", "region", "regions", "below", "inside", "paired"})  # fmt: skip


class Formula(str):
    """A text, and how tightly its outermost operator binds."""

    __slots__ = ("binds",)
    binds: int

    def __new__(cls, text: str, binds: int = ATOM) -> Formula:
        made = super().__new__(cls, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
        made.binds = binds
        return made

    def inside(self, binds: int) -> str:
        """The text as a part of what binds so tightly."""
        return self if self.binds >= binds else f"({self})"


class Formulas:
    """The formulas of nodes, in which the nodes that have `names` are not taken apart."""

    def __init__(self, names: dict[Node, str]) -> None:
        self.names = names
        self._known: dict[Node, Formula] = {}

    def of(self, node: Node, whole: bool = False) -> Formula:
        """The formula of `node`, or its name; with `whole`, what it is computed from even if it has a name."""
        if node in self.names and not whole:
            return Formula(self.names[node])
        if node in self._known:
            return self._known[node]
        waiting = [node]
        while waiting:  # no recursion: programs are long
            top = waiting[-1]
            missing = [a for a in top.args if a not in self.names and a not in self._known]
            waiting += missing
            if not missing:
                made = self._written(top, [self.of(arg) for arg in top.args])
                if top is node and node in self.names:
                    return made
                self._known[top] = made
                waiting.pop()
        return self._known[node]

    def _written(self, node: Node, args: Sequence[Formula]) -> Formula:
        if node.op is None:
            return Formula(f"{args[0]}[{node.value}]" if args else _constant(node))
        node = for_numpy(node)
        assert node.op is not None
        name, settings = node.op.name, node.settings
        if name == "part_of_pair":
            return Formula(f"{args[0].inside(ATOM)}.{('real', 'imag')[settings['number']]}")
        if name == "fourier_transform":
            return Formula(f"{settings['loop'].split('.')[0].split('_')[0]}({args[0]}, axis={settings['axis']})")
        if name == "loop":
            loop = settings["loop"]
            return Formula(f"loop that ends {loop.ends}" if loop.ends else f"loop of {loop.count} turns")
        if name in _ELEMENTS:
            return Formula(_ELEMENTS[name].format(args[0].inside(ATOM), *args[1:]))
        sign = INFIX.get(name)
        if sign and len(args) == 2:
            binds = _BINDS.get(sign, 0)
            if sign == "!=" and node.args[0].dtype == bool and args[1] in ("0", "False"):  # a condition, as it is
                return args[0]
            return Formula(f"{args[0].inside(max(binds, 1))} {sign} {args[1].inside(binds + 1)}", binds)
        if name in ("logical_and", "logical_or"):
            return Formula(f" {_NAMES[name]} ".join(arg.inside(0) for arg in args), -1)
        if name == "logical_not":
            return Formula(f"not {args[0].inside(0)}", -1)
        if name == "power":
            return Formula(f"{args[0].inside(ATOM)} ** {args[1].inside(ATOM)}", 3)
        if name == "negative":
            return Formula(f"-{args[0].inside(3)}", 3)
        if name in ("transpose", "matrix_transpose") and len(node.shape) == 2 and args:
            return Formula(f"{args[0].inside(ATOM)}.T")
        if name == "astype":
            return Formula(f"{node.dtype}({args[0]})")
        if name in _UNSAID_CALLS:
            return args[0]
        if name == "getitem":
            return Formula(f"{args[0].inside(ATOM)}[{_index(settings['index'])}]")
        said = [f"{key}={_setting(value)}" for key, value in settings.items() if _says_something(node, key, value)]
        return Formula(f"{_NAMES.get(name, name.removeprefix('reduce_'))}({', '.join([*args, *said])})")


def _constant(node: Node) -> str:
    value = np.asarray(node.value)
    if value.ndim and (not value.size or np.any(value != value.flat[0])):
        return f"constant{list(value.shape)}"
    first = value.reshape(-1)[0]  # all elements are the same; a whole number of more than 64 bits is Python's
    return f"{first:.4g}" if value.dtype.kind == "f" else str(first)


def _index(index: Index) -> str:
    try:
        return index_text(index, lambda part: "…" if isinstance(part, np.ndarray) else literal(part))
    except NotSupportedError:
        return "…"


def _says_something(node: Node, key: str, value: Value) -> bool:
    default = node.op.settings.get(key) if node.op else None
    plain = isinstance(value, int | float | str | tuple)
    return not (value is None or key in _UNSAID or value is default or (plain and bool(value == default)))


def _setting(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 20 else f"{text[:19]}…"
