"""A path through points: Catmull-Rom, natural and Kochanek-Bartels splines, at several parameters."""

import numpy as np
import splines

PACKAGE, FOLLOWED = "splines", ("splines",)
POINT = (0.0, 1.0, 0.4, 2.0, 1.5, -0.5)


def program(x):
    vertices = [(0.0, 0.0), (x[0] + 1.0, x[1]), (x[3], x[2]), (3.0, x[4]), (4.0, x[5])]
    smooth = splines.CatmullRom(vertices, alpha=0.5)
    natural = splines.Natural(vertices)
    tense = splines.KochanekBartels(vertices, tcb=(0.1, 0.2, 0.3))
    a = smooth.evaluate(smooth.grid[0] * 0.7 + smooth.grid[-1] * 0.3)
    b = natural.evaluate(1.4)
    c = tense.evaluate(2.7, 1)
    return np.sum(a**2) + b[0] * b[1] + c[0] + c[1]
