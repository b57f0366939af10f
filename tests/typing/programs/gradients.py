"""Gradients of functions of arrays, numbers and trees."""

from collections.abc import Callable
from typing import assert_type

import numpy as np
from numpy.typing import ArrayLike, NDArray

import adjoint as ad
from adjoint import Tensor

Params = dict[str, NDArray[np.float64]]


def loss(params: Params, x: NDArray[np.float64], *, scale: float = 1.0) -> float:
    return scale * float(np.sum((params["w"] * x + params["b"]) ** 2))


def fit(params: Params, x: NDArray[np.float64]) -> Params:
    gradient = ad.grad(loss)
    for _ in range(10):
        value, slope = ad.value_and_grad(loss)(params, x, scale=0.5)
        assert_type(value, float)
        assert_type(slope, Params)
        params = {name: w - 0.1 * slope[name] for name, w in params.items()}
    assert_type(gradient(params, x=x), Params)
    assert gradient(params, x=x)["w"].shape == ()
    return params


def wrong(params: Params, x: NDArray[np.float64]) -> None:
    ad.grad(loss)(params)  # expected: call-arg
    ad.grad(loss)(params, x, scal=2.0)  # expected: call-arg
    ad.grad(loss)(params, "x")  # expected: arg-type
    ad.grad(loss)(params=params, x=x)  # expected: call-arg
    ad.grad(loss)(params, x).append(1.0)  # expected: attr-defined
    ad.value_and_grad(loss, argnum=1)  # expected: call-overload
    ad.grad(3.0)  # expected: call-overload
    ad.gradient(loss)  # expected: attr-defined


def curvature(x: float) -> float:
    return x**3


second = ad.grad(ad.grad(curvature))
assert_type(second(2.0), float)
second("2")  # expected: arg-type
ad.grad(np.sin)(1.0)
ad.grad(lambda x: x * x)(3.0)


def energy(x: Tensor, scale: float = 1.0) -> Tensor:
    return scale * (x**2).sum()


def of_anything(x: ArrayLike) -> float:
    return float(np.sum(x))


def of_both(x: float | NDArray[np.float64]) -> float:
    return float(np.sum(x))


def with_count(params: Params) -> tuple[float, int]:
    return float(np.sum(params["w"])), 3


assert_type(ad.grad(energy)(ad.tensor([1.0]), scale=2.0), Tensor)
ad.grad(of_anything)(np.ones(3)).clip(0.0)
ad.grad(of_both)(np.ones(3)).clip(0.0)
ad.grad(np.linalg.det)(np.eye(2)).clip(0.0)
ad.grad(lambda params: loss(params, np.ones(3)))({"w": np.ones(3), "b": np.ones(3)})["w"].clip(0.0)
(value, count), slope = ad.value_and_grad(with_count, has_aux=True)({"w": np.ones(3)})
assert_type(count, int)
assert_type(slope, Params)
assert_type(ad.grad(with_count, has_aux=True)({"w": np.ones(3)}), tuple[Params, int])
ad.grad(with_count, 0, has_aux=True)({"w": np.ones(3)})[0].append(1.0)  # expected: attr-defined
ad.grad(with_count, has_aux=True)({}, 3)  # expected: call-arg
assert_type(ad.vmap(ad.grad(curvature))(2.0), float)
ad.grad(loss, argnums=(0, 1))({}, np.ones(3))
ad.grad(loss, 1)({})  # expected: call-arg
ad.grad(energy)(np.ones(3))  # expected: arg-type
ad.grad(energy)(ad.tensor([1.0])).clipped(0.0)  # expected: attr-defined
step: Callable[[float], float] = ad.grad(curvature)
wrong_step: Callable[[str], float] = ad.grad(curvature)  # expected: assignment
