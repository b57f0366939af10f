"""Water flows through a pipe: lengths, pressures and flows in units, as arrays and as numbers."""

import numpy as np
import unyt

PACKAGE, FOLLOWED = "unyt", ("unyt",)
POINT = (0.05, 2.0, 1.2)


def program(x):
    radius, speed = unyt.unyt_quantity(x[0], "m"), x[1] * unyt.m / unyt.s
    lengths = unyt.unyt_array(np.array([x[2], 2 * x[2], x[2] ** 2]), "ft").to("m")
    flow = (np.pi * radius**2 * speed).to("L/s")
    density, friction = unyt.unyt_quantity(1.0, "g/cm**3"), 0.02
    losses = friction * lengths / (2 * radius) * density * speed**2 / 2
    total = losses.in_units("kPa").sum()
    reynolds = (density * speed * 2 * radius / unyt.unyt_quantity(1.0, "mPa*s")).to("")
    return flow.v + total.value + np.log10(reynolds.d) + float(lengths.max().to_value("cm")) / 100
