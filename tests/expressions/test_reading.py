"""What is read as what; every way to get it wrong; and that no text takes long or runs anything."""

import gc
import os
import random
import re
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.expressions import build, functions, postfix, tokens

# A million, as `ADJOINT_FUZZ=1000000 pytest tests/expressions/test_reading.py -k random` tries, takes about a minute.
STRINGS = int(os.environ.get("ADJOINT_FUZZ", "10000"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001), ("1.", 1), (".5", 0.5), ("2.5E+2", 250), ("1e2", 100),
        ("2^3^2", 512), ("-2^2", -4), ("(-2)^2", 4), ("2**3", 8), ("2^-1", 0.5), ("-2^-2", -0.25), ("2^-2^2", 2**-4),
        ("7-2-1", 4), ("8/4/2", 1), ("8/4*2", 4), ("2+3*4", 14), ("--3", 3), ("-+-3", 3), ("2*-3", -6), ("2--3", 5),
        ("1 < 2", True), ("1 >= 2", False), ("2 == 2", True), ("2 != 2", False), ("1 + 1 > 1*2", False),
        ("where(1 < 2, 3, 4)", 3), ("(1 < 2)*5", 5), ("min(3, 1, 2)", 1), ("max(3, 1, 2)", 3),
        ("abs(-3)", 3), ("sin(pi/2)", 1), ("ln(e)", 1), ("atan2(1, 1)", np.pi / 4), ("pow(2, 5)", 32),
        ("erf(0)", 0), ("sigmoid(0)", 0.5), ("sqrt(16)", 4), ("cbrt(27)", 3), ("hypot(3, 4)", 5), ("elu(2)", 2),
        ("and(1 < 2, 2 < 3)", True), ("not(1 < 2)", False), ("isnan(nan)", True), ("1/inf", 0), ("mod(-1, 3)", 2),
        ("sum(i, 1, 3, 2^i)", 14), ("prod(k, 1, 5, k)", 120), ("sum(i, 1, 0, i)", 0), ("prod(i, 1, 0, i)", 1),
        ("sum(i, 1, 3, sum(j, 1, i, j))", 10), ("sum(i, 2*1, 1 + 2, i)", 5), ("i = 7; sum(i, 1, 2, i) + i", 10),
        ("s = 2 + 1; s*s", 9), ("a = 1\nb = a + 1\n\na +\n b", 3), ("(1 +\n 2)", 3), ("1 # one\n", 1),
        ("2 \u00d7 3 \u2212 1", 5), ("2 \u2265 1", True),
    ],
)  # fmt: skip
def test_values(text, value):
    assert ad.expr(text)() == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    "name", ["x", "x_1", "_", "δ", "größe", "变量", "Δt", "x1y", "lambda", "class", "gamma", "self"]
)
def test_names_are_variables(name):
    e = ad.expr(f"{name}^2 + 1")
    assert e.variables == (name,)
    assert e(**{name: 3.0}) == 10
    assert e.gradient(**{name: 3.0}) == {name: 6.0}
    assert ad.expr(str(e)) == e


def test_names_that_python_holds_for_one_are_one():
    e = ad.expr("\u00b5 + \u03bc")  # the micro sign, and the Greek letter
    assert len(e.variables) == 1
    assert e(μ=2.0) == 4


def test_variables_are_in_the_order_of_the_text_or_as_said():
    ad.expr("b + a")  # what else was read does not matter
    assert ad.expr("z*y + x").variables == ("z", "y", "x")
    assert ad.expr("z*y + x", "x y z").variables == ("x", "y", "z")
    assert ad.expr("x", ["x", "unused"]).variables == ("x", "unused")


def test_several_results_by_lines_or_lists():
    for e in (
        ad.expr("x*y; x + y"),
        ad.expr("x*y\nx + y"),
        ad.expr(["x*y", "x + y"]),
        ad.expr((ad.expr("x*y"), "x+y")),
    ):
        assert e(x=2, y=3) == (6, 5)
        assert [str(part) for part in e.outputs] == ["x*y", "x + y"]
    assert ad.expr(["x"])(x=2) == (2,)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("-x^2", ["x", "2", "^", "neg"]),
        ("a-b-c", ["a", "b", "-", "c", "-"]),
        ("2^3^2", ["2", "3", "2", "^", "^"]),
        ("max(x, y, z)*sin(x)", ["x", "y", "z", "max", "x", "sin", "*"]),
        ("s = x + y; s + x*s", ["x", "y", "+", "s", "=", "s", "x", "s", "*", "+"]),
        ("sum(i, 1, 3, x^i)", ["1", "3", "loop(i)", "x", "i", "^", "sum"]),
        ("x; y", ["x", ";", "y", ";"]),
    ],
)
def test_postfix(text, steps):
    assert ad.expr(text).postfix == steps


def test_equal_parts_are_one_node():
    e = ad.expr("(x+y) + x*(x+y)")
    assert e == ad.expr("s = x + y; s + x*s") == ad.expr("( x + y )+x * (y+x - 0)".replace("(y+x - 0)", "(x+y)"))
    assert e != ad.expr("(y+x) + x*(x+y)")  # the same values, but other nodes
    assert len({e, ad.expr("(x+y) + x*(x+y)")}) == 1


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "no expression"), ("  \n # nothing", 11, "line 2.*no expression"),
        ("x +", 4, "the text ends; expected a number"),
        ("x ++* 2", 5, "'*' cannot come here; expected a number"), ("2x", 2, "a product is written with *"),
        ("x y", 3, "expected an operator"), ("2(x)", 2, "a product is written with *"),
        ("(x", 3, r"the '\(' at column 1"),
        ("(x; y)", 3, r"expected '\)'"), ("x)", 2, "closes nothing"), ("()", 2, "expected a number"),
        ("a, b", 2, "separates a function's arguments"), ("(a, b)", 3, "separates a function's"),
        ("sinn(x)", 1, "did you mean sin"), ("f(x)", 1, r"f\*\("), ("sin x", 1, "sin is a function"),
        ("erf x", 5, r"erf\(x\)"), ("sin(x, y)", 6, r"sin takes 1 argument \(x\)"),
        ("sin()", 5, "sin needs 1 argument"),
        ("where(x, 1)", 11, r"where takes 3 arguments \(condition, x, y\); this is 2"),
        ("max(x)", 6, "two arguments or more"),
        ("x < y < z", 7, "cannot be chained"), ("x = ", 5, "the text ends"),
        ("x = 2", 6, "only names are given a value"),
        ("x = y = 2", 7, "'==' to compare"), ("x == ", 6, "the text ends"), ("pi = 3; pi", 1, "has a meaning already"),
        ("s = 1; s = 2; s", 8, "has a value already"), ("s; s = 2", 4, "used before"),
        ("x²", 2, r"write a power with \^"),
        ("x.real", 2, "has no meaning"), ("x[0]", 2, "has no meaning"), ("__import__('os')", 12, "has no meaning"),
        ("x\0", 2, r"'\\x00' has no meaning"), ("1e999", 1, "more than float64"), ("1.2.3", 4, "expected an operator"),
        ("sum(x)", 5, r"sum\(i, first, last, term\)"), ("sum(2, 1, 3, x)", 5, "goes over an index"),
        ("sum(i, 1, 2)", 12, "four arguments"), ("sum(i, 1, 2, x, y)", 15, "four arguments"),
        ("sum(i, 1, n, x)", 1, "depends on variables; expected whole numbers"), ("sum(i, 1, 1.5, x)", 1, "is 1.5"),
        ("sum(i, 1, 1/0, x)", 1, "is inf"), ("x\n+ * y", 3, "line 2, column 3"), ("1" * 500, 1, "a number of 500"),
        ("a" * 500, 1, "a name of 500"), ("ldexp(x, 2)", 1, "there is no function 'ldexp'"),
    ],
)  # fmt: skip
def test_errors_show_the_place_and_what_was_expected(text, column, said):
    with pytest.raises(ad.ExprError, match=said) as caught:
        ad.expr(text)
    message = str(caught.value)
    first, line, caret = message.split("\n")[-3:]
    assert f"column {column}" in first
    at = caught.value.position
    assert len(caret) - 1 == len(line) if at == len(text) or text[at] == "\n" else line[len(caret) - 1 :]
    assert caret.strip() == "^"
    if at < len(text) and text[at].isprintable():
        assert line[len(caret) - 1] == text[at]


def test_the_caret_is_under_its_character_in_long_and_wide_texts():
    with pytest.raises(ad.ExprError) as caught:
        ad.expr("1 + " * 100 + "$" + " + 1" * 100)
    _, line, caret = str(caught.value).split("\n")
    assert line[len(caret) - 1] == "$"
    assert len(line) < 150
    with pytest.raises(ad.ExprError) as caught:
        ad.expr("变量 $")
    assert str(caught.value).endswith("\n" + " " * 7 + "^")  # two places for each of these letters


def test_names_that_were_not_declared_are_errors_with_the_nearest():
    with pytest.raises(ad.ExprError, match=r"'widht' is none of the variables \(width, height\) \(did you mean width"):
        ad.expr("height*widht", ["width", "height"])
    with pytest.raises(ad.ExprError, match="'a' is used, but none of the variables"):
        ad.expr(ad.expr("a"), ["b"])


@pytest.mark.parametrize("thing", [None, True, 1j, b"x", {"x": 1}, np.ones(2), object()])
def test_only_texts_and_their_like_are_read(thing):
    with pytest.raises(ad.ExprError, match="is read from text"):
        ad.expr(thing)


def test_every_elementwise_function_of_the_registry_is_known_and_right():
    rng = np.random.default_rng(0)
    names = functions.known()
    assert {"sin", "erf", "min", "max", "abs", "sigmoid", "where", "gammaln", "atan2", "softplus", "clip"} <= set(names)
    for name in names:
        found = functions.find(name)
        if found is None:  # sum and prod
            continue
        count = 2 if found.arity == functions.ANY else found.arity
        values = [float(x) for x in rng.uniform(0.3, 0.7, count)]
        e = ad.expr(f"{name}({', '.join(f'x{i}' for i in range(count))})")
        states = {f"x{i}": x for i, x in enumerate(values)}
        with np.errstate(all="ignore"):
            expected = found.op(*(np.float64(x) for x in values))
            np.testing.assert_allclose(e(**states), expected, rtol=1e-13, err_msg=name)
            many = e(**{n: np.full(3, x) for n, x in states.items()})
        np.testing.assert_allclose(many, np.full(3, expected), rtol=1e-13, err_msg=name)
        assert ad.expr(str(e), e.variables) == e


HOSTILE = {
    "parentheses": "(", "signs": "-", "powers": "x^", "calls": "sin(", "digits": "1", "letters": "a", "sums": "x+x+",
    "closing": ")", "lines": "\n", "semicolons": "x;", "loops": "sum(i,1,1000000,", "commas": "max(x,", "points": ".",
    "quotes": "'", "unknown": "f(", "lets": "x=",
}  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_refused_in_linear_time(piece):
    """Counted in calls of Python's and built-in functions: for a text eight times as long, eight times as many."""

    def calls(length):
        text, count = piece * (length // len(piece)) + "$", 0

        def counted(frame, event, arg):
            nonlocal count
            count += event.endswith("call")

        gc.collect()  # what others left behind is not this text's
        gc.disable()
        sys.setprofile(counted)
        try:
            with pytest.raises(ad.ExprError):
                ad.expr(text)
        finally:
            sys.setprofile(None)
            gc.enable()
        return count

    calls(100)
    assert min(calls(16_000) for _ in range(2)) < 9 * calls(2000) + 1000


def test_limits():
    with pytest.raises(ad.ExprError, match="at most 4000000 are read"):
        ad.expr("x" * (tokens.MAX_LENGTH + 1))
    with pytest.raises(ad.ExprError, match="more than 5000 parentheses"):
        ad.expr("(" * (postfix.MAX_DEPTH + 1))
    with pytest.raises(ad.ExprError, match=f"more than {build.MAX_STEPS} steps"):
        ad.expr("sum(i, 1, 10^9, sum(j, 1, 10^9, i*j))")
    deep = postfix.MAX_DEPTH
    assert ad.expr("(" * deep + "x" + ")" * deep)(x=2.0) == 2
    assert ad.expr("sin(" * deep + "x" + ")" * deep).gradient(x=0.0) == {"x": 1.0}


PIECES = (
    "x", "y", "1", "2.5", "1e3", "1e", "e", "pi", "sin", "sin(", "max(", "where(", "sum(", "sum(i,1,3,", "prod(j,0,",
    "(",
    ")", ",", "+", "-", "*", "/", "^", "**", "<", "==", "=", "!=", ";", "_a", "x_1", "δ", "²", ".", "..", "#", "\\",
    "'",
    '"', "nan", "inf", "i", "λ", "1.", "0", "-1", "[", "]", "@", "é", "中", "lambda", "__class__", "erf(", "min(x,",
    "isnan(", "\n", " ", "\0", "\ud800", "\ufb01", "\u2212",
)  # fmt: skip


def test_random_strings_raise_nothing_but_their_error():
    rng = random.Random(0)
    read = placed = 0
    for k in range(STRINGS):
        if k % 5:
            text = "".join(rng.choices(PIECES, k=rng.randint(0, 14)))
        else:
            text = "".join(chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x110000)))) for _ in range(12))
        try:
            e = ad.expr(text)
        except ad.ExprError as error:
            placed += re.match(r"(line \d+, )?column \d+: ", str(error)) is not None
            continue
        read += 1
        if k % 7 == 0:
            assert ad.expr(str(e), e.variables) == e, text
    assert placed == STRINGS - read
    assert read > STRINGS // 100


def test_nothing_of_a_text_is_run(tmp_path):
    """Names that mean something to Python are names, and what would call something is refused."""
    e = ad.expr("__builtins__ + eval + exec*open")
    assert e.variables == ("__builtins__", "eval", "exec", "open")
    assert e.gradient(__builtins__=1.0, eval=2.0, exec=3.0, open=4.0)["exec"] == 4
    for text in (
        "eval(x)",
        "open(x)",
        "x.__class__",
        "print(1)",
        "(lambda: 1)()",
        "f'{x}'",
        "x if y else z",
        "[x for x in y]",
    ):
        with pytest.raises(ad.ExprError):
            ad.expr(text)
