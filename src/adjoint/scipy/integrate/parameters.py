"""A function's parameters, a tree of arrays and anything else, as one vector; and its values made plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import LeavesGraphError
from adjoint.core.protocol import in_graph
from adjoint.core.pulls import dtype_of
from adjoint.core.trees import flatten
from adjoint.scipy.arrays import array


def packed(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The real numbers in `tree` as one vector, and the way back, which leaves everything else as it is."""
    leaves, rebuild = flatten(tree)
    varying = [i for i, x in enumerate(leaves) if _is_real(x)]
    shapes = [np.shape(leaves[i]) for i in varying]
    dtypes = [np.result_type(leaves[i]) for i in varying]
    ends = np.cumsum([0, *(int(np.prod(s)) for s in shapes)])

    def unpack(vector: Any) -> Any:
        given = list(leaves)
        for k, i in enumerate(varying):
            piece = np.reshape(vector[ends[k] : ends[k + 1]], shapes[k])
            given[i] = piece if piece.dtype == dtypes[k] else piece.astype(dtypes[k])
        return rebuild(given)

    return np.concatenate([np.ravel(array(leaves[i])) for i in varying]) if varying else np.zeros(0), unpack


def _is_real(x: Any) -> bool:
    return isinstance(x, Box | np.ndarray | np.generic | float) and bool(dtype_of(x).kind == "f")


def boxed(tree: Any) -> bool:
    """Whether there is a tensor in `tree`."""
    return any(isinstance(x, Box) for x in flatten(tree)[0])


def numbers(tree: Any) -> Any:
    """`tree` with plain arrays for tensors."""
    leaves, rebuild = flatten(tree)
    return rebuild([cast(Any, x).numpy() if isinstance(x, Box) else x for x in leaves])


def vector(value: Any) -> Any:
    """What a user's function gave, an array or a sequence of numbers and tensors, as a vector."""
    if isinstance(value, tuple | list):
        value = np.stack([array(v) for v in value])
    value = array(value)
    return value if value.ndim == 1 else np.reshape(value, (-1,))


def closed(name: str, value: Any) -> Any:
    """The plain values of a function that may use nothing of the graph but its parameters.

    Raises:
        LeavesGraphError: if it does.
    """
    if in_graph(value):
        raise LeavesGraphError(
            f"{name}: the function uses a tensor that is none of its arguments, and its gradient would be lost; pass "
            f"it as a parameter: args=(…,)"
        )
    return numbers(value)
