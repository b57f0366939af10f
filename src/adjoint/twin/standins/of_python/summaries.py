"""Stand-ins for the functions of ``statistics``, for samples that hold boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from adjoint.arrays.promotion import is_python
from adjoint.arrays.python_number import as_python
from adjoint.core.errors import LeavesGraphError
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Function, Value
from adjoint.twin.standins.of_numpy.joining import joined
from adjoint.twin.standins.values import boxed, is_box, is_open, live, plainly


def _mean(data: Value) -> object:
    return np.mean(data)


def _fmean(data: Value, weights: Value = None) -> object:
    data = data.astype(float)  # Python's numbers have 64 bits
    return np.mean(data) if weights is None else np.sum(data * joined(list(weights))) / np.sum(joined(list(weights)))


def _variance(data: Value, xbar: object = None) -> Array:
    if xbar is None:
        return np.var(data, ddof=1)
    return np.sum((data - xbar) ** 2) / (len(data) - 1)


def _pvariance(data: Value, mu: Value = None) -> Array:
    return np.var(data) if mu is None else np.mean((data - mu) ** 2)


def _at_rank(shift: float) -> Callable[[Value], Value]:
    return lambda data: np.sort(data)[int((len(data) - 1) / 2 + shift)]


def _harmonic_mean(data: Value, weights: Value = None) -> object:
    weights = np.ones(len(data)) if weights is None else joined(list(weights))
    return np.sum(weights) / np.sum(weights / data)


def _covariance(x: Value, y: Value, /) -> Value:
    y = joined(list(y))
    return np.sum((x - np.mean(x)) * (y - np.mean(y))) / (len(x) - 1)


def _correlation(x: Value, y: Value, /, **method: Value) -> object:
    y = joined(list(y))
    if method not in ({}, {"method": "linear"}):
        import statistics  # the program that calls this has imported it

        return statistics.correlation(*(plainly(detached(v)) for v in (x, y)), **method)  # of ranks, which are constant
    return _covariance(x, y) / np.sqrt(_covariance(x, x) * _covariance(y, y))


def _linear_regression(x: Value, y: Value, /, *, proportional: bool = False) -> object:
    import statistics  # the program that calls this has imported it

    y = joined(list(y))
    if proportional:
        return statistics.LinearRegression(np.sum(x * y) / np.sum(x * x), 0.0)
    slope = _covariance(x, y) / _covariance(x, x)
    return statistics.LinearRegression(slope, np.mean(y) - slope * np.mean(x))


_OURS: dict[str, Function] = {
    "mean": _mean,
    "fmean": _fmean,
    "variance": _variance,
    "pvariance": _pvariance,
    "stdev": lambda data, xbar=None: np.sqrt(_variance(data, xbar)),
    "pstdev": lambda data, mu=None: np.sqrt(_pvariance(data, mu)),
    "median": lambda data: np.median(data),
    "median_low": _at_rank(0.0),
    "median_high": _at_rank(0.5),
    "geometric_mean": lambda data: np.exp(np.mean(np.log(data))),
    "harmonic_mean": _harmonic_mean,
    "covariance": _covariance,
    "correlation": _correlation,
    "linear_regression": _linear_regression,
    "_mean_stdev": lambda data: (np.mean(data), np.sqrt(np.var(data, ddof=1))),  # of NormalDist.from_samples
}


def stand_in_for(original: Function) -> Function | None:
    """The stand-in of a function of ``statistics``; None if the function takes no boxes."""
    if original.__name__ == "_exact_ratio":
        return lambda x: _ratio(original, x)
    ours = _OURS.get(original.__name__)
    if ours is None:
        return None

    def stand_in(*args: object, **kwargs: object) -> Array:
        args = tuple(a if not isinstance(a, Iterable) or _is_number(a) else list(a) for a in args)
        if not any(map(boxed, (*args, *kwargs.values()))):
            return original(*args, **kwargs)
        items = [x for a in args if isinstance(a, list) for x in a if is_box(x)]
        if all(map(is_open, items)):  # its errors, for too few values and the like
            original(*map(plainly, args), **{k: plainly(v) for k, v in kwargs.items()})
        first = joined(args[0])
        found = ours(first if is_box(first) else np.asarray(first), *args[1:], **kwargs)
        python = all(is_python(x) for a in args if isinstance(a, list) for x in a)
        return as_python(found) if python and is_box(found) else found

    stand_in.__name__ = stand_in.__qualname__ = original.__name__
    return stand_in


def _ratio(original: Function, x: Value) -> object:
    """The terms of exact sums: whole numbers, which have no derivative."""
    if live(x):
        raise LeavesGraphError("this function of statistics adds fractions, which have no derivative; take NumPy's")
    return original(plainly(x))


def quantile_of_normal(original: Function) -> Function:
    """The stand-in of what computes ``NormalDist.inv_cdf``."""

    def stand_in(p: Value, mu: Value, sigma: Value) -> Value:
        if not any(map(live, (p, mu, sigma))):
            return original(plainly(p), plainly(mu), plainly(sigma))
        import scipy.special  # only where such a distribution meets a tensor

        return mu + sigma * scipy.special.ndtri(p)

    return stand_in


def _is_number(x: Value) -> bool:
    return is_box(x) and not x.shape
