"""Running sums, products and extremes go along memory, however arrays lie, and have NumPy's bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

RUNNING: dict[str, Callable[..., Any]] = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum": lambda x, axis: np.maximum.accumulate(x, axis=axis),
    "minimum": lambda x, axis: np.minimum.accumulate(x, axis=axis),
    "used again": lambda x, axis: np.cumsum(x, axis=axis) * 2 + np.cumsum(x + 1, axis=axis),
    "turned": lambda x, axis: np.cumsum(x, axis=axis).T,
    "shown": lambda x, axis: (np.cumsum(x, axis=axis), np.cumsum(x, axis=axis)[::2, 1:] + 1),
    "of a sum": lambda x, axis: np.cumsum(np.cumsum(x, axis=axis), axis=1 - axis),
    "summed": lambda x, axis: np.max(np.cumsum(x, axis=axis), axis=0),
}


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    gaps = np.zeros([2 * n for n in x.shape], x.dtype)[tuple(slice(None, None, 2) for _ in x.shape)]
    gaps[...] = x
    return {"C": x, "Fortran": np.asfortranarray(x), "gaps": gaps, "gaps turned": gaps.T.copy().T, "backwards": x[::-1]}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
@pytest.mark.parametrize("name", RUNNING)
def test_results_lie_as_numpys_and_have_its_bits(name: str, dtype: Any) -> None:
    function, rng = RUNNING[name], np.random.default_rng(0)
    x = (rng.normal(size=(70, 90)) + 1).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[3, 5], x[9, 9], x[11, 4] = np.nan, np.inf, -0.0
    for axis in (0, 1):
        compiled = ad.compile(lambda x, axis=axis: function(x, axis=axis), wait=True)
        for given in layouts(x).values():
            with np.errstate(all="ignore"):
                expected = function(given, axis=axis)
            for _ in range(2):
                found = compiled(given)
                pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else ((found, expected),)
                for one, other in pairs:
                    np.testing.assert_array_equal(one, other, strict=True)
                    assert one.flags.f_contiguous == other.flags.f_contiguous


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_axes_in_any_order(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=(20, 24, 18)).transpose(axes)
    for axis in range(3):
        found = ad.compile(lambda x, axis=axis: np.cumsum(x, axis=axis), wait=True)(x)
        expected = np.cumsum(x, axis=axis)
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides


@pytest.mark.parametrize("axis", [0, 1])
def test_no_copy_of_an_array_in_fortran_order(axis: int) -> None:
    x = np.asfortranarray(np.ones((80, 90)))
    function = ad.compile(lambda x: np.cumsum(x, axis=axis), wait=True)
    function(x)
    assert "native: 2 steps (2 kernels)" in str(function.explain())  # the first ones, and all after them


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_of_an_array_in_fortran_order(axis: int) -> None:
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(70, 90)))
    gradient = ad.grad(lambda x: np.sum(np.cumsum(x, axis=axis) ** 2))
    expected = 2 * np.flip(np.cumsum(np.flip(np.cumsum(x, axis), axis), axis), axis)
    np.testing.assert_allclose(ad.compile(gradient, wait=True)(x), expected, rtol=1e-11, atol=1e-10)
