"""One's own gates."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad


def sigmoid_gate():
    @ad.op
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    @sigmoid.backward
    def sigmoid(g, out):
        return g * out * (1 - out)

    return sigmoid


def test_a_fused_gate_equals_its_parts_and_is_stabler():
    sigmoid = sigmoid_gate()
    x = np.array([-2.0, 0.0, 1.0])

    def parts(v):
        return (1 / (1 + np.exp(-v))).sum()

    np.testing.assert_allclose(ad.grad(lambda v: sigmoid(v).sum())(x), ad.grad(parts)(x), rtol=1e-15)
    with np.errstate(over="ignore", invalid="ignore"):
        assert ad.grad(sigmoid)(-1000.0) == 0.0
        assert np.isnan(ad.grad(parts)(-1000.0))


def test_second_order_comes_from_the_rule():
    sigmoid = sigmoid_gate()
    s = 1 / (1 + np.exp(-0.3))
    assert ad.grad(ad.grad(sigmoid))(0.3) == pytest.approx(s * (1 - s) * (1 - 2 * s), rel=1e-14)


def test_several_inputs_settings_and_none():
    @ad.op
    def scaled(x, index, factor=2.0, *, power=1):
        return factor * x[index] ** power

    @scaled.backward
    def scaled(g, x, x_shape, index, factor, power):
        gx = np.zeros(x_shape)
        gx[index] = g * factor * power * x[index] ** (power - 1)
        return gx, None

    x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    scaled(x, 1, factor=10.0, power=3).backward()
    assert x.grad.tolist() == [0.0, 120.0, 0.0]


def test_only_what_is_named_is_saved():
    double = ad.op(lambda x: 2 * x, lambda g: 2 * g)
    x = ad.tensor(np.ones(1000), requires_grad=True)
    y = double(x)
    assert not any(isinstance(v, np.ndarray) for v in y.node.saved)


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda g, x: (g, g, g), r"returned 3 cotangent\(s\) for 2 input"),
        (lambda g, x: (g.sum(), g), "shape"),
        (lambda g, x: (np.ones(3, int), g), "dtype int64"),
    ],
)
def test_what_a_rule_returns_is_checked(backward, message):
    gate = ad.op(lambda x, y: x * y, backward)
    x, y = (ad.tensor(np.ones(3), requires_grad=True) for _ in range(2))
    with pytest.raises(ad.RuleError, match=message):
        gate(x, y).sum().backward()


def test_what_a_rule_names_is_checked():
    with pytest.raises(ad.RuleError, match="names 'z'"):
        ad.op(lambda x, y: x * y, lambda g, z: (g, g))


def test_a_gate_without_a_rule_says_what_to_do():
    gate = ad.op(lambda x: x * 2)
    with pytest.raises(ad.ArgumentError, match="backward"):
        gate(1.0)


def test_a_gate_gives_one_array():
    gate = ad.op(lambda x: (x, x), lambda g: g)
    with pytest.raises(ad.RuleError, match="one array"):
        gate(1.0)
