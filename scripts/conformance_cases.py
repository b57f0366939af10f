"""The calls of `conformance`: what to call, and how. Parameters after the function name sample arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

_rng = np.random.default_rng(7)
_square = _rng.normal(size=(3, 3))
ARRAYS = {
    "x": _rng.normal(size=7),
    "y": _rng.normal(size=7),
    "p": _rng.uniform(0.5, 2.5, 7),
    "q": _rng.uniform(0.5, 2.5, 7),
    "u": _rng.uniform(0.1, 0.9, 7),
    "t": np.sort(_rng.uniform(0.0, 3.0, 7)),
    "even": _rng.normal(size=8),
    "m": _rng.normal(size=(5, 3)),
    "n": _rng.normal(size=(5, 3)),
    "s": _rng.normal(size=(3, 3)) + 3 * np.eye(3),
    "w": _square @ _square.T + np.eye(3),
    "b": _rng.normal(size=3),
    "k": _rng.normal(size=(2, 3, 4)),
}


class Case(NamedTuple):
    library: str
    name: str
    call: Callable[..., Any]

    @property
    def inputs(self) -> tuple[str, ...]:
        code = self.call.__code__
        return code.co_varnames[1 : code.co_argcount]


Table = dict[str, Callable[..., Any]]

SCIPY: dict[str, Table] = {
    "scipy.special": {
        "erf erfc erfcx dawsn expit ndtr log_ndtr i0 i1 j0 j1 i0e i1e exprel sinc cosm1 exp10": lambda f, x: f(x),
        "gamma gammaln loggamma digamma rgamma psi entr y0 y1 k0 k1 k0e": lambda f, p: f(p),
        "spence exp1 expi wrightomega log1p": lambda f, p: f(p),
        "logit ndtri erfinv ellipk ellipe": lambda f, u: f(u),
        "xlogy xlog1py rel_entr kl_div beta betaln binom poch": lambda f, p, q: f(p, q),
        "logsumexp softmax log_softmax": lambda f, x: f(x),
        "huber": lambda f, x: f(0.5, x),
        "pseudo_huber": lambda f, p, x: f(p, x),
        "gammainc gammaincc": lambda f, p: f(1.5, p),
        "jv iv kv": lambda f, p: f(1.5, p),
        "betainc": lambda f, u: f(1.5, 2.5, u),
        "chdtr": lambda f, p: f(3.0, p),
        "stdtr": lambda f, x: f(4.0, x),
        "multigammaln": lambda f, p: f(p + 2.0, 3),
        "polygamma": lambda f, p: f(1, p),
        "zeta": lambda f, p: f(2.5, p),
    },
    "scipy.stats": {
        "zscore skew kurtosis variation sem tmean tvar tstd tsem iqr entropy": lambda f, p: f(p),
        "gmean hmean describe rankdata mode gstd kstat kstatvar": lambda f, p: f(p),
        "moment": lambda f, x: f(x, 3),
        "pmean": lambda f, p: f(p, 2.0),
        "trim_mean": lambda f, x: f(x, 0.2),
        "lmoment normaltest skewtest jarque_bera": lambda f, even: f(even * even),
        "ttest_1samp": lambda f, x: f(x, 0.3),
        "ttest_ind ttest_rel f_oneway pearsonr bartlett spearmanr kendalltau": lambda f, x, y: f(x, y),
        "linregress wasserstein_distance energy_distance": lambda f, x, y: f(x, y),
        "zmap": lambda f, x, y: f(x, y),
        "chisquare": lambda f, p: f(p),
        "combine_pvalues false_discovery_control": lambda f, u: f(u),
        "circmean circvar circstd directional_stats": lambda f, m: f(m),
        "boxcox_llf yeojohnson_llf": lambda f, p: f(0.5, p),
        "differential_entropy": lambda f, x: f(x),
        "gaussian_kde": lambda f, x: f(x)(np.array([0.1])),
    },
    "scipy.stats.norm": {"pdf logpdf cdf logcdf sf": lambda f, x: f(x), "ppf": lambda f, u: f(u)},
    "scipy.signal": {
        "fftconvolve oaconvolve convolve correlate": lambda f, x, y: f(x, y),
        "hilbert detrend": lambda f, x: f(x),
        "lfilter": lambda f, x: f([0.5, 0.2], [1.0, -0.3], x),
        "filtfilt": lambda f, x: f([0.5, 0.2], [1.0, -0.3], x, padlen=2),
        "sosfilt": lambda f, x: f(np.array([[1.0, 0.2, 0.0, 1.0, 0.1, 0.0]]), x),
        "savgol_filter": lambda f, x: f(x, 5, 2),
        "resample": lambda f, x: f(x, 5),
        "resample_poly": lambda f, x: f(x, 2, 3),
        "medfilt wiener": lambda f, x: f(x, 3),
        "periodogram welch": lambda f, even: f(even, nperseg=8) if f.__name__ == "welch" else f(even),
        "zpk2tf": lambda f, x, y: f(x[:2], y[:2], 2.0),
        "gauss_spline": lambda f, x: f(x, 2),
        "chirp": lambda f, t: f(t, 1.0, 2.0, 3.0),
        "sawtooth": lambda f, t: f(t, 0.3),
        "freqz": lambda f, x: f(x, worN=4),
    },
    "scipy.fft": {
        "fft ifft rfft fft2 fftn irfft ihfft hfft": lambda f, m: f(m),
        "dct dst idct dctn": lambda f, x: f(x),
        "fftshift ifftshift": lambda f, x: f(x),
    },
    "scipy.linalg": {
        "det inv norm expm logm sqrtm pinv svdvals": lambda f, s: f(s),
        "cholesky eigvalsh": lambda f, w: f((w + w.T) / 2),  # of symmetric matrices
        "cho_factor": lambda f, w: np.triu(f((w + w.T) / 2)[0]),  # below is what the memory held
        "eigh": lambda f, w: tuple(map(np.abs, f((w + w.T) / 2))),  # SciPy's vectors change their signs at random
        "qr lu schur eig": lambda f, s: f(s),
        "solve lstsq": lambda f, s, b: f(s, b),
        "solve_triangular": lambda f, w, b: f(w, b, lower=True),
        "toeplitz hankel circulant": lambda f, b: f(b),
        "block_diag": lambda f, s, w: f(s, w),
        "solve_sylvester": lambda f, s, w: f(s, w, w),
        "khatri_rao": lambda f, m, n: f(m, n),
    },
    "scipy.ndimage": {
        "gaussian_filter uniform_filter": lambda f, m: f(m, 1.0) if f.__name__[0] == "g" else f(m, 3),
        "sobel laplace prewitt": lambda f, m: f(m),
        "convolve correlate": lambda f, m, s: f(m, s),
        "shift zoom": lambda f, m: f(m, 0.5) if f.__name__ == "shift" else f(m, 2.0),
        "map_coordinates": lambda f, m: f(m, [[0.5, 1.2], [0.1, 1.0]]),
        "median_filter maximum_filter": lambda f, m: f(m, 3),
        "sum_labels mean center_of_mass": lambda f, m: f(m),
    },
    "scipy.integrate": {
        "trapezoid simpson cumulative_trapezoid romb": lambda f, x, t: f(x, x=t) if f.__name__ != "romb" else f(x[:5]),
        "cumulative_simpson": lambda f, x: f(x, dx=0.5),
        "quad": lambda f, b: f(lambda z: float(z * b[0]), 0.0, 1.0)[0],
        "solve_ivp odeint": lambda f, b: (
            f(lambda t, y: -y, (0.0, 1.0), b).y if f.__name__ == "solve_ivp" else f(lambda y, t: -y, b, [0.0, 1.0])
        ),
        "tanhsinh": lambda f, p: f(lambda z, a: z * a, p * 0.0, p, args=(p,)).integral,
    },
    "scipy.interpolate": {
        "CubicSpline PchipInterpolator Akima1DInterpolator": lambda f, x, t: f(t, x)(np.array([0.5, 1.0])),
        "interp1d make_interp_spline": lambda f, x, t: f(t, x)(np.array([1.0, 1.2])),
        "RBFInterpolator": lambda f, m: f(np.arange(5.0)[:, None], m)(np.array([[0.5]])),
        "BarycentricInterpolator": lambda f, x: f(np.arange(7.0), x)(np.array([0.5])),
        "RegularGridInterpolator": lambda f, m: f((np.arange(5.0), np.arange(3.0)), m)(np.array([[0.5, 0.7]])),
    },
    "scipy.optimize": {
        "rosen rosen_der rosen_hess": lambda f, x: f(x),
        "linear_sum_assignment": lambda f, s: f(s),
        "nnls": lambda f, m, x: f(m, x[:5])[0],
        "minimize": lambda f, b: f(lambda z: np.sum((z - b) ** 2), np.zeros(3), jac=lambda z: 2 * (z - b)).x,
        "approx_fprime": lambda f, b: f(b, lambda z: (z**2).sum(), 1e-3),
    },
    "scipy.spatial.distance": {
        "cdist": lambda f, m, n: f(m, n),
        "pdist": lambda f, m: f(m),
        "euclidean cosine correlation sqeuclidean cityblock chebyshev minkowski": lambda f, x, y: f(x, y),
        "braycurtis canberra jensenshannon": lambda f, p, q: f(p, q),
    },
    "scipy.spatial.transform.Rotation": {
        "from_quat": lambda f, k: f(k[0, 0]).as_matrix(),
        "from_rotvec from_mrp": lambda f, b: f(b).as_matrix(),
        "from_euler": lambda f, b: f("xyz", b).as_matrix(),
    },
    "scipy.cluster.vq": {"whiten": lambda f, m: f(m), "vq": lambda f, m, n: f(m, n[:2])},
    "scipy.cluster.hierarchy": {"linkage": lambda f, m: f(m)},
    "scipy.differentiate": {"derivative": lambda f, p: f(lambda z: z * z * z, p).df},
}

LABELS = np.array([0, 1, 1, 0, 1, 0, 1])

SKLEARN: dict[str, Table] = {
    "sklearn.metrics": {
        "mean_squared_error mean_absolute_error r2_score root_mean_squared_error": lambda f, x, y: f(x, y),
        "max_error explained_variance_score": lambda f, x, y: f(x, y),
        "mean_squared_log_error mean_tweedie_deviance mean_poisson_deviance": lambda f, p, q: f(p, q),
        "mean_gamma_deviance mean_absolute_percentage_error": lambda f, p, q: f(p, q),
        "d2_absolute_error_score mean_pinball_loss": lambda f, p, q: f(p, q),
        "log_loss brier_score_loss roc_auc_score": lambda f, u: f(LABELS, u),
    },
    "sklearn.metrics.pairwise": {
        "euclidean_distances cosine_similarity linear_kernel rbf_kernel": lambda f, m, n: f(m, n),
        "cosine_distances polynomial_kernel sigmoid_kernel laplacian_kernel": lambda f, m, n: f(m, n),
        "manhattan_distances paired_euclidean_distances paired_cosine_distances": lambda f, m, n: f(m, n),
        "chi2_kernel additive_chi2_kernel": lambda f, m, n: f(m * m, n * n),
        "pairwise_distances": lambda f, m: f(m, metric="euclidean"),
    },
    "sklearn.preprocessing": {
        "StandardScaler MinMaxScaler MaxAbsScaler": lambda f, m: f().fit(m).transform(m),
        "Normalizer PolynomialFeatures": lambda f, m: f().fit(m).transform(m),
        "KernelCenterer": lambda f, w: f().fit(w).transform(w),
        "RobustScaler QuantileTransformer PowerTransformer SplineTransformer": lambda f, m: f().fit(m).transform(m),
        "Binarizer": lambda f, m: f().fit(m).transform(m),
        "normalize scale": lambda f, m: f(m),
    },
    "sklearn.decomposition": {
        "PCA": lambda f, m: f(2, svd_solver="full").fit(m).transform(m)[:, 0] ** 2,
        "TruncatedSVD": lambda f, m: f(2, random_state=0).fit(m).transform(m),
    },
    "sklearn.linear_model": {
        "Ridge": lambda f, m, x: f(solver="svd").fit(m, x[:5]).predict(m),
        "LinearRegression": lambda f, m, x: f().fit(m, x[:5]).predict(m),
    },
    "sklearn.utils.extmath": {
        "randomized_svd": lambda f, m: f(m, 2, random_state=0)[1],
        "stable_cumsum": lambda f, x: f(x),
    },
}

EINOPS: dict[str, Table] = {
    "einops": {
        "rearrange": lambda f, k: f(k, "a b (c d) -> (a c) d b", d=2),
        "reduce": lambda f, k: [f(k, "a b c -> a c", how) for how in ("mean", "sum", "max", "min", "prod")],
        "repeat": lambda f, k: f(k, "a b c -> a (b 2) c"),
        "einsum": lambda f, k, b: f(k, b, "a b c, b -> a c"),
        "pack": lambda f, m, n: f([m, n], "* c")[0],
        "unpack": lambda f, k: f(k, [(1,), (3,)], "a b *")[1],
    },
    "einops.array_api": {
        "rearrange": lambda f, k: f(k, "a b (c d) -> (a c) d b", d=2),
        "reduce": lambda f, k: f(k, "a b c -> a c", "mean"),
        "repeat": lambda f, k: f(k, "a b c -> a (b 2) c"),
        "pack": lambda f, m, n: f([m, n], "* c")[0],
    },
}


def _grid(k: Any) -> Any:
    import xarray

    return xarray.DataArray(k, dims=("a", "b", "c"), coords={"b": [1.0, 2.0, 4.0]})


def _weighted(f: Any, k: Any, b: Any) -> Any:
    return _grid(k).weighted(_grid(k * 0 + 1.0)[0, :, 0].drop_vars("b")).mean("b")


XARRAY: Table = {
    "DataArray.sum mean max min std var prod median cumsum cumprod argmax": lambda f, k: f(_grid(k), "b"),
    "DataArray.quantile": lambda f, k: f(_grid(k), 0.3, "b"),
    "DataArray.isel": lambda f, k: f(_grid(k), b=[0, 2]),
    "DataArray.sel": lambda f, k: f(_grid(k), b=2.0),
    "DataArray.where": lambda f, k: f(_grid(k), _grid(k) > 0, 0.0),
    "DataArray.clip": lambda f, k: f(_grid(k), -0.5, 0.5),
    "DataArray.transpose": lambda f, k: f(_grid(k), "c", "a", "b"),
    "DataArray.roll": lambda f, k: f(_grid(k), b=1),
    "DataArray.shift": lambda f, k: f(_grid(k), b=1, fill_value=0.0),
    "DataArray.pad": lambda f, k: f(_grid(k), b=1, constant_values=0.0),
    "DataArray.diff integrate differentiate": lambda f, k: f(_grid(k), "b"),
    "DataArray.fillna": lambda f, k: f(_grid(k), 0.0),
    "DataArray.sortby": lambda f, k: f(_grid(k), "b", ascending=False),
    "DataArray.stack": lambda f, k: f(_grid(k), z=("a", "b")),
    "DataArray.dot": lambda f, k: f(_grid(k), _grid(k), dim="a"),
    "DataArray.copy": lambda f, k: f(_grid(k)),
    "DataArray.groupby": lambda f, k: f(_grid(k), "b").mean(),
    "DataArray.coarsen": lambda f, k: f(_grid(k), c=2).mean(),
    "DataArray.rolling": lambda f, k: f(_grid(k), c=2).mean().isel(c=slice(1, None)),
    "DataArray.interp": lambda f, k: f(_grid(k), b=1.5),
    "DataArray.weighted": lambda f, k, b: _weighted(f, k, b),
    "DataArray.to_numpy": lambda f, k: f(_grid(k)),
    "DataArray.cumulative_integrate": lambda f, k: f(_grid(k), "b"),
    "DataArray.polyfit": lambda f, k: f(_grid(k), "b", 1).polyfit_coefficients,
    "concat": lambda f, k: f([_grid(k), _grid(k)], "a"),
    "apply_ufunc": lambda f, k: f(np.tanh, _grid(k)),
    "where": lambda f, k: f(_grid(k) > 0, _grid(k), 0.0),
    "cov": lambda f, k: f(_grid(k), _grid(k), "b"),
    "corr": lambda f, k: f(_grid(k), _grid(k * k), "b"),
    "broadcast": lambda f, k: f(_grid(k), _grid(k)[0])[1],
    "Dataset.mean": lambda f, k: __import__("xarray").Dataset({"v": _grid(k)}).mean().v,
}


def cases() -> Iterator[Case]:
    for library, tables in (("SciPy", SCIPY), ("scikit-learn", SKLEARN), ("einops", EINOPS)):
        for module, table in tables.items():
            for names, call in table.items():
                for name in names.split():
                    yield Case(library, f"{module}.{name}", call)
    for names, call in XARRAY.items():
        prefix, _, rest = names.rpartition(".")
        for name in rest.split():
            yield Case("xarray", ".".join(filter(None, ("xarray", prefix, name))), call)
