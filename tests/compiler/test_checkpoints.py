"""Compiled functions in checkpoints: the second run may round otherwise than the first one, of the plain function."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim

W = ad.tensor(np.linspace(-1.0, 1.0, 300), requires_grad=True)
Z = np.linspace(0.1, 2.0, 300)
ROWS = np.random.default_rng(0).normal(size=(10, 300))


def block(x):
    return np.tanh(np.exp(np.sin(x) * W) + x)


def step(carry, row):
    carry = np.tanh(np.sin(carry) * W + row)
    return carry, np.sum(np.exp(carry))


def inner_gradient(x):
    return ad.grad(lambda z: np.sum(np.sin(z) * W))(np.cos(x) + x)


def around(f):
    return lambda x: np.sum(f(x))


def twice(f):
    return lambda x: f(f(x))


def scanned(f):
    return lambda x: sum(map(np.sum, ad.checkpoint_scan(f, x, ROWS, snapshots=3)))


USES = {
    "block": lambda compiled: around(ad.checkpoint(compiled(block))),
    "kept products": lambda compiled: around(ad.checkpoint(compiled(block), policy=ad.save_matmuls)),
    "within another": lambda compiled: around(ad.checkpoint(lambda x: ad.checkpoint(compiled(block))(x) * x)),
    "called inside": lambda compiled: around(ad.checkpoint(twice(compiled(block)))),
    "gradient": lambda compiled: around(ad.checkpoint(compiled(inner_gradient))),
    "scan": lambda compiled: scanned(compiled(step)),
}


def gradients(f):
    x = ad.tensor(Z, requires_grad=True)
    W.grad = None
    f(x).backward()
    return x.grad.numpy(), W.grad.numpy()


@pytest.mark.parametrize("options", [{"backend": "numpy", "wait": True}, {"wait": True}, {}], ids=["numpy", "wait", ""])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_the_second_run_may_be_native(use, options):
    plain, compiled = use(lambda f: f), use(lambda f: ad.compile(f, **options))
    for _ in range(5):
        for a, b in zip(gradients(plain), gradients(compiled), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("change", [1e-4, np.nan])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_change_in_between_is_noticed(dtype, change):
    hidden = [np.ones(300, dtype)]
    compiled = ad.compile(lambda x, scale: np.sin(x) * scale)
    checkpointed = ad.checkpoint(lambda x: compiled(x, next(iter(hidden)).copy()))
    x = ad.tensor(Z.astype(dtype), requires_grad=True)
    loss = np.sum(checkpointed(x))
    hidden.append(hidden.pop() * dtype(1.0 + 30 * change))
    with pytest.raises(ad.GradientError, match="ran again for its gradient"):
        loss.backward()


class Counted(nn.Module):
    """A layer that counts its calls, draws numbers and keeps a mean, in all the places where a module may do so."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 3, rng=0), nn.BatchNorm1d(3, momentum=None)
        self.drop = nn.Dropout(0.5, rng=1)
        self.register_buffer("calls", np.zeros((), int))
        self.mean, self.count, self.last = np.zeros(3), 0, None

    def forward(self, x):
        self.calls += 1
        self.count += 1
        self.mean[:] = 0.9 * self.mean + 0.1 * np.mean(ad.stop_gradient(x).data, axis=0)
        x = self.drop(self.norm(self.linear(x)))
        self.last = x.detach()
        return np.tanh(x)


def lived(compiled, how):
    """What a few steps leave in a layer that is checkpointed."""
    layer, first = Counted(), nn.Linear(3, 3, rng=2)
    sgd = optim.SGD([*layer.parameters(), *first.parameters()], lr=0.1)
    light = {"module": ad.checkpoint(layer), "function": ad.checkpoint(lambda x: layer(x))}[how]

    @compiled
    def step(x):
        sgd.zero_grad()
        loss = np.sum(light(first(x)) ** 2)
        loss.backward()
        sgd.step()
        return loss

    losses = [step(np.cos(np.arange(12.0) + k).reshape(4, 3)) for k in range(4)]
    with pytest.raises(ad.InPlaceError, match="must run again"):
        losses[-1].backward()
    state = [np.array(t.data) for t in (*layer.parameters(), *first.parameters(), *layer.buffers())]
    return [*state, layer.mean, layer.count, layer.last.numpy(), layer.drop.rng.random()]


@pytest.mark.parametrize("options", [{"backend": "numpy", "wait": True}, {"wait": True}], ids=["numpy", "native"])
@pytest.mark.parametrize("how", ["module", "function"])
def test_attributes_change_once(how, options):
    plain, found = lived(lambda f: f, how), lived(lambda f: ad.compile(f, **options), how)
    assert plain[-3] == 4
    assert all(t == 4 for t in plain if np.ndim(t) == 0 and np.asarray(t).dtype.kind == "i")
    for a, b in zip(plain, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_steps_with_checkpoints_are_recorded():
    layer = Counted()
    light = ad.checkpoint(layer)

    @ad.compile(wait=True)
    def step(x):
        np.sum(light(x)).backward()

    step(ad.tensor(np.eye(3), requires_grad=True))
    assert "runs as it is" not in step.explain()
