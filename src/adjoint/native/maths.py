"""Functions of real numbers in code without branches, which vectors take as well as single numbers.

The usual way: an argument is reduced to a short interval, a polynomial (see scripts/native_coefficients.py) gives the
function there, and exact steps lead back. Sums whose rounding would show are kept as two numbers, high and low. Errors
are at most 2 units in the last place; nan, infinities and signed zeros come out as NumPy gives them.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.native import circular, exponentials, logarithms
from adjoint.native.emit import Value

NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "erf", "erfc", "ndtr", "cbrt", "hypot", "logaddexp",
)  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Value]] = {
    name: next(getattr(room, name) for room in (exponentials, logarithms, circular) if hasattr(room, name))
    for name in NAMES
}
