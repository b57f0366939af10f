"""Derivatives of distribution functions by their shapes: numbers from 50 digits, both tails, all orders and modes."""

import warnings

import numpy as np
import pytest
import scipy.stats
from scipy import special

import adjoint as ad
from adjoint.ops.special.probability.by_shape import beta_by_shapes, gamma_by_shape
from tests.backends.strict import inside, strict

# A function, where, by which arguments one after another, and the derivative: differences of 50 digits.
GOLDEN = [
    ("gammainc", (0.001, 9.82166e-47), (0,), -94.82520356269019),
    ("gammainc", (0.001, 9.82166e-47), (0, 0), 9989.431976101188),
    ("gammainc", (0.5, 7.85398e-13), (0,), -2.790907287005545e-05),
    ("gammainc", (0.5, 7.85398e-13), (0, 0), 0.0007779816273874501),
    ("gammainc", (2.5, 1.49995), (0,), -0.2521708103487924),
    ("gammainc", (2.5, 1.49995), (0, 0), 0.1365602273041474),
    ("gammainc", (30.0, 5.77299), (0,), -1.6717643343824968e-12),
    ("gammainc", (30.0, 5.77299), (0, 0), 2.7625637562065547e-12),
    ("gammainc", (10000.0, 10025.0), (0,), -0.0038620888082768353),
    ("gammainc", (10000.0, 10025.0), (0, 0), -9.64325021295059e-06),
    ("gammainc", (2.5, 1.25), (0, 1), -0.14458185669324966),
    ("gammainc", (2.5, 1.25), (0, 0, 0), -0.031037652050447305),
    ("gammaincc", (0.001, 2.0), (0,), 0.04905334583936488),
    ("gammaincc", (0.001, 2.0), (0, 0), 0.15289776820824402),
    ("gammaincc", (3.0, 45.0), (0,), 8.806844060534594e-17),
    ("gammaincc", (3.0, 45.0), (0, 0), 2.4402579684779397e-16),
    ("gammaincc", (10000.0, 10700.0), (0,), 2.6168479069866627e-13),
    ("gammaincc", (10000.0, 10700.0), (0, 0), 1.7705386581188405e-14),
    ("betainc", (0.5, 0.5, 0.25), (0,), -0.6461318944389011),
    ("betainc", (0.5, 0.5, 0.25), (1,), 0.4307545962926007),
    ("betainc", (0.5, 0.5, 0.25), (0, 0), 1.4621636149762012),
    ("betainc", (0.5, 0.5, 0.25), (0, 1), -0.32791405236516186),
    ("betainc", (0.5, 0.5, 0.25), (1, 1), -0.537557006830585),
    ("betainc", (2.0, 3.0, 0.625), (0,), -0.11493227822971949),
    ("betainc", (2.0, 3.0, 0.625), (1,), 0.11574584133795947),
    ("betainc", (2.0, 3.0, 0.625), (0, 0), -0.0244431355027757),
    ("betainc", (2.0, 3.0, 0.625), (0, 1), 0.059363030583913116),
    ("betainc", (2.0, 3.0, 0.625), (1, 1), -0.08119977107416816),
    ("betainc", (0.001, 0.5, 0.75), (0,), -1.095360643290022),
    ("betainc", (0.001, 0.5, 0.75), (1,), 0.003573732742215015),
    ("betainc", (0.001, 0.5, 0.75), (0, 0), 3.2426297603242156),
    ("betainc", (0.001, 0.5, 0.75), (0, 1), 3.5631828080750148),
    ("betainc", (0.001, 0.5, 0.75), (1, 1), -0.01582885961776202),
    ("betainc", (8.0, 300.0, 0.0625), (0,), -0.0010351268501546601),
    ("betainc", (8.0, 300.0, 0.0625), (1,), 4.415928084290554e-05),
    ("betainc", (8.0, 300.0, 0.0625), (0, 0), -0.0009134366617538286),
    ("betainc", (8.0, 300.0, 0.0625), (0, 1), 4.144921204066806e-05),
    ("betainc", (8.0, 300.0, 0.0625), (1, 1), -1.8314422575948484e-06),
    ("betainc", (10000.0, 2.5, 0.9995), (0,), -2.8309409280979194e-05),
    ("betainc", (10000.0, 2.5, 0.9995), (1,), 0.08384518134240537),
    ("betainc", (10000.0, 2.5, 0.9995), (0, 0), 9.91215157297651e-09),
    ("betainc", (10000.0, 2.5, 0.9995), (0, 1), -2.5660533645870093e-05),
    ("betainc", (10000.0, 2.5, 0.9995), (1, 1), 0.05898958762351192),
    ("betainc", (30.0, 30.0, 0.125), (0,), -1.6221758000842388e-12),
    ("betainc", (30.0, 30.0, 0.125), (1,), 6.566814286316069e-13),
    ("betainc", (30.0, 30.0, 0.125), (0, 0), 2.2791901837809994e-12),
    ("betainc", (30.0, 30.0, 0.125), (0, 1), -9.10871754443577e-13),
    ("betainc", (30.0, 30.0, 0.125), (1, 1), 3.568932328633797e-13),
    ("betainc", (2.0, 3.0, 0.625), (0, 2), 0.6468711722798883),
    ("betainc", (2.0, 3.0, 0.625), (0, 0, 1), -0.016508401395929434),
    ("betaincc", (2.0, 3.0, 0.9990234375), (0,), 4.030047880884338e-09),
    ("betaincc", (2.0, 3.0, 0.9990234375), (1,), -2.487241918090018e-08),
    ("betaincc", (300.0, 8.0, 0.96875), (0,), 0.003175581783928484),
    ("betaincc", (300.0, 8.0, 0.96875), (1,), -0.11034174648993032),
    ("stdtr", (0.5, -3.0), (0,), -0.25872772673714384),
    ("stdtr", (0.5, -3.0), (0, 0), 0.5956325034710169),
    ("stdtr", (3.5, -1.25), (0,), -0.010073438917438102),
    ("stdtr", (3.5, -1.25), (0, 0), 0.005230672010808591),
    ("stdtr", (30.0, 2.5), (0,), 0.00010115451261221625),
    ("stdtr", (30.0, 2.5), (0, 0), -7.127818863498555e-06),
    ("stdtr", (1000.0, -4.0), (0,), -2.3928595747795975e-09),
    ("stdtr", (1000.0, -4.0), (0, 0), 4.905077517657216e-12),
    ("stdtr", (3.5, -1.25), (0, 1), 0.005435274691463347),
    ("fdtr", (3.0, 5.0, 1.25), (0,), -0.016182295958506815),
    ("fdtr", (3.0, 5.0, 1.25), (1,), 0.015049234485117342),
    ("fdtr", (3.0, 5.0, 1.25), (0, 1), 0.0015373961898010374),
    ("fdtr", (100.0, 7.0, 0.5), (0,), -0.00011240686985953059),
    ("fdtr", (100.0, 7.0, 0.5), (1,), -0.00927568750845683),
    ("fdtr", (100.0, 7.0, 0.5), (0, 1), -5.1286617946439236e-06),
    ("chdtr", (3.0, 2.5), (0,), -0.18362266411872388),
    ("gammaincinv", (2.5, 0.25), (0,), 0.7676643172163283),
    ("gammaincinv", (2.5, 0.25), (0, 0), 0.0549524623659462),
    ("betaincinv", (2.0, 3.0, 0.75), (0,), 0.12387870420781641),
    ("betaincinv", (2.0, 3.0, 0.75), (0, 1), 0.002518434768629764),
    ("stdtrit", (3.5, 0.125), (0,), 0.0760779467461411),
    ("fdtri", (3.0, 5.0, 0.75), (1,), -0.12370005321059305),
]


def derivative(f, indices):
    for i in indices:
        f = ad.grad(f, argnums=i)
    return f


@pytest.mark.parametrize(("name", "point", "indices", "wanted"), GOLDEN, ids=str)
def test_derivatives_of_all_orders(name, point, indices, wanted):
    found = derivative(getattr(special, name), indices)(*point)
    assert found == pytest.approx(wanted, rel=1e-11 if len(indices) == 1 else 1e-9, abs=0)


@pytest.mark.parametrize(
    ("f", "point"),
    [
        (special.chdtriv, (0.4, 2.0)),
        (special.gdtrib, (1.2, 0.4, 1.5)),
        (special.pdtrik, (0.4, 3.0)),
        (special.btdtria, (0.4, 2.0, 0.3)),
        (special.btdtrib, (2.0, 0.4, 0.3)),
        (special.fdtridfd, (3.0, 0.55, 1.0)),
        (special.stdtridf, (0.81, 0.97)),
        (special.bdtrik, (0.6, 7.0, 0.45)),
        (special.bdtrin, (2.5, 0.4, 0.45)),
        (special.nbdtrik, (0.6, 7.0, 0.45)),
        (special.nbdtrin, (2.5, 0.4, 0.45)),
        (special.gdtr, (1.5, 2.5, 0.75)),
        (special.gdtrix, (1.5, 2.5, 0.75)),
        (special.chdtri, (3.0, 0.25)),
        (special.betainccinv, (2.0, 3.0, 0.25)),
        (special.gammainccinv, (2.0, 0.25)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_inverses_and_what_solves_for_a_shape(f, point):
    h = 2e-4
    for i in range(len(point)):
        at = {k: f(*(x + k * h * (j == i) for j, x in enumerate(point))) for k in (-2, -1, 1, 2)}
        wanted = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        assert ad.grad(f, argnums=i)(*point) == pytest.approx(wanted, rel=1e-6)


def test_where_the_variable_ends_and_where_the_shape_is_zero():
    with warnings.catch_warnings(action="error"):
        for x in (0.0, np.inf):
            assert ad.grad(special.gammainc)(2.5, x) == ad.grad(ad.grad(special.gammaincc))(2.5, x) == 0
        for x in (0.0, 1.0):
            assert ad.grad(special.betainc, argnums=0)(2.5, 0.5, x) == 0
            assert ad.grad(ad.grad(special.betainc, argnums=1), argnums=0)(2.5, 0.5, x) == 0
        assert ad.grad(special.gammaincc)(0.0, 2.0) == pytest.approx(special.exp1(2.0), rel=1e-14)
        assert ad.grad(special.gammaincinv)(2.5, 0.0) == 0
        assert ad.grad(special.stdtr)(np.inf, 1.0) == 0
        assert ad.grad(special.stdtr)(3.0, 0.0) == 0
        for given in ((-1.0, 2.0), (np.nan, 2.0), (1.0, np.nan), (1.0, -2.0)):
            assert np.isnan(ad.grad(special.gammainc)(*given))
            assert np.isnan(ad.grad(special.betainc)(given[0], 2.0, given[1]))
        # By the shape first, and at the end of the support then: of x^a / gamma(a + 1).
        assert ad.grad(ad.grad(special.gammainc), argnums=1)(1.5, 0.0) == 0
        assert ad.grad(ad.grad(special.gammainc), argnums=1)(0.5, 0.0) == -np.inf
        slope = ad.grad(ad.grad(special.stdtr), argnums=1)(3.0, 0.0)
        assert slope == pytest.approx(ad.grad(lambda df: scipy.stats.t.pdf(0.0, df))(3.0), rel=1e-13)


def test_modes_agree():
    a, b, x = np.array([0.3, 2.0, 40.0]), np.array([1.5, 0.2, 9.0]), np.array([[0.1], [0.6]])

    def f(a, b):
        return np.sum(special.betainc(a, b, x) + special.gammainc(a, b) ** 2)

    slopes = ad.grad(f, argnums=(0, 1))(a, b)
    compiled = ad.compile(ad.grad(f, argnums=(0, 1)), wait=True)
    for _ in range(2):
        for found, wanted in zip(compiled(a, b), slopes, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
    _, tangent = ad.jvp(f, (a, b), (np.ones(3), np.zeros(3)))
    assert tangent == pytest.approx(np.sum(slopes[0]), rel=1e-13)
    rows = ad.vmap(lambda p: ad.grad(lambda a: special.gammainc(a, 2.0))(p))(a)
    np.testing.assert_array_equal(rows, [ad.grad(special.gammainc)(p, 2.0) for p in a])
    bent = ad.hessian(lambda a: f(a, b))(a)
    forward = ad.jacfwd(ad.grad(lambda a: f(a, b)))(a)
    np.testing.assert_allclose(bent, forward, rtol=1e-12)
    assert np.count_nonzero(bent - np.diag(np.diag(bent))) == 0


def test_kinds_and_shapes_of_arrays():
    single = np.linspace(0.5, 9, 7, dtype=np.float32)
    slope = ad.grad(lambda a: np.sum(special.gammainc(a, np.float32(2.0))))(single)
    assert slope.dtype == np.float32
    double = ad.grad(lambda a: np.sum(special.gammainc(a, 2.0)))(single.astype(float))
    np.testing.assert_allclose(slope, double, rtol=1e-5)
    assert ad.grad(lambda a: np.sum(special.betainc(a, 2.0, np.zeros((0, 3)))))(np.ones(3)).tolist() == [0.0] * 3
    assert isinstance(ad.grad(special.gammainc)(2.0, 1.0), np.float64)
    many = np.linspace(0.01, 60, 700)  # more than are computed at a time
    for f in (lambda a: gamma_by_shape(a, 3.0), lambda a: beta_by_shapes(a, 2.0, 1.5, by_a=1, by_b=1)):
        np.testing.assert_array_equal(f(many), [f(a) for a in many])


def test_the_integrals_on_a_device():
    a, b, x = np.array([0.0, 0.3, 9.0, 2.0]), np.array([1.0, 20.0, 0.5, 3.0]), np.array([2.0, 0.1, np.inf, 0.0])
    for f, given in ((gamma_by_shape, (a, x)), (beta_by_shapes, (a, b, x))):
        np.testing.assert_allclose(inside(f(*map(strict, given))), f(*given), rtol=1e-13)


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "ppf", "isf"])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("gamma", (2.5,)),
        ("invgamma", (2.5,)),
        ("gengamma", (2.0, 1.5)),
        ("chi", (3.0,)),
        ("chi2", (3.0,)),
        ("nakagami", (1.3,)),
        ("loggamma", (1.4,)),
        ("dgamma", (1.4,)),
        ("gennorm", (1.4,)),
        ("pearson3", (0.7,)),
        ("beta", (2.0, 3.0)),
        ("betaprime", (2.0, 3.0)),
        ("jf_skew_t", (2.0, 3.0)),
        ("rdist", (2.5,)),
        ("t", (3.5,)),
        ("f", (3.0, 5.0)),
    ],
)
def test_scipys_distributions(name, shapes, method):
    """Those that asked for such a derivative, and were refused."""
    f, h = getattr(getattr(scipy.stats, name), method), 1e-4
    x = 0.3 if method in ("ppf", "isf") else float(getattr(scipy.stats, name).ppf(0.4, *shapes))
    for i, shape in enumerate(shapes):

        def of(s, i=i):
            return f(x, *shapes[:i], s, *shapes[i + 1 :])

        wanted = (8 * (of(shape + h) - of(shape - h)) - (of(shape + 2 * h) - of(shape - 2 * h))) / (12 * h)
        assert ad.grad(of)(shape) == pytest.approx(float(wanted), rel=1e-6, abs=1e-9)
