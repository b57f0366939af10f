"""Forward mode: arrays that carry a tangent."""

from adjoint.forward.number import DualNumber as DualNumber
