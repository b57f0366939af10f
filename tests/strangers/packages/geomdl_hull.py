"""The hull of a boat as splines: a rational curve and a surface, their points, tangents and normals."""

from geomdl import NURBS, BSpline, utilities

PACKAGE, FOLLOWED = "geomdl", ("geomdl",)
POINT = (0.31, 0.57, 0.83, 1.2)


def program(x):
    keel = NURBS.Curve()
    keel.degree = 2
    keel.ctrlpts = [[0.0, 0.0], [1.0, x[0]], [2.0, 2.0 * x[1]], [3.0, x[2]]]
    keel.weights = [1.0, x[3], 0.8, 1.0]
    keel.knotvector = utilities.generate_knot_vector(2, 4)
    (along, up), (slope, rise) = keel.derivatives(0.4, order=1)
    hull = BSpline.Surface()
    hull.degree_u = hull.degree_v = 1
    hull.set_ctrlpts([[0.0, 0.0, x[0]], [0.0, 1.0, x[1]], [1.0, 0.0, x[2]], [1.0, 1.0, x[0] * x[3]]], 2, 2)
    hull.knotvector_u = hull.knotvector_v = [0.0, 0.0, 1.0, 1.0]
    place = hull.evaluate_single((0.3, x[1]))
    return along * up + slope * rise + keel.evaluate_single(x[0])[1] + place[1] * place[2]
