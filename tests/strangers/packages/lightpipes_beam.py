"""A laser beam through a lens and a pinhole: fields on a grid, Fresnel propagation by FFT."""

import numpy as np
from LightPipes import Begin, CircAperture, Fresnel, GaussBeam, Intensity, Lens, Power

PACKAGE, FOLLOWED = "LightPipes", ("LightPipes",)
POINT = (1.4e-3, 0.6, 0.25)


def program(x):
    field = Begin(8e-3, 632.8e-9, 32)
    field = GaussBeam(field, x[0])
    field = Lens(field, x[1])
    field = Fresnel(field, x[2])
    field = CircAperture(field, 2e-3)
    intensity = Intensity(field)
    return np.sum(intensity**2) / np.sum(intensity) + 1e4 * Power(field)
