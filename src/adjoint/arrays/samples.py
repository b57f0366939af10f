"""Python's numbers that differ between samples: whole numbers, and errors that Python would raise for some samples."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import BatchedValueError
from adjoint.core.protocol import detached
from adjoint.core.types import Array, DType

_DIVIDING = ("truediv", "floordiv", "mod")
_GROWING = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "pow": np.power}
_BITWISE = ("and_", "or_", "xor")
_SYMBOLS = {"truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "add": "+", "sub": "-", "mul": "*"}


def widened(name: str, args: tuple[Array, ...]) -> tuple[Array, ...]:
    """The numbers as an operator of Python's takes them: truth values as whole numbers, some of these as floats."""
    kinds = {np.result_type(x).kind if not hasattr(x, "dtype") else x.dtype.kind for x in args}
    if "b" in kinds and not (name in _BITWISE and kinds == {"b"}):
        args = tuple(_as(x, np.int64) if _kind(x) == "b" else x for x in args)
    if name != "pow" or "c" in kinds:
        return args
    base, exponent = args
    if "f" not in kinds:
        negative = np.any(raw(np.less(detached(exponent), 0)))
        return (_as(base, float), exponent) if negative else args
    if not hasattr(exponent, "dtype") and exponent == int(exponent):
        return args
    roots = np.less(detached(base), 0) & np.not_equal(detached(exponent), np.floor(detached(exponent)))
    if np.any(raw(roots)):
        _for_all("pow", roots, "gives a complex number")
        return base + 0j, exponent
    return args


def _kind(x: Array) -> str:
    return str(x.dtype.kind) if hasattr(x, "dtype") else np.result_type(x).kind


def _as(x: Array, dtype: DType) -> Array:
    return x.astype(dtype) if hasattr(x, "astype") else np.dtype(dtype).type(x).item()


def checked_samples(name: str, args: tuple[Array, ...], found: Array) -> None:
    """Raise what Python raises for all samples.

    Raises:
        BatchedValueError: if it raises for some, or a whole number has no place in 64 bits.
    """
    plain = tuple(map(detached, args))
    if name in _DIVIDING:
        _raises(name, np.equal(plain[1], 0), ZeroDivisionError("division by zero"))
    elif name == "pow":
        base, exponent = plain
        if hasattr(exponent, "dtype") or isinstance(exponent, complex) or exponent < 0:
            never = np.less(np.real(exponent), 0) | np.not_equal(np.imag(exponent), 0)
            _raises(name, np.equal(base, 0) & never, ZeroDivisionError("zero to a negative or complex power"))
        if _kind(found) == "f":
            finite = np.isfinite(base) & np.isfinite(exponent)
            _raises(name, np.isinf(detached(found)) & finite, OverflowError(34, "Numerical result out of range"))
    if name in _GROWING and _kind(found) in "iu":
        with np.errstate(all="ignore"):
            size = np.abs(_GROWING[name](*(_as(x, float) for x in plain)))
        if np.any(raw(size) >= 2.0**62):
            raise BatchedValueError(
                f"inside vmap, {_SYMBOLS[name]} of whole numbers gives one that is too long for the 64 bits that a "
                f"sample has; Python's have any length. Compute with floats, or call the function for one sample after "
                f"another"
            )


def _raises(name: str, where: Array, error: Exception) -> None:
    found = raw(where)
    if not np.any(found):
        return
    _for_all(name, where, f"raises {type(error).__name__}")
    raise error


def _for_all(name: str, where: Array, what: str) -> None:
    if not np.all(raw(where)):
        raise BatchedValueError(
            f"{_SYMBOLS[name]} of Python's numbers {what} for some of the samples of a vmap, and not for others. Use "
            f"NumPy's numbers (np.float64(x)), which give nan, an infinity or one kind of number, and choose: "
            f"np.where(condition, a, b)"
        )
