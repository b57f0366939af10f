"""Steps of optimisers, whose update is recorded once for the parameters that it treats alike."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim
from adjoint.compiler.trace import inputs

SHAPES = [(3, 4), (4,), (2, 1, 3), (3, 4), (), (5, 0)]
MAKERS = {
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "Adam, all of it": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1, amsgrad=True, maximize=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.2),
    "Adam of groups": lambda p: optim.Adam([{"params": p[::2], "lr": 0.3}, {"params": p[1::2], "betas": (0.5, 0.9)}]),
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "SGD, all of it": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "SGD with dampening": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
}


def parameters(dtypes=("float64", "float32")):
    rng = np.random.default_rng(0)
    return [
        ad.tensor(rng.normal(size=shape).astype(dtypes[k % len(dtypes)]), requires_grad=True)
        for k, shape in enumerate(SHAPES)
    ]


def stepping(params, optimizer, times=1):
    def step(x):
        for _ in range(times):
            optimizer.zero_grad()
            loss = sum(np.sum((p * x + 0.3) ** 2) + 0.5 * np.sum(p**2) for p in params[:-1]) + 0.5 * np.sum(params[0])
            loss.backward()
            optimizer.step()
        return loss.detach()

    return step


def state_of(optimizer):
    return [value for state in optimizer.state_dict()["state"].values() for value in state.values()]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_recorded_update_is_that_of_each_parameter(maker, times, monkeypatch):
    texts = []
    for alike in (True, False):
        monkeypatch.setattr(inputs, "is_elementwise", inputs.is_elementwise if alike else lambda _: False)
        params, others = parameters(), parameters()
        ours, plain = MAKERS[maker](params), MAKERS[maker](others)
        step = ad.compile(stepping(params, ours, times), backend="numpy")
        for x in (0.5, 0.7, -1.0):
            np.testing.assert_array_equal(step(x).numpy(), stepping(others, plain, times)(x).numpy())
        for p, q in zip(params, others, strict=True):
            assert p.data.dtype == q.data.dtype
            np.testing.assert_array_equal(p.data, q.data)
        for a, b in zip(state_of(ours), state_of(plain), strict=True):
            np.testing.assert_array_equal(a, b)
        assert "run by NumPy: backend" in step.explain()
        texts.append(step.graph.to_source())
    assert texts[0] == texts[1]


def test_its_code_runs_once_for_parameters_that_are_alike(monkeypatch):
    params, met = parameters(["float64"])[:4], []
    update = optim.Adam.update

    def counting(self, data, *rest):
        met.append(type(data))
        update(self, data, *rest)

    monkeypatch.setattr(optim.Adam, "update", counting)
    monkeypatch.setattr(optim.Adam, "elementwise", True)
    step = ad.compile(stepping(params, optim.Adam(params, lr=0.1)), backend="numpy")
    step(0.5)
    assert len(met) == 1


class ByShape(optim.Adam):
    """It does other things to vectors, and does not say that it would be elementwise."""

    def update(self, data, grad, state, group, scratch):
        if data.ndim == 1:
            data -= 0.1 * grad
        else:
            super().update(data, grad, state, group, scratch)


class Asking(optim.SGD):
    elementwise = True

    def update(self, data, grad, state, group, scratch):
        data -= group["lr"] * grad * (2.0 if np.sum(grad) > 0 else 0.5)


class Reading(optim.SGD):
    """It takes numbers of the parameter that are not elementwise."""

    elementwise = True

    def update(self, data, grad, state, group, scratch):
        data -= group["lr"] * grad / (1.0 + np.max(np.abs(data)))


class Counting(optim.SGD):
    """It keeps more than it began with."""

    elementwise = True

    def update(self, data, grad, state, group, scratch):
        data -= group["lr"] * grad * state.get("factor", 1.0)
        state["factor"] = np.float64(0.5)


@pytest.mark.parametrize("kind", [ByShape, Asking, Reading, Counting])
def test_updates_that_differ_from_parameter_to_parameter(kind):
    params, others = parameters(["float64"])[:4], parameters(["float64"])[:4]
    ours, plain = kind(params, lr=0.1), kind(others, lr=0.1)
    step = ad.compile(stepping(params, ours), backend="numpy")
    for x in (0.5, -0.7, -1.0, 2.0):
        step(x)
        stepping(others, plain)(x)
    for p, q in zip(params, others, strict=True):
        np.testing.assert_allclose(p.data, q.data, rtol=1e-14)


def test_a_gradient_that_is_the_parameter_itself():
    params, others = parameters(["float64"])[:4], parameters(["float64"])[:4]

    def step_of(params):
        adam = optim.SGD(params, lr=0.1, momentum=0.9)

        def step():
            adam.zero_grad()
            for k, p in enumerate(params):
                p.grad = p.detach() if k % 2 else 2.0 * p.detach()
            adam.step()

        return step

    ours, plain = ad.compile(step_of(params), backend="numpy"), step_of(others)
    for _ in range(3):
        ours()
        plain()
    for p, q in zip(params, others, strict=True):
        np.testing.assert_array_equal(p.data, q.data)
