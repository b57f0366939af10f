"""One of Python's numbers in a transform promotes other arrays as the plain number does, in every nest of modes."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad

X = np.array([1.0, 2.0, 3.0], np.float32)
A = 1.1  # not a number of float32
FUNCTIONS = {
    "a view": lambda x, a: x[:2] * a,
    "a number and a view": lambda x, a: a - x[::-1],
    "a transposed view": lambda x, a: x.reshape(3, 1).T + 1j * a,
    "in a function": lambda x, a: np.arctan2(x[1:], a),
    "in a comparison": lambda x, a: np.where(x[:2] < a, x[:2], 0),
    "where": lambda x, a: np.where(x > 1, x, a),
    "where, by whole numbers": lambda x, a: np.where(np.array([1, 0, 1]), a, x),
    "clip": lambda x, a: np.clip(x, 0, a),
    "clip a number": lambda x, a: np.clip(a, 0, x),
    "select": lambda x, a: np.select([x > 1], [x], a),
    "choose": lambda x, a: np.choose(np.array([0, 1, 0]), [x, a]),
    "quantile": lambda x, a: np.quantile(x, a / 2),
    "dot": lambda x, a: np.dot(x, a),
    "inner": lambda x, a: np.inner(a, x),
    "multiply.outer": lambda x, a: np.multiply.outer(x, a),
    "float_power": lambda x, a: np.float_power(x, a),
    "add, dtype=": lambda x, a: np.add(x, a, dtype=np.float64),
    "xlogy": lambda x, a: scipy.special.xlogy(x, a),
    "cross": lambda x, a: np.cross(x, x[::-1]) * a,
    "gradient": lambda x, a: np.gradient(x, a),
    "result_type": lambda x, a: x.astype(np.result_type(x, a)),
    "of whole numbers": lambda x, a: np.array([1, 2], np.int8) * a,
    "of half precision": lambda x, a: x.astype(np.float16)[1:] / a,
    "a large view": lambda x, a: np.broadcast_to(x, (40_000, 3))[1:] * a,
}
MODES = {
    "by the number": lambda f: ad.grad(lambda a: f(X, a))(A),
    "by the array": lambda f: ad.grad(lambda x: f(x, A))(X),
    "by both": lambda f: ad.grad(f, (0, 1))(X, A),
    "forward": lambda f: ad.jvp(f, (X, A), (X, 1.0)),
    "reverse in forward": lambda f: ad.jvp(lambda a: ad.grad(lambda x: f(x, a))(X), (A,), (1.0,)),
    "forward in reverse": lambda f: ad.grad(lambda a: ad.jvp(lambda x: f(x, a), (X,), (X,))[1])(A),
    "reverse in reverse": lambda f: ad.grad(lambda x: ad.grad(lambda a: f(x, a))(A))(X),
    "samples in reverse": lambda f: ad.grad(lambda a: np.sum(ad.vmap(lambda x: f(x, a))(np.stack([X, X]))))(A),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_promotes_as_the_number_does(name, mode):
    function, seen = FUNCTIONS[name], []

    def scalar(x, a):
        seen.append(function(x, a))
        return np.sum(np.real(seen[-1]).astype(np.float64))

    MODES[mode](scalar)
    assert seen[0].dtype == function(X, A).dtype


@pytest.mark.parametrize("name", ["float_power", "add, dtype=", "gradient", "xlogy", "dot"])
def test_values_keep_all_digits(name):
    value, _ = ad.vjp(lambda a: FUNCTIONS[name](X, a), A)
    assert np.array_equal(value, FUNCTIONS[name](X, A))


@pytest.mark.parametrize("kind", [ad.nn.Parameter, lambda x: ad.tensor(np.tile(x, 50_000))], ids=["parameter", "large"])
def test_kinds_of_tensors(kind):
    p, seen = kind(X), []
    ad.grad(lambda a: (seen.append(p * a), np.sum(seen[-1]))[1])(A)
    assert seen[0].dtype == np.float32


def test_a_large_argument():
    seen = []
    ad.grad(lambda x, a: (seen.append(x * a), np.sum(seen[-1]))[1], (0, 1))(np.tile(X, 50_000), A)
    assert seen[0].dtype == np.float32
