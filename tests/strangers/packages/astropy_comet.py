"""A comet on its orbit: distances, speeds and brightness in units, converted, summed and compared."""

import astropy.units as u
import numpy as np

PACKAGE, FOLLOWED = "astropy", ("astropy.units", "astropy.utils")
POINT = (1.3, 0.4, 2.0)
SUN = 1.32712440018e20 * u.m**3 / u.s**2


def program(x):
    axis, eccentricity, phase = x[0] * u.AU, x[1], x[2] * u.rad
    distance = axis * (1 - eccentricity**2) / (1 + eccentricity * np.cos(phase))
    speed = np.sqrt(SUN * (2 / distance - 1 / axis)).to(u.km / u.s)
    period = 2 * np.pi * np.sqrt(axis**3 / SUN)
    places = u.Quantity([distance, axis, 2 * axis]).to(u.m)
    light = (1 * u.W / u.m**2 * (u.AU / places.to(u.AU)) ** 2).sum()
    nearest = places.min() if distance > 0.1 * u.AU else places[1]
    return speed.value + period.to_value(u.yr) + light.to_value(u.W / u.m**2) * 3 + nearest.to(u.AU).value
