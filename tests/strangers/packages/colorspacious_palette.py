"""Colours of a palette in sRGB: their lightness, and how far apart an eye sees them."""

import numpy as np
from colorspacious import cspace_convert, deltaE

PACKAGE, FOLLOWED = "colorspacious", ("colorspacious",)
POINT = (0.6, 0.3, 0.2, 0.2, 0.5, 0.9)


def program(x):
    palette = np.reshape(x, (2, 3))
    lab = cspace_convert(palette, "sRGB1", "CIELab")
    appearance = cspace_convert(palette, "sRGB1", "CAM02-UCS")
    apart = deltaE(palette[0], palette[1], input_space="sRGB1")
    return np.sum(lab[:, 0]) / 100 + np.sum(appearance**2) / 1e3 + apart / 50
