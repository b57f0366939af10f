"""SciPy's special functions: derivatives at known points, at the edges of their domains, and of second order."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.core.op import Op
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.ops.special import functions as ours
from adjoint.ops.special.waves import bessel

OPS = {name: op for module in (ours, bessel) for name, op in vars(module).items() if isinstance(op, Op) and op.samples}
INF = math.inf
EULER = 0.5772156649015329


def draw(*shape, low=-2.0, high=2.0):
    return np.random.default_rng(7).uniform(low, high, shape)


def cases():
    for name, op in sorted(OPS.items()):
        for number, (args, _) in enumerate(op.samples(draw)):
            for i, rule in enumerate(op.rules):
                if not isinstance(rule.function, NotDifferentiable):
                    yield pytest.param(op, args, i, id=f"{name}-{number}-{op.inputs[i]}")


@pytest.mark.parametrize(("op", "args", "i"), list(cases()))
def test_first_and_second_derivatives_match_central_differences(op, args, i):
    def f(x):
        return op(*args[:i], x, *args[i + 1 :])

    x, step = np.asarray(args[i]), 1e-6
    weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))
    direction = np.sin(1 + np.arange(x.size)).reshape(x.shape)

    def first(x):
        return ad.grad(lambda y: np.sum(f(y) * weights))(x)

    def along(g):
        return (np.sum(g(x + step * direction)) - np.sum(g(x - step * direction))) / (2 * step)

    assert np.sum(first(x) * direction) == pytest.approx(along(lambda y: f(y) * weights), rel=2e-6, abs=1e-7)
    twice = ad.grad(lambda y: np.sum(first(y) * direction))(x)
    assert np.sum(twice * direction) == pytest.approx(along(lambda y: first(y) * direction), rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("name", sorted(OPS))
def test_values_and_dtypes_are_scipys(name):
    op = OPS[name]
    args = [np.asarray(a, np.float32) if isinstance(a, np.ndarray) else a for a in op.samples(draw)[0].args]
    expected = op.forward(*args)
    leaf = ad.Tensor(args[-1], requires_grad=True)
    middle = leaf * 1
    middle.retain_grad()
    result = op(*args[:-1], middle)
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.dtype == expected.dtype
    result.sum().backward()
    assert middle.grad.dtype == np.float32


def gradients(f, *args):
    tensors = [ad.tensor(np.asarray(a, float), requires_grad=True) for a in args]
    with np.errstate(all="ignore"):
        np.sum(f(*tensors)).backward()
    return [t.grad.numpy() for t in tensors]


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (special.erf, [[0.0]], [[2 / math.sqrt(math.pi)]]),
        (special.erfinv, [[0.0, 1.0]], [[math.sqrt(math.pi) / 2, INF]]),
        (special.ndtr, [[0.0]], [[1 / math.sqrt(2 * math.pi)]]),
        (special.log_ndtr, [[0.0, -1e3]], [[math.sqrt(2 / math.pi), 1000.000999998]]),
        (special.expit, [[-1000.0, 0.0, 1000.0]], [[0.0, 0.25, 0.0]]),
        (special.logit, [[0.5]], [[4.0]]),
        (special.gammaln, [[0.0, 1.0]], [[-INF, -EULER]]),
        (special.digamma, [[1.0]], [[math.pi**2 / 6]]),
        (special.gamma, [[1.0, 2.0]], [[-EULER, 1 - EULER]]),
        (special.xlogy, [[0.0, 0.0, 2.0], [0.0, 3.0, 2.0]], [[0.0, math.log(3), math.log(2)], [0.0, 0.0, 1.0]]),
        (special.xlog1py, [[0.0, 2.0], [-1.0, 1.0]], [[0.0, math.log(2)], [0.0, 1.0]]),
        (special.entr, [[0.0, 1.0]], [[INF, -1.0]]),
        (special.rel_entr, [[1.0], [2.0]], [[1 - math.log(2)], [-0.5]]),
        (special.kl_div, [[1.0], [2.0]], [[-math.log(2)], [0.5]]),
        (special.exprel, [[0.0, 1e-9]], [[0.5, 0.5]]),
        (special.i0, [[0.0]], [[0.0]]),
        (special.i1, [[0.0]], [[0.5]]),
        (special.j1, [[0.0]], [[0.5]]),
        (special.ellipk, [[0.0]], [[math.pi / 8]]),
        (special.ellipe, [[0.0]], [[-math.pi / 8]]),
        (special.spence, [[1.0]], [[-1.0]]),
    ],
)
def test_derivatives_known_in_closed_form(function, args, expected):
    for got, want in zip(gradients(function, *args), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_polygamma_is_the_derivative_of_the_one_before():
    x = np.array([0.7, 1.0, 2.5])
    for n in range(4):
        np.testing.assert_allclose(ad.polygamma(n, x), special.polygamma(n, x), rtol=1e-12)
        slope = ad.grad(lambda y, n=n: np.sum(ad.polygamma(n, y)))(x)
        np.testing.assert_allclose(slope, special.polygamma(n + 1, x), rtol=1e-12)


def test_multigammaln_matches_scipy():
    assert ad.multigammaln(3.5, 3) == pytest.approx(special.multigammaln(3.5, 3))
    assert ad.grad(ad.multigammaln)(3.5, 3) == pytest.approx(sum(special.digamma(3.5 - i / 2) for i in range(3)))


@pytest.mark.parametrize("function", [special.exp2, special.expm1, special.log1p, special.cbrt, special.jn])
def test_scipys_other_names_for_the_same_thing_are_answered(function):
    x = np.array([0.3, 0.5])
    args = (1, x) if function is special.jn else (x,)
    tensor = ad.tensor(x, requires_grad=True)
    result = function(*args[:-1], tensor)
    np.testing.assert_allclose(result.numpy(), function(*args))
    result.sum().backward()
    assert np.all(tensor.grad.numpy() != 0)


def test_a_shape_parameter_has_no_derivative_and_says_so():
    with pytest.raises(ad.NotDifferentiableError, match="order"):
        ad.grad(lambda v: special.jv(v, 1.0))(0.5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"axis": 0},
        {"axis": 1, "keepdims": True},
        {"axis": 1, "b": np.array([1.0, 0.0, 2.0])},
        {"axis": 0, "b": np.array([[-1.0], [0.5]]), "return_sign": True},
        {"return_sign": True},
    ],
)
def test_logsumexp_has_scipys_arguments(settings):
    a = np.array([[0.3, -1.2, 2.0], [700.0, 800.0, 0.1]])
    want = special.logsumexp(a, **settings)
    got = ad.logsumexp(ad.tensor(a), **settings)
    for g, w in zip(
        got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True
    ):
        np.testing.assert_allclose(np.asarray(g), w)
        assert g.shape == np.shape(w)


def test_weights_of_logsumexp_have_gradients():
    a, b = gradients(lambda a, b: ad.logsumexp(a, b=b), [0.0, 0.0], [1.0, 3.0])
    np.testing.assert_allclose(a, [0.25, 0.75])
    np.testing.assert_allclose(b, [0.25, 0.25])


def test_scipy_is_imported_only_when_used():
    program = """
import sys, numpy as np, adjoint as ad
t = ad.tensor([1.0], requires_grad=True)
ad.relu(t), ad.softmax(t), ad.sigmoid(t)
assert "scipy" not in sys.modules
import scipy.special
scipy.special.erf(t).backward()
assert t.grad is not None
"""
    subprocess.run([sys.executable, "-c", program], check=True)
