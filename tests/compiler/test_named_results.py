"""Functions that give several results under names compile and are captured, as others do."""

import numpy as np
import pytest

import adjoint as ad

X = np.array([[2.0, 1.0], [0.5, 3.0]])
NAMED = {
    "qr": lambda x: np.linalg.qr(x).R,
    "svd": lambda x: np.linalg.svd(x).S,
    "eigh": lambda x: np.linalg.eigh(x + x.T).eigenvalues,
    "slogdet": lambda x: np.linalg.slogdet(x).logabsdet,
    "unique_counts": lambda x: np.unique_counts(x).counts,
    "unique_inverse": lambda x: np.unique_inverse(x).values * 2.0,
    "modf": lambda x: np.modf(x)[0],
    "modf of a number": lambda x: np.modf(np.sum(x))[1],
    "lstsq": lambda x: np.linalg.lstsq(x, x[0])[0],
}


@pytest.mark.parametrize("name", NAMED)
def test_named_results_are_recorded(name):
    f = NAMED[name]
    compiled = ad.compile(f, wait=True)
    for scale in (1.0, 2.0, 2.0):
        np.testing.assert_allclose(compiled(scale * X), f(scale * X), rtol=1e-12)
    assert "runs as it is" not in compiled.explain()
    np.testing.assert_allclose(ad.capture(f, X)(X), f(X), rtol=1e-12)
