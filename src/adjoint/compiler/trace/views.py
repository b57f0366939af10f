"""What a program gives back of things that exist already: views of arrays and tensors, and what tensors have then."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Value
from adjoint.tape.modes import is_grad_enabled, set_grad_enabled
from adjoint.tape.tensor import Tensor


def then(tensor: Tensor, name: str, writes: Sequence[Action]) -> Value:
    """The ``data`` or ``grad`` of a tensor, once `writes` are made."""
    holder = tensor.node if name == "grad" else tensor
    for write in reversed(writes):
        if write[0] is setattr and write[1] is holder and write[2] == name:
            return write[3]
    return getattr(tensor, name)


def look(array: Array, path: Value) -> Array:
    """The view of an existing array that a program returns."""
    for op, settings in path:
        array = op.forward(array, **settings)
    return array


def view(tensor: Tensor, path: Value, recorded: bool) -> Tensor:
    """The view of an existing tensor that a program returns."""
    with set_grad_enabled(recorded and is_grad_enabled()):
        for op, settings in path:
            tensor = op(tensor, **settings)
    return tensor
