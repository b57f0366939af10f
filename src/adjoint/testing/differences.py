"""Derivatives from values alone: central differences, made sharp by Richardson's extrapolation.

Two steps, h and h/2, give estimates whose error in h² cancels: (4 D(h/2) - D(h)) / 3. Their distance says
how far the result may be trusted; if it is too large (a kink is near), smaller steps are tried
(Press et al., Numerical Recipes, 5.7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function
from adjoint.testing.coordinates import to_arrays, to_vector

STEPS = (2.13e-3, 1.07e-4, 5.3e-6)  # not round, so that no step ends exactly on a kink
ENOUGH = 1e-8


class Estimate(NamedTuple):
    """Numerical derivatives, and how far each may be off."""

    values: np.ndarray
    errors: np.ndarray


def along(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, v: np.ndarray, eps: float | None = None) -> Estimate:
    """The derivative of the vector `f` at the vector `x` in the direction `v`.

    `eps` is the step; without it, a large one is taken, and smaller ones where that does not do.
    """
    best: Estimate | None = None
    for h in STEPS if eps is None else (eps,):
        wide = (f(x + h * v) - f(x - h * v)) / (2 * h)
        narrow = (f(x + h / 2 * v) - f(x - h / 2 * v)) / h
        values = (4 * narrow - wide) / 3
        # The truncation that was left over, and the rounding of the values themselves.
        errors = np.abs(narrow - wide) * h + 1e-15 * (1 + np.abs(f(x))) / h
        jump = np.abs(narrow - wide) > 1e-3 * (1 + np.abs(values))
        errors = np.where(jump | ~np.isfinite(values), np.inf, errors)
        if best is None:
            best = Estimate(values, errors)
        else:
            closer = errors < best.errors
            best = Estimate(np.where(closer, values, best.values), np.where(closer, errors, best.errors))
        if np.all(best.errors <= ENOUGH * (1 + np.abs(best.values))):
            break
    assert best is not None  # there is at least one step
    return best


def jacobian(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, eps: float | None = None) -> Estimate:
    """All derivatives of the vector `f` at the vector `x`: one row an output, one column an input."""
    columns = [along(f, x, unit, eps) for unit in np.eye(len(x))]
    if not columns:
        empty = np.zeros((len(f(x)), 0))
        return Estimate(empty, empty)
    return Estimate(np.stack([c.values for c in columns], axis=1), np.stack([c.errors for c in columns], axis=1))


def numerical_jacobian(
    f: Function, *args: object, argnum: int = 0, eps: float | None = None, **kwargs: object
) -> np.ndarray:
    """The Jacobian of `f` by one of its arguments, from differences of its values.

    Args:
        f: takes arrays, gives one array.
        args: where to evaluate; converted to float64 or complex128.
        argnum: the number of the argument to vary.
        eps: the step. Without it, 0.002, and less where the function is not smooth that far.
        kwargs: passed on.

    Returns:
        float64 of shape ``value.shape + argument.shape``, comparable with `adjoint.jacobian`; complex128 for a
        complex argument (for a holomorphic function, its complex derivative).

    Raises:
        ArgumentError: if there is no such argument.

    Example:
        >>> import numpy as np
        >>> from adjoint.testing import numerical_jacobian
        >>> numerical_jacobian(np.square, np.array([1.0, 3.0])).round(9)
        array([[2., 0.],
               [0., 6.]])
    """
    if not 0 <= argnum < len(args):
        raise ArgumentError(f"numerical_jacobian: argnum={argnum}, but the call has {len(args)} argument(s)")
    point = np.asarray(args[argnum])
    point = point.astype(np.complex128 if point.dtype.kind == "c" else np.float64)

    def value(vector: np.ndarray) -> Array:
        given = list(args)
        given[argnum] = to_arrays(vector, [point])[0]
        return np.asarray(f(*given, **kwargs))

    x = to_vector([point])
    shape = np.shape(value(x))
    found = jacobian(lambda v: to_vector([value(v)]), x, eps).values
    if np.iscomplexobj(value(x)):
        found = found[::2]
    if np.iscomplexobj(point):
        found = found[:, ::2] - 1j * found[:, 1::2]
    return np.reshape(found, shape + np.shape(point))
