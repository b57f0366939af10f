"""SciPy's root finders over functions that hold tensors: every solver, every place to hold one, every mode."""

import inspect

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.scipy import optimize, twin
from tests.scipy.solved import CLOSURE, MODES, WAYS, Holder, check, given


def f(x, k):
    return np.exp(k * x) - 2.0 - k


def exact(k):
    return np.log(2.0 + k) / k


def slope(x, k):
    return k * np.exp(k * x)


def bracketed(name, **options):
    return lambda f, args: getattr(optimize, name)(f, 0.0, 3.0, args, **options)


def pair(f):
    """A system of two equations, in a list, of which the second component is the root of `f`."""
    return lambda x, *args: [x[1] - x[0], f(x[0], *args)]


ROOT = twin(scipy.optimize.root)
START = np.array([0.5, 0.6])
SOLVERS = {
    **{name: bracketed(name) for name in ("brentq", "brenth", "ridder", "bisect", "toms748")},
    "brentq, full": lambda f, args: optimize.brentq(f, 0.0, 3.0, args, full_output=True)[1].root,
    "newton": lambda f, args: optimize.newton(f, 0.5, args=args),
    "newton, array": lambda f, args: np.mean(optimize.newton(f, START, args=args, tol=1e-12)),
    "root_scalar": lambda f, args: optimize.root_scalar(f, args, bracket=(0.0, 3.0)).root,
    "root_scalar, secant": lambda f, args: optimize.root_scalar(f, args, x0=0.5).root,
    "fsolve": lambda f, args: optimize.fsolve(f, 0.5, args)[0],
    "fsolve, full": lambda f, args: optimize.fsolve(pair(f), START, args, full_output=True)[0][1],
    "fixed_point": lambda f, args: optimize.fixed_point(lambda x, *a: x - 0.2 * f(x, *a), 0.5, args, xtol=1e-11),
    **{
        f"root, {method}": lambda f, args, method=method: ROOT(pair(f), START, args, method, tol=1e-10).x[1]
        for method in ("hybr", "lm", "krylov", "df-sane")
    },
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian", "one inside another"])
def test_a_root_is_a_function_of_what_the_equation_holds(solver, way, mode):
    check(lambda k: SOLVERS[solver](*given(way, f, k)), exact, 1.3, mode)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("solver", ["brentq", "fsolve, full"])
def test_in_every_mode(solver, way, mode):
    check(lambda k: SOLVERS[solver](*given(way, f, k)), exact, 1.3, mode)


@pytest.mark.parametrize("name", ["brentq", "brenth", "ridder", "bisect", "toms748", "newton", "root_scalar", "fsolve",
                                  "fixed_point"])  # fmt: skip
def test_numbers_get_scipys_very_result(name):
    theirs, ours = getattr(scipy.optimize, name), getattr(optimize, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    ends = {"newton": (0.5,), "fsolve": (0.5,), "fixed_point": (0.5,)}.get(name, (0.0, 3.0))
    if name == "root_scalar":
        ends, options = (), {"bracket": (0.0, 3.0), "args": (1.3,)}
    elif name == "fixed_point":
        options = {}
    else:
        options = {"args": (1.3,), "full_output": True}
    g = (lambda x: np.cos(x)) if name == "fixed_point" else f
    a, b = ours(g, *ends, **options), theirs(g, *ends, **options)
    for one, other in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,), strict=True):
        assert type(one) is type(other)
        if isinstance(one, dict):
            assert one.keys() == other.keys()
            for key in one:
                assert_array_equal(one[key], other[key])
        else:
            assert_array_equal(one, other)


def test_scipys_errors_stay():
    k = ad.tensor(1.3, requires_grad=True)
    with pytest.raises(ValueError, match="different signs"):
        optimize.brentq(lambda x: f(x, k), 2.0, 3.0)
    with pytest.raises(RuntimeError, match="Failed to converge after 2"):
        optimize.brentq(lambda x: f(x, k), 0.0, 3.0, maxiter=2)
    with pytest.raises(TypeError, match=r"brentq\(\) got an unexpected keyword"):
        optimize.brentq(f, 0.0, 3.0, tolerance=1.0)
    with pytest.raises(TypeError, match="mismatch"):
        optimize.fsolve(lambda x: [x[0] * k], [1.0, 2.0])
    with pytest.raises(ZeroDivisionError):
        optimize.brentq(lambda x: 1 / 0, 0.0, 3.0)


def test_derivatives_of_the_function_may_hold_tensors_too():
    for options in ({}, {"fprime2": lambda k: lambda x: k * slope(x, k)}):
        extra = lambda k, options=options: {name: of(k) for name, of in options.items()}
        newton = lambda k: optimize.newton(lambda x: f(x, k), 0.5, lambda x: slope(x, k), **extra(k))
        check(newton, exact, 1.3, "hessian")
    both = lambda k: optimize.root_scalar(lambda x: (f(x, k), slope(x, k)), x0=0.5, fprime=True).root
    check(both, exact, 1.3, "hessian")
    jac = lambda k: optimize.fsolve(lambda x: f(x, k), 0.5, fprime=lambda x: np.reshape(slope(x[0], k), (1, 1)))[0]
    check(jac, exact, 1.3, "hessian")
    whole = lambda k: ROOT(lambda x: (f(x, k), np.reshape(slope(x[0], k), (1, 1))), [0.5], jac=True).x[0]
    check(whole, exact, 1.3, "hessian")


def test_starting_points_have_no_derivative():
    by_both = ad.grad(lambda a, k: optimize.brentq(f, a, 3.0, (k,)), (0, 1))
    assert_allclose(by_both(0.0, 1.3), (0.0, ad.grad(exact)(1.3)))
    assert_allclose(ad.grad(lambda x0: optimize.newton(f, x0, args=(1.3,)) * x0)(0.5), exact(1.3))


def test_roots_of_many_numbers_and_complex_ones():
    power = lambda a: optimize.newton(lambda x: x**2 - a, np.ones((2, 2)))
    a = np.array([[1.0, 4.0], [9.0, 2.0]])
    assert_allclose(np.sum(ad.jacobian(power)(a), axis=(2, 3)), 0.5 / np.sqrt(a))
    complex_root = lambda a: optimize.newton(lambda z: z**2 + a, 0.5 + 1.0j)
    assert_allclose(ad.grad(lambda a: complex_root(a).imag)(4.0), 0.25)
    assert_allclose(ad.grad(lambda a: complex_root(a).real)(4.0), 0.0, atol=1e-12)


def test_an_attribute_may_change_afterwards():
    holder = Holder(f, None)

    def both(k):
        found = []
        for factor in (1.0, 2.0):
            holder.inner.k = [k * factor]
            found.append(optimize.brentq(holder.value, 0.0, 3.0))
        holder.inner.k = [0.0]
        return found[0] - found[1]

    check(both, lambda k: exact(k) - exact(2 * k), 1.3, "hessian")


def test_a_solver_inside_a_solver():
    inner = lambda x, k: optimize.brentq(lambda y: y**3 + y - x * k, -9.0, 9.0)  # y³ + y = x k
    outer = lambda k: optimize.brentq(lambda x: inner(x, k) - 1.0, 0.0, 9.0)  # y = 1: x = 2 / k
    check(outer, lambda k: 2.0 / k, 1.3, "hessian")


def test_the_function_gets_what_scipy_gives_it():
    kinds = set()

    def seen(x):
        kinds.add(type(x))
        return f(x, 1.3)

    optimize.brentq(seen, 0.0, 3.0)
    assert kinds == {float}


def test_a_large_system_goes_by_products():
    n = 300
    system = lambda x, a: x**3 + x + 0.1 * np.roll(x, 1) - a
    total = lambda a: np.sum(ROOT(lambda x: system(x, a), np.zeros(n), method="krylov", tol=1e-11).x)
    h = 1e-4
    assert_allclose(ad.grad(total)(1.0), (total(1.0 + h) - total(1.0 - h)) / (2 * h), rtol=1e-6)
    assert_allclose(ad.jvp(total, (1.0,), (1.0,))[1], ad.grad(total)(1.0), rtol=1e-8)


def test_what_has_no_derivative_says_so():
    k = ad.tensor(0.0, requires_grad=True)
    flat = optimize.brentq(lambda x: x**3 - k, -1.0, 1.0)  # the slope at 0 is 0
    with pytest.raises(ad.GradientError, match="no derivative"):
        flat.backward()
    k = ad.tensor(1.3, requires_grad=True)
    early = optimize.brentq(lambda x: f(x, k), 0.0, 3.0, maxiter=2, disp=False)
    with pytest.raises(ad.GradientError, match="before it came"):
        early.backward()
    with pytest.raises(ad.NotSupportedError, match="Nest transforms"):
        optimize.brentq(lambda x: f(x, k), 0.0, 3.0).backward(create_graph=True)
    with pytest.raises(ad.NotSupportedError, match="captured"):
        ad.capture(lambda k: SOLVERS["brentq"](*given(CLOSURE, f, k)), 1.3)


def test_under_no_grad_a_root_is_a_number():
    k = ad.tensor(1.3, requires_grad=True)
    with ad.no_grad():
        assert type(optimize.brentq(lambda x: f(x, k), 0.0, 3.0)) in (float, np.float64)
    constant = k.detach()
    assert_allclose(optimize.brentq(lambda x: f(x, constant), 0.0, 3.0), exact(1.3))


def test_twins_of_scipys_functions():
    assert twin(scipy.optimize.brentq) is optimize.brentq
    assert twin(scipy.optimize.root) is not optimize.root
    assert twin(scipy.optimize.rosen) is None
    assert twin(np.sin) is None
    assert twin(len) is None


def test_arguments_in_a_list():
    def spread(k):
        return optimize.newton(func=lambda x, *args: x**3 - args[0] - args[1] * x, x0=1.5, args=[k, 2.0])

    assert_allclose(ad.grad(spread)(1.4), (spread(1.4 + 1e-5) - spread(1.4 - 1e-5)) / 2e-5, rtol=1e-7)
    assert_allclose(ad.grad(in_twin)(1.4), ad.grad(spread)(1.4), rtol=1e-12)


def in_twin(k):
    return scipy.optimize.newton(func=lambda x, *args: x**3 - args[0] - args[1] * x, x0=1.5, args=[k, 2.0])
