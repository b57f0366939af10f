"""Rules of users' own that make arrays, call SciPy, or use constants of the program around them, in every mode."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, linalg, optimize
from scipy.sparse import linalg as sparse

import adjoint as ad

X = np.array([1.0, 2.0, 3.0])


def doubled(x, t):
    """``2 x t``, one element after another."""
    out = np.zeros(3)
    for i in range(3):
        out[i] = 2 * x[i] * t[i]
    return out


@ad.custom_jvp
def forward(x):
    return x**2


@ad.custom_vjp
def reverse(x):
    return x**2


forward.defjvp(lambda x, t: (linalg.norm([2.0]) / 2 * x[0] ** 2, doubled(x[0], t[0])))
reverse.defvjp(lambda x: (doubled(x, x) / linalg.norm([x[0], 0.0]) * x[0] / 2, x), lambda x, g: (doubled(x, g),))


def one_with(kind, x):
    """The square, by a rule that uses an array which was made around it."""
    c = np.zeros(3)
    c += 2.0
    if kind == "jvp":
        f = ad.custom_jvp(lambda x: x**2)
        f.defjvp(lambda x, t: (x[0] ** 2, c * x[0] * t[0]))
    elif kind == "root":
        f = ad.implicit_root(lambda x: x**2, lambda z, x: (z - x**2) * c)
    elif kind == "solve":
        return ad.custom_linear_solve(lambda v: c * v, 2 * x**2, lambda product, b: b / product(np.ones(3)))
    else:
        f = ad.custom_vjp(lambda x: x**2)
        f.defvjp(lambda x: (x**2 * c / c, (x, c)), lambda kept, g: (kept[1] * kept[0] * g,))
    return f(x)


def inside(x):
    f = ad.custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (doubled(x, x) / 2, x), lambda x, g: (doubled(x, g),))
    return f(x)


def by_condition(x):
    return ad.implicit_root(lambda x: x**2, condition)(x)


def condition(z, x):
    return np.array([z[0] - x[0] ** 2, linalg.norm([z[1]]) - x[1] ** 2, z[2] - x[2] ** 2])


SQUARES = {
    "forward": lambda x: forward(x), "reverse": lambda x: reverse(x), "inside": inside, "condition": by_condition,
    "forward itself": forward, "reverse itself": reverse,
    **{kind: lambda x, kind=kind: one_with(kind, x) for kind in ("jvp", "vjp", "root", "solve")},
}  # fmt: skip
SELECTIONS = {
    "all": (lambda y: np.sum(y * X), X), "some": (lambda y: np.sum(np.where(X > 1.5, y, 0.0)), np.array([0.0, 1, 1])),
}  # fmt: skip
MODES = {
    "grad": lambda f, _: (ad.grad(f)(X), lambda w: 2 * w * X),
    "jvp": lambda f, _: (ad.jvp(f, (X,), (X,))[1], lambda w: np.sum(2 * w * X**2)),
    "hessian": lambda f, _: (ad.hessian(f)(X), lambda w: np.diag(2 * w)),
    "jacobian of grad": lambda f, _: (ad.jacobian(ad.grad(f))(X), lambda w: np.diag(2 * w)),
    "vmap of grad": lambda f, _: (ad.vmap(ad.grad(f))(np.stack([X, X]))[1], lambda w: 2 * w * X),
    "vmap of hessian": lambda f, _: (ad.vmap(ad.hessian(f))(np.stack([X, X]))[1], lambda w: np.diag(2 * w)),
    "compiled": lambda f, _: (ad.compile(ad.grad(f))(X), lambda w: 2 * w * X),
    "checkpoint": lambda f, _: (ad.grad(ad.checkpoint(f))(X), lambda w: 2 * w * X),
    "jacfwd": lambda _, square: (ad.jacfwd(square)(X), lambda _: np.diag(2 * X)),
    "jacobian": lambda _, square: (ad.jacobian(square)(X), lambda _: np.diag(2 * X)),
}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("mode", MODES)
def test_the_derivatives_of_a_square_by_its_rule(mode, name, selection):
    chosen, weights = SELECTIONS[selection]
    found, wanted = MODES[mode](lambda x: chosen(SQUARES[name](x)), SQUARES[name])
    assert isinstance(found, np.ndarray | np.generic)
    assert_allclose(found, wanted(weights), atol=1e-12)


A = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]])
operator = lambda a: sparse.LinearOperator((3, 3), lambda v: a @ v, dtype=float)
SOLVERS = {
    "operator": lambda a, b: sparse.gmres(operator(a), b, rtol=1e-13)[0],
    "matrix": lambda a, b: sparse.gmres(a, b, rtol=1e-13)[0],
    "root": lambda a, b: optimize.root(lambda z: a @ z - b, np.zeros(3), tol=1e-12).x,
    "newton": lambda a, b: linalg.solve(a, optimize.newton(lambda z: z - b, np.zeros(3), tol=1e-12)),
    "minimum": lambda a, b: optimize.minimize(lambda z: np.sum((a @ z - b) ** 2), np.zeros(3), tol=1e-14).x,
    "flow": lambda a, b: linalg.solve(a, integrate.solve_ivp(lambda t, y: b, (0, 1), 0 * X, method="Radau").y[:, -1]),
    "implicit": lambda a, b: ad.implicit_root(np.linalg.solve, lambda z, a, b: a @ z - b)(a, b),
    "fixed": lambda a, b: ad.fixed_point(lambda z, a, b: z + (b - a @ z) / 6, np.zeros(3), a, b, tol=1e-14),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_solvers_of_selected_cotangents_keep_their_history(name):
    """Second derivatives differentiate the rule, whose cotangent knows where it was selected."""

    def exact(x):
        return np.linalg.solve(A.T * x[0], x**2)

    def cotangent(x, g):
        y = SOLVERS[name](A * x[0], g)
        return (2 * x * y - np.array([1.0, 0.0, 0.0]) * np.sum(y * x**2) / x[0],)

    f = ad.custom_vjp(exact)
    f.defvjp(lambda x: (exact(x), x), cotangent)
    selected = lambda f: lambda x: np.sum(np.where(X > 1.5, f(x) ** 2, 0.0))
    wanted, gradient = ad.hessian(selected(exact))(X), ad.grad(selected(f))
    size = np.max(np.abs(wanted))
    assert_allclose(ad.jacobian(gradient)(X), wanted, atol=1e-5 * size)
    assert_allclose(ad.grad(lambda x: np.sum(gradient(x) * X))(X), wanted @ X, atol=1e-5 * size)
    assert_allclose(ad.compile(ad.jacobian(gradient))(X), wanted, atol=1e-5 * size)
    assert_allclose(ad.hessian(selected(f))(X), wanted, atol=1e-5 * size)


def test_a_rule_is_used_where_another_gives_it_a_selected_cotangent():
    thrice = ad.custom_vjp(lambda g: g * 1.0)
    thrice.defvjp(lambda g: (g * 1.0, None), lambda _, c: (3 * c,))
    f = ad.custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, x), lambda x, g: (2 * x * thrice(g),))
    slope = ad.grad(lambda w: np.sum(ad.grad(lambda x: np.sum(np.where(X > 1.5, f(x) * w, 0.0)))(X)))
    assert_allclose(slope(X), np.where(X > 1.5, 6 * X, 0.0))


class Model:
    scale = 2.0

    def loss(self, x):
        return self.scale * linalg.norm(np.array([x[0] * x[1], x[2]]))


def of_module(scale, x):
    return Model.loss(Model(), x) * scale / 2


@pytest.mark.parametrize("call", [Model().loss, ad.checkpoint(Model().loss)], ids=["once", "twice"])
def test_what_is_computed_again_calls_scipy(call):
    from functools import partial

    wanted = ad.grad(Model().loss)(X)
    assert_allclose(ad.grad(ad.checkpoint(call))(X), wanted)
    assert_allclose(ad.grad(lambda x: ad.checkpoint(call)(x))(X), wanted)
    assert_allclose(ad.grad(ad.checkpoint(partial(of_module, 2.0)))(X), wanted)
    assert_allclose(ad.grad(partial(ad.checkpoint(of_module), 2.0))(X), wanted)
