"""Where the registry's samples do not go: negative bases, other branches, exponents of two, dtypes."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

Z = np.array([0.7 + 0.4j, -1.3 + 0.8j, -0.4 - 1.1j, 1.9 - 0.3j])


@pytest.mark.parametrize("f", [np.arccosh, np.arcsinh, np.arctanh, np.arccos, np.arcsin, np.arctan])
def test_inverse_functions_in_all_quadrants(f):
    check_grads(f, (Z,), order=2)


@pytest.mark.parametrize("power", [np.power, np.float_power])
def test_a_negative_base_with_a_complex_exponent(power):
    base = np.array([-1.5, 0.7, -0.2, 2.0])
    check_grads(lambda z: power(base, z), (Z,))
    check_grads(power, (base, Z))


def test_frexp():
    x = np.array([0.75, -5.0, 96.0, 1e-3])
    mantissa, exponent = np.frexp(ad.tensor(x, requires_grad=True))
    np.testing.assert_array_equal(mantissa.detach(), np.frexp(x)[0])
    np.testing.assert_array_equal(exponent, np.frexp(x)[1])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(np.frexp(x)[0]))(x), 2.0 ** -np.frexp(x)[1])
    for special in ([np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324],):
        np.testing.assert_array_equal(np.frexp(ad.tensor(special))[0], np.frexp(special)[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_determinants_keep_their_dtype(dtype):
    a = np.array([[1, 2], [3, 4]], dtype)
    t = ad.tensor(a, requires_grad=True)
    assert np.linalg.det(t).dtype == np.linalg.det(a).dtype
    assert np.linalg.slogdet(t).sign.dtype == np.linalg.slogdet(a).sign.dtype
    np.testing.assert_allclose(np.linalg.det(t).detach(), np.linalg.det(a), rtol=1e-6)


def test_a_complex_result_does_not_go_into_a_real_array():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ad.DTypeError, match="float64 cannot hold a complex result"):
        np.fft.fft(x, out=np.zeros_like(x))


MODES = {
    "reverse": lambda f, x: ad.vjp(f, x)[0],
    "forward": lambda f, x: ad.jvp(f, (x,), (np.ones_like(x),))[0],
    "batched": lambda f, x: ad.vmap(f)(x),
    "compiled": lambda f, x: [ad.compile(f, wait=True, backend="numpy")(x) for _ in range(2)][1],
    "watched": lambda f, x: watched(f, x),
}


def watched(f, x):
    with ad.detect_anomaly():
        return f(ad.tensor(x, requires_grad=x.dtype.kind in "fc")).numpy()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("exponent", [2, -1, 0.5, 0, 1, 3, 2.0, -1.0])
@pytest.mark.parametrize("dtype", [complex, np.complex64, np.float32, bool])
def test_the_operator_of_powers_gives_numpys_bits(dtype, exponent, mode):
    """NumPy squares, inverts and roots where `np.power` would give other bits, or another dtype."""
    x = np.tile(Z, 50).astype(dtype) if dtype is not np.float32 else np.abs(np.tile(Z, 50)).astype(dtype)
    if dtype is bool and (mode in ("reverse", "forward") or (isinstance(exponent, int) and exponent < 0)):
        return
    wanted, found = x**exponent, np.asarray(MODES[mode](lambda z: z**exponent, x))
    assert found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes()


def test_a_power_in_place_gives_numpys_bits():
    z, t = np.tile(Z, 50), ad.tensor(np.tile(Z, 50))
    z **= 2
    t **= 2
    assert t.numpy().tobytes() == z.tobytes()


BESIDE = {
    "left": lambda x: 1j * x,
    "right": lambda x: x * 1j,
    "over": lambda x: 1j / x,
    "power": lambda x: (2 + 1j) ** x,
    "under": lambda x: x / 2j,
}


@pytest.mark.parametrize("where", BESIDE)
@pytest.mark.parametrize("x", [0.7, np.float64(0.7), np.array(0.7), np.complex128(0.7 - 0.2j)], ids=repr)
def test_pythons_complex_numbers_beside_single_numbers(where, x):
    """Python answers with numbers of its own, which have no dtype."""
    f = BESIDE[where]
    assert ad.jvp(f, (x,), (np.ones_like(x)[()],))[0] == pytest.approx(f(x), rel=1e-14)
    for part in (np.real, np.imag, np.abs):
        ad.testing.check_grads(lambda x: part(f(x)), x)
