"""`RBFInterpolator`: a sum of radial functions around the places of the values, and a polynomial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement

import numpy as np

from adjoint.core.errors import ArgumentError, NotSupportedError, ShapeError
from adjoint.core.types import Array
from adjoint.scipy.arrays import array, constants

#: Of the square of the distance: the functions, and the least degree of the polynomial that makes them well-posed.
_KERNELS: Mapping[str, tuple[Callable[[Array], Array], int]] = {
    "linear": (lambda r2: -np.sqrt(r2), 0),
    "thin_plate_spline": (lambda r2: 0.5 * r2 * np.log(r2), 1),
    "cubic": (lambda r2: r2 * np.sqrt(r2), 1),
    "quintic": (lambda r2: -(r2**2) * np.sqrt(r2), 2),
    "multiquadric": (lambda r2: -np.sqrt(r2 + 1.0), 0),
    "inverse_multiquadric": (lambda r2: 1.0 / np.sqrt(r2 + 1.0), -1),
    "inverse_quadratic": (lambda r2: 1.0 / (r2 + 1.0), -1),
    "gaussian": (lambda r2: np.exp(-r2), -1),
}
#: Those that need no scale, and are 0 at distance 0, where their formulas have no slope.
_POWERS = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator:
    """`scipy.interpolate.RBFInterpolator`, with derivatives by places, values, smoothing, scale and queries.

    Args:
        y: the places (p, n).
        d: the values (p, …).
        neighbors: None; SciPy's choice of the nearest places is made by the queries.
        smoothing: 0 to go through the values; a number, or one a place.
        kernel: the radial function, by SciPy's names.
        epsilon: what distances are multiplied with; 1 for functions that need none.
        degree: of the polynomial, -1 for none; by default the least one that SciPy takes.

    Raises:
        ShapeError: if the shapes do not fit.
        ArgumentError: if there is no such kernel, or no `epsilon` where one is needed.
        NotSupportedError: with `neighbors`.
        numpy.linalg.LinAlgError: if places coincide, or lie so that the polynomial is not determined.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import RBFInterpolator
        >>> places = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> f = RBFInterpolator(places, 3.0 * places[:, 0])
        >>> ad.grad(lambda q: f(q[None])[0])(np.array([1.25])).round(9)
        array([3.])
    """

    def __init__(
        self, y: Array, d: Array, neighbors: int | None = None, smoothing: Array = 0.0,
        kernel: str = "thin_plate_spline", epsilon: Array = None, degree: int | None = None,
    ) -> None:  # fmt: skip
        y, d = array(y), array(d)
        if y.ndim != 2 or d.ndim == 0 or d.shape[0] != y.shape[0]:
            raise ShapeError(f"RBFInterpolator takes y (p, n) and d (p, …); got shapes {y.shape} and {d.shape}")
        if kernel not in _KERNELS:
            raise ArgumentError(f"RBFInterpolator: kernel is one of {', '.join(_KERNELS)}; got {kernel!r}")
        if neighbors is not None:
            raise NotSupportedError("RBFInterpolator of tensors uses all places: neighbors=None")
        if epsilon is None and kernel not in _POWERS:
            raise ArgumentError(f"RBFInterpolator: the kernel {kernel!r} needs epsilon=")
        self._kernel, self._epsilon = kernel, 1.0 if epsilon is None else epsilon
        degree = max(_KERNELS[kernel][1], 0) if degree is None else degree
        self._powers = [c for k in range(degree + 1) for c in combinations_with_replacement(range(y.shape[1]), k)]
        low, high = np.min(constants(y), axis=0), np.max(constants(y), axis=0)
        self._shift, self._scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
        self._places, self._shape = y, d.shape[1:]
        p, corner = self._polynomials(y), np.zeros((len(self._powers),) * 2)
        near = self._radial(y) + np.eye(y.shape[0]) * smoothing
        system = np.concatenate([np.concatenate([near, p], 1), np.concatenate([np.swapaxes(p, 0, 1), corner], 1)])
        flat = np.reshape(d, (d.shape[0], -1))
        right = np.concatenate([flat, np.zeros((len(self._powers), flat.shape[1]))])
        self._coefficients = np.linalg.solve(system, right)

    def _radial(self, x: Array) -> Array:
        """The radial function of the distances from each of `x` to all places."""
        squares = np.sum((x[:, None, :] - self._places[None]) ** 2, axis=-1) * self._epsilon**2
        found = _KERNELS[self._kernel][0]
        if self._kernel not in _POWERS:
            return found(squares)
        apart = constants(squares) > 0
        return np.where(apart, found(np.where(apart, squares, 1.0)), 0.0)

    def _polynomials(self, x: Array) -> Array:
        """The products of coordinates up to the degree."""
        at = (x - self._shift) / self._scale
        columns = [np.prod(at[:, list(c)], axis=1) for c in self._powers]
        return np.stack(columns, axis=1) if columns else np.zeros((x.shape[0], 0))

    def __call__(self, x: Array) -> Array:
        """The values at the queries (q, n): (q, …)."""
        x = array(x)
        if x.ndim != 2 or x.shape[1] != self._places.shape[1]:
            raise ShapeError(f"RBFInterpolator takes queries (q, {self._places.shape[1]}); got shape {x.shape}")
        found = np.concatenate([self._radial(x), self._polynomials(x)], axis=1) @ self._coefficients
        return np.reshape(found, (x.shape[0], *self._shape))
