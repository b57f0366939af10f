"""SciPy's minimisers and fits over functions that hold tensors: every solver, every place to hold one, every mode."""

import inspect

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.scipy import optimize, twin
from tests.scipy.solved import MODES, WAYS, check, given

minimize, least_squares = twin(scipy.optimize.minimize), twin(scipy.optimize.least_squares)
START = np.array([1.0, 1.0])
TIMES = np.linspace(0.0, 2.0, 7)
DATA = 3.0 * np.exp(-1.5 * TIMES) + 0.1 * np.cos(9.0 * TIMES)
NEWTON = ("newton-cg", "trust-ncg", "trust-krylov", "trust-exact", "dogleg")
METHODS = (
    "nelder-mead",
    "powell",
    "cg",
    "bfgs",
    "l-bfgs-b",
    "tnc",
    "cobyla",
    "cobyqa",
    "slsqp",
    "trust-constr",
    *NEWTON,
)


def valley(x, k):
    return (x[0] - k**2) ** 2 + 3.0 * (x[1] - x[0] * np.sin(k)) ** 2


def lowest(k):
    return np.stack([k**2, k**2 * np.sin(k)])


def number(x, k):
    return np.cosh(x - k**2)


def residuals(x, k):
    return [x[0] - k**2, x[1] - x[0] * np.sin(k), 0.0 * x[0] + k]


def by_method(method):
    def solve(f, args):
        options = {}
        if method in NEWTON:
            options["jac"] = ad.grad(f)
        if method in NEWTON[1:]:
            options["hess"] = ad.hessian(f)
        return np.sum(minimize(f, START, args, method, tol=1e-10, **options).x)

    return solve


def total(k):
    return np.sum(lowest(k))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", WAYS)
def test_a_minimum_is_a_function_of_what_the_function_holds(method, way):
    if method in NEWTON and way == "object":
        pytest.skip("its derivatives are functions of it, in the other ways")
    solve = by_method(method)
    for mode in ("grad", "jvp", "hessian"):
        rtol = 1e-4 if method in ("cobyla", "cobyqa", "powell", "trust-constr") else 1e-5
        check(lambda k: solve(*given(way, valley, k)), total, 1.3, mode, rtol)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("solver", ["minimize", "least_squares", "minimize_scalar"])
def test_in_every_mode(solver, way, mode):
    solve = {
        "minimize": lambda f, args: np.sum(minimize(f, START, args, tol=1e-10).x),
        "least_squares": lambda f, args: np.sum(least_squares(f, START, args=args, xtol=1e-12, gtol=1e-12).x),
        "minimize_scalar": lambda f, args: optimize.minimize_scalar(f, args=args).x,
    }[solver]
    f = {"minimize": valley, "least_squares": residuals, "minimize_scalar": number}[solver]
    exact = (lambda k: k**2) if solver == "minimize_scalar" else total
    check(lambda k: solve(*given(way, f, k)), exact, 1.3, mode)


@pytest.mark.parametrize("options", [{"bracket": (0.0, 1.0)}, {"bounds": (0.0, 4.0), "method": "bounded"},
                                     {"method": "golden"}], ids=str)  # fmt: skip
def test_minima_of_one_number(options):
    check(lambda k: optimize.minimize_scalar(lambda x: number(x, k), **options).x, lambda k: k**2, 1.3, "hessian", 1e-5)
    value = lambda k: optimize.minimize_scalar(lambda x: number(x, k) * k, **options).fun
    check(value, lambda k: k, 1.3, "grad", 1e-6)


def test_of_many_samples_the_report_is_of_all():
    outcomes = []

    def solve(k):
        found = minimize(lambda x: np.cosh(x[0] - k), [0.0], options={"maxiter": 3})
        outcomes.append(found.success)
        return found.x[0]

    ad.vmap(solve)(np.array([9.0, 0.0]))
    ad.vmap(solve)(np.array([0.0, 0.0]))
    assert outcomes == [False, True]


def test_the_value_is_followed_too():
    fun = lambda k: minimize(lambda x: valley(x, k) + k**3, START, tol=1e-10).fun
    check(fun, lambda k: k**3, 1.3, "hessian")
    cost = lambda k: least_squares(lambda x: residuals(x, k), START, xtol=1e-12).cost
    check(cost, lambda k: 0.5 * k**2, 1.3, "hessian")


@pytest.mark.parametrize("name", ["minimize", "least_squares", "minimize_scalar", "curve_fit", "nnls", "lsq_linear"])
def test_numbers_get_scipys_very_result(name):
    theirs = getattr(scipy.optimize, name)
    ours = twin(theirs)
    assert inspect.signature(ours) == inspect.signature(theirs)
    matrix, right = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([2.0, 1.0, -1.0])
    args, options = {
        "minimize": ((valley, [1, 1], 1.3), {"method": "BFGS"}),
        "least_squares": ((residuals, START), {"args": (1.3,), "bounds": (0.0, 5.0)}),
        "minimize_scalar": ((number,), {"args": (1.3,)}),
        "curve_fit": ((lambda t, a, b: a * np.exp(-b * t), TIMES, DATA), {"full_output": True}),
        "nnls": ((matrix, right), {}),
        "lsq_linear": ((matrix, right), {"bounds": (0.0, 0.5)}),
    }[name]
    a, b = ours(*args, **options), theirs(*args, **options)
    assert type(a) is type(b)
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else ((a[key], b[key]) for key in b)
    for one, other in pairs:
        assert type(one) is type(other)
        if isinstance(one, np.ndarray | float | str):
            assert_array_equal(one, other)


def test_scipys_errors_stay():
    k = ad.tensor(1.3, requires_grad=True)
    with pytest.raises(ValueError, match="Unknown solver"):
        minimize(lambda x: valley(x, k), START, method="steepest")
    with pytest.raises(ValueError, match="outside of provided bounds"):
        least_squares(lambda x: residuals(x, k), START, bounds=(2.0, 3.0))
    with pytest.raises(TypeError, match="must not exceed"):
        optimize.curve_fit(lambda t, a, b, c: k * a, TIMES[:2], DATA[:2])
    stop = lambda *_: (_ for _ in ()).throw(KeyError("mine"))
    with pytest.raises(KeyError, match="mine"):
        minimize(lambda x: valley(x, k), START, callback=stop)


def test_derivatives_of_the_function_may_hold_tensors_too():
    slope = lambda x, k: ad.grad(lambda x: valley(x, k))(x)
    both = lambda k: np.sum(minimize(lambda x: (valley(x, k), slope(x, k)), START, jac=True, tol=1e-10).x)
    check(both, total, 1.3, "hessian")
    jac = lambda k: np.sum(minimize(valley, START, (k,), jac=slope, tol=1e-10).x)
    check(jac, total, 1.3, "hessian")


def test_callbacks_are_called_as_scipy_calls_them():
    seen = []

    def told(intermediate_result):
        seen.append(intermediate_result.x.copy())

    ad.grad(lambda k: np.sum(minimize(lambda x: valley(x, k), START, callback=told).x))(1.3)
    assert len(seen) > 2
    assert all(type(x) is np.ndarray for x in seen)


def test_what_is_at_a_bound_moves_with_it():
    inside = lambda k, low: minimize(lambda x: np.sum((x - k) ** 2), START, bounds=[(low, 9.0), (None, 5.0)], tol=1e-12)
    assert_allclose(ad.jacobian(lambda k: inside(k, 2.0).x)(1.3), [0.0, 1.0], atol=1e-6)
    assert_allclose(ad.jacobian(lambda low: inside(1.3, low**2).x)(2.0), [4.0, 0.0], atol=1e-6)
    assert_allclose(ad.grad(lambda low: inside(1.3, low).fun)(2.0), 1.4, atol=1e-6)
    end = lambda b: optimize.minimize_scalar(lambda x: x**2, bounds=(b, 3.0), method="bounded").x
    assert_allclose(ad.grad(end)(1.0), 1.0)
    fit = lambda b: least_squares(lambda x: x - np.array([3.0, 0.5]), [0.1, 0.1], bounds=(-1.0, np.stack([b, 1.0]))).x
    assert_allclose(ad.jacobian(fit)(1.0), [1.0, 0.0], atol=1e-5)


@pytest.mark.filterwarnings("ignore:delta_grad == 0")  # trust-constr's, of linear constraints
@pytest.mark.parametrize("method", ["slsqp", "trust-constr", "cobyla"])
def test_constraints_may_hold_tensors(method):
    def nearest(k):  # to the origin on the line x + k y = 2
        line = {"type": "eq", "fun": lambda x: x[0] + k * x[1] - 2.0, "jac": lambda x: np.stack([1.0, k])}
        return minimize(lambda x: np.sum(x**2), START, constraints=line, method=method, tol=1e-10).x

    def curved(k):
        line = scipy.optimize.NonlinearConstraint(lambda x: x[0] + k * x[1], 2.0, 2.0)
        return minimize(lambda x: np.sum(x**2), START, constraints=[line], method=method, tol=1e-10).x

    exact = ad.jacobian(lambda k: 2.0 * np.stack([1.0, k]) / (1.0 + k**2))(1.3)
    for f in (nearest, curved):
        assert_allclose(ad.jacobian(f)(1.3), exact, rtol=1e-4)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_robust_fits(loss):
    def rate(k):
        fall = lambda p: np.exp(-p[1] * TIMES * k)
        model = lambda p: p[0] * fall(p) - DATA
        slope = lambda p: np.stack([fall(p), -p[0] * TIMES * k * fall(p)], axis=1)
        tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
        return least_squares(model, [1.0, 1.0], slope, loss=loss, f_scale=0.3, **tight).x[1]

    assert_allclose(ad.grad(rate)(1.3), -rate(1.3) / 1.3, rtol=1e-7)
    assert_allclose(ad.hessian(rate)(1.3), 2 * rate(1.3) / 1.3**2, rtol=1e-7)


# -- Curves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_curve_is_a_function_of_its_data(mode):
    line = lambda x, a, b: a + b * x
    fit = lambda k: np.sum(optimize.curve_fit(line, TIMES * k, np.sin(k * TIMES))[0])

    def exact(k):
        x, y = TIMES * k, np.sin(k * TIMES)
        b = np.sum((x - np.mean(x)) * y) / np.sum((x - np.mean(x)) ** 2)
        return np.mean(y) - b * np.mean(x) + b

    check(fit, exact, 1.3, mode)


def test_data_deviations_and_models_have_derivatives():
    model = lambda x, a, b: a * np.exp(-b * x)
    sigma = 0.1 + 0.05 * TIMES
    full = np.diag(sigma**2) + 0.001

    def found(k, where, part, **options):
        y = DATA * k if where == "y" else DATA
        s = {"sigma": sigma**k, "matrix": full * (1.0 + k * np.eye(7))}.get(where, sigma)
        faster = k if where == "model" else 1.0
        f = lambda x, a, b: model(x, a, b * faster) + 0.01 * faster
        jac = lambda x, a, b: np.stack([model(x, 1.0, b * faster), -x * faster * model(x, a, b * faster)], axis=1)
        tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
        return np.sum(
            optimize.curve_fit(f, TIMES, y, (1.0, 1.0), s, jac=jac, **options, **tight)[part] * np.array([1.0, 0.3])
        )

    h = 3e-4
    for where in ("y", "sigma", "matrix", "model"):
        for options in ({}, {"absolute_sigma": True}, {"bounds": (0.0, 5.0)}):
            for part in (0, 1):
                f = lambda k, w=where, p=part, o=options: found(k, w, p, **o)
                differences = (f(1.1 + h) - f(1.1 - h)) / (2 * h)
                assert_allclose(ad.grad(f)(1.1), differences, rtol=3e-4, atol=1e-6)


def test_what_curve_fit_does_not_do_with_tensors():
    y = ad.tensor(DATA, requires_grad=True)
    model = lambda x, a, b: a * np.exp(-b * x)
    with pytest.raises(ad.NotSupportedError, match="least_squares"):
        optimize.curve_fit(model, TIMES, y, (1.0, 1.0), method="trf", loss="huber")


@pytest.mark.filterwarnings("ignore")  # SciPy's: it estimates no covariance
@pytest.mark.parametrize("derivative", [ad.grad, ad.jacfwd])
def test_parameters_that_the_data_do_not_determine_are_told(derivative):
    both = lambda t, a, b: a + b + 0 * t
    with pytest.raises(ad.GradientError, match="no derivative"):
        derivative(lambda x: np.sum(scipy.optimize.curve_fit(both, TIMES, x * TIMES)[0]))(1.3)


@pytest.mark.parametrize("order", [ad.jacobian, lambda f: ad.jacobian(ad.jacobian(f))], ids=["first", "second"])
@pytest.mark.parametrize("name", ["nnls", "lsq_linear"])
def test_linear_least_squares_within_bounds(name, order):
    a, b = np.random.default_rng(4).normal(size=(5, 3)), np.array([1.0, -2.0, 0.5, 1.5, 0.3])

    def ours(k):
        if name == "nnls":
            return optimize.nnls(a * k, np.sin(k) * b)[0]
        return optimize.lsq_linear(a * k, np.sin(k) * b, (np.array([-0.2, -0.2, -0.2]), 0.3), tol=1e-14).x

    x = ours(1.0)
    free = np.min(np.abs(x - np.array([[-0.2], [0.0], [0.3]])), axis=0) > 1e-3
    assert 0 < np.sum(free) < 3

    def exact(k):
        left, right = a[:, free] * k, np.sin(k) * b - k * (a[:, ~free] @ x[~free])
        return np.eye(3)[:, free] @ np.linalg.solve(left.T @ left, left.T @ right) + np.where(free, 0.0, x)

    assert_allclose(order(ours)(1.0), order(exact)(1.0), atol=1e-8)


def test_sparse_matrices_and_distances():
    a = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    f = lambda b: optimize.lsq_linear(scipy.sparse.csr_array(a), b).x
    assert_allclose(ad.jacobian(f)(np.ones(3)), np.linalg.pinv(a), atol=1e-8)
    off = lambda b: np.sqrt(np.sum((a[:, 0] * np.mean(b[:2]) - b) ** 2))  # x is (mean, 0)
    b = np.array([2.0, 1.0, -1.0])
    assert_allclose(ad.grad(lambda b: optimize.nnls(a, b)[1])(b), ad.grad(off)(b))
    assert_allclose(ad.hessian(lambda b: optimize.nnls(a, b)[1])(b), ad.hessian(off)(b), atol=1e-12)


def test_what_has_no_derivative_says_so():
    with pytest.raises(ad.GradientError, match="unique"):
        ad.grad(lambda k: np.sum(minimize(lambda x: (x[0] + x[1] - k) ** 2, START).x))(1.3)
    with pytest.raises(ad.GradientError, match="tol="):
        ad.grad(lambda k: np.sum(minimize(valley, np.zeros(2), (k,), options={"maxiter": 1}).x))(1.3)
    with pytest.raises(ad.NotSupportedError, match="vmap"):
        ad.vmap(ad.grad(lambda k: minimize(lambda x: (x[0] - k) ** 2, 0.5, bounds=[(0, 1)]).x[0]))(np.ones(2))
    found = ad.vmap(lambda k: minimize(lambda x: (x[0] - k) ** 2, 0.5, bounds=[(0, 1)]).x[0])(np.arange(2.0))
    assert_allclose(found, [0, 1], atol=1e-6)
    with pytest.raises(ad.NotSupportedError, match="by name"):
        ad.grad(lambda k: least_squares(lambda x: residuals(x, k), START, loss=lambda z: np.stack([z, z, z])).x[0])(1.3)
