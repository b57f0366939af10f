"""Every universal function of `scipy.special`. Loaded when SciPy is in use, and not before."""

# ruff: noqa: F401 - imported for what they register
from adjoint.ops.special import (
    bessel,
    carlson,
    distributions,
    elliptic,
    freedoms,
    incomplete,
    integrals,
    noncentral,
    orthogonal,
    solved,
    spherical,
    waves,
)
