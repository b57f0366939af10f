"""Random draws with live parameters: NumPy's numbers, with histories."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.twin.standins import find, live, plainly

X = np.array([0.3, 1.2])


def leaf(x=X):
    return ad.tensor(x, requires_grad=True) * 1.0


def test_draws_refuse_what_has_no_derivative():
    rng = np.random.default_rng(0)
    for draw, args in [(rng.gamma, (leaf()[1],)), (rng.poisson, (leaf()[1],)), (rng.binomial, (3, leaf()[0]))]:
        with pytest.raises(ad.NotDifferentiableError, match=draw.__name__):
            find(draw)(*args)
    with pytest.raises(ad.NotDifferentiableError, match="probabilities"):
        find(rng.choice)([1, 2], p=leaf(np.array([0.5, 0.5])))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *(("normal", (0.3, 1.2)), ("uniform", (0.3, 1.2)), ("laplace", (0.3, 1.2)), ("logistic", (0.3, 1.2))),
        *(("gumbel", (0.3, 1.2)), ("lognormal", (0.3, 0.5)), ("exponential", (1.2,)), ("rayleigh", (1.2,))),
        *(("pareto", (3.0,)), ("weibull", (1.5,)), ("power", (2.0,)), ("triangular", (0.1, 0.5, 2.0))),
    ],
)
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_draws_are_numpys(name, args, kind):
    wanted = getattr(kind(5), name)(*args, size=4)
    got = find(getattr(kind(5), name))(*(leaf(a) for a in args), size=4)
    np.testing.assert_allclose(plainly(got), wanted, rtol=1e-12)
    single = find(getattr(kind(5), name))(*(leaf(a) for a in args))
    np.testing.assert_allclose(plainly(single), getattr(kind(5), name)(*args), rtol=1e-12)
    assert live(got)
