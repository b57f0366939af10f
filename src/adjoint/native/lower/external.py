"""Functions that are not written here: the C library's, and those that SciPy exports for Cython, called one by one.

SciPy's own universal functions are loops over these, so results are SciPy's, bit for bit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from adjoint.native.codegen.cpython import pointer_in
from adjoint.native.codegen.jit import external
from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue

_KINDS = {"double": "f8", "float": "f4", "long": "i8", "Py_ssize_t": "i8", "int": "i4"}
_SIGNATURE = re.compile(r"(double|float) \(((?:(?:double|float|long|Py_ssize_t|int), )+)int __pyx_skip_dispatch\)")
# Kelvin's functions, which SciPy computes in single precision too, but not for Cython.
_OWN_SINGLES = frozenset({"ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip"})


def from_c(code: Code, name: str, *values: IRValue) -> IRValue:
    """The C library's function, which has an f at the end of its name for single precision."""
    one = REGISTER[values[0].dtype]
    name += "f" if values[0].dtype == "f4" else ""
    code.declare(name, one, [one] * len(values))
    return code.each(lambda *xs: code.name(f"call {one} @{name}({', '.join(f'{one} {x}' for x in xs)})"), *values)


class Variant(NamedTuple):
    """One of SciPy's functions of one name: the dtypes of its arguments and of its result, and its symbol."""

    takes: tuple[str, ...]
    gives: str
    symbol: str


@cache
def _variants() -> dict[str, list[Variant]]:
    """SciPy's functions of real numbers by name."""
    from scipy.special import cython_special

    found: dict[str, list[Variant]] = {}
    for key, capsule in cython_special.__pyx_capi__.items():
        address, signature = pointer_in(capsule)
        shape = _SIGNATURE.fullmatch((signature or b"").decode())
        if shape:
            takes = tuple(_KINDS[word] for word in shape[2].split(", ")[:-1])
            symbol = external(f"scipy.{key}", address)
            name = re.sub(r"^__pyx_fuse(_\d)+", "", key)
            found.setdefault(name, []).append(Variant(takes, _KINDS[shape[1]], symbol))
    return found


def provide() -> None:
    """Tell LLVM where SciPy's functions begin."""
    _variants()


@cache
def from_scipy(ufunc: object, loop: tuple[str, ...]) -> Callable[..., IRValue] | None:
    """What `ufunc` computes for arguments of the dtypes `loop`; None if that is not known."""
    name = ufunc.__name__ if isinstance(ufunc, np.ufunc) else ""
    if getattr(sys.modules.get("scipy.special"), name, None) is not ufunc or ("f4" in loop and name in _OWN_SINGLES):
        return None
    known = {variant.takes: variant for variant in _variants().get(name, [])}
    # Where there is no function of its own for single precision, SciPy computes in double precision.
    variant = known.get(loop) or known.get(tuple("f8" if kind == "f4" else kind for kind in loop))
    if variant is None:
        return None
    takes, gives, symbol = variant
    kinds = [REGISTER[kind] for kind in takes]

    def function(code: Code, *values: IRValue) -> IRValue:
        code.declare(symbol[1:], REGISTER[gives], [*kinds, "i32"])

        def call(*xs: str) -> str:
            arguments = ", ".join(f"{kind} {x}" for kind, x in zip(kinds, xs, strict=True))
            return code.name(f"call {REGISTER[gives]} {symbol}({arguments}, i32 0)")

        return code.each(call, *(value.to(kind) for value, kind in zip(values, takes, strict=True)), dtype=gives)

    return function
