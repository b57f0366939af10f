"""Python's numbers in a graph: the operations that turn them into NumPy's and back."""

from __future__ import annotations

import numpy as np

from adjoint.core.op import Op, Rule
from adjoint.graph.node import Node, NumberName

# Makes one of Python's numbers of NumPy's: what follows is promoted as by Python's.
as_python = Op("as_python", lambda x: x.item() if isinstance(x, np.generic | np.ndarray) and not x.shape else x, ("x",),
               (Rule(1.0),), kind="elementwise")  # fmt: skip


# The same for a number that the program takes out of an array: that has no history.
item = Op("as_python", as_python.forward, ("x",), (Rule(0.0),), kind="elementwise")

PYTHONS = (as_python, item)


# And the other way round, as np.asarray does.
as_numpy = Op("as_numpy", lambda x: np.asarray(x)[()], ("x",), (Rule(1.0),), kind="elementwise")


def is_number(node: Node) -> bool:
    """Whether a node is one of Python's numbers, which promotes less than NumPy's."""
    if node.args:
        return node.op in PYTHONS and not node.shape
    return type(node.value) in (NumberName, bool, int, float, complex)
