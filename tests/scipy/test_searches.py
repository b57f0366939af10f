"""SciPy's older and its global minimisers over functions that hold tensors."""

import inspect

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.scipy import optimize, twin
from tests.scipy.solved import WAYS, check, given

START = np.array([0.8, 0.9])
BOX = [(-1.0, 4.0), (-1.0, 4.0)]


def valley(x, k):
    return (x[0] - k**2) ** 2 + 3.0 * (x[1] - x[0] * np.sin(k)) ** 2


def lowest(k):
    return k**2 + k**2 * np.sin(k)


def one(x, k):
    return np.cosh(x - k**2)


def slopes(x, k):
    return np.stack([x[0] - k**2, x[1] - x[0] * np.sin(k)])


def whole(name, **options):
    return lambda f, args: np.sum(getattr(optimize, name)(f, START, args=args, **options))


def first(name, **options):
    return lambda f, args: np.sum(getattr(optimize, name)(f, START, args=args, **options)[0])


VECTORS = {
    "fmin": whole("fmin", xtol=1e-10, ftol=1e-14, disp=False),
    "fmin, full": first("fmin", xtol=1e-10, ftol=1e-14, disp=False, full_output=True),
    "fmin_powell": whole("fmin_powell", disp=False),
    "fmin_bfgs": whole("fmin_bfgs", disp=False),
    "fmin_cg": whole("fmin_cg", disp=False),
    "fmin_l_bfgs_b": first("fmin_l_bfgs_b", approx_grad=True),
    "fmin_tnc": first("fmin_tnc", approx_grad=True, disp=0),
    "fmin_slsqp": whole("fmin_slsqp", disp=False),
    "fmin_cobyla": lambda f, args: np.sum(optimize.fmin_cobyla(f, START, [], args=args, rhoend=1e-8)),
    "brute": lambda f, args: np.sum(optimize.brute(f, BOX, args, Ns=5, disp=False)),
    "differential_evolution": lambda f, args: np.sum(optimize.differential_evolution(f, BOX, args, rng=1).x),
    "dual_annealing": lambda f, args: np.sum(optimize.dual_annealing(f, BOX, args, maxiter=5, rng=1).x),
    "basinhopping": lambda f, args: np.sum(
        optimize.basinhopping(f, START, niter=2, minimizer_kwargs={"args": args}, rng=1).x
    ),
    "shgo": lambda f, args: np.sum(optimize.shgo(f, BOX, args).x),
    "direct": lambda f, args: np.sum(optimize.direct(f, BOX, args=args, vol_tol=1e-14, maxfun=20000).x),
}
NUMBERS = {
    "fminbound": lambda f, args: optimize.fminbound(f, 0.0, 4.0, args, xtol=1e-9),
    "brent": lambda f, args: optimize.brent(f, args, full_output=True)[0],
    "golden": lambda f, args: optimize.golden(f, args),
}
SYSTEMS = {
    name: lambda f, args, name=name: np.sum(getattr(optimize, name)(lambda x: f(x, *args), START, f_tol=1e-6))
    for name in ("broyden1", "broyden2", "anderson", "newton_krylov")
}
ALL = {
    **{name: (valley, lowest, solve) for name, solve in VECTORS.items()},
    **{name: (one, lambda k: k**2, solve) for name, solve in NUMBERS.items()},
    **{name: (slopes, lowest, solve) for name, solve in SYSTEMS.items()},
    "leastsq": (slopes, lowest, lambda f, args: np.sum(optimize.leastsq(f, START, args)[0])),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_found_is_a_function_of_what_the_function_holds(name, way):
    f, exact, solve = ALL[name]
    loose = 2e-3 if name == "direct" else 1e-4  # of the value: these stop early
    k = 1.1
    found = lambda k: solve(*given(way, f, k))
    assert_allclose(found(k), exact(k), rtol=loose)
    check(lambda k: found(k) - ad.stop_gradient(found(k)) + ad.stop_gradient(exact(k)), exact, k, "hessian")


def test_constraints_of_the_older_forms():
    nearest = lambda k: optimize.fmin_slsqp(
        lambda x: np.sum(x**2), START, [lambda x: x[0] + k * x[1] - 2.0], acc=1e-12, disp=False
    )
    exact = ad.jacobian(lambda k: 2.0 * np.stack([1.0, k]) / (1.0 + k**2))(1.3)
    assert_allclose(ad.jacobian(nearest)(1.3), exact, rtol=1e-5)
    above = lambda k: optimize.fmin_slsqp(lambda x: np.sum(x**2), START, ieqcons=[lambda x: x[0] + k * x[1] - 2.0],
                                          acc=1e-12, disp=False)  # fmt: skip
    assert_allclose(ad.jacobian(above)(1.3), exact, rtol=1e-5)
    several = lambda k: optimize.fmin_slsqp(lambda x: np.sum(x**2), START, f_ieqcons=lambda x: x[:1] + k * x[1:] - 2.0,
                                            acc=1e-12, disp=False)  # fmt: skip
    assert_allclose(ad.jacobian(several)(1.3), exact, rtol=1e-5)
    cobyla = lambda k: optimize.fmin_cobyla(
        lambda x: np.sum(x**2), START, [lambda x: x[0] + k * x[1] - 2.0], rhoend=1e-9
    )
    assert_allclose(ad.jacobian(cobyla)(1.3), exact, rtol=1e-4)


def test_values_and_covariances_are_followed():
    value = lambda k: optimize.fmin(lambda x: valley(x, k) + k**3, START, full_output=True, disp=False)[1]
    assert_allclose(ad.grad(value)(1.3), 3 * 1.3**2, rtol=1e-4)
    spread = lambda k: optimize.leastsq(lambda x: slopes(x, k), START, full_output=True)[1][1, 1]
    assert_allclose(ad.grad(spread)(1.3), ad.grad(lambda k: 1.0 + np.sin(k) ** 2)(1.3), rtol=1e-6)
    best = lambda k: optimize.differential_evolution(lambda x: valley(x, k) + k**3, BOX, rng=1).fun
    assert_allclose(ad.grad(best)(1.3), 3 * 1.3**2, rtol=1e-4)


@pytest.mark.parametrize("name", [n for n in ALL if ", " not in n])
def test_numbers_get_scipys_very_result(name):
    theirs = getattr(scipy.optimize, name)
    ours = twin(theirs)
    assert ours is getattr(optimize, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    if name in NUMBERS:
        args = (lambda x: (x - 1.0) ** 2, *((0.0, 3.0) if name == "fminbound" else ()))
    elif name in SYSTEMS or name == "leastsq":
        args = (lambda x: x - 1.0, START)
    elif name in ("brute", "shgo", "direct", "differential_evolution", "dual_annealing"):
        args = (lambda x: np.sum((x - 1.0) ** 2), BOX)
    else:
        args = (lambda x: np.sum((x - 1.0) ** 2), START, *(([],) if name == "fmin_cobyla" else ()))
    options = {
        **({"disp": False} if name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_powell", "fmin_slsqp") else {}),
        **({"disp": 0} if name == "fmin_tnc" else {}),
        **({"approx_grad": True} if name in ("fmin_l_bfgs_b", "fmin_tnc") else {}),
        **({"rng": 1} if name in ("differential_evolution", "dual_annealing", "basinhopping") else {}),
    }
    a, b = ours(*args, **options), theirs(*args, **options)
    assert type(a) is type(b)
    assert_array_equal(*((x[0] if isinstance(x, tuple) else x.get("x") if isinstance(x, dict) else x) for x in (a, b)))
