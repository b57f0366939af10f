"""`Dual`: an array with its derivative in one direction, through all operations on it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from adjoint.arrays.fast_path import FastPath, WithFastPaths
from adjoint.arrays.operators import by_objects, holds_objects
from adjoint.core.backend import to_host
from adjoint.core.box import TRACKED, Box, apply
from adjoint.core.errors import LeavesGraphError
from adjoint.core.leaks.notes import EQUALITIES, compared, entering, left, matters, plain, refused
from adjoint.core.leaks.questions import only_answers
from adjoint.core.objects.foreign import PLAIN, plain_array
from adjoint.core.op import Op
from adjoint.core.types import Array, Settings, ShapeLike, Value
from adjoint.forward.fast import fast_path
from adjoint.forward.push import build, shaped
from adjoint.ops.values import is_number
from adjoint.tape.modes import recording_floor


class Dual(WithFastPaths):
    """A value, the `primal`, with a `tangent` of its shape and dtype: the derivative of the value.

    `adjoint.jvp` makes them. Without a tangent it is a constant of whatever level its primal is.
    """

    __slots__ = ()

    @property
    def primal(self) -> Array:
        return self.layers[0]

    @property
    def tangent(self) -> Array:
        """The derivative; None for a constant."""
        return self.layers[1]

    @classmethod
    def fast_path(cls, op: Op, otherwise: FastPath) -> FastPath:
        return fast_path(op, cls, otherwise)

    def processed(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        if holds_objects(args):
            return by_objects(op, args, settings)
        level = self.level
        values: list[Array] = []
        tangents: list[Array] = []
        wanted: list[int] = []
        for i, arg in enumerate(args):
            if isinstance(arg, Box):
                if arg.level == level:
                    arg = arg.settled()
                if isinstance(arg, Dual):
                    primal, tangent = arg.layers
                    if arg.level == level or tangent is None:
                        arg = primal
                        if tangent is not None:
                            tangents.append(tangent)
                            wanted.append(i)
            elif type(arg) not in PLAIN:
                if type(arg) in TRACKED:
                    entering(op, (arg,), None, level)
                arg = plain_array(plain(arg))
            values.append(arg)
        out = apply(op, values, settings)
        if op.kind == "constant":
            if op.name in EQUALITIES:
                compared(op, args, out, recording_floor.get())
            return Dual.of((out, None), level) if "creates" in op.flags else out
        if not wanted:
            if op.multiple:
                return tuple(Dual.of((x, None), level) for x in out)
            constant = Dual.of((out, None), level)
            return self.viewed(constant, op, settings) if len(args) == 1 else constant
        real = True
        for x in (*tangents, *out) if op.multiple else (*tangents, out):
            real = real and x.dtype.kind != "c"
        whole = len(wanted) == len(values)
        given = values if whole else [x if hasattr(x, "dtype") else np.asarray(x)[()] for x in values]
        tangent = build(op, tuple(wanted), real)(given, out, settings, *tangents)
        if op.multiple:
            return tuple(dual(x, t, level) for x, t in zip(out, tangent, strict=True))
        result = dual(out, tangent, level)
        return self.viewed(result, op, settings) if len(args) == 1 else result

    def _constant(self, array: Array) -> tuple[Array, ...]:
        return array, None

    def _is_number(self) -> bool:
        return self._base is None and is_number(self._layers[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._layers if self._base is None else self.layers)[0].shape  # type: ignore[no-any-return]  # an array or a box

    @shape.setter
    def shape(self, shape: ShapeLike) -> None:
        self.take_shape(shape)

    @property
    def dtype(self) -> Value:
        return (self._layers if self._base is None else self.layers)[0].dtype

    @property
    def requires_grad(self) -> bool:
        """Whether a derivative is lost if only the value of this is used."""
        primal, tangent = self.layers
        return tangent is not None or (isinstance(primal, Box) and bool(getattr(primal, "requires_grad", True)))

    @property
    def carries(self) -> bool:
        return self.layers[1] is not None

    def detach(self) -> Value:
        """The same values, as a constant."""
        primal = self.primal
        return Dual.of((primal.detach() if isinstance(primal, Box) else primal, None), self.level)  # type: ignore[attr-defined]  # every box has detach()

    def numpy(self) -> np.ndarray:
        """The values as a NumPy array; without the tangent."""
        return self._left(self._values(), "t.numpy()")  # type: ignore[no-any-return]  # an array

    def _values(self) -> np.ndarray:
        primal = self.primal
        return primal.numpy() if isinstance(primal, Box) else to_host(primal)  # type: ignore[attr-defined]  # every box has numpy()

    def _left(self, value: Array, call: str) -> Array:
        return left(value, self, call, recording_floor.get())

    def item(self, *index: int) -> Value:
        """The value as a Python number."""
        return self._left(self._values().item(*index), "t.item()")

    def tolist(self) -> Value:
        """The values as nested lists of Python numbers."""
        return self._left(self._values().tolist(), "t.tolist()")

    def _leaving(self, call: str) -> Value:
        if matters(self):
            if only_answers(sys._getframe(2)):
                primal = self.primal
                return primal._leaving(call) if isinstance(primal, Box) else self._values()  # type: ignore[attr-defined]  # see `Box`
            refused(self, call, recording_floor.get())
            raise LeavesGraphError(
                f"{call} would silently drop this array's tangent, and with it the derivative. If that is meant, say "
                f"so: t.detach(), t.numpy() or t.item()",
                conversion=True,
            )
        return self._values()

    def __dlpack__(self, **options: Value) -> Value:
        return self._leaving("__dlpack__").__dlpack__(**options)

    def __repr__(self) -> str:
        return f"dual({self.primal!r}, tangent={self.tangent!r})"


def dual(primal: Array, tangent: Array, level: int) -> Dual:
    """`primal` with its `tangent` (None for a constant) in its shape and dtype; whole numbers carry none."""
    if not hasattr(primal, "dtype"):
        primal = np.asarray(primal)[()]
    if tangent is None or primal.dtype.kind not in "fc":
        return Dual.of((primal, None), level)
    return Dual.of((primal, shaped(tangent, primal)), level)
