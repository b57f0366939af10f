"""A camera on two gimbals: class Quaternion with its operators, properties and interpolation."""

import numpy as np
from pyquaternion import Quaternion

PACKAGE, FOLLOWED = "pyquaternion", ("pyquaternion",)
POINT = (0.3, 0.9, 0.4)


def program(x):
    pan = Quaternion(axis=[0.0, 0.0, 1.0], angle=x[0])
    tilt = Quaternion(axis=[1.0, 0.0, 0.0], radians=x[1])
    camera = pan * tilt
    between = Quaternion.slerp(pan, camera, amount=0.3)
    ray = camera.rotate(np.array([0.2, 1.0, 0.1]))
    matrix = between.rotation_matrix
    return ray[0] * x[2] + ray[2] + matrix[0, 1] + camera.inverse[1] + (camera - between).norm
