"""Roots, fixed points and linear systems: against closed forms and plain programs, in every mode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, cg, gmres

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
N = 4
MATRIX, RIGHT = rng.normal(size=(N, N)) + 5 * np.eye(N), rng.normal(size=N)
SMALL, SHIFT = 0.2 * rng.normal(size=(3, 3)), rng.normal(size=3)


def by_gmres(matvec, b):
    plain = lambda v: matvec(np.ravel(v))
    return gmres(LinearOperator((len(b), len(b)), matvec=plain, dtype=b.dtype), b, rtol=1e-13, restart=len(b))[0]


def by_cg(matvec, b):
    return cg(LinearOperator((len(b), len(b)), matvec=matvec, dtype=b.dtype), b, rtol=1e-13)[0]


def solved(a, b):
    return np.sum(np.sin(ad.custom_linear_solve(lambda v: a @ v, b, by_gmres)))


def solved_by_numpy(a, b):
    return np.sum(np.sin(np.linalg.solve(a, b)))


def settled(w, c):
    return np.sum(ad.fixed_point(lambda x, w, c: np.tanh(w @ x + c), np.zeros(3), w, c, tol=1e-14) ** 2)


def iterated(w, c):
    x = np.zeros(3)
    for _ in range(60):
        x = np.tanh(w @ x + c)
    return np.sum(x**2)


def kepler(e, m, eccentricity):
    return e - eccentricity * np.sin(e) - m


anomaly = ad.implicit_root(lambda m, ecc: brentq(kepler, 0.0, 7.0, (m, ecc), xtol=1e-15), kepler)


def by_newton(m, eccentricity):
    e = m
    for _ in range(30):
        e = e - kepler(e, m, eccentricity) / (1 - eccentricity * np.cos(e))
    return e


PROGRAMS = {
    "linear": (solved, solved_by_numpy, (MATRIX, RIGHT)),
    "fixed point": (settled, iterated, (SMALL, SHIFT)),
    "root": (anomaly, by_newton, (np.float64(1.0), np.float64(0.3))),
}


def along(args):
    return tuple(np.cos(x + 1) for x in args)


def stacked(args):
    return tuple(np.stack([x, 1.1 * x, 0.9 * x]) for x in args)


MODES = {
    "value": lambda f, a: f(*a),
    "reverse": lambda f, a: ad.grad(f, (0, 1))(*a),
    "forward": lambda f, a: ad.jvp(f, a, along(a)),
    "forward over reverse": lambda f, a: ad.jvp(lambda *a: ad.grad(f, (0, 1))(*a), a, along(a))[1],
    "reverse over forward": lambda f, a: ad.grad(lambda *a: ad.jvp(f, a, along(a))[1], (0, 1))(*a),
    "forward over forward": lambda f, a: ad.jvp(lambda *b: ad.jvp(f, b, along(a))[1], a, along(a))[1],
    "reverse over reverse": lambda f, a: ad.grad(lambda *a: sum(map(np.sum, ad.grad(f, (0, 1))(*a))), (0, 1))(*a),
    "vmap": lambda f, a: ad.vmap(f)(*stacked(a)),
    "vmap of grad": lambda f, a: ad.vmap(ad.grad(f, (0, 1)))(*stacked(a)),
    "grad of vmap": lambda f, a: ad.grad(lambda *b: np.sum(ad.vmap(f)(*b) ** 2), (0, 1))(*stacked(a)),
    "vmap by the last": lambda f, a: ad.vmap(ad.grad(f, (0, 1)), (None, 0))(a[0], stacked(a)[1]),
    "vmap by the first": lambda f, a: ad.vmap(ad.grad(f, (0, 1)), (0, None))(stacked(a)[0], a[1]),
    "jvp of vmap": lambda f, a: ad.jvp(ad.vmap(f), stacked(a), stacked(along(a))),
    "checkpoint": lambda f, a: ad.grad(ad.checkpoint(lambda *b: f(*b) ** 2), (0, 1))(*a),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_mode_gives_what_the_steps_give(program, mode):
    ours, plain, args = PROGRAMS[program]
    got, expected = (flatten(MODES[mode](f, args))[0] for f in (ours, plain))
    for x, y in zip(got, expected, strict=True):
        assert_allclose(x, y, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("program", PROGRAMS)
def test_tensors_without_a_transform(program):
    ours, plain, args = PROGRAMS[program]
    tensors = [ad.tensor(x, requires_grad=True) for x in args]
    ours(*tensors).backward()
    for t, g in zip(tensors, ad.grad(plain, (0, 1))(*args), strict=True):
        assert_allclose(t.grad, g, rtol=1e-8, atol=1e-10)


# -- Roots ---------------------------------------------------------------------------------------------


def test_closed_forms():
    e = anomaly(1.0, 0.3)
    by_mean, by_eccentricity = ad.grad(anomaly, (0, 1))(1.0, 0.3)
    assert_allclose(by_mean, 1 / (1 - 0.3 * np.cos(e)))
    assert_allclose(by_eccentricity, np.sin(e) / (1 - 0.3 * np.cos(e)))
    assert_allclose(ad.grad(ad.grad(anomaly))(1.0, 0.3), -0.3 * np.sin(e) / (1 - 0.3 * np.cos(e)) ** 3)
    check_grads(anomaly, (1.0, 0.3))
    t = ad.tensor(1.0, requires_grad=True)
    anomaly(t, 0.3).backward(create_graph=True)
    gradient, t.grad = t.grad, None
    gradient.backward()
    assert_allclose(t.grad, ad.grad(ad.grad(anomaly))(1.0, 0.3))


def test_trees_single_precision_and_settings():
    @lambda solver: ad.implicit_root(
        solver, lambda z, p, *, n: {"a": z["a"] ** n - p["x"], "b": z["b"] + z["a"] - p["y"]}
    )
    def rooted(p, *, n):
        a = np.asarray(p["x"]) ** p["x"].dtype.type(1 / n)
        return {"a": a, "b": np.asarray(p["y"]) - a}

    p = {"x": np.array([4.0, 9.0], np.float32), "y": np.ones(2, np.float32)}
    value = rooted(p, n=2)
    assert_allclose(value["a"], [2, 3])
    gradient = ad.grad(lambda p: np.sum(rooted(p, n=2)["b"]))(p)
    assert gradient["x"].dtype == np.float32
    assert_allclose(gradient["x"], [-1 / 4, -1 / 6], rtol=1e-5)
    assert_allclose(gradient["y"], 1)
    cubic = ad.grad(lambda x: np.sum(rooted({"x": x, "y": np.ones(1)}, n=3)["a"]))(np.array([8.0]))
    assert_allclose(cubic, 1 / 12)


def test_the_solver_runs_once_for_value_and_gradient():
    calls = []

    def solver(a):
        calls.append(a)
        return np.sqrt(np.asarray(a))

    root = ad.implicit_root(solver, lambda z, a: z * z - a)
    assert_allclose(ad.value_and_grad(root)(4.0), (2, 0.25))
    assert len(calls) == 1
    assert_allclose(ad.jvp(root, (4.0,), (1.0,)), (2, 0.25))
    assert len(calls) == 2
    assert_allclose(ad.vmap(ad.grad(root))(np.array([4.0, 9.0])), [1 / 4, 1 / 6])


def test_many_unknowns_go_by_products():
    n = 300
    root = ad.implicit_root(lambda a: np.sqrt(np.asarray(a)), lambda z, a: z * z - a, symmetric=True)
    a = np.linspace(1, 4, n)
    assert_allclose(ad.grad(lambda a: np.sum(root(a)))(a), 0.5 / np.sqrt(a), rtol=1e-6)
    assert_allclose(ad.jvp(root, (a,), (a,))[1], 0.5 * np.sqrt(a), rtol=1e-6)
    assert_allclose(ad.hvp(lambda a: np.sum(root(a)), a, a), -0.25 / np.sqrt(a), rtol=1e-6)


def test_what_is_said_of_roots():
    with pytest.raises(ad.ShapeError, match=r"gives 2 number\(s\) for 1 unknown\(s\)"):
        ad.grad(ad.implicit_root(lambda a: a, lambda z, a: np.stack([z, a])))(1.0)
    for derivative in (ad.grad, lambda f: lambda a: ad.jvp(f, (a,), (1.0,))):
        with pytest.raises(ad.GradientError, match="tol="):
            derivative(ad.implicit_root(lambda a: 1.3, lambda z, a: z * z - a))(2.0)
        with pytest.raises(ad.GradientError, match="unique"):
            derivative(ad.implicit_root(lambda a: 0.0, lambda z, a: 0.0 * z + 0.0 * a))(2.0)


@pytest.mark.parametrize("transform", [ad.grad, lambda f: lambda s: ad.jvp(f, (s,), (1.0,))[1]])
def test_what_the_equation_closes_over_is_not_lost(transform):
    def f(s, x):
        return ad.implicit_root(lambda x: np.sqrt(2.0 * x), lambda z, x: z * z - s * x)(x)

    for x in (lambda s: 3.0, lambda s: 1.5 * s):  # whether or not there is a gradient by the arguments too
        with pytest.raises(ad.GradientError, match="is none of its arguments"):
            transform(lambda s, x=x: f(s, x(s)))(2.0)
    with pytest.raises(ad.GradientError, match="is none of its arguments"):
        ad.grad(lambda s: transform(lambda x: f(s, x))(3.0))(2.0)
    # What the solver knows of as well is not lost, where its steps are those of an outer transform.
    root = lambda a: ad.fixed_point(lambda z, a: (z + a / z) / 2, 1.0, a)
    closed = lambda s: transform(lambda a: ad.fixed_point(lambda z, a: (z + s * a / z) / 2, 1.0, a))(3.0)
    assert_allclose(ad.grad(closed)(2.0), ad.grad(lambda s: s * transform(root)(3.0 * s))(2.0), rtol=1e-8)


def test_single_precision_through_scipys_solvers():
    m, ecc = np.float32(1.0), np.float32(0.3)
    value, (by_mean, by_ecc) = ad.value_and_grad(anomaly, (0, 1))(m, ecc)
    assert value.dtype == by_mean.dtype == by_ecc.dtype == np.float32
    assert_allclose(by_mean, 1 / (1 - 0.3 * np.cos(value)), rtol=1e-5)
    k, b = np.array([1, 2, 4], np.float32), np.ones(3, np.float32)
    solution = lambda k, b: ad.custom_linear_solve(lambda x: k * x, b, by_cg_singly, symmetric=True)
    x, pullback = ad.vjp(solution, k, b)
    assert x.dtype == np.float32
    assert_allclose(x, b / k, rtol=1e-5)
    for got, expected in zip(pullback(b), (-b / k**2, 1 / k), strict=True):
        assert got.dtype == np.float32
        assert_allclose(got, expected, rtol=1e-5)


def by_cg_singly(matvec, b):
    assert b.dtype == np.float32
    return cg(LinearOperator((len(b), len(b)), matvec=matvec, dtype=b.dtype), b, rtol=1e-6)[0]


# -- Fixed points --------------------------------------------------------------------------------------


def test_a_fixed_point_over_a_tree():
    def f(x, a):
        return {"u": 0.5 * (x["u"] + a / x["u"]), "v": 0.5 * x["v"] + x["u"]}

    point = lambda a: ad.fixed_point(f, {"u": 1.0, "v": 0.0}, a, tol=1e-14)
    assert_allclose([point(2.0)["u"], point(2.0)["v"]], [np.sqrt(2), 2 * np.sqrt(2)])
    assert_allclose(ad.grad(lambda a: point(a)["v"])(2.0), 1 / np.sqrt(2))
    assert_allclose(ad.grad(ad.grad(lambda a: point(a)["v"]))(2.0), -0.25 * 2 * 2**-1.5)


def test_where_it_starts_has_no_derivative():
    heron = lambda x0, a: ad.fixed_point(lambda x, a: (x + a / x) / 2, x0, a)
    assert_allclose(ad.grad(heron, (0, 1))(1.0, 4.0), (0, 0.25), atol=1e-9)
    starts = np.array([0.5, 1.0, 30.0])
    assert_allclose(ad.vmap(ad.grad(heron, 1), (0, None))(starts, 4.0), 0.25)
    single = heron(np.float32(1), np.float32(2))
    assert single.dtype == np.float32
    assert_allclose(single, np.sqrt(2), rtol=1e-6)


def test_an_iteration_that_does_not_settle():
    with pytest.raises(ad.DivergedError, match=r"after 50 steps the values still move by .*damp f"):
        ad.fixed_point(lambda x: 1 - x, 0.0, max_steps=50)
    with pytest.raises(ad.DivergedError), np.errstate(all="ignore"):
        ad.fixed_point(lambda x: x * x, 2.0)


# -- Linear systems ------------------------------------------------------------------------------------


def test_the_transpose_has_a_solver_of_its_own():
    asked = []

    def direct(matvec, b):
        asked.append("solve")
        return np.linalg.solve(MATRIX, np.asarray(b))

    def direct_transpose(vecmat, g):
        asked.append("transpose")
        assert_allclose(vecmat(np.eye(N)[0]), MATRIX[0])
        return np.linalg.solve(MATRIX.T, np.asarray(g))

    f = lambda b: np.sum(ad.custom_linear_solve(lambda v: MATRIX @ v, b, direct, direct_transpose) ** 3)
    plain = lambda b: np.sum(np.linalg.solve(MATRIX, b) ** 3)
    assert_allclose(ad.grad(f)(RIGHT), ad.grad(plain)(RIGHT))
    assert asked == ["solve", "transpose"]
    assert_allclose(ad.hessian(f)(RIGHT), ad.hessian(plain)(RIGHT))
    with pytest.raises(ad.RuleError, match="transpose_solve="):
        ad.grad(lambda b: np.sum(ad.custom_linear_solve(lambda v: MATRIX @ v, b, direct)))(RIGHT)


def test_trees_symmetric_and_complex_systems():
    def solve(matvec, b):
        x = by_cg(lambda v: matvec({"p": v[:2], "q": v[2:]})["all"] @ np.eye(4), np.concatenate([b["p"], b["q"]]))
        return {"p": x[:2], "q": x[2:]}

    k = np.array([1.0, 2.0, 3.0, 4.0])

    def f(k, b):
        product = lambda v: {"p": k[:2] * v["p"], "q": k[2:] * v["q"]}
        inner = lambda matvec, b: solve(lambda v: {"all": np.concatenate(list(matvec(v).values()))}, b)
        x = ad.custom_linear_solve(product, {"p": b[:2], "q": b[2:]}, inner, symmetric=True)
        return np.sum(x["p"]) + np.sum(x["q"] ** 2)

    plain = lambda k, b: np.sum((b / k)[:2]) + np.sum((b / k)[2:] ** 2)
    for got, expected in zip(ad.grad(f, (0, 1))(k, RIGHT), ad.grad(plain, (0, 1))(k, RIGHT), strict=True):
        assert_allclose(got, expected)
    a, b = MATRIX + 1j * np.roll(MATRIX, 1), RIGHT * (1 + 1j)
    ours = lambda a, b: np.sum(np.abs(ad.custom_linear_solve(lambda v: a @ v, b, by_gmres)) ** 2)
    theirs = lambda a, b: np.sum(np.abs(np.linalg.solve(a, b)) ** 2)
    for got, expected in zip(ad.grad(ours, (0, 1))(a, b), ad.grad(theirs, (0, 1))(a, b), strict=True):
        assert_allclose(got, expected, rtol=1e-7)
    assert_allclose(ad.jvp(ours, (a, b), (a * 1j, b)), ad.jvp(theirs, (a, b), (a * 1j, b)), rtol=1e-7)


def test_what_is_said_of_systems():
    with pytest.raises(ad.RuleError, match="not a solution"):
        ad.custom_linear_solve(lambda v: 2 * v, RIGHT, lambda matvec, b: b)
    with pytest.raises(ad.RuleError, match=r"matvec gave 3 number\(s\)"):
        ad.custom_linear_solve(lambda v: v[1:], RIGHT, by_gmres)
    a = ad.tensor(MATRIX, requires_grad=True)
    with pytest.raises(ad.NotSupportedError, match=r"ad.grad\(ad.grad\(f\)\)"):
        solved(a, RIGHT).backward(create_graph=True)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(1, 5), st.integers(0, 1000))
def test_forward_is_reverse(n, seed):
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=(n, n)) + 4 * n * np.eye(n), draw.normal(size=n)
    da, db, g = draw.normal(size=(n, n)), draw.normal(size=n), draw.normal(size=n)
    f = lambda a, b: ad.custom_linear_solve(lambda v: a @ v, b, by_gmres)
    tangent, (ga, gb) = ad.jvp(f, (a, b), (da, db))[1], ad.vjp(f, a, b)[1](g)
    assert_allclose(np.sum(g * tangent), np.sum(ga * da) + np.sum(gb * db), rtol=1e-9, atol=1e-12)
