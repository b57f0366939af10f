"""Networks, losses and optimisers on arrays that nobody can look at."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from tests.backends.strict import inside, strict, transfers

OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.01, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.5),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "Lion": lambda p: optim.Lion(p, lr=0.1),
}


def net():
    return nn.Sequential(
        nn.Linear(3, 4, rng=np.random.default_rng(1)), nn.ReLU(), nn.Linear(4, 3, rng=np.random.default_rng(2))
    )


def trained(move, optimiser, loss):
    model, rng = net(), np.random.default_rng(0)
    for p in model.parameters():
        p.data = move(p.data)
    x, y = ad.Tensor(move(rng.normal(size=(5, 3)))), ad.Tensor(move(np.array([0, 1, 2, 1, 0])))
    stepper = OPTIMISERS[optimiser](model.parameters())
    before = transfers["out"]
    for _ in range(3):
        stepper.zero_grad()
        loss(model(x), y).backward()
        stepper.step()
    assert transfers["out"] == before
    return [inside(p.data) for p in model.parameters()]


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_training(optimiser):
    for ours, numpys in zip(
        trained(strict, optimiser, nn.cross_entropy), trained(np.array, optimiser, nn.cross_entropy), strict=True
    ):
        np.testing.assert_allclose(ours, numpys, rtol=1e-10, atol=1e-14)


def test_a_graph_from_before_a_step_keeps_its_values():
    w = ad.tensor(strict([1.0, 2.0]), requires_grad=True)
    loss = np.sum(w**3)
    loss.backward()
    optim.SGD([w], lr=0.5).step()
    w.zero_grad()
    loss.backward()
    np.testing.assert_array_equal(inside(w.grad.data), [3.0, 12.0])


def test_label_smoothing_and_weights():
    rng = np.random.default_rng(3)
    logits, labels, weight = rng.normal(size=(4, 3)), np.array([0, 2, 1, 0]), np.array([1.0, 2.0, 0.5])

    def f(move):
        options = {"weight": move(weight), "label_smoothing": 0.1}
        return inside(ad.grad(lambda a: nn.cross_entropy(a, move(labels), **options))(move(logits)))

    np.testing.assert_allclose(f(strict), f(np.array), rtol=1e-12)
