"""A tree of numbers as the one float64 vector that a solver moves, and back."""

from __future__ import annotations

from typing import cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.objects.trees import flatten, paths
from adjoint.core.types import Array, Tree
from adjoint.scipy.arrays import plain


class VectorLayout:
    """Where each leaf of `tree` lies in the vector: its shape, its dtype, its name.

    A complex leaf takes two stretches, its real and its imaginary parts. None stays None.

    Args:
        tree: arrays, numbers or tensors, of which the values are taken.
        name: what messages call the tree.

    Raises:
        DTypeError: for a leaf that is not real or complex.
        ArgumentError: for a leaf that is not finite, or if there is no leaf.
    """

    def __init__(self, tree: Tree, name: str = "params") -> None:
        leaves, self._rebuild = flatten(tree)
        self.tree = tree
        self.paths = [name + path for path in paths(tree)]
        values = [_numbers(x, path) for x, path in zip(leaves, self.paths, strict=True)]
        self.shapes = [x.shape for x in values]
        self.dtypes = [x.dtype for x in values]
        sizes = [x.size * (2 if x.dtype.kind == "c" else 1) for x in values]
        self._ends = [0, *np.cumsum(sizes, dtype=int).tolist()]
        self.size: int = self._ends[-1]
        if not self.size:
            raise ArgumentError(f"{name} holds no numbers, so there is nothing to solve for; pass arrays of floats")
        self.x0 = self.ravel(self._rebuild(list(values)))
        if not np.isfinite(self.x0).all():
            raise ArgumentError(f"{self.where(~np.isfinite(self.x0))} is not finite; a solver starts from numbers")

    def unravel(self, vector: Array) -> Array:
        """The tree of a vector: arrays for an array, tensors for a tensor, with the dtypes of the first tree."""
        leaves = []
        for i, (shape, dtype) in enumerate(zip(self.shapes, self.dtypes, strict=True)):
            start, stop = self._ends[i : i + 2]
            if dtype.kind == "c":
                middle = (start + stop) // 2
                piece = vector[start:middle] + 1j * vector[middle:stop]
            else:
                piece = vector[start:stop] if len(self.shapes) > 1 else vector
            piece = piece if shape == piece.shape else np.reshape(piece, shape)
            piece = piece if dtype == piece.dtype else piece.astype(dtype)
            leaves.append(piece[()] if isinstance(piece, np.ndarray) and not shape else piece)
        return self._rebuild(leaves)

    def ravel(self, tree: Tree) -> Array:
        """The vector of a tree of this structure."""
        leaves, _ = flatten(tree)
        if len(leaves) != len(self.shapes):
            raise ArgumentError(f"expected a tree of {len(self.shapes)} arrays, like the parameters; got {len(leaves)}")
        parts = []
        for leaf, shape, path in zip(leaves, self.shapes, self.paths, strict=True):
            if np.shape(leaf) != shape:
                raise ShapeError(f"{path} has shape {shape}; got {np.shape(leaf)}")
            leaf = np.ravel(cast(Array, leaf) if isinstance(leaf, Box) else np.asarray(leaf))
            parts += [leaf.real, leaf.imag] if leaf.dtype.kind == "c" else [leaf]
        return np.concatenate([part if part.dtype == np.float64 else part.astype(np.float64) for part in parts])

    def where(self, mask: Array) -> str:
        """The name of the first number that `mask`, a vector, picks: ``params['w'][0, 2]``."""
        i = int(np.argmax(mask))
        k = int(np.searchsorted(self._ends, i, side="right")) - 1
        shape, part, place = self.shapes[k], "", i - self._ends[k]
        if self.dtypes[k].kind == "c":
            odd, place = divmod(place, int(np.prod(shape)))
            part = ".imag" if odd else ".real"
        index = ", ".join(str(int(j)) for j in np.unravel_index(place, shape))
        return self.paths[k] + (f"[{index}]" if index else "") + part


def _numbers(x: Array, path: str) -> np.ndarray:
    """The values of one leaf."""
    value = plain(x)
    if value.dtype.kind in "fc":
        return value  # type: ignore[no-any-return]  # `plain` gives NumPy's arrays
    if value.dtype.kind in "iub":
        raise DTypeError(
            f"{path} has dtype {value.dtype}, and a solver moves real numbers. Make it floats (1 → 1.0, "
            f"x.astype(float)); if it is a setting, take it out of the tree, into args=(…,)"
        )
    raise DTypeError(f"{path} is {type(x).__name__}, not numbers; pass it in args=(…,) instead")
