"""Measures of peaks, filters by their coefficients, boundary values, and what is refused by its full name."""

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize, signal, sparse, spatial
from scipy.sparse import linalg

import adjoint as ad
from tests.scipy.differences import agrees

RANDOM = np.random.default_rng(0)
TIME = np.linspace(0, 1, 60)
WAVE = np.sin(23 * TIME) * np.exp(-TIME) + 0.3 * np.sin(71 * TIME)


@pytest.mark.parametrize(
    "measure",
    ["peak_heights", "left_thresholds", "right_thresholds", "prominences", "widths", "width_heights", "left_ips",
     "right_ips"],
)  # fmt: skip
def test_measures_of_peaks(measure):
    asked = {"height": -1.0, "threshold": 0.0, "prominence": 0.05, "width": 0.5}
    for relative in (0.5, 0.8):
        agrees(lambda x, r=relative: signal.find_peaks(x, **asked, rel_height=r)[1][measure], WAVE, samples=False,
               h=1e-5, rtol=1e-5)  # fmt: skip
    kept = lambda x: x[signal.find_peaks(x, height=(0.1, None), distance=3, plateau_size=1)[0]]
    agrees(kept, WAVE, samples=False)
    agrees(lambda x: signal.find_peaks(x, height=x[0] + 0.05)[1]["peak_heights"], WAVE, samples=False, second=False)


def test_filters_forth_and_back_by_their_coefficients():
    band = lambda p: signal.butter(3, [p[0], p[1]], btype="band", output="sos")
    agrees(
        lambda p: signal.sosfiltfilt(band(p), WAVE),
        np.array([0.1, 0.3]),
        rtol=1e-5,
        second=False,
        samples=False,
        value=1e-7,
    )
    agrees(lambda p: signal.sosfilt_zi(band(p)), np.array([0.1, 0.3]), rtol=1e-5, second=False, value=1e-7)
    low = lambda p: signal.filtfilt(*signal.butter(2, p), WAVE)
    agrees(low, np.array(0.2), rtol=1e-5, value=1e-7)
    agrees(lambda p: signal.lfilter_zi(*signal.butter(2, p)), np.array(0.2), rtol=1e-5)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_boundary_values(tol):
    def bent(a):
        f = lambda x, y: np.stack([y[1], -a[0] * y[0] - 0.3 * y[0] ** 3])
        ends = lambda left, right: np.array([left[0], right[0] - a[1]])
        return integrate.solve_bvp(f, ends, np.linspace(0, 1, 5), np.zeros((2, 5)), tol=tol).sol(0.5)

    a, change = np.array([2.0, 1.1]), np.array([0.6, -0.4])
    wanted = (bent(a + 1e-5 * change) - bent(a - 1e-5 * change)) / 2e-5
    found = ad.jvp(bent, (a,), (change,))
    np.testing.assert_allclose(found[0], bent(a), rtol=1e-9)
    np.testing.assert_allclose(found[1], wanted, rtol=1e-6)
    np.testing.assert_allclose(ad.jacobian(bent)(a) @ change, wanted, rtol=1e-6)


A = RANDOM.normal(size=(8, 2))


@pytest.mark.parametrize(
    ("f", "name", "instead"),
    [
        (lambda a: optimize.linprog(a[0], bounds=(0, 1)).fun, "optimize.linprog", "np.linalg.solve"),
        (lambda a: optimize.milp(a[0], bounds=optimize.Bounds(0, 1)).fun, "optimize.milp", "detach"),
        (lambda a: spatial.Voronoi(a).vertices.sum(), "spatial.Voronoi", "Delaunay"),
        (lambda a: interpolate.CloughTocher2DInterpolator(a, A[:, 0])([[0, 0]])[0],
         "interpolate.CloughTocher2DInterpolator", "RBFInterpolator"),
        (lambda a: interpolate.CloughTocher2DInterpolator(A, A[:, 0])(a[:1] * 0)[0],
         "interpolate.CloughTocher2DInterpolator", "RBFInterpolator"),
        (lambda a: interpolate.griddata(A, a[:, 0], [[0, 0]], "cubic")[0],
         "interpolate.CloughTocher2DInterpolator", "griddata with method='linear'"),
        (lambda a: linalg.inv(sparse.csc_matrix(a.T @ a)).sum(), "sparse.linalg.inv", "spsolve"),
        (lambda a: linalg.expm(sparse.csc_matrix(a.T @ a)).sum(), "sparse.linalg.expm", "toarray"),
        (lambda a: linalg.lsqr(sparse.csc_matrix(A), a[:, 0])[0].sum(), "sparse.linalg.lsqr", "lstsq"),
    ],
)  # fmt: skip
def test_refused_by_name_with_what_to_write(f, name, instead):
    with pytest.raises(ad.NotSupportedError) as found:
        ad.grad(f)(A)
    assert f"scipy.{name}" in str(found.value)
    assert instead in str(found.value)
    assert "test_peaks.py" in str(found.value)
