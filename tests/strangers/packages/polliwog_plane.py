"""A path cut by planes: fitted and given planes, signed distances, mirrored points, a polyline's length."""

import numpy as np
from polliwog import Plane, Polyline

PACKAGE, FOLLOWED = "polliwog", ("polliwog", "vg")
POINT = (0.1, 0.4, 1.0, 0.2)


def program(x):
    points = np.array([[0.0, x[0], 0.2], [1.0, 0.3, x[1]], [2.0, x[2], 0.5], [3.0, 1.0, x[3]]])
    plane = Plane.from_points(points[0], points[1], points[2])
    slope = np.array([1.0, x[0], 0.5])
    cut = Plane(reference_point=np.array([0.5, x[3], 0.0]), normal=slope / np.linalg.norm(slope))
    path = Polyline(points, is_closed=False)
    mirrored = cut.mirror_point(points)
    return (
        plane.signed_distance(points[3])
        + np.sum(mirrored[:, 1])
        + path.total_length
        + np.sum(cut.project_point(points))
    )
