"""The operations: one file a family, one block an operation. Importing this fills the registry."""

from adjoint.ops import (  # noqa: F401 - imported for what they register
    activation,
    arithmetic,
    comparison,
    cumulative,
    einsum,
    exponential,
    indexing,
    joining,
    linear,
    neural,
    reductions,
    selection,
    shape,
    trigonometric,
)
