"""What a graph keeps in memory for its gradient rules: by operation and by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from adjoint.core.errors import GradientError
from adjoint.core.rules.pullbacks import Pullback, freed
from adjoint.core.types import DType, Index, Value
from adjoint.tape.inside import arrays, parent_numbers
from adjoint.tape.node import walk
from adjoint.tape.observers.hooks import PackedArray, held_bytes
from adjoint.tape.observers.lines import line_of_node
from adjoint.tape.observers.tables import amount, table
from adjoint.tape.writes.mutations import owner

if TYPE_CHECKING:
    from adjoint.tape.node import TapeNode
    from adjoint.tape.tensor import Tensor

SavedKind = Literal["leaf", "constant", "value"]

# Operations whose result may show their argument's memory: a leaf's data, turned round, is still a leaf's.
_VIEWS = {"reshape", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims"}
_VIEWS |= {"broadcast_to", "flip", "getitem"}


class SavedMemory(NamedTuple):
    """One piece of memory that the graph keeps.

    Attributes:
        op: the first operation whose rule needs it, and `name` what that rule calls it.
        line: where that operation stands, if that was noted (`adjoint.source_lines`); else empty.
        shape, dtype: of the array as the rule sees it.
        nbytes: of the memory, all of it if the array is a view of a part; of what is left, where it was packed.
        kind: ``leaf``: a leaf's own data, which lives anyway; ``constant``: an array that needs no gradient;
            ``value``: computed on the way.
        packed: whether `adjoint.saved_tensors_hooks` has put something in its place.
    """

    op: str
    name: str
    line: str
    shape: tuple[int, ...]
    dtype: DType
    nbytes: int
    kind: SavedKind
    packed: bool


class SavedTable(Sequence[SavedMemory]):
    """What a graph keeps, each piece of memory once. ``print(table)`` gives sums by operation and line."""

    def __init__(self, records: Iterable[SavedMemory]) -> None:
        self._records = list(records)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[SavedMemory]:
        return iter(self._records)

    def __getitem__(self, index: Index) -> Value:
        return self._records[index]

    @property
    def nbytes(self) -> int:
        """Bytes that the graph keeps alive, leaves apart."""
        return sum(r.nbytes for r in self if r.kind != "leaf")

    @property
    def leaf_bytes(self) -> int:
        """Bytes of leaves' own data, which rules need too."""
        return sum(r.nbytes for r in self if r.kind == "leaf")

    def by_operation(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Number of arrays and their bytes, by operation and line; the most bytes first. Leaves apart."""
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for r in self:
            if r.kind != "leaf":
                count, nbytes = sums.get((r.op, r.line), (0, 0))
                sums[r.op, r.line] = count + 1, nbytes + r.nbytes
        return dict(sorted(sums.items(), key=lambda item: -item[1][1]))

    def __str__(self) -> str:
        rows = [[op, str(count), amount(nbytes), line] for (op, line), (count, nbytes) in self.by_operation().items()]
        text = table(["operation", "arrays", "bytes", "line"], rows, " rr")
        text += f"\n{amount(self.nbytes)} in all; leaves' own data: {amount(self.leaf_bytes)}"
        if rows and not any(r.line for r in self):
            text += "\nFor source lines, compute inside `with ad.source_lines():`"
        return text


def saved(*tensors: Tensor) -> SavedTable:
    """What the graph behind `tensors` keeps for the backward pass: a table of bytes by operation and line.

    Memory that several rules need, whole or in part, is counted once, with the first of them.

    Args:
        tensors: results, such as a loss.

    Returns:
        A `SavedTable`: a sequence of `SavedMemory` that prints as a table, with its sums ``nbytes`` and ``leaf_bytes``.

    Raises:
        GradientError: if there is no graph.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> w = ad.tensor(np.ones((100, 10)), requires_grad=True)
        >>> loss = np.sum(np.tanh(np.ones((20, 100)) @ w) ** 2)
        >>> print(ad.saved(loss))
        operation  arrays    bytes  line
        matmul          1    16 kB
        tanh            1  1.6 kB
        17.6 kB in all; leaves' own data: 0 B
        For source lines, compute inside `with ad.source_lines():`
    """
    nodes: dict[TapeNode, None] = {}
    for tensor in tensors:
        node = getattr(tensor, "node", None)
        if node is None:
            raise GradientError(
                "saved() of a tensor without a graph: nothing that it was computed from needs a gradient"
            )
        nodes.update(dict.fromkeys(walk(node)))
    seen: dict[int, Value] = {}
    records = []
    for node in sorted(nodes, key=lambda node: -node.order):
        for record, memory in _kept(node):
            if id(memory) not in seen:
                seen[id(memory)] = memory
                records.append(record)
    return SavedTable(records)


def _kept(node: TapeNode) -> Iterator[tuple[SavedMemory, Value]]:
    """What `node` saved: each array with the object that holds its memory."""
    if node.pullback is None or node.pullback is freed:
        return
    pullback: Pullback = node.pullback
    line = line_of_node(node)
    on_tape = dict(zip(parent_numbers(pullback, node.saved), node.parents, strict=False))
    for name, value in zip(pullback.names, node.saved, strict=False):
        several = isinstance(value, tuple)
        for i, item in enumerate(value if several else (value,)):
            number = i if pullback.op.inputs[0] == f"*{name}" else _number(pullback, name)
            if isinstance(item, PackedArray):
                kind = _kind(name, on_tape.get(number), False)
                yield (
                    SavedMemory(pullback.op.name, name, line, item.shape, item.dtype, held_bytes(item), kind, True),
                    item,
                )
                continue
            for array in arrays(item):
                if isinstance(array, np.ndarray):
                    memory = owner(array)
                    nbytes = memory.nbytes if isinstance(memory, np.ndarray) else array.nbytes
                    kind = _kind(name, on_tape.get(number), array.base is not None)
                    yield (
                        SavedMemory(pullback.op.name, name, line, array.shape, array.dtype, nbytes, kind, False),
                        memory,
                    )


def _number(pullback: Pullback, name: str) -> int:
    return pullback.op.inputs.index(name) if name in pullback.op.inputs else -1


def _kind(name: str, parent: TapeNode | None, view: bool) -> SavedKind:
    """What a saved array of the history `parent` is."""
    if name == "out":
        return "value"
    if parent is None:
        return "constant"
    while view and parent.pullback is not None and parent.pullback is not freed:
        if parent.pullback.op.name not in _VIEWS or len(parent.parents) != 1:
            return "value"
        parent = parent.parents[0]
    return "leaf" if parent.pullback is None else "value"
