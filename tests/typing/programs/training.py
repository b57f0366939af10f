"""A model, an optimiser, and a compiled step."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import adjoint as ad
from adjoint import nn, optim

Array = NDArray[np.float64]


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, width), nn.Linear(width, 3)

    def forward(self, x: Any) -> Any:
        return self.second(np.tanh(self.first(x)))


model = Model(16)
adam = optim.Adam(model.parameters(), lr=0.01)


@ad.compile
def step(x: Array, labels: NDArray[np.int64]) -> float:
    adam.zero_grad()
    loss = nn.cross_entropy(model(x), labels)
    loss.backward()
    adam.step()
    return float(loss)


@ad.compile(wait=True, backend="numpy")
def scaled(x: Array, by: float = 2.0) -> Array:
    return by * x


class Simulation:
    @ad.compile
    def advance(self, time: float) -> float:
        return 2 * time


x, labels = np.ones((8, 4)), np.zeros(8, np.int64)
assert_type(step(x, labels), float)
assert_type(step.explain(), str)
assert_type(scaled(x), Array)
assert_type(Simulation().advance(1.0), float)
assert_type(ad.compile(ad.expr("x**2")), ad.Expr)
ad.compile(ad.grad(lambda y: np.sum(y**2)), wait=True)(x)
ad.compile(np.tanh)(x)

step(x)  # expected: call-arg
step(x, labels, 3)  # expected: call-arg
scaled(x, by="2")  # expected: arg-type
Simulation().advance("soon")  # expected: arg-type
ad.compile(step, waits=True)  # expected: call-overload
optim.Adam(model.parameters(), learning_rate=0.1)  # expected: call-arg
nn.Linear(4)  # expected: call-arg
