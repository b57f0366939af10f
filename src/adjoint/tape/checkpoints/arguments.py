"""The arguments of a call, kept so that the call can be repeated with the same values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import InPlaceError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Value
from adjoint.ops.indexing.writing import Path
from adjoint.tape.node import TapeNode
from adjoint.tape.tensor import Tensor, View
from adjoint.tape.writes.fingerprint import fingerprint
from adjoint.tape.writes.views import root_of


class _TensorAt(NamedTuple):
    """Where a tensor stood among the arguments: its root, the way from there, and what a view showed."""

    root: int
    path: Path
    data: Array
    node: TapeNode | None


class SavedArguments:
    """The arguments of a call, to make them once more: their tree, their arrays, and what on the tape they were.

    Attributes:
        arrays: the data of tensors, and other arrays: what must be kept.
    """

    def __init__(self, given: Value) -> None:
        leaves, self._rebuild = flatten(given)
        roots: dict[int, tuple[int, Tensor]] = {}
        self._leaves = [self._placed(leaf, roots) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self._roots = [(type(root), root.level, root.node) for _, root in roots.values()]
        plain = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        self._prints = [fingerprint(array) for array in plain]
        self.arrays: tuple[Value, ...] = (*(root.held for _, root in roots.values()), *plain)

    def _placed(self, tensor: Tensor, roots: dict[int, tuple[int, Tensor]]) -> _TensorAt:
        # Not the tensor itself: it may come to hold a history that leads back here.
        root, path = root_of(tensor)
        number, _ = roots.setdefault(id(root), (len(roots), root))
        shown = (tensor.held, tensor.node) if path else (None, None)
        return _TensorAt(number, path, *shown)

    def again(self, arrays: Sequence[Array], what: str) -> Value:
        """The arguments as they were, around `arrays`: those that were kept, with the values they had.

        Raises:
            InPlaceError: if one that is not a tensor's has other values.
        """
        for array, mark in zip(arrays[len(self._roots) :], self._prints, strict=True):
            if fingerprint(array) != mark:
                raise InPlaceError(
                    f"{what} must run again for its gradient, but an array that it was given has been written since. "
                    f"Go backward before the write, or give it a copy: a.copy()"
                )
        made = [
            _tensor(kind, data, node, level) for (kind, level, node), data in zip(self._roots, arrays, strict=False)
        ]
        return self._rebuild([self._again(x, made) if isinstance(x, _TensorAt) else x for x in self._leaves])

    def _again(self, place: _TensorAt, made: list[Tensor]) -> Tensor:
        root = made[place.root]
        if not place.path:
            return root
        view: View = object.__new__(View)
        view.root, view.path, view._shown_data, view._shown_node = root, place.path, place.data, place.node
        view._seen = (root.node, root.held) if root.held is self.arrays[place.root] else (None, None)
        return view


def _tensor(kind: type, data: Array, node: TapeNode | None, level: int) -> Tensor:
    tensor: Tensor = object.__new__(kind)
    tensor.held, tensor.node, tensor.level = data, node, level
    return tensor
