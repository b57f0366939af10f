"""Values and derivatives in every form of state: one of floats, many, rows of an array, tensors, duals, symbols."""

import math
import pickle
import threading
from types import FunctionType

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.op import Op
from adjoint.expressions import blocks, functions, scalars
from adjoint.testing import samples

TEXTS = (
    "3*x^2 + x*y + 5*y^2",
    "(x + sigmoid(y)) / (sigmoid(x) + (x + y)^2)",
    "sin(x*y)*exp(-x^2) + log(x + y^3)/(1 + y^4) + sqrt(x*y) - x^-2 + y^-1",
    "where(x > y, x^y, y^x) + max(x, y, 1) - min(x, 2*y) + abs(x - y)",
    "tanh(x)^3*erf(y) + atan2(x, y) + relu(x - y)*softplus(y) + x^y",
    "s = x + y; t = s*s; t/(1 + t) + hypot(x, y)^1.5 + (x > 1)*y",
)


def function_of(text):
    """The expression through tensors: its operations one by one on the tape."""
    e = ad.expr(text)
    return lambda v: e(x=v[0], y=v[1])


@pytest.mark.parametrize("text", TEXTS)
def test_all_ways_agree(text):
    e = ad.expr(text)
    rng = np.random.default_rng(0)
    states = rng.uniform(0.5, 2, (7, 2))
    f = function_of(text)
    for state in states:
        x, y = (float(v) for v in state)
        value, gradient = e.value_and_gradient(x=x, y=y)
        assert value == e(x=x, y=y) == e(x, y)
        assert type(value) is float
        expected = ad.grad(f)(state)
        np.testing.assert_allclose(list(gradient.values()), expected, rtol=1e-12)
        assert e.gradient(x=x, y=y) == gradient == e.gradient(x, y) == e.gradient({"x": x, "y": y})
        np.testing.assert_allclose(e.hessian(x=x, y=y), ad.hessian(f)(state), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(e.jacobian(x=x, y=y), [expected], rtol=1e-12)
    values, gradients = e.value_and_gradient(states)
    assert values.shape == (7,)
    np.testing.assert_allclose(values, [e(*row) for row in states.tolist()], rtol=1e-13)
    np.testing.assert_allclose(gradients, [list(e.gradient(*row).values()) for row in states.tolist()], rtol=1e-12)
    np.testing.assert_array_equal(e.gradient(states), gradients)
    named = e.gradient(x=states[:, 0], y=states[:, 1])
    np.testing.assert_array_equal(np.stack([named["x"], named["y"]], axis=1), gradients)
    np.testing.assert_allclose(e.hessian(states), [e.hessian(*row) for row in states.tolist()], rtol=1e-10, atol=1e-12)
    assert e.jacobian(states).shape == (7, 1, 2)


@pytest.mark.parametrize("count", [0, 1, blocks.BLOCK - 1, blocks.BLOCK, blocks.BLOCK + 1, 3 * blocks.BLOCK + 5])
def test_blocks_of_every_length(count):
    e = ad.expr("sin(x)*y + where(x > y, x*y, 2) + x^3; x; 7; x > y; x*y")
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, count))
    got = e(x=x, y=y)
    expected = (np.sin(x) * y + np.where(x > y, x * y, 2) + x * x * x, x, np.full(count, 7.0), x > y, x * y)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    y0 = 0.25
    np.testing.assert_allclose(e(x=x, y=y0)[0], np.sin(x) * y0 + np.where(x > y0, x * y0, 2) + x**3, rtol=1e-13)


def test_states_broadcast_and_stay_as_they_are():
    e = ad.expr("x*y + x")
    x, y = np.arange(3.0)[:, None], np.arange(4.0)
    got = e.gradient(x=x, y=y)
    np.testing.assert_array_equal(got["x"], np.broadcast_to(y + 1, (3, 4)))
    np.testing.assert_array_equal(got["y"], np.broadcast_to(x, (3, 4)))
    assert got["x"].flags.writeable
    np.testing.assert_array_equal(e(x=[1, 2], y=3), [4, 8])
    np.testing.assert_array_equal(e(x=np.array([[1, 2], [3, 4]]).T, y=1), [[2, 6], [4, 8]])
    assert e(x=np.array(2.0), y=1.0).shape == ()
    assert e.gradient(x=np.ones((2, 1, 3)), y=np.ones((5, 1)))["x"].shape == (2, 5, 3)
    np.testing.assert_array_equal(x, np.arange(3.0)[:, None])
    with pytest.raises(ad.ShapeError, match=r"x: \(2,\), y: \(3,\)"):
        e(x=np.ones(2), y=np.ones(3))


def test_rows_and_single_variables():
    e = ad.expr("x*y")
    assert e(np.array([2.0, 3.0])) == 6
    np.testing.assert_array_equal(e.gradient([2.0, 3.0]), [3, 2])
    with pytest.raises(ad.ShapeError, match=r"shape \(n, 2\); got \(5, 3\)"):
        e(np.ones((5, 3)))
    one = ad.expr("x^2")
    np.testing.assert_array_equal(one(np.arange(3.0)), [0, 1, 4])  # values of the only variable
    np.testing.assert_array_equal(one(np.arange(3.0)[:, None]), [0, 1, 4])
    np.testing.assert_array_equal(one.gradient(np.arange(3.0)[:, None]), [[0], [2], [4]])
    several = ad.expr("x*y; x + y")
    np.testing.assert_array_equal(several(np.array([[1.0, 2], [3, 4]])), [[2, 3], [12, 7]])
    np.testing.assert_array_equal(several.jacobian(np.array([[1.0, 2]])), [[[2, 1], [1, 1]]])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: e(x=1), r"no value for y; the variables are x, y: add y=…"),
        (lambda e: e.gradient(), r"no value for x, y"),
        (lambda e: e(x=1, y=2, yy=3), r"'yy' is no variable .* x, y; did you mean y"),
        (lambda e: e({"x": 1, "z": 2}), "'z' is no variable"),
        (lambda e: e(1), r"2 variables \(x, y\); got 1"),
        (lambda e: e(1, 2, 3), r"2 variables \(x, y\); got 3"),
        (lambda e: e(1, y=2), "not both"),
        (lambda e: e.diff("z"), "'z' is no variable"),
        (lambda e: e.substitute(z=1), "'z' is no variable"),
        (lambda e: float(e), "is no number"),
        (lambda e: bool(e > 1), "neither true nor false"),
        (lambda e: ad.expr([e, e]).gradient(x=1, y=2), r"that of one result; .* f.jacobian"),
        (lambda e: ad.expr([e, e]) + 1, "one result"),
    ],
)
def test_wrong_calls_say_what_would_be_right(call, said):
    with pytest.raises(ad.ExprError, match=said):
        call(ad.expr("x*y"))


def test_whole_numbers_are_numbers():
    e = ad.expr("x^y/2")
    assert e(x=2, y=-1) == e(x=np.int64(2), y=np.float64(-1)) == 0.25
    assert type(e(x=2, y=3)) is float
    np.testing.assert_array_equal(e(x=np.array([1, 2, 3]), y=2), [0.5, 2, 4.5])
    assert e(x=True, y=2) == 0.5


@pytest.mark.parametrize(
    ("text", "state", "value"),
    [
        ("1/x", 0.0, np.inf), ("-1/x", 0.0, -np.inf), ("x/x", 0.0, np.nan), ("log(x)", 0.0, -np.inf),
        ("log(x)", -1.0, np.nan), ("sqrt(x)", -1.0, np.nan), ("exp(x)", 1e4, np.inf), ("x^0.5", -1.0, np.nan),
        ("x^-1", 0.0, np.inf), ("sin(x)", np.inf, np.nan), ("x^1000", 10.0, np.inf), ("x*x", 1e200, np.inf),
        ("mod(x, 0)", 1.0, np.nan), ("floor(x)", np.inf, np.inf), ("max(x, 1)", np.nan, np.nan),
        ("acos(x)", 2.0, np.nan),
        ("sign(x)", np.nan, np.nan), ("cosh(x)", 1e3, np.inf), ("2^x", 1e9, np.inf), ("gammaln(x)", 0.0, np.inf),
        ("where(x > 0, log(x), 5)", 0.0, 5.0), ("min(x, 1)", np.nan, np.nan), ("relu(x)", np.nan, np.nan),
        ("sigmoid(x)", -1e4, 0.0), ("sigmoid(x)", 1e4, 1.0), ("softplus(x)", 1e4, 1e4), ("x == x", np.nan, False),
    ],
)  # fmt: skip
def test_special_values_are_numpys_in_every_form(text, state, value):
    e = ad.expr(text)
    with np.errstate(all="ignore"):
        for got in (e(x=state), e(x=np.array([state]))[0], e(np.full((2, 1), state))[1]):
            np.testing.assert_equal(float(got), value)


def test_numpy_warns_where_it_would():
    e = ad.expr("1/x")
    for x in (0.0, np.zeros(2)):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert np.all(np.isinf(e(x=x)))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        e(x=0.0)


#: Functions whose derivatives by a shape are integrals.
BY_SHAPE = frozenset(
    ("bdtrik", "bdtrin", "beta_ppf", "betainc", "betaincc", "betainccinv", "betaincinv", "btdtria",
     "btdtrib", "chdtr", "chdtrc", "chdtri", "chdtriv", "fdtr", "fdtrc", "fdtri", "fdtridfd", "gammainc",
     "gammaincc", "gammainccinv", "gammaincinv", "gdtr", "gdtrc", "gdtria", "gdtrib", "gdtrix", "nbdtrik",
     "nbdtrin", "pdtrik", "stdtr", "stdtridf", "stdtrit")
)  # fmt: skip


def differentiable():
    """The operations that functions of expressions stand for, and that have a rule for each input."""
    found = (functions.find(name) for name in functions.known())
    ops = {f.op for f in found if f is not None and isinstance(f.op, Op)} - functions.TRUTHS
    return sorted((op for op in ops if all(_has_slope(rule) for rule in op.rules)), key=lambda op: op.name)


def _has_slope(rule):
    return isinstance(rule.function, int | float | FunctionType)


@pytest.mark.parametrize("op", differentiable(), ids=lambda op: op.name)
def test_derivatives_of_every_function_are_the_tapes(op):
    """One rule, every mode: what rules make of nodes is what they make of tensors."""
    call = next((c for c in samples(op) if all(np.ndim(a) <= 2 for a in c.args)), None)
    if call is None or call.kwargs:
        pytest.skip("no sample of plain numbers")
    values = [float(np.ravel(a)[0]) for a in call.args]
    names = [f"x{i}" for i in range(len(values))]
    if op.name == "voigt_profile":
        pytest.skip("its rule goes through complex numbers, which expressions do not have")
    e = ad.expr(f"{op.name}({', '.join(names)})", names)
    if op.name in BY_SHAPE:
        with pytest.raises(ad.NotSupportedError, match="an integral, which expressions do not have"):
            e.gradient(*values)
        return
    with np.errstate(all="ignore"):
        tensors = [ad.tensor(v, requires_grad=True) for v in values]
        op(*tensors).backward()
        expected = [0.0 if t.grad is None else t.grad.item() for t in tensors]
        np.testing.assert_allclose(list(e.gradient(*values).values()), expected, rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(e.gradient(np.array([values] * 3)), [expected] * 3, rtol=1e-11, atol=1e-300)


def test_other_dtypes_stay():
    e = ad.expr("3*x^2 + sin(x)*y")
    x = np.ones(3, np.float32)
    assert e(x=x, y=2.0).dtype == np.float32
    assert e.gradient(x=x, y=2.0)["y"].dtype == np.float32
    assert e(x=x, y=np.ones(3)).dtype == np.float64
    z = np.array([1 + 1j])
    np.testing.assert_allclose(e(x=z, y=0.0), 3 * z**2)


def test_tensors_duals_batches_and_symbols():
    e = ad.expr("x^2*y + sin(x)")
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    np.sum(e(x=x, y=3.0)).backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * np.array([1.0, 2.0]) + np.cos([1.0, 2.0]))
    slope = ad.grad(lambda v: e.gradient(x=v, y=3.0)["x"])(1.0)
    np.testing.assert_allclose(slope, 6 - np.sin(1.0))
    rows = ad.tensor([[1.0, 3.0], [2.0, 3.0]], requires_grad=True)
    assert e.gradient(rows).shape == (2, 2)
    np.sum(e(rows)).backward()
    np.testing.assert_allclose(rows.grad.numpy(), e.gradient(rows.detach().numpy()))
    assert e.hessian(x=x, y=3.0).shape == (2, 2, 2)
    np.testing.assert_allclose(ad.jvp(lambda v: e(x=v, y=3.0), (1.0,), (1.0,))[1], 6 + np.cos(1.0))
    np.testing.assert_allclose(ad.vmap(lambda v: e(x=v, y=3.0))(np.array([1.0, 2.0])), e(x=np.array([1.0, 2.0]), y=3.0))
    graph = ad.capture(lambda v: e(x=v, y=v), 1.0)
    graph.verify()
    assert graph(2.0) == 8 + np.sin(2.0)


def test_euler_s_number_unless_another_value_is_given():
    e = ad.expr("d*e + c")
    assert e.variables == ("d", "c")
    assert e(d=2, c=0) == 2 * math.e
    assert e(d=2, c=0, e=3) == 6
    assert e.gradient(c=1, d=2, e=3) == {"d": 3, "c": 1, "e": 2}
    assert ad.expr("d*e + c", "c d e").gradient(c=1, d=2, e=3) == {"c": 1, "d": 3, "e": 2}
    with pytest.raises(ad.ExprError, match="'e' is no variable"):
        ad.expr("x")(x=1, e=2)


def test_variables_that_do_not_occur_need_no_value():
    e = ad.expr("x^2 + y").diff("x")
    assert e.variables == ("x", "y")
    assert e(x=3) == 6
    assert e.gradient(x=3, y=1) == {"x": 2, "y": 0}
    np.testing.assert_array_equal(e.gradient(x=np.arange(2.0), y=0.0)["y"], [0, 0])
    assert ad.expr("7").gradient() == {}
    assert ad.expr("7").value_and_gradient() == (7, {})
    assert float(ad.expr("2 + 5")) == 7


def test_a_gradient_costs_unique_nodes():
    x = ad.expr("x")
    for _ in range(60):
        x = x + x
    assert x(x=1.0) == 2.0**60
    assert x.gradient(x=1.0) == {"x": 2.0**60}
    assert len(x.nodes) == 61
    assert x.tree_size == 2**61 - 1


def test_long_expressions_go_without_recursion_or_compilation():
    count = scalars.MAX_NODES
    e = ad.expr("+".join(f"{k}*x" for k in range(count)))
    expected = count * (count - 1) // 2
    assert e(x=1.0) == e.gradient(x=1.0)["x"] == expected
    np.testing.assert_array_equal(e(x=np.array([1.0, 2.0])), [expected, 2 * expected])
    deep = ad.expr("x" + "+sin(x" * 3000 + ")" * 3000)
    assert ad.expr(str(deep)) == deep
    assert deep.gradient(x=0.0)["x"] == 3001
    assert pickle.loads(pickle.dumps(deep)) == deep
    many = ad.expr("*".join(f"v{k}" for k in range(300)))
    assert many.gradient(np.ones(300)).tolist() == [1.0] * 300


def test_threads_share_an_expression():
    e, results = ad.expr("sin(x)*x^2"), []
    states = np.linspace(0.1, 2, 30_000)
    threads = [threading.Thread(target=lambda: results.append(e.gradient(x=states)["x"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(r, results[0]) for r in results)
    assert len(results) == 4


def test_constants_that_are_folded_take_no_value_with_them():
    e = ad.expr("log(-1 + 0*1)/rint(1e-300 - z)")
    with pytest.warns(RuntimeWarning):
        assert math.isnan(e(z=0.5))
    e = ad.expr("-log(1e-300*1e-300) - heaviside(x, e)")
    with pytest.warns(RuntimeWarning):
        assert e(x=0.5) == math.inf
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(ad.expr("x + exp(1)")(x=x), x + np.float32(math.e))


def test_float32_stays_beside_pythons_numbers_and_in_constant_derivatives():
    e = ad.expr("3*x^2 + x*y + 5*y^2")
    x = np.ones(3, np.float32)
    assert e(x=x, y=3.0).dtype == np.float32
    assert all(slope.dtype == np.float32 for slope in e.gradient(x=x, y=3.0).values())
    assert e.to_tensor_function()(ad.tensor(x), 3.0).dtype == np.float32
    rows = np.ones((3, 2), np.float32)
    assert e.hessian(rows).dtype == ad.expr("x - y").gradient(rows).dtype == np.float32
    assert e(x=x, y=np.float64(3.0)).dtype == np.float64


def test_tables_of_no_states_and_of_no_variables():
    e = ad.expr("x*y; x + y; x")
    assert e.jacobian(np.ones((0, 2))).shape == (0, 3, 2)
    assert ad.expr("x*y").hessian(np.ones((0, 2))).shape == (0, 2, 2)
    assert ad.expr("2").hessian().shape == (0, 0)
    assert ad.expr("2; 3").jacobian().shape == (2, 0)


@pytest.mark.parametrize("state", ["2", object(), np.array(["a"])])
def test_states_that_are_no_numbers(state):
    with pytest.raises(ad.ArgumentError, match=r"arrays of numbers; got dtype .* for x"):
        ad.expr("x*y")(x=state, y=1.0)


@pytest.mark.parametrize("names", ["x x y", ["x", 1], "x y 2a"])
def test_variables_are_names_each_once(names):
    with pytest.raises(ad.ExprError, match="variables are names, each once"):
        ad.expr("x*y", names)


@pytest.mark.parametrize("text", ["(-8)^(1/3)*x", "x + 1/0", "0^-1*x", "2^1e300 - x", "inf/0 + x", "x^((-2)^0.5)"])
def test_source_of_constants_gives_what_numpy_gives(text):
    e = ad.expr(text)
    scope = {}
    exec(e.to_source(), scope)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(scope["f"](np.float64(1.5)), e(x=1.5))
        value, slopes = scope["f_and_gradient"](np.float64(1.5))
        np.testing.assert_array_equal(value, e(x=1.5))
        np.testing.assert_array_equal(slopes, list(e.gradient(x=1.5).values()))


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "sign"])
@pytest.mark.parametrize("x", [-0.0, 0.0, -0.5, 0.5, -0.3, 0.3, -1.5, 2.5])
def test_signs_of_zeros_are_numpys_at_one_state(name, x):
    value = ad.expr(f"{name}(x)")(x=x)
    assert type(value) is float
    assert (value, math.copysign(1, value)) == (getattr(np, name)(x), np.copysign(1, getattr(np, name)(x)))
    angle = ad.expr(f"atan2({name}(x), -1)")(x=x)
    assert angle == pytest.approx(np.arctan2(getattr(np, name)(x), -1.0), rel=1e-15)
