"""Every rewrite by itself: it fires on its example, the graph stays in order, and values stay what they were."""

import dataclasses
import itertools
import random
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import capture
from adjoint.core.registry import operation
from adjoint.graph import Graph, Report, Rewrite
from adjoint.graph.node import call, constant, placeholder
from adjoint.graph.rewriting import rules
from adjoint.graph.rewriting.driver import rewritten
from adjoint.graph.rewriting.formula_rules import FORMULAS

TINY = np.finfo(float).smallest_subnormal
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, TINY, -TINY, 2.3e-308, 1.7e308, -1.7e308, 1.0, -1.0,
           0.5, -2.5, 3.0, 1e-3, 1e30, -1e30, 0.1, 7.0, -0.7, 2.0, 1e-40, -3e-39]  # fmt: skip
WHOLE = [0, 1, -1, 2, -3, 7, 100, -128, 127, 5, -6, 11]


def array(dtype):
    """All values that are special for a dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.arange(24) % 3 == 0
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.array([*(x % 2 if dtype.kind == "u" else x for x in WHOLE), *range(10), ends.min, ends.max], dtype)
    numbers = SPECIAL
    if dtype.kind == "c":
        numbers = [complex(a, b) for a, b in zip(SPECIAL, SPECIAL[7:] + SPECIAL[:7], strict=True)]
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(dtype)


def arguments(dtype, n):
    """Lists of `n` arrays: each value with each other, several axes, numbers, ordinary values, memory with gaps."""
    a = array(dtype)
    drawn = np.random.default_rng(3).standard_normal((n, 4, 3, 2)) * 3
    several = [a.reshape(4, 3, 2), a[::-1].reshape(3, 2, 4).transpose(2, 0, 1), np.roll(a, 5).reshape(4, 3, 2)]
    each = [a[:, None, None], a[None, :, None], a[None, None, 5:15]]
    return [
        each[:n] if n > 1 else several[:1],
        several[:n],
        [x[3] for x in (a, a[::-1], a)][:n],
        [np.asarray(x).astype(a.dtype) for x in drawn] if a.dtype.kind in "fc" else several[:n],
    ]


def same_bits(x, y):
    """Equal, the signs of zeros too; nan as nan."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "c":
        return same_bits(x.real, y.real) and same_bits(x.imag, y.imag)
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    return np.array_equal(x, y, equal_nan=True) and np.array_equal(
        np.signbit(x) | np.isnan(x), np.signbit(y) | np.isnan(y)
    )


def each_with_examples(these):
    return [pytest.param(rule, f, id=f"{rule.name}-{rule.op.name if rule.op else 'any'}-{k}")
            for rule in these for k, f in enumerate(rule.examples)]  # fmt: skip


def count(f):
    return f.__code__.co_argcount


def runs(f, dtype):
    """The graphs of `f` for all sorts of arrays of `dtype`, with these; none if NumPy has no such operation."""
    for args in arguments(dtype, count(f)):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                yield capture(f, *args), args
            except (TypeError, ValueError, IndexError, OverflowError):  # no negative truth values; no axes to be moved
                continue


def changed(rule, f, dtype):
    """How often `rule` fires; and each graph before and after."""
    pairs, fired = [], 0
    for graph, args in runs(f, dtype):
        report = Report()
        after = graph.rewritten([rule], report)
        after.verify()
        fired += len(report)
        with np.errstate(all="ignore"):
            pairs.append((graph(*args), after(*args)))
    return fired, pairs


DTYPES = ("f8", "f4", "f2", "i8", "i4", "i1", "u1", "c16", "c8", "?")


@pytest.mark.parametrize(("rule", "f"), each_with_examples(FORMULAS))
@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_rules_leave_every_bit(rule, f, dtype):
    for before, after in changed(rule, f, dtype)[1]:
        assert same_bits(before, after), (before, after)


def test_every_rule_and_every_example_fires():
    everything = [*FORMULAS, *rules.STABLE, *rules.UNSAFE, *rules.COMMUTATIVE]
    assert len(everything) == len({(rule.name, rule.op) for rule in everything})
    fired = {
        (rule, f) for rule in everything for f in rule.examples for kind in ("f8", "f4") if changed(rule, f, kind)[0]
    }
    for rule in everything:
        assert any((rule, f) in fired for f in rule.examples), rule.name
        for f in rule.examples:
            assert any((other, f) in fired for other in everything if other.name == rule.name), rule.name


@pytest.mark.parametrize(("rule", "f"), each_with_examples(rules.UNSAFE))
def test_unsafe_rules_agree_on_ordinary_numbers(rule, f):
    args = [np.random.default_rng(k).uniform(0.5, 2.0, (4, 3, 2)) for k in range(count(f))]
    graph, report = capture(f, *args), Report()
    after = graph.rewritten([other for other in rules.UNSAFE if other.name == rule.name], report)
    after.verify()
    assert report
    np.testing.assert_allclose(after(*args), graph(*args), rtol=1e-14, atol=1e-15)


# Where each unsafe rule changes something; those that change nothing but the operation are not here.
DIFFERENT = {
    "plus zero": [-0.0],
    "zero less": [0.0],
    "negative difference": [1.0, 1.0],
    "difference of equals": [-1.0],
    "quotient of equals": [0.0],
    "by and times": [1.0, 0.0],
    "times and by": [1e308, 1e308],
    "exponential of logarithm": [-1.0],
    "logarithm of exponential": [1000.0],
    "root of a square": [1e200],
    "common factor": [1e308, 2.0, -2.0],
    "constants together": [0.7],
    "times zero": [np.inf],
}
SAME = {"sum of equals", "product of equals"}


@pytest.mark.parametrize("rule", rules.UNSAFE, ids=lambda rule: f"{rule.name}-{rule.op.name}")
def test_what_unsafe_rules_change(rule):
    assert rule.why
    if rule.name in SAME:
        for dtype in ("f8", "f4", "i8"):
            for before, after in changed(rule, rule.examples[0], dtype)[1]:
                assert same_bits(before, after)
        return
    differ = 0
    for f in rule.examples:
        args = [np.float64(x) for x in DIFFERENT[rule.name]]
        with np.errstate(all="ignore"):
            graph = capture(f, *args)
            after = graph.rewritten([other for other in rules.UNSAFE if other.name == rule.name])
            differ += not same_bits(graph(*args), after(*args))
    assert differ


def test_unsafe_rules_are_not_on_by_default():
    assert not {rule.name for rule in rules.SAFE} & {rule.name for rule in rules.UNSAFE + rules.COMMUTATIVE}
    x = np.array([np.inf, -0.0])
    with np.errstate(invalid="ignore"):
        assert same_bits(capture(lambda x: x * 0 + x - x, np.ones(2)).rewritten()(x), [np.nan, 0.0])


def test_the_logarithm_of_a_softmax_is_stable():
    softmax = operation("softmax")
    graph = capture(lambda x: np.log(softmax(x)), np.zeros(3))
    x = np.array([0.0, 800.0, -800.0])
    with np.errstate(divide="ignore"):
        assert graph(x)[0] == -np.inf
    np.testing.assert_array_equal(graph.rewritten()(x), [-800.0, 0.0, -1600.0])
    x = np.array([0.3, -0.2, 1.0])
    np.testing.assert_allclose(graph.rewritten()(x), graph(x), rtol=1e-14)


def test_commutative_order_makes_equal_sums_one():
    graph = capture(lambda x, y: (x + y) * (y + x), 1.0, 2.0)
    assert len(graph) == 5
    assert len(graph.rewritten(rules.COMMUTATIVE)) == 4
    assert graph.rewritten(rules.COMMUTATIVE)(3.0, 4.0) == 49.0


def test_numbers_of_pythons_are_not_taken_for_arrays():
    """x * 1.0 of Python's x is NumPy's, and promotes differently."""
    x = np.ones(2, np.float32)
    graph = capture(lambda c, x: np.multiply(c, 1.0) * x, 2.0, x)
    assert graph(2.0, x).dtype == graph.rewritten()(2.0, x).dtype == (np.multiply(2.0, 1.0) * x).dtype
    graph = capture(lambda c, x: (c * 1.0) * x, 2.0, x)
    assert graph(2.0, x).dtype == graph.rewritten()(2.0, x).dtype == np.float32


def test_small_integers_are_not_negated_before_they_are_widened():
    x, y = np.array([1.0]), np.array([-128], np.int8)
    for f in (lambda x, y: x - (-y), lambda x, y: x + (-y), lambda x, y: (-y) * x, lambda x, y: (-x) * (-y)):
        graph = capture(f, x, y)
        assert same_bits(graph.rewritten()(x, y), f(x, y))


def test_conversions_there_and_back_only_where_nothing_is_lost():
    for kind, wide, gone in (("i4", "f8", True), ("i8", "f8", False), ("f4", "f8", True), ("u1", "f2", True),
                             ("i2", "f2", False), ("f8", "f4", False), ("f4", "c8", True)):  # fmt: skip
        x = array(kind)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = capture(lambda x, wide=wide: x.astype(wide).astype(x.dtype), x)
            after = graph.rewritten()
            assert (len(after) == 1) == gone, kind
            assert same_bits(graph(x), after(x))


# -- The driver ---------------------------------------------------------------------------------------


def test_reports_say_what_fired_where():
    report = Report()
    graph = capture(lambda x: np.negative(-x) * 1.0 + np.negative(-(x * 2)), np.ones(3)).rewritten(report=report)
    assert len(graph) == 4
    assert str(report) == "     2 times: minus minus\n     1 times: times one"
    assert {fired.rule for fired in report} == {"minus minus", "times one"}
    assert str(Report()) == "no rule fits"


def test_a_rule_of_ones_own():
    halves = Rewrite.of("half", lambda x: x / 2, lambda x: x * 0.5, "the same, for powers of 2")
    graph = capture(lambda x: np.sin(x / 2), np.ones(2))
    after = graph.rewritten([halves])
    after.verify()
    assert [node.label for node in after.nodes] == ["0.5", "x", "multiply", "sin"]
    assert same_bits(after(np.array([0.1, 3.0])), graph(np.array([0.1, 3.0])))


def test_rules_that_undo_each_other_are_named():
    there = Rewrite.of("there", lambda x: np.sin(x), lambda x: np.cos(x))
    back = Rewrite.of("back", lambda x: np.cos(x), lambda x: np.sin(x))
    with pytest.raises(ad.GraphError, match=r"undo each other:\n.*(there|back)"):
        capture(lambda x: np.sin(x), 1.0).rewritten([there, back])


def random_graph(rng, n):
    """A program of elementwise operations with small constants, negations and copies among them."""
    x, y = (placeholder(name, (2,), np.dtype(float)) for name in "xy")
    numbers = [constant(c) for c in (0, 1, -1, 2, -0.0, 0.5)]
    nodes = [x, y]
    ops = [operation(name) for name in ("add", "subtract", "multiply", "divide", "maximum")]
    single = [
        operation(name) for name in ("negative", "absolute", "square", "cos", "exp", "log", "sqrt", "copy", "sin")
    ]
    for _ in range(n):
        if rng.random() < 0.5:
            args, op = (rng.choice(nodes[-8:]),), rng.choice(single)
        else:
            args, op = [rng.choice(nodes[-8:]), rng.choice(nodes[-8:] + numbers)], rng.choice(ops)
            rng.shuffle(args)
        nodes.append(call(op, tuple(args), op.settings, (2,), np.dtype(float)))
    return Graph([x, y], nodes[-3:])


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_reach_a_fixed_point(seed):
    graph = random_graph(random.Random(seed), 60)
    graph.verify()
    for these in (rules.SAFE, FORMULAS, rules.SAFE + rules.UNSAFE, rules.SAFE + rules.COMMUTATIVE,
                  rules.SAFE + rules.UNSAFE + rules.COMMUTATIVE):  # fmt: skip
        after, again = graph.rewritten(these), Report()
        after.verify()
        assert after.rewritten(these, again).outputs == after.outputs
        assert not again


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_every_bit(seed):
    graph = random_graph(random.Random(seed), 60)
    after = graph.rewritten(rules.EXACT)
    with np.errstate(all="ignore"):
        for a, b in itertools.product(SPECIAL[:14], repeat=2):
            args = np.array([a, b]), np.array([b, 0.3])
            for x, y in zip(graph(*args), after(*args), strict=True):
                assert same_bits(x, y)


def test_rewriting_is_linear_in_the_graph():
    """Counted, not timed: no rule looks at a node more than a few times."""
    x = placeholder("x", (2,), np.dtype(float))
    seen = []
    watch = Rewrite("watch", None, lambda node: seen.append(node))
    node = x
    for _ in range(20_000):
        node = call(
            operation("negative"), (call(operation("negative"), (node,), {}, (2,), node.dtype),), {}, (2,), node.dtype
        )
        node = call(operation("sin"), (node,), {}, (2,), node.dtype)
    after = rewritten(Graph([x], [node]), [*rules.SAFE, watch])
    assert len(after) == 20_001
    assert len(seen) <= 3 * 60_000


def test_rules_are_asked_wherever_they_fit():
    """What arguments are at first sight leaves out no node that a rule of two patterns would replace."""
    patterns = [rule for rule in FORMULAS + rules.UNSAFE if rule.wants and rule.op]
    everywhere = [dataclasses.replace(rule, wants=None) for rule in patterns]
    assert len(patterns) > 30
    for rule in patterns:
        for f in rule.examples:
            graph = capture(f, *[np.ones((2, 3, 2)) * 0.5] * count(f))
            for one, other in zip(patterns, everywhere, strict=True):
                assert graph.rewritten([one]).outputs == graph.rewritten([other]).outputs


def test_rules_look_only_at_what_may_fit():
    """Counted: a long program asks its rules about few of its nodes."""
    asked = []

    def counted(rule):
        return dataclasses.replace(rule, function=lambda node: asked.append(node) or rule.function(node))

    def f(x):
        for k in range(1000):
            x = np.sin(x) * 0.5 + x / (k + 2.0)
        return x

    graph = capture(f, np.ones(3))
    assert len(graph.rewritten([counted(rule) for rule in rules.SAFE]).nodes) == len(graph)
    assert len(asked) < len(graph) / 10


def test_guards_and_state_survive():
    w = ad.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        if np.sum(x * 1.0) > 0:
            np.sum(np.negative(-w) * x).backward()
        return x

    graph = capture(f, np.ones(2)).rewritten()
    graph.verify()
    with pytest.raises(ad.GraphError):
        graph(-np.ones(2))
    assert w.grad is None
    graph(np.array([3.0, 4.0]))
    np.testing.assert_array_equal(w.grad.numpy(), [3.0, 4.0])
