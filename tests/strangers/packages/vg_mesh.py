"""A triangle's angles and heights: vectors normalised, projected, rotated, with angles between them."""

import numpy as np
import vg

PACKAGE, FOLLOWED = "vg", ("vg",)
POINT = (0.3, 1.2, 0.4, 2.0)


def program(x):
    a = np.array([0.0, x[0], 0.1])
    b = np.array([1.0, 0.2, x[1]])
    c = np.array([x[2], x[3], 0.5])
    normal = vg.perpendicular(b - a, c - a)
    foot = vg.project(c - a, onto=b - a)
    corner = vg.angle(b - a, c - a)
    turned = vg.rotate(c, around_axis=normal, angle=x[0] * 30)
    signed = vg.signed_angle(b - a, turned, look=vg.basis.z)
    return corner / 60 + vg.magnitude(foot) + vg.scalar_projection(turned, onto=b) + signed / 100
