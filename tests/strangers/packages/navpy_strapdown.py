"""An aircraft's strap-down navigation: attitude matrices, Earth rates, local coordinates."""

import navpy
import numpy as np

PACKAGE, FOLLOWED = "NavPy", ("navpy",)
POINT = (0.3, 0.1, -0.05, 45.0)


def program(x):
    matrix = navpy.angle2dcm(x[0], x[1], x[2])
    yaw, pitch, roll = navpy.dcm2angle(matrix)
    scalar, vector = navpy.angle2quat(x[0], x[1], x[2])
    ecef = navpy.lla2ecef(x[3], -93.2, 250.0)
    ned = navpy.lla2ned(x[3] + 0.01, -93.19, 300.0, x[3], -93.2, 250.0)
    rates = navpy.earthrate(x[3]) + navpy.navrate(10.0, 5.0, 0.0, x[3], 250.0)
    return yaw * pitch + roll + scalar * vector[0] + 1e-6 * np.sum(ecef) + 1e-3 * np.sum(ned) + 1e4 * np.sum(rates)
