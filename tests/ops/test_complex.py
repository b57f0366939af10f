"""Complex numbers: the gradient is the direction of steepest ascent."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

Z = np.array([3.0 + 4.0j])


def pulled(f, z):
    value, pullback = ad.vjp(f, z)
    return pullback(np.ones_like(value))[0].tolist()


@pytest.mark.parametrize(
    ("f", "z", "gradient"),
    [
        (np.abs, Z, [0.6 + 0.8j]),
        (np.abs, 0 * Z, [0j]),
        (np.real, Z, [1 + 0j]),
        (np.imag, Z, [1j]),
        (np.angle, 0 * Z, [0j]),
        (np.angle, Z, [(-4 + 3j) / 25]),
        (lambda z: np.real(np.conj(z) * 1j), Z, [1j]),
        (lambda z: np.abs(z) ** 2, Z, [6 + 8j]),
    ],
)
def test_gradients_of_parts(f, z, gradient):
    np.testing.assert_allclose(pulled(f, z), gradient, atol=1e-15)


def test_descent_along_the_gradient_descends():
    target = 2.0 - 1.0j
    z = 0.3 + 0.1j
    for _ in range(200):
        z = z - 0.1 * ad.grad(lambda z: np.abs(z * 1j - target) ** 2)(z)
    assert abs(z * 1j - target) < 1e-8


def test_the_imaginary_part_of_real_numbers_is_flat():
    t = ad.tensor([1.0, 2.0], requires_grad=True)
    np.sum(np.imag(t * 1.0)).backward()
    assert t.grad.tolist() == [0.0, 0.0]


def test_second_derivative_through_an_absolute_value():
    # |z| has the Hessian (I - d d^T) / |z| with d the direction of z.
    f = lambda z: np.real(ad.grad(np.abs)(z))
    np.testing.assert_allclose(ad.grad(f)(3.0 + 4.0j), (0.64 - 0.48j) / 5)


@pytest.mark.parametrize(
    ("z", "kept"), [(np.array([1.0 + 1e-16j]), False), (np.array([1.0 + 1e-3j]), True), (np.array([1.0]), False)]
)
def test_real_if_close_drops_only_what_rounding_left(z, kept):
    assert np.iscomplexobj(np.real_if_close(ad.tensor(z, requires_grad=True))) == kept


def test_nan_to_num_gives_what_it_replaces_no_gradient():
    x = np.array([np.nan, np.inf, -np.inf, 2.0])
    value, pullback = ad.vjp(np.nan_to_num, x)
    assert np.array_equal(value, np.nan_to_num(x))
    assert pullback(np.ones(4))[0].tolist() == [0.0, 0.0, 0.0, 1.0]


def replaced(x):
    y = x * 1.0
    part = y[1:]
    found = np.nan_to_num(part, copy=False, nan=5.0, posinf=7.0)
    found *= 2.0
    return y, found, np.nan_to_num(y, False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
def test_nan_to_num_writes_into_its_argument(dtype):
    x = np.array([np.nan, 1.5, np.nan, np.inf, -2.0]).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = replaced(x)
        for found in (replaced(ad.tensor(x)), ad.compile(replaced)(x), ad.capture(replaced, x)(x)):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)
        for a, b in zip(ad.vmap(replaced)(np.stack([x, x])), wanted, strict=True):
            np.testing.assert_array_equal(a, np.stack([b, b]))
    if dtype == np.float64:
        f = lambda x: sum(np.sum(part * np.arange(1, part.size + 1)) for part in replaced(x))
        gradient = [0.0, 2.0 * (2 + 1 + 2), 0.0, 0.0, 2.0 * (5 + 4 + 5)]
        for transformed in (ad.grad(f), ad.compile(ad.grad(f)), lambda x: ad.jacfwd(f)(x)):
            np.testing.assert_array_equal(transformed(x), gradient)


def test_nan_to_num_of_what_cannot_be_written():
    with pytest.raises(ad.InPlaceError, match="leaf"):
        np.nan_to_num(ad.tensor([1.0], requires_grad=True), copy=False)
    whole = ad.tensor([1, 2])
    assert np.nan_to_num(whole, copy=False) is whole
    assert np.nan_to_num(ad.tensor(np.nan), copy=False).item() == 0.0


@pytest.mark.parametrize("f", [np.round, np.around, np.fix, lambda x: np.floor(x) + np.round(x), lambda x: round(x)])
def test_rounding_is_flat_even_at_its_jumps(f):
    assert pulled(f, np.array([1.5, 2.0])) == [0.0, 0.0]


def test_modf_and_divmod_give_two_results():
    x = np.array([2.5, -1.25, np.inf])
    for ours, numpys in zip(np.modf(ad.tensor(x, requires_grad=True)), np.modf(x), strict=True):
        assert ours.tolist() == numpys.tolist()
    quotient, rest = np.divmod(ad.tensor([7.5], requires_grad=True), 2.0)
    assert (quotient.tolist(), rest.tolist()) == ([3.0], [1.5])


def test_what_stands_for_nan_is_cast_to_the_array_s_dtype():
    x = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)
    given = {"nan": np.float64(1.5), "posinf": np.int64(3), "neginf": np.float64(-2.0)}
    found = np.nan_to_num(ad.tensor(x, requires_grad=True), **given)
    np.testing.assert_array_equal(found.numpy(), np.nan_to_num(x, **given), strict=True)
    with pytest.raises(TypeError, match="Cannot cast"):
        np.nan_to_num(ad.tensor(x, requires_grad=True), neginf=object())


def test_powers_in_columns_keep_the_signs_of_zeros():
    x = np.array([0.5 + 0.5j, complex(0.25, -0.0), -0.0])
    for n in (None, 1, 2, 4):
        for increasing in (False, True):
            plain, own = np.vander(x, n, increasing), np.vander(ad.tensor(x), n, increasing=increasing).numpy()
            assert own.tobytes() == plain.tobytes()
