"""`scipy.spatial` for tensors: distances."""

from adjoint.scipy.spatial import distance as distance
