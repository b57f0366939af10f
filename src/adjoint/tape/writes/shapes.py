"""Other shapes in place: ``t.shape = (2, 3)`` and ``t.resize(8)``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from adjoint.arrays.layered import Writable
from adjoint.core.errors import InPlaceError
from adjoint.core.types import ShapeLike, Value
from adjoint.tape.modes import recording_floor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adjoint.tape.node import TapeNode


class Shapeable(Writable):
    """A tensor that may be given another shape."""

    __slots__ = ()
    node: TapeNode | None

    def take_shape(self, shape: ShapeLike) -> None:
        with self._kept():
            super().take_shape(shape)

    def resize(self, *new_shape: Value, refcheck: bool = True) -> None:
        with self._kept():
            super().resize(*new_shape, refcheck=refcheck)

    def _become(self: Value, made: Value) -> None:
        if hasattr(self, "root"):
            self.root, self.path, self._seen = made.root, made.path, made._seen
        self.held, self.node = made.held, made.node

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Record also under `no_grad`: it changes no value, so the history stays.

        Raises:
            InPlaceError: of a leaf, whose gradient would have another shape.
        """
        if self.level == 0 and self.node is not None and self.node.pullback is None:
            raise InPlaceError(
                "this tensor is a leaf that requires a gradient, which keeps its shape. Use another tensor: "
                "u = t.reshape(shape)"
            )
        before = recording_floor.raw()
        try:
            recording_floor.set(0)
            yield
        finally:
            recording_floor.restore(before)
