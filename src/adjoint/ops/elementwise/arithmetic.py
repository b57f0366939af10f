"""Sums, products, powers, remainders, and the pieces of a number."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.constants import constant, not_differentiable
from adjoint.core.constructors import composite, elementwise
from adjoint.core.op import call
from adjoint.core.types import Array

add = elementwise(np.add, partials=(1, 1), flags=("commutative", "finite"))
subtract = elementwise(np.subtract, partials=(1, -1), flags=("finite",))
negative = elementwise(np.negative, partial=-1, flags=("finite",))
positive = elementwise(np.positive, partial=1, flags=("finite",))
multiply = elementwise(np.multiply, partials=(lambda y: y, lambda x: x), flags=("commutative", "finite"))


def _inverse(y: Array) -> Array:
    """1 / y, and an infinity of its sign for a Python 0, which Python itself refuses to divide by."""
    return math.copysign(math.inf, y) if isinstance(y, int | float) and y == 0 else 1 / y


divide = elementwise(np.divide, partials=(_inverse, lambda x, y: -(x / y) / y), domain=((-2, 2), (0.5, 2)))
reciprocal = elementwise(np.reciprocal, partial=lambda out: -out * out, domain=(0.5, 2))
square = elementwise(np.square, partial=lambda x: 2 * x, flags=("finite",))
sqrt = elementwise(np.sqrt, partial=lambda out: 0.5 / out, domain=(0.3, 3))
cbrt = elementwise(np.cbrt, partial=lambda out: 1 / (3 * np.square(out)), domain=(0.3, 3))


def by_base(x: Array, y: Array) -> Array:
    """y x**(y-1), and exactly 0 where y is 0."""
    if isinstance(y, int | float | np.integer):
        if y == 2:  # by far the most frequent power, and x**1 is one operation more
            return y * x
        return np.zeros_like(x) if y == 0 else y * x ** (y - 1)
    return np.where(y == 0, 0.0, y * x ** np.where(y == 0, 1.0, y - 1))


def by_exponent(x: Array, y: Array, out: Array) -> Array:
    """x**y log(x), with its limit 0 where x is 0 and y is not negative."""
    if isinstance(x, int | float | complex):
        if np.real(x) > 0:
            return out * (complex(np.log(x)) if isinstance(x, complex) else math.log(x))
        x = np.full_like(out, x)  # so that the logarithm has the result's dtype
    flat = np.equal(x, 0) & np.greater_equal(np.real(y), 0)
    base = np.where(flat, 1.0, x)
    if out.dtype.kind == "c":  # a negative base has a complex logarithm
        base = base.astype(out.dtype)
    return np.where(flat, 0.0, out * np.log(base))


power = elementwise(np.power, partials=(by_base, by_exponent), domain=((0.3, 2), (-2, 2)))
float_power = elementwise(np.float_power, partials=(by_base, by_exponent), domain=((0.3, 2), (-2, 2)))

absolute = elementwise(np.absolute, vjp=lambda g, x: g * np.sign(x), domain=(0.2, 2), flags=("idempotent", "finite"))
fabs = elementwise(np.fabs, partial=lambda x: np.sign(x), domain=(-2, -0.2), flags=("idempotent",))
hypot = elementwise(
    np.hypot,
    partials=(
        lambda x, out: x / np.where(np.equal(out, 0), 1.0, out),
        lambda y, out: y / np.where(np.equal(out, 0), 1.0, out),
    ),
    domain=(0.3, 2),
)
remainder = elementwise(
    np.remainder, partials=(1, lambda x, y: -np.floor_divide(x, y)), domain=((1.5, 1.9), (1.1, 1.4))
)
fmod = elementwise(np.fmod, partials=(1, lambda x, y: -np.trunc(x / y)), domain=((2.1, 2.4), (1.1, 1.9)))
copysign = elementwise(
    np.copysign, partials=(lambda x, y: np.sign(x) * np.copysign(1.0, y).astype(x.dtype), 0), domain=((-2, 2), (-2, 2))
)
nextafter = elementwise(np.nextafter, partials=(1, 0), domain=((1.1, 1.9), (2.1, 3)))  # its step has a fixed size
spacing = not_differentiable(np.spacing, "it measures the floating-point grid, not a function of its argument")
ldexp = elementwise(
    np.ldexp,
    partials=(lambda g, y: np.ldexp(g, y), None),
    samples=lambda r: [call(r(3, 4), 2), call(r(3), np.array([1, -2, 0]))],
)
heaviside = elementwise(
    np.heaviside,
    partials=(0, lambda g, x: np.where(np.equal(x, 0), g, 0.0)),
    domain=((-1, 1), (0, 1)),
    flags=("selects", "finite"),
)

# Steps: flat wherever they have a derivative.


def _turn(g: Array, x: Array, out: Array) -> Array:
    """Real signs are flat; a complex one, x / |x|, turns as x moves across it."""
    if x.dtype.kind != "c":
        return np.zeros_like(g)
    across = g - out * np.real(np.conj(out) * g)
    zero = np.equal(x, 0)  # where the sign jumps in every direction
    return np.where(zero, 0.0, across) / np.where(zero, 1.0, np.abs(x))


def _between_steps(r: Array) -> list[Array]:
    """Numbers on several steps, away from where they jump."""
    return [call(np.round(r(3, 4, low=-3, high=3)) + r(3, 4, low=0.1, high=0.4)), call(r(low=1.1, high=1.4))]


sign = elementwise(np.sign, vjp=_turn, samples=_between_steps, flags=("idempotent", "selects"))
floor = elementwise(np.floor, partial=0, samples=_between_steps, flags=("idempotent", "finite"))
ceil = elementwise(np.ceil, partial=0, samples=_between_steps, flags=("idempotent", "finite"))
trunc = elementwise(np.trunc, partial=0, samples=_between_steps, flags=("idempotent", "finite"))
rint = elementwise(np.rint, partial=0, samples=_between_steps, flags=("idempotent", "finite"))
floor_divide = elementwise(np.floor_divide, partials=(0, 0), domain=((-2.3, 2.3), (1.1, 1.9)), flags=("finite",))

deg2rad = elementwise(np.deg2rad, partial=math.pi / 180, flags=("finite",))
rad2deg = elementwise(np.rad2deg, partial=180 / math.pi, flags=("finite",))
radians = elementwise(np.radians, partial=math.pi / 180, flags=("finite",))
degrees = elementwise(np.degrees, partial=180 / math.pi, flags=("finite",))

constant(np.signbit, np.gcd, np.lcm)


def exponents(x: Array) -> Array:
    """The second result of `numpy.frexp`."""
    return np.frexp(x)[1]


(_exponents,) = constant(exponents, batch="elementwise")


@composite(np.frexp, samples=lambda r: [call(r(3, 4, low=0.6, high=0.9)), call(r(3, low=-7.9, high=-4.1))])
def frexp(x: Array, /) -> Array:
    """`numpy.frexp`: the mantissa is differentiable, the exponent is constant."""
    exponent = _exponents(x)
    return np.ldexp(x, np.negative(exponent)), exponent
