"""SciPy's special functions outside of where they are defined, and where they are constant.

A derivative there is nan or 0, as the function's values say; a formula that goes on beyond the domain is no derivative.
"""

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.core.registry import answer

PLACES = np.array([-50.0, -10, -3.7, -2.5, -1.5, -1, -0.7, -0.3, 0, 0.25, 0.6, 0.99, 1, 1.5, 2.5, 3.7, 10, 50])
# Spheroidal and Mathieu functions: SciPy's values are noise (and memory is damaged) far outside of their domains. Of
# the others, `log1p` is NumPy's own, and a Jacobi polynomial of such a degree has an infinite factor.
LEFT_OUT = ("obl_", "pro_", "mathieu_", "log1p", "eval_sh_jacobi")
UFUNCS = [n for n in dir(special) if isinstance(getattr(special, n), np.ufunc) and not n.startswith(LEFT_OUT)]
UFUNCS = [n for n in UFUNCS if answer(getattr(special, n)) is not None and getattr(special, n).nout == 1]
UFUNCS = [n for n in UFUNCS if "d" * getattr(special, n).nin + "->d" in getattr(special, n).types]


def slope(f, args, k):
    t = ad.tensor(args[k], requires_grad=True)
    out = f(*args[:k], t, *args[k + 1 :])
    if not isinstance(out, ad.Tensor):  # a sign, which is a constant
        return 0.0
    out.backward()
    return t.grad.item()


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.filterwarnings("ignore")
def test_where_it_is_nan_or_constant(name):
    f, rng = getattr(special, name), np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for args in rng.choice(PLACES, (80, f.nin)) if f.nin > 1 else PLACES[:, None]:
            value = f(*args)
            for k in range(f.nin):
                try:
                    found = slope(f, list(args), k)
                except ad.AdjointError:
                    continue
                if np.isnan(value):
                    assert np.isnan(found) or found == 0, (args, k, found)
                near = [f(*args[:k], args[k] + h, *args[k + 1 :]) for h in (-1e-3, -1e-5, 1e-5, 1e-3)]
                if np.isfinite(value) and all(v == value for v in near):
                    assert np.isnan(found) or abs(found) <= 1e-10 * max(1.0, abs(value)), (args, k, found)


LMBDA = [-0.7, 0.5, 1.0, 1.5, 2.0, 3.7]


@pytest.mark.parametrize("lmbda", LMBDA)
def test_tukeys_distribution_and_its_support(lmbda):
    end = 1 / lmbda if lmbda > 0 else 4.0
    for x in (-3.0 * end, -1.01 * end, -0.6 * end, 0.1 * end, 0.7 * end, 1.01 * end, 2.0 * end, 50.0):
        args = (np.float64(x), np.float64(lmbda))
        for k, h in ((0, 1e-6), (1, 1e-6)):
            up, down = (special.tklmbda(*(v + s * h * (i == k) for i, v in enumerate(args))) for s in (1, -1))
            found = slope(special.tklmbda, list(args), k)
            np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=1e-5, atol=1e-8)
    outside = np.array([2.0 / abs(lmbda), -50.0])
    if lmbda > 0:
        np.testing.assert_array_equal(ad.grad(lambda x: np.sum(special.tklmbda(x, lmbda)))(outside), 0.0)
        np.testing.assert_array_equal(ad.hessian(lambda x: np.sum(special.tklmbda(x, lmbda)))(outside), 0.0)
        np.testing.assert_array_equal(ad.jvp(lambda s: special.tklmbda(outside, s), (lmbda,), (1.0,))[1], 0.0)


@pytest.mark.parametrize(("n", "x"), [(0, 0.5), (0, 2.0), (1, 0.5), (3, 2.0)])
def test_exponential_integrals_of_the_lowest_orders(n, x):
    right = (special.expn(n, x + 1e-6) - special.expn(n, x - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope(special.expn, [n, x], 1), right, rtol=1e-6)
