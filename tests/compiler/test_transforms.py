"""Transforms inside of compiled functions, and of compiled functions: the plain result, natively where that can be."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy.integrate import quad, solve_ivp
from adjoint.scipy.optimize import brentq, minimize, root

X, V = np.linspace(0.5, 1.5, 6), np.ones(6)
N, SCIPYS = "native: ", "runs as it is, because a solver of SciPy's needs numbers"
PATTERNS = "runs as it is, because a sparse Jacobian is a matrix of SciPy's"


def energy(x):
    return np.sum(x[1:] * np.sin(x[:-1])) + np.sum(x**3)


def residuals(x):
    return np.concatenate([np.sin(x[:-1]) * x[1:], x**2])


def stepped(y, count=20, h=0.05):
    f = lambda y: -y * np.sin(y)
    for _ in range(count):
        a = f(y)
        b = f(y + h / 2 * a)
        c = f(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))
    return y


def decayed(k):
    return np.sum(solve_ivp(lambda t, y: -k * y, (0, 1), np.ones(3), rtol=1e-6).y[:, -1])


def square_root(a):
    return root(lambda z, a: z**2 - a, np.ones(6), (a,), tol=1e-13).x


INSIDE = {
    "jacobian": (ad.jacobian(residuals), (X,), N),
    "jacfwd": (ad.jacfwd(residuals), (X,), N),
    "hessian": (ad.hessian(energy), (X,), N),
    "hvp": (lambda x, v: ad.hvp(energy, x, v), (X, V), N),
    "linearize": (lambda x, v: ad.linearize(residuals, x)[1](v), (X, V), N),
    "jvp": (lambda x, v: ad.jvp(residuals, (x,), (v,)), (X, V), N),
    "vjp": (lambda x: ad.vjp(residuals, x)[1](np.ones(11)), (X,), N),
    "vmap of a gradient": (ad.vmap(ad.grad(energy)), (np.stack([X, X + 1]),), N),
    "a gradient's gradient": (ad.grad(lambda x: np.sum(ad.grad(energy)(x) ** 2)), (X,), N),
    "fixed steps": (ad.grad(lambda x: np.sum(stepped(x))), (X,), N),
    "fixed_point": (ad.grad(lambda a: ad.fixed_point(lambda z, a: 0.5 * (z + a / z), 1.0, a)), (2.0,), N),
    "sparse_jacobian": (lambda x: ad.sparse_jacobian(residuals)(x).toarray(), (X,), PATTERNS),
    "sparse_hessian": (lambda x: ad.sparse_hessian(energy)(x).toarray(), (X,), PATTERNS),
    "root": (square_root, (X,), SCIPYS),
    "a root's gradient": (ad.grad(lambda a: np.sum(square_root(a))), (X,), SCIPYS),
    "brentq": (lambda a: brentq(lambda z: z**3 - a, 0.0, 3.0), (1.3,), SCIPYS),
    "quad's gradient": (ad.grad(lambda a: quad(lambda x: np.exp(-a * x * x), 0.0, 2.0)[0]), (1.3,), SCIPYS),
    "minimize": (lambda a: minimize(lambda x: np.sum((x - a) ** 2), np.zeros(6)).x, (X,), SCIPYS),
    "solve_ivp": (decayed, (1.3,), SCIPYS),
    "solve_ivp's gradient": (ad.grad(decayed), (1.3,), SCIPYS),
}


@pytest.mark.parametrize("name", INSIDE)
def test_transforms_inside(name):
    f, args, said = INSIDE[name]
    compiled = ad.compile(f, wait=True)
    for factor in (1.0, 1.1, 1.2):
        given = tuple(x * factor for x in args)
        alike(compiled(*given), f(*given))
    assert said in compiled.explain()


OF = {
    "grad": lambda f: ad.grad(lambda x: np.sum(f(x))),
    "jacobian": ad.jacobian,
    "jacfwd": ad.jacfwd,
    "hessian": lambda f: ad.hessian(lambda x: np.sum(f(x))),
    "hvp": lambda f: lambda x: ad.hvp(lambda y: np.sum(f(y)), x, V),
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (V,))[1],
    "linearize": lambda f: lambda x: ad.linearize(f, x)[1](V),
    "vmap": lambda f: lambda x: ad.vmap(f)(np.stack([x, x + 1])),
    "sparse_jacobian": lambda f: lambda x: ad.sparse_jacobian(f)(x).toarray(),
    "sparse_hessian": lambda f: lambda x: ad.sparse_hessian(lambda y: np.sum(f(y)))(x).toarray(),
    "solve_ivp": lambda f: ad.grad(lambda k: np.sum(solve_ivp(lambda t, y: f(y)[:6] - k * y, (0, 0.1), X).y)[()]),
}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", OF)
def test_transforms_of_compiled_functions(name, again):
    compiled = ad.compile(residuals, wait=True)
    args = (0.7,) if name == "solve_ivp" else (X,)
    expected, found = OF[name](residuals), OF[name](compiled)
    found = ad.compile(found, wait=True) if again else found
    for factor in (1.0, 1.1, 1.2):
        given = tuple(x * factor for x in args)
        alike(found(*given), expected(*given))
    if again and not name.startswith(("sparse", "solve")):
        assert N in found.explain()


def alike(found, expected):
    found, expected = (ad.core.objects.trees.flatten(x)[0] for x in (found, expected))
    assert [(np.shape(x), np.asarray(x).dtype) for x in found] == [(np.shape(x), np.asarray(x).dtype) for x in expected]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", [lambda x: np.sum(np.maximum(x, 0.0)), lambda x: np.sum(x**0)])
def test_second_derivatives_that_are_zero_may_be_written(f):
    second = ad.compile(ad.hessian(f), wait=True)
    for _ in range(3):
        found = second(np.ones(3))
        found[0, 1] += 1.0
        assert found.sum() == 1.0


@pytest.mark.parametrize("f", [lambda x: np.clip(x, -4.0, 4.0), lambda x: np.maximum(x, 0.0)])
def test_derivatives_by_a_number_are_numbers(f):
    for derivative in (ad.grad(f), lambda x: ad.jvp(f, (x,), (1.0,))[1], lambda x: ad.vjp(f, x)[1](1.0)[0]):
        native = ad.compile(derivative, wait=True)
        assert [type(native(np.float64(x))) for x in (0.5, 1.0, 7.0)] == [np.float64] * 3
