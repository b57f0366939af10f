"""Every universal function of `scipy.special`. Loaded when SciPy is in use, and not before."""

# ruff: noqa: F401 - imported for what they register
from adjoint.ops.special import integrals, orthogonal
from adjoint.ops.special.elliptic import carlson, legendre
from adjoint.ops.special.probability import distributions, freedoms, incomplete, noncentral, solved
from adjoint.ops.special.waves import bessel, solutions, spherical
