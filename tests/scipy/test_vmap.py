"""SciPy's functions inside `vmap`: values and gradients are those of a loop over the samples."""

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.scipy import integrate, interpolate, linalg, signal, sparse, special, stats

R = np.random.default_rng(0)
N = 3
A = R.standard_normal((N, 3, 3)) + 4 * np.eye(3)
SPD = A @ A.transpose(0, 2, 1) + np.eye(3)
B, X = R.standard_normal((N, 3)), np.sort(R.uniform(0.1, 2, (N, 6)), axis=1)
P = R.uniform(0.5, 2, (N, 4))
KNOTS = np.arange(6.0)
BAND = scipy.sparse.csc_array(2 * np.eye(3) + np.eye(3, k=1))

CALLS = {
    "expm": (linalg.expm, A / 5),
    "logm": (linalg.logm, SPD),
    "sqrtm": (linalg.sqrtm, SPD),
    "polar": (linalg.polar, A),
    "solve": (linalg.solve, A, B),
    "solve, positive": (lambda a, b: linalg.solve(a, b, assume_a="pos"), SPD, B),
    "cho_solve": (lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), SPD, B),
    "lu_solve": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), A, B),
    "lu_solve, transposed": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), A, B),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b, lower=True), A, B),
    "solve_banded": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), A, B),
    "solve_sylvester": (linalg.solve_sylvester, A, SPD, A),
    "solve_continuous_lyapunov": (linalg.solve_continuous_lyapunov, A, SPD),
    "toeplitz": (linalg.toeplitz, B),
    "block_diag": (linalg.block_diag, A, SPD),
    "convolve": (signal.convolve, X, B),
    "fftconvolve": (signal.fftconvolve, X, B),
    "correlate": (signal.correlate, X, B),
    "lfilter": (lambda b, x: signal.lfilter(b, [1.0, -0.3], x), B, X),
    "logsumexp": (special.logsumexp, X),
    "interp1d": (lambda y, q: interpolate.interp1d(KNOTS, y)(q), X, P),
    "CubicSpline": (lambda x, y, q: interpolate.CubicSpline(x, y)(q), X, P[:, :1] * KNOTS, P),
    "normal": (lambda x, m: stats.norm.logpdf(x, m[0], 2.0), X, B),
    "gamma": (lambda x, a: stats.gamma.logpdf(x - 0.5, a[0]), X, P),
    "multivariate normal": (lambda x, c: stats.multivariate_normal.logpdf(x, np.zeros(3), c), B, SPD),
    "sparse product": (lambda x: BAND @ x, B),
    "spsolve": (lambda x: sparse.spsolve(BAND, x), B),
}


@pytest.mark.parametrize("name", CALLS)
def test_is_a_loop(name):
    f, *args = CALLS[name]
    everything = tuple(range(len(args)))

    def total(*args):
        return sum(np.sum(np.cos(np.where(np.isfinite(x), x, 0.0))) for x in flatten(f(*args))[0])

    for g in (f, ad.grad(total, everything)):
        found = flatten(ad.vmap(g)(*args))[0]
        loop = [flatten(g(*(a[i] for a in args)))[0] for i in range(N)]
        for x, column in zip(found, zip(*loop, strict=True), strict=True):
            np.testing.assert_allclose(x, np.stack(column), rtol=1e-9, atol=1e-11)


def test_solvers_with_steps_of_their_own_refuse():
    with pytest.raises(ad.NotSupportedError, match="one sample after another"):
        ad.vmap(lambda y: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y).y)(B)
