"""Which of two zeros `np.clip`, `np.maximum` and `np.minimum` give: NumPy's, in every mode."""

import itertools

import numpy as np
import pytest

import adjoint as ad

NUMBERS = np.array([0.0, -0.0, 1.0, -1.0, np.nan])
BOUNDS = [None, 0.0, -0.0, 0, np.nan, "array", "number", "one"]


def same_bits(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def bound(kind, n, dtype, rng):
    shape = {"array": n, "number": (), "one": 1}.get(kind) if isinstance(kind, str) else None
    return kind if shape is None else np.asarray(rng.choice(NUMBERS[:2], shape), dtype)


def cases(dtype):
    rng = np.random.default_rng(0)
    for n, low, high in itertools.product((1, 2, 17), BOUNDS, BOUNDS):
        if low is not None or high is not None:
            yield rng.choice(NUMBERS, n).astype(dtype), bound(low, n, dtype, rng), bound(high, n, dtype, rng)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_every_mode_gives_numpys_zero(dtype):
    for x, low, high in cases(dtype):
        expected = np.clip(x, low, high)
        found = {
            "tensor": np.clip(ad.tensor(x), low, high).numpy(),
            "bounds": ad.jvp(lambda x, *b: np.clip(x, *b), (x, low, high), (x, low, high))[0]
            if isinstance(low, np.ndarray) and isinstance(high, np.ndarray)
            else expected,
            "jvp": ad.jvp(lambda x, low=low, high=high: np.clip(x, low, high), (x,), (x,))[0],
            "vmap": ad.vmap(lambda x, low=low, high=high: np.clip(x, low, high))(np.stack([x, x]))[1],
            "graph": ad.capture(lambda x, low=low, high=high: np.clip(x, low, high), x)(x),
        }
        for mode, value in found.items():
            assert same_bits(value, expected), (mode, x, low, high)


def test_bounds_that_differ_between_samples():
    x, low, high = np.zeros((3, 4)), np.full(3, -0.0), np.ones(3)
    found = ad.vmap(np.clip)(x, low, high)
    assert same_bits(found, np.stack([np.clip(*one) for one in zip(x, low, high, strict=True)]))
    found = ad.vmap(np.clip)(x[:, 0], low, high)
    assert same_bits(found, np.array([np.clip(*one) for one in zip(x[:, 0], low, high, strict=True)]))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_compiled_code_gives_numpys_zero(dtype):
    rng = np.random.default_rng(1)
    for low, high in itertools.product((None, -0.0, "array"), repeat=2):
        if low is None and high is None:
            continue
        given = bound(low, 5, dtype, rng), bound(high, 5, dtype, rng)
        fixed = ad.compile(lambda x, given=given: np.clip(x, *given) * 1.0, wait=True)
        free = ad.compile(lambda x, low, high: np.clip(x, low, high) * 1.0, wait=True)
        for _ in range(3):
            x = rng.choice(NUMBERS, 5).astype(dtype)
            assert same_bits(fixed(x), np.clip(x, *given) * 1.0), (low, high, x)
            assert same_bits(free(x, *given), np.clip(x, *given) * 1.0), (low, high, x)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_half_precision_gives_the_first_zero(name):
    function = getattr(np, name)
    compiled = ad.compile(lambda x, y: function(x, y) * 1.0, wait=True)
    x, y = (a.astype("f2").ravel() for a in np.meshgrid(NUMBERS, NUMBERS))
    for _ in range(3):
        assert same_bits(compiled(x, y), function(x, y) * 1.0)


def test_gradients_at_the_bounds_are_as_before():
    x = np.array([-1.0, 0.0, -0.0, 0.5, 1.0, 2.0])
    for low, high in ((0.0, 1.0), (np.zeros(6), np.ones(6)), (0, None), (None, 1.0), (np.zeros(()), 1)):
        slope = ad.grad(lambda x, low=low, high=high: np.sum(np.clip(x, low, high)))(x)
        inside = (x >= (-np.inf if low is None else low)) & (x <= (np.inf if high is None else high))
        assert np.array_equal(slope, inside.astype(float))


@pytest.mark.parametrize("bounds", [(7, np.inf), (-np.inf, np.inf), (-np.inf, 1), (None, np.inf), (7, None)])
def test_infinite_bounds_of_complex_numbers_bound_them(bounds):
    parts = (np.inf, -np.inf, np.nan, 7.0, 9.0, -2.0)
    z = np.array([complex(a, b) for a, b in itertools.product(parts, repeat=2)])
    compiled = ad.compile(lambda z: np.clip(z, *bounds), wait=True)
    for found in (
        np.clip(ad.tensor(z), *bounds).numpy(),
        ad.vmap(lambda z: np.clip(z, *bounds))(z),
        *map(compiled, [z, z]),
    ):
        np.testing.assert_array_equal(found, np.clip(z, *bounds))
