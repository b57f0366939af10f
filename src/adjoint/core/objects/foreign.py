"""Subclasses of NumPy's arrays, and objects that answer NumPy's protocols: which of them compute as plain arrays do.

A class that only shows its memory differently (`numpy.memmap`, `numpy.recarray`, a user's class with one more name) is
treated as a plain array. A class with its own arithmetic (masks, matrices, units) gives ``a * t`` another meaning than
adjoint would. If it answers NumPy's protocols, it is asked first; otherwise it is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np

from adjoint.core.box import ELSEWHERE, TRACKED, Box, has_box
from adjoint.core.errors import NotSupportedError
from adjoint.core.leaks.notes import plain
from adjoint.core.messages.refusals import STUMBLED, numpys
from adjoint.core.types import Array, Function, Value

#: The types of most arguments, which need no further look.
PLAIN = frozenset((np.ndarray, np.float64, np.float32, float, int, complex, bool))

_TWO = ["add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift", "rshift"]
_TWO += ["and", "or", "xor"]
_ONE = ["lt", "le", "eq", "ne", "gt", "ge", "neg", "abs", "invert", "array_ufunc", "array_function"]
_ARITHMETIC = [f"__{name}__" for name in (*_TWO, *(f"r{name}" for name in _TWO), *_ONE)]

_INSTEAD = {
    "MaskedArray": "whose mask would be dropped. Compute with its numbers and choose by its mask: "
    "np.where(np.ma.getmaskarray(m), 0.0, t * m.data)",
    "matrix": "whose `*` and `**` are matrix products. Give it as an array, and write the matrix product as `@`: "
    "np.asarray(m) @ t",
}


class ForeignArrayError(NotSupportedError):
    """An array of the class `kind`, which has arithmetic of its own, met one of adjoint's."""

    def __init__(self, kind: type) -> None:
        known = next((base for base in kind.__mro__ if base.__module__.split(".")[0] == "numpy"), kind)
        instead = _INSTEAD.get(known.__name__, "which has arithmetic of its own. Give its numbers alone: np.asarray(a)")
        super().__init__(f"a tensor beside an array of the class {kind.__module__}.{kind.__qualname__}, {instead}")
        self.kind = kind

    def defers(self, protocol: str) -> bool:
        """Whether the class answers NumPy's `protocol`, so that it is asked in our place."""
        return _differs(self.kind, protocol)


def plain_array(x: Array) -> Value:
    """The argument `x` of an operation: one of NumPy's own arrays, if it is an array of a class that derives.

    A list of numbers becomes an array; one of boxes NumPy takes apart itself.

    Raises:
        ForeignArrayError: if that class has arithmetic of its own.
    """
    if type(x) is np.ndarray or isinstance(x, Box) or not isinstance(x, np.ndarray):
        other: Value = type(x)
        if not isinstance(x, np.ndarray | Box) and overrides(other):
            raise ForeignArrayError(other)
        return np.asarray(x) if (type(x) is list or type(x) is tuple) and not has_box(x) else x
    kind: Value = type(x)
    if kind in TRACKED:
        for note in cast(Value, x).notes:
            note.enter()
        return plain(x)
    if has_arithmetic(kind):
        raise ForeignArrayError(kind)
    return np.asarray(x)


def overrides(kind: type) -> bool:
    """Whether objects of `kind`, which are no arrays, answer NumPy's protocols themselves, by other rules than ours.

    Arrays of a library that is registered (`core/backend.py`) are computed with where they are.
    """
    return _answers(kind) and ELSEWHERE.keys().isdisjoint(kind.__mro__)


@lru_cache(maxsize=256)
def _answers(kind: type) -> bool:
    if (
        issubclass(kind, np.ndarray | np.generic | Box | float | int | complex)
        or kind.__module__.partition(".")[0] in _TAKEN
    ):
        return False
    return any(callable(getattr(kind, name, None)) for name in ("__array_ufunc__", "__array_function__"))


#: Packages whose arrays are taken as what they hold, or are computed with where they are.
_TAKEN = frozenset(
    {"adjoint", "pandas", "xarray", "dask", "cupy", "cupyx", "scipy", "sparse", "torch", "jax", "jaxlib"}
)


def asking(call: Function, *args: Value, protocol: str = "__array_ufunc__") -> Array:
    """``call(*args)``, as an answer to `protocol`: NotImplemented where a class is to be asked that answers it too."""
    try:
        return call(*args)
    except ForeignArrayError as error:
        if error.defers(protocol):
            return NotImplemented
        raise
    except STUMBLED as error:
        found = numpys(error, *_asked(call, args))
        if found is error:
            raise
        raise found from None


def _asked(call: Value, args: tuple[Value, ...]) -> tuple[Value, Value, Value]:
    """The function of NumPy's that `call` answers, and its arguments."""
    if hasattr(call, "answers"):  # an operator
        return (call.answers or (call,))[0], args, {}
    function, method = (args[0], "__call__") if len(args) == 3 else args[:2]
    return function if method == "__call__" else getattr(function, method), args[-2], args[-1]


@lru_cache(maxsize=256)
def has_arithmetic(kind: type) -> bool:
    """Whether arrays of the class `kind` compute by rules of their own."""
    return not getattr(kind, "computes_plainly", False) and any(_differs(kind, name) for name in _ARITHMETIC)


def _differs(kind: type, name: str) -> bool:
    return getattr(kind, name, None) is not getattr(np.ndarray, name, None)
