"""The walk of the registry on real CuPy, where there is a GPU; what CuPy does not have, wherever it is installed."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.backend import backend_of
from adjoint.core.late import service
from adjoint.core.registry import ANSWERS, entries
from adjoint.testing import walk
from adjoint.testing.walk_backend import CHECKS, WITHOUT, check
from tests.backends.strict import LACKS

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


needs_gpu = pytest.mark.skipif(not has_device(), reason="no GPU that CuPy can use (pip install adjoint[cuda])")


def on_device(x):
    return cupy.asarray(x)


@pytest.mark.skipif(cupy is None, reason="CuPy is not installed (pip install adjoint[cuda])")
def test_the_stand_in_lacks_what_cupy_lacks():
    """CuPy's wheel can be imported without a GPU: what the stand-in refuses is what CuPy does not have."""
    entries()
    answered = [f for f in ANSWERS if hasattr(f, "_implementation") or f is getattr(np, f.__name__, None)]
    lacks = service("arrays of cupy").lacks
    named = {f"{getattr(f, '__module__', None) or 'numpy'}.{f.__name__}" for f in answered if lacks(f)}
    assert {name for name in named if name.startswith("numpy.")} == LACKS


@needs_gpu
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("entry", [e for e in walk() if e.name not in WITHOUT], ids=lambda e: e.name)
def test_on_a_gpu(entry):
    lacking = [f for f in entry.answers if backend_of(cupy.zeros(1)).lacks(f)]
    if lacking:
        pytest.skip(f"CuPy has no {lacking[0].__name__}")
    for what in CHECKS:
        check(entry, what, on_device)


@needs_gpu
def test_gradients_stay_on_the_device():
    x = cupy.asarray([1.0, 2.0])
    gradient = ad.grad(lambda x: np.sum(np.sin(x) ** 2))(x)
    assert isinstance(gradient, cupy.ndarray)
    np.testing.assert_allclose(gradient.get(), np.sin([2.0, 4.0]))
