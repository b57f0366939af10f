"""What complex operations are in real numbers: NumPy's own formulas, each of which its loops follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple, TypeAlias

import numpy as np

from adjoint.core.registry import op_named
from adjoint.core.types import DType, Settings
from adjoint.graph.node import Node, call, constant

BOOL = np.dtype(bool)
_QUESTIONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf",
                        "isfinite", "logical_and", "logical_or", "logical_not"))  # fmt: skip


class Real:
    """A real value of a program, or a condition. Arithmetic on it makes nodes; numbers beside it take its `dtype`."""

    __slots__ = ("dtype", "node", "place")

    def __init__(self, node: Node, dtype: DType, place: tuple[CodeType, int] | None) -> None:
        self.node, self.dtype, self.place = node, dtype, place

    def made(self, name: str, *others: RealTerm) -> Real:
        """An elementwise operation on this one and others."""
        nodes = (self.node, *(self.like(x) for x in others))
        op = op_named(name)
        if all(node.kind == "constant" and not node.shape for node in nodes):
            with np.errstate(all="ignore"):
                return self.beside(constant(op.forward(*(node.value for node in nodes))))
        shape = np.broadcast_shapes(*(node.shape for node in nodes))
        dtype = BOOL if name in _QUESTIONS else self.dtype
        return self.beside(call(op, nodes, op.settings, shape, dtype, lambda: self.place))

    def beside(self, node: Node) -> Real:
        """A node of the same place, whose numbers take the same dtype."""
        return Real(node, self.dtype, self.place)

    def like(self, x: RealTerm) -> Node:
        """`x` as a node, a number with this one's dtype."""
        return x.node if isinstance(x, Real) else constant(self.dtype.type(x))

    def __add__(self, other: RealTerm) -> Real:
        return self.made("add", other)

    def __sub__(self, other: RealTerm) -> Real:
        return self.made("subtract", other)

    def __mul__(self, other: RealTerm) -> Real:
        return self.made("multiply", other)

    def __truediv__(self, other: RealTerm) -> Real:
        return self.made("divide", other)

    def __rtruediv__(self, other: float) -> Real:
        return self.beside(self.like(other)) / self

    def __neg__(self) -> Real:
        return self.made("negative")

    def __and__(self, other: Real) -> Real:
        return self.made("logical_and", other)

    def __or__(self, other: Real) -> Real:
        return self.made("logical_or", other)

    def __invert__(self) -> Real:
        return self.made("logical_not")

    def where(self, yes: RealTerm, no: RealTerm) -> Real:
        """One or the other, by this condition."""
        nodes = (self.node, self.like(yes), self.like(no))
        shape = np.broadcast_shapes(*(node.shape for node in nodes))
        return self.beside(call(op_named("choose_either"), nodes, {}, shape, self.dtype, lambda: self.place))


RealTerm: TypeAlias = Real | float


class ComplexPair(NamedTuple):
    """A complex number: its real and its imaginary part."""

    re: Real
    im: Real


PairRule: TypeAlias = "Callable[..., ComplexPair | Real | None]"


def multiply(x: ComplexPair, y: ComplexPair) -> ComplexPair:
    """The product of two complex numbers."""
    return ComplexPair(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def _divide(x: ComplexPair, y: ComplexPair) -> ComplexPair:
    """By Smith's method: the larger part of the divisor is divided by."""
    re, im = y.re.made("absolute"), y.im.made("absolute")
    flat = re.made("greater_equal", im)
    more, less = flat.where(y.re, y.im), flat.where(y.im, y.re)
    ratio = less / more
    scale = 1.0 / (more + less * ratio)
    top = flat.where(x.re + x.im * ratio, x.re * ratio + x.im) * scale
    side = flat.where(x.im - x.re * ratio, x.im * ratio - x.re) * scale
    none = re.made("equal", 0.0) & im.made("equal", 0.0)
    return ComplexPair(none.where(x.re / re, top), none.where(x.im / re, side))


def _reciprocal(x: ComplexPair) -> ComplexPair:
    flat = x.re.made("absolute").made("greater_equal", x.im.made("absolute"))
    more, less = flat.where(x.re, x.im), flat.where(x.im, x.re)
    ratio = less / more
    total = flat.where(x.re + x.im * ratio, x.re * ratio + x.im)
    return ComplexPair(flat.where(1.0 / total, ratio / total), flat.where(-ratio / total, -1.0 / total))


def _square(x: ComplexPair) -> ComplexPair:
    return ComplexPair(x.re * x.re - x.im * x.im, x.re * x.im + x.im * x.re)


def _absolute(x: ComplexPair) -> Real:
    return x.re.made("hypot", x.im)


def _sign(x: ComplexPair) -> ComplexPair:
    """x / abs(x), as NumPy takes it at infinity and at zero."""
    size = _absolute(x)
    far = size.made("isinf")
    endless = x.re.made("isinf"), x.im.made("isinf")
    both = endless[0] & endless[1]
    none = size.made("equal", 0.0)

    def part(mine: Real, end: Real) -> Real:
        near = none.where(0.0, mine / size)
        return far.where(both.where(math.nan, end.where(mine.made("sign"), 0.0)), near)

    nan = size.made("isnan")
    return ComplexPair(*(nan.where(math.nan, part(mine, end)) for mine, end in zip(x, endless, strict=True)))


def _exp(x: ComplexPair) -> ComplexPair:
    """exp(re) (cos(im) + i sin(im)). Beyond the largest power the factor is taken in two."""
    most = 709.0 if x.re.dtype.itemsize == 8 else 88.0
    far = x.re.made("greater", most)
    power = far.where(x.re - most, x.re).made("exp")
    scale = far.where(math.exp(most), 1.0)
    endless, odd = x.re.made("isinf"), ~x.im.made("isfinite")
    low = endless & x.re.made("less", 0.0)
    cos = (odd & endless).where(1.0, x.im.made("cos"))
    sin = (odd & low).where(x.im.beside(x.im.like(0.0)).made("copysign", x.im), x.im.made("sin"))
    return ComplexPair(power * (cos * scale), x.im.made("equal", 0.0).where(x.im, power * (sin * scale)))


def _power(x: ComplexPair, y: ComplexPair) -> ComplexPair | None:
    """A power with a whole number that is known, as NumPy takes it: by squares; None for others."""
    if y.re.node.kind != "constant" or y.re.node.shape or y.im.node.kind != "constant" or y.im.node.shape:
        return None
    exponent, turn = float(y.re.node.value), float(y.im.node.value)
    if turn or exponent != int(exponent) or not 1 <= exponent < 100:
        return None
    n = int(exponent)
    if n < 3:
        return x if n == 1 else _square(x)
    found, factor = ComplexPair(*(x.re.beside(x.re.like(one)) for one in (1.0, 0.0))), x
    if n == 3:
        found = multiply(x, multiply(x, x))
    else:
        while n:
            found = multiply(found, factor) if n & 1 else found
            n >>= 1
            factor = multiply(factor, factor) if n else factor
    none = x.re.made("equal", 0.0) & x.im.made("equal", 0.0)
    return ComplexPair(none.where(0.0, found.re), none.where(0.0, found.im))


def _each(name: str) -> PairRule:
    return lambda *xs: ComplexPair(
        xs[0].re.made(name, *(x.re for x in xs[1:])), xs[0].im.made(name, *(x.im for x in xs[1:]))
    )


def _either(name: str) -> PairRule:
    return lambda x: x.re.made(name) | x.im.made(name)


def _compared(first: str, then: str) -> Callable[[ComplexPair, ComplexPair], Real]:
    """Pairs are compared by their real parts, `first`, and where these are equal by the imaginary ones, `then`."""

    def compared(x: ComplexPair, y: ComplexPair) -> Real:
        there = ~(x.im.made("isnan") | y.im.made("isnan"))
        return (x.re.made(first, y.re) & there) | (x.re.made("equal", y.re) & x.im.made(then, y.im))

    return compared


def _extreme(first: str, then: str, nan_stays: bool) -> PairRule:
    """One of two pairs; nan, if one is and `nan_stays`, else the other."""
    compared = _compared(first, then)

    def extreme(x: ComplexPair, y: ComplexPair) -> ComplexPair:
        of_nan = x if nan_stays else y
        mine = compared(x, y) | of_nan.re.made("isnan") | of_nan.im.made("isnan")
        return ComplexPair(mine.where(x.re, y.re), mine.where(x.im, y.im))

    return extreme


def is_true(x: ComplexPair) -> Real:
    """Whether a complex number is not zero."""
    return x.re.made("not_equal", 0.0) | x.im.made("not_equal", 0.0)


# By operation: its value, of the pairs of its arguments.
RULES: dict[str, PairRule] = {
    "add": _each("add"),
    "subtract": _each("subtract"),
    "negative": _each("negative"),
    "positive": lambda x: x,
    "as_python": lambda x: x,
    "as_numpy": lambda x: x,
    "copy": lambda x: x,
    "multiply": multiply,
    "divide": _divide,
    "reciprocal": _reciprocal,
    "square": _square,
    "power": _power,
    "conj": lambda x: ComplexPair(x.re, -x.im),
    "absolute": _absolute,
    "sign": _sign,
    "exp": _exp,
    "real": lambda x: x.re,
    "imag": lambda x: x.im,
    "equal": lambda x, y: x.re.made("equal", y.re) & x.im.made("equal", y.im),
    "not_equal": lambda x, y: x.re.made("not_equal", y.re) | x.im.made("not_equal", y.im),
    "greater": _compared("greater", "greater"),
    "greater_equal": _compared("greater", "greater_equal"),
    "less": _compared("less", "less"),
    "less_equal": _compared("less", "less_equal"),
    "maximum": _extreme("greater", "greater_equal", nan_stays=True),
    "minimum": _extreme("less", "less_equal", nan_stays=True),
    "fmax": _extreme("greater", "greater_equal", nan_stays=False),
    "fmin": _extreme("less", "less_equal", nan_stays=False),
    "isnan": _either("isnan"),
    "isinf": _either("isinf"),
    "isfinite": lambda x: x.re.made("isfinite") & x.im.made("isfinite"),
    "logical_not": lambda x: ~is_true(x),
    "logical_and": lambda x, y: is_true(x) & is_true(y),
    "logical_or": lambda x, y: is_true(x) | is_true(y),
}


def weights(settings: Settings, shape: tuple[int, ...]) -> tuple[np.ndarray, float]:
    """For `weighted_half`: which places of a half spectrum get the factor, and the factor."""
    axis, n = settings["axis"] % len(shape), settings["n"]
    chosen = np.ones(shape[axis], bool)
    chosen[[0, n // 2] if n % 2 == 0 else [0]] = False
    return chosen.reshape([-1 if a == axis else 1 for a in range(len(shape))]), float(settings["factor"])
