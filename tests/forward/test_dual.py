"""Arrays that carry a tangent along: written in place, viewed, nested, and taken out of their transform."""

import copy
import math
import pickle

import numpy as np
import pytest

import adjoint as ad
from tests.foreign import foreign

X, V = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, 0.5, 2.0])


def derivative(f):
    return lambda x: ad.jvp(f, (x,), (1.0,))[1]


def by_differences(f, x, v, h=1e-6):
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


# -- Writes ---------------------------------------------------------------------------------------------------------


def through_a_view(x):
    y = x * 2
    y[1:][0] = x[3] ** 2
    return y


def through_views_of_views(x):
    y = np.sin(x)
    y.reshape(2, 2).T[0][1:] *= x[0]
    return y


def base_after_view(x):
    y = x * 1.0
    view = y[::2]
    y[:] = x**3
    return view * view


def other_view_after_view(x):
    y = x * 1.0
    first, last = y[:3], y[1:]
    first *= 2
    last += first[0] * x[1:]
    return first


def overlapping(x):
    y = x * 1.0
    y[1:] = y[:-1]
    y[:-1] += y[1:]
    return y


def out_of_a_ufunc(x):
    y = np.zeros_like(x)
    np.multiply(x, x, out=y)
    np.exp(y[1:3], out=y[:2])
    return y


def into_zeros(x):
    y = np.zeros_like(x)
    for i in range(4):
        y[i] = np.sin(x[i]) * x[(i + 1) % 4]
    return y


def views_of_a_constant(x):
    y = np.zeros_like(x)
    first, last = y[:2], y[::-1]
    first += x[:2] ** 2
    last.reshape(2, 2)[0][:] = x[1:3] * x[0]
    return y + first[0]


def a_view_of_what_is_written_later(x):
    y = np.zeros_like(x)
    row = y.reshape(2, 2)[1]
    y[:] = x * x
    return row * x[:2]


def a_constant_first(x):
    y = np.ones_like(x)
    before = np.sum(y * y)
    y[2] = x[0]
    return y * before


def a_number_over_it(x):
    y = x * x
    y[1] = 5.0
    return y * x


def masks_and_lists(x):
    y = x * 3
    y[x > 2.5] = x[:2] ** 2
    y[[0, 0]] = x[1:3]
    return y


def its_own_operand(x):
    y = x * 1.0
    z = y * y
    y += z
    return y * z


def swapped(x):
    y = x.reshape(2, 2) * 1.0
    y[0], y[1] = y[1] * x[0], y[0].copy()
    return y.swapaxes(0, 1).ravel()


def sorted_in_place(x):
    y = np.cos(3 * x)
    y.sort()
    y.fill(2.0 * x[0]) if y[0] > 0 else None
    return y


WRITES = [through_a_view, through_views_of_views, base_after_view, other_view_after_view, overlapping, out_of_a_ufunc,
          into_zeros, views_of_a_constant, a_view_of_what_is_written_later, a_constant_first, a_number_over_it,
          masks_and_lists, its_own_operand, swapped, sorted_in_place]  # fmt: skip


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_tangents_after_writes(f):
    value, tangent = ad.jvp(f, (X,), (V,))
    np.testing.assert_array_equal(value, f(X))
    np.testing.assert_allclose(tangent, by_differences(f, X, V), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ad.linearize(f, X)[1](V), tangent, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_second_derivatives_after_writes(f):
    def total(x):
        return np.sum(np.sin(f(x)))

    expected = ad.grad(lambda x: np.sum(ad.grad(total)(x) * V))(X)
    np.testing.assert_allclose(ad.hvp(total, X, V), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ad.grad(lambda x: ad.jvp(total, (x,), (V,))[1])(X), expected, rtol=1e-10, atol=1e-10)
    twice = ad.jvp(lambda x: ad.jvp(total, (x,), (V,))[1], (X,), (V,))[1]
    np.testing.assert_allclose(twice, expected @ V, rtol=1e-10)


def test_arguments_are_left_alone():
    x = X.copy()

    def f(x):
        x *= 2
        return x

    value, tangent = ad.jvp(f, (x,), (V,))
    np.testing.assert_array_equal(value, 2 * X)
    np.testing.assert_array_equal(tangent, 2 * V)
    np.testing.assert_array_equal(x, X)


def test_a_constant_tensor_becomes_a_dual_where_it_is_written():
    def f(x):
        buffer = ad.tensor(np.zeros(4))
        view = buffer[1:3]
        buffer[:] = x * x
        return view * 2

    value, tangent = ad.jvp(f, (X,), (V,))
    np.testing.assert_array_equal(value, 2 * X[1:3] ** 2)
    np.testing.assert_allclose(tangent, 4 * X[1:3] * V[1:3])


# -- Nested ---------------------------------------------------------------------------------------------------------


def test_perturbations_are_not_confused():
    assert derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0) == 1
    assert derivative(lambda x: x * derivative(lambda y: x * y * y)(3.0))(2.0) == 24


@pytest.mark.parametrize("inner", [derivative, ad.grad])
@pytest.mark.parametrize("outer", [derivative, ad.grad])
def test_closures_over_outer_variables(outer, inner):
    """d/dx [x² sin'(x y) x at y = 2] by both modes."""
    found = outer(lambda x: x**2 * inner(lambda y: np.sin(x * y))(2.0))(0.7)
    x = 0.7
    assert found == pytest.approx(3 * x**2 * math.cos(2 * x) - 2 * x**3 * math.sin(2 * x), rel=1e-12)


@pytest.mark.parametrize("inner", [derivative, ad.grad])
def test_outer_duals_written_into_inner_arrays(inner):
    """The inner array does not vary by x; what is written into it does, by the outer variable."""

    def f(x):
        def g(y):
            row = np.zeros_like(np.stack([y, y, y]))
            row[0] = x * y
            row[1] = x * x
            row[2] = row[0] * row[1]
            return np.sum(row)

        return inner(g)(2.0)  # x + x³

    assert derivative(f)(3.0) == pytest.approx(1 + 3 * 9.0)
    assert ad.grad(f)(3.0) == pytest.approx(1 + 3 * 9.0)


def test_an_outer_array_written_with_an_inner_value():
    """A dual of a lower level is written with one of a higher: from then on it is one of the higher level too."""

    def f(x):
        kept = x * np.ones(2)

        def g(y):
            kept[0] = x * y * y
            return np.sum(kept * x)

        return derivative(g)(3.0)  # 2 x² y

    assert derivative(f)(2.0) == pytest.approx(4 * 2.0 * 3.0)


@pytest.mark.parametrize("inner", [derivative, ad.grad])
@pytest.mark.parametrize("outer", [derivative, ad.grad])
def test_an_array_of_outer_values_written_with_an_inner_value(outer, inner):
    """Made inside, of outer values alone; both kinds of values then meet in its products."""

    def f(x):
        def g(y):
            row = np.stack([x, x]) * 1.0
            row[1:][0] = y * y * x
            return row[0] * row[1]

        return inner(g)(x)  # 2 y x², where y is x

    assert outer(f)(0.8) == pytest.approx(6 * 0.8**2)


@pytest.mark.parametrize("inner", [derivative, ad.grad])
@pytest.mark.parametrize("outer", [derivative, ad.grad])
def test_an_outer_array_written_with_an_inner_value_is_used_when_the_inner_transform_is_over(outer, inner):
    def f(x):
        kept, listed = np.stack([x, x]) * 1.0, []

        def g(y):
            kept[1:][0] = x * y * y
            listed.append(x * y)
            return x * y

        return kept[0] * inner(g)(3.0) + kept[1] + listed[0]  # x² + 9 x + 3 x

    assert outer(f)(2.0) == pytest.approx(2 * 2.0 + 9 + 3)
    assert isinstance(outer(f)(2.0), np.float64)


def test_samples_do_not_outlive_their_vmap():
    def f(x):
        kept = x * np.ones(2)

        def g(y):
            kept[0] = x * y
            return y

        ad.vmap(g)(np.ones(3))
        return np.sum(kept)

    for transform in (ad.grad, derivative):
        with pytest.raises(ad.BatchedValueError, match="after its vmap had ended"):
            transform(f)(2.0)


def test_third_derivatives():
    third = derivative(derivative(derivative(lambda x: np.sin(x) * x)))(0.4)
    assert third == pytest.approx(-3 * math.sin(0.4) - 0.4 * math.cos(0.4))
    mixed = ad.grad(derivative(ad.grad(lambda x: np.sin(x) * x)))(0.4)
    assert mixed == pytest.approx(third)


def test_no_grad_does_not_concern_forward_mode():
    def f(x):
        with ad.no_grad():
            return x * x

    np.testing.assert_array_equal(ad.jvp(f, (X,), (V,))[1], 2 * X * V)


# -- What it says -----------------------------------------------------------------------------------------------------


def test_shows_value_and_tangent():
    text = []
    ad.jvp(foreign("lambda x: shown.append(repr(x)) or x", shown=text), (np.ones(2),), (np.zeros(2),))
    assert text == ["dual(array([1., 1.]), tangent=array([0., 0.]))"]


@pytest.mark.parametrize(
    "call",
    [
        np.asarray,
        foreign("lambda x: float(x[0])"),
        foreign("lambda x: math.sin(x[0])"),
        foreign("lambda x: complex(x[0])"),
        foreign("lambda x: np.array([x[0], 1])"),
    ],
)
def test_taking_the_numbers_out_is_refused(call):
    with pytest.raises(ad.AdjointError, match=r"tangent.*t\.detach"):
        ad.jvp(foreign("lambda x: call(x) and x", call=call), (X,), (V,))


def test_numbers_are_taken_out_by_name():
    found = {}

    def f(x):
        found.update(numpy=x.numpy(), item=x[1].item(), list=x.tolist(), detached=x.detach() * x)
        return found["detached"]

    np.testing.assert_array_equal(ad.jvp(f, (X,), (V,))[1], X * V)
    np.testing.assert_array_equal(found["numpy"], X)
    assert found["item"] == 2.0
    assert found["list"] == X.tolist()


def test_is_copied_but_not_pickled():
    np.testing.assert_array_equal(ad.jvp(lambda x: copy.deepcopy(x) * copy.copy(x), (X,), (V,))[1], 2 * X * V)
    with pytest.raises(ad.LeavesGraphError, match="pickle"):
        ad.jvp(pickle.dumps, (X,), (V,))


# -- Gates -------------------------------------------------------------------------------------------------------------


@ad.op
def swish(x, beta=1.0):
    return x / (1 + np.exp(-beta * x))


@swish.backward
def _(g, x, out, beta):
    s = 1 / (1 + np.exp(-beta * x))
    return g * (s + beta * out * (1 - s))


def test_gates_are_transposed():
    expected = ad.jvp(lambda x: x / (1 + np.exp(-2 * x)), (X,), (V,))[1]
    np.testing.assert_allclose(ad.jvp(lambda x: swish(x, beta=2), (X,), (V,))[1], expected)


@pytest.mark.parametrize("take", [np.asarray, lambda g: g.numpy() if hasattr(g, "numpy") else g])
def test_gates_that_take_the_numbers_out_are_refused(take):
    gate = ad.op(lambda x: np.asarray(x) ** 2, lambda g, x: 2 * np.array(take(g)) * x)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(gate(x)))(X), 2 * X)
    with pytest.raises(ad.NotDifferentiableError, match="custom_jvp"):
        ad.jvp(gate, (X,), (V,))


def test_gates_without_a_derivative_have_tangents_of_zero():
    step = ad.op(lambda x: np.heaviside(x, 0.5), lambda g, x: np.zeros_like(x))
    np.testing.assert_array_equal(ad.jvp(step, (X,), (V,))[1], np.zeros(4))


@pytest.mark.parametrize("reads_before", [True, False])
def test_a_view_of_an_outer_array_takes_part_after_an_inner_write(reads_before):
    """A view's level is its root's, which a value of an inner transform raises."""

    def gradient(q):
        def f(x):
            a = np.zeros((2, 2), like=q)
            row = a[0]
            if reads_before:
                row += x
            else:
                a[0] = x
            a[0] = row
            return np.sum(a * a)

        return ad.grad(f)(q)

    x, v = np.array([1.3, 0.2]), np.array([0.5, -0.3])
    value, change = ad.jvp(gradient, (x,), (v,))
    np.testing.assert_allclose(value, 2 * x)
    np.testing.assert_allclose(change, 2 * v)
