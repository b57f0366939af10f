"""Other transforms keep the signature of what they are given."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import adjoint as ad

Array = NDArray[np.float64]


def field(x: Array, strength: float = 1.0) -> Array:
    return strength * np.tanh(x)


def length(x: Array) -> float:
    return float(np.sum(x**2))


def circle(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


x = np.ones(3)
value, tangent = ad.jvp(field, (x,), (x,))
assert_type(value, Array)
assert_type(tangent, Array)
value, pullback = ad.vjp(field, x)
(cotangent,) = pullback(value)
cotangent.clip(0.0)
cotangent.clipped(0.0)  # expected: attr-defined
value, pullbacks = ad.vjp(field, x, 2.0)
assert_type(pullbacks(value)[1], float)
first, second, third = pullbacks(value)  # expected: misc
value, anything = ad.vjp(lambda x: x * 2, x)
anything(value)
assert_type(ad.vmap(field, in_axes=(0, None))(np.ones((4, 3)), 2.0), Array)
linear = ad.linearize(field, x)[1]
assert_type(linear(x), Array)
assert_type(ad.jacobian(field)(x, strength=2.0), Array)
assert_type(ad.jacfwd(field)(x), Array)
ad.jacobian(lambda y: field(y, 2.0))(x).clip(0.0)
ad.hessian(lambda y: np.sum(y**3))(x).clip(0.0)
ad.hvp(length, x, x).clip(0.0)
ad.hvp(length, x, x).clipped(0.0)  # expected: attr-defined
assert_type(ad.hessian(length)(x), Array)
assert_type(ad.jacobian(ad.grad(length))(x), Array)
assert_type(ad.jacobian(ad.Tensor.exp)(ad.tensor([1.0])), ad.Tensor)
assert_type(ad.jacobian(circle)(1.0), Array)
assert_type(ad.vmap(ad.jacobian(field), in_axes=(0, None))(np.ones((4, 3)), 2.0), Array)
ad.jacobian(np.linalg.inv)(np.eye(2)).clip(0.0)
ad.jacobian(field, 1)(x, 2.0)
ad.jacobian(field)(x).clipped(0.0)  # expected: attr-defined
ad.jacobian(field)("x")  # expected: call-overload
ad.hessian(length)(x, 2.0)  # expected: call-arg
ad.jacobian(circle)(x)  # expected: call-overload
ad.checkpoint(field)(x, 3.0)
assert_type(ad.stop_gradient(ad.tensor(1.0)), ad.Tensor)
assert_type(ad.through("filterpy")(field)(x, 3.0), Array)
assert_type(ad.no_grad()(field)(x, 3.0), Array)
ad.vmap(np.dot)(np.eye(2), np.eye(2))


def with_count(x: Array) -> tuple[Array, int]:
    return x * 2, 7


doubled, slope, count = ad.jvp(with_count, (x,), (x,), has_aux=True)
assert_type(count, int)

ad.through("filterpy")(field)(x, strong=2.0)  # expected: call-arg
ad.jacobian(field)(x, strong=2.0)  # expected: call-overload
ad.vmap(field)("x")  # expected: arg-type
ad.jvp(field, x)  # expected: call-overload
ad.checkpoint(field)()  # expected: call-arg
ad.hessian(field, argnums="x")  # expected: call-overload


@ad.differentiable
def rotation(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


rotation(1.0)
rotation("1")  # expected: arg-type


@ad.custom_vjp
def smooth(x: Array, width: float = 1.0) -> Array:
    return np.logaddexp(0.0, x / width)


smooth.defvjp(lambda x, width: (smooth(x, width), x / width), lambda z, g: (g / (1 + np.exp(-z)), None))
assert_type(smooth(x, width=2.0), Array)
assert_type(ad.vmap(smooth)(x), Array)
smooth(x, with_width=2.0)  # expected: call-arg
smooth("x")  # expected: arg-type
assert_type(smooth(x), str)  # expected: assert-type


@ad.custom_jvp(nondiff_argnums=(1,))
def power(x: Array, n: int) -> Array:
    return x**n


power(x, 2)  # any function, as it has settings
