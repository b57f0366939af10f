"""All steps of a recurrent layer as one operation, beside the loop that transforms and compiled programs follow."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn.layers import cells, recurrent

X = np.random.default_rng(0).normal(size=(5, 2, 3))


@pytest.fixture(params=[True, False], ids=["bias", "no bias"])
def bias(request):
    return request.param


@pytest.fixture(params=["LSTM", "GRU", "RNN", "RNN of relu", "LSTM in panels"])
def layer(request, bias):
    name, *setting = request.param.split(maxsplit=1)
    more = {"nonlinearity": "relu"} if setting == ["of relu"] else {}
    if setting == ["in panels"]:
        return nn.LSTM(3, 66, bias=bias, rng=0)
    return getattr(nn, name)(3, 4, num_layers=2, bidirectional=True, bias=bias, rng=0, **more)


def loss(layer, parameters, x):
    out, h = nn.functional_call(layer, parameters, x)
    return np.sum(np.sin(out)) + np.sum(np.prod(np.stack(h), axis=0) if isinstance(h, tuple) else h * h)


def test_both_ways_agree_to_second_order(layer, monkeypatch):
    p = layer.state_dict()
    direction = {name: np.cos(np.arange(v.size)).reshape(v.shape) for name, v in p.items()}

    def first(q):
        return ad.value_and_grad(lambda q: loss(layer, q, X))(q)

    def second(q):
        return ad.grad(lambda q: sum(np.sum(g * direction[n]) for n, g in first(q)[1].items()))(q)

    one = first(p), second(p)
    monkeypatch.setattr(recurrent, "are_plain", lambda *xs: False)
    steps = first(p), second(p)
    np.testing.assert_allclose(one[0][0], steps[0][0], rtol=1e-12)
    for found, expected in ((one[0][1], steps[0][1]), (one[1], steps[1])):
        for name in p:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-11)


def test_other_modes_agree(layer):
    p = layer.state_dict()
    f = lambda q: loss(layer, q, X)
    direction = {name: np.sin(v) for name, v in p.items()}
    slopes = ad.grad(f)(p)
    np.testing.assert_allclose(
        ad.jvp(f, (p,), (direction,))[1], sum(np.sum(slopes[n] * direction[n]) for n in p), rtol=1e-10
    )
    np.testing.assert_allclose(
        ad.vmap(lambda x: loss(layer, p, x))(np.stack([X, 2 * X])), [f(p), loss(layer, p, 2 * X)], rtol=1e-10
    )
    compiled = ad.compile(ad.grad(f), wait=True)(p)
    for name in p:
        np.testing.assert_allclose(compiled[name], slopes[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("kind", "steps"), [("LSTM", 20), ("GRU", 24), ("RNN", 60)])
def test_compiled_steps_of_a_training_are_a_loop(kind, steps):
    def trained(compiled):
        layer, xs = getattr(nn, kind)(3, 4, rng=0), np.random.default_rng(1).normal(size=(steps, 2, 3))

        def step(xs):
            loss = np.sum(layer(xs)[0] ** 2)
            loss.backward()
            return loss.detach().numpy()

        run = ad.compile(step, wait=True) if compiled else step
        return [run(xs), *(p.grad.numpy() for p in layer.parameters())], run

    (expected, _), (found, run) = trained(False), trained(True)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
    assert "operations are one loop" in run.explain()
    assert "_steps" not in str(run.graph)


def test_gates_that_are_shut_stay_finite_in_single_precision():
    layer = nn.LSTM(3, 4, rng=0, dtype=np.float32)
    layer.bias_ih_l0.data[...] = -200
    x = ad.tensor(X.astype(np.float32), requires_grad=True)
    out, _ = layer(x)
    out.sum().backward()
    assert out.dtype == np.float32
    assert np.isfinite(x.grad.numpy()).all()


def test_the_gradient_of_a_gru_needs_little_memory_beside_its_results():
    layer = nn.GRU(8, 32, rng=0)
    x = np.random.default_rng(0).normal(size=(200, 16, 8))

    def step():
        out = layer(x)[0]
        layer.zero_grad()
        out.sum().backward(retain_graph=False)
        return out.nbytes

    size = step()
    tracemalloc.start()
    try:
        step()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        step()
        most = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert most < 4 * size  # all gates of all steps would be as much


def test_sums_of_cotangents_are_freed_before_the_next_rule():
    seen = []
    n = 1 << 17

    def watch(g):
        seen.append(tracemalloc.get_traced_memory()[0])
        return g * 1

    w = ad.tensor(np.ones(n), requires_grad=True)
    tracemalloc.start()
    try:
        x = w * 2
        x.register_hook(watch)
        y = x * x
        before = tracemalloc.get_traced_memory()[0]
        y.sum().backward()
    finally:
        tracemalloc.stop()
    assert seen[0] - before < 2.5 * 8 * n  # the sum, and not the two that were added too


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_a_cell_as_one_operation_has_the_bits_of_its_steps(kind, dtype, bias, monkeypatch):
    cell = kind(3, 5, bias=bias, rng=0, dtype=dtype)
    rng = np.random.default_rng(1)
    values = [rng.normal(size=(2, n)).astype(dtype) for n in (3, *(5,) * cell.states)]

    def found(create_graph=False):
        x, *state = (ad.tensor(v, requires_grad=True) for v in values)
        for _ in range(3):
            state = cell(x, tuple(state))
            state = state if isinstance(state, tuple) else (state,)
        leaves = [x, *cell.parameters()]
        cell.zero_grad()
        np.sum(np.sin(sum(state))).backward(create_graph=create_graph)
        slopes = [t.grad for t in leaves]
        if create_graph:
            cell.zero_grad()
            x.zero_grad()
            sum(np.sum(np.sin(g)) for g in slopes).backward()
            slopes = [t.grad for t in leaves]
        return [s.numpy() for s in state] + [g.numpy().copy() for g in slopes]

    assert state_op(cell) == f"one_{kind.__name__[:-4].lower()}_step"
    once, twice = found(), found(create_graph=True)
    monkeypatch.setattr(cells, "are_plain", lambda *xs: False)
    assert state_op(cell) in ("add", "multiply")
    for one, other in zip(once, found(), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for one, other in zip(twice, found(create_graph=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def state_op(cell):
    """The name of the operation that gives the new state."""
    new = cell(np.ones((2, 3), cell.weight_ih.dtype))
    return (new[0] if isinstance(new, tuple) else new).grad_fn.name


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_a_state_of_another_shape_is_broadcast_or_refused_as_before(kind):
    cell = kind(3, 5, rng=0)
    state = np.zeros((1, 5))
    given = (state, state) if cell.states > 1 else state
    new = cell(np.ones((2, 3)), given)
    assert (new[0] if cell.states > 1 else new).shape == (2, 5)
    wrong = np.zeros((2, 4))
    with pytest.raises(ad.ShapeError):
        cell(np.ones((2, 3)), (wrong, wrong) if cell.states > 1 else wrong)
