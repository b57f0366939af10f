"""`minimize` and `problem` over trees: SciPy's own examples, every method, what is asked for how often, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.optimize import BFGS, Bounds, LinearConstraint, NonlinearConstraint

import adjoint as ad
from adjoint.scipy import optimize
from adjoint.scipy.optimize import minimize, problem

START = {"x": np.array([1.3, 0.7]), "rest": [0.8, np.array([1.9, 1.2])], "none": None}
VALUES = ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"]
GRADIENTS = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"]
PRODUCTS = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]
METHODS = [*VALUES, *GRADIENTS, "trust-exact", *PRODUCTS]


def rosen(p):
    x = np.concatenate([p["x"], np.stack([p["rest"][0]]), p["rest"][1]])
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def counted(f):
    """`f`, the number of its calls, and the number of backward passes through it."""
    calls = {"forward": 0, "backward": 0}

    @ad.op
    def watch(x):
        return x

    @watch.backward
    def _passed(g):
        calls["backward"] += 1
        return g

    def counting(*args):
        calls["forward"] += 1
        return watch(f(*args))

    return counting, calls


@pytest.mark.parametrize("method", METHODS)
def test_rosenbrocks_valley(method):
    loose = {"COBYLA": 0.3, "Nelder-Mead": 0.02}
    start = START if method != "COBYLA" else {"x": np.ones(2), "rest": [1.0, np.array([1.0, 1.1])], "none": None}
    result = minimize(rosen, start, method=method)
    assert result.success
    assert result.x["none"] is None
    for leaf in (result.x["x"], result.x["rest"][0], result.x["rest"][1]):
        assert_allclose(leaf, 1.0, atol=loose.get(method, 1e-3))
    assert result.vector.shape == (5,)
    assert result.fun == pytest.approx(rosen(result.x))


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "Newton-CG", "trust-exact"])
def test_the_solver_sees_what_scipy_alone_would(method):
    plain = {"hess": scipy.optimize.rosen_hess} if method in ("Newton-CG", "trust-exact") else {}
    theirs = scipy.optimize.minimize(
        scipy.optimize.rosen, [1.3, 0.7, 0.8, 1.9, 1.2], jac=scipy.optimize.rosen_der, method=method, **plain
    )
    ours = minimize(lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
                    np.array([1.3, 0.7, 0.8, 1.9, 1.2]), method=method)  # fmt: skip
    assert_allclose(ours.x, theirs.x, atol=1e-5)
    assert ours.nit == pytest.approx(theirs.nit, abs=1)


@pytest.mark.parametrize("method", VALUES + GRADIENTS)
def test_value_and_gradient_share_one_pass_and_backward_runs_on_demand(method):
    f, calls = counted(rosen)
    limit = "maxfun" if method == "TNC" else "maxiter"
    result = minimize(f, START, method=method, options={limit: 60})
    assert calls == {"forward": result.forward, "backward": result.backward}
    if method in VALUES:
        assert calls["backward"] == 0
    elif method != "TNC":  # which does not say
        assert result.backward == result.njev
        assert result.forward <= result.nfev
    if method == "SLSQP":
        assert result.backward < 0.7 * result.forward


@pytest.mark.parametrize("method", PRODUCTS)
def test_products_and_matrices_of_the_hessian_lead_to_the_same(method):
    ways = [minimize(rosen, START, method=method, hess=hess, tol=1e-9) for hess in ("auto", "products", "dense")]
    for result in ways:
        assert_allclose(result.vector, 1.0, atol=1e-5)
        assert result.products > 0
    assert ways[0].products == ways[1].products


def test_one_linearisation_serves_all_products_at_a_point():
    f, calls = counted(rosen)
    p = problem(f, START)
    v = np.eye(5)
    h = np.stack([p.hessp(p.x0, row) for row in v])
    assert calls["forward"] == 2  # the look at what f gives, and the linearisation
    x0 = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    order = np.array([2, 3, 4, 0, 1])  # keys are sorted: `rest` goes before `x`
    assert_allclose(h, scipy.optimize.rosen_hess(x0)[np.ix_(order, order)])
    assert_allclose(p.hess(p.x0), h)
    assert p.counts.products == 10


def test_trust_constr_takes_scipys_approximations():
    for hess in (None, BFGS()):
        result = minimize(rosen, START, method="trust-constr", hess=hess)
        assert result.products == 0
        assert_allclose(result.vector, 1.0, atol=1e-3)


def test_differences_instead_of_gradients():
    f, calls = counted(rosen)
    assert_allclose(minimize(f, START, jac="3-point").vector, 1.0, atol=1e-4)
    assert calls["backward"] == 0


def test_a_method_of_ones_own():
    def descent(fun, x0, args=(), jac=None, hess=None, hessp=None, bounds=None, constraints=(), callback=None, **_):
        x = x0
        for _ in range(20):
            x = x - np.linalg.solve(hess(x), jac(x))
        assert_allclose(hessp(x, x), hess(x) @ x, rtol=1e-12)
        return scipy.optimize.OptimizeResult(x=x, fun=fun(x), success=True)

    assert_allclose(minimize(rosen, START, method=descent).vector, 1.0)


def test_the_default_method_fits_the_problem():
    p = {"x": np.zeros(2)}
    square = lambda p: np.sum((p["x"] - 1.0) ** 2)
    assert "hess_inv" in minimize(square, p)
    assert hasattr(minimize(square, p, bounds={"x": (0, 2)}).hess_inv, "matvec")
    assert hasattr(minimize(square, {"x": np.zeros(1500)}).hess_inv, "matvec")
    assert "multipliers" in minimize(square, p, constraints={"type": "eq", "fun": lambda p: p["x"][0]})


# -- Trees ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Line:
    slope: object
    offset: object


def test_dtypes_shapes_and_structure_come_back():
    start = {
        "half": np.ones((2, 1), np.float32),
        "line": Line(np.float64(0.0), (ad.tensor([1.0], requires_grad=True),)),
        "z": np.array([1.0 + 1.0j]),
        "none": None,
    }

    def f(p):
        assert p["half"].dtype == np.float32
        assert p["z"].dtype == np.complex128
        return (
            np.sum((p["half"] - 3) ** 2)
            + (p["line"].slope - 2.0) ** 2
            + np.sum((p["line"].offset[0] + 4.0) ** 2)
            + np.sum(np.abs(p["z"] - (2 - 1j)) ** 2)
        )

    result = minimize(f, start)
    x = result.x
    assert result.vector.dtype == np.float64
    assert x["half"].dtype == np.float32
    assert x["half"].shape == (2, 1)
    assert_allclose(x["half"], 3.0, rtol=1e-3)
    assert isinstance(x["line"], Line)
    assert x["line"].slope == pytest.approx(2.0, abs=1e-4)
    assert_allclose(x["line"].offset[0], [-4.0], atol=1e-4)
    assert isinstance(x["line"].offset[0], np.ndarray)
    assert_allclose(x["z"], [2 - 1j], atol=1e-4)
    assert x["none"] is None
    assert result.jac["z"].dtype == np.complex128


def test_the_solvers_vector_is_not_the_functions():
    def f(p):
        value = np.sum((p["x"] - 1.0) ** 2)
        p["x"][0] = 7.0
        return value

    for method in ("Nelder-Mead", "BFGS"):
        assert_allclose(minimize(f, {"x": np.zeros(2)}, method=method).x["x"], 1.0, atol=1e-4)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"a": (None, 1.0), "b": (0.0, [1.0, 2.0])}, [1, 1, 2]),
        ({"a": None}, [5, 5, 5]),
        ({"b": (7.0, None)}, [5, 7, 7]),
        ({"b": [(0, 1), (None, 2)]}, [5, 1, 2]),
        ((None, 3.0), [3, 3, 3]),
        (({"a": 6.0, "b": None}, {"a": None, "b": np.array([1.0, 2.0])}), [6, 1, 2]),
        (Bounds(-1.0, [1.0, 2.0, 3.0]), [1, 2, 3]),
        (None, [5, 5, 5]),
    ],
)
@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP"])
def test_bounds_are_trees(bounds, expected, method):
    f = lambda p: (p["a"] - 5.0) ** 2 + np.sum((p["b"] - 5.0) ** 2)
    result = minimize(f, {"a": 0.5, "b": np.array([0.5, 0.5])}, bounds=bounds, method=method)
    assert_allclose([result.x["a"], *result.x["b"]], expected, atol=1e-5)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP"])
def test_equal_bounds_hold_a_number_and_its_slope_is_known(method):
    f = lambda p: (p["a"] - 1.0) ** 2 + (p["b"] - 2.0) ** 2
    result = minimize(f, {"a": 0.0, "b": 0.0}, bounds={"a": (0.5, 0.5)}, method=method)
    assert result.x == pytest.approx({"a": 0.5, "b": 2.0})
    assert result.jac == pytest.approx({"a": -1.0, "b": 0.0}, abs=1e-6)


def test_bounds_of_a_pair_and_of_one_array():
    f = lambda p: (p[0] - 5.0) ** 2 + (p[1] - 5.0) ** 2
    assert minimize(f, (0.5, 0.5), bounds=((0, 1), (0, 2))).x == pytest.approx((1, 2))
    assert_allclose(minimize(f, np.zeros(2), bounds=[(0, 1), (0, 2)]).x, [1, 2])
    assert_allclose(minimize(f, np.zeros(2), bounds=(-1.0, np.array([1, 2]))).x, [1, 2])


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA", "COBYQA"])
def test_scipys_example_of_inequalities(method):
    constraints = [
        {"type": "ineq", "fun": lambda p: p["a"] - 2 * p["b"] + 2},
        {"type": "ineq", "fun": lambda p: [-p["a"] - 2 * p["b"] + 6, np.stack([-p["a"] + 2 * p["b"] + 2])]},
    ]
    f = lambda p: (p["a"] - 1) ** 2 + (p["b"] - 2.5) ** 2
    result = minimize(f, {"a": 2.0, "b": 0.0}, method=method, bounds=(0, None), constraints=constraints)
    assert_allclose(result.vector, [1.4, 1.7], atol=2e-3)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
def test_scipys_example_of_constraints_of_every_form(method):
    f = lambda p: 100 * (p["b"] - p["a"] ** 2) ** 2 + (1 - p["a"]) ** 2
    circle = NonlinearConstraint(lambda p: np.stack([p["a"] ** 2 + p["b"], p["a"] ** 2 - p["b"]]), -np.inf, 1.0)
    lines = LinearConstraint([[1, 2], [2, 1]], [-np.inf, 1], [1, 1])
    bounds = {"a": (0, 1), "b": (-0.5, 2.0)}
    result = minimize(f, {"a": 0.5, "b": 0.0}, method=method, constraints=[circle, lines], bounds=bounds)
    assert_allclose(result.vector, [0.41494531, 0.17010937], atol=1e-4)


def test_slsqp_asks_for_no_more_than_it_needs_of_constraints():
    c, calls = counted(lambda p: p["x"][0] ** 2 + p["x"][1] - 1.0)
    result = minimize(rosen, START, constraints=NonlinearConstraint(c, 0.0, 0.0), method="SLSQP")
    assert result.success
    assert calls["backward"] < calls["forward"] <= result.nfev + 1


# -- Callbacks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", ["raises", "returns", "whole"])
def test_a_callback_sees_the_tree_and_stops(method, way):
    seen = []

    def raises(p):
        seen.append(p)
        if len(seen) == 2:
            raise StopIteration

    def returns(p):
        seen.append(p)
        return np.less_equal(2, len(seen))

    def whole(intermediate_result):
        assert intermediate_result.fun == pytest.approx(rosen(intermediate_result.x))
        return returns(intermediate_result.x)

    callback = {"raises": raises, "returns": returns, "whole": whole}[way]
    result = minimize(rosen, START, method=method, callback=callback)
    assert len(seen) == 2
    assert not result.success
    assert result.status == 99
    assert seen[-1]["x"].shape == (2,)
    if method != "Powell":  # whose result may be a better point that it has seen since
        assert_allclose(result.x["x"], seen[-1]["x"])
    assert result.fun == pytest.approx(rosen(result.x))


def test_an_iteration_that_stops_in_the_function_is_no_stop():
    def f(p):
        return next(iter(()))

    with pytest.raises(StopIteration):
        minimize(f, START, callback=lambda p: None)


# -- Refusals ------------------------------------------------------------------------------------------

X = {"x": np.zeros(2)}
SQUARE = lambda p: np.sum((p["x"] - 1.0) ** 2)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(
    ("f", "params", "error", "words"),
    [
        (SQUARE, {"x": np.arange(2)}, ad.DTypeError, r"params\['x'\] has dtype int64.*args="),
        (SQUARE, {"x": np.ones(2), "n": 3}, ad.DTypeError, r"params\['n'\]"),
        (SQUARE, {"x": np.ones(2), "s": ["relu"]}, ad.DTypeError, r"params\['s'\]\[0\] is str"),
        (SQUARE, {"x": np.array([1.0, np.nan])}, ad.ArgumentError, r"params\['x'\]\[1\] is not finite"),
        (SQUARE, {"z": np.array([[1j, 2.0 + np.inf * 1j]])}, ad.ArgumentError, r"params\['z'\]\[0, 1\]"),
        (SQUARE, {}, ad.ArgumentError, "no numbers"),
        (SQUARE, None, ad.ArgumentError, "no numbers"),
        (lambda p: p["x"], X, ad.ShapeError, r"one number; it gave shape \(2,\)"),
        (lambda p: {"loss": p["x"][0]}, X, ad.ShapeError, "a dict"),
        (lambda p: p["x"][0] * 1j, X, ad.DTypeError, "real"),
        (lambda p: np.sum(p["x"] > 1), X, ad.DTypeError, "Nelder-Mead"),
        (lambda p: np.sum(np.log(p["x"] - 1)), X, ad.GradientError, "is nan at the starting point"),
        (
            lambda p: np.sum(p["x"]) + np.sqrt(p["x"][1]),
            X,
            ad.GradientError,
            r"derivative by params\['x'\]\[1\] is not",
        ),
        (lambda p: SQUARE(p) * ad.tensor(1.0, requires_grad=True), X, ad.LeavesGraphError, "args="),
    ],
)
def test_what_cannot_be_minimised_is_named(f, params, error, words):
    with pytest.raises(error, match=words):
        minimize(f, params)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": {"y": (0, 1)}}, "'y'"),
        ({"bounds": {"x": 3}}, "pair"),
        ({"bounds": {"x": (0, 1, 2)}}, "pair"),
        ({"bounds": {"x": (1, 0)}}, r"params\['x'\]\[0\] is above"),
        ({"bounds": {"x": (np.inf, None)}}, "no room"),
        ({"bounds": {"x": (0, np.ones(3))}}, "shape"),
        ({"bounds": {"x": (0, "one")}}, "bound"),
        ({"bounds": {"x": (0, 1)}, "method": "BFGS"}, "no bounds"),
        ({"constraints": {"fun": SQUARE}}, "'ineq'"),
        ({"constraints": {"type": "eq", "fun": SQUARE, "jac": SQUARE}}, "derived"),
        ({"constraints": SQUARE}, "dictionary"),
        ({"constraints": {"type": "eq", "fun": SQUARE}, "method": "BFGS"}, "no constraints"),
        ({"constraints": LinearConstraint([[1, 2, 3]], 0, 0)}, "3 columns for parameters of 2"),
        ({"constraints": NonlinearConstraint(lambda p: p["x"], [0, 0, 0], 1)}, "gives 2 numbers"),
        ({"method": "downhill"}, "downhill"),
        ({"jac": True}, "ad.op"),
        ({"hess": "exact"}, "dense"),
        ({"hess": "products"}, "BFGS takes no Hessian products"),
        ({"hess": "dense"}, "takes no Hessian"),
    ],
)
def test_what_a_method_does_not_take_is_refused(options, words):
    with pytest.raises((ad.ArgumentError, ad.ShapeError), match=words):
        minimize(SQUARE, X, **options)


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead"])
def test_a_trained_model_is_a_constant_under_no_grad(method):
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    f = lambda p: np.sum((p["x"] - w) ** 2)
    with pytest.raises(ad.LeavesGraphError, match="detach"):
        minimize(f, X, method=method)
    with ad.no_grad():
        assert_allclose(minimize(f, X, method=method).x["x"], [1.0, 2.0], atol=1e-4)
    assert w.grad is None


def test_complex_numbers_have_no_bounds():
    with pytest.raises(ad.ArgumentError, match="no order"):
        minimize(lambda z: np.abs(z) ** 2, 1j, bounds=(0, 1))
    with pytest.raises(ad.LeavesGraphError, match="bound"):
        minimize(SQUARE, X, bounds={"x": (ad.tensor(0.0, requires_grad=True), None)})


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_value_that_is_not_finite_on_the_way_is_the_solvers_business():
    f = lambda x: np.where(x > 0, x - np.log(x), np.inf)
    assert minimize(f, 0.1, method="Nelder-Mead").x == pytest.approx(1.0, abs=1e-4)
    assert minimize(lambda x: x - np.log(x), 8.0, method="L-BFGS-B").x == pytest.approx(1.0, abs=1e-4)


# -- Other solvers -------------------------------------------------------------------------------------


def test_problem_speaks_to_any_solver():
    f, calls = counted(rosen)
    p = problem(f, START, bounds=(-2.0, 2.0))
    result = scipy.optimize.minimize(p.fun, p.x0, jac=p.jac, hessp=p.hessp, method="trust-ncg")
    tree = p.unravel(result.x)
    assert_allclose(tree["rest"][1], 1.0, atol=1e-3)
    assert_allclose(p.ravel(tree), result.x)
    assert_allclose(p.bounds.lb, np.full(5, -2.0))
    assert p.counts.forward < calls["forward"]  # Hessians run it too
    bounds = list(zip(p.bounds.lb, p.bounds.ub, strict=True))
    x, value, _ = scipy.optimize.fmin_l_bfgs_b(p.fun, p.x0, p.jac, bounds=bounds)
    assert_allclose(x, 1.0, atol=1e-3)
    assert value == p.fun(x)


def test_problem_may_begin_where_the_function_is_not_finite():
    p = problem(lambda x: np.sum(np.where(x < 1, x**2, np.inf)), np.zeros(2))
    assert p.fun(np.ones(2)) == np.inf
    assert p.fun(np.zeros(2)) == 0.0


def test_problem_of_several_numbers_has_a_jacobian():
    p = problem(lambda q: {"a": q["x"] ** 2, "b": np.sum(q["x"]) * q["y"]}, {"x": np.array([1.0, 2.0]), "y": 3.0})
    j = np.array([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [3.0, 3.0, 3.0]])
    assert_allclose(p.fun(p.x0), [1.0, 4.0, 9.0])
    assert_allclose(p.jac(p.x0), j)
    assert_allclose(p.operator(p.x0) @ np.eye(3), j)
    assert_allclose(p.operator(p.x0).T @ np.eye(3), j.T)
    with pytest.raises(AttributeError, match="several numbers has no 'hess'"):
        _ = p.hess
    with pytest.raises(AttributeError, match="one number has no 'operator'"):
        _ = problem(SQUARE, X).operator


def test_arguments_are_passed_on():
    f = lambda p, scale, data: np.sum((scale["k"] * p["x"] - data) ** 2)
    result = minimize(f, X, ({"k": 2.0}, np.array([2.0, 4.0])))
    assert_allclose(result.x["x"], [1.0, 2.0], atol=1e-5)
    assert_allclose(problem(f, X, ({"k": 2.0}, 1.0)).fun(np.ones(2)), 2.0)
    assert minimize(lambda x, a: (x - a) ** 2, 0.0, 3.0).x == pytest.approx(3.0)


def test_the_module_is_reached_from_the_top():
    assert ad.scipy.optimize is optimize
