"""What compiled code of SciPy's filters and estimates does, in NumPy's operations; the Python around it is followed.

Each function has the name and the arguments of the compiled one, and writes into `output` as that does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adjoint.core.box import raw, varies
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Function, ShapeLike, Value
from adjoint.scipy import resampling
from adjoint.scipy.arrays import plain
from adjoint.scipy.interpolate.scattered import coordinates
from adjoint.scipy.linalg.solving import solve_triangular
from adjoint.scipy.signal.convolution import convolve, correlate
from adjoint.scipy.special import logsumexp
from adjoint.twin.follow import callee

# What lies beyond the border, by the numbers that SciPy's Python makes of the modes' names.
_BORDERS = {0: "edge", 1: "wrap", 2: "symmetric", 3: "reflect", 4: "constant", 5: "wrap", 6: "constant"}


def _around(x: Array, sizes: Sequence[int], origins: Sequence[int], mode: int, cval: Array) -> Array:
    """`x` with what windows of these sizes see beyond its border."""
    width = [(n // 2 + origin, n - n // 2 - 1 - origin) for n, origin in zip(sizes, origins, strict=True)]
    return _padded(x, width, _BORDERS[int(mode)], cval)


def _padded(x: Array, width: Value, border: Value, value: Array) -> Array:
    return np.pad(x, width, border, **({"constant_values": value} if border == "constant" else {}))


def _along(axis: int, ndim: int, value: int, other: int) -> list[int]:
    return [value if i == axis else other for i in range(ndim)]


def _correlate1d(
    input: Array, weights: Array, axis: int, output: Array, mode: int, cval: Array, origin: int
) -> None:  # fmt: skip
    ndim, size = np.ndim(input), np.size(weights)
    padded = _around(input, _along(axis, ndim, size, 1), _along(axis, ndim, origin, 0), mode, cval)
    weights = np.reshape(weights, _along(axis, ndim, size, 1))
    output[...] = correlate(padded, weights, mode="valid", method="direct")


def _correlate(input: Array, weights: Array, output: Array, mode: int, cval: Array, origins: Sequence[int]) -> None:
    padded = _around(input, np.shape(weights), origins, mode, cval)
    output[...] = correlate(padded, weights, mode="valid", method="direct")


def _uniform_filter1d(
    input: Array, size: int, axis: int, output: Array, mode: int, cval: Array, origin: int
) -> None:  # fmt: skip
    _correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def _min_or_max_filter1d(
    input: Array, size: int, axis: int, output: Array, mode: int, cval: Array, origin: int, minimum: int
) -> None:  # fmt: skip
    ndim = np.ndim(input)
    padded = _around(input, _along(axis, ndim, size, 1), _along(axis, ndim, origin, 0), mode, cval)
    seen = np.lib.stride_tricks.sliding_window_view(padded, size, axis)
    output[...] = np.min(seen, axis=-1) if minimum else np.max(seen, axis=-1)


def _seen(input: Array, footprint: Array, mode: int, cval: Array, origins: Sequence[int]) -> Array:
    """The elements that a footprint covers at each place, along the last axis."""
    footprint = np.asarray(footprint, dtype=bool)
    padded = _around(input, footprint.shape, origins, mode, cval)
    windows = np.lib.stride_tricks.sliding_window_view(padded, footprint.shape)
    return np.reshape(windows, (*np.shape(input), footprint.size))[..., np.flatnonzero(footprint)]


def _min_or_max_filter(
    input: Array, footprint: Array, structure: Array, output: Array, mode: int, cval: Array, origins: Sequence[int],
    minimum: int,
) -> None:  # fmt: skip
    seen = _seen(input, footprint, mode, cval, origins)
    if structure is not None:
        shift = np.asarray(structure)[np.asarray(footprint, dtype=bool)]
        seen = seen - shift if minimum else seen + shift
    output[...] = np.min(seen, axis=-1) if minimum else np.max(seen, axis=-1)


def _rank_filter(
    input: Array, rank: int, footprint: Array, output: Array, mode: int, cval: Array, origins: Sequence[int]
) -> None:  # fmt: skip
    output[...] = np.sort(_seen(input, footprint, mode, cval, origins), axis=-1)[..., rank]


def _rank_filter_of_line(
    input: Array, rank: int, size: int, output: Array, mode: int, cval: Array, origin: int
) -> None:  # fmt: skip
    _rank_filter(input, rank, np.ones(size, dtype=bool), output, mode, cval, (origin,))


def _generic_filter(
    input: Array, function: Function, footprint: Array, output: Array, mode: int, cval: Array, origins: Sequence[int],
    more: Sequence[object], words: Mapping[str, object],
) -> None:  # fmt: skip
    seen = _seen(input, footprint, mode, cval, origins).astype(float)
    function, _ = callee(function, seen)
    for place in np.ndindex(np.shape(output)):
        output[place] = function(seen[place], *more, **words)


def _generic_filter1d(
    input: Array, function: Function, size: int, axis: int, output: Array, mode: int, cval: Array, origin: int,
    more: Sequence[object], words: Mapping[str, object],
) -> None:  # fmt: skip
    ndim = np.ndim(input)
    padded = _around(input, _along(axis, ndim, size, 1), _along(axis, ndim, origin, 0), mode, cval).astype(float)
    function, _ = callee(function, padded)
    lines = np.moveaxis(padded, axis, -1)
    for place in np.ndindex(np.shape(lines)[:-1]):
        line = np.zeros(np.shape(input)[axis], like=lines)
        function(lines[place], line, *more, **words)
        output[(*place[:axis], slice(None), *place[axis:])] = line


def _order_filter(a: Array, domain: Array, rank: int) -> Array:
    return np.sort(_seen(a, domain, 4, 0.0, (0,) * np.ndim(a)), axis=-1)[..., rank]


def _medfilt2d(image: Array, size: ShapeLike) -> Array:
    return _order_filter(image, np.ones(size), int(np.prod(size)) // 2)


_SIZES = {0: "valid", 1: "same", 2: "full"}
_BOUNDARIES = {0: "constant", 4: "symmetric", 8: "wrap"}


def _convolve2d(in1: Array, in2: Array, flip: int, size: int, boundary: int, fill: Array) -> Array:
    kernel = in2 if flip else in2[::-1, ::-1]
    m, n = np.shape(kernel)
    around = _padded(in1, ((m - 1, m - 1), (n - 1, n - 1)), _BOUNDARIES[int(boundary)], fill)
    full = convolve(around, kernel, mode="valid", method="direct")
    if _SIZES[int(size)] == "full":
        return full
    if _SIZES[int(size)] == "same":
        top, left = ((m - 1) // 2, (n - 1) // 2) if flip else (m // 2, n // 2)
        return full[top : top + in1.shape[0], left : left + in1.shape[1]]
    return full[m - 1 : full.shape[0] - m + 1, n - 1 : full.shape[1] - n + 1]


def upfirdn(
    h: Array, x: Array, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Array = 0
) -> Array:
    """`scipy.signal.upfirdn`: zeros put between the samples, a filter, and every `down`-th sample kept."""
    if mode != "constant" or cval:
        raise NotSupportedError("upfirdn: with a tensor the signal goes on by zeros: mode='constant', cval=0")
    x = np.moveaxis(x, axis, -1)
    spread = np.zeros((*x.shape[:-1], (x.shape[-1] - 1) * up + 1), np.result_type(x, np.float32), like=x)
    spread[..., ::up] = x
    h = np.reshape(h, (1,) * (np.ndim(x) - 1) + np.shape(h))
    return np.moveaxis(convolve(spread, h, method="direct")[..., ::down], -1, axis)


def _kernel_estimate(points: Array, values: Array, queries: Array, root: Array, dtype: object) -> Array:
    return np.exp(_kernel_estimate_log(points, values, queries, root, dtype))


def _kernel_estimate_log(points: Array, values: Array, queries: Array, root: Array, dtype: object) -> Array:
    """The logarithm of the sum of normal densities around `points` at `queries`; `root` is the covariance's."""
    white = solve_triangular(root, np.transpose(points), lower=True)
    asked = solve_triangular(root, np.transpose(queries), lower=True)
    apart = np.sum((asked[:, :, None] - white[:, None, :]) ** 2, axis=0)
    scale = np.sum(np.log(np.diagonal(root))) + len(root) / 2 * np.log(2 * np.pi)
    return logsumexp(-0.5 * apart[:, :, None], axis=1, b=values[None]) - scale


def _siegelslopes(y: Array, x: Array, method: str) -> tuple[Array, Array]:
    """Medians of the medians of the slopes through each point."""
    n = np.shape(x)[0]
    across, up = x[:, None] - x, y[:, None] - y
    none = np.equal(raw(across), 0)
    counts = np.sum(~none, axis=1)
    if varies(none) or np.any(counts != n - 1):
        rows = [np.flatnonzero(~row) for row in none]
    else:
        rows = [np.delete(np.arange(n), j) for j in range(n)]  # for all samples of a vmap
    slope = np.median(np.stack([np.median(up[j, i] / across[j, i]) for j, i in enumerate(rows)]))
    if method != "separate":
        return slope, np.median(y - slope * x)
    apart = [np.median((y * x[j] - y[j] * x)[i] / across[j, i]) for j, i in enumerate(rows)]
    return slope, np.median(np.stack(apart))


def _pool(x: Array, w: Array, r: Array) -> tuple[Array, Array, Array, int]:
    """Isotonic regression: blocks, which are constant, and the mean of each."""
    if varies(x) or varies(w):
        raise NotSupportedError(
            "scipy.optimize.isotonic_regression gives another number of blocks for each sample of ad.vmap; "
            "call it for one sample after another"
        )
    pava = sys.modules["scipy.optimize._pava_pybind"].pava  # whoever calls this has loaded it
    _, _, r, blocks = pava(np.array(plain(x)), np.array(plain(w)), r)
    at = np.repeat(np.arange(blocks), np.diff(r[: blocks + 1]))
    total = np.bincount(at, w)
    return (np.bincount(at, w * x) / total)[at], np.concatenate([total, w[blocks:]]), r, blocks


def _integrator(*args: object, **kwargs: object) -> None:
    """The compiled solvers that `ode` and `LSODA` step by, which end the process if a state cannot be read."""
    raise NotSupportedError(
        "scipy.integrate.ode, and LSODA called by hand, step in compiled code, which takes numbers only. Use "
        "scipy.integrate.solve_ivp(fun, (t0, t1), y0, method=..., t_eval=...) or odeint, which are differentiated"
    )


#: By module and name of what is compiled.
KERNELS: Mapping[tuple[str, str], Callable[..., Array | None]] = {
    ("scipy.ndimage._nd_image", "correlate1d"): _correlate1d,
    ("scipy.ndimage._nd_image", "correlate"): _correlate,
    ("scipy.ndimage._nd_image", "uniform_filter1d"): _uniform_filter1d,
    ("scipy.ndimage._nd_image", "min_or_max_filter1d"): _min_or_max_filter1d,
    ("scipy.ndimage._nd_image", "min_or_max_filter"): _min_or_max_filter,
    ("scipy.ndimage._nd_image", "rank_filter"): _rank_filter,
    ("scipy.ndimage._rank_filter_1d", "rank_filter"): _rank_filter_of_line,
    ("scipy.ndimage._nd_image", "generic_filter"): _generic_filter,
    ("scipy.ndimage._nd_image", "generic_filter1d"): _generic_filter1d,
    ("scipy.ndimage._nd_image", "spline_filter1d"): resampling.spline_filter1d,
    ("scipy.ndimage._nd_image", "geometric_transform"): resampling.geometric_transform,
    ("scipy.ndimage._nd_image", "zoom_shift"): resampling.zoom_shift,
    ("scipy.stats._stats", "gaussian_kernel_estimate"): _kernel_estimate,
    ("scipy.stats._stats", "gaussian_kernel_estimate_log"): _kernel_estimate_log,
    ("scipy.signal._sigtools", "_order_filterND"): _order_filter,
    ("scipy.signal._sigtools", "_medfilt2d"): _medfilt2d,
    ("scipy.signal._sigtools", "_convolve2d"): _convolve2d,
    ("scipy.signal._upfirdn", "upfirdn"): upfirdn,
    ("scipy.stats._stats_pythran", "siegelslopes"): _siegelslopes,
    ("scipy._lib.array_api_compat.numpy.linalg", "solve"): np.linalg.solve,
    ("scipy.optimize._pava_pybind", "pava"): _pool,
    ("scipy.integrate._odepack", "lsoda"): _integrator,
    **{("scipy.integrate._vode", name): _integrator for name in ("dvode", "zvode")},
    **{("scipy.integrate._dop", name): _integrator for name in ("dopri5", "dopri853")},
    ("scipy.interpolate._interpnd", "_ndim_coords_from_arrays"): coordinates,
}
