"""An arm of two links: exponential coordinates, dual quaternions, the frame of the hand."""

import numpy as np
from pytransform3d import rotations, transformations

PACKAGE, FOLLOWED = "pytransform3d", ("pytransform3d",)
POINT = (0.4, -0.6, 0.3)


def program(x):
    shoulder = transformations.transform_from(rotations.active_matrix_from_angle(2, x[0]), np.array([0.0, 0.0, 0.5]))
    elbow = transformations.transform_from(
        rotations.matrix_from_axis_angle(np.array([0.0, 1.0, 0.0, x[1]])), np.array([0.8, 0.0, 0.0])
    )
    hand = transformations.concat(elbow, shoulder)
    screw = transformations.exponential_coordinates_from_transform(hand)
    point = transformations.transform(hand, np.array([0.3, x[2], 0.1, 1.0]))
    q = rotations.quaternion_from_matrix(hand[:3, :3])
    return np.sum(point[:3] ** 2) + np.sum(screw**2) + rotations.q_prod_vector(q, point[:3])[0]
