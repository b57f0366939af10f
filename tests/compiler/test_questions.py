"""What Python asks of values besides NumPy: a compiled function answers as the function does."""

import numbers

import numpy as np
import pytest

import adjoint as ad

ASKED = {
    "isinstance": lambda x: x * 2 if isinstance(x, float) else x * 3,
    "of an array": lambda x: x * 2 if isinstance(x, np.ndarray) else x * 3,
    "of a number": lambda x: x * 2 if isinstance(x, numbers.Number) else x * 3,
    "isscalar": lambda x: x * 2 if np.isscalar(x) else x * 3,
    "class": lambda x: x * 2 if x.__class__ is np.float64 else x * 3,
    "look up": lambda x: x * {2.5: 2.0}.get(float(x.sum()) if isinstance(x, np.ndarray) else x, 3.0),
    "a member": lambda x: x * 2 if np.ndim(x) == 0 and x in {2.5, 7.0} else x * 3,
    "text": lambda x: x * len(str(x)),
    "formatted": lambda x: x * len(f"{x!s:>20}{x}"),
}


@pytest.mark.parametrize("f", ASKED.values(), ids=ASKED)
def test_python_asks_what_a_value_is(f):
    compiled = ad.compile(f, wait=True)
    for _ in range(3):
        for x in (2.5, 3.75, np.float64(2.5), np.float64(0.1), np.ones(2), np.full(2, 1.25)):
            expected, found = f(x), compiled(x)
            np.testing.assert_array_equal(found, expected)
            assert isinstance(found, np.ndarray) == isinstance(expected, np.ndarray)
    assert "runs as it is" not in compiled.explain()


def test_a_match_statement_sees_the_values_type():
    def chosen(x):
        match x:
            case float():
                return x * 2
            case np.ndarray():
                return x * 3
        return x

    compiled = ad.compile(chosen, wait=True)
    assert [compiled(2.0) for _ in range(3)] == [4.0] * 3
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.ones(2)), [3.0, 3.0])


def test_what_is_written_keeps_its_order_in_memory():
    def f(x, y):
        x += y
        x /= 2.0
        x.reshape(-1)[1] = 9.0  # of columns a copy
        return x.copy()

    compiled = ad.compile(f, wait=True)
    a = np.arange(12.0).reshape(3, 4)
    for _ in range(3):
        for order in (
            np.array,
            np.asfortranarray,
            lambda x: np.repeat(x, 2, 1)[:, ::2],
            lambda x: x[::-1].copy()[::-1],
        ):
            given, expected = order(a), order(a)
            np.testing.assert_array_equal(compiled(given, a), f(expected, a))
            np.testing.assert_array_equal(given, expected)


def test_errors_of_numbers_are_raised_where_the_function_says_so():
    def inverse(x):
        with np.errstate(divide="raise"):
            return 1.0 / x

    compiled = ad.compile(inverse, wait=True)
    for _ in range(3):
        assert compiled(np.full(2, 2.0)).tolist() == [0.5, 0.5]
        with pytest.raises(FloatingPointError):
            compiled(np.zeros(2))
    assert "np.errstate says that errors" in compiled.explain()


def test_errors_of_numbers_are_raised_by_decorated_functions():
    @np.errstate(divide="raise")
    def inverse(x):
        return 1.0 / x

    compiled = ad.compile(lambda x: inverse(x) + 1.0, wait=True)
    for _ in range(3):
        assert compiled(np.full(2, 2.0)).tolist() == [1.5, 1.5]
        with pytest.raises(FloatingPointError):
            compiled(np.zeros(2))
