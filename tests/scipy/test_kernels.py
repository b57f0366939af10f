"""What stands for compiled code of SciPy's filters: the values are SciPy's for every border, origin and shape."""

import numpy as np
import pytest
from scipy import integrate, interpolate, ndimage, signal, stats

import adjoint as ad

IMAGE = np.random.default_rng(0).normal(size=(5, 6))
LINE = np.random.default_rng(1).normal(size=9)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror", "grid-constant")

FILTERS = {
    "correlate1d": lambda x, **k: ndimage.correlate1d(x, [1.0, -2.0, 0.5, 3.0], **k),
    "convolve1d": lambda x, **k: ndimage.convolve1d(x, [1.0, -2.0, 0.5], **k),
    "correlate": lambda x, **k: ndimage.correlate(x, np.arange(6.0).reshape(2, 3), **k),
    "convolve": lambda x, **k: ndimage.convolve(x, np.arange(12.0).reshape(4, 3), **k),
    "uniform_filter1d": lambda x, **k: ndimage.uniform_filter1d(x, 4, **k),
    "uniform_filter": lambda x, **k: ndimage.uniform_filter(x, (3, 2), **k),
    "minimum_filter1d": lambda x, **k: ndimage.minimum_filter1d(x, 3, **k),
    "maximum_filter": lambda x, **k: ndimage.maximum_filter(x, (2, 3), **k),
    "minimum_by_footprint": lambda x, **k: ndimage.minimum_filter(x, footprint=CROSS, **k),
    "rank_filter": lambda x, **k: ndimage.rank_filter(x, 2, size=(3, 2), **k),
    "percentile_filter": lambda x, **k: ndimage.percentile_filter(x, 30, footprint=CROSS, **k),
    "median_filter": lambda x, **k: ndimage.median_filter(x, 3, **k),
}
SMOOTH = {
    "gaussian_filter": lambda x, **k: ndimage.gaussian_filter(x, 0.8, **k),
    "gaussian_laplace": lambda x, **k: ndimage.gaussian_laplace(x, 1.0, **k),
    "sobel": lambda x, **k: ndimage.sobel(x, **k),
    "laplace": lambda x, **k: ndimage.laplace(x, **k),
    "grey_dilation": lambda x, **k: ndimage.grey_dilation(x, structure=np.arange(9.0).reshape(3, 3) / 9, **k),
    "grey_erosion": lambda x, **k: ndimage.grey_erosion(x, structure=np.arange(6.0).reshape(2, 3) / 9, **k),
    "morphological_gradient": lambda x, **k: ndimage.morphological_gradient(x, footprint=CROSS, **k),
}


def compared(f, x):
    """The values of `f` inside a transform, and its gradient against differences."""
    weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))
    seen = []

    def loss(x):
        y = f(x)
        seen.append(np.asarray(ad.stop_gradient(y)))
        return np.sum(y * weights)

    gradient = ad.grad(loss)(x)
    np.testing.assert_allclose(seen[0], f(x), rtol=1e-12, atol=1e-12)
    change = np.sin(np.arange(x.size)).reshape(x.shape)
    h = 1e-5
    wanted = (np.sum(f(x + h * change) * weights) - np.sum(f(x - h * change) * weights)) / (2 * h)
    np.testing.assert_allclose(np.sum(gradient * change), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*FILTERS, *SMOOTH])
def test_borders(name, mode):
    if mode.startswith("grid") and name in ("rank_filter", "percentile_filter", "median_filter"):
        mode = mode.removeprefix("grid-").replace("mirror", "reflect")
    f = {**FILTERS, **SMOOTH}[name]
    compared(lambda x: f(x, mode=mode, cval=0.7) if mode.endswith("constant") else f(x, mode=mode), IMAGE)


@pytest.mark.parametrize("origin", [-1, 1])
@pytest.mark.parametrize("name", list(FILTERS))
def test_origins(name, origin):
    if name == "uniform_filter":
        origin = min(origin, 0)
    if name in ("correlate", "maximum_filter", "rank_filter"):
        origin = min(origin, 0)
    compared(lambda x: FILTERS[name](x, origin=origin), IMAGE)


SIGNALS = {
    "medfilt": lambda x: signal.medfilt(x, 3),
    "order_filter": lambda x: signal.order_filter(x, np.ones(5), 1),
    "median_of_a_line": lambda x: ndimage.median_filter(x, 5, mode="nearest"),
    "upfirdn": lambda x: signal.upfirdn([1.0, 2.0, -1.0], x, 3, 2),
    "upfirdn_coefficients": lambda x: signal.upfirdn(x, np.cos(np.arange(7.0)), 2, 3),
    "resample_poly": lambda x: signal.resample_poly(x, 3, 2),
    "resample": lambda x: signal.resample(x, 13),
    "decimate": lambda x: signal.decimate(np.tile(x, 4), 2),
    "savgol_filter": lambda x: signal.savgol_filter(x, 5, 2),
    "savgol_slope": lambda x: signal.savgol_filter(x, 5, 3, deriv=1, mode="nearest"),
    "filtfilt": lambda x: signal.filtfilt([0.2, 0.3], [1.0, -0.4], x, padlen=5),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(signal.butter(2, 0.3, output="sos"), x, padlen=5),
    "welch": lambda x: signal.welch(np.tile(x, 4), nperseg=8)[1],
    "spectrogram": lambda x: signal.spectrogram(np.tile(x, 4), nperseg=8)[2],
    "stft": lambda x: np.abs(signal.stft(np.tile(x, 4), nperseg=8)[2]),
    "csd": lambda x: np.real(signal.csd(x, x[::-1], nperseg=4)[1]),
    "freqz": lambda x: np.abs(signal.freqz(x, worN=16)[1]),
    "wiener": lambda x: signal.wiener(x, 3),
    "deconvolve": lambda x: signal.deconvolve(x, [1.0, 0.5])[0],
    "chirp": lambda x: signal.chirp(x, 1.0, 3.0, 5.0),
    "bode": lambda x: signal.bode(([1.0 + x[0]], [1.0, 2.0 + x[1]]), w=[0.5, 1.0])[1],
}


POINTS = LINE[:8].reshape(2, 4)
ESTIMATES = {
    "kde": (lambda x: stats.gaussian_kde(x)([0.5, 0.2]), LINE),
    "kde_at": (lambda q: stats.gaussian_kde(LINE)(q), np.array([-0.4, 0.3, 9.0])),
    "kde_of_points": (lambda x: stats.gaussian_kde(x, bw_method=0.3).logpdf([[0.1, 0.3], [0.2, 0.4]]), POINTS),
    "kde_weights": (lambda w: stats.gaussian_kde(LINE, weights=w)(0.1), np.abs(LINE)),
    "kde_bandwidth": (lambda b: stats.gaussian_kde(LINE, bw_method=lambda _: b[0]).pdf(0.1), np.array([0.3])),
    "kde_integral": (lambda x: stats.gaussian_kde(x, "silverman").integrate_box_1d(0, 1), LINE),
    "romb": (lambda x: integrate.romb(x, dx=0.1), LINE),
    "fixed_quad": (lambda x: integrate.fixed_quad(lambda t: np.sin(t * x[0]) + x[1], 0, x[2], n=5)[0], LINE),
    "cumulative_simpson": (lambda x: integrate.cumulative_simpson(x, dx=0.1), LINE),
    "rbf": (lambda x: interpolate.Rbf(np.arange(9.0), x)([1.5, 2.5]), LINE),
    "rbf_at": (lambda q: interpolate.Rbf(np.arange(9.0), LINE, function="gaussian")(q), LINE[:3]),
}


@pytest.mark.parametrize("name", list(ESTIMATES))
def test_estimates(name):
    compared(*ESTIMATES[name])


@pytest.mark.parametrize("name", list(SIGNALS))
def test_signals(name):
    compared(SIGNALS[name], LINE)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("size", ["full", "same", "valid"])
def test_convolve2d(size, boundary):
    kernel = np.arange(6.0).reshape(2, 3)
    compared(lambda x: signal.convolve2d(x, kernel, size, boundary, 0.0), IMAGE)
    compared(lambda x: signal.correlate2d(x, kernel, size, boundary, 0.0), IMAGE)


def test_a_filter_writes_where_it_is_told():
    def loss(x):
        buffer = np.zeros((2, 9))
        ndimage.gaussian_filter1d(x, 1.0, output=buffer[1])
        return np.sum(buffer**2)

    compared(loss, LINE)


def test_what_compiled_code_takes_is_refused_by_name():
    with pytest.raises(ad.LeavesGraphError, match=r"scipy\.stats\.weightedtau.*test_kernels\.py"):
        ad.grad(lambda x: np.sum(stats.weightedtau(x, x[::-1])[0]))(LINE + 3)


def test_errors_of_scipys_stay():
    with pytest.raises(ValueError, match="padlen"):
        ad.grad(lambda x: np.sum(signal.filtfilt([1.0], [1.0, 0.5], x, padlen=50)))(LINE)
    with pytest.raises(RuntimeError, match="must match"):
        ad.grad(lambda x: np.sum(ndimage.correlate(x, np.ones((2, 2)))))(LINE)


def spread(v, k=1.0, power=2):
    return np.array([v.max() - v.mean(), k * v[0]]).sum() ** power


def bent(line, out, k=2.0):
    out[...] = line[:-2] + k * line[1:-1] ** 2 + line[2:]


def by_places(line, out):
    for j in range(len(out)):
        out[j] = line[j] * line[j + 1] - line[j + 2]


def picture(x):
    return np.outer(np.sin(np.arange(5) * x[0]), np.cos(np.arange(6) * x[1])) + x[2]


PLACES = np.cos(np.arange(30.0)).reshape(5, 6)
OWN_FILTERS = {
    "size": lambda x: ndimage.generic_filter(picture(x), spread, 3),
    "footprint": lambda x: ndimage.generic_filter(
        picture(x), spread, footprint=[[1, 0, 1], [0, 1, 1]], mode="nearest", extra_arguments=(2.0,),
        extra_keywords={"power": 1},
    ),
    "origin": lambda x: ndimage.generic_filter(
        picture(x), lambda v: v[0] * v.max(), (2, 3), mode="wrap", origin=(-1, 0)
    ),
    "lines": lambda x: ndimage.generic_filter1d(picture(x), bent, 3, axis=0, extra_keywords={"k": 1.5}),
    "places": lambda x: ndimage.generic_filter1d(picture(x), by_places, 3, mode="constant", cval=0.5, origin=1),
}  # fmt: skip


@pytest.mark.parametrize("f", OWN_FILTERS.values(), ids=OWN_FILTERS)
def test_filters_by_functions_of_ones_own(f):
    x = np.array([0.8, 1.2, 0.5])
    loss = lambda x: np.sum(f(x) * PLACES)
    wanted = [(loss(x + 1e-5 * e) - loss(x - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
    value, gradient = ad.value_and_grad(loss)(x)
    np.testing.assert_allclose(value, loss(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ad.jvp(loss, (x,), (x,))[1], gradient @ x, rtol=1e-10)
    np.testing.assert_allclose(ad.vmap(loss)(np.stack([x, 1.1 * x])), [loss(x), loss(1.1 * x)], rtol=1e-12)


def test_refusals_name_the_public_function():
    from scipy.cluster import hierarchy

    with pytest.raises(ad.LeavesGraphError, match=r"scipy\.cluster\.hierarchy\.linkage"):
        ad.grad(lambda x: hierarchy.linkage(x[:, None], "average")[-1, 2])(np.array([0.8, 1.2, 0.5]))
