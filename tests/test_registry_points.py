"""More of the walk: calls where a rule takes another branch, and shapes that tell its axes apart."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.scipy.linalg
from adjoint.core.objects.trees import flatten
from adjoint.core.op import call
from adjoint.core.registry import operation
from adjoint.testing import check_grads
from adjoint.testing.cases import case_of
from tests.walk.batch import SampleStackTrial, check_derivatives, check_values

R = np.random.default_rng(7)
SINGULAR = np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.3, -0.7, 1.1]])  # the second row is twice the first one


def r(*shape):
    return R.uniform(0.3, 1.5, shape)


def c(*shape):
    return r(*shape) + 1j * R.uniform(-1.0, 1.0, shape)


def hermitian(n):
    a = c(n, n)
    return a @ a.conj().T + np.diag(np.arange(1.0, n + 1))


# Smooth there: differences on both sides say what the derivative is.
SMOOTH = {
    "broadcast_to": [call(r(3), shape=(2, 3))],
    "squeeze": [call(r(1, 3), axis=(0,))],
    "tile": [call(r(3), (2, 2)), call(r(2, 3, 2), 3), call(r(2, 3), (2, 1, 1, 2))],
    "diagonal": [
        call(r(3, 4), -1, 0, 1),
        call(r(4, 3), 1, 0, 1),
        call(r(2, 5), 1, 0, 1),
        call(r(5, 2), -2, 0, 1),
        call(r(3, 4), 1, -2, -1),
        call(r(3, 4), -1, -1, -2),
    ],
    "reduce_mean": [call(r(3, 4), axis=0), call(np.asarray(0.7)), call(r(3, 4), axis=0, keepdims=True)],
    **{
        f"reduce_{name}": [call(r(3, 4), axis=0, keepdims=True), call(r(2, 3, 4), axis=(0, 2), keepdims=True)]
        for name in ("sum", "max", "min", "var", "std", "logsumexp")
    },
    "reduce_prod": [
        call(np.asarray(0.0)),
        call(np.array([[0.0, 0.5, 2.0], [1.5, 0.0, 0.0]]), axis=1),
        call(np.array([[0.0, 0.5, 2.0], [1.5, 0.0, 0.0]]), axis=0),
        call(r(3, 4), axis=0, keepdims=True),
    ],
    "repeat_each": [call(r(1, 3), repeats=2, axis=0), call(r(3, 1), repeats=[3], axis=1), call(r(1), repeats=4)],
    # Far from the centre by a series, of which the second term counts here.
    "voigt_profile": [call(np.array([0.6, -0.7]), np.array([0.03, 0.025]), np.array([0.04, 0.05]))],
    "running_product": [
        call(np.array([0.4 + 1j, 0.0, 1.2 - 0.5j, 2.0j]), axis=0),
        call(np.array([1.5, 0.0, 0.6]), axis=0),
    ],
    "p_norm": [call(np.array([1.0, 0.0, -0.6, 1.3]), 4.0), call(np.array([[0.0, 0.6], [1.0, 0.8]]), 4.0, axis=0)],
    "matmul": [call(r(3, 1), r(1, 4)), call(r(2, 3), r(2, 3, 2)), call(r(2, 2, 3), r(3, 2)), call(r(4, 2, 3), r(3))],
    "stacked_solve": [call(r(3, 3) + np.eye(3), r(3, 2)), call(r(2, 3, 3) + np.eye(3), r(3, 2))],
    "stacked_det": [call(SINGULAR), call(SINGULAR * (1 + 2j)), call(np.stack([SINGULAR, np.eye(3)]))],
    "symmetric_eigenvalues": [call(hermitian(3))],
    "lu_solved": [call(r(3, 3) + 2 * np.eye(3), r(3), pivots=np.array([1, 1, 2]), trans=k) for k in (0, 1, 2)],
    "least_squares": [call(r(5, 3), r(5), rcond=1e-9)],
    "banded_solve": [call(r(4, 2) + 1.0, r(2, 1), below=1, above=2), call(r(5, 3) + 2.0, r(3, 2), below=2, above=2)],
    "spence": [call(np.array([1.0, 0.5]))],
    "exprel": [call(np.array([0.0, 0.5]))],
    "berp": [call(np.array([0.0, 1.0]))],
    "beip": [call(np.array([0.0, 1.0]))],
    "bdtrc": [call(0.0, 3, np.array([0.3, 0.6])), call(-1.0, 3, np.array([0.3, 0.6]))],
    "tklmbda": [
        call(np.array([1.3, -1.4, 0.6]), np.array([0.5, 0.5, 0.5])),
        call(np.array([1.5, -1.6, 0.6]), np.array([0.9, 0.9, 3.0])),
    ],
    "power": [call(0.0, np.array([2.5, 0.5])), call(0.5, np.array([2.5, -0.5]))],
    "ive": [call(2.0, np.array([-1.5, -0.5]))],
    "kn": [call(3, np.array([1.5, 0.5]))],
    "kolmogorov": [call(np.array([0.5, 1.2, 1.8]))],
    "nctdtr": [call(3.0, 0.5, np.array([0.0, 0.4]))],
    "lpmv": [call(2, 3, np.array([0.3, -0.4]))],
    "obl_rad1": [call(2, 3, 1.5, np.array([0.7, 1.5]))],
    "obl_ang1": [call(2, 3, 1.5, np.array([0.7, -0.2]))],
    "pro_ang1": [call(2, 3, 1.5, np.array([0.7, -0.2]))],
    **{
        f"eval_{name}": [call(n, *shape, np.array([0.2, 0.7])) for n in (0, 1, 2)]
        for name, shape in {"chebyt": (), "chebyu": (), "legendre": (), "gegenbauer": (0.5,), "hermite": ()}.items()
    },
}


@pytest.mark.parametrize("entry", [operation(name) for name in SMOOTH], ids=lambda e: e.name)
def test_derivatives_beside_the_samples(entry):
    rng = np.random.default_rng(0)
    for given in SMOOTH[entry.name]:
        case = case_of(entry, given)
        check_grads(case.f, tuple(case.arrays), modes=("rev", "fwd"), order=1, rtol=1e-5, atol=1e-6)
        stack = SampleStackTrial(case, [[a * (1.0 + 0.01 * k) for a in case.arrays] for k in range(4)])
        check_values(stack)
        check_derivatives(stack, rng)


INF, NAN = np.inf, np.nan
# The arguments, and the slopes of the first value by those that vary: where differences have nothing to say.
STATED = {
    "arctan2": [((np.zeros(1), np.zeros(1)), (0.0, 0.0))],
    "exprel": [((np.array([-INF, INF]),), ([0.0, INF],))],
    "sici": [((np.zeros(1),), (1.0,))],
    "shichi": [((np.zeros(1),), (1.0,))],
    "it2i0k0": [((np.zeros(1),), (0.0,))],
    "it2j0y0": [((np.zeros(1),), (0.0,))],
    "xlogy": [((np.zeros(2), np.array([0.0, 0.5])), ([0.0, np.log(0.5)], 0.0)), ((np.ones(1), np.ones(1)), (0.0, 1.0))],
    "xlog1py": [
        ((np.zeros(2), np.array([-1.0, -0.5])), ([0.0, np.log(0.5)], 0.0)),
        ((np.ones(1), np.zeros(1)), (0.0, 1.0)),
    ],
    "sign": [((np.zeros(1, complex),), (0.0,)), ((np.ones(1),), (0.0,))],
    "lpmv": [((m, 3, np.array([1.5])), (NAN,)) for m in (0, 1, 2)],
    "reduce_std": [
        ((np.ones(1), 0, False, 1), (NAN,)),
        *(((np.full(7, scale / 3), 0), (0.0,)) for scale in (1e-9, 1e-8, 1.0, 1e8, 1e9)),
        ((np.full(70_000, 0.1, np.float32), 0), (0.0,)),
    ],
    "reduce_var": [((np.ones(1), 0, False, 1), (NAN,))],
    "p_norm": [((np.zeros(3), 3.0), (0.0,))],
    "reduce_max": [((np.array([[1.0, 2.0], [1.0, 0.0]]), 0), ([[0.5, 1.0], [0.5, 0.0]],))],
    "reduce_min": [((np.array([[1.0, 2.0], [1.0, 3.0]]), 0), ([[0.5, 1.0], [0.5, 0.0]],))],
}


@pytest.mark.parametrize("entry", [operation(name) for name in STATED], ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in scalar divide:RuntimeWarning")
def test_slopes_that_are_stated(entry):
    for given, slopes in STATED[entry.name]:
        case = case_of(entry, call(*given))
        value, pullback = ad.vjp(lambda *a, f=case.f: flatten(f(*a))[0][0], *case.arrays)
        for found, expected in zip(pullback(np.ones_like(value)), slopes, strict=True):
            np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("entry", [operation("det_keeping_factors")], ids=lambda e: e.name)
def test_the_slopes_of_the_determinant_of_a_singular_matrix_are_its_cofactors(entry):
    for a in (SINGULAR, SINGULAR * (1 + 2j)):
        check_grads(lambda a: entry(a)[0], a, modes=("rev", "fwd"), order=1)


@pytest.mark.parametrize("entry", [operation("sign_and_logdet")], ids=lambda e: e.name)
def test_a_singular_matrix_of_a_stack_has_no_slopes(entry):
    stack = np.stack([SINGULAR, np.diag([1.0, 2.0, 3.0]) + 0.1])
    stack[0, 1] = 0.0  # singular to the last bit
    value, pullback = ad.vjp(lambda a: entry(a)[1], stack)
    np.testing.assert_allclose(pullback(np.ones_like(value))[0], [np.full((3, 3), NAN), np.linalg.inv(stack[1]).T])


@pytest.mark.parametrize("entry", [operation("overwrite")], ids=lambda e: e.name)
def test_a_complex_value_in_a_real_array_is_its_real_part(entry):
    def f(a, b):
        a = a * 1.0
        a[1:] = b * (2.0 + 1j)
        return a * a

    a, b = r(4), r(3)
    with pytest.warns(np.exceptions.ComplexWarning):
        value, pullback = ad.vjp(f, a, b)
    np.testing.assert_allclose(value, [a[0] ** 2, *(2 * b) ** 2])
    for found, expected in zip(pullback(np.arange(1.0, 5.0)), [[2 * a[0], 0, 0, 0], 8 * b * [2, 3, 4]], strict=True):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("entry", [operation("symmetric_eigen"), operation("thin_svd")], ids=lambda e: e.name)
def test_vectors_of_equal_values_have_no_slopes(entry):
    """And no warning of a division by 0 is given."""
    _, pullback = ad.vjp(lambda a: flatten(entry(a))[0][1 if entry.name == "symmetric_eigen" else 0], np.eye(3))
    assert np.isnan(pullback(r(3, 3))[0]).any()


@pytest.mark.parametrize("entry", [operation("lu_solved")], ids=lambda e: e.name)
def test_equations_without_unknowns(entry):
    for stack in ((), (2,)):
        lu, b, pivots = np.empty((*stack, 0, 0)), np.empty((*stack, 0, 1)), np.empty((*stack, 0), int)
        value, pullback = ad.vjp(lambda lu, b, pivots=pivots: entry(lu, b, pivots=pivots), lu, b)
        assert [x.shape for x in pullback(value)] == [lu.shape, b.shape]
