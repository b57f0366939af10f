"""`scipy.interpolate` for tensors: lines, splines and grids, with gradients for positions, values and queries.

Which interval a query falls into is a constant; at a knot the gradient is that of the interval to its right.
"""

from __future__ import annotations

import numpy as np
from scipy import interpolate

from adjoint.core.types import Function, Value
from adjoint.scipy.interpolate.bsplines import BSpline, make_interp_spline, make_lsq_spline, splev, splrep
from adjoint.scipy.interpolate.cubics import Akima1DInterpolator, CubicSpline, PchipInterpolator
from adjoint.scipy.interpolate.grids import RegularGridInterpolator, of_grid
from adjoint.scipy.interpolate.lines import interp1d
from adjoint.scipy.interpolate.pieces import PPoly
from adjoint.scipy.interpolate.polynomials import (
    BarycentricInterpolator,
    KroghInterpolator,
    barycentric_interpolate,
    krogh_interpolate,
)
from adjoint.scipy.interpolate.radial import RBFInterpolator
from adjoint.scipy.interpolate.scattered import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    of_scattered,
)
from adjoint.scipy.interpolate.surfaces import RectBivariateSpline
from adjoint.scipy.interpolate.univariate import InterpolatedUnivariateSpline, UnivariateSpline, of_univariate, sproot

__all__ = [
    "Akima1DInterpolator", "BSpline", "BarycentricInterpolator", "CloughTocher2DInterpolator", "CubicSpline",
    "InterpolatedUnivariateSpline", "KroghInterpolator", "LinearNDInterpolator", "NearestNDInterpolator", "PPoly",
    "PchipInterpolator", "RBFInterpolator", "RectBivariateSpline", "RegularGridInterpolator", "UnivariateSpline",
    "barycentric_interpolate", "interp1d", "krogh_interpolate", "make_interp_spline", "make_lsq_spline", "splev",
    "splrep", "sproot",
]  # fmt: skip


_SCATTERED = (
    interpolate.LinearNDInterpolator,
    interpolate.NearestNDInterpolator,
    interpolate.CloughTocher2DInterpolator,
)


def of_scipy(interpolant: object) -> Function | None:
    """One that SciPy made, as ours, which takes queries that are tensors; None if there is none of its kind."""
    if isinstance(interpolant, interpolate.PPoly):
        made = object.__new__(PPoly)
        made._hold(_held(interpolant, "c"), _held(interpolant, "x"), interpolant.extrapolate, interpolant.axis)
        return made
    if isinstance(interpolant, interpolate.BSpline):
        spline = BSpline(_held(interpolant, "t"), _held(interpolant, "c"), interpolant.k, interpolant.extrapolate)
        spline.axis = interpolant.axis
        return spline
    if isinstance(interpolant, interpolate.UnivariateSpline):
        return of_univariate(interpolant)
    if isinstance(interpolant, interpolate.BivariateSpline):
        tx, ty, c = interpolant.tck
        kx, ky = interpolant.degrees
        surface = object.__new__(RectBivariateSpline)
        surface._hold((tx, ty), np.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1)), (kx, ky))
        return surface
    if isinstance(interpolant, interpolate.RBFInterpolator) and interpolant.neighbors is None:
        values = np.reshape(interpolant.d, (len(interpolant.y), *interpolant.d_shape))
        degree = int(max(map(sum, interpolant.powers), default=-1))
        return RBFInterpolator(
            interpolant.y, values, None, interpolant.smoothing, interpolant.kernel, interpolant.epsilon, degree
        )
    if isinstance(interpolant, interpolate.interp1d):
        kind = interpolant._spline.k if interpolant._kind == "spline" else interpolant._kind
        fill = "extrapolate" if interpolant._extrapolate else interpolant.fill_value
        return interp1d(
            interpolant.x, interpolant.y, kind, interpolant.axis, False, interpolant.bounds_error, fill, True
        )
    if isinstance(interpolant, interpolate.RegularGridInterpolator):
        return of_grid(interpolant)
    if isinstance(interpolant, _SCATTERED):
        return of_scattered(interpolant)
    return None


def _held(interpolant: Value, name: str) -> Value:
    """The coefficients or knots that a spline holds, which may be tensors: its public names give arrays alone."""
    inner = getattr(interpolant, "_delegate_to", None)  # since SciPy 1.18
    return getattr(interpolant, f"_{name}") if inner is None else getattr(inner, name)


def __dir__() -> list[str]:
    return __all__
