"""Distributions: SciPy's values inside and outside of the support, gradients by data and parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import stats
from adjoint.scipy.stats.distribution import Discrete, Distribution
from adjoint.testing import check_grads

SHAPES = {
    "skewnorm": (1.5,),
    "lognorm": (0.7,),
    "t": (3.5,),
    "gamma": (2.5,),
    "invgamma": (2.5,),
    "chi2": (3.0,),
    "beta": (2.0, 3.5),
    "weibull_min": (1.7,),
    "pareto": (2.5,),
    "poisson": (2.5,),
    "binom": (5.0, 0.3),
    "bernoulli": (0.3,),
    "geom": (0.3,),
    "nbinom": (3.0, 0.4),
}
EVERY = {name: d for name, d in vars(stats).items() if isinstance(d, Distribution)}
CONTINUOUS = [n for n, d in EVERY.items() if not isinstance(d, Discrete)]
DISCRETE = [n for n, d in EVERY.items() if isinstance(d, Discrete)]
PLACES = np.array([-3.0, -0.7, 0.0, 0.3, 0.8, 1.4, 5.0, np.nan])
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 1.5])
PROBABILITIES = ("cdf", "sf", "logcdf", "logsf")


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("method", ["logpdf", "pdf", *PROBABILITIES])
def test_values(name, method):
    ours, theirs, shapes = (
        getattr(EVERY[name], method),
        getattr(getattr(scipy.stats, name), method),
        SHAPES.get(name, ()),
    )
    for rest in ((), (0.3, 1.7)):
        # The tail of skewnorm is a difference; SciPy integrates there.
        assert_allclose(ours(PLACES, *shapes, *rest), theirs(PLACES, *shapes, *rest), rtol=1e-8, atol=1e-14)
        assert_allclose(EVERY[name](*shapes, *rest).__getattr__(method)(0.8), theirs(0.8, *shapes, *rest), rtol=1e-8)
    assert np.isnan(ours(0.5, *shapes, scale=-1.0))


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("method", ["logpmf", "pmf", *PROBABILITIES])
def test_probabilities_of_counts(name, method):
    ours, theirs, shapes = getattr(EVERY[name], method), getattr(getattr(scipy.stats, name), method), SHAPES[name]
    for rest in ((), (1,)):
        assert_allclose(ours(COUNTS, *shapes, *rest), theirs(COUNTS, *shapes, *rest), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_gradients(name):
    d, shapes, x = EVERY[name], SHAPES.get(name, ()), np.array([0.35, 0.8]) + (name == "pareto")
    check_grads(lambda x, loc, scale, *p: d.logpdf(x, *p, loc, scale), (x, 0.1, 0.9, *shapes))
    check_grads(lambda x, loc, scale, *p: d.cdf(x, *p, loc, scale), (x, 0.1, 0.9, *shapes))
    for method in (d.sf, d.logcdf, d.logsf):
        check_grads(method, (x, *shapes))
    slope = ad.vjp(lambda x: d.cdf(x, *shapes), x)[1](np.ones(2))[0]
    assert_allclose(slope, d.pdf(x, *shapes), rtol=1e-9)


@pytest.mark.parametrize("name", DISCRETE)
def test_gradients_by_the_parameters_of_counts(name):
    *fixed, p = SHAPES[name]
    check_grads(lambda p: EVERY[name].logpmf(np.array([1.0, 1.0]), *fixed, p), (p,))
    check_grads(lambda p: EVERY[name].logsf(np.array([1.0, 2.0]) - (name == "bernoulli") * 2, *fixed, p), (p,))


def test_the_number_of_successes_of_nbinom_is_a_shape():
    check_grads(lambda n, p: stats.nbinom.logcdf(np.array([0.0, 3.0]), n, p), (2.5, 0.4))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_outside_of_the_support_probabilities_do_not_move_with_the_shapes(name):
    d, shapes = EVERY[name], SHAPES.get(name, ())
    x = np.array([-3.1, -0.71, 0.31, 0.81, 5.1])
    for k in range(len(shapes)):
        slope = ad.grad(lambda p, k=k: np.sum(d.cdf(x, *shapes[:k], p, *shapes[k + 1 :])))
        assert np.isfinite(slope(shapes[k]))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_outside_of_the_support_there_is_no_slope(name):
    d, shapes = EVERY[name], SHAPES.get(name, ())
    x = np.array([-3.1, -0.71, 0.31, 0.81, 5.1])
    gradient = ad.vjp(lambda x: d.pdf(x, *shapes), x)[1](np.ones(5))[0]
    assert np.isfinite(gradient).all()
    assert (gradient[d.pdf(x, *shapes) == 0] == 0).all()


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    half, mean, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(2, 4, 3))
    cov = half @ half.T + np.eye(3)
    ours, theirs = stats.multivariate_normal, scipy.stats.multivariate_normal
    for places in (x, x[0], x[0, 0]):
        assert_allclose(ours.logpdf(places, mean, cov), theirs.logpdf(places, mean, cov))
        assert_allclose(ours(mean, np.diag(cov)).pdf(places), theirs(mean, np.diag(cov)).pdf(places))
    assert_allclose(ours.logpdf(x[0, 0], 0.0, 2.0), theirs.logpdf(x[0, 0], 0.0, 2.0))
    check_grads(ours.logpdf, (x[0], mean, cov))


def test_dirichlet():
    alpha = np.array([1.5, 2.0, 3.0])
    for x in ([0.2, 0.3, 0.5], [0.2, 0.3]):
        assert_allclose(stats.dirichlet(alpha).pdf(x), scipy.stats.dirichlet(alpha).pdf(x))
    check_grads(stats.dirichlet.logpdf, (np.array([0.2, 0.3]), alpha))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda t: stats.norm.logpdf(t, size=3), ad.ArgumentError, "loc, scale"),
        (lambda t: stats.gamma.logpdf(t), ad.ArgumentError, "a, loc, scale"),
        (lambda t: stats.poisson.logpmf(t, 2.0), ad.NotDifferentiableError, "counts"),
        (lambda t: stats.poisson.logpdf(1, 2.0), ad.NotSupportedError, "logpmf"),
        (lambda t: stats.dirichlet.logpdf(t, np.ones(5)), ad.ShapeError, "alpha"),
        (lambda t: stats.multivariate_normal.logpdf(t, np.ones(3), np.eye(2)), ad.ShapeError, "dimensions"),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(ad.tensor([0.5, 0.5], requires_grad=True))


def by_method(x):
    cdf, quantile = scipy.stats.norm.cdf, scipy.stats.norm.ppf
    frozen = scipy.stats.norm(x[0], 2.0)
    density = frozen.logpdf
    return cdf(x[0]) * quantile(x[1]) + density(x[2])


def test_methods_that_were_given_names():
    x = np.array([0.3, 0.6, 1.2])
    direct = lambda x: stats.norm.cdf(x[0]) * scipy.special.ndtri(x[1]) + stats.norm.logpdf(x[2], x[0], 2.0)
    assert_allclose(ad.grad(by_method)(x), ad.grad(direct)(x), rtol=1e-12)
    samples = np.stack([x, 0.9 * x])
    assert_allclose(ad.vmap(by_method)(samples), [by_method(sample) for sample in samples], rtol=1e-12)
    assert_allclose(ad.vmap(ad.grad(by_method))(samples), [ad.grad(by_method)(s) for s in samples], rtol=1e-12)
