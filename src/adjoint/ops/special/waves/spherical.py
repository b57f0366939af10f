"""Spherical Bessel functions of `scipy.special`, and their derivatives, which are operations too.

Derivatives: NIST Digital Library of Mathematical Functions, 10.51, in the form that divides by no argument.
"""

from __future__ import annotations

import numpy as np
from scipy.special import _spherical_bessel as scipys

from adjoint.core.types import Array, Value
from adjoint.ops.special.forms import BY_COUNT, function_of


def _pair(kind: str, lower: float, upper: float, low: float) -> None:
    """The function ``spherical_<kind>`` and its derivative.

    (2n + 1) times the derivative is ``lower * n`` times the function of the order n - 1, and ``upper * (n + 1)`` times
    that of the order n + 1.
    """
    name = f"spherical_{kind}"

    def slope(n: Array, z: Array) -> Array:
        return derivative(n, z)

    def curvature(n: Array, z: Array) -> Array:
        below, above = derivative(np.maximum(n - 1, 0), z), derivative(n + 1, z)
        return (lower * n * below + upper * (n + 1) * above) / (2 * n + 1)

    place: Value = (low, 4.0)
    function_of("n z", getattr(scipys, f"_{name}"), BY_COUNT, slope, at=(2, place), name=f"bessel_{name}")
    derivative = function_of(
        "n z", getattr(scipys, f"_{name}_d"), BY_COUNT, curvature, at=(2, place), name=f"bessel_{name}_slope"
    )


_pair("jn", 1, -1, 0.5)
_pair("yn", 1, -1, 1.0)
_pair("in", 1, 1, 0.5)
_pair("kn", -1, -1, 1.0)
