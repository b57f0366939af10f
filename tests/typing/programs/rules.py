"""Functions with rules of their own, sparse derivatives, and loops keep the signatures of what they are given."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import adjoint as ad

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@ad.custom_vjp
def clipped(x: Array, low: float, high: float) -> Array:
    return np.clip(x, low, high)


def forward(x: Array, low: float, high: float) -> tuple[Array, Mask]:
    return clipped(x, low, high), (x > low) & (x < high)


def backward(mask: Mask, g: Array) -> tuple[Array, None, None]:
    return g * mask, None, None


clipped.defvjp(forward, backward)
assert_type(clipped(np.ones(3), 0.0, high=1.0), Array)


@ad.custom_jvp
def soft(x: float) -> float:
    return float(np.log1p(np.exp(x)))


@soft.defjvp
def soft_rule(primals: tuple[float], tangents: tuple[float]) -> tuple[float, float]:
    (x,), (t,) = primals, tangents
    return soft(x), t / (1 + np.exp(-x))


assert_type(soft(1.0), float)
assert_type(ad.grad(soft)(1.0), float)


class Layer:
    @ad.custom_vjp
    def apply(self, x: Array) -> Array:
        return x * 2


Layer.apply.defvjp(lambda self, x: (x * 2, None), lambda r, g: (None, g * 2))
assert_type(Layer().apply(np.ones(3)), Array)
Layer().apply(3, 4)  # expected: call-arg
Layer().apply("x")  # expected: arg-type
clipped(np.ones(3))  # expected: call-arg
clipped(np.ones(3), low=0.0, hi=1.0)  # expected: call-arg
clipped.defvjp(forward)  # expected: call-arg
clipped.def_vjp(forward, backward)  # expected: attr-defined
ad.custom_vjp(3)  # expected: call-overload
soft("x")  # expected: arg-type


def solver(a: Array) -> Array:
    return np.sqrt(a)


def condition(z: Array, a: Array) -> Array:
    return z**2 - a


implicit = ad.implicit_root(solver, condition)
assert_type(implicit(np.ones(3)), Array)
implicit(np.ones(3), 2.0)  # expected: call-arg
implicit("x")  # expected: arg-type


def residual(x: Array, k: float = 1.0) -> Array:
    return k * np.diff(x) ** 2


matrix = ad.sparse_jacobian(residual)
print(matrix(np.ones(4), k=2.0).toarray())
ad.sparse_hessian(lambda x: np.sum(residual(x)))(np.ones(4))
ad.sparsity(np.sin)(np.ones(4))
matrix(np.ones(4), kk=2.0)  # expected: call-arg
matrix()  # expected: call-arg
ad.sparsity(residual)("x")  # expected: arg-type
ad.sparse_hessian(residual, argnums="x")  # expected: call-overload


def step(carry: Array, x: float) -> tuple[Array, Array]:
    carry = carry * x
    return carry, carry.sum()


carry, collected = ad.checkpoint_scan(step, np.ones(3), np.ones(10), snapshots=3)
carry + 1.0
print(collected.shape)
ad.checkpoint_scan(step, np.ones(3), np.ones(10))  # expected: call-arg
carry.append(3.0)  # expected: attr-defined
