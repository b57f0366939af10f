"""What a distribution is: a few formulas for its standard form, from which the rest follows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, NotDifferentiableError, NotSupportedError
from adjoint.core.protocol import in_graph
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import array, constants


class Frozen:
    """A distribution with its parameters: ``norm(1.0, 2.0).logpdf(x)``."""

    def __init__(self, distribution: Array, args: tuple[Array, ...], kwds: dict[str, Value]) -> None:
        self.distribution, self.args, self.kwds = distribution, args, kwds

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, getattr(self.distribution, name))

    def _call(self, method: Function, x: Array) -> Array:
        return method(x, *self.args, **self.kwds)

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwds.items())]
        return f"{self.distribution.name}({', '.join(given)})"


@dataclass(frozen=True, eq=False)
class Distribution:
    """A family of distributions on the real line.

    Attributes:
        name: SciPy's.
        log_density: of a standard variable ``z`` and shape parameters.
        shapes: names of the shape parameters; each must be positive, unless `valid` says otherwise.
        low, high: the ends of the support, numbers or functions of the shape parameters.
        cumulative, survival: the probabilities below and above ``z``; one follows from the other.
        log_cumulative, log_survival: their logarithms, where there is something better than that.
        has_scale: discrete ones have no `scale`.

    Example:
        >>> import adjoint as ad
        >>> from adjoint.scipy import stats
        >>> ad.grad(lambda mean: stats.norm.logpdf(1.0, mean, 2.0))(0.0)
        np.float64(0.25)
    """

    name: str
    log_density: Function
    shapes: tuple[str, ...] = ()
    low: Array = -np.inf
    high: Array = np.inf
    cumulative: Function | None = None
    survival: Function | None = None
    log_cumulative: Function | None = None
    log_survival: Function | None = None
    valid: Function | None = None
    has_scale: bool = True

    def __call__(self, *args: Array, **kwds: Value) -> Frozen:
        """The distribution with these parameters."""
        return Frozen(self, args, kwds)

    def __repr__(self) -> str:
        return f"<distribution {self.name}({', '.join(self._names)})>"

    def __getattr__(self, name: str) -> NoReturn:
        if name[:1] == "_":
            raise AttributeError(name)
        raise AttributeError(
            f"{self.name} of adjoint.scipy has no {name}; it has logpdf, pdf, cdf, sf, logcdf and logsf, or logpmf "
            f"and pmf. Compute {name} from numbers, scipy.stats.{self.name}.{name}(…), or by a formula of NumPy's"
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.shapes, "loc", "scale") if self.has_scale else (*self.shapes, "loc")

    def _standard(self, x: Array, args: tuple[Array, ...], kwds: dict[str, Value]) -> tuple[Array, list[Array], Array]:
        """The standard variable, the shape parameters, the scale."""
        given = dict(zip(self._names, args, strict=False))
        twice = [k for k in kwds if k in given or k not in self._names]
        missing = [k for k in self.shapes if k not in given and k not in kwds]
        if twice or missing or len(args) > len(self._names):
            raise ArgumentError(f"{self.name} takes ({', '.join(('x', *self._names))}); got {len(args)} positional and "
                                f"{', '.join(kwds) or 'no'} named parameters")  # fmt: skip
        given |= kwds
        loc, scale = array(given.get("loc", 0.0)), array(given.get("scale", 1.0))
        z = array(x)
        z = z - loc if "loc" in given else z
        z = z / scale if "scale" in given else z
        return z, [array(given[k]) for k in self.shapes], scale

    def _ends(self, shapes: list[Array]) -> list[Array]:
        return [constants(end(*shapes)) if callable(end) else end for end in (self.low, self.high)]

    def _well(self, shapes: list[Array], scale: Array) -> Array:
        """Whether the parameters make a distribution."""
        well = np.greater(constants(scale), 0)
        if self.valid is not None:
            return np.logical_and(well, self.valid(*map(constants, shapes)))
        for s in shapes:
            well = np.logical_and(well, np.greater(constants(s), 0))
        return well

    def _inside(self, z: Array, shapes: list[Array]) -> tuple[Array, Array, Array]:
        """Where `z` is below and above the support; and `z` with a point of the support in those places."""
        low, high = self._ends(shapes)
        values = constants(z)
        below, above = np.less(values, low), np.greater(values, high)
        if not np.any(raw(below) | raw(above)):
            return below, above, z
        # Selected before any formula sees it: a gradient of 0 times infinity would be nan.
        within = np.where(np.isinf(high), low + 1.0, (low + high) / 2) if np.all(np.isfinite(raw(low))) else high - 1.0
        return below, above, np.where(np.logical_or(below, above), within.astype(values.dtype), z)

    def _cast(self, result: Array, *arrays: Array) -> Array:
        return result.astype(np.result_type(*arrays), copy=False)[()]

    def logpdf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        """The logarithm of the density at `x`; parameters broadcast against it."""
        z, shapes, scale = self._standard(x, args, kwds)
        below, above, inner = self._inside(z, shapes)
        with np.errstate(divide="ignore", invalid="ignore"):
            result = self.log_density(inner, *shapes)
            if "scale" in kwds or len(args) == len(self._names):
                result = result - np.log(scale)
        result = self._chosen(np.logical_or(below, above), -np.inf, result)
        return self._cast(self._chosen(np.logical_not(self._well(shapes, scale)), np.nan, result), z, *shapes, scale)

    @staticmethod
    def _chosen(where: Array, value: Array, otherwise: Array) -> Array:
        return np.where(where, value, otherwise) if np.any(raw(where)) else otherwise

    def pdf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        """The density at `x`."""
        return np.exp(self.logpdf(x, *args, **kwds))

    def _probability(self, x: Array, args: Array, kwds: Array, formula: Function, ends: tuple[float, float]) -> Array:
        z, shapes, scale = self._standard(x, args, kwds)
        below, above, inner = self._inside(z, shapes)
        with np.errstate(divide="ignore"):
            result = formula(inner, *shapes)
        result = self._chosen(above, ends[1], self._chosen(below, ends[0], result))
        return self._cast(self._chosen(np.logical_not(self._well(shapes, scale)), np.nan, result), z, *shapes, scale)

    def _either(self, name: str, formula: Function | None, other: Function | None) -> Function:
        """`formula`, or the complement of `other`, where there is nothing better."""
        if formula is None and other is None:
            raise NotSupportedError(f"{self.name}.{name} has no elementary form; {self.name} has logpdf and pdf alone")
        return formula or (lambda z, *s: 1.0 - other(z, *s))  # type: ignore[misc]  # one of them is there

    def cdf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        """The probability of a value up to `x`."""
        return self._probability(x, args, kwds, self._either("cdf", self.cumulative, self.survival), (0.0, 1.0))

    def sf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        """The probability of a value above `x`."""
        return self._probability(x, args, kwds, self._either("sf", self.survival, self.cumulative), (1.0, 0.0))

    def logcdf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        """The logarithm of `cdf`."""
        if self.log_cumulative is not None:
            return self._probability(x, args, kwds, self.log_cumulative, (-np.inf, 0.0))
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x, *args, **kwds))

    def logsf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        """The logarithm of `sf`."""
        if self.log_survival is not None:
            return self._probability(x, args, kwds, self.log_survival, (0.0, -np.inf))
        with np.errstate(divide="ignore"):
            return np.log(self.sf(x, *args, **kwds))


class Discrete(Distribution):
    """A family of distributions on whole numbers; it has derivatives by its parameters.

    Example:
        >>> import adjoint as ad
        >>> from adjoint.scipy import stats
        >>> ad.grad(lambda rate: stats.poisson.logpmf(3, rate))(2.0)
        np.float64(0.5)
    """

    def __init__(self, name: str, log_mass: Function, shapes: tuple[str, ...], **rest: Value) -> None:
        super().__init__(name, log_mass, shapes, has_scale=False, **rest)

    def _standard(self, x: Array, args: tuple[Array, ...], kwds: dict[str, Value]) -> tuple[Array, list[Array], Array]:
        if in_graph(x) or in_graph(kwds.get("loc")):
            raise NotDifferentiableError(
                f"{self.name} counts: it has derivatives by its parameters, none by k or loc. Take k out of the graph: "
                f"k.detach()"
            )
        return super()._standard(x, args, kwds)

    def logpmf(self, k: Array, *args: Array, **kwds: Value) -> Array:
        """The logarithm of the probability of `k`; minus infinity where `k` is no whole number."""
        density = super().logpdf(k, *args, **kwds)
        return self._chosen(np.not_equal(constants(k), np.floor(constants(k))), -np.inf, density)

    def pmf(self, k: Array, *args: Array, **kwds: Value) -> Array:
        """The probability of `k`."""
        return np.exp(self.logpmf(k, *args, **kwds))

    def logpdf(self, x: Array, *args: Array, **kwds: Value) -> Array:
        raise NotSupportedError(f"{self.name} is discrete: it has no density; {self.name}.logpmf is its probability")

    def _inside(self, z: Array, shapes: list[Array]) -> tuple[Array, Array, Array]:
        return super()._inside(np.floor(z), shapes)
