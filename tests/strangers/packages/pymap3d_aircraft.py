"""An aircraft seen from a radar: geodetic, ENU, azimuth and range, and the backward pass."""

import pymap3d

PACKAGE, FOLLOWED = "pymap3d", ("pymap3d",)
POINT = (42.0, -82.0, 200.0, 33.0)


def program(x):
    east, north, up = pymap3d.geodetic2enu(x[0] + 0.1, x[1] - 0.05, 1500.0, x[0], x[1], x[2])
    azimuth, elevation, distance = pymap3d.enu2aer(east, north, up)
    lat, lon, height = pymap3d.aer2geodetic(x[3], elevation + 10.0, distance, x[0], x[1], x[2])
    ecef = pymap3d.geodetic2ecef(lat, lon, height)
    return 1e-3 * distance + azimuth + lat * lon + 1e-3 * height + 1e-6 * (ecef[0] + ecef[1] - ecef[2])
