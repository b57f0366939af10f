"""Every universal function of `scipy.special`. Loaded when SciPy is in use, and not before."""

from adjoint.ops import (  # noqa: F401 - imported for what they register
    bessel,
    distributions,
    elliptic,
    integrals,
    orthogonal,
    special,
    waves,
)
