"""Methods: compiled, checkpointed, without gradients, followed; and decorators with settings."""

from functools import partial
from typing import Any, assert_type, overload

import numpy as np
from numpy.typing import NDArray

import adjoint as ad
from adjoint import nn, optim

Array = NDArray[np.float64]


class Trainer:
    def __init__(self, model: nn.Module, rate: float = 0.01) -> None:
        self.model = model
        self.optimizer = optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        self.fast = ad.compile(self.plain)

    def plain(self, x: Array, y: Array) -> float:
        return float(nn.mse_loss(self.model(x), y))

    @ad.compile
    def step(self, x: Array, y: Array, *, scale: float = 1.0) -> float:
        self.optimizer.zero_grad()
        loss = nn.mse_loss(self.model(x), y) * scale
        loss.backward()
        self.optimizer.step()
        return float(loss)

    @ad.compile(wait=True)
    def doubled(self, x: Array) -> Array:
        return x * 2

    @ad.differentiable
    def followed(self, x: Array) -> Array:
        return x

    @ad.checkpoint
    def heavy(self, x: Array, n: int = 1) -> Array:
        return x * n

    @ad.no_grad()
    def look(self, x: Array) -> Array:
        return x


trainer = Trainer(nn.Linear(3, 1))
x = np.ones((2, 3))
assert_type(trainer.step(x, x, scale=2.0), float)
assert_type(trainer.fast(x, x), float)
assert_type(trainer.doubled(x), Array)
assert_type(trainer.followed(x), Array)
assert_type(trainer.heavy(x, n=2), Array)
assert_type(trainer.look(x), Array)
assert_type(trainer.step.explain(), str)
trainer.step(x)  # expected: call-arg
trainer.step(x, x, scales=2.0)  # expected: call-arg
trainer.fast(x)  # expected: call-arg
trainer.doubled("x")  # expected: arg-type
trainer.followed()  # expected: call-arg
trainer.heavy(x, m=2)  # expected: call-arg
trainer.look("x")  # expected: arg-type


@partial(ad.grad, argnums=1)
def slope(x: float, y: float) -> float:
    return x * y**2


@overload
def either(x: float) -> float: ...
@overload
def either(x: Array) -> Array: ...
def either(x: Any) -> Any:
    return x * 2


@ad.checkpoint(policy=ad.save_matmuls)
def block(x: Array, w: Array) -> Array:
    return np.tanh(x @ w)


@ad.compile(backend="numpy", static=("n",))
def power(x: Array, n: int) -> Array:
    return x**n


slope(1.0, 2.0)
assert_type(ad.differentiable(either)(x), Array)
assert_type(ad.no_grad(either)(1.0), float)
assert_type(ad.compile(either)(x), Array)
assert_type(ad.compile(backend="numpy")(either)(1.0), float)
assert_type(ad.compile(ad.compile(either))(x), Array)
assert_type(ad.no_grad()(either)(x), Array)
assert_type(block(x, x), Array)
assert_type(power(x, 2), Array)
ad.differentiable(either)("x")  # expected: call-overload
block(x)  # expected: call-arg
power(x, "2")  # expected: arg-type
ad.compile(either)("x")  # expected: call-overload
