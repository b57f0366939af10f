"""`scipy.spatial` for tensors: distances, and rotations."""

from adjoint.scipy.spatial import distance as distance
from adjoint.scipy.spatial import transform as transform
