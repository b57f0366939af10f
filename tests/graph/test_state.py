"""What captured programs read and write besides their arguments: whole training steps, random draws, buffers."""

import gc

import numpy as np
import pytest

import adjoint as ad
from adjoint import capture, nn, optim
from adjoint.data.digits import digits
from adjoint.train import Classifier

OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
}


def network(dtype, seed=0):
    return nn.Sequential(
        nn.Linear(6, 8, rng=seed, dtype=dtype), nn.Tanh(), nn.LayerNorm(8, dtype=dtype), nn.Dropout(0.3, rng=seed + 1),
        nn.Linear(8, 3, rng=seed + 2, dtype=dtype),
    )  # fmt: skip


def step(model, optimiser, smoothing=0.1):
    def f(x, y):
        optimiser.zero_grad()
        logits = model(x)
        loss = nn.cross_entropy(logits, y, label_smoothing=smoothing)
        loss.backward(retain_graph=False)
        optimiser.step()
        return loss, logits

    return f


def same_bits(found, expected):
    found, expected = (np.asarray(x.detach() if isinstance(x, ad.Tensor) else x) for x in (found, expected))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def same_training(one, other):
    """Parameters, gradients and the optimisers' state."""
    (model, optimiser), (other_model, other_optimiser) = one, other
    for (name, p), (_, q) in zip(model.named_parameters(), other_model.named_parameters(), strict=True):
        assert p.is_leaf, name
        same_bits(p, q)
        same_bits(p.grad, q.grad)
    mine, theirs = optimiser.state_dict(), other_optimiser.state_dict()
    assert mine["steps"] == theirs["steps"]
    assert mine["param_groups"] == theirs["param_groups"]
    for key, state in mine["state"].items():
        for name, value in state.items():
            same_bits(value, theirs["state"][key][name])


# -- Training steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("simpler", [False, True])
def test_a_training_step_with_a_schedule(name, dtype, simpler):
    pairs = [(model, OPTIMISERS[name](model.parameters())) for model in (network(dtype), network(dtype))]
    rng = np.random.default_rng(0)

    def draw():
        return rng.normal(size=(5, 6)).astype(dtype), rng.integers(0, 3, 5)

    graph = capture(step(*pairs[0]), *draw())
    graph.verify()
    graph = graph.rewritten() if simpler else graph
    graph.verify()
    for k in range(5):
        for _, optimiser in pairs:
            optimiser.lr = 0.1 / (k + 1)
        x, y = draw()
        for found, expected in zip(graph(x, y), step(*pairs[1])(x, y), strict=True):
            same_bits(found, expected)
        same_training(*pairs)


def test_the_digits_network():
    """A whole step of the network of `adjoint train digits`, over several steps, bit for bit."""
    data = digits()
    x, y = data.x[:160], data.y[:160]
    pairs = []
    for _ in range(2):
        classifier = Classifier.for_data(data, seed=3)
        pairs.append((classifier.network, optim.AdamW(classifier.network.parameters(), lr=3e-3)))
    x = classifier.prepared(x)
    for model, _ in pairs:
        model.train()
    graph = capture(step(*pairs[0]), x[:32], y[:32])
    graph.verify()
    for k in range(5):
        rows = slice(32 * k, 32 * k + 32)
        for found, expected in zip(graph(x[rows], y[rows]), step(*pairs[1])(x[rows], y[rows]), strict=True):
            same_bits(found, expected)
        same_training(*pairs)


def test_capture_leaves_model_and_optimiser_as_they_are():
    model = network(np.float64)
    optimiser = optim.Adam(model.parameters())
    before = model.state_dict()
    states = [p.held for p in model.parameters()]
    capture(step(model, optimiser), np.ones((5, 6)), np.zeros(5, int))
    for name, value in model.state_dict().items():
        same_bits(value, before[name])
    assert all(p.held is data for p, data in zip(model.parameters(), states, strict=True))
    assert [p.grad for p in model.parameters()] == [None] * len(states)
    assert optimiser.steps == 0
    assert model[3].rng.bit_generator.state == np.random.default_rng(1).bit_generator.state


def test_parameters_are_written_in_place_and_read_afresh():
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    sgd = optim.SGD([w], lr=0.5)

    def f(x):
        sgd.zero_grad()
        loss = np.sum(w * x)
        loss.backward()
        sgd.step()
        return loss

    graph = capture(f, np.ones(2))
    memory = w.held
    assert graph(np.array([1.0, 0.0])).item() == 1.0
    assert w.held is memory
    np.testing.assert_array_equal(memory, [0.5, 2.0])
    with ad.no_grad():
        w[...] = 10.0
    assert graph(np.array([1.0, 1.0])).item() == 20.0


@pytest.mark.parametrize("there", [False, True])
def test_gradients_are_added_to_and_cleared(there):
    """Whether a gradient was there at the capture makes no difference."""

    def adding(w):
        def f(x):
            np.sum(w * x).backward()
            return x

        return f

    w, eager = (ad.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    if there:
        w.grad = eager.grad = np.array([0.5, 0.25])
    add = capture(adding(w), np.ones(2))
    clear = capture(lambda x: (w.zero_grad(), x)[1], np.ones(2))
    for _ in range(3):
        add(np.array([1.0, 3.0]))
        adding(eager)(np.array([1.0, 3.0]))
        same_bits(w.grad, eager.grad)
    clear(np.ones(2))
    assert w.grad is None
    add(np.array([1.0, 3.0]))
    same_bits(w.grad, np.array([1.0, 3.0]))


def test_unused_gradients_are_no_inputs():
    model = nn.Linear(3, 2, rng=0)
    graph = capture(lambda x: model(x), np.ones(3))
    assert [str(node.value) for node in graph.inputs] == ["x", "bias", "weight"]


def test_clipping():
    def f(model, sgd):
        def f(x):
            sgd.zero_grad()
            np.sum(np.square(model(x))).backward()
            norm = optim.clip_grad_norm(model.parameters(), 0.5)
            optim.clip_grad_value(model.parameters(), 0.2)
            sgd.step()
            return norm

        return f

    pairs = [
        (model, optim.SGD(model.parameters(), lr=0.1)) for model in (nn.Linear(3, 2, rng=0), nn.Linear(3, 2, rng=0))
    ]
    graph = capture(f(*pairs[0]), np.ones((2, 3)))
    for scale in (1.0, 3.0, 1e-3, 1.0):  # the third needs no clipping
        x = scale * np.arange(6.0).reshape(2, 3)
        assert float(graph(x)) == f(*pairs[1])(x)
        for p, q in zip(pairs[0][0].parameters(), pairs[1][0].parameters(), strict=True):
            same_bits(p, q)


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_many_steps_of_adam_keep_every_bit(kind):
    def f(model, adam):
        def f(x):
            adam.zero_grad()
            np.sum(np.square(model(x))).backward()
            adam.step()

        return f

    models = [nn.Linear(3, 2, rng=0) for _ in range(2)]
    pairs = [(model, kind(model.parameters(), lr=0.1)) for model in models]
    graph = capture(f(*pairs[0]), np.ones((2, 3)))
    for k in range(60):  # at the 7th, 12th, ... Python's power of the betas is another one than NumPy's
        x = np.cos(k + np.arange(6.0)).reshape(2, 3)
        graph(x)
        f(*pairs[1])(x)
        for p, q in zip(models[0].parameters(), models[1].parameters(), strict=True):
            same_bits(p, q)


def test_nothing_is_written_unless_everything_succeeds():
    w = ad.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        np.sum(w * x).backward()
        w.data[...] = w.data - w.grad.data
        return np.linalg.inv(np.outer(x, x) + np.diag(x))

    graph = capture(f, np.array([1.0, 2.0]))
    with pytest.raises(np.linalg.LinAlgError):
        graph(np.zeros(2))
    np.testing.assert_array_equal(w.numpy(), [1.0, 2.0])
    assert w.grad is None
    graph(np.array([0.5, 0.25]))
    np.testing.assert_array_equal(w.numpy(), [0.5, 1.75])


def test_state_that_changes_places():
    class Pair:
        def __init__(self):
            self.left, self.right = np.array([1.0]), np.array([2.0])

        def __call__(self, x):
            self.left, self.right = self.right, self.left
            return self.left + x, self.left

    pair, eager = Pair(), Pair()
    graph = capture(pair, np.zeros(1))
    for k in range(3):
        for found, expected in zip(graph(np.array([float(k)])), eager(np.array([float(k)])), strict=True):
            same_bits(found, expected)
        same_bits(pair.left, eager.left)
        same_bits(pair.right, eager.right)


def test_buffers_and_running_averages():
    class Average:
        def __init__(self):
            self.mean = np.zeros(3)

        def __call__(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x
            return x - self.mean

    module, eager = Average(), Average()
    graph = capture(module, np.ones(3))
    for k in range(3):
        same_bits(graph(np.arange(3.0) * k), eager(np.arange(3.0) * k))
        same_bits(module.mean, eager.mean)


# -- Random draws -------------------------------------------------------------------------------------


def test_dropout_draws_anew_as_eager_does():
    drop, eager = nn.Dropout(0.5, rng=7), nn.Dropout(0.5, rng=7)
    graph = capture(drop, np.ones(50))
    seen = set()
    for _ in range(4):
        found, expected = graph(np.ones(50)), eager(np.ones(50))
        same_bits(found, expected)
        seen.add(found.tobytes())
    assert len(seen) == 4


def test_two_draws_are_two():
    drop, eager = nn.Dropout(0.5, rng=7), nn.Dropout(0.5, rng=7)
    graph = capture(lambda x: drop(x) - drop(x), np.ones(50))
    same_bits(graph(np.ones(50)), eager(np.ones(50)) - eager(np.ones(50)))


def test_a_checkpoint_repeats_its_draws():
    def program(drop):
        def f(x):
            return ad.grad(lambda x: np.sum(ad.checkpoint(lambda x: np.sin(drop(x)) ** 2)(x) * drop(x)))(x)

        return f

    drop, eager = nn.Dropout(0.5, rng=7), nn.Dropout(0.5, rng=7)
    graph = capture(program(drop), np.ones(20))
    assert sum(node.label == "kept" for node in graph.nodes) == 2
    for k in range(3):
        same_bits(graph(np.full(20, 0.5 + k)), program(eager)(np.full(20, 0.5 + k)))


def test_draws_inside_vmap():
    drop, eager = nn.Dropout(0.5, rng=7), nn.Dropout(0.5, rng=7)
    graph = capture(ad.vmap(drop), np.ones((3, 8)))
    for _ in range(2):
        same_bits(graph(np.ones((3, 8))), ad.vmap(eager)(np.ones((3, 8))))


@pytest.mark.parametrize("later", [False, True])
def test_draws_of_ones_own_are_drawn_anew(later):
    def program(rng):
        drop = nn.Dropout(0.5, rng=rng)

        def f(x):
            x = drop(x) if later else x
            return drop(x * rng.normal(size=3))

        return f

    rng, eager = np.random.default_rng(5), np.random.default_rng(5)
    graph = capture(program(rng), np.ones(3))
    assert rng.bit_generator.state == eager.bit_generator.state
    for _ in range(3):
        same_bits(graph(np.ones(3)), program(eager)(np.ones(3)))


def test_numpys_own_generator_is_refused():
    with pytest.raises(ad.NotSupportedError, match=r"it calls numpy\.random\.rand, which has to happen at each call"):
        capture(lambda x: x + np.random.rand(3), np.ones(3))  # noqa: NPY002 - is what is tested


# -- Memory -------------------------------------------------------------------------------------------


class Counted(np.ndarray):
    """An array that is counted while it lives."""

    alive = most = 0

    def __array_finalize__(self, other):
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)

    def __del__(self):
        Counted.alive -= 1


def test_values_are_dropped_after_their_last_use():
    def f(x):
        for _ in range(50):
            x = np.sin(x)
        return x

    graph = capture(f, np.ones(3))
    gc.collect()
    Counted.alive = Counted.most = 0
    out = graph(np.ones(3).view(Counted))
    assert isinstance(out, Counted)
    assert Counted.most <= 5


def test_values_that_nobody_uses_are_dropped_too():
    graph = capture(lambda x: [np.linalg.eigh(x * k)[0] for k in range(1, 20)], np.eye(3))
    gc.collect()
    Counted.alive = Counted.most = 0
    out = graph(np.eye(3).view(Counted))
    assert len(out) == 19
    assert Counted.most <= 19 + 8
