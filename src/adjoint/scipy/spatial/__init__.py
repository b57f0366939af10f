"""`scipy.spatial` for tensors: distances, rotations, neighbours and hulls."""

from adjoint.scipy.spatial import distance as distance
from adjoint.scipy.spatial import transform as transform
from adjoint.scipy.spatial.neighbours import ConvexHull as ConvexHull
from adjoint.scipy.spatial.neighbours import Delaunay as Delaunay
from adjoint.scipy.spatial.neighbours import KDTree as KDTree
from adjoint.scipy.spatial.neighbours import Voronoi as Voronoi
from adjoint.scipy.spatial.neighbours import cKDTree as cKDTree
from adjoint.scipy.spatial.neighbours import of_scipy as of_scipy
