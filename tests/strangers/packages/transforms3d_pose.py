"""A pose put together from Euler angles and zooms, taken apart again, and used on points."""

import numpy as np
from transforms3d import affines, axangles, euler, quaternions

PACKAGE, FOLLOWED = "transforms3d", ("transforms3d",)
POINT = (0.2, -0.5, 0.9, 1.3)


def program(x):
    rotation = euler.euler2mat(x[0], x[1], x[2], "sxyz")
    pose = affines.compose([x[0], 2.0, -1.0], rotation, [x[3], 1.0, 1.0])
    corner = pose @ np.array([1.0, -1.0, 0.5, 1.0])
    q = quaternions.qmult(euler.euler2quat(x[2], x[0], x[1]), quaternions.axangle2quat([1.0, 2.0, 2.0], x[1]))
    turned = quaternions.rotate_vector(corner[:3], q) + axangles.axangle2mat([0.0, 0.6, 0.8], x[3]) @ corner[:3]
    angles = euler.mat2euler(rotation, "rzyx")
    return np.sum(turned**2) + angles[0] * angles[1] + angles[2]
