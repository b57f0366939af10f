"""PyTorch's names."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("add", (1.0,), [2.0, 3.0]),
        ("sub", (1.0,), [0.0, 1.0]),
        ("mul", (3.0,), [3.0, 6.0]),
        ("div", (2.0,), [0.5, 1.0]),
        ("pow", (2,), [1.0, 4.0]),
        ("mm", (np.eye(2),), [1.0, 2.0]),
        ("float", (), [1.0, 2.0]),
        ("double", (), [1.0, 2.0]),
        ("cpu", (), [1.0, 2.0]),
        ("contiguous", (), [1.0, 2.0]),
        ("to", ("cpu",), [1.0, 2.0]),
        ("to", (np.float32,), [1.0, 2.0]),
    ],
)
def test_methods_pass_gradients(name, args, expected):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    y = getattr(x, name)(*args)
    assert y.tolist() == expected
    assert y.requires_grad


@pytest.mark.parametrize(
    ("name", "args", "expected", "gradient"),
    [
        ("add_", (1.0,), [3.0, 5.0], [2.0, 2.0]),
        ("sub_", (1.0,), [1.0, 3.0], [2.0, 2.0]),
        ("mul_", (3.0,), [6.0, 12.0], [6.0, 6.0]),
        ("div_", (2.0,), [1.0, 2.0], [1.0, 1.0]),
        ("zero_", (), [0.0, 0.0], [0.0, 0.0]),
        ("fill_", (7.0,), [7.0, 7.0], [0.0, 0.0]),
        ("copy_", (np.array([5.0, 6.0]),), [5.0, 6.0], [0.0, 0.0]),
    ],
)
def test_in_place(name, args, expected, gradient):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    assert getattr(y, name)(*args) is y
    assert y.tolist() == expected
    y.sum().backward()
    assert x.grad.tolist() == gradient


def test_the_gradient_of_a_parameter_is_zeroed_as_in_pytorch():
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w.grad.zero_()
    assert w.grad.tolist() == [0.0, 0.0]
    (w * w).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
