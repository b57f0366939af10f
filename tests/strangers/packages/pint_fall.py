"""A stone falls into a well: heights, times and energies in units, converted and compared."""

import numpy as np
import pint

PACKAGE, FOLLOWED = "pint", ("pint",)
POINT = (2.0, 3.0, 0.5)
UNITS = pint.UnitRegistry()


def program(x):
    depth, time, mass = x[0] * UNITS.meter, UNITS.Quantity(x[1], "second"), x[2] * UNITS.kilogram
    speed = (depth / time).to("km/hour")
    energy = (0.5 * mass * (depth / time) ** 2).to("joule")
    marks = UNITS.Quantity(x, "cm")
    longest = np.max(marks) if depth > 1.0 * UNITS.foot else depth
    turn = np.sin(UNITS.Quantity(x[0], "radian"))
    return speed.magnitude + energy.m + np.sum(marks.to("m").magnitude ** 2) + longest.to("m").m + turn.magnitude
