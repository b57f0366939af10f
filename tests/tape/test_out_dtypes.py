"""``out=`` of another dtype, and bounds and places that only some modes refused: as by NumPy, in every mode."""

import numpy as np
import pytest

import adjoint as ad

WHOLE = np.array([4, 9, 2])
MODES = {
    "eager": lambda f, a: f(ad.tensor(a)).numpy(),
    "capture": lambda f, a: ad.capture(f, a)(a),
    "compile": lambda f, a: [g(a) for g in [ad.compile(f, wait=True)] for _ in range(3)][-1],
}


def into_itself(ufunc, *args, **kwargs):
    def f(x):
        x = x * 1
        ufunc(x, *args, out=x, **kwargs)
        return x

    return f


REFUSED = {
    "sqrt": into_itself(np.sqrt),
    "masked": into_itself(np.sqrt, where=np.array([True, False, True])),
    "add": into_itself(np.add, 1.5),
    "divide": into_itself(np.divide, 2),
}
ALLOWED = {
    "unsafe": into_itself(np.add, 1.5, casting="unsafe"),
    "whole": into_itself(np.multiply, 2),
    "truth": into_itself(np.greater, 3),
    "clip below": lambda x: np.clip(x.astype(np.uint8), -1, 4),
    "clip above": lambda x: np.clip(x.astype(np.int8), 3, 300),
    "einsum": lambda x: np.einsum("i,i->i", x, x, dtype=float, order="F"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", REFUSED)
def test_nothing_goes_silently_into_whole_numbers(name, mode):
    with pytest.raises(TypeError):
        REFUSED[name](WHOLE)
    with pytest.raises((TypeError, ad.DTypeError), match=r"out|cast"):
        MODES[mode](REFUSED[name], WHOLE)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ALLOWED)
def test_values_and_dtypes_are_numpys(name, mode):
    found, expected = MODES[mode](ALLOWED[name], WHOLE), ALLOWED[name](WHOLE)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
def test_one_number_goes_into_a_slice_of_a_flat_view(mode):
    def f(x):
        x = x * 1.0
        x.flat[::2] = x.flat[1]
        return x

    np.testing.assert_array_equal(MODES[mode](f, WHOLE), f(WHOLE))
