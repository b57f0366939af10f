"""Forward mode of everything in the registry: against differences, against reverse mode, and nested with both."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten, map_tree
from adjoint.core.op import Op, rule_of
from adjoint.core.protocol import detached
from adjoint.core.registry import ENTRIES
from adjoint.testing import check_grads, walk
from adjoint.testing.cases import cases
from tests.walk.forward import check_float32, check_linearize, check_nestings, check_transpose, jacobians

DIFFERENTIABLE = list(walk())
ELEMENTWISE = [e for e in DIFFERENTIABLE if isinstance(e, Op) and e.kind == "elementwise"]
ENDLESS_IN_FLOAT32 = {"obl_ang1", "obl_rad1", "pro_ang1", "pro_rad1"}

every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


def varying(entry):
    return [case for case in cases(entry) if case.arrays]


def complex_cases(entry):
    """The real samples turned into the complex plane, where the function takes them."""
    for case in varying(entry):
        arrays = [a * (1 + 0.3j) + 0.1j if a.dtype.kind == "f" else a for a in case.arrays]
        try:
            value, pullback = ad.vjp(case.f, *arrays)
            pullback(map_tree(np.zeros_like, value))
        except (TypeError, ValueError, ad.AdjointError, Warning):
            with pytest.raises((TypeError, ValueError, ad.AdjointError, Warning)):
                ad.jvp(case.f, arrays, arrays)  # refused alike
            continue
        yield case._replace(arrays=arrays)


@every_entry
def test_tangents_are_differences(entry):
    for case in varying(entry):
        check_grads(case.f, case.arrays, modes=("fwd",), order=1)


@every_entry
def test_is_the_transpose_of_reverse_mode(entry):
    rng = np.random.default_rng(0)
    for case in varying(entry):
        check_transpose(case, rng)


@every_entry
def test_is_the_transpose_of_reverse_mode_for_complex_numbers(entry):
    rng = np.random.default_rng(1)
    for case in complex_cases(entry):
        check_transpose(case, rng)


@every_entry
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")  # in single precision it is
def test_float32_stays(entry):
    if entry.name in ENDLESS_IN_FLOAT32:
        pytest.skip(f"scipy.special.{entry.name} itself does not return in single precision")
    if entry.name == "polydiv":
        pytest.skip("which of the remainder's leading coefficients are 0 depends on the precision")
    rng = np.random.default_rng(2)
    for case in varying(entry):
        check_float32(case, rng)


@every_entry
def test_linearize_is_jvp(entry):
    rng = np.random.default_rng(3)
    for case in varying(entry):
        check_linearize(case, rng)


@every_entry
def test_modes_nest(entry):
    for case in varying(entry)[:1]:
        check_nestings(case, np.random.default_rng(4))


@pytest.mark.parametrize("entry", ELEMENTWISE, ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns of invalid values: they are what is tested
def test_special_values_of_elementwise_operations(entry):
    """The tangent along 1 is the cotangent of 1, nan and infinity included."""
    if entry.name == "hyp1f1":
        pytest.skip("scipy.special.hyp1f1 itself does not return at infinity")
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.7, 1.0])
    case = varying(entry)[0]
    shape = case.arrays[0].shape
    others = [x for x in flatten((case.args, case.kwargs))[0] if not any(x is a for a in case.arrays)]
    if any(a.shape != shape for a in case.arrays) or any(map(np.ndim, others)):
        pytest.skip("its sample mixes shapes, which special values then do not fit")
    for i in range(len(case.arrays)):
        point = [np.full(special.shape, a.flat[0]) for a in case.arrays]
        point[i] = special
        value, pullback = ad.vjp(case.f, *point)
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        pulled = pullback(np.ones_like(value))
        for k in range(len(point)):
            tangents = [np.ones_like(x) if j == k else None for j, x in enumerate(point)]
            np.testing.assert_array_equal(ad.jvp(case.f, point, tangents)[1], pulled[k])


@every_entry
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as above
def test_ties_and_zeros(entry):
    """At whole numbers, among which are ties and zeros, both modes share out derivatives in the same way."""
    for case in varying(entry):
        arrays = [np.round(a) for a in case.arrays]
        if any(a.dtype.kind == "c" for a in arrays) or sum(a.size for a in arrays) > 40:
            continue
        try:
            if any(np.iscomplexobj(x) for x in flatten(case.f(*arrays))[0]):
                continue
            forward, reverse = jacobians(case, arrays)
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError):  # NumPy refuses, and so do we
            continue
        if np.isfinite(reverse).all():  # a unit vector's zeros make nan of infinity
            scale = np.max(np.abs(reverse), initial=1.0)
            np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9 * scale)


# -- The walk can fail ----------------------------------------------------------------------------------


def mutant(name, *rules):
    """The operation `name` with other forward rules."""
    return ENTRIES[name].replace(jvps=tuple(map(rule_of, rules)), kind="general", flags=frozenset(), pullbacks={})


WRONG = {
    "sin": mutant("sin", lambda t, x: 1.001 * t * np.cos(x)),
    "sign": mutant("negative", lambda t: t),
    "one_of_two": mutant("multiply", lambda t, y: t * y, lambda t, x: t * x * 0.999),
    "direction": mutant("flip", lambda t: t),
    "order": mutant("inv", lambda t, out: -0.999 * (out @ t @ out)),
    "small": mutant("running_sum", lambda t, axis: 1.001 * np.cumsum(t, axis=axis)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_forward_rules_are_caught(name):
    case = next(c for c in varying(WRONG[name]) if c.arrays[0].size > 1)
    with pytest.raises(ad.GradientMismatchError):
        check_grads(case.f, case.arrays, modes=("fwd",), order=1)
    with pytest.raises(ad.GradientMismatchError):
        check_transpose(case, np.random.default_rng(0))
    with pytest.raises(ad.GradientMismatchError):
        check_linearize(case, np.random.default_rng(0))


def test_wrong_second_derivatives_are_caught():
    op = Op("cube", lambda x: x**3, ("x",), (rule_of(lambda g, x: g * 3 * x**2),),
            jvps=(rule_of(lambda t, x: t * 3 * detached(x) ** 2),),
            samples=lambda r: [((r(3),), {})])  # fmt: skip
    case = varying(op)[0]
    check_transpose(case, np.random.default_rng(0))
    with pytest.raises(ad.GradientMismatchError, match="second derivatives differ"):
        check_nestings(case, np.random.default_rng(0))


def test_tangents_of_another_dtype_are_caught():
    op = Op("wide", lambda x: np.sin(x), ("x",), (rule_of(lambda g, x: g * np.cos(x)),),
            jvps=(rule_of(lambda t, x: 2.0 * t),), samples=lambda r: [((r(3),), {})])  # fmt: skip
    with pytest.raises(ad.GradientMismatchError):
        check_transpose(varying(op)[0], np.random.default_rng(0))


def test_large_problems_are_checked_along_directions():
    x = np.linspace(-1.0, 1.0, 300)
    check_grads(np.sin, (x,), modes=("fwd", "rev"), order=1)
    with pytest.raises(ad.GradientMismatchError, match="random direction"):
        check_grads(WRONG["sin"], (x,), modes=("fwd",), order=1)


def test_forward_over_reverse_is_checked_too():
    half = Op("cube", lambda x: x**3, ("x",), (rule_of(lambda g, x: g * 3 * x * detached(x)),))
    check_grads(half, (np.array([0.7, 1.3]),), modes=("fwd",), order=1)
    with pytest.raises(ad.GradientMismatchError, match="second derivative"):
        check_grads(half, (np.array([0.7, 1.3]),), modes=("fwd",), order=2)
