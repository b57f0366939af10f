"""Functions of real numbers in code without branches, for vectors as well as single numbers.

The usual method: the argument is reduced to a short interval, a polynomial (see scripts/native_coefficients.py) gives
the function there, and exact steps lead back. Sums whose rounding would show are kept as two numbers, high and low.
Errors are at most 2 units in the last place; nan, infinities and signed zeros are NumPy's.

Kernels call vector functions that are compiled once a process, or found on disk, so they are ready in half the
time. For large arrays, or for one number alone, the code is part of the kernel, which runs faster then. A long one is
part of it once: the step of an optimizer has two powers for each parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from adjoint.native.codegen.jit import shared
from adjoint.native.codegen.llvm_text import Code, IRValue
from adjoint.native.lower import circular, exponentials, logarithms

NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "erf", "erfc", "ndtr", "cbrt", "hypot", "logaddexp",
    "arcsinh", "arccosh", "arctanh",
)  # fmt: skip
VECTOR = 64  # bytes; functions of shorter ones are not compiled alone
LONG = frozenset({"power"})  # these are, where a kernel has them again
_WRITTEN: dict[str, Callable[..., IRValue]] = {
    name: next(getattr(room, name) for room in (exponentials, logarithms, circular) if hasattr(room, name))
    for name in NAMES
}


@cache
def _compiled(name: str, count: int, dtype: str, width: int) -> str:
    """What code calls the function of `count` vectors."""
    own = f"{name}.{dtype}.{width}"

    def text() -> str:
        code = Code(width)
        kind = code.type_of(dtype)
        result = _WRITTEN[name](code, *(IRValue(code, f"%x{i}", dtype) for i in range(count)))
        taken = ", ".join(f"{kind} %x{i}" for i in range(count))
        body = "\n".join([*code.lines, f"  ret {kind} {result.name}"])
        return "\n".join([*code.declared.values(), f'define {kind} @"{own}"({taken}) nounwind {{\n{body}\n}}\n'])

    return shared(own, text)


def _called(name: str) -> Callable[..., IRValue]:
    def function(code: Code, *xs: IRValue) -> IRValue:
        if code.inlines or (code.width * int(xs[0].dtype[1]) < VECTOR and name not in code.written_out):
            if name in LONG:
                code.written_out.add(name)
            return _WRITTEN[name](code, *xs)
        symbol = _compiled(name, len(xs), xs[0].dtype, code.width)
        code.declare(symbol[1:], xs[0].type, [x.type for x in xs])
        return code.put(f"call {xs[0].type} {symbol}({', '.join(f'{x.type} {x.name}' for x in xs)})", xs[0].dtype)

    return function


FUNCTIONS: dict[str, Callable[..., IRValue]] = {name: _called(name) for name in NAMES}
