"""Compiled expressions give what expressions give, in every form of states and for every kind of them."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.compiler import expressions
from adjoint.core.errors import ArgumentError, ExprError, GraphError, ShapeError

WAVES = "sin(x*y)*exp(-x^2) + log(x + y^3)/(1 + z^2) + sqrt(x*y*z)"
FORMULAS = (
    WAVES,
    "3*x^2 + x*y + 5*y^2",
    "(x + sigmoid(y)) / (sigmoid(x) + (x + y)^2)",
    "where(x < y, x^2, tanh(y)/x) + abs(x - y)*max(x, y) - min(x, 2)",
    "x^y + 2^x + atan2(x, y) + log1p(x)*expm1(-y) + erf(x)",
    "s = x + y; s + x*s",
)
KINDS = ("__call__", "gradient", "value_and_gradient", "hessian", "jacobian")
STATE = {"x": 0.7, "y": 1.3, "z": 0.4}


def pair(text):
    e = ad.expr(text)
    return e, ad.compile(e, wait=True)


def state_of(e, values=STATE):
    return {name: values[name] for name in e.variables}


def leaves(x):
    if isinstance(x, dict):
        return [*x.keys(), *x.values()]
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [x]


def check_same(found, expected, tolerance=1e-11):
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is type(b)
        if isinstance(b, str | bool):
            assert a == b
            continue
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", FORMULAS)
def test_numbers_give_what_the_expression_gives(text, kind):
    e, f = pair(text)
    state = state_of(e)
    for _ in range(2):
        check_same(getattr(f, kind)(**state), getattr(e, kind)(**state))
    check_same(getattr(f, kind)(*state.values()), getattr(e, kind)(**state))
    assert "native" in f.explain()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", FORMULAS)
def test_arrays_give_what_the_expression_gives(text, kind, dtype):
    e, f = pair(text)
    rng = np.random.default_rng(0)
    states = {name: rng.uniform(0.5, 2.0, 37).astype(dtype) for name in e.variables}
    tolerance = 1e-11 if dtype is np.float64 else 2e-4
    check_same(getattr(f, kind)(**states), getattr(e, kind)(**states), tolerance)
    rows = np.stack(list(states.values()), axis=-1)
    check_same(getattr(f, kind)(rows), getattr(e, kind)(rows), tolerance)
    mixed = {**states, "x": 1.5}
    check_same(getattr(f, kind)(**mixed), getattr(e, kind)(**mixed), tolerance)
    assert "by Python" not in f.explain()


def test_shapes_broadcast_and_layouts_do_not_matter():
    e, f = pair(WAVES)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 2.0, (7, 1)), rng.uniform(0.5, 2.0, (2, 1, 5))
    for states in (
        {"x": x, "y": y, "z": 0.4},
        {"x": x.T, "y": y[0].T, "z": np.array(0.4)},
        {"x": np.asfortranarray(rng.uniform(0.5, 2.0, (4, 6))), "y": rng.uniform(0.5, 2.0, (4, 12))[:, ::-2], "z": 1},
        {"x": x, "y": y.astype(np.float32), "z": np.float64(0.4)},
        {"x": np.arange(1, 4), "y": 1.5, "z": 0.4},
        {"x": np.ones((0, 3)), "y": 1.5, "z": 0.4},
        {"x": [0.5, 1.5], "y": 1.5, "z": 0.4},
    ):
        for _ in range(2):
            check_same(f.gradient(**states), e.gradient(**states), 1e-5)
            check_same(f(**states), e(**states), 1e-5)


def test_an_array_that_is_given_twice_and_results_that_are_kept():
    e, f = pair("x*y + x")
    x = np.linspace(0.0, 1.0, 5)
    first = f.gradient(x=x, y=x)
    check_same(first, e.gradient(x=x, y=x))
    x += 1.0
    again = f.gradient(x=x, y=x)
    check_same(again, e.gradient(x=x, y=x))
    assert not np.shares_memory(first["x"], again["x"])
    assert not np.shares_memory(again["x"], x)


@pytest.mark.parametrize("text", ["x < y", "x*y; x + y; 2; x < y", "3", "2*pi; x", "d*e"])
def test_truths_constants_and_several_results(text):
    e, f = pair(text)
    values = dict.fromkeys("xyd", 1.5)
    check_same(f(**state_of(e, values)), e(**state_of(e, values)))
    arrays = {name: np.full(3, 0.5) for name in e.variables}
    if arrays:
        check_same(f(**arrays), e(**arrays))


def test_eulers_number_may_be_a_variable():
    e, f = pair("d*e + d")
    check_same(f(d=2.0, e=3.0), e(d=2.0, e=3.0))
    check_same(f.gradient(d=np.ones(2), e=3.0), e.gradient(d=np.ones(2), e=3.0))
    check_same(f(d=2.0), e(d=2.0))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ExprError, lambda f: f(x=1.0)),
        (ExprError, lambda f: f.gradient(x=1.0, y=2.0)),
        (ExprError, lambda f: f(x=1.0, y=2.0, z=3.0, w=4.0)),
        (ExprError, lambda f: f.gradient(x=1.0, y=2.0, zz=3.0)),
        (ExprError, lambda f: f(1.0, 2.0)),
        (ExprError, lambda f: f(1.0, y=2.0, z=3.0)),
        (ArgumentError, lambda f: f(x=1.0, y="2", z=3.0)),
        (ArgumentError, lambda f: f.gradient(x=np.array(["a"]), y=2.0, z=3.0)),
        (ShapeError, lambda f: f(x=np.ones(2), y=np.ones(3), z=3.0)),
        (ShapeError, lambda f: f(np.ones((3, 4)))),
    ],
)
def test_errors_are_those_of_the_expression(error, call):
    e, f = pair(WAVES)
    f(**STATE)
    f.gradient(**STATE)
    with pytest.raises(error) as expected:
        call(e)
    with pytest.raises(error) as found:
        call(f)
    assert str(found.value) == str(expected.value)


def test_tensors_and_transforms_go_through():
    e, f = pair(WAVES)
    t = ad.tensor([0.5, 1.5], requires_grad=True)
    np.sum(f(x=t, y=1.3, z=0.4)).backward()
    np.testing.assert_allclose(t.grad.numpy(), e.gradient(x=t.numpy(), y=1.3, z=0.4)["x"])
    assert ad.grad(lambda x: f(x=x, y=1.3, z=0.4))(0.7) == pytest.approx(e.gradient(**STATE)["x"])
    outer = ad.compile(lambda x: f(x=x, y=1.3, z=0.4) * 2.0, wait=True)
    assert float(outer(0.7)) == pytest.approx(2.0 * e(**STATE))


def test_the_first_call_does_not_wait_and_native_code_takes_over():
    f = ad.compile(ad.expr(WAVES))
    kept = f.gradient
    expected = ad.expr(WAVES).gradient(**STATE)
    check_same(kept(**STATE), expected)
    states = {name: np.full(5, value) for name, value in STATE.items()}
    check_same(f.gradient(**states), {name: np.full(5, value) for name, value in expected.items()})
    deadline = time.monotonic() + 60
    while f.explain().count(": native") < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert f.explain().count(": native") == 2, f.explain()
    for call in (kept, f.gradient):
        check_same(call(**STATE), expected)
    assert type(f.gradient) is type(len)


def test_what_it_says():
    f = ad.compile(ad.expr("sin(x)*y"), wait=True)
    assert f.explain().endswith("has not been called yet")
    with pytest.raises(ArgumentError, match="no native code"):
        _ = f.llvm
    f.gradient(x=1.0, y=2.0)
    assert "define" in f.llvm
    assert f.assembly
    f(x=np.ones(3), y=np.float32(2.0) * np.ones((2, 1), np.float32))
    lines = f.explain().splitlines()
    assert lines[0] == "expr('sin(x)*y')"
    assert "  gradient, one state: native" in lines
    assert "  value, float64 (3,), float32 (2, 1): native" in lines
    assert "define" in f.llvm
    assert f.assembly
    assert "asked for" in _explained(ad.compile(ad.expr("x^2"), backend="numpy"))


def test_what_has_no_native_code_runs_as_it_is(monkeypatch):
    monkeypatch.setattr("adjoint.native.call.scalar_program.kind_of", lambda node: ("numpy", "not today"))
    e, f = pair("tan(x)")
    for _ in range(2):
        assert f(x=2.5) == e(x=2.5)
        check_same(f.hessian(x=2.5), e.hessian(x=2.5))
    assert "tan has no native code (not today)" in f.explain()


def test_special_functions():
    e, f = pair("struve(1, x)*erfinv(y) + gammaln(x)")
    for state in ({"x": 2.5, "y": 0.3}, {"x": np.array([0.5, 2.5]), "y": 0.3}):
        check_same(f.value_and_gradient(**state), e.value_and_gradient(**state))


def _explained(f):
    assert f(x=3.0) == 9.0
    np.testing.assert_array_equal(f(x=np.array([3.0])), [9.0])
    return f.explain()


def test_it_is_an_expression():
    e, f = pair(WAVES)
    assert f == e
    assert hash(f) == hash(e)
    assert str(f) == str(e)
    assert f.diff("x") == e.diff("x")
    assert type(f + 1) is ad.Expr
    for other in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), ad.compile(f, wait=True)):
        check_same(other.gradient(**STATE), e.gradient(**STATE))
        assert "native" in other.explain()


def test_static_names_are_refused_with_what_would_work():
    with pytest.raises(ArgumentError, match=r"substitute"):
        ad.compile(ad.expr("k*x"), static=("k",))


def test_native_code_is_silent_about_values():
    _, f = pair("1/x + log(y)")
    assert f(x=0.0, y=1.0) == np.inf
    assert np.isnan(f(x=1.0, y=-1.0))
    np.testing.assert_array_equal(f(x=np.zeros(3), y=1.0), [np.inf] * 3)


def test_programs_for_kinds_of_arrays_are_the_latest(monkeypatch):
    monkeypatch.setattr(expressions, "MOST_KINDS", 3)
    e, f = pair("x^2 + x")
    for n in range(1, 9):
        for _ in range(2):
            check_same(f(x=np.arange(n) + 0.5), e(x=np.arange(n) + 0.5))
    assert 0 < f.explain().count(": native") <= 4


def test_threads_share_one():
    e, f = pair(WAVES)
    rng = np.random.default_rng(0)
    states = [{name: rng.uniform(0.5, 2.0, n) for name in "xyz"} for n in (1000, 50_000)]
    expected = [e.gradient(**arrays) for arrays in states]
    failures = []

    def work():
        try:
            for _ in range(20):
                for arrays, wanted in zip(states, expected, strict=True):
                    check_same(f.gradient(**arrays), wanted, 1e-8)
                check_same(f.gradient(**STATE), e.gradient(**STATE))
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_values_are_held_against_numpy_if_asked(monkeypatch):
    monkeypatch.setenv("ADJOINT_VERIFY", "1")
    e, f = pair(WAVES)
    check_same(f.value_and_gradient(**STATE), e.value_and_gradient(**STATE))
    check_same(f(x=np.ones(3), y=1.5, z=1.0), e(x=np.ones(3), y=1.5, z=1.0))
    wrong = ad.compile(e, wait=True)
    monkeypatch.setattr(expressions.NativePlan, "_symbolic", _off_by_one(expressions.NativePlan._symbolic))
    with pytest.raises(GraphError, match="ADJOINT_VERIFY"):
        wrong(**STATE)


def _off_by_one(symbolic):
    def changed(self, examples):
        inputs, nodes, weak = symbolic(self, examples)
        return inputs, [inputs[0] for _ in nodes], weak

    return changed


numbers = st.floats(-4, 4, allow_subnormal=False).map(lambda x: round(x, 3))
texts = st.recursive(
    st.sampled_from(["x", "y", "2", "0.5", "-1.5"]),
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from("+-*/"), part).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["sin", "tanh", "exp", "abs", "sigmoid", "sqrt"]), part).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        st.tuples(part, part).map(lambda t: f"where({t[0]} < {t[1]}, {t[1]}, {t[0]})"),
        part.map(lambda t: f"({t})^2"),
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(text=texts, x=numbers, y=numbers)
def test_any_formula_gives_the_same_compiled(text, x, y):
    e = ad.expr(text, "x y")
    f = ad.compile(e, wait=True)
    with np.errstate(all="ignore"):
        for states in ({"x": x, "y": y}, {"x": np.array([x, y]), "y": y}):
            check_same(f.value_and_gradient(**states), e.value_and_gradient(**states), 1e-7)
