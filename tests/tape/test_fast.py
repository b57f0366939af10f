"""The fast path gives what `record` gives, call by call; and what it cannot take, it hands on."""

import gc
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint.arrays.array_box import ArrayBox
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, operation
from adjoint.tape.fast import eligible, source_of
from adjoint.tape.tensor import Tensor

X, Y = np.array([[0.5, -1.5], [2.0, 0.25]]), np.array([[1.5, 0.5], [-0.75, 2.0]])


def the_slow_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every call through `record`."""
    monkeypatch.setattr(Tensor, "process", Tensor.recorded)
    monkeypatch.setattr(Tensor, "__array_ufunc__", ArrayBox.__array_ufunc__)


def on_tape(*arrays: np.ndarray) -> list[Tensor]:
    return [ad.tensor(a, requires_grad=True) for a in arrays]


CALLS = {
    "one level": lambda x, y: np.add(x, y),
    "broadcast": lambda x, y: np.multiply(x, y[0]),
    "a row of a constant": lambda x, y: np.multiply(x, Y[0]),
    "a constant first": lambda x, y: np.subtract(Y, x),
    "a number": lambda x, y: np.multiply(x, 3.0),
    "a number first": lambda x, y: np.subtract(2, x),
    "a NumPy number": lambda x, y: np.multiply(np.float32(1.5), x),
    "a list": lambda x, y: np.multiply(x, [[1.0, 2.0], [3.0, 4.0]]),
    "float32 and float64": lambda x, y: np.multiply(x.astype(np.float32), y),
    "complex": lambda x, y: np.real(np.multiply(x, y * 1j) * 1j),
    "float_power of float32": lambda x, y: np.float_power(np.abs(x).astype(np.float32), 2.0),
    "whole numbers": lambda x, y: np.multiply(x, np.array([2, 3])),
    "a product of matrices": lambda x, y: np.matmul(x, y),
    "a product with a constant": lambda x, y: np.matmul(Y, x),
    "three inputs": lambda x, y: np.where(X > 0, x, y),
    "settings": lambda x, y: np.sum(x, axis=0, keepdims=True) * y,
    "a view": lambda x, y: np.transpose(x)[0] * y,
    "a tensor off the tape": lambda x, y: np.multiply(x, ad.tensor(Y)),
    "one tensor twice": lambda x, y: np.multiply(x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_fast_path_gives_what_record_gives(name, monkeypatch):
    def outcome():
        x, y = on_tape(X, Y)
        z = CALLS[name](x, y)
        np.sum(z * np.cos(z)).backward()
        return z, x.grad, y.grad

    ours = outcome()
    the_slow_way(monkeypatch)
    for fast, slow in zip(ours, outcome(), strict=True):
        assert (fast is None) == (slow is None)
        if fast is not None:
            np.testing.assert_array_equal(fast.numpy(), slow.numpy(), strict=True)


def test_a_view_shows_what_is_written_to_its_base():
    x = ad.tensor(np.zeros((2, 3)))
    flipped = np.transpose(x)
    x[0, 1] = 5.0
    assert flipped[1, 0].item() == 5.0


def test_tensors_of_two_levels_are_told_apart():
    assert ad.grad(lambda x: x * ad.grad(lambda y: x * y * y)(3.0))(2.0) == 24.0


def test_an_input_without_a_rule_says_so():
    with pytest.raises(ad.NotDifferentiableError, match="condition"):
        operation("choose_either")(*on_tape(X, X, Y))


def test_every_fast_path_can_be_printed_and_compiled():
    texts = {name: source_of(op) for name, op in ENTRIES.items() if isinstance(op, Op) and eligible(op)}
    assert len(texts) > 100
    for name, text in texts.items():
        compile(text, name, "exec")


def test_the_text_for_a_product_saves_what_the_rules_name():
    text = source_of(operation("multiply"), "*", method=True)
    assert "t.held = out = a * b" in text
    assert "node.saved = (b, a, )" in text
    assert "protect(node" in text


def test_the_text_for_a_sum_saves_nothing():
    assert "node.saved = ()" in source_of(operation("add"))
    assert "watch" not in source_of(operation("add"))


def python_calls(run):
    """How many Python functions `run` calls: the least of three times, since what is collected meanwhile calls some."""
    run()
    return min(_calls_of(run) for _ in range(3))


def _calls_of(run):
    count, before = 0, sys.getprofile()

    def counted(frame, event, arg):
        nonlocal count
        count += event == "call"

    gc.collect()
    gc.disable()
    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (lambda t: np.sum(t), 9),
        (lambda t: t.sum(), 7),
        (lambda t: np.max(t), 9),
        (lambda t: np.sum(t, axis=0), 9),
        (lambda t: np.mean(t), 11),
        (lambda t: np.shape(t), 4),
        (lambda t: np.ndim(t), 4),
    ],
)
def test_functions_reach_numpy_in_a_few_calls(call, most):
    t = ad.tensor(np.ones(4), requires_grad=True)
    assert python_calls(lambda: call(t)) <= most + 1


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
def test_reductions_save_what_their_rules_name(axis, dtype):
    """The fast path writes down what `save` gives, without calling it."""
    t = ad.tensor(np.linspace(1.0, 2.0, 6).reshape(2, 3).astype(dtype), requires_grad=True)
    for name in ("sum", "mean", "prod", "max"):
        if dtype is np.complex128 and name == "max":
            continue
        node = getattr(np, name)(t, axis=axis).node
        op, settings = node.pullback.op, {"axis": axis, "keepdims": False}
        out = op.forward(t.data, **settings)
        expected = node.pullback.save((t.data,), out, settings)
        assert len(node.saved) == len(expected) == len(node.pullback.names)
        for found, right in zip(node.saved, expected, strict=True):
            np.testing.assert_array_equal(found, right)


GRADIENTS = {
    "square": (lambda x: np.sum(x * x), 60),
    "clip": (lambda x: np.sum(np.clip(x, 0.1, 0.5)), 82),
    "where": (lambda x: np.sum(np.where(x > 0.5, x, 1.0)), 120),
    "maximum": (lambda x: np.sum(np.maximum(x, 0.5)), 75),
}


def pulled_back():
    _, pullback = ad.vjp(lambda x: x * x, 2.0)
    return pullback(1.0)


def few_calls():
    """How many calls gradients take, and a pullback: made and called."""
    x = np.linspace(0.0, 1.0, 5)
    return [python_calls(partial(ad.grad(f), x)) for f, _ in GRADIENTS.values()] + [python_calls(pulled_back)]


def test_gradients_and_pullbacks_take_few_calls():
    """In a process of its own: where packages are followed, or other libraries known, these are asked for, too."""
    program = "from tests.tape.test_fast import few_calls; print(*few_calls())"
    counts = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    most = [*(most for _, most in GRADIENTS.values()), 60]
    assert all(int(count) <= limit for count, limit in zip(counts, most, strict=True)), (counts, most)


def test_a_twin_is_not_looked_for_anew():
    """A lambda has one where a class of another module defines ``*``, and is another function each time."""
    program = "import tests.twin.language; from tests.tape.test_fast import *; pulled_back()"
    program += "; print(python_calls(pulled_back))"
    assert int(subprocess.check_output([sys.executable, "-c", program], text=True)) <= 80
