"""Random numbers in compiled functions: new ones at each call, and those that the plain function draws."""

from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

X = np.arange(1.0, 5.0)


@pytest.fixture(params=["numpy", "native"])
def alike(request):
    """Runs a function that is made for a generator, plain and compiled, and compares results and generators."""

    def run(make, *calls, recorded=True):
        plain_rng, rng = np.random.default_rng(7), np.random.default_rng(7)
        plain, made = make(plain_rng), ad.compile(make(rng), wait=True, backend=request.param)
        for args in calls:
            expected, found = plain(*args), made(*args)
            assert type(found) is type(expected)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
            assert rng.bit_generator.state == plain_rng.bit_generator.state
        assert bool(made._reasons) is not recorded
        return made

    return run


DRAWS = {
    "normal": lambda rng, x: rng.normal(size=4) * x,
    "of arrays": lambda rng, x: rng.normal(x, 0.5) + rng.uniform(0.0, x),
    "numbers": lambda rng, x: rng.normal() * x + rng.random(),
    "whole numbers": lambda rng, x: x[rng.integers(0, 4, size=7)],
    "permutation": lambda rng, x: x[rng.permutation(4)],
    "choice": lambda rng, x: rng.choice(x, size=3, replace=False),
    "keywords": lambda rng, x: rng.gamma(shape=2.0, scale=x),
    "dtype": lambda rng, x: rng.standard_normal(4, dtype=np.float32) * np.float32(2.0),
    "nobody uses the first": lambda rng, x: [rng.normal(size=3), rng.normal(size=4) * x][1],
    "several": lambda rng, x: np.sort(rng.normal(size=4)) * rng.exponential(size=4) + rng.poisson(3.0, 4) * x,
}


@pytest.mark.parametrize("name", list(DRAWS))
def test_draws(alike, name):
    alike(lambda rng: lambda x: DRAWS[name](rng, x), *[(X + k,) for k in range(5)])


def test_questions_about_what_was_drawn(alike):
    def make(rng):
        def f(x):
            u = rng.normal(size=3)
            if np.sum(u) > 0:
                return x * np.sum(u)
            return x - rng.normal(size=4)

        return f

    made = alike(make, *[(X,)] * 12)
    assert sum(map(len, made._specializations.values())) == 2


def test_generators_in_attributes_containers_and_arguments(alike):
    class Sampler:
        def __init__(self, rng):
            self.rng, self.all = rng, {"one": [rng]}

        def __call__(self, x):
            return self.rng.normal(x) + self.all["one"][0].normal(x)

    alike(Sampler, *[(X,)] * 4)

    class Noisy(nn.Module):
        def __init__(self, rng):
            self.rng, self.drop = rng, nn.Dropout(0.5, rng=rng)

        def forward(self, x):
            return 1.0 * self.drop(x) + self.rng.normal(size=4)

    alike(Noisy, *[(X,)] * 4)
    rngs = [np.random.default_rng(3) for _ in range(2)]
    f = ad.compile(lambda x, rng: x + rng.normal(size=4), wait=True)
    for _ in range(4):
        np.testing.assert_allclose(f(X, rngs[0]), X + rngs[1].normal(size=4), rtol=1e-14)
    assert not f._reasons


def test_an_array_beside_the_function_that_changes(alike):
    loc = np.zeros(4)

    def make(rng):
        return lambda x: x + rng.normal(loc, 0.1)

    plain_rng, rng = np.random.default_rng(1), np.random.default_rng(1)
    plain, made = make(plain_rng), ad.compile(make(rng), wait=True)
    for k in range(4):
        loc[:] = k
        np.testing.assert_allclose(made(X), plain(X), rtol=1e-14)


def test_what_is_no_draw_runs_as_it_is(alike):
    def shuffled(rng):
        def f(x):
            y = x.copy()
            rng.shuffle(y)
            return y

        return f

    alike(shuffled, (X,), (X,), recorded=False)
    alike(lambda rng: lambda x: rng.normal(size=4, loc=0.0) + len(rng.bytes(3)), (X,), (X,), recorded=False)
    alike(lambda rng: lambda x: x * (rng.choice(["a", "b"]) == "a"), (X,), (X,), recorded=False)
    out = np.zeros(4)
    alike(lambda rng: lambda x: x + rng.random(out=out), (X,), (X,), recorded=False)


def test_a_step_with_noise_learns_the_same():
    found = []
    for compiled in (lambda f: f, lambda f: ad.compile(f, wait=True)):
        rng = np.random.default_rng(0)
        mean = ad.tensor(np.zeros(3), requires_grad=True)
        spread = ad.tensor(np.zeros(3), requires_grad=True)
        adam = ad.optim.Adam([mean, spread], lr=0.1)

        @compiled
        def step(x):
            adam.zero_grad()
            z = mean + np.exp(spread) * rng.normal(size=3)
            loss = np.sum((z - x) ** 2) - np.sum(spread)
            loss.backward(retain_graph=False)
            adam.step()
            return loss

        losses = [step(X[:3]).item() for _ in range(30)]
        found.append([*losses, *mean.numpy(), *spread.numpy()])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_layers_that_draw(backend):
    x = np.ones(50)

    def draws(wrap):
        layer = nn.Dropout(0.5, rng=3)
        f = wrap(lambda x: layer(x))
        return [f(x).copy() for _ in range(4)]

    plain, compiled = draws(lambda f: f), draws(partial(ad.compile, wait=True, backend=backend))
    np.testing.assert_array_equal(plain, compiled)
    assert not np.array_equal(compiled[0], compiled[1])
