"""Sequences of several lengths, by PyTorch's names; recurrent layers take their lengths beside the padded array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.types import Array, Value


class PackedSequence(NamedTuple):
    """Sequences and their lengths. Recurrent layers take it, and give one.

    Attributes:
        padded: (steps, n, …), whatever follows the end of a sequence.
        lengths: (n,).
    """

    padded: Value
    lengths: np.ndarray

    @property
    def batch_sizes(self) -> np.ndarray:
        """How many sequences have a first step, a second one, and so on."""
        counts: np.ndarray = np.sum(self.lengths > np.arange(np.max(self.lengths))[:, None], 1)
        return counts

    @property
    def data(self) -> Array:
        """All steps without those that fill up, PyTorch's order: the first ones of all, the longest sequence first."""
        rows = self.padded[:, np.argsort(-self.lengths, kind="stable")]
        return np.concatenate([rows[step, :count] for step, count in enumerate(self.batch_sizes.tolist())])


def pad_sequence(
    sequences: Sequence[Array], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Array:
    """Sequences (length, …) as one array (longest, n, …), or (n, longest, …), filled up with `padding_value`.

    Raises:
        ArgumentError: without sequences, or for an unknown side.
        ShapeError: if they differ behind the first axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.utils.rnn.pad_sequence([np.array([1.0, 2.0]), np.array([3.0])], batch_first=True)
        array([[1., 2.],
               [3., 0.]])
    """
    if not len(sequences) or padding_side not in ("left", "right"):
        raise ArgumentError(f'pad_sequence takes sequences, and padding_side "left" or "right"; got {len(sequences)} '
                            f"of them, and {padding_side!r}")  # fmt: skip
    shapes = [np.shape(s) for s in sequences]
    if len({shape[1:] for shape in shapes}) > 1 or not shapes[0]:
        raise ShapeError(f"pad_sequence takes sequences that differ in their first axis alone; got {shapes[:5]}")
    longest, filled = max(shape[0] for shape in shapes), []
    for s, shape in zip(sequences, shapes, strict=True):
        gap = (longest - shape[0], 0) if padding_side == "left" else (0, longest - shape[0])
        filled.append(np.pad(s, [gap, *[(0, 0)] * (len(shape) - 1)], constant_values=padding_value))
    return np.stack(filled, axis=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Array, lengths: Array, batch_first: bool = False) -> list[Array]:
    """The sequences in a padded array: what `pad_sequence` was given."""
    rows = padded_sequences if batch_first else np.swapaxes(padded_sequences, 0, 1)
    return [rows[i, :n] for i, n in enumerate(np.asarray(raw(lengths)).tolist())]


def pack_padded_sequence(
    input: Array, lengths: Array, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """An array of sequences with their lengths; in any order, whatever `enforce_sorted` says.

    Raises:
        ArgumentError: if there are not as many lengths as sequences, or one is too large or too small.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> packed = nn.utils.rnn.pack_padded_sequence(np.ones((2, 3, 4)), [3, 1], batch_first=True)
        >>> out, h = nn.GRU(4, 5, rng=0)(packed)
        >>> padded, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        >>> padded.shape, lengths
        ((2, 3, 5), array([3, 1]))
    """
    x = np.swapaxes(input, 0, 1) if batch_first else input
    counts = np.asarray(raw(lengths))
    if counts.shape != np.shape(x)[1:2] or not np.all((counts >= 1) & (counts <= np.shape(x)[0])):
        raise ArgumentError(f"pack_padded_sequence: lengths are {np.shape(x)[1]} numbers from 1 to {np.shape(x)[0]}; "
                            f"got {counts}")  # fmt: skip
    return PackedSequence(x[: counts.max()], counts)


def pack_sequence(sequences: Sequence[Array], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (length, …) with their lengths."""
    return PackedSequence(pad_sequence(sequences), np.array([np.shape(s)[0] for s in sequences]))


def unpack_sequence(packed_sequences: PackedSequence) -> list[Array]:
    """What `pack_sequence` was given."""
    return unpad_sequence(packed_sequences.padded, packed_sequences.lengths)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Array, np.ndarray]:
    """The padded array (longest, n, …), or (n, longest, …), and the lengths; at least `total_length` long."""
    x, lengths = sequence
    if total_length is not None and total_length < len(x):
        raise ArgumentError(f"pad_packed_sequence: the longest sequence has {len(x)}; got total_length={total_length}")
    more = 0 if total_length is None else total_length - np.shape(x)[0]
    x = np.pad(x, [(0, more), *[(0, 0)] * (np.ndim(x) - 1)]) if more else x
    there = np.arange(np.shape(x)[0])[:, None] < lengths
    x = np.where(np.reshape(there, (*there.shape, *[1] * (np.ndim(x) - 2))), x, padding_value)
    return (np.swapaxes(x, 0, 1) if batch_first else x), lengths


if not TYPE_CHECKING:  # else every misspelt name would be one of any kind

    def __getattr__(name: str) -> Value:
        raise looked_up("nn.utils.rnn", name)
