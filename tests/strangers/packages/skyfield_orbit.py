"""An asteroid's orbit from its elements: Kepler's equation, the position on the sky and its distance."""

from skyfield.functions import angle_between, length_of, mxm, rot_x, rot_z, to_spherical
from skyfield.keplerlib import ele_to_vec

PACKAGE, FOLLOWED = "skyfield", ("skyfield",)
POINT = (1.5, 0.2, 0.3, 0.6, 0.9)
SUN = 2.9591220828e-04  # gravity, au³ / day²


def program(x):
    position, velocity = ele_to_vec(x[0], x[1], x[2], x[3], 0.4, x[4], SUN)
    ecliptic = mxm(rot_x(-0.409), rot_z(x[3]))
    seen = ecliptic @ position
    distance, latitude, longitude = to_spherical(seen)
    return distance + latitude * longitude + length_of(velocity) * 10 + angle_between(seen, velocity)
