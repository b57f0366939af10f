"""``a[index] = value`` where an index names an element twice: NumPy goes through arrays as they lie; the last wins."""

import numpy as np
import pytest

import adjoint as ad

LAYOUTS = {
    "C": lambda a: a.copy(),
    "F": np.asfortranarray,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "all backwards": lambda a: np.flip(np.flip(a).copy()),
    "gaps": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
}
#: The shapes of an index's arrays and what stands before them, and shapes of values.
CASES = {
    "rows": (((3, 4),), (), [(3, 4, 5), (4, 5), (5,), (3, 1, 5)]),
    "elements": (((3, 4), (3, 4)), (), [(3, 4), (4,), (3, 1), (1, 1)]),
    "columns": (((3, 2),), (slice(None),), [(4, 3, 2), (3, 2), (2,), (4, 1, 1)]),
    "places side by side": (((6,), (6,)), (), [(6,), (1,)]),
    "three axes": (((2, 3, 2), (2, 3, 2)), (), [(2, 3, 2), (3, 1), (2,)]),
}


def slope(f, v, d, how):
    step = 1e-6
    ahead, behind = (LAYOUTS[how](v + sign * step * d) for sign in (1, -1))
    return (f(ahead) - f(behind)) / (2 * step)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("index_lies", LAYOUTS)
@pytest.mark.parametrize("value_lies", LAYOUTS)
def test_values_and_slopes_are_those_of_numpys_last_write(case, index_lies, value_lies):
    rng = np.random.default_rng(3)
    arrays, before, values = CASES[case]
    for shape in values:
        index = (*before, *(LAYOUTS[index_lies](rng.integers(-3, 3, s)) for s in arrays))
        x, v = rng.normal(size=(4, 5)), LAYOUTS[value_lies](rng.normal(size=shape))
        d, w = LAYOUTS[value_lies](rng.normal(size=shape)), rng.normal(size=x.shape)

        def f(v, x=x, index=index):
            y = x * 1.0 + np.sum(v) * 0.0
            y[index] = v
            return y

        wanted = slope(f, v, d, value_lies)
        value, tangent = ad.jvp(f, (v,), (d,))
        again, pullback = ad.vjp(f, v)
        assert np.array_equal(value, f(v))
        assert np.array_equal(again, f(v))
        np.testing.assert_allclose(tangent, wanted, atol=1e-8)
        assert np.sum(pullback(w) * d) == pytest.approx(np.sum(wanted * w), rel=1e-6)


def test_a_turned_array_of_repeated_elements_is_written_element_by_element():
    """All elements of a row that `numpy.broadcast_to` repeats had the number, and the gradient, of the last one."""

    def f(a):
        v = np.zeros((2, 2))
        v[np.array([0, -1])] = a.T
        return v

    x = np.broadcast_to(np.array([0.3, -0.6]), (2, 2))
    tangent, weights = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 10.0], [100.0, 1000.0]])
    np.testing.assert_array_equal(ad.jvp(f, (x,), (tangent,))[1], tangent.T)
    np.testing.assert_array_equal(ad.grad(lambda a: np.sum(f(a) * weights))(x), weights.T)
