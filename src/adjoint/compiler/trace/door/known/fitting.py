"""What the door asks before a write into an array: whether NumPy would refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adjoint.arrays.flat import Flat
from adjoint.compiler.trace.door.reads import Reads
from adjoint.core.box import Box
from adjoint.core.types import Array, DType, Value
from adjoint.graph.symbol import Symbol
from adjoint.tape.tensor import Tensor


class Fitting(Reads):
    """Writes into arrays."""

    def writes_into(self, o: Array | None, value: Value = None) -> None:
        """Refuse a write that NumPy refuses, and one into a tensor which others that have its memory would not see."""
        o = o.base if type(o) is Flat else o
        if isinstance(o, Symbol) and not isinstance(o.value, np.ndarray):
            raise self.refuse("it writes into a number")
        if isinstance(o, Symbol):
            self.fits(o.dtype, value)
        if isinstance(o, Tensor) and any(t is getattr(o, "root", o) for t in self.taken):
            raise self.refuse("it writes into a tensor of which it has taken the memory")
        if isinstance(o, Symbol) and isinstance(o.value, np.ndarray) and not o.value.flags.writeable:
            raise self.refuse("it writes into an array that is read-only")
        if isinstance(o, Symbol):
            self.inputs.written_into(o.root)

    def of_numbers(self, name: str, values: Sequence[Value]) -> None:
        """Refuse what is no number among `values`, which a function writes: NumPy refuses some, and turns some."""
        if not all(map(_is_numeric, values)):
            raise self.refuse(f"it writes something else than numbers by {name}")

    def as_written(self, o: Array, value: Value) -> Value:
        """`value` as it is written into `o`: of a list of values, the array."""
        listed = type(o) is Symbol and isinstance(value, list | tuple) and any(symbols_in(value))
        return self.stacked(value) if listed else value

    def fits(self, dtype: DType, value: Value) -> None:
        """Refuse a number in `value` that is nan, or too large for whole numbers of `dtype`: NumPy may raise."""
        if dtype.kind not in "iu":
            return
        ends = np.iinfo(dtype)
        for x in _numbers_in(value):
            safe = isinstance(x, Symbol) and np.can_cast(x.dtype, dtype)
            inside = safe or (self.truth(x > ends.min - 1.0) and self.truth(x < ends.max + 1.0))
            if not inside:
                raise self.refuse(f"it puts a number into {dtype} that does not fit")

    def val(self, x: object) -> Value:
        raise NotImplementedError

    def rows_together(self, of: Value, key: Value) -> Array:
        raise NotImplementedError

    def symbolic(self, array: object, why: str) -> BaseException:
        raise NotImplementedError

    def plain_method(self, o: object, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        raise NotImplementedError

    def stacked(self, x: Value) -> Array:
        """The array that NumPy makes of lists of values."""
        raise NotImplementedError

    def truth(self, x: Array) -> bool:
        """Whether `x` counts as true."""
        raise NotImplementedError


def symbols_in(x: Value) -> Iterator[bool]:
    """True, for each box in a value or in lists of these."""
    if isinstance(x, list | tuple):
        for part in x:
            yield from symbols_in(part)
    elif isinstance(x, Box):
        yield True


def _is_numeric(x: Value) -> bool:
    if isinstance(x, list | tuple):
        return all(map(_is_numeric, x))
    return isinstance(x, int | float | complex) or getattr(getattr(x, "dtype", None), "kind", "") in tuple("biufc")


def _numbers_in(x: Value) -> Iterator[Value]:
    """The symbols of single numbers in a value, or in lists of these; and a number of Python's that is no symbol."""
    if isinstance(x, list | tuple):
        for part in x:
            if isinstance(part, list | tuple | Symbol):
                yield from _numbers_in(part)
    elif type(x) in (int, float) or (
        isinstance(x, Symbol) and not isinstance(x.value, np.ndarray) and x.dtype.kind in "fiu"
    ):
        yield x
