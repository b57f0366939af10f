"""Every function of `numpy.polynomial`: NumPy's values with right derivatives, or a refusal; never other numbers."""

from itertools import combinations

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import adjoint as ad
from adjoint.core.objects.trees import flatten

FAMILIES = {"poly": polynomial, "cheb": chebyshev, "leg": legendre, "lag": laguerre, "herme": hermite_e}
FAMILIES["herm"] = hermite
CLASSES = [polynomial.Polynomial, chebyshev.Chebyshev, legendre.Legendre, laguerre.Laguerre, hermite.Hermite]
CLASSES.append(hermite_e.HermiteE)

RNG = np.random.default_rng(0)
C, D, C2, C3 = (RNG.normal(size=shape) for shape in (4, 3, (4, 3), (3, 3, 3)))
X, Y, X2 = (RNG.uniform(-1, 1, shape) for shape in (3, 3, (2, 3)))
POINTS = RNG.uniform(-1, 1, 7)

CALLS = {
    "val": [(X, C), (X, C2), (X2, C), (X2, C2), (X, C3), (X2, C3), (0.3, C), (0.3, C2), (X, C2, False)],
    "val2d": [(X, Y, C2), (X2, X2[::-1], C2), (X, Y, C3)],
    "grid2d": [(X, Y, C2), (X, X2, C2), (X, Y, C3)],
    "valnd": [((X, Y), C2), ((X, Y, X[::-1]), C3)],
    "val3d": [(X, Y, X[::-1], C3)],
    "grid3d": [(X, Y, X[::-1], C3)],
    "valfromroots": [(X, C), (X, C2), (X2, C2), (0.3, C), (X, C2, False)],
    "pow": [(D, 3)],
    "der": [(C,), (C2,), (C2, 2), (C2, 1, 2.0, 1)],
    "int": [(C,), (C2,), (C2, 2), (C2, 1, [0.5], 0.1, 2.0, 1)],
    "vander": [(X, 3), (X2, 2), (0.3, 2)],
    "vander2d": [(X, Y, [2, 1])],
    "vander3d": [(X, Y, X, [1, 2, 1])],
    "fit": [(POINTS, POINTS**2 + POINTS, 2), (POINTS, np.stack([POINTS**2, POINTS], axis=1), 2)],
    "line": [(0.3, 0.4)],
    "weight": [(X,)],
} | {name: [(C, D)] for name in ("add", "sub", "mul", "div")}
ROWS = [(C,)]  # mulx, roots, companion, trim, fromroots, 2poly, poly2…


def calls():
    for prefix, module in FAMILIES.items():
        for name in module.__all__:
            f = getattr(module, name)
            if callable(f) and not isinstance(f, type) and not name.endswith(("gauss", "interpolate", "pts1", "pts2")):
                for k, args in enumerate(CALLS.get(name.removeprefix(prefix), ROWS)):
                    yield pytest.param(f, args, id=f"{name}-{k}")


def vary(f, args, numbers):
    """`f` as a function of the arguments numbered so, with one array as its value."""

    def function(*given):
        whole = list(args)
        for i, x in zip(numbers, given, strict=True):
            whole[i] = x
        return flatten(f(*whole))[0]

    return function, [np.asarray(args[i], float) for i in numbers]


def differences(f, xs, ts, h=1e-6):
    up, down = (f(*(x + s * t for x, t in zip(xs, ts, strict=True))) for s in (h, -h))
    return [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(up, down, strict=True)]


def eagerly(f, xs, weights):
    """The values, and the gradients of a sum of them."""
    given = [ad.tensor(x, requires_grad=True) for x in xs]
    outs = f(*given)
    sum(np.sum(out * w) for out, w in zip(outs, weights, strict=True)).backward()
    return [ad.stop_gradient(out).numpy() for out in outs], [t.grad.numpy() for t in given]


def in_transform(f, xs, weights):
    values = ad.vmap(lambda *xs: tuple(f(*xs)))(*(np.stack([x, x]) for x in xs))

    def loss(*xs):
        return sum(np.sum(out * w) for out, w in zip(f(*xs), weights, strict=True))

    return [v[1] for v in values], ad.grad(loss, argnums=tuple(range(len(xs))))(*xs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", [eagerly, in_transform])
@pytest.mark.parametrize(("f", "args"), list(calls()))
def test_numpys_values_or_a_refusal(f, args, way):
    floats = [i for i, x in enumerate(args) if isinstance(x, float) or hasattr(x, "dtype")]
    for count in range(1, len(floats) + 1):
        for numbers in combinations(floats, count):
            function, xs = vary(f, args, numbers)
            try:
                right = [np.asarray(v) for v in function(*xs)]
            except ValueError:
                continue  # NumPy does not take these together
            weights = [np.cos(1.0 + np.arange(v.size)).reshape(v.shape) for v in right]
            try:
                values, gradients = way(function, xs, weights)
            except ad.AdjointError:
                assert not f.__name__.endswith("val") or numbers != (0,), "points, with coefficients that are plain"
                continue
            for value, expected in zip(values, right, strict=True):
                assert np.shape(value) == expected.shape
                np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
            ts = [np.sin(2.0 + np.arange(x.size)).reshape(x.shape) for x in xs]
            slope = sum(np.sum(d * w) for d, w in zip(differences(function, xs, ts), weights, strict=True))
            found = sum(np.sum(g * t) for g, t in zip(gradients, ts, strict=True))
            np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", CLASSES)
def test_polynomials_as_objects(kind):
    p = kind(C, domain=[-2.0, 3.0])
    for x in (X, X2, np.float64(0.3)):
        np.testing.assert_allclose(ad.jvp(p, (x,), (np.ones_like(x),))[1], p.deriv()(x), rtol=1e-9)
        np.testing.assert_allclose(ad.grad(lambda x: np.sum(p(x) ** 2))(x), 2 * p(x) * p.deriv()(x), rtol=1e-9)
    t = ad.tensor(X, requires_grad=True)  # outside of transforms, where NumPy takes its numbers out
    for wrong in (lambda: p(t), lambda: p * t, lambda: t * p, lambda: p + t, lambda: kind(t)):
        with pytest.raises((ad.AdjointError, TypeError)):
            wrong()


def test_only_polynomials_take_a_tensor_for_an_array():
    t = ad.tensor(X)
    assert not isinstance(t, np.ndarray)
    assert isinstance(t, ad.Tensor)
    assert t.__class__ is ad.Tensor


def test_a_tensor_becomes_one_of_another_class_as_any_object_does():
    t = ad.tensor(X)
    t.__class__ = ad.nn.Parameter
    assert type(t) is ad.nn.Parameter


T = np.linspace(0.0, 1.0, 6)
KINDS = (np.polynomial.Polynomial, np.polynomial.Chebyshev, np.polynomial.Legendre, np.polynomial.HermiteE)
FITS = {
    "fit": lambda x, kind: kind.fit(T, np.sin(T * x[0]) + x[1], 2)(x[2]),
    "fit at moving places": lambda x, kind: kind.fit(T * x[2], T**2 + x[0], 2, w=x[1] + T)(0.3),
    "interpolate": lambda x, kind: np.polynomial.Chebyshev.interpolate(lambda t: np.sin(t * x[0]), 4)(x[1]),
    "fromroots": lambda x, kind: kind.fromroots(x)(0.4),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("name", FITS)
def test_class_methods(name, kind):
    x, step = np.array([0.31, 0.62, 1.23]), 1e-5
    f = lambda x: FITS[name](x, kind)
    around = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ad.grad(f)(x), around, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ad.jacfwd(f)(x), around, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ad.compile(ad.grad(f))(x), around, rtol=1e-6, atol=1e-8)


def test_class_methods_by_their_place():
    """``np.polynomial.Chebyshev.fit`` is looked up in a module whose functions are not followed."""
    f = lambda x: np.polynomial.Chebyshev.fit(T, np.sin(T) * x, 2)(0.3)
    assert ad.grad(f)(2.0) == pytest.approx(f(1.0), rel=1e-12)
