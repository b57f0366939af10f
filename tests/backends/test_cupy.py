"""The walk of the registry on real CuPy, where there is a GPU."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.backend import backend_of
from adjoint.testing import walk
from adjoint.testing.walk_backend import CHECKS, WITHOUT, check

try:
    import cupy
except ImportError:
    cupy = None


def has_device():
    if cupy is None:
        return False
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


pytestmark = pytest.mark.skipif(not has_device(), reason="no GPU that CuPy can use (pip install adjoint[cuda])")


def on_device(x):
    return cupy.asarray(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("entry", [e for e in walk() if e.name not in WITHOUT], ids=lambda e: e.name)
def test_on_a_gpu(entry):
    lacking = [f for f in entry.answers if backend_of(cupy.zeros(1)).lacks(f)]
    if lacking:
        pytest.skip(f"CuPy has no {lacking[0].__name__}")
    for what in CHECKS:
        check(entry, what, on_device)


def test_gradients_stay_on_the_device():
    x = cupy.asarray([1.0, 2.0])
    gradient = ad.grad(lambda x: np.sum(np.sin(x) ** 2))(x)
    assert isinstance(gradient, cupy.ndarray)
    np.testing.assert_allclose(gradient.get(), np.sin([2.0, 4.0]))
