"""Saved values in another form: packed when a rule saves them, unpacked when it runs.

A node that is written inside `saved_tensors_hooks` keeps, for each array, the result of `pack` instead. Its
pullback is a variant that the pass recognises (as for a fingerprinted array), so the pass unpacks before the rule
runs, each time it runs. Nodes outside are not affected.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from adjoint.core.errors import ArgumentError, DTypeError, RuleError
from adjoint.core.rules.pullbacks import Pullback, with_fingerprints
from adjoint.core.threads.weak import WeakValues
from adjoint.core.types import Array, DType, Value
from adjoint.tape.modes import Observer, Observing
from adjoint.tape.writes import mutations

if TYPE_CHECKING:
    from adjoint.tape.node import TapeNode

Pack = Callable[[np.ndarray], Value]
Unpack = Callable[[Value], Value]


class PackedValues(tuple[Value, ...]):
    """The saved values of a node, of which some are `PackedArray`."""

    __slots__ = ()


class PackedArray:
    """One array that was packed: the result of `pack`, and the shape and dtype that `unpack` must give back."""

    __slots__ = ("__weakref__", "dtype", "memory", "moment", "packed", "shape", "source", "unpack")

    def __init__(self, array: np.ndarray, pack: Pack, unpack: Unpack) -> None:
        self.shape, self.dtype, self.moment = array.shape, array.dtype, mutations.latest()
        self.source, self.memory, self.unpack = weakref.ref(array), mutations.reference(array), unpack
        self.packed = pack(array)

    def array(self, what: str) -> np.ndarray:
        """The array again, for the rule of `what`."""
        array = self.unpack(self.packed)
        if not isinstance(array, np.ndarray | np.generic) or (array.shape, array.dtype) != (self.shape, self.dtype):
            got = f"shape {array.shape}, {array.dtype}" if hasattr(array, "dtype") else type(array).__name__
            raise RuleError(
                f"unpack must give the array back that pack was given: {what} saved one of shape {self.shape}, "
                f"{self.dtype}; got {got}"
            )
        return cast(np.ndarray, array)


class saved_tensors_hooks(Observing):  # noqa: N801 - PyTorch's name, and used like a function
    """Keep what gradient rules save in another form: a context manager for the forward computation.

    The innermost one counts. An array that several rules save is packed once, and unpacked for each of them.
    Shapes, settings and numbers are kept as they are; so are arrays that are themselves being differentiated (the
    values inside of a nested `adjoint.grad`).

    Args:
        pack: takes an array, gives anything. It must not write into the array.
        unpack: takes that, gives an array of the same shape and dtype; called each time a rule runs.
        leaves: False passes by the data of leaves, which the leaves keep alive anyway.

    Raises:
        RuleError: in the backward pass, if `unpack` gives something else.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> with ad.saved_tensors_hooks(lambda a: a.tolist(), np.array):
        ...     y = np.sum(np.sin(x))
        >>> y.backward()
        >>> x.grad
        tensor([ 0.54030231, -0.41614684])
    """

    def __init__(self, pack: Pack, unpack: Unpack, *, leaves: bool = True) -> None:
        for name, function in (("pack", pack), ("unpack", unpack)):
            if not callable(function):
                raise ArgumentError(f"saved_tensors_hooks(pack, unpack): {name} must be a function; got {function!r}")
        self.pack, self.unpack, self.leaves = pack, unpack, leaves
        super().__init__()
        # By the id of the node, which lives as long as its handle does: a holder of the handle has the node as parent.
        self._handles: WeakValues[int, PackedArray] = WeakValues()

    def observers(self) -> Mapping[str, Observer]:
        return {"saved": self._observe}

    def _observe(self, node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
        """Pack what `node` has saved."""
        pullback = cast(Pullback, node.pullback)
        op = pullback.op
        on_tape = dict(zip(wanted, node.parents, strict=True))
        saved = list(node.saved)
        for k, name in enumerate(pullback.names):
            if name == "out":
                saved[k] = self._packed(saved[k], node)
            elif name in op.inputs:
                saved[k] = self._packed(saved[k], on_tape.get(op.inputs.index(name)))
            elif op.inputs[0] == f"*{name}":
                saved[k] = tuple(self._packed(v, on_tape.get(i)) for i, v in enumerate(saved[k]))
        node.saved = PackedValues(saved)
        if not pullback.fingerprinted:
            node.pullback, node.fingerprints = with_fingerprints(pullback), None

    def _packed(self, value: Array, node: TapeNode | None) -> object:
        """`value`, of the history `node`, as a handle if it is an array."""
        if type(value) is tuple:  # several results
            return tuple(self._packed(v, None) for v in value)
        if not isinstance(value, np.ndarray) or (node is not None and node.pullback is None and not self.leaves):
            return value
        if node is None:  # an array of the user's, which may have been overwritten since it was last packed
            return PackedArray(value, self.pack, self.unpack)
        handle = self._handles.get(id(node))
        if handle is None or handle.source() is not value or handle.moment != mutations.latest():
            handle = self._handles[id(node)] = PackedArray(value, self.pack, self.unpack)
        return handle


def unpacked(node: TapeNode) -> tuple[object, ...]:
    """What `node` saved, unpacked."""
    what = cast(Pullback, node.pullback).op.name
    saved = tuple(_unpacked(value, what) for value in node.saved)
    fingerprints, kept = node.fingerprints, None
    while fingerprints is not None:
        handle, array = fingerprints.array(node.saved), fingerprints.array(saved)
        # A fingerprint is of the array that was packed; a copy of it cannot have been overwritten.
        copied = isinstance(handle, PackedArray) and (
            handle.memory is None or handle.memory() is not mutations.owner(array)
        )
        kept = kept if copied else fingerprints._replace(others=kept)
        fingerprints = fingerprints.others
    node.fingerprints = kept
    return saved


def held_bytes(handle: PackedArray) -> int:
    """Bytes of memory that a packed array still takes, as far as arrays in its place tell."""
    kept = handle.packed
    return sum(
        array.nbytes for array in (kept if isinstance(kept, tuple | list) else (kept,)) if hasattr(array, "nbytes")
    )


def _unpacked(value: Array, what: str) -> object:
    if type(value) is tuple:
        return tuple(_unpacked(v, what) for v in value)
    return value.array(what) if isinstance(value, PackedArray) else value


def save_on_disk(folder: str | os.PathLike[str] | None = None, *, least: int = 1 << 16) -> saved_tensors_hooks:
    """Keep saved arrays in files: ``with ad.save_on_disk():``. Each file goes when no graph needs it.

    Args:
        folder: where; it must exist. Without it, a temporary folder, which goes with the last graph.
        least: smaller arrays, in bytes, stay in memory. Leaves stay where they are.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor(np.ones(100_000), requires_grad=True)
        >>> with ad.save_on_disk():
        ...     y = np.sum(np.exp(x) ** 2)
        >>> y.backward()
        >>> x.grad[:2]
        tensor([14.7781122, 14.7781122])
    """
    place = _Folder(folder)
    return saved_tensors_hooks(
        lambda array: _ArrayFile(array, place) if array.nbytes >= least else array,
        lambda kept: kept.read() if isinstance(kept, _ArrayFile) else kept,
        leaves=False,
    )


class _Folder:
    """A folder for saved arrays; a temporary one is made when first needed, and goes with the object."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else os.fspath(path)

    def file(self) -> str:
        """The name of a new, empty file."""
        import tempfile  # here, because neither is otherwise loaded

        if self.path is None:
            import shutil

            self.path = tempfile.mkdtemp(prefix="adjoint-")
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        handle, name = tempfile.mkstemp(".npy", "saved-", self.path)
        os.close(handle)
        return name


class _ArrayFile:
    """An array in a file, which goes with the object."""

    def __init__(self, array: np.ndarray, folder: _Folder) -> None:
        self.folder, self.name = folder, folder.file()
        weakref.finalize(self, _remove, self.name)
        np.save(self.name, array, allow_pickle=False)

    def read(self) -> np.ndarray:
        """The array."""
        return cast(np.ndarray, np.load(self.name, allow_pickle=False))


def _remove(name: str) -> None:
    if os.path.exists(name):
        os.remove(name)


def save_as(dtype: DType) -> saved_tensors_hooks:
    """Keep saved real arrays in a smaller dtype: ``with ad.save_as(np.float16):``. Leaves stay as they are.

    Gradients are then as exact as what was kept; values beyond the range of `dtype` become infinite.

    Raises:
        DTypeError: if `dtype` is not real.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> with ad.save_as(np.float16):
        ...     y = np.sum(np.exp(x))
        >>> y.backward()
        >>> x.grad
        tensor([2.71875 , 7.390625])
    """
    small = np.dtype(dtype)
    if small.kind != "f":
        raise DTypeError(f"save_as takes a real dtype, such as np.float16; got {small}")

    def pack(array: np.ndarray) -> object:
        smaller = array.dtype.kind == "f" and array.dtype.itemsize > small.itemsize
        return array.astype(small) if smaller else array, array.dtype

    return saved_tensors_hooks(pack, lambda kept: kept[0].astype(kept[1], copy=False), leaves=False)
