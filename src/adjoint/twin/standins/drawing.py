"""Random draws whose parameters are live: location and scale are applied to a draw of the standard distribution.

From one state of a generator come the numbers that NumPy's own call would give, up to rounding. Distributions that
have no such form refuse: NumPy's code asks the parameter for its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from adjoint.core.errors import NotDifferentiableError
from adjoint.core.types import Axis, Function, ShapeLike
from adjoint.twin.standins.joining import joined
from adjoint.twin.standins.values import any_live, called_plainly, is_box, live, plainly

GENERATORS = (np.random.Generator, np.random.RandomState)


def _shape(size: Any, *parameters: Any) -> Any:
    return np.broadcast_shapes(*map(np.shape, parameters)) if size is None else plainly(size)


def _normal(g: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return loc + scale * g.standard_normal(_shape(size, loc, scale))


def _uniform(g: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    return low + (high - low) * g.random(_shape(size, low, high))


def _located(name: str) -> Function:
    def draw(g: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return loc + scale * getattr(g, name)(0.0, 1.0, _shape(size, loc, scale))

    return draw


def _lognormal(g: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    return np.exp(_normal(g, mean, sigma, size))


def _exponential(g: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return scale * g.standard_exponential(_shape(size, scale))


def _rayleigh(g: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return scale * g.rayleigh(1.0, _shape(size, scale))


def _pareto(g: Any, a: Any, size: Any = None) -> Any:
    return np.expm1(g.standard_exponential(_shape(size, a)) / a)


def _weibull(g: Any, a: Any, size: Any = None) -> Any:
    return np.power(g.standard_exponential(_shape(size, a)), 1.0 / a)


def _power(g: Any, a: Any, size: Any = None) -> Any:
    return np.power(-np.expm1(-g.standard_exponential(_shape(size, a))), 1.0 / a)


def _triangular(g: Any, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
    u = g.random(_shape(size, left, mode, right))
    width, below = right - left, mode - left
    rising = u <= plainly(below / width)
    up = left + np.sqrt(np.where(rising, u, 0.5) * width * below)
    down = right - np.sqrt(np.where(rising, 0.5, 1.0 - u) * width * (right - mode))
    return np.where(rising, up, down)


def _multivariate_normal(g: Any, mean: Any, cov: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
    if live(cov):
        raise _refusal(
            "multivariate_normal", "the covariance", "mean + np.linalg.cholesky(cov) @ rng.standard_normal(n)"
        )
    return mean + g.multivariate_normal(np.zeros(np.shape(mean)), plainly(cov), size, *args, **kwargs)


def _gamma(g: Any, shape: ShapeLike, scale: Any = 1.0, size: Any = None) -> Any:
    if live(shape):
        raise _refusal("gamma", "its shape", "adjoint.scipy.stats.gamma, for densities and quantiles")
    return scale * g.standard_gamma(plainly(shape), _shape(size, shape, scale))


def _choice(g: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, **kwargs: Any) -> Any:
    if live(p):
        raise _refusal("choice", "the probabilities", "weights @ values, for the mean")
    if not is_box(a):
        return g.choice(a, size, replace, plainly(p), **({"axis": axis} if axis else {}), **kwargs)
    drawn = g.choice(np.shape(a)[axis], size, replace, plainly(p), **kwargs)
    return np.take(a, drawn, axis=axis)


def _permutation(g: Any, x: Any, axis: int = 0) -> Any:
    return np.take(x, g.permutation(np.shape(x)[axis]), axis=axis)


def _permuted(g: Any, x: Any, *, axis: Axis = None, out: Any = None) -> Any:
    flat = np.ravel(x) if axis is None else x
    if axis is not None:
        raise _refusal("permuted", "an array along an axis", "rng.permutation(t, axis=...)")
    made = np.reshape(flat[g.permuted(np.arange(np.size(x)))], np.shape(x))
    return made if out is None else out.__setitem__(..., made)


def _shuffle(g: Any, x: Any, axis: int = 0) -> None:
    if isinstance(x, list):
        g.shuffle(x)
        return
    order = np.arange(np.shape(x)[axis])
    g.shuffle(order)
    x[...] = np.take(x, order, axis=axis)


def _refusal(name: str, what: str, instead: str) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"a draw from numpy.random's {name} has no derivative with respect to {what}. Write it as a function of draws "
        f"that do not depend on it: {instead}; or take the value only: t.detach()"
    )


_DRAWS: dict[str, Function] = {
    "normal": _normal,
    "uniform": _uniform,
    **{name: _located(name) for name in ("laplace", "logistic", "gumbel")},
    "lognormal": _lognormal,
    "exponential": _exponential,
    "rayleigh": _rayleigh,
    "pareto": _pareto,
    "weibull": _weibull,
    "power": _power,
    "triangular": _triangular,
    "multivariate_normal": _multivariate_normal,
    "gamma": _gamma,
    "choice": _choice,
    "permutation": _permutation,
    "permuted": _permuted,
    "shuffle": _shuffle,
}
METHODS = frozenset(_DRAWS)
# Those that take an array of values, which may be a constant one to write into.
_OF_ARRAYS = frozenset(("choice", "permutation", "permuted", "shuffle"))


def of_method(name: str) -> Function:
    """The stand-in of a method of NumPy's random generators, which takes the generator first."""
    ours = _DRAWS.get(name)

    def stand_in(generator: Any, /, *args: Any, **kwargs: Any) -> Any:
        args = tuple(a if isinstance(a, list) and name == "shuffle" else joined(a) for a in args)
        kwargs = {k: joined(v) for k, v in kwargs.items()}
        if ours is not None and (any_live(args, kwargs) or (name in _OF_ARRAYS and args and is_box(args[0]))):
            return ours(generator, *args, **kwargs)
        if any_live(args, kwargs):
            raise _refusal(name, "its parameters", "adjoint.scipy.stats has densities, and quantiles of uniform draws")
        return called_plainly(getattr(generator, name), args, kwargs)

    stand_in.__name__ = stand_in.__qualname__ = name
    return stand_in


def bound(original: Any) -> Function:
    """The stand-in of a method of one generator."""
    return partial(of_method(original.__name__), original.__self__)


def table() -> Iterable[tuple[Any, Function]]:
    """The methods of NumPy's random generators, and ``numpy.random``'s functions, which are methods of one."""
    for kind in GENERATORS:
        for name in dir(kind):
            original = getattr(kind, name)
            if not name.startswith("_") and callable(original):
                yield original, of_method(name)
    for name in np.random.__all__:
        original = getattr(np.random, name)
        if isinstance(getattr(original, "__self__", None), np.random.RandomState):
            yield original, bound(original)
