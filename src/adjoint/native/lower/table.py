"""What each elementwise operation is in code: a table from its name to a function of values.

The values have the dtypes that NumPy's own loop for these arguments has, so no function here converts anything.
Operations that are not in the table, because they are written in NumPy calls, are decomposed first (`plan.decompose`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.types import DType, Value
from adjoint.graph.node import Node
from adjoint.graph.python_numbers import is_number
from adjoint.native.codegen.llvm_text import Code, IRValue, key_of
from adjoint.native.lower import external, integers, maths
from adjoint.native.lower.logarithms import log1p_to_one, power_by_one_exponent
from adjoint.native.lower.reals import Lowering, exponents, ldexp

FLOATS, NUMBERS, BOOLS = ("f4", "f8"), ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"), ("b1",)
STORED = (*BOOLS, *NUMBERS, "f2", *FLOATS)


class LoweringEntry(NamedTuple):
    """A function of values, and the dtypes that it takes."""

    function: Lowering
    dtypes: tuple[str, ...]


TABLE: dict[str, LoweringEntry] = {}


def _lower(*names: str, dtypes: tuple[str, ...] = FLOATS) -> Callable[[Lowering], Lowering]:
    def keep(function: Lowering) -> Lowering:
        TABLE.update({name: LoweringEntry(function, dtypes) for name in names})
        return function

    return keep


def _intrinsic(name: str, word: str) -> None:
    TABLE[name] = LoweringEntry(lambda code, x: code.intrinsic(word, x), FLOATS)


def _compared(how: str) -> Lowering:
    """A comparison. Signed and unsigned numbers of 64 bits have no common dtype: any below 0 is the smaller one."""

    def compared(code: Code, x: IRValue, y: IRValue) -> IRValue:
        if x.dtype == y.dtype:
            return x.compare(how, y)
        left = x.dtype[0] == "i"
        below = (x if left else y) < 0
        found = x.to("u8").compare(how, y.to("u8"))
        return below | found if how in (("ne", "lt", "le") if left else ("ne", "gt", "ge")) else ~below & found

    return compared


TABLE |= {
    "add": LoweringEntry(lambda code, x, y: x | y if x.dtype == "b1" else x + y, STORED),
    "subtract": LoweringEntry(lambda code, x, y: x - y, NUMBERS + FLOATS),
    "multiply": LoweringEntry(lambda code, x, y: x & y if x.dtype == "b1" else x * y, STORED),
    "divide": LoweringEntry(lambda code, x, y: x / y, FLOATS),
    "negative": LoweringEntry(lambda code, x: -x, NUMBERS + FLOATS),
    "positive": LoweringEntry(lambda code, x: x, NUMBERS + FLOATS),
    "conj": LoweringEntry(lambda code, x: x, NUMBERS + FLOATS),
    "square": LoweringEntry(lambda code, x: x * x, NUMBERS + FLOATS),
    "reciprocal": LoweringEntry(lambda code, x: 1.0 / x, FLOATS),
    "deg2rad": LoweringEntry(lambda code, x: x * (np.pi / 180), FLOATS),
    "radians": LoweringEntry(lambda code, x: x * (np.pi / 180), FLOATS),
    "rad2deg": LoweringEntry(lambda code, x: x * (180 / np.pi), FLOATS),
    "degrees": LoweringEntry(lambda code, x: x * (180 / np.pi), FLOATS),
    "equal": LoweringEntry(_compared("eq"), STORED),
    "not_equal": LoweringEntry(_compared("ne"), STORED),
    "less": LoweringEntry(_compared("lt"), NUMBERS + FLOATS),
    "less_equal": LoweringEntry(_compared("le"), NUMBERS + FLOATS),
    "greater": LoweringEntry(_compared("gt"), NUMBERS + FLOATS),
    "greater_equal": LoweringEntry(_compared("ge"), NUMBERS + FLOATS),
    "logical_and": LoweringEntry(lambda code, x, y: x.to("b1") & y.to("b1"), STORED),
    "logical_or": LoweringEntry(lambda code, x, y: x.to("b1") | y.to("b1"), STORED),
    "logical_xor": LoweringEntry(lambda code, x, y: x.to("b1") ^ y.to("b1"), STORED),
    "logical_not": LoweringEntry(lambda code, x: ~x.to("b1"), STORED),
    "bitwise_and": LoweringEntry(lambda code, x, y: x & y, BOOLS + NUMBERS),
    "bitwise_or": LoweringEntry(lambda code, x, y: x | y, BOOLS + NUMBERS),
    "bitwise_xor": LoweringEntry(lambda code, x, y: x ^ y, BOOLS + NUMBERS),
    "invert": LoweringEntry(lambda code, x: ~x, BOOLS + NUMBERS),
    "floor_divide": LoweringEntry(integers.floor_divide, NUMBERS + FLOATS),
    "remainder": LoweringEntry(integers.remainder, NUMBERS + FLOATS),
    "fmod": LoweringEntry(integers.fmod, NUMBERS + FLOATS),
    "left_shift": LoweringEntry(integers.left_shift, NUMBERS),
    "right_shift": LoweringEntry(integers.right_shift, NUMBERS),
    "isnan": LoweringEntry(lambda code, x: x.is_nan(), FLOATS),
    "isinf": LoweringEntry(lambda code, x: code.intrinsic("fabs", x).compare("eq", np.inf), FLOATS),
    "isfinite": LoweringEntry(lambda code, x: code.intrinsic("fabs", x) < np.inf, FLOATS),
    "signbit": LoweringEntry(lambda code, x: x.bits() < 0, FLOATS),
    "exponents": LoweringEntry(exponents, FLOATS),
    "ldexp": LoweringEntry(ldexp, NUMBERS + FLOATS),
    "copysign": LoweringEntry(lambda code, x, y: code.intrinsic("copysign", x, y), FLOATS),
}
for _name, _word in [("sqrt", "sqrt"), ("fabs", "fabs"), ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"),
                     ("rint", "roundeven")]:  # fmt: skip
    _intrinsic(_name, _word)


@_lower("absolute", dtypes=STORED)
def _absolute(code: Code, x: IRValue) -> IRValue:
    if x.dtype[0] == "f":
        return code.intrinsic("fabs", x)
    return code.select(x < 0, -x, x) if x.dtype[0] == "i" else x


@_lower("sign", dtypes=NUMBERS + FLOATS)
def _sign(code: Code, x: IRValue) -> IRValue:
    one, none = code.constant(1, x.dtype), code.constant(0, x.dtype)
    below = code.select(x < 0, code.constant(-1, x.dtype), none) if x.dtype[0] != "u" else none
    signed = code.select(x > 0, one, below)
    return code.select(x.is_nan(), x, signed) if x.dtype[0] == "f" else signed


@_lower("maximum", dtypes=STORED)
def maximum(code: Code, x: IRValue, y: IRValue) -> IRValue:
    """The larger; nan, if one is. Of 0.0 and -0.0 the second, as NumPy gives."""
    if x.dtype == "b1":
        return x | y
    extreme = code.select(x > y, x, y)  # one instruction, which gives y beside nan
    return code.select(x.is_nan(), x, extreme) if x.dtype[0] == "f" else extreme


@_lower("minimum", dtypes=STORED)
def minimum(code: Code, x: IRValue, y: IRValue) -> IRValue:
    """The smaller; nan, if one is. Of 0.0 and -0.0 the second, as NumPy gives."""
    if x.dtype == "b1":
        return x & y
    extreme = code.select(x < y, x, y)  # one instruction, which gives y beside nan
    return code.select(x.is_nan(), x, extreme) if x.dtype[0] == "f" else extreme


@_lower("fmax", dtypes=STORED)
def _fmax(code: Code, x: IRValue, y: IRValue) -> IRValue:
    return code.select((x >= y) | y.is_nan(), x, y) if x.dtype[0] == "f" else maximum(code, x, y)


@_lower("fmin", dtypes=STORED)
def _fmin(code: Code, x: IRValue, y: IRValue) -> IRValue:
    return code.select((x <= y) | y.is_nan(), x, y) if x.dtype[0] == "f" else minimum(code, x, y)


def _first(extreme: Lowering) -> Lowering:
    """In half precision NumPy gives the first of 0.0 and -0.0."""
    return lambda code, x, y: code.select(x.compare("eq", y), x, extreme(code, x, y))


HALF = {"maximum": _first(maximum), "minimum": _first(minimum)}


@_lower("heaviside")
def _heaviside(code: Code, x: IRValue, y: IRValue) -> IRValue:
    step = code.select(x < 0, code.constant(0, x.dtype), code.select(x > 0, code.constant(1, x.dtype), y))
    return code.select(x.is_nan(), x, step)


@_lower("sigmoid")
def _sigmoid(code: Code, x: IRValue) -> IRValue:
    e = maths.FUNCTIONS["exp"](code, -code.intrinsic("fabs", x))  # exp(min(x, 0)) is this or 1
    return code.select(x < 0, e, code.select(x.is_nan(), x, 1.0)) / (1.0 + e)


@_lower("gate", dtypes=NUMBERS + FLOATS)
def _gate(code: Code, x: IRValue, y: IRValue) -> IRValue:
    return code.select(y > 0, x, 0)


@_lower("xlogy")
def _xlogy(code: Code, x: IRValue, y: IRValue) -> IRValue:
    found = x * maths.FUNCTIONS["log"](code, y)
    return code.select(x.compare("eq", 0) & ~y.is_nan(), 0.0, found)


@_lower("xlog1py")
def _xlog1py(code: Code, x: IRValue, y: IRValue) -> IRValue:
    found = x * maths.FUNCTIONS["log1p"](code, y)
    return code.select(x.compare("eq", 0) & ~y.is_nan(), 0.0, found)


@_lower("entr")
def _entr(code: Code, x: IRValue) -> IRValue:
    found = -x * maths.FUNCTIONS["log"](code, x)
    return code.select(x > 0, found, code.select(x.is_nan(), x, code.select(x < 0, -np.inf, code.constant(0, x.dtype))))


@_lower("log_expit")
def _log_expit(code: Code, x: IRValue) -> IRValue:
    far = log1p_to_one(code, maths.FUNCTIONS["exp"](code, -code.intrinsic("fabs", x)))
    return code.select(x < 0, x - far, -far)


@_lower("logaddexp2")
def _logaddexp2(code: Code, x: IRValue, y: IRValue) -> IRValue:
    apart = x - y
    share = log1p_to_one(code, maths.FUNCTIONS["exp2"](code, -code.intrinsic("fabs", apart)))
    found = code.select(apart > 0, x, y) + share * math.log2(math.e)
    return code.select(x.compare("eq", y), x + 1.0, code.select(apart.is_nan(), apart, found))


TABLE |= {name: LoweringEntry(function, FLOATS) for name, function in maths.FUNCTIONS.items()}
TABLE |= {"expit": TABLE["sigmoid"], "float_power": LoweringEntry(maths.FUNCTIONS["power"], ("f8",))}


COMPOSED = ("sigmoid", "expit", "log_expit", "xlogy", "xlog1py", "entr", "float_power",
            "logaddexp2")  # fmt: skip  # of those in `maths`


class Lowered(NamedTuple):
    """How a node is computed: its arguments' dtypes, and the function of them, or why there is none."""

    loop: tuple[str, ...]
    function: Lowering | None
    reason: str = ""
    plain: bool = True  # none of `maths`, whose every rounding counts


def applied(found: Lowered, dtype: str, fastmath: bool) -> Callable[..., IRValue]:
    """The function of values that writes a lowering, with conversions to the dtypes of its loop and to `dtype`."""

    def function(code: Code, *values: IRValue) -> IRValue:
        assert found.function is not None
        given = [value.to(kind) for value, kind in zip(values, found.loop, strict=True)]
        code.contracts = fastmath and found.plain
        value = found.function(code, *given).to(dtype)
        code.contracts = False
        return value

    return function


def lowered(node: Node) -> Lowered:
    """The lowering of an elementwise node. One that has none says why."""
    assert node.op is not None
    exponent = None  # or what a number is divided by
    if node.op.name in ("power", "fmod") and node.args[1].kind == "constant" and not np.ndim(node.args[1].value):
        exponent = float(np.real(node.args[1].value))
    found = _lowered(
        node.op, tuple(map(_weak, node.args)), tuple(key_of(a.dtype) for a in node.args), node.dtype, exponent
    )
    one = exponent is None and node.op.name == "power" and node.shape and not node.args[1].shape
    return _with_roots(found) if one and found.function and found.loop[0] in ("f4", "f8") else found


@lru_cache(64)
def _with_roots(found: Lowered) -> Lowered:
    """Powers by one exponent of all elements, which may be 1/2."""
    power: Value = found.function
    return found._replace(function=lambda code, x, y: power_by_one_exponent(code, power(code, x, y), x, y))


def name_of(node: Node) -> str:
    """What the operation is called that a node computes: a second power is a square."""
    assert node.op is not None
    squares = node.op.name == "power" and is_number(node.args[1]) and node.args[1].value == 2
    return "square" if squares else node.op.name


_PYTHONS: dict[str, type] = {"f": float, "i": int, "c": complex}


def _weak(arg: Node) -> DType:
    """A Python number's type, which NumPy promotes less than a dtype."""
    return _PYTHONS.get(arg.dtype.kind, arg.dtype) if is_number(arg) else arg.dtype


@lru_cache(4096)
def _lowered(op: Op, given: tuple[DType, ...], keys: tuple[str, ...], out: DType, exponent: float | None) -> Lowered:
    """That of `op` for arguments of the dtypes `keys`; `given` has a type instead for Python's numbers."""
    kind = key_of(out)
    if op.name == "choose_either":
        return _fitting(keys, kind, ("b1", kind, kind), lambda code, c, x, y: code.select(c, x, y), STORED)
    if op.name in ("astype", "as_python", "as_numpy"):
        return _fitting(keys, kind, keys, lambda code, x: x.to(kind), STORED)
    entry = TABLE.get(op.name)
    if entry is None:
        return _of_scipy(op, given, keys, out)
    if op.name == "exponents":  # no ufunc, and its result is a whole number
        return _fitting(keys, kind, keys, entry.function, entry.dtypes)
    if op.name == "fmod":
        if exponent == 1 and kind in FLOATS:
            return _fitting(keys, kind, (kind, kind), integers.fraction, FLOATS)
    elif exponent in _POWERS and kind[0] == "f":
        return _fitting(keys, kind, (kind, kind), _POWERS[exponent], FLOATS)
    if op.name == "power" and kind in NUMBERS:
        return _whole_power(keys, kind, exponent)
    loop = _loop(op, given, out)
    if loop is None:
        return Lowered((), None, "no loop of NumPy's")
    function = HALF.get(op.name, entry.function) if kind == "f2" else entry.function
    found = _fitting(keys, kind, loop, function, entry.dtypes)
    return found._replace(plain=op.name not in (*maths.NAMES, *COMPOSED))


def _fitting(
    given: tuple[str, ...], out: str, loop: tuple[str, ...], function: Lowering, dtypes: tuple[str, ...]
) -> Lowered:
    wide = tuple("f4" if k == "f2" else k for k in loop)  # as NumPy computes
    bad = [k for k in (*wide, out, *given) if k not in STORED] + [k for k in wide if k not in dtypes]
    if bad:
        return Lowered((), None, f"dtype {np.dtype(bad[0])}")
    if all(k != "f2" or key in _HALVES for key, k in zip(given, loop, strict=False)):
        return Lowered(wide, function)
    return Lowered(loop, lambda code, *args: function(code, *(x.to("f4") if x.dtype == "f2" else x for x in args)))


# Numbers that are numbers of half precision too. Others, Python's, are rounded to these before NumPy computes.
_HALVES = frozenset(("f2", "b1", "i1", "u1"))


def _of_scipy(op: Op, given: tuple[DType, ...], keys: tuple[str, ...], out: DType) -> Lowered:
    loop = _loop(op, given, out) if isinstance(op.forward, np.ufunc) else None
    function = loop and external.from_scipy(op.forward, loop)
    if not loop or not function:
        return Lowered((), None, "no lowering")
    return _fitting(keys, key_of(out), loop, function, NUMBERS + FLOATS)._replace(plain=False)


def _whole_power(keys: tuple[str, ...], kind: str, exponent: float | None) -> Lowered:
    """A power of whole numbers; NumPy refuses negative exponents, which are known only if they are constant."""
    if exponent is None or exponent < 0:
        return Lowered((), None, "an exponent that could be negative")
    whole = int(exponent)
    return _fitting(keys, kind, (kind, kind), _wholes(whole), NUMBERS)


@cache
def _wholes(exponent: int) -> Lowering:
    return lambda code, x, _: integers.whole_power(code, x, exponent)


def _loop(op: Op, given: tuple[DType, ...], out: DType) -> tuple[str, ...] | None:
    """The dtypes in which NumPy computes this."""
    if not isinstance(op.forward, np.ufunc):
        return (key_of(out),) * len(given)
    if all(x is int for x in given):  # of Python's numbers, NumPy would compare objects
        given = (np.dtype(np.int64),) * len(given)
    try:
        loop = op.forward.resolve_dtypes((*given, None))
    except TypeError:
        return None
    return tuple(map(key_of, loop[:-1])) if loop[-1] == out else None


# By dtype, for numbers whose power or its inverse might leave the format: below and above which, and factors for these.
_FAR = {"f4": ((2.0**-60, 2.0**60), (2.0**60, 2.0**-80)), "f8": ((2.0**-500, 2.0**500), (2.0**500, 2.0**-600))}


def _rooted(wholes: int) -> Lowering:
    """x ** (wholes + 1/2) for -2 to 2 of them, by the root."""

    def function(code: Code, x: IRValue, _: IRValue) -> IRValue:
        a, end = code.intrinsic("fabs", x), code.constant(math.inf if wholes >= 0 else 0.0, x.dtype)
        root = code.intrinsic("sqrt", x) + 0.0  # of -0.0 it would be -0.0
        if wholes == 1:
            found = a * root
        elif wholes == 2:
            found = a * a * root
        elif wholes == -1:
            found = 1.0 / root
        else:
            (low, high), (up, down) = _FAR[x.dtype]
            one = code.constant(1.0, x.dtype)
            scale = code.select(a < low, up, code.select(a > high, down, one))
            found = 1.0 / (a * scale * root) * scale
        return code.select(x.compare("eq", -math.inf), end, found)

    return function


_POWERS: dict[float | None, Lowering] = {
    1.5: _rooted(1),
    2.5: _rooted(2),
    -0.5: _rooted(-1),
    -1.5: _rooted(-2),
    1.0: lambda code, x, _: x,
    2.0: lambda code, x, _: x * x,
    3.0: lambda code, x, _: x * x * x,
    4.0: lambda code, x, _: (x * x) * (x * x),
    -1.0: lambda code, x, _: 1.0 / x,
    -2.0: lambda code, x, _: 1.0 / (x * x),
    0.5: lambda code, x, _: code.intrinsic("sqrt", x),  # as NumPy does for this exponent: nan for -inf
}
