"""Riccati's equations: values are SciPy's, derivatives those of differences, by every matrix and in every mode."""

import numpy as np
import pytest
from scipy import linalg

import adjoint as ad

RANDOM = np.random.default_rng(0)
REAL = {
    "a": RANDOM.normal(size=(3, 3)),
    "b": RANDOM.normal(size=(3, 2)),
    "q": 2.0 * np.eye(3),
    "r": np.eye(2),
    "e": np.eye(3) + 0.2 * RANDOM.normal(size=(3, 3)),
    "s": 0.1 * RANDOM.normal(size=(3, 2)),
}
COMPLEX = {name: m if name in "qr" else m + 0.3j * RANDOM.normal(size=m.shape) for name, m in REAL.items()}
WEIGHTS = RANDOM.normal(size=(3, 3))


@pytest.mark.parametrize("solve", [linalg.solve_continuous_are, linalg.solve_discrete_are])
@pytest.mark.parametrize("matrices", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("names", ["abqr", "abqrs", "abqre", "abqrse"])
def test_by_every_matrix(solve, matrices, names):
    for name in names:
        m = matrices[name]
        change = RANDOM.normal(size=m.shape) + (1j * RANDOM.normal(size=m.shape) if matrices is COMPLEX else 0)
        change = change + change.conj().T if name in "qr" else change

        def f(t, name=name, change=change):
            given = {n: matrices[n] + t * change if n == name else matrices[n] for n in names}
            return solve(*(given[n] for n in "abqr"), e=given.get("e"), s=given.get("s"))

        h = 1e-5
        value, tangent = ad.jvp(f, (0.0,), (1.0,))
        wanted = (f(h) - f(-h)) / (2 * h)
        np.testing.assert_allclose(value, f(0.0), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(tangent, wanted, rtol=1e-5, atol=1e-6)
        slope = ad.grad(lambda t, f=f: np.sum(np.real(f(t)) * WEIGHTS))
        np.testing.assert_allclose(slope(0.0), np.sum(wanted.real * WEIGHTS), rtol=1e-5, atol=1e-6)
        curvature = (slope(h) - slope(-h)) / (2 * h)
        np.testing.assert_allclose(ad.grad(slope)(0.0), curvature, rtol=1e-4, atol=1e-4)


def test_samples_and_compiled():
    gradient = ad.grad(lambda a: np.trace(linalg.solve_continuous_are(a, REAL["b"], REAL["q"], REAL["r"])))
    several = np.stack([REAL["a"], REAL["a"] / 2])
    np.testing.assert_allclose(ad.vmap(gradient)(several), [gradient(a) for a in several], rtol=1e-9)
    compiled = ad.compile(gradient)
    for a in several:
        np.testing.assert_allclose(compiled(a), gradient(a), rtol=1e-12)


def test_errors():
    with pytest.raises(ad.ArgumentError, match="q must be Hermitian"):
        ad.grad(lambda q: linalg.solve_discrete_are(REAL["a"], REAL["b"], q, REAL["r"])[0, 0])(REAL["a"])
    with pytest.raises(np.linalg.LinAlgError, match="solution"):
        ad.grad(lambda b: linalg.solve_continuous_are(np.eye(3), b, REAL["q"], REAL["r"])[0, 0])(np.zeros((3, 2)))
