"""Gradients of functions of arrays, numbers and trees."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import adjoint as ad

Params = dict[str, NDArray[np.float64]]


def loss(params: Params, x: NDArray[np.float64], *, scale: float = 1.0) -> float:
    return scale * float(np.sum((params["w"] * x + params["b"]) ** 2))


def fit(params: Params, x: NDArray[np.float64]) -> Params:
    gradient = ad.grad(loss)
    for _ in range(10):
        value, slope = ad.value_and_grad(loss)(params, x, scale=0.5)
        assert_type(value, float)
        params = {name: w - 0.1 * slope[name] for name, w in params.items()}
    assert gradient(params, x=x)["w"].shape == ()
    return params


def wrong(params: Params, x: NDArray[np.float64]) -> None:
    ad.grad(loss)(params)  # expected: call-arg
    ad.grad(loss)(params, x, scal=2.0)  # expected: call-arg
    ad.grad(loss)(params, "x")  # expected: arg-type
    ad.value_and_grad(loss, argnum=1)  # expected: call-overload
    ad.grad(3.0)  # expected: call-overload
    ad.gradient(loss)  # expected: attr-defined


def curvature(x: float) -> float:
    return x**3


second = ad.grad(ad.grad(curvature))
second(2.0)
second("2")  # expected: arg-type
ad.grad(np.sin)(1.0)
ad.grad(lambda x: x * x)(3.0)
