"""A function's parameters, a tree of arrays and anything else, as one vector; and its values made plain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import LeavesGraphError
from adjoint.core.objects.trees import flatten
from adjoint.core.protocol import in_graph
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Tree, Value
from adjoint.scipy.arrays import array


class PackedVector:
    """The real numbers in `tree` as one `vector`, and the ways back, which leave everything else as it is."""

    def __init__(self, tree: Tree) -> None:
        leaves, self._rebuild = flatten(tree)
        self._places = [i for i, x in enumerate(leaves) if _is_real(x)]
        varying = [leaves[i] for i in self._places]
        self._forms = [(np.shape(x), np.result_type(x)) for x in varying]
        self._others = [None if i in self._places else x for i, x in enumerate(leaves)]
        self.vector = np.concatenate([np.ravel(array(x)) for x in varying]) if varying else np.zeros(0)

    def pieces(self, vector: Array) -> list[Array]:
        """The arrays that are in `vector` one after another."""
        start, pieces = 0, []
        for shape, dtype in self._forms:
            stop = start + math.prod(shape)
            piece = np.reshape(vector[start:stop], shape)
            pieces.append(piece if piece.dtype == dtype else piece.astype(dtype))
            start = stop
        return pieces

    def tree(self, pieces: Sequence[Value]) -> Array:
        """The tree with these arrays in the places of its own."""
        leaves = list(self._others)
        for i, piece in zip(self._places, pieces, strict=True):
            leaves[i] = piece
        return self._rebuild(leaves)


def packed(tree: Tree) -> tuple[Array, Callable[[Array], Array]]:
    """The real numbers in `tree` as one vector, and the backward pass."""
    made = PackedVector(tree)
    return made.vector, lambda vector: made.tree(made.pieces(vector))


def _is_real(x: Array) -> bool:
    return isinstance(x, Box | np.ndarray | np.generic | float) and bool(dtype_of(x).kind == "f")


def boxed(tree: Tree) -> bool:
    """Whether there is a tensor in `tree`."""
    return any(isinstance(x, Box) for x in flatten(tree)[0])


def numbers(tree: Tree) -> Array:
    """`tree` with plain arrays for tensors."""
    leaves, rebuild = flatten(tree)
    return rebuild([cast(Array, x).numpy() if isinstance(x, Box) else x for x in leaves])


def vector(value: Array) -> Array:
    """What a user's function gave, an array or a sequence of numbers and tensors, as a vector."""
    if type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind == "f":
        return value
    if issubclass(type(value), tuple | list):  # a box would be asked for its class
        value = np.stack([array(v) for v in value])
    value = array(value)
    return value if value.ndim == 1 else np.reshape(value, (-1,))


def closed(name: str, value: Array) -> Array:
    """The plain values of a function that may use nothing of the graph but its parameters.

    Raises:
        LeavesGraphError: if it does.
    """
    if type(value) is np.ndarray:
        return value
    if in_graph(value):
        raise LeavesGraphError(
            f"{name}: the function uses a tensor that is none of its arguments, and its gradient would be lost; pass "
            f"it as a parameter: args=(…,)"
        )
    return numbers(value)
