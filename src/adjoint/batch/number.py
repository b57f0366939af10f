"""`BatchedNumber`: one of Python's numbers for each of many samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.arrays.python_number import PythonNumber, as_numpy
from adjoint.batch.batched import Batched
from adjoint.core.box import raw
from adjoint.core.op import Op
from adjoint.core.types import Array, Settings


class BatchedNumber(PythonNumber, Batched):
    """A number of Python's a sample: a float, a whole number, or the truth value that a comparison gave."""

    __slots__ = ()

    @classmethod
    def standing_for(cls, box: Batched) -> BatchedNumber:
        return cls.of(box.layers, box.level)

    def __index__(self) -> int:
        values = np.ravel(raw(self))
        if self.dtype.kind in "iub" and values.size and (values == values[0]).all():
            return int(values[0])
        return super().__index__()

    def as_array(self) -> Batched:
        return Batched.of(self._layers, self.level)

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        return self.as_array().process(op, tuple(map(as_numpy, args)), settings)


Batched.python_kind = BatchedNumber
