"""The checker is itself checked: right rules pass, and each way of being wrong is caught."""

import numpy as np
import pytest

from adjoint import GradientMismatchError
from adjoint.core.op import Op, rule_of
from adjoint.core.protocol import detached
from adjoint.testing import check_grads


def op(forward, *rules, kind="general"):
    """An operation that is not in the registry."""
    return Op("mutant", forward, ("x", "y")[: len(rules)], tuple(map(rule_of, rules)), kind=kind)


def draw(*shape, seed=3):
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def spotted(shape, factor):
    """Ones, but for one entry."""
    ones = np.ones(shape)
    ones[tuple(n // 2 for n in shape)] = factor
    return ones


X, Y, ROW = draw(3, 4), draw(3, 4, seed=4), draw(4, seed=5)
Z, V = X + 1j * Y, Y - 0.5j * X
TIED = (np.array([1.0, 2.0]), np.array([1.0, 3.0]))

right_sin = op(np.sin, lambda g, x: g * np.cos(x))
right_product = op(np.multiply, lambda y: y, lambda x: x, kind="elementwise")
right_matmul = op(np.matmul, lambda g, y: g @ y.T, lambda g, x: x.T @ g)
right_maximum = op(
    np.maximum,
    lambda g, x, out, y: g * (np.equal(x, out) / (1.0 + np.equal(x, y))),
    lambda g, x, out, y: g * (np.equal(y, out) / (1.0 + np.equal(x, y))),
)
right_cube = op(lambda x: x**3, lambda g, x: g * 3 * x * x)
right_sum = op(lambda x: np.sum(x, axis=1), lambda g, x_shape: np.broadcast_to(g[:, None], x_shape))
right_matrix_vector = op(np.matmul, lambda g, y: g[:, None] * y, lambda g, x: x.T @ g)


# name: a right operation, a wrong one, the arguments, and the order of derivative that shows the difference.
MUTANTS = {
    "sign": (right_sin, op(np.sin, lambda g, x: -g * np.cos(x)), (X,), 1),
    "factor_2": (right_sin, op(np.sin, lambda g, x: 2 * g * np.cos(x)), (X,), 1),
    "a_twentieth_of_a_percent": (right_sin, op(np.sin, lambda g, x: 1.0005 * g * np.cos(x)), (X,), 1),
    "the_same_in_a_large_array": (right_sin, op(np.sin, lambda g, x: 1.0005 * g * np.cos(x)), (draw(30, 40),), 1),
    "one_entry_of_100": (
        right_sin,
        op(np.sin, lambda g, x: g * np.cos(x) * spotted((10, 10), 1.02)),
        (draw(10, 10),),
        1,
    ),
    "one_output_of_100": (
        right_sin,
        op(np.sin, lambda g, x: (g * spotted((10, 10), 1.02)) * np.cos(x)),
        (draw(10, 10),),
        1,
    ),
    "no_unbroadcast": (right_product, op(np.multiply, lambda g, y: g * y, lambda g, x: g * x), (X, ROW), 1),
    "unbroadcast_by_mean": (
        right_product,
        op(np.multiply, lambda g, y: g * y, lambda g, x: np.mean(g * x, axis=0)),
        (X, ROW),
        1,
    ),
    "no_conjugate": (right_product, op(np.multiply, lambda g, y: g * y, lambda g, x: g * x), (Z, V), 1),
    "imaginary_part_dropped": (
        right_product,
        op(np.multiply, lambda g, y: np.real(g * np.conj(y)) + 0j, lambda g, x: g * np.conj(x)),
        (Z, V),
        1,
    ),
    "tie_to_both": (
        right_maximum,
        op(np.maximum, lambda g, x, out: g * np.equal(x, out), lambda g, y, out: g * np.equal(y, out)),
        TIED,
        1,
    ),
    "tie_to_the_first": (
        right_maximum,
        op(np.maximum, lambda g, x, out: g * np.equal(x, out), lambda g, x, out: g * np.not_equal(x, out)),
        TIED,
        1,
    ),
    "one_argument_forgotten": (
        right_product,
        op(np.multiply, lambda y: y, lambda x: np.zeros_like(x), kind="elementwise"),
        (X, Y),
        1,
    ),
    "arguments_swapped": (right_product, op(np.multiply, lambda x: x, lambda y: y, kind="elementwise"), (X, Y), 1),
    "no_transpose": (right_matmul, op(np.matmul, lambda g, y: g @ y, lambda g, x: x @ g), (X[:, :3], Y[:, :3]), 1),
    "rows_for_columns": (
        op(lambda x: np.sum(x, axis=1), lambda g, x_shape: np.broadcast_to(g[:, None], x_shape)),
        op(lambda x: np.sum(x, axis=1), lambda g, x_shape: np.broadcast_to(g, x_shape)),
        (X[:, :3],),
        1,
    ),
    "shape_turned": (
        right_matrix_vector,
        op(np.matmul, lambda g, y: np.outer(y, g), lambda g, x: x.T @ g),
        (X, ROW),
        1,
    ),
    "cotangent_overwritten": (right_sin, op(np.sin, lambda g, x: np.multiply(g, np.cos(x), out=g)), (X,), 1),
    "second_derivative": (right_cube, op(lambda x: x**3, lambda g, x: g * 3 * x * detached(x)), (X,), 2),
    "second_derivative_to_zero": (right_cube, op(lambda x: x**3, lambda g, x: g * 3 * np.square(detached(x))), (X,), 2),
    "cotangent_cut_off": (right_sin, op(np.sin, lambda g, x: detached(g) * np.cos(x)), (X,), 2),
    "third_derivative": (right_cube, op(lambda x: x**3, lambda g, x: g * right_square_times_3(x)), (X,), 3),
    "precision_lost": (
        right_sin,
        op(np.sin, lambda g, x: g * np.cos(x).astype(np.float64)),
        (X.astype(np.float32),),
        1,
    ),
}

right_square_times_3 = op(lambda x: 3 * x * x, lambda g, x: g * 6 * detached(x))


@pytest.mark.parametrize("name", MUTANTS)
def test_right_rules_pass(name):
    right, _, args, order = MUTANTS[name]
    check_grads(right, args, order=order)


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_rules_are_caught(name):
    _, wrong, args, order = MUTANTS[name]
    if order > 1:
        check_grads(wrong, args, order=order - 1)
    with pytest.raises(GradientMismatchError):
        check_grads(wrong, args, order=order)
