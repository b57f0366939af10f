"""Writing in place, through views too.

A tensor is a variable: its values and its history. A write changes both: the values in their memory, and the
history, which becomes that of `overwrite`. Views share memory, so a write through one must change the history of the
whole array, its root, and of every other view. So a `View` remembers its root and the path from
there, and asks the root whenever it is used: if the root has been written since, it follows the path again.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.layered import memory_of, refuse_locked, refuse_repeated
from adjoint.core.backend import is_foreign
from adjoint.core.box import Box
from adjoint.core.errors import DTypeError, InPlaceError
from adjoint.core.memory import lies
from adjoint.core.objects.foreign import plain_array
from adjoint.core.rules.pullbacks import Pullback, build
from adjoint.core.types import Array, Index
from adjoint.ops.indexing.index import may_repeat
from adjoint.ops.indexing.writing import Path, order_matters, overwrite, written, written_once
from adjoint.ops.shape.copying import loses_imaginary, real_part
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import ObservedNode, TapeNode, next_order, observe
from adjoint.tape.writes import mutations

if TYPE_CHECKING:
    from adjoint.tape.tensor import Tensor


def root_of(tensor: Tensor) -> tuple[Tensor, Path]:
    """The tensor whose memory `tensor` shows, and the way from there."""
    root = getattr(tensor, "root", None)
    return (tensor, ()) if root is None else (root, tensor._refreshed().path)  # type: ignore[attr-defined]  # a view's


def write(tensor: Tensor, index: Index, value: Array) -> None:
    """``tensor[index] = value``, on the tape.

    Raises:
        InPlaceError: if the write would change a leaf that requires a gradient.
        ReadOnlyError: if the tensor is a view that is read-only, as NumPy's is.
        DTypeError: if a value with a gradient would be cut to whole numbers.
    """
    root, path = root_of(tensor)
    if path:
        refuse_repeated(root.shape, path, index)
        refuse_locked(path, lies(tensor))
    arrays = type(index) is np.ndarray or (type(index) is tuple and np.ndarray in map(type, index))
    if arrays and order_matters(index, value):
        index, value = written_once(tensor.shape, index, value)
    if isinstance(value, Box) and value.level > root.level:
        _promote(root, value.level)
    level = root.level
    recording = level >= recording_floor.get()
    value, value_node = _unwrapped(plain_array(value), level)
    if (
        root.node is not None and root.node.pullback is None and recording and level == 0
    ):  # a transform keeps its own leaf
        raise InPlaceError(
            "this tensor is a leaf that requires a gradient, so writing into it would leave nothing to take "
            "the gradient by. Write into a copy (t = t.copy()), or, to change a parameter, under ad.no_grad()"
        )
    if not recording:
        value_node = None
    if value_node is not None and root.dtype.kind not in "fc":
        raise DTypeError(
            f"a value with a gradient written into a tensor of {root.dtype}, which cannot hold one; "
            f"make it real first: t = t.astype(float)"
        )
    changes = recording and (root.node is not None or value_node is not None)
    node = _node(root, path, index, value, value_node) if changes else None
    if isinstance(root.held, Box) or isinstance(value, Box) or is_foreign(root.held):  # a fresh array
        refuse_locked((), lies(root.held))
        new = written(root.held, path, index, value)
        root.held = new if new.shape else memory_of(new)
    else:
        _write_values(root, tensor, index, value, recording)
    if changes:
        root.node = node


def write_element(root: Tensor, index: int, value: Tensor) -> bool:
    """``root[index] = value``, if this is the usual case: numbers of one dtype and level, into memory of its own.

    Gives whether it was; `write` does the same for anything.
    """
    # The slot and getrefcount's argument, as in `_write_values`.
    if not _counts_exactly or sys.getrefcount(root.held) > 2:
        return False
    data, x, level, value_node, before = root.held, value.held, root.level, value.node, root.node
    if value_node is None or value.level != level or level < recording_floor.raw() or type(data) is not np.ndarray:
        return False
    if type(x) not in _NUMBERS or x.dtype is not data.dtype or data.dtype not in _FLOATS or data.base is not None:
        return False
    parents: tuple[TapeNode, ...]
    if before is None:
        pullback, parents = _write_pullback((0,)), (value_node,)
    elif before.pullback is None and level == 0:
        return False
    else:
        pullback, parents = _write_pullback((0, 1)), (value_node, before)
    if id(data) in mutations.logged:
        mutations.forget(data)
    try:
        data[index] = x
    except ValueError:
        refuse_locked((), data)
        raise
    node = TapeNode()
    node.order, node.pullback, node.parents = next_order(), pullback, parents
    node.saved = pullback.save((x, data), data, {"path": (), "index": index, "repeats": False})
    root.node = node
    return True


@cache
def _write_pullback(wanted: tuple[int, ...]) -> Pullback:
    return build(overwrite, wanted, False, False)


_NUMBERS = frozenset({np.ndarray, np.float64, np.float32})
_FLOATS = frozenset({np.dtype(np.float64), np.dtype(np.float32)})


def _promote(root: Tensor, level: int) -> None:
    """Make `root` a tensor of an inner transform's `level`, because it now holds one of its values."""
    if root.node is not None or isinstance(root.held, Box):
        twin = object.__new__(type(root))
        twin.held, twin.node, twin.level = root.held, root.node, root.level
        root.held = twin
    root.node, root.level = None, level


def _unwrapped(value: Array, level: int) -> tuple[object, TapeNode | None]:
    # A constant tensor of whatever level is as good as its data.
    if isinstance(value, Box) and hasattr(value, "node") and (value.level == level or value.node is None):
        return value.held, value.node
    return value, None


def _node(root: Tensor, path: Path, index: Index, value: Array, value_node: TapeNode | None) -> TapeNode:
    """The node of `overwrite` for this write: the history that the root has from now on."""
    value = value if hasattr(value, "dtype") else np.asarray(value, root.dtype)
    parents = {0: value_node, 1: root.node}
    wanted = tuple(i for i, parent in parents.items() if parent is not None)
    fitted = value_node is not None and value.dtype != root.dtype
    pullback = build(overwrite, wanted, fitted, False)
    node = ObservedNode() if recording_floor.observers() else TapeNode()
    node.order, node.pullback = next_order(), pullback
    node.parents = tuple(parent for parent in parents.values() if parent is not None)
    settings = {"path": path, "index": index, "repeats": may_repeat(index)}
    node.saved = pullback.save((value, root.held), root.held, settings)
    if recording_floor.observers():
        observe(node, (value, root.held), wanted, root.held)
    return node


def _write_values(root: Tensor, tensor: Tensor, index: Index, value: Array, recording: bool) -> None:
    """Write where the values lie, keeping what was there if some rule may have saved it."""
    if not isinstance(root.held, np.ndarray):  # a NumPy scalar, which cannot be written
        root.held = np.array(root.held)
    if loses_imaginary(value, root.held.dtype):
        value = real_part(value)
    # The slot and getrefcount's argument: then nobody has saved this memory, views it, or was given it.
    if recording and tensor is root and root.held.base is None and sys.getrefcount(root.held) <= 2 and _counts_exactly:
        mutations.forget(root.held)
        try:
            root.held[index] = value
        except ValueError:
            refuse_locked((), root.held)
            raise
        return
    target = tensor.held
    refuse_locked((), target)
    if not recording:
        target[index] = value
        mutations.note(target)
        return
    old = np.array(target[index])
    target[index] = value
    mutations.keep(target, index, old)


# Without the GIL reference counts are split between threads, so there every write keeps what it covers.
_counts_exactly = getattr(sys, "_is_gil_enabled", lambda: True)()
