"""A sample of the calls that `scripts/compile_calls.py` makes, and those that were taken where NumPy refuses them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import walk
from tests.compiler.calls import Call, differs, of_entry

X = np.array([[0.5, -1.0], [2.0, 0.25]])
REFUSED = {
    "dtype, a float": (np.add, (X, 1.0), {"dtype": 1.0}),
    "dtype, an array": (np.sin, (X,), {"dtype": X}),
    "subok, an int": (np.sin, (X,), {"subok": 1}),
    "out, a tuple": (np.take, (X, [0]), {"out": (np.zeros(1),)}),
    "indices, floats": (np.take_along_axis, (X, np.array([[0.0, 1.0]]), 0), {}),
    "indices of the program": (np.take_along_axis, (X, X, 0), {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_numpy_refuses(name):
    assert differs(Call(name, *REFUSED[name])) is None


@pytest.mark.parametrize(("f", "like"), [(np.isposinf, (2, 2)), (np.isneginf, (2, 2))])
@pytest.mark.parametrize("kind", [np.array, ad.tensor])
def test_out_by_its_place_is_what_comes_back(f, like, kind):
    out = ad.tensor(np.ones(like, bool))
    assert f(kind(X), out) is out
    assert not np.any(out.numpy())


@pytest.mark.parametrize("f", [np.all, np.any, np.argmax, np.argmin])
@pytest.mark.parametrize("kind", [np.array, ad.tensor])
def test_out_after_an_axis_is_what_comes_back(f, kind):
    out = ad.tensor(f(X, 0))
    out[...] = 0
    assert f(kind(X), 0, out) is out
    np.testing.assert_array_equal(out.numpy(), f(X, 0))


def test_a_number_goes_into_out_by_its_place():
    for kind in (np.array, ad.tensor):
        out = kind(0.0)
        assert np.quantile(ad.tensor([1.0, 2.0, 4.0]), 0.5, None, out) is out
        assert np.nanpercentile(ad.tensor([1.0, 2.0, 4.0]), 50.0, None, out) is out


@pytest.mark.parametrize("entry", list(walk())[::40], ids=lambda e: e.name)
def test_sample(entry):
    _, found = of_entry(entry, 29)
    assert not found, "\n".join(": ".join(each) for each in found)
