"""`adjoint.scipy.fftpack`: SciPy's values and dtypes, transposes that fit, and programs that call SciPy's own."""

import numpy as np
import pytest
from scipy import fftpack as theirs

import adjoint as ad
from adjoint.scipy import fftpack

SERIES = [np.cos(np.arange(n) ** 1.5) + 0.2 for n in (5, 6)]
ROWS = np.sin(np.arange(24.0)).reshape(4, 6)

CALLS = {
    "fft": [{}, {"n": 8}, {"n": 3}], "ifft": [{}, {"n": 7}], "rfft": [{}, {"n": 8}, {"n": 7}, {"n": 3}],
    "irfft": [{}, {"n": 8}, {"n": 9}, {"n": 3}, {"n": 4}],
    "dct": [{}, {"type": 1}, {"type": 3, "norm": "ortho"}, {"n": 8}], "idct": [{}, {"type": 4}, {"norm": "ortho"}],
    "dst": [{}, {"type": 1}, {"n": 3}], "idst": [{}, {"type": 3}, {"norm": "ortho"}],
    "diff": [{}, {"order": 2}, {"order": -1}, {"order": 3, "period": 2.0}, {"order": 0}],
    "hilbert": [{}], "ihilbert": [{}], "tilbert": [{"h": 0.3}, {"h": 0.3, "period": 4.0}],
    "itilbert": [{"h": 0.3}], "shift": [{"a": 0.3}, {"a": 0.3, "period": 2.0}],
}  # fmt: skip
PLANES = {
    "fft2": [{}, {"shape": (3, 4)}], "ifft2": [{}], "fftn": [{}, {"axes": (0,)}, {"shape": (3, 3)}], "ifftn": [{}],
    "dctn": [{}, {"type": 3, "axes": (1,)}], "idctn": [{}, {"shape": (3, 4)}], "dstn": [{}], "idstn": [{"type": 1}],
    "rfft": [{"axis": 0}, {}], "irfft": [{"axis": 0, "n": 5}, {}], "fft": [{"axis": 0}], "dct": [{"axis": 0}],
}  # fmt: skip
CASES = [
    pytest.param(name, x, options, id=f"{name}-{x.shape}-{options}")
    for calls, inputs in ((CALLS, SERIES), (PLANES, [ROWS]))
    for name, every in calls.items()
    for x in inputs
    for options in every
]


@pytest.mark.parametrize(("name", "x", "options"), CASES)
def test_values_and_dtypes_are_scipys(name, x, options):
    dtypes = [np.float64] if name == "irfft" or options == {"order": 0} else [np.float64, np.float32, np.int64]
    dtypes += [np.complex128] * (name in ("fft", "ifft", "fftn", "diff", "hilbert", "shift", "tilbert"))
    for dtype in dtypes:
        given = (3.0 * x).astype(dtype) * (1.0 + 0.5j if dtype is np.complex128 else 1)
        given = given.astype(dtype)
        ours, wanted = getattr(fftpack, name)(given, **options), getattr(theirs, name)(given, **options)
        assert (ours.dtype, ours.shape) == (wanted.dtype, wanted.shape)
        close = 1e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(ours, wanted, rtol=close, atol=close)


@pytest.mark.parametrize(("name", "x", "options"), CASES)
def test_scipys_own_functions_are_differentiated(name, x, options):
    f = lambda v: np.real(getattr(theirs, name)(v, **options))
    out, back = ad.vjp(f, x)
    v, g = np.cos(np.arange(x.size)).reshape(x.shape), np.sin(np.arange(out.size) + 0.5).reshape(out.shape)
    assert np.sum(back(g)[0] * v) == pytest.approx(np.sum(f(v) * g), rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(ad.jvp(f, (x,), (v,))[1], f(v), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, v])), [f(x), f(v)], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["shift", "tilbert", "itilbert"])
def test_parameters_have_derivatives(name):
    f = lambda h: getattr(theirs, name)(SERIES[1], h)
    wanted = (f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(ad.jvp(f, (0.3,), (1.0,))[1], wanted, rtol=1e-7, atol=1e-8)


def test_shapes_without_axes_are_for_all_axes():
    with pytest.raises(ad.ArgumentError, match="same length"):
        ad.grad(lambda x: np.abs(theirs.fftn(x, (2,))).sum())(ROWS)
