"""Points of a body are turned by quaternions, from an axis, from Euler angles and by interpolation."""

import numpy as np
import rowan

PACKAGE, FOLLOWED = "rowan", ("rowan",)
POINT = (0.3, -0.4, 0.8, 0.5)
BODY = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, -0.3], [0.5, 0.5, 1.0]])


def program(x):
    tilt = rowan.from_axis_angle([0.0, 1.0, 0.0], x[0])
    turn = rowan.from_euler(x[1], x[2], 0.1, convention="zyx")
    both = rowan.normalize(rowan.multiply(turn, tilt))
    halfway = rowan.interpolate.slerp(tilt, both, x[3])
    seen = rowan.rotate(both, BODY) + rowan.rotate(halfway, BODY)
    angles = rowan.to_euler(both, convention="xyz")
    return np.sum(seen[:, 0] * seen[:, 2]) + np.sum(angles**2) + np.sum(rowan.to_matrix(halfway)[0])
