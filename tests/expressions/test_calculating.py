"""Expressions as values: operators, NumPy's functions, derivatives, substitution, text, LaTeX, source, gates, SymPy."""

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad

ROUND_TRIPS = (
    "x - (y - z)", "x - y - z", "x/(y*z)", "x/y*z", "x*(y/z)", "-x^2", "(-x)^2", "x^-y", "x^y^z", "(x^y)^z", "-(x*y)",
    "-x*y", "x*-y", "--x", "x + -2", "-2*x", "(-2)^x", "2^-2", "x^-2*y", "-(x + y)", "x^(y + 1)", "sin(x)^2",
    "where(x > 0, x, -x)", "(x < y) + 1", "x < y", "(x + 1 < y*2) == 1", "max(x, y, z)", "not(x > 0)", "1e-300*x",
    "1e22 + x", "0.1*x", "pi*e^x", "-pi", "inf - nan", "x*(y + z)*(y + z)", "x - -y", "(x*y)^z", "x/y/z", "x/(y/z)",
    "gate(x, y)", "and(x > 0, or(y > 0, z > 0))", "-0*x", "1234567890123456789*x", "x_1^2 + δ", "x; y*x; 3",
)  # fmt: skip


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_text_reads_back_to_the_same_nodes(text):
    e = ad.expr(text)
    assert ad.expr(str(e)) == e
    assert pickle.loads(pickle.dumps(e)) == e
    assert copy.deepcopy(e).variables == e.variables


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("((x)+((y)))", "x + y"), ("(x*y)*z", "x*y*z"), ("x*(y*z)", "x*(y*z)"), ("(x^2)*3", "x^2*3"), ("-(x^2)",
        "-x^2"),
        ("(-x)^2", "(-x)^2"), ("x^(y^z)", "x^y^z"), ("(x + y) - z", "x + y - z"), ("x + (y - z)", "x + (y - z)"),
        ("(x)/(y)", "x/y"), ("min(x, maximum(y, z))", "min(x, max(y, z))"), ("absolute(x)", "abs(x)"), ("1.0*x", "1*x"),
        ("arcsin(x)", "asin(x)"), ("s = x + y; s*s", "(x + y)*(x + y)"),
    ],
)  # fmt: skip
def test_text_has_as_few_parentheses_as_possible(text, shortest):
    assert str(ad.expr(text)) == shortest


def test_text_of_what_repeats_itself_names_it():
    e = ad.expr("x")
    for _ in range(40):
        e = e * e + 1
    assert len(str(e)) < 3000
    assert ad.expr(str(e)) == e
    clash = e.substitute(x="s1 + s2")
    assert ad.expr(str(clash)) == clash
    assert clash.variables == ("s1", "s2")


def test_operators_and_numpy_functions():
    x, y = ad.expr("x"), ad.expr("y")
    made = {
        "x + y": x + y, "2 - x": 2 - x, "x*y": x * y, "1/x": 1 / x, "x^2": x**2, "2^x": 2**x, "-x": -x,
        "abs(x)": abs(x),
        "x - 3": x - np.float64(3), "x/2": x / np.int64(2), "remainder(x, y)": x % y, "floor_divide(x, 2)": x // 2,
        "sin(x)": np.sin(x), "sqrt(x)": np.sqrt(x), "max(x, y)": np.maximum(x, y), "max(x, 0)": np.maximum(x, 0.0),
        "where(x > 0, x, -x)": np.where(x > 0, x, -x), "sigmoid(x)": ad.sigmoid(x),
        "x": +x, "clip(x, 0, 1)": np.clip(x, 0, 1),
        "atan2(y, x)": np.arctan2(y, x),
        "x <= 2": x <= 2, "x > y": y < x, "and(x > 0, y > 0)": np.logical_and(x > 0, y > 0),
    }  # fmt: skip
    for text, e in made.items():
        assert isinstance(e, ad.Expr), text
        read = ad.expr(text)
        if text not in ("x > y", "x <= 2"):
            assert e == read, f"{text}: {e}"
        state = {name: value for name, value in (("x", 2.0), ("y", 3.0)) if name in e.variables}
        assert e(**state) == read(**state)
    assert (x + y).variables == ("x", "y")
    assert (y + x).variables == ("y", "x")
    assert x != 3
    assert hash(x + y) == hash(ad.expr("x + y"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x + np.ones(3), lambda x: np.ones(3) * x, lambda x: x * ad.tensor([1.0]),
        lambda x: ad.tensor(1.0) * x,
        lambda x: np.sum(x), lambda x: x + "y", lambda x: x * 1j, lambda x: np.concatenate([x, x]), lambda x: x @ x,
    ],
)  # fmt: skip
def test_what_no_expression_holds_is_refused(wrong):
    with pytest.raises(TypeError):
        wrong(ad.expr("x"))


def test_diff():
    e = ad.expr("x^2*y + sin(x*y)")
    assert str(ad.expr("3*x^2 + x*y").diff("x")) == "6*x + y"
    assert e.diff() == e
    second = e.diff("x", "y")
    assert second(x=2.0, y=3.0) == pytest.approx(e.hessian(x=2.0, y=3.0)[0, 1], rel=1e-14)
    assert e.gradients()["x"] == e.diff("x")
    assert ad.expr("x").diff("x")() == 1
    assert ad.expr("y; x*y").diff("y")(x=3.0) == (1, 3)
    fifth = ad.expr("exp(2*x)").diff(*"xxxxx")
    assert fifth(x=0.0) == 32
    assert ad.expr("floor(x) + (x > 1)").diff("x")(x=0.5) == 0
    with pytest.raises(ad.NotDifferentiableError, match="spacing"):
        ad.expr("spacing(x)").diff("x")


def test_substitute_is_at_once():
    e = ad.expr("x + 2*y")
    assert str(e.substitute(x="y", y="x")) == "y + 2*x"
    assert e.substitute({"x": 3})(y=1) == 5
    assert e.substitute(x=ad.expr("a*b")).variables == ("a", "b", "y")
    assert e.substitute(y=np.sin(ad.expr("x"))) == ad.expr("x + 2*sin(x)")


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("1*x", "x"), ("x*1", "x"), ("x/1", "x"), ("x^1", "x"), ("x^0", "1"), ("x - 0", "x"), ("--x", "x"), ("-1*x",
        "-x"),
        ("2*3 + x", "6 + x"), ("x + -y", "x - y"), ("x - -y", "x + y"), ("sin(0)*x", "0*x"), ("where(1 < 2, x, y)",
        "x"),
        ("where(x > y, x, x)", "x"), ("-x*-y", "x*y"), ("3*(2*x)", "6*x"), ("and(x > 0, 1 < 2)", "x > 0"), ("-(2*x)",
        "-2*x"),
        ("x + 0", "x + 0"), ("0*x", "0*x"), ("x - x", "x - x"), ("x/x", "x/x"), ("3*(0.1*x)", "3*(0.1*x)"), ("1/0",
        "1/0"), ("x + x + x", "3*x"), ("x + (x + x + x + x)", "5*x"), ("x + x + x + x + x + x", "5*x + x"),
        ("x*2 + x", "3*x"),
    ],
)  # fmt: skip
def test_simplify_keeps_every_value(text, simple):
    e = ad.expr(text, "x y")
    assert str(e.simplify()) == simple
    special = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308])
    with np.errstate(all="ignore"):
        before, after = (f(x=special, y=special[::-1]) for f in (e, e.simplify()))
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(np.signbit(before[~np.isnan(before)]), np.signbit(after[~np.isnan(after)]))


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("x^2/y", r"\frac{x^{2}}{y}"), ("sqrt(alpha_1)*pi", r"\sqrt{\alpha_{1}} \, \pi"),
        ("(x + y)*z", r"\left(x + y\right) \, z"),
        ("x*2", r"x \cdot 2"), ("sin(x1)", r"\sin\left(x_{1}\right)"),
        ("sigmoid(speed)", r"\operatorname{sigmoid}\left(\mathrm{speed}\right)"),
        ("exp(-x)", r"e^{-x}"), ("1e-10*x", r"1 \cdot 10^{-10} \, x"), ("abs(x)^2", r"\left|x\right|^{2}"),
        ("x <= 1", r"x \le 1"),
        ("inf", r"\infty"),
        ("where(x > 0, 1, 2)", r"\begin{cases} 1 & \text{if } x > 0 \\ 2 & \text{otherwise} \end{cases}"),
        ("x^y^z", r"x^{y^{z}}"), ("-(x + y)", r"-\left(x + y\right)"), ("x; y", r"x \\ y"),
    ],
)  # fmt: skip
def test_latex(text, latex):
    e = ad.expr(text)
    assert e.latex == latex
    assert e._repr_latex_() == f"$\\displaystyle {latex}$"


SOURCES = (
    "3*x^2 + x*y + 5*y^2", "(x + sigmoid(y)) / (sigmoid(x) + (x + y)^2)", "where(x > y, x^y, y^x) + max(x, y)*erf(x)",
    "relu(x - 1)^2 + gelu(y) + pi*x^-2", "x*y; x + y; x", "lambda*np + v1*ad", "softplus(x) + clip(x, 0, y) + x^2.5",
    "7", "x",
)  # fmt: skip


@pytest.mark.parametrize("text", SOURCES)
def test_source_runs_and_is_right(text):
    e = ad.expr(text)
    scope = {}
    exec(e.to_source("energy"), scope)
    rng = np.random.default_rng(0)
    for states in (
        [float(x) for x in rng.uniform(0.5, 2, len(e.variables))],
        list(rng.uniform(0.5, 2, (len(e.variables), 5))),
    ):
        values = e(*states) if states else e()
        value, gradient = scope["energy_and_gradient"](*states)
        for ours in (value, scope["energy"](*states)):
            for mine, theirs in zip(np.atleast_1d(ours), np.atleast_1d(values), strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        if states:
            table = e.jacobian(*states)
            slopes = gradient if len(e.roots) > 1 else (gradient,)
            for k, row in enumerate(slopes):
                for i, slope in enumerate(row):
                    np.testing.assert_allclose(slope, table[..., k, i], rtol=1e-11, atol=1e-15)


def test_source_reads_as_one_would_write_it():
    assert ad.expr("x*sin(y)").to_source() == (
        'import numpy as np\n\n\ndef f(x, y):\n    """x*sin(y)"""\n    v1 = np.sin(y)\n    v2 = x * v1\n    return v2'
        "\n\n\n"
        'def f_and_gradient(x, y):\n    """The value of f, and its derivative by each argument."""\n'
        "    v1 = np.sin(y)\n    v2 = x * v1\n    # the derivative of v2 by each value, from the last to the first\n"
        "    d_v2 = 1.0\n    d_v1 = x\n    d_y = x * np.cos(y)\n    d_x = v1\n    return v2, (d_x, d_y)\n"
    )
    with pytest.raises(ad.ArgumentError, match="Python name"):
        ad.expr("x").to_source("not a name")


def test_tensor_function_is_one_operation_with_all_derivatives():
    e = ad.expr("sin(x*y) + x^3")
    f = e.to_tensor_function()
    x, y = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor(0.5, requires_grad=True)
    out = f(x, y=y)
    assert set(out.node.parents) == {x.node, y.node}
    np.sum(out).backward()
    expected = e.gradient(x=np.array([1.0, 2.0]), y=0.5)
    np.testing.assert_allclose(x.grad.numpy(), expected["x"])
    np.testing.assert_allclose(y.grad.numpy(), np.sum(expected["y"]))
    point = np.array([1.0, 0.5])
    np.testing.assert_allclose(ad.hessian(lambda v: f(v[0], v[1]))(point), e.hessian(point))
    np.testing.assert_allclose(ad.jvp(f, (1.0, 0.5), (1.0, 2.0))[1], np.dot([1, 2], e.gradient(point)))
    np.testing.assert_allclose(ad.vmap(f)(np.ones(3), np.ones(3)), e(x=np.ones(3), y=1.0))
    assert f(1.0, 2.0) == e(1.0, 2.0)
    half = np.ones(2, np.float32)
    assert f(half, half).dtype == np.float32
    pair = ad.expr("x*y; x + y").to_tensor_function()
    assert pair(2.0, 3.0) == (6, 5)
    with pytest.raises(ad.ArgumentError, match=r"takes \(x, y\); got \(…\)"):
        f(1.0)


FORMULAS = (
    "3*x^2 + x*y - 5/y", "sin(x)*exp(-y^2) + log(x)/sqrt(y)", "max(x, y, 1) + min(x, y) + abs(x - y)",
    "atan2(x, y) + tanh(x)",
    "where(x > y, x, y^2) + pi*e^x", "sigmoid(x) + softplus(y) + hypot(x, y) + cbrt(x) + log10(y)",
    "erf(x) + gammaln(y + 1)",
    "x^-2.5 + y^(1/3)",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_sympy_and_back(text):
    sympy = pytest.importorskip("sympy")
    e = ad.expr(text)
    formula = e.to_sympy()
    symbols = {str(s): s for s in formula.free_symbols}
    state = {"x": 0.7, "y": 1.3}
    assert float(formula.subs({symbols[n]: v for n, v in state.items() if n in symbols})) == pytest.approx(
        e(**state), rel=1e-13
    )
    back = ad.expr(formula)
    assert back(**{n: state[n] for n in back.variables}) == pytest.approx(e(**state), rel=1e-13)
    slope = sympy.diff(formula, symbols["x"]).subs({symbols[n]: v for n, v in state.items()})
    assert float(slope) == pytest.approx(e.gradient(**state)["x"], rel=1e-12)


def test_sympy_formulas_in_lists_and_without_counterpart():
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    pair = ad.expr([x * y, "x + 1"])
    assert pair(x=2, y=3) == (6, 3)
    with pytest.raises(ad.NotSupportedError, match="lerchphi"):
        ad.expr(sympy.lerchphi(x, y, 1))
    assert ad.expr([x * y, "x + 1"]).to_sympy() == (
        sympy.Symbol("x", real=True) * sympy.Symbol("y", real=True), sympy.Symbol("x", real=True) + 1,
    )  # fmt: skip


@pytest.mark.parametrize("x", [-1.7, -0.3, 0.6, 2.4])
@pytest.mark.parametrize("text", ["sinc(x)", "cbrt(x)", "trunc(x)"])
def test_functions_that_sympy_means_otherwise(text, x):
    sympy = pytest.importorskip("sympy")
    e = ad.expr(text)
    formula = e.to_sympy()
    assert float(formula.subs({sympy.Symbol("x", real=True): x})) == pytest.approx(e(x=x), rel=1e-12)
    assert ad.expr(formula)(x=x) == pytest.approx(e(x=x), rel=1e-12)


def test_what_sympy_has_and_expressions_have_not():
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    assert ad.expr(sympy.sinc(x))(x=0.5) == pytest.approx(float(sympy.sinc(0.5)))
    for formula in (sympy.Function("g")(x), sympy.betainc(x, y, 0, x), sympy.Matrix([x, y])):
        with pytest.raises(ad.NotSupportedError):
            ad.expr(formula)
