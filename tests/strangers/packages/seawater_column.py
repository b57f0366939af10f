"""A column of sea water: density, sound speed, buoyancy, currents from the dynamic height."""

import numpy as np
import seawater as sw

PACKAGE, FOLLOWED = "seawater", ("seawater",)
POINT = (35.1, 34.8, 12.0, 5.0)


def program(x):
    salinity = np.array([[x[0], x[0] + 0.1], [x[1], x[1] - 0.05], [34.5, 34.6]])
    temperature = np.array([[x[2], x[2] + 1.0], [x[3], x[3] + 0.3], [2.0, 2.2]])
    pressure = np.array([[10.0, 10.0], [100.0, 100.0], [500.0, 500.0]])
    density = sw.dens(salinity, temperature, pressure)
    speed = sw.svel(salinity, temperature, pressure)
    n2, _, _ = sw.bfrq(salinity, temperature, pressure, np.array([[40.0, 41.0]]))
    height = sw.gpan(salinity, temperature, pressure)
    return np.mean(density) / 1000 + np.mean(speed) / 1500 + 1e4 * np.sum(n2) + np.sum(height)
