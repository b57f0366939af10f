"""Compiled calls with settings that change what NumPy and SciPy give, and of containers beside arrays."""

import array
import collections
import decimal
import fractions
import functools
import io
import itertools
import statistics
import types

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import interpolate, linalg, ndimage, signal, special, stats
from scipy.spatial.transform import Rotation

import adjoint as ad

X = np.array([1.3, 0.7, 2.1, 0.4])
M = np.arange(12.0).reshape(3, 4)
SETTINGS = (
    lambda x: np.array(x, ndmin=3),
    lambda x: np.array(x, subok=True, copy=None),
    lambda x: np.unique(np.round(x), return_counts=True)[0],
    lambda x: np.histogram(x, bins=3, density=True)[0],
    lambda x: np.histogram(x, bins=[0, 1, 2, 3], weights=x)[0],
    lambda x: np.linspace(x[0], x[1], 5, retstep=True)[1],
    lambda x: np.linspace(x, x * 2, 3, axis=1, endpoint=False),
    lambda x: np.meshgrid(x, x[:2], indexing="ij", sparse=True)[0],
    lambda x: np.round(x * 100, -1),
    lambda x: np.quantile(x, [0.1, 0.5], method="hazen"),
    lambda x: np.quantile(x, 0.3, weights=x, method="inverted_cdf"),
    lambda x: np.cov(M * x, ddof=0, fweights=[1, 2, 1, 1]),
    lambda x: np.average(M, weights=x, axis=1, returned=True)[1],
    lambda x: np.gradient(x**2, x.cumsum(), edge_order=2),
    lambda x: np.interp([-1, 0.5, 9], [0, 1, 2, 3], x, left=-1, right=x[0]),
    lambda x: np.interp([5.5], [0, 1, 2, 3], x, period=4),
    lambda x: np.unwrap(x * 3, period=2.0),
    lambda x: np.nan_to_num(np.log(x - 1), nan=7.0, posinf=x[0]),
    lambda x: x.clip(min=0.5),
    lambda x: np.clip(x, None, x[0]),
    lambda x: np.searchsorted(np.sort(x)[::-1], 1.0, sorter=[3, 2, 1, 0]),
    lambda x: np.take(x, [5, -7], mode="wrap"),
    lambda x: np.choose([5, 0, 1, 2], [x, x * 2], mode="clip"),
    lambda x: np.diff(x, prepend=x[:1] * 2, append=1.0),
    lambda x: np.pad(x, (1, 2), mode="linear_ramp", end_values=(x[0], 5)),
    lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd"),
    lambda x: np.mean(x, where=x > 0.5),
    lambda x: np.var(x, ddof=1, mean=x[0] * np.ones(1)),
    lambda x: np.max(x, where=x < 2, initial=-1),
    lambda x: np.sum(x, initial=x[0]),
    lambda x: np.prod(x, dtype=np.float32),
    lambda x: np.cumsum(x, dtype=np.float32),
    lambda x: np.einsum("i,j->ij", x, x, order="F", dtype=np.float32),
    lambda x: np.tril(np.outer(x, x), -1),
    lambda x: np.vander(x, 3, increasing=True),
    lambda x: np.polyfit(np.arange(4), x, 1, w=[1, 2, 1, 1], cov=True)[1],
    lambda x: np.linalg.norm(M * x, ord="nuc"),
    lambda x: np.linalg.lstsq(M.T, x, rcond=0.1)[0],
    lambda x: np.linalg.svd(M * x, compute_uv=False),
    lambda x: np.linalg.eigh(np.outer(x, x) + np.eye(4), UPLO="U")[0],
    lambda x: np.linalg.qr(M * x + np.eye(3, 4), mode="r"),
    lambda x: np.fft.fft(x, n=6, norm="ortho").real,
    lambda x: np.fft.irfft(x, n=5),
    lambda x: np.convolve(x, x[:2], mode="same"),
    lambda x: np.argsort(x, kind="stable")[::-1],
    lambda x: np.partition(x, -2)[-2:],
    lambda x: np.roll(np.outer(x, x), (1, 2), (0, 1)),
    lambda x: np.rot90(np.outer(x, x), 3, (1, 0)),
    lambda x: np.tensordot(M * x, M, axes=([0, 1], [0, 1])),
    lambda x: np.insert(x, [1, 3], x[0]),
    lambda x: np.delete(x, np.s_[::2]),
    lambda x: np.repeat(x, [1, 0, 2, 1]),
    lambda x: np.array_split(x, 3)[1],
    lambda x: np.isclose(x, 1.3, rtol=0.6, equal_nan=True),
    lambda x: np.allclose(x, 1.3),
    lambda x: np.piecewise(x, [x < 0.5, x > 2], [0, lambda v: v**2, -1]),
    lambda x: np.select([x > 2, x > 1], [x, 2 * x], default=x[0]),
    lambda x: x.astype(int) // 2,
    lambda x: np.float32(x[0]) * x,
    lambda x: divmod(x[0], x[1])[0],
    lambda x: np.digitize(x, [0.5, 1, 2], right=True),
    lambda x: np.trapezoid(x, dx=0.5),
    lambda x: np.cumulative_sum(x, include_initial=True),
    lambda x: np.kron(x[:2], x[2:]),
    lambda x: np.apply_along_axis(lambda r: r / r.max(), 0, M * x),
    lambda x: np.ediff1d(x, to_end=x[0]),
    lambda x: np.cross(x[:3], x[1:]),
    lambda x: np.moveaxis(np.ones((2, 3, 4)) * x, [0, 1], [-1, 0]),
    lambda x: np.percentile(M * x, [20, 80], axis=1, keepdims=True, method="lower"),
    lambda x: np.nanpercentile(np.where(x > 2, np.nan, x), 40),
    lambda x: ndimage.gaussian_filter1d(x, 1.0, order=1, mode="wrap"),
    lambda x: ndimage.shift(x, 0.4, order=1, cval=2.0),
    lambda x: signal.savgol_filter(np.tile(x, 3), 5, 2, deriv=1, delta=0.5, mode="constant"),
    lambda x: signal.lfilter([1, 0.5], [1, -0.2], x, zi=[x[0]])[0],
    lambda x: signal.resample_poly(x, 3, 2, padtype="line"),
    lambda x: signal.detrend(x, type="constant", bp=2),
    lambda x: special.logsumexp(x, b=[1, 2, -0.1, 1]),
    lambda x: stats.zscore(x, ddof=1),
    lambda x: interpolate.interp1d(np.arange(4), x, kind="quadratic", fill_value="extrapolate")(4.5),
    lambda x: interpolate.CubicSpline(np.arange(4), x, bc_type=((1, 0.0), (2, x[0])))(0.3),
    lambda x: linalg.solve(np.outer(x, x) + np.eye(4) * 3, x, assume_a="pos"),
    lambda x: linalg.eigh(np.outer(x, x), eigvals_only=True, subset_by_index=[2, 3]),
    lambda x: stats.trim_mean(x, 0.25),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, 2)[::2],
    lambda x: np.block([[x[:1], x[1:2]], [np.zeros((1, 2))]]),
    lambda x: np.bincount([0, 2, 2, 1], x, minlength=5),
    lambda x: np.unravel_index(int(x[0] * 3), (2, 9))[1] * x[0],
    lambda x: np.add.reduceat(x, [0, 2]),
    lambda x: np.maximum.accumulate(x),
    lambda x: np.multiply.outer(x, x[:2]),
    lambda x: np.frexp(x)[1],
    lambda x: np.ldexp(x, 2),
    lambda x: np.float_power(x, 2),
    lambda x: np.nextafter(x, 9) - x,
    lambda x: np.spacing(x),
    lambda x: np.signbit(x - 1),
    lambda x: np.copysign(x, x - 1),
    lambda x: f"{x[0]:.3f}",
    lambda x: f"{x}",
    lambda x: sorted(x.tolist())[0],
    lambda x: max(x, key=lambda v: -v),
    lambda x: {round(float(v), 1) for v in x}.__len__() * x,
    lambda x: x.tobytes()[:4],
    lambda x: str(x.dtype) + str(x.flags.c_contiguous),
    lambda x: np.array_repr(x),
    lambda x: dict(zip("abcd", x, strict=True))["b"],
    lambda x: np.sort_complex(x + 1j * x[::-1]),
    lambda x: np.angle(x + 1j, deg=True),
    lambda x: np.real_if_close(x + 0j),
    lambda x: np.vectorize(lambda v: v if v > 1 else -v, otypes=[np.float32])(x),
    lambda x: np.fromfunction(lambda i, j: i * x[0] + j, (2, 2), dtype=np.float32),
    lambda x: np.geomspace(x[0], x[2], 4),
    lambda x: np.logspace(0, x[0], 3, base=x[1]),
    lambda x: np.arange(0, x[2], 0.5),
    lambda x: np.tri(3, k=int(x[0])) * x[0],
    lambda x: np.array(["a", x[0]]),
    lambda x: np.char.add(np.array(["a"]), str(x[0])),
    lambda x: np.datetime64("2020-01-01") + np.timedelta64(int(x[0] * 10), "D"),
    lambda x: np.busday_count("2020-01-01", np.datetime64("2020-01-01") + int(x[0] * 10)) * x[0],
    lambda x: np.packbits(x > 1),
    lambda x: np.bitwise_and((x * 4).astype(int), 3),
    lambda x: np.isin(x, [1.3, 0.7], invert=True),
    lambda x: np.intersect1d(x, [1.3, 0.7]),
)
CONTAINERS = (
    lambda x: np.asmatrix(np.outer(x, x)) * np.asmatrix(M.T @ M),
    lambda x: np.matrix([[x[0], x[1]], [x[2], x[3]]]) ** 2,
    lambda x: np.poly1d(x)(2.0),
    lambda x: np.poly1d(x).deriv().coeffs,
    lambda x: (np.poly1d(x) * np.poly1d([1, x[0]])).c,
    lambda x: np.polynomial.Polynomial(x).roots().real,
    lambda x: np.ma.masked_greater(x, 1.0).mean(),
    lambda x: np.ma.array(x, mask=x > 1).filled(0),
    lambda x: sp.diags(x).toarray() @ x,
    lambda x: sp.csr_matrix(np.outer(x, x)).sum(1),
    lambda x: sp.csr_array((x, ([0, 1, 2, 3], [3, 2, 1, 0]))) @ x,
    lambda x: Rotation.from_rotvec(x[:3]).as_matrix(),
    lambda x: Rotation.from_euler("z", x[0]).apply(x[1:]),
    lambda x: stats.norm(x[0], x[1]).ppf([0.1, 0.5]),
    lambda x: interpolate.BSpline([0, 0, 0, 1, 2, 2, 2], x, 2)(0.7),
    lambda x: collections.namedtuple("N", "a b")(*x[:2])._replace(a=x[3]).a,
    lambda x: collections.ChainMap({"a": x[0]}, {"b": x[1]})["b"],
    lambda x: fractions.Fraction(float(x[0])).limit_denominator(7) * 1.0,
    lambda x: float(decimal.Decimal(float(x[0])).quantize(decimal.Decimal("0.1"))),
    lambda x: statistics.median(x.tolist()),
    lambda x: array.array("d", x)[1] * 2,
    lambda x: types.SimpleNamespace(a=x[0]).a * 2,
    lambda x: functools.reduce(lambda a, b: a * b, x),
    lambda x: list(itertools.accumulate(x, max))[-1],
    lambda x: sum(np.nditer(x)),
    lambda x: list(np.nditer(x, flags=["c_index"]))[2] * 1,
    lambda x: next(np.ndenumerate(x))[1],
    lambda x: np.frombuffer(x.tobytes()).sum(),
    lambda x: memoryview(np.ascontiguousarray(x))[1],
    lambda x: x.view(np.int64)[0],
    lambda x: np.ndarray(2, buffer=x.copy())[1],
    lambda x: hash(float(x[0])),
    lambda x: float(x[0]).hex(),
    lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 16)),
    lambda x: np.random.default_rng(0).normal(x[0], x[1]),
    lambda x: np.random.RandomState(1).rand(2) * x[:2],
    lambda x: np.random.default_rng(0).permutation(x),
    lambda x: np.random.default_rng(0).choice(4, p=x / x.sum()),
    lambda x: np.loadtxt(io.StringIO(f"{x[0]} 2")),
    lambda x: np.savetxt((b := io.StringIO()), x, fmt="%.2f") or b.getvalue(),
    lambda x: eval("v*2", {"v": x[0]}),
    lambda x: x.sum(),
    lambda x: x.dtype.name,
    lambda x: x.base is None,
    lambda x: np.shares_memory(x, x[1:]),
    lambda x: np.dtype([("a", float)]).itemsize * x,
    lambda x: np.void(b"ab").tobytes(),
    lambda x: np.lexsort((x, x > 1)),
)


def said(f, x):
    """What a call gives or raises."""
    try:
        return f(x)
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")  # NumPy's, of values that are looked at on purpose
@pytest.mark.parametrize("at", range(len(SETTINGS) + len(CONTAINERS)))
def test_values_are_the_plain_ones(at):
    f = (*SETTINGS, *CONTAINERS)[at]
    compiled = ad.compile(f)
    for factor in (1.0, 1.7, 0.4, 1.0, 2.2):
        with np.errstate(all="ignore"):
            found, wanted = said(compiled, factor * X), said(f, factor * X)
        assert type(found) is type(wanted)
        if isinstance(wanted, str | bytes | tuple | type):
            assert found == wanted
            continue
        a, b = np.asarray(found), np.asarray(wanted)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=1e-5 if b.dtype.itemsize == 4 else 1e-11, atol=1e-12)
        else:
            np.testing.assert_array_equal(a, b)
