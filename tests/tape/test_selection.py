"""What a selection leaves out contributes exactly 0, in every mode; a zero that arithmetic made is a number."""

import random

import numpy as np
import pytest

import adjoint as ad
import adjoint.scipy.integrate
import adjoint.scipy.linalg
import adjoint.scipy.signal
import adjoint.scipy.sparse
from adjoint.core.op import Op, Rule
from adjoint.core.rules.pullbacks import NO_RULE, NotDifferentiable, selects
from adjoint.tape.node import pullback_for
from adjoint.tape.zeros.selected import Selected
from adjoint.testing import samples, walk

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# A function, an argument at which its derivative is infinite or nan, and one at which it is harmless.
SINGULAR = {
    "sqrt": (np.sqrt, 0.0, 0.5),
    "sqrt of a negative": (np.sqrt, -1.0, 0.5),
    "cbrt": (np.cbrt, 0.0, 0.5),
    "log": (np.log, 0.0, 0.5),
    "log of a negative": (np.log, -1.0, 0.5),
    "log2": (np.log2, 0.0, 0.5),
    "log10": (np.log10, 0.0, 0.5),
    "log1p": (np.log1p, -1.0, 0.5),
    "reciprocal": (lambda x: 1 / x, 0.0, 0.5),
    "quotient": (lambda x: np.sin(x) / x, 0.0, 0.5),
    "power": (lambda x: x**0.3, 0.0, 0.5),
    "negative power": (lambda x: x**-1.5, 0.0, 0.5),
    "smooth power": (lambda x: x**1.5, 0.0, 0.5),
    "power of a negative": (lambda x: x**0.5, -2.0, 0.5),
    "arcsin": (np.arcsin, 1.0, 0.5),
    "arccos": (np.arccos, -1.0, 0.5),
    "arctanh": (np.arctanh, 1.0, 0.5),
    "arccosh": (np.arccosh, 1.0, 2.5),
    "exp": (np.exp, 1000.0, 0.5),
    "sinh": (np.sinh, 1000.0, 0.5),
    "exp of exp": (lambda x: np.exp(np.exp(x)), 100.0, 0.5),
    "entropy": (lambda x: x * np.log(x), 0.0, 0.5),
    "logit": (lambda x: np.log(x / (1 - x)), 1.0, 0.5),
    "distance": (lambda x: np.sqrt(x * x), 0.0, 0.5),
    "infinite factor": (lambda x: x * (1 / np.floor(x)), 0.5, 1.5),
    "square of a root": (lambda x: np.sqrt(x) ** 2, 0.0, 0.5),
    "tan of a pole": (lambda x: np.tan(np.arctan(1 / x)), 0.0, 0.5),
}


def _written(write):
    """What `write` makes of a copy, given the places of what is to go."""

    def select(y, good):
        y = y + 0.0
        write(y, ~good)
        return y

    return select


def _rows(y, good, product):
    """Each element as a row of a matrix, and a product of it that the mask then chooses rows of."""
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    rows = y[:, None] * np.array([1.0, 0.5])
    return np.where(good[:, None], product(rows, m), 0.0) / 6.5


def _numbers(good):
    return np.flatnonzero(good)


# What is left of an array whose elements are to stay where `good`: its sum is the sum of these.
SELECTIONS = {
    "where": lambda y, good: np.where(good, y, 0.0),
    "where, other side": lambda y, good: np.where(~good, 1.0, y),
    "where, nested": lambda y, good: np.where(good, np.where(good, y, y * 3.0), 2.0),
    "where of several": lambda y, good: np.where(good, y, 1.0) + np.where(~good, 1.0, y * 0.0),
    "where, broadcast": lambda y, good: np.where(np.stack([good, good]), y, 0.0) * 0.5,
    "where, one number": lambda y, good: sum(np.where(good[i], y[i], 0.0) for i in range(4)),
    "select": lambda y, good: np.select([good, ~good], [y, 1.0]),
    "select, default": lambda y, good: np.select([good], [y], 2.0),
    "choose": lambda y, good: np.choose(good.astype(int), [np.ones(4), y]),
    "mask": lambda y, good: y[good],
    "indices": lambda y, good: y[_numbers(good)],
    "index": lambda y, good: sum(y[int(i)] for i in _numbers(good)),
    "slices": lambda y, good: y[1:2] + y[3:],
    "take": lambda y, good: np.take(y, _numbers(good)),
    "take_along_axis": lambda y, good: np.take_along_axis(y, _numbers(good), 0),
    "compress": lambda y, good: np.compress(good, y),
    "extract": lambda y, good: np.extract(good, y),
    "delete": lambda y, good: np.delete(y, _numbers(~good)),
    "split": lambda y, good: np.split(y, 4)[1] + np.split(y, 4)[3],
    "repeat": lambda y, good: np.repeat(y, good.astype(int)),
    "unstack": lambda y, good: np.unstack(y)[1] + np.unstack(y)[3],
    "reshape and index": lambda y, good: np.reshape(y, (2, 2))[:, 1],
    "transpose and index": lambda y, good: np.reshape(y, (2, 2)).T[1],
    "roll and slice": lambda y, good: np.roll(y, 1)[::2],
    "flip and slice": lambda y, good: y[::-1][::2],
    "diagonal": lambda y, good: np.diagonal(np.stack([y, y])[:, 1:3], 0)[:1] + y[3],
    "tril": lambda y, good: np.tril(np.stack([y[:2][::-1], y[2:][::-1]]))[:, :1] * np.array([[1.0], [1.0]]),
    "triu": lambda y, good: np.triu(np.stack([y[[1, 3]], np.where([True, False], y[0], 0.0)])),
    "trace": lambda y, good: np.trace(np.reshape(y[[1, 0, 2, 3]], (2, 2))),
    "pad and slice": lambda y, good: np.pad(y, 1)[1:-1][good],
    "concatenate and index": lambda y, good: np.concatenate([y, y])[[1, 7]],
    "sliding windows": lambda y, good: np.lib.stride_tricks.sliding_window_view(y, 2)[[0, 2], 1],
    "einsum": lambda y, good: np.einsum("i,ij->j", np.where(good, y, 0.0), np.eye(4)),
    "matmul": lambda y, good: _rows(y, good, lambda a, m: a @ m),
    "einsum of rows": lambda y, good: _rows(y, good, lambda a, m: np.einsum("ij,jk->ik", a, m)),
    "sum of the chosen": lambda y, good: np.sum(y, where=good),
    "mean of the chosen": lambda y, good: np.mean(y, where=good) * 2,
    "cumsum of the chosen": lambda y, good: np.cumsum(np.where(good, y, 0.0))[-1],
    "nansum": lambda y, good: np.nansum(np.where(good, y, np.nan)),
    "nanmean": lambda y, good: np.nanmean(np.where(good, y, np.nan)) * 2,
    "largest of the chosen": lambda y, good: np.max(np.where([0, 1, 0, 0], y, -np.inf)) + y[3],
    "maximum": lambda y, good: np.maximum(np.where(good, y, -np.inf), np.where(good, -np.inf, 1.0)),
    "minimum": lambda y, good: np.minimum(np.where(good, y, np.inf), np.where(good, np.inf, 1.0)),
    "sorted": lambda y, good: np.sort(np.where(good, y, -1e9))[2:],
    "assigned": _written(lambda y, bad: y.__setitem__(bad, 0.0)),
    "assigned by numbers": _written(lambda y, bad: y.__setitem__(_numbers(bad), 1.0)),
    "assigned slices": _written(lambda y, bad: y.__setitem__(slice(None, None, 2), 1.0)),
    "assigned twice": _written(lambda y, bad: [y.__setitem__(int(i), 1.0) for i in _numbers(bad)]),
    "view written": _written(lambda y, bad: y[::2].__setitem__(..., 0.0)),
    "put": _written(lambda y, bad: np.put(y, _numbers(bad), [1.0])),
    "putmask": _written(lambda y, bad: np.putmask(y, bad, [1.0, 1.0])),
    "place": _written(lambda y, bad: np.place(y, bad, [1.0])),
    "copyto": _written(lambda y, bad: np.copyto(y, np.ones(4), where=bad)),
    "clip": lambda y, good: np.clip(np.where(good, y, -9.0), -5.0, 99.0),
    "relu": lambda y, good: ad.nn.functional.relu(np.where(good, y + 9.0, -1.0)),
    "median": lambda y, good: np.median(np.where(good, y, [1e9, 0, -1e9, 0])) * 2,
    "checkpoint": lambda y, good: ad.checkpoint(lambda y: np.where(good, y, 0.0))(y),
}
GOOD = np.array([False, True, False, True])


def _point(bad, fine):
    return np.array([bad, fine, bad, fine * 1.25])


def _program(function, select, good=GOOD):
    return lambda x: np.sum(select(function(x), good))


def _gradient(create_graph=False):
    def gradient(f, x):
        x = ad.tensor(x, requires_grad=True)
        f(x).backward(create_graph=create_graph)
        return x.grad.numpy() if not create_graph else x.grad.detach().numpy()

    return gradient


def _again(f, x):
    x = ad.tensor(x, requires_grad=True)
    loss = f(x)
    loss.backward(retain_graph=True)
    loss.backward()
    return x.grad.numpy() / 2


def _tangents(f, x):
    return np.array([ad.jvp(f, (x,), (v,))[1] for v in np.eye(x.size)])


def _compiled(f, x):
    gradient = ad.compile(ad.grad(f), wait=True)
    gradient(x)
    return gradient(x)


def _captured(f, x):
    return ad.capture(ad.grad(f), x)(x)


def _checkpointed(f, x):
    return ad.grad(ad.checkpoint(f))(x)


def _each_sample(f, x):
    return ad.vmap(ad.grad(f))(np.stack([x, x]))[1]


def _linearized(f, x):
    push = ad.linearize(f, x)[1]
    return np.array([push(v) for v in np.eye(x.size)])


MODES = {
    "reverse": lambda f, x: ad.grad(f)(x),
    "backward": _gradient(),
    "twice through one graph": _again,
    "recorded": _gradient(create_graph=True),
    "forward": _tangents,
    "all tangents": lambda f, x: ad.jacfwd(f)(x),
    "rows": lambda f, x: ad.jacrev(lambda x: f(x)[None])(x)[0],
    "linearized": _linearized,
    "vmap": _each_sample,
    "checkpointed": _checkpointed,
    "captured": _captured,
}
SECOND = {
    "reverse over reverse": lambda f, x, v: ad.grad(lambda x: np.sum(ad.grad(f)(x) * v))(x),
    "forward over reverse": lambda f, x, v: ad.hvp(f, x, v),
    "reverse over forward": lambda f, x, v: ad.grad(lambda x: ad.jvp(f, (x,), (v,))[1])(x),
    "hessian": lambda f, x, v: ad.hessian(f)(x) @ v,
    "captured": lambda f, x, v: ad.capture(lambda x: ad.hvp(f, x, v), x)(x),
}


def _expected(name, order=1):
    """The derivative where the function is harmless, and 0 elsewhere."""
    function, _, fine = SINGULAR[name]
    x = _point(fine, fine)
    slope = lambda x: np.sum(function(x))
    found = ad.grad(slope)(x) if order == 1 else ad.hvp(slope, x, np.ones(4))
    return np.where(GOOD, found, 0.0)


def _close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(found)[~GOOD], 0.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_what_is_left_out_is_nothing(selection, mode):
    if mode == "vmap" and selection in ("repeat",):
        pytest.skip("its shape is that of the values")
    for name in ("sqrt", "log", "entropy"):
        function, bad, fine = SINGULAR[name]
        _close(MODES[mode](_program(function, SELECTIONS[selection]), _point(bad, fine)), _expected(name))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SINGULAR)
def test_next_to_every_singularity(name, mode):
    function, bad, fine = SINGULAR[name]
    for selection in ("where", "mask", "assigned"):
        _close(MODES[mode](_program(function, SELECTIONS[selection]), _point(bad, fine)), _expected(name))


@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_second_derivatives(selection, mode):
    for name in ("sqrt", "smooth power"):
        function, bad, fine = SINGULAR[name]
        f = _program(function, SELECTIONS[selection])
        _close(SECOND[mode](f, _point(bad, fine), np.ones(4)), _expected(name, 2))


@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("name", SINGULAR)
def test_second_derivatives_next_to_every_singularity(name, mode):
    function, bad, fine = SINGULAR[name]
    f = _program(function, SELECTIONS["where"])
    _close(SECOND[mode](f, _point(bad, fine), np.ones(4)), _expected(name, 2))


@pytest.mark.parametrize("selection", ["where", "mask", "assigned", "maximum", "matmul", "tril"])
def test_compiled(selection):
    for name in ("sqrt", "entropy"):
        function, bad, fine = SINGULAR[name]
        _close(_compiled(_program(function, SELECTIONS[selection]), _point(bad, fine)), _expected(name))


@pytest.mark.parametrize("name", SINGULAR)
def test_compiled_next_to_every_singularity(name):
    function, bad, fine = SINGULAR[name]
    _close(_compiled(_program(function, SELECTIONS["where"]), _point(bad, fine)), _expected(name))


# A zero that arithmetic made is a number: 0 * inf.
ARITHMETIC = {
    "square of a root": (lambda x: np.sum(np.sqrt(x) ** 2), 0.0),
    "times 0": (lambda x: np.sum(np.sqrt(x) * 0.0), 0.0),
    "times a mask": (lambda x: np.sum(np.sqrt(x) * (x > 5)), 0.0),
    "hand-written norm": (lambda x: np.sqrt(np.sum(x**2)), 0.0),
    "chosen": (lambda x: np.sum(np.where(x < 1, np.sqrt(x), 0.0) ** 2), 0.0),
    "chosen, then times 0": (lambda x: np.sum(np.where(x < 1, np.sqrt(x), 0.0) * 0.0), 0.0),
    "times 0, then chosen": (lambda x: np.sum(np.where(x < 1, np.sqrt(x) * 0.0, 0.0)), 0.0),
    "beside a selection": (lambda x: np.sum(np.where(x > 5, np.sqrt(x), 0.0) + np.sqrt(x) ** 2), 0.0),
    "index of a square": (lambda x: (np.sqrt(x) ** 2)[1] + (np.sqrt(x) ** 2)[0], 0.0),
    "assigned": (lambda x: np.sum(np.zeros_like(x).assign(np.sqrt(x) ** 2)), 0.0),
    "largest": (lambda x: np.max(np.sqrt(x) ** 2), 0.0),
    "product of rows": (lambda x: np.sum(np.sqrt(x)[None] @ np.zeros((2, 2))), 0.0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_what_arithmetic_made_stays(name, mode):
    f, at = ARITHMETIC[name]
    found = MODES[mode](f, np.array([at, at]))
    assert np.isnan(found).any(), found
    if mode == "reverse":
        assert np.isnan(_compiled(f, np.array([at, at]))).any()


def test_of_large_arrays():
    x = np.linspace(-1.0, 1.0, 140_001)
    for first in (np.sum, lambda y: np.max(y) + np.sum(y[:10]) + np.sum(y)):
        found = ad.grad(lambda x, first=first: first(np.where(x > 0, np.sqrt(x), 0.0)) * 2.0)(x)
        assert np.all(found[x <= 0] == 0)
        np.testing.assert_allclose(found[1 + len(x) // 2 : -1], 1 / np.sqrt(x[1 + len(x) // 2 : -1]))
    assert np.isnan(ad.grad(lambda x: np.sum(np.where(x > 0.5, x, np.sqrt(x * 0.0) ** 2)))(x)[0])


def test_hooks_are_called_once():
    seen = []
    x = ad.tensor([0.0, 4.0], requires_grad=True)
    y = np.sqrt(x)
    y.register_hook(lambda g: seen.append(g.numpy()))
    y.retain_grad()
    (np.where(x > 0, y, 0.0).sum() + y[1]).backward()
    np.testing.assert_array_equal(seen, [[0.0, 2.0]])
    np.testing.assert_array_equal(y.grad.numpy(), [0.0, 2.0])
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.5])


def test_gradients_of_leaves_lie_apart():
    x, y = (ad.tensor([0.0, 4.0], requires_grad=True) for _ in range(2))
    both = x * 1.0 + y
    (np.sum(np.where(both > 0, np.sqrt(both), 0.0)) + np.sum(x) + np.sum(y)).backward(retain_graph=False)
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1.0 + 0.5 / np.sqrt(8)])
    x.grad.data[0] = 7.0
    assert y.grad.numpy()[0] == 1.0
    with pytest.raises(ad.GraphFreedError):
        np.sum(both).backward()


def test_a_rule_that_takes_numbers_out():
    halved = ad.op(lambda x: x / 2, lambda g: np.asarray(g) / 2)
    found = ad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(halved(x)), 0.0)))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(found, [0.0, 0.25])


# A product whose other factor is nan where nothing was taken: data with gaps.
def test_gaps_in_data():
    data = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.inf]])
    fine = np.array([True, False, False])

    def loss(w):
        return np.sum(np.where(fine, np.tanh(data @ w), 0.0))

    expected = ad.grad(lambda w: np.sum(np.tanh(data[:1] @ w)))(np.ones(2))
    np.testing.assert_allclose(ad.grad(loss)(np.ones(2)), expected)
    np.testing.assert_allclose(ad.jacfwd(loss)(np.ones(2)), expected)
    np.testing.assert_array_equal(ad.grad(lambda w: np.nansum(w * data[1]))(np.ones(2)), [0.0, 3.0])


# -- Every operation --------------------------------------------------------------------------------

OPERATIONS = {op.name: op for op in walk() if isinstance(op, Op)}
SELECTING = {name: op for name, op in OPERATIONS.items() if selects(op)}
# Its value is its first argument, and the derivative of that its second.
steep = Op("steep", lambda x, k: x + 0.0, ("x", "k"), (Rule(lambda k: k, ("k",)), NO_RULE), kind="elementwise")


def _calls(op):
    """The arguments of samples, and the numbers of those with a derivative, which are real."""
    for args, settings in samples(op):
        arrays, settings = op.bind(tuple(args), dict(settings))
        rules = op.rules * len(arrays) if op.joint else op.rules
        arrays = [np.asarray(x) for x in arrays]
        wanted = tuple(
            i
            for i, x in enumerate(arrays)
            if x.dtype.kind == "f" and not isinstance(rules[i].function, NotDifferentiable)
        )
        if wanted:
            yield arrays, wanted, settings


def _taken(op, arrays, wanted, settings):
    """Where paths lead from all results to the arguments `wanted`, as the rule has it; None for everywhere."""
    out = op.forward(*arrays, **settings)
    pullback = pullback_for(op, wanted, arrays, out)
    saved = pullback.save(arrays, out, {**settings, "needs": wanted} if op.joint else settings)
    g = Selected.of((np.ones(np.shape(out), np.asarray(out).dtype), None, True), 10**9)
    return [c.taken if isinstance(c, Selected) else None for c in pullback.run(g, saved)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_selects_says_so(name):
    op = OPERATIONS[name]
    if op.multiple:
        assert not selects(op)
        return
    left_out = False
    for arrays, wanted, settings in _calls(op):
        for taken in _taken(op, arrays, wanted, settings):
            left_out = left_out or (taken is not None and not np.all(taken))
    assert left_out == selects(op)


@pytest.mark.parametrize("name", SELECTING)
def test_each_operation_in_each_mode(name):
    op, met = SELECTING[name], 0
    for arrays, wanted, settings in _calls(op):
        for i, taken in zip(wanted, _taken(op, arrays, wanted, settings), strict=True):
            if taken is None or np.all(taken):
                continue
            met += 1
            factors = np.where(taken, 1.0, np.inf)
            shape = arrays[i].shape

            def f(x, smooth, op=op, arrays=arrays, i=i, settings=settings, factors=factors, shape=shape):
                x = np.reshape(x, shape)
                given = [*arrays[:i], x if smooth else steep(x, factors), *arrays[i + 1 :]]
                return np.sum(op(*given, **settings))

            x = np.reshape(arrays[i], -1)
            expected = ad.grad(lambda x, f=f: f(x, True))(x)
            assert np.isfinite(expected).all()
            for mode, gradient in MODES.items():
                found = gradient(lambda x, f=f: f(x, False), x)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=mode)
    assert met


ELEMENTWISE = [op for op in OPERATIONS.values() if op.kind == "elementwise" and not op.multiple]


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if "finite" in op.flags], ids=lambda op: op.name)
def test_an_operation_with_finite_derivatives_has_them(op):
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -40.0, 40.0, 1e-9])
    for first in values:
        args = [np.full(9, first), values, values[::-1].copy()][: len(op.inputs)] if len(op.inputs) > 1 else [values]
        varying = [i for i, rule in enumerate(op.rules) if not isinstance(rule.function, NotDifferentiable)]
        args = [x if i in varying else x > 0 for i, x in enumerate(args)]
        for i in varying:

            def f(x, i=i, args=args):
                return np.sum(op(*args[:i], x, *args[i + 1 :]))

            if np.isfinite(op(*args)).all():
                assert np.isfinite(ad.grad(f)(args[i])).all()
                assert np.isfinite(ad.hvp(f, args[i], np.ones(9))).all()


# -- Random programs --------------------------------------------------------------------------------


def test_tangents_of_several_arguments():
    def f(x, y):
        return np.where(x > y, np.sqrt(x - y) * y, np.sqrt(y - x) + y)

    x, y = np.array([1.0, 2.0]), np.array([0.5, 3.0])
    expected = [0.5 * 0.5 / np.sqrt(0.5) + 0, -0.5 + 1.5]
    found = ad.jvp(f, (x, y), (np.array([1.0, 1.0]), np.array([0.0, 1.0])))[1]
    np.testing.assert_allclose(found, [expected[0], 1.0])


STEPS = {
    "sqrt": (np.sqrt, lambda u: 0.5 / np.sqrt(u)),
    "log": (np.log, lambda u: 1 / u),
    "exp": (np.exp, np.exp),
    "sin": (np.sin, np.cos),
    "reciprocal": (np.reciprocal, lambda u: -1 / u / u),
    "square": (np.square, lambda u: 2 * u),
    "arcsin": (np.arcsin, lambda u: 1 / np.sqrt(1 - u * u)),
    "negative": (np.negative, lambda u: -np.ones_like(u)),
}


def _random(r, depth):
    """A program as a tree: a choice between two by a third, a function, a sum or a product, or the argument."""
    kind = r.choice(["where", "where", "maximum", "step", "step", "add", "multiply"]) if depth else "x"
    if kind == "step":
        return kind, r.choice(sorted(STEPS)), _random(r, depth - 1)
    if kind == "where":
        return kind, r.choice([-0.5, 0.0, 0.3, 1.0]), _random(r, depth - 1), _random(r, depth - 1)
    return (kind,) if kind == "x" else (kind, _random(r, depth - 1), _random(r, depth - 1))


def _run(tree, x):
    kind, *rest = tree
    if kind == "x":
        return x
    if kind == "step":
        return STEPS[rest[0]][0](_run(rest[1], x))
    if kind == "where":
        return np.where(x > rest[0], _run(rest[1], x), _run(rest[2], x))
    return getattr(np, kind)(_run(rest[0], x), _run(rest[1], x))


def _alone(tree, x):
    """Value and derivative at one number, going only the ways that are taken."""
    kind, *rest = tree
    if kind == "x":
        return x, np.float64(1.0)
    if kind == "step":
        u, t = _alone(rest[1], x)
        return STEPS[rest[0]][0](u), STEPS[rest[0]][1](u) * t
    if kind == "where":
        return _alone(rest[1] if x > rest[0] else rest[2], x)
    (u, s), (v, t) = _alone(rest[0], x), _alone(rest[1], x)
    if kind == "add":
        return u + v, s + t
    if kind == "multiply":
        return u * v, s * v + t * u
    nan = np.isnan(u) or np.isnan(v)
    return np.maximum(u, v), np.float64(np.nan) if nan or u == v else s if u > v else t


POINTS = np.array([-2.0, -1.0, 0.0, 0.25, 0.5, 1.0, 2.0])


@pytest.mark.parametrize("mode", ["reverse", "forward", "recorded", "vmap", "captured"])
def test_random_programs(mode):
    r = random.Random(11)
    with np.errstate(all="ignore"):
        met = 0
        for number in range(300 if mode == "reverse" else 100):
            tree = _random(r, 4)
            expected = np.array([_alone(tree, x)[1] for x in POINTS])
            if mode == "forward":  # of each element for itself: nan in one would be in the sum
                found = ad.jvp(lambda x, tree=tree: _run(tree, x), (POINTS,), (np.ones(7),))[1]
            else:
                found = MODES[mode](lambda x, tree=tree: np.sum(_run(tree, x)), POINTS)
            fine = np.isfinite(expected) & np.array([np.isfinite(_alone(tree, x)[0]) for x in POINTS])
            np.testing.assert_allclose(found[fine], expected[fine], rtol=1e-8, atol=1e-10, err_msg=f"{number}: {tree}")
            met += np.sum(~fine)
        assert met > 100
