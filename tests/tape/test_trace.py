"""The backward pass as a table: every rule once, and the same gradients."""

import numpy as np
import pytest

import adjoint as ad


def program(x):
    y = np.sin(x) * x
    return np.sum(np.concatenate([y, y[::-1] * 2])) + np.sum(y)


def test_gradients_are_those_of_backward():
    x, twin = (ad.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
    for _ in range(2):
        ad.trace_backward(program(x))
        program(twin).backward()
    np.testing.assert_array_equal(x.grad.numpy(), twin.grad.numpy())


def test_one_line_a_rule_in_the_order_of_the_pass():
    x = ad.tensor(np.ones(1000, np.float32), requires_grad=True)
    y = np.sin(x)
    np.exp(y)  # leads nowhere
    loss = np.sum(y * y[::-1])
    trace = ad.trace_backward(loss)
    assert [step.op for step in trace] == ["reduce_sum", "multiply", "getitem", "sin"]
    numbers = [step.number for step in trace]
    assert numbers == sorted(numbers, reverse=True)
    assert trace[0].parents == (trace[1].number,)
    assert trace[1].parents == (trace[3].number, trace[2].number)
    assert trace[3].parents == (-x.node.order,)
    assert (trace[1].shape, trace[1].dtype) == ((1000,), np.float32)
    assert [step.nbytes for step in trace] == [4000, 8000, 0, 4000]
    assert all(step.seconds > 0 for step in trace)
    assert len(trace) == len(list(trace)) == 4
    with pytest.raises(AttributeError):
        trace[0].op = "other"


def test_handing_on_makes_nothing():
    x = ad.tensor(np.ones(1000), requires_grad=True)
    y = x + 1.0
    trace = ad.trace_backward(y, np.ones(1000))
    assert [(step.op, step.nbytes) for step in trace] == [("add", 0)]


def test_printed_with_lines():
    x = ad.tensor(np.ones((2, 3)), requires_grad=True)
    with ad.source_lines():
        loss = np.sum(np.tanh(x))
    text = str(ad.trace_backward(loss))
    head, first, second, total = text.splitlines()
    assert head.split() == ["number", "rule", "of", "cotangent", "time", "made", "goes", "to", "line"]
    assert "() float64" in first
    assert "(2, 3) float64" in second
    assert "tests/tape/test_trace.py:" in second
    assert total.startswith("2 rules, ")
    assert total.endswith("96 B made")


def test_arguments_are_those_of_backward():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    y = np.sin(x)
    ad.trace_backward(y, np.array([1.0, 0.0]), retain_graph=False)
    np.testing.assert_allclose(x.grad.numpy(), [np.cos(1.0), 0.0])
    with pytest.raises(ad.GraphFreedError):
        ad.trace_backward(y, np.ones(2))
    x.grad = None
    ad.trace_backward(np.sum(np.sin(x)), create_graph=True)
    g, x.grad = x.grad, None
    np.sum(g).backward()
    np.testing.assert_allclose(x.grad.numpy(), -np.sin([1.0, 2.0]))
    with pytest.raises(ad.GradientError, match="without a graph"):
        ad.trace_backward(ad.tensor(1.0))


def test_several_results_and_writes():
    a = ad.tensor(np.diag([1.0, 2.0]), requires_grad=True)
    values, vectors = np.linalg.eigh(a)
    values[0] = 3.0
    trace = ad.trace_backward(np.sum(values) + np.sum(vectors * vectors))
    assert {"symmetric_eigen", "overwrite", "multiply"} <= {step.op for step in trace}
    assert str(trace)
