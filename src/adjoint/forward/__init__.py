"""Forward mode: arrays that carry a tangent along."""

from adjoint.forward.number import DualNumber as DualNumber
