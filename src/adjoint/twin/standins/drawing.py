"""Random draws whose parameters have histories: location and scale are applied to a draw of the standard distribution.

From the same state of a generator these are the numbers of NumPy's own call, up to rounding. Distributions that
have no such form refuse: NumPy's code asks the parameter for its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import NotDifferentiableError
from adjoint.core.types import Array, Axis, Function, ShapeLike, Value
from adjoint.twin.standins.of_numpy.joining import joined
from adjoint.twin.standins.values import any_live, called_plainly, is_box, live, plainly

if TYPE_CHECKING:
    from adjoint.tape.tensor import Tensor


GENERATORS = (np.random.Generator, np.random.RandomState)


def _shape(size: object, *parameters: Tensor) -> object:
    return np.broadcast_shapes(*map(np.shape, parameters)) if size is None else plainly(size)


def _normal(g: Value, loc: Value = 0.0, scale: Value = 1.0, size: object = None) -> Value:
    return loc + scale * g.standard_normal(_shape(size, loc, scale))


def _uniform(g: Value, low: Value = 0.0, high: Value = 1.0, size: object = None) -> object:
    return low + (high - low) * g.random(_shape(size, low, high))


def _located(name: str) -> Function:
    def draw(g: object, loc: Value = 0.0, scale: Value = 1.0, size: object = None) -> object:
        return loc + scale * getattr(g, name)(0.0, 1.0, _shape(size, loc, scale))

    return draw


def _lognormal(g: Value, mean: Value = 0.0, sigma: Value = 1.0, size: Value = None) -> object:
    return np.exp(_normal(g, mean, sigma, size))


def _exponential(g: Value, scale: Array = 1.0, size: object = None) -> Array:
    return scale * g.standard_exponential(_shape(size, scale))


def _rayleigh(g: Value, scale: Value = 1.0, size: object = None) -> object:
    return scale * g.rayleigh(1.0, _shape(size, scale))


def _pareto(g: Value, a: Value, size: object = None) -> object:
    return np.expm1(g.standard_exponential(_shape(size, a)) / a)


def _weibull(g: Value, a: Value, size: object = None) -> object:
    return np.power(g.standard_exponential(_shape(size, a)), 1.0 / a)


def _power(g: Value, a: Array, size: object = None) -> Array:
    return np.power(-np.expm1(-g.standard_exponential(_shape(size, a))), 1.0 / a)


def _triangular(g: Value, left: Value, mode: Value, right: Value, size: object = None) -> object:
    u = g.random(_shape(size, left, mode, right))
    width, below = right - left, mode - left
    rising = u <= plainly(below / width)
    up = left + np.sqrt(np.where(rising, u, 0.5) * width * below)
    down = right - np.sqrt(np.where(rising, 0.5, 1.0 - u) * width * (right - mode))
    return np.where(rising, up, down)


def _multivariate_normal(
    g: Value, mean: Value, cov: object, size: object = None, *args: object, **kwargs: object
) -> object:
    if live(cov):
        raise _refusal(
            "multivariate_normal", "the covariance", "mean + np.linalg.cholesky(cov) @ rng.standard_normal(n)"
        )
    return mean + g.multivariate_normal(np.zeros(np.shape(mean)), plainly(cov), size, *args, **kwargs)


def _gamma(g: Value, shape: ShapeLike, scale: Value = 1.0, size: object = None) -> object:
    if live(shape):
        raise _refusal("gamma", "its shape", "adjoint.scipy.stats.gamma, for densities and quantiles")
    return scale * g.standard_gamma(plainly(shape), _shape(size, shape, scale))


def _choice(
    g: Value, a: Value, size: Value = None, replace: bool = True, p: Value = None, axis: int = 0, **kwargs: Value
) -> object:
    if live(p):
        raise _refusal("choice", "the probabilities", "weights @ values, for the mean")
    if not is_box(a):
        return g.choice(a, size, replace, plainly(p), **({"axis": axis} if axis else {}), **kwargs)
    drawn = g.choice(np.shape(a)[axis], size, replace, plainly(p), **kwargs)
    return np.take(a, drawn, axis=axis)


def _permutation(g: Value, x: Value, axis: int = 0) -> object:
    return np.take(x, g.permutation(np.shape(x)[axis]), axis=axis)


def _permuted(g: Value, x: Value, *, axis: Axis = None, out: Value = None) -> object:
    flat = np.ravel(x) if axis is None else x
    if axis is not None:
        raise _refusal("permuted", "an array along an axis", "rng.permutation(t, axis=...)")
    made = np.reshape(flat[g.permuted(np.arange(np.size(x)))], np.shape(x))
    return made if out is None else out.__setitem__(..., made)


def _shuffle(g: Value, x: Array, axis: int = 0) -> None:
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

    def stand_in(generator: object, /, *args: object, **kwargs: object) -> Array | None:
        args = tuple(a if isinstance(a, list) and name == "shuffle" else joined(a) for a in args)
        kwargs = {k: joined(v) for k, v in kwargs.items()}
        if ours is not None and (any_live(args, kwargs) or (name in _OF_ARRAYS and args and is_box(args[0]))):
            return ours(generator, *args, **kwargs)
        if any_live(args, kwargs):
            raise _refusal(name, "its parameters", "adjoint.scipy.stats has densities, and quantiles of uniform draws")
        return called_plainly(getattr(generator, name), args, kwargs)

    stand_in.__name__ = stand_in.__qualname__ = name
    return stand_in


def bound(original: Value) -> Function:
    """The stand-in of a method of one generator."""
    return partial(of_method(original.__name__), original.__self__)


def table() -> Iterable[tuple[Value, Function]]:
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
