"""Arrays that a function computes from plain ones, and then writes tensors into."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

DATA, X = np.array([0.5, 1.5, 3.0]), np.array([0.3, 1.2, -0.4])


def added(data, x):
    y = data * 1.0
    y += x
    return y


def added_in_turns(data, x):
    y = data - data.mean()
    for k in range(2):
        y += x * k
    return y


def divided(data, x):
    y = data - 1
    y /= np.exp(x[0])
    return y


def item(data, x):
    y = data / 2
    y[0] = x[0] * x[1]
    return y


def item_added(data, x):
    y = data + data
    y[1] += x[0]
    return y


def masked(data, x):
    y = (data > 1) * 1.0
    y[data > 2] = x[2]
    return y


def into_out(data, x):
    y = data**2
    np.add(y, x, out=y)
    np.add.at(y, [0, 0], x[:2])
    return y


FUNCTIONS = [added, added_in_turns, divided, item, item_added, masked, into_out]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_computed_from_plain_arrays_holds_tensors(f):
    value, jacobian = f(DATA, X), ad.jacobian(f, 1)(DATA, X)
    steps = [(f(DATA, X + h) - f(DATA, X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(jacobian, np.stack(steps, axis=-1), atol=1e-8)
    np.testing.assert_array_equal(ad.jacfwd(f, 1)(DATA, X), jacobian)
    np.testing.assert_array_equal(ad.vmap(f, in_axes=(None, 0))(DATA, np.stack([X, X]))[1], value)
    compiled = ad.compile(ad.jacobian(f, 1))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(DATA, X), jacobian)
    np.testing.assert_array_equal(DATA, [0.5, 1.5, 3.0])
    check_grads(ad.differentiable(lambda x: f(DATA, x)), (X,))
