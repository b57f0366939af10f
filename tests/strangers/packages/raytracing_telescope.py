"""A telescope of two lenses: ray matrices, a ray traced through, focal lengths and principal planes."""

from raytracing import Lens, Ray, Space, ThickLens

PACKAGE, FOLLOWED = "raytracing", ("raytracing",)
POINT = (100.0, 30.0, 140.0, 0.05)


def program(x):
    telescope = Space(d=20.0) * Lens(f=x[1]) * Space(d=x[2]) * Lens(f=x[0])
    thick = ThickLens(n=1.5, R1=x[0], R2=-x[0], thickness=4.0)
    ray = telescope * Ray(y=5.0, theta=x[3])
    second = thick * Space(d=10.0) * ray
    focal = thick.effectiveFocalLengths()
    return ray.y + 100 * ray.theta + second.y + focal[0] / 100 + telescope.A + telescope.D
