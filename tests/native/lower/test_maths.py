"""Functions in native code: within 2 units in the last place of mpmath's values, and NumPy's at special values."""

import ctypes

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint.native.codegen.jit import compiled
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.kernels import INLINED, write
from adjoint.native.codegen.loops.loop_nest import Expression, Spec
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.lower import maths

EXACT = {
    "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1, "log": mp.log, "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10, "log1p": mp.log1p, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "arcsin": mp.asin,
    "arccos": mp.acos, "arctan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "erf": mp.erf,
    "erfc": mp.erfc, "ndtr": mp.ncdf, "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "power": mp.power,
    "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh,
    "hypot": mp.hypot, "arctan2": mp.atan2, "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
}  # fmt: skip
DOMAIN = {
    "exp": (-800, 800), "exp2": (-1200, 1200), "expm1": (-800, 800), "sinh": (-800, 800), "cosh": (-800, 800),
    "log": (0, np.inf), "log2": (0, np.inf), "log10": (0, np.inf), "log1p": (-1, np.inf), "arcsin": (-1, 1),
    "arccos": (-1, 1), "arccosh": (1, np.inf), "arctanh": (-1, 1), "erf": (-40, 40), "erfc": (-40, 40),
    "ndtr": (-40, 40),
}  # fmt: skip
TWO = ("power", "hypot", "arctan2", "logaddexp")


def natively(name, *xs, in_turn=()):
    key, count = key_of(xs[0].dtype), len(xs)
    out = np.empty_like(xs[0])
    reads = [Operand(i, key, (1,)) for i in range(count)]
    function = Expression(maths.FUNCTIONS[name], tuple(range(count)), name)
    stores = [(count, Operand(count, key, (1,)), None)]
    written = write(Spec(out.shape, reads, [function], stores, in_turn=frozenset(in_turn)), {})
    (kernel,) = compiled([written.function])
    block = np.array([x.ctypes.data for x in (*xs, out)])
    numbers = np.array([n for i in range(count + 1) for n in (i, 0)] + written.numbers)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)(block.ctypes.data, numbers.ctypes.data)
    return out


def largest_error(got, exact):
    """In units in the last place of the right value; infinite where a finite value is expected and none comes."""
    info, worst = np.finfo(got.dtype), 0.0
    for value, right in zip(got.tolist(), exact, strict=True):
        with np.errstate(over="ignore"):
            nearest = got.dtype.type(float(right))
        if np.isinf(nearest):
            if value != float(nearest):
                assert abs(right) < float(info.max) * (1 + 2.0 ** -(info.nmant - 1)), (value, right)
            continue
        assert np.isfinite(value), (value, right)
        worst = max(worst, float(abs(mp.mpf(value) - right) / float(np.spacing(abs(nearest)))))
    return worst


def everywhere(dtype, rng, n=120):
    """Numbers of all sizes, near 0, near 1, moderate ones, and the ends of the format."""
    info = np.finfo(dtype)
    sizes = rng.integers(info.minexp - info.nmant, info.maxexp, 3 * n)
    near_one = 1 + rng.normal(size=n) * 2.0 ** -rng.integers(1, info.nmant, n)
    found = [
        np.ldexp(rng.uniform(1, 2, 3 * n), sizes) * rng.choice([-1, 1], 3 * n), rng.normal(size=2 * n), near_one,
        -near_one, rng.normal(size=n) * 10, rng.uniform(-110, 110, n), rng.uniform(-760, 720, n),
        rng.uniform(-1, 1, n), rng.integers(-40, 40, n) * (np.pi / 4),
        np.array([info.tiny, info.smallest_subnormal, info.max, info.eps, 1.0, 0.5, 0.625, 0.84, 2.0]),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        together = np.concatenate(found).astype(dtype)
    return together[np.isfinite(together) & (together != 0)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(set(EXACT) - set(TWO)))
def test_within_two_units(name, dtype):
    low, high = DOMAIN.get(name, (-np.inf, np.inf))
    x = everywhere(dtype, np.random.default_rng(7))
    x = x[(x > low) & (x < high)]
    with mp.workprec(200):
        exact = [EXACT[name](mp.mpf(float(v))) for v in x]
        assert largest_error(natively(name, x), exact) <= 2


@pytest.mark.parametrize("name", sorted({*maths.NAMES} - {*TWO, "ndtr"}))
def test_single_precision_is_right_between_the_samples(name):
    low, high = DOMAIN.get(name, (-np.inf, np.inf))
    rng = np.random.default_rng(3)
    size = np.exp2(rng.uniform(-8, 6, 1 << 16)) * rng.choice([-1, 1], 1 << 16)
    x = np.concatenate([size, rng.uniform(-1, 1, 1 << 16), 1 + rng.normal(size=1 << 15) / 9]).astype(np.float32)
    x = x[(x > low) & (x < high)]
    exact = (getattr(np, name, None) or getattr(scipy.special, name))(x.astype(np.float64))
    units = np.abs(natively(name, x) - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert units.max() <= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(set(EXACT) - set(TWO)))
def test_numbers_one_after_another_and_many_have_the_same_bits(name, dtype):
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.78, -0.78, np.pi / 4, -np.pi / 4]
    x = np.concatenate([everywhere(dtype, np.random.default_rng(11)), np.array(special, dtype)])
    expected = natively(name, x)
    for found in (natively(name, x, in_turn=(0,)), natively(name, np.tile(x, INLINED // len(x) + 1))[: len(x)]):
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_angles(name, dtype):
    x = np.ldexp(np.random.default_rng(3).uniform(1, 2, 200), np.arange(200) % 100).astype(dtype)  # far: C's own
    with mp.workprec(1400):
        assert largest_error(natively(name, x), [EXACT[name](mp.mpf(float(v))) for v in x]) <= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers(dtype):
    rng = np.random.default_rng(5)
    x = np.concatenate([np.exp(rng.normal(size=200) * 5), 1 + rng.normal(size=200) * 1e-4, -rng.integers(1, 9, 50)])
    y = np.concatenate([rng.normal(size=200) * 20, rng.normal(size=200) * 1e5, rng.integers(-20, 20, 50)])
    x, y = x.astype(dtype), y.astype(dtype)
    with mp.workprec(200):
        exact = [mp.mpf(float(a)) ** mp.mpf(float(b)) for a, b in zip(x, y, strict=True)]
        assert largest_error(natively("power", x, y), exact) <= 2


def test_powers_in_single_precision_are_right_between_the_samples():
    rng = np.random.default_rng(3)
    x = np.concatenate([np.exp2(rng.uniform(-126, 127, 1 << 16)), rng.uniform(0.5, 2, 1 << 16)]).astype(np.float32)
    y = (rng.uniform(-126, 127, len(x)) / np.log2(x.astype(np.float64) + (x == 1))).astype(np.float32)
    exact = x.astype(np.float64) ** y.astype(np.float64)
    units = np.abs(natively("power", x, y) - exact) / np.spacing(exact.astype(np.float32))
    assert units.max() <= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TWO)
def test_pairs_one_after_another_and_many_have_the_same_bits(name, dtype):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 3, -3, 0.5, 1e30, 1e-30, -1e30], dtype)
    rng, pairs = np.random.default_rng(11), [a.ravel() for a in np.meshgrid(special, special)]
    x, y = (np.concatenate([p, rng.normal(size=200) * 3, np.abs(rng.normal(size=400))]).astype(dtype) for p in pairs)
    expected = natively(name, x, y)
    times = INLINED // len(x) + 1
    for found in (natively(name, x, y, in_turn=(0,)), natively(name, np.tile(x, times), np.tile(y, times))[: len(x)]):
        np.testing.assert_array_equal(found, expected)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["hypot", "arctan2"])
def test_two_arguments(name, dtype):
    rng = np.random.default_rng(5)
    x = np.ldexp(rng.normal(size=300), rng.integers(-100, 100, 300)).astype(dtype)
    y = np.ldexp(x * rng.normal(size=300), rng.integers(-20, 20, 300)).astype(dtype)
    with mp.workprec(200):
        exact = [EXACT[name](mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(x, y, strict=True)]
        assert largest_error(natively(name, x, y), exact) <= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", maths.NAMES)
def test_special_values_are_numpys(name, dtype):
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e30, 1e-30, -1e30, 1e18]
    x = np.array(special, dtype)
    xs = [a.ravel() for a in np.meshgrid(x, x)] if name in TWO else [x]
    if name in ("sin", "cos", "tan"):
        xs = [x[np.abs(np.nan_to_num(x)) < 1e20]]
    with np.errstate(all="ignore"):
        expected = getattr(np, name, None) or getattr(scipy.special, name)
        expected = expected(*xs)
    got = natively(name, *xs)
    np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(dtype).eps, atol=0)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_long_function_is_part_of_a_kernel_once(dtype):
    bases, exponents = np.array([0.9, 0.999, 2.5, 0.5], dtype), np.array([3.0, 7.0, -1.5, 0.25], dtype)

    def powers(*numbers):
        return tuple(a**b for a, b in zip(numbers[::2], numbers[1::2], strict=True))

    given = [x for pair in zip(bases, exponents, strict=True) for x in pair]
    together = ad.compile(powers, wait=True)
    alone = ad.compile(lambda a, b: a**b, wait=True)
    together(*given)
    for _ in range(2):
        got = together(*given)
        assert [x.dtype for x in got] == [np.dtype(dtype)] * 4
        assert [x.tobytes() for x in got] == [alone(a, b).tobytes() for a, b in zip(bases, exponents, strict=True)]
    number = "float" if dtype is np.float32 else "double"
    assert together.llvm.count(f"call {number} @adjoint.power") == 3
