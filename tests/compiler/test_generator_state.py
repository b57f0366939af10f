"""Generators go on as in the function that made them, whoever asks for the next value."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

net = nn.Sequential(nn.Linear(3, 2, rng=1), nn.Tanh(), nn.Linear(2, 1, rng=2))
scale = 2.0
X = np.array([0.3, -0.2, 0.5])


def of_parameters(v):
    return np.sum(v**2) * sum(np.sum(p.data**2) for p in net.parameters())


def of_names(v):
    return np.sum(v**2) * len(dict(net.named_parameters()))


def of_a_loop(v):
    count = 0
    for module in net.modules():
        for p in module.parameters():
            count += p.size
    return np.sum(v**2) * count


def of_a_generator_that_is_handed_on(v):
    return np.sum(nn.utils.parameters_to_vector(p.data * scale * v[0] for p in net.parameters()))


def of_own_generators(v):
    def squares():
        got = yield 0.0
        for x in v:
            got = yield x * x * (got or 1.0) * scale
        return 3.0

    def both():
        return (yield from squares())

    going = both()
    total = next(going)
    try:
        while True:
            total = total + going.send(scale)
    except StopIteration as end:
        return total * end.value


def of_types(v):
    return np.sum(v) * sum((type(x) is np.ndarray) + 2 * isinstance(x, float) for x in (part for part in (v, v[0])))


def of_a_closed_one(v):
    seen = []

    def parts():
        try:
            yield v[0]
            yield v[1]
        finally:
            seen.append(scale)

    going = parts()
    first = next(going)
    going.close()
    return first * seen[0]


def of_a_thrown_error(v):
    def parts():
        try:
            yield v[0]
        except ValueError as error:
            yield v[1] * len(error.args) * scale

    going = parts()
    return next(going) * going.throw(ValueError(1, 2))


PROGRAMS = [of_parameters, of_names, of_a_loop, of_a_generator_that_is_handed_on, of_own_generators, of_types,
            of_a_closed_one, of_a_thrown_error]  # fmt: skip


@pytest.mark.parametrize("inside", [lambda f: f, ad.grad, lambda f: lambda v: ad.jvp(f, (v,), (v,))[1]])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_functions_give_what_plain_ones_give(program, inside, monkeypatch):
    def whole(v):
        return inside(program)(v)

    compiled = ad.compile(whole, wait=True)
    for k in range(4):
        monkeypatch.setitem(globals(), "scale", 2.0 + k // 2)
        plain, found = np.asarray(whole(X + k)), np.asarray(compiled(X + k))
        np.testing.assert_allclose(found, plain, rtol=1e-13)
        assert np.any(plain)
