"""What was written in place, and when: a saved value that changed since is found, never used.

A write notes the sequence number at which it happened, by the array that owns the memory. The backward
pass looks here only at nodes that are older than the latest write, so a training loop, whose graph is
always younger than the last step, pays one comparison a node.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from adjoint.core.errors import InPlaceError
from adjoint.tape.node import Node, next_order

_lock = threading.Lock()
_written: dict[int, tuple[weakref.ref[Any], int]] = {}
_latest = [0]


def latest() -> int:
    """The order of the latest write; every younger node has a smaller one."""
    return _latest[0]


def owner(array: Any) -> Any:
    """The object that owns an array's memory."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def note(array: np.ndarray) -> None:
    """Note that `array`'s memory has just been written."""
    held = owner(array)
    key = id(held)
    try:
        ref = weakref.ref(held, lambda _: _written.pop(key, None))
    except TypeError:  # bytes or another buffer that takes no weak reference: it cannot be told apart later
        return
    with _lock:
        _written[key] = ref, next_order()
        _latest[0] = _written[key][1]


def check(node: Node) -> None:
    """Raise if a value that `node` saved was overwritten after it was saved."""
    for name, value in zip(node.pull.names if node.pull else (), node.saved, strict=False):
        if isinstance(value, np.ndarray):
            held = owner(value)
            ref, order = _written.get(id(held), (None, 0))
            if ref is not None and ref() is held and order < node.order:
                what = node.pull.op.name if node.pull else "leaf"
                raise InPlaceError(
                    f"the gradient of {what} needs `{name}` (shape {value.shape}), which was written in place "
                    f"after {what} had saved it. Go backward before the write, or write to a copy: t = t.copy()"
                )
