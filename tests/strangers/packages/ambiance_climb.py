"""A climb through the standard atmosphere: density, speed of sound and viscosity at several heights."""

import numpy as np
from ambiance import Atmosphere

PACKAGE, FOLLOWED = "ambiance", ("ambiance",)
POINT = (1000.0, 7000.0, 15000.0)


def program(x):
    air = Atmosphere(x)
    mach = 200.0 / air.speed_of_sound
    dynamic = 0.5 * air.density * 200.0**2
    reynolds = air.density * 200.0 * 2.0 / air.dynamic_viscosity
    return np.sum(mach) + 1e-4 * np.sum(dynamic) + 1e-8 * np.sum(reynolds) + 1e-5 * air.pressure[1]
