"""Results of compiled functions lie in memory as those of the plain functions do."""

import numpy as np
import pytest

import adjoint as ad

STACK = np.arange(24.0).reshape(2, 3, 4)

FUNCTIONS = {
    "transposed": lambda x: np.sin(x).T,
    "an axis moved": lambda x: np.moveaxis(np.cos(x), 0, -1),
    "twice": lambda x: (y := np.sin(x).T, y * 2.0, y),
    "one as it is and transposed": lambda x: (y := np.sin(x), y.swapaxes(0, 2)),
    "an argument": lambda x: x.T,
    "turned back": lambda x: (np.sin(x).T + 1.0).T,
    "a jacobian": ad.jacfwd(lambda x: np.sin(x[0]) * x[1, 0]),
    "of samples": ad.vmap(ad.jacfwd(lambda x: x[1] * np.cos(x[0]))),
    "with an axis of one": lambda x: np.exp(x[:, :1]).transpose(2, 0, 1),
    "a part": lambda x: np.exp(x).transpose(2, 0, 1)[::2],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_results_lie_as_they_do_without(name, backend):
    f = FUNCTIONS[name]
    compiled = ad.compile(f, wait=True, backend=backend)
    for _ in range(3):
        x = STACK.copy()
        expected, found = f(x), compiled(x)
        for wanted, got in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, found)), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
            assert got.strides == wanted.strides
            assert np.shares_memory(got, x) == np.shares_memory(wanted, x)
        (found[0] if isinstance(found, tuple) else found)[...] = 0.0  # a later call is not changed


def test_results_that_are_one_array_stay_one():
    f = ad.compile(FUNCTIONS["twice"], wait=True)
    for _ in range(3):
        first, _, last = f(STACK)
        assert first is last
