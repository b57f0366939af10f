"""A camera in a game: view and projection matrices, quaternions, a ray that meets a plane."""

import numpy as np
from pyrr import geometric_tests, matrix44, plane, quaternion, ray, vector

PACKAGE, FOLLOWED = "pyrr", ("pyrr",)
POINT = (2.0, 1.5, 0.4, 50.0)


def program(x):
    eye = np.array([x[0], x[1], 3.0])
    view = matrix44.create_look_at(eye, np.array([0.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    projection = matrix44.create_perspective_projection(x[3], 1.5, 0.1, 100.0)
    turn = quaternion.create_from_y_rotation(x[2])
    point = matrix44.apply_to_vector(matrix44.multiply(view, projection), np.array([0.3, 0.2, 0.1, 1.0]))
    spun = quaternion.apply_to_vector(turn, eye)
    line = ray.create(eye, vector.normalise(-spun))
    ground = plane.create(np.array([0.0, 1.0, 0.0]), 0.0)
    hit = geometric_tests.ray_intersect_plane(line, ground)
    return point[0] / point[3] + spun[0] + np.sum(hit**2)
