"""Solutions as functions of the parameters of their problem, which come as one vector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.box import varies
from adjoint.core.objects.trees import flatten, is_leaf
from adjoint.core.protocol import in_graph
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Tree
from adjoint.scipy.integrate.parameters import packed
from adjoint.transforms.implicit import implicit_root

Condition = Callable[..., Array]


def is_followed(tree: Tree) -> bool:
    """Whether there is something in `tree` that solutions must be functions of: in a graph, or one of many samples."""
    return any(in_graph(x) or varies(x) for x in flatten(tree)[0])


def as_vector(tree: Tree) -> tuple[Array, Callable[[Array], Array]]:
    """The real and complex numbers in `tree` as one real vector, and the backward pass."""
    leaves, rebuild = flatten(tree)
    split = [dtype_of(x).kind == "c" if is_leaf(x) else False for x in leaves]
    vector, unpack = packed([(np.real(x), np.imag(x)) if s else x for x, s in zip(leaves, split, strict=True)])

    def back(vector: Array) -> Array:
        parts = zip(unpack(vector), split, strict=True)
        return rebuild([part[0] + 1j * part[1] if s else part for part, s in parts])

    return vector, back


def solution(theta: Array, *, solve: Condition, condition: Condition, symmetric: bool = False) -> Array:
    """``solve(theta)``, a vector z at which ``condition(z, theta)``, of the length of z, is zero.

    Args:
        theta: a vector.
        solve: takes a plain vector.
        condition: NumPy functions of two vectors.
        symmetric: whether the derivative of the condition by z is.
    """
    return implicit_root(solve, condition, symmetric=symmetric)(theta)
