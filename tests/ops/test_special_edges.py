"""SciPy's special functions where their derivatives take a limit, and where there is none."""

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.testing import check_grads, numerical_jacobian


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda m: special.ellipkinc(0.7, m), 0.0),
        (lambda m: special.ellipkinc(4.0, m), 0.0),
        (lambda m: special.ellipeinc(4.0, m), 0.0),
        (lambda phi: special.ellipkinc(phi, 0.3), 0.0),
        (lambda x: special.elliprc(x, 1.0), 1.0),
        (lambda x: special.elliprd(x, 1.5, 2.0), 2.0),
        (lambda y: special.elliprd(2.0, y, 2.0), 2.0),
        (lambda a: special.agm(a, 1.0), 1.0),
        (lambda lmbda: special.boxcox(2.0, lmbda), 0.0),
        (lambda lmbda: special.inv_boxcox(0.5, lmbda), 0.0),
        (lambda t: special.nctdtr(3.5, 0.7, t), 0.0),
        (special.bei, 0.0),
        (special.beip, 0.0),
        (lambda x: special.sici(x)[0], 0.0),
        (lambda x: special.shichi(x)[0], 0.0),
        (special.kolmogorov, 0.999999),
        (lambda x: special.eval_legendre(0, x), 0.3),
        (lambda x: special.eval_hermite(0, x), 0.3),
        (lambda x: special.eval_gegenbauer(1, 0.5, x), 1.0),
    ],
)
def test_slopes_at_limits(f, x):
    h = 1e-4
    difference = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
    assert ad.grad(f)(x) == pytest.approx(difference, rel=1e-7, abs=1e-9)


def test_the_modified_fresnel_integrals_are_differentiable_below_0():
    slope = ad.grad(lambda x: np.real(special.modfresnelp(x)[0]))(-0.7)
    assert slope == pytest.approx(-np.cos(0.49))


@pytest.mark.parametrize("f", [special.ive, special.jve, special.yve])
def test_scaled_bessel_functions_have_no_complex_derivative(f):
    z = ad.tensor(1.0 + 0.5j, requires_grad=True)
    with pytest.raises(ad.DTypeError, match="real numbers only"):
        np.abs(f(1.5, z)).backward()


def test_scaled_airy_functions_have_no_complex_derivative():
    z = ad.tensor(1.0 + 0.5j, requires_grad=True)
    with pytest.raises(ad.DTypeError, match="real numbers only"):
        np.abs(special.airye(z)[0]).backward()


def test_mathieu_functions_of_float32_are_numbers():
    """SciPy's own are nan."""
    y, slope = special.mathieu_cem(2, 1.5, ad.tensor(20.0, dtype=np.float32))
    assert y.dtype == slope.dtype == np.float32
    np.testing.assert_allclose([y.item(), slope.item()], special.mathieu_cem(2, 1.5, 20.0), rtol=1e-6)


def test_several_results_share_a_gradient():
    x = ad.tensor(0.7, requires_grad=True)
    s, c = special.fresnel(x)
    (s * c).backward()
    s, c = special.fresnel(0.7)
    angle = np.pi / 2 * 0.49
    np.testing.assert_allclose(x.grad.item(), c * np.sin(angle) + s * np.cos(angle))


def test_a_jacobian_of_all_results_agrees_with_differences():
    f = lambda x: np.stack(special.kelvin(x)).real
    x = np.array([0.7, 1.9])
    np.testing.assert_allclose(ad.jacobian(f)(x), numerical_jacobian(f, x), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("name", ["bdtr", "bdtrc", "nbdtr", "nbdtrc", "kn", "yn"])
def test_counts_and_orders_are_cut_as_scipy_cuts_them(name):
    f, x = getattr(special, name), np.array([0.3, 0.6])
    counts = (2.7,) if name in ("kn", "yn") else (2.7, 6)
    whole = (2,) if name in ("kn", "yn") else (2, 6)
    np.testing.assert_array_equal(ad.grad(lambda x: f(*counts, x).sum())(x), ad.grad(lambda x: f(*whole, x).sum())(x))


def test_the_second_derivative_of_a_complex_gamma_function_is_refused():
    z = ad.tensor([0.7 + 0.4j], requires_grad=True)
    with pytest.raises(ad.DTypeError, match="digamma has a derivative for real numbers only"):
        special.digamma(z)
    check_grads(special.loggamma, (np.array([0.7 + 0.4j, -1.3 + 0.2j]),), order=1)


@pytest.mark.parametrize("f", [special.hyp0f1, special.hyp1f1, special.hyp2f1])
def test_hypergeometric_functions_at_their_poles_raise_no_error_of_pythons(f):
    orders = (0.5,) * (f.nin - 2) + (0.0,)
    with np.errstate(all="ignore"):
        assert not np.isfinite(ad.grad(lambda x: f(*orders, x))(0.3))
