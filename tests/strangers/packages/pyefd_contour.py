"""The outline of a leaf as elliptic Fourier descriptors, normalised, and drawn again."""

import numpy as np
from pyefd import calculate_dc_coefficients, elliptic_fourier_descriptors, normalize_efd, reconstruct_contour

PACKAGE, FOLLOWED = "pyefd", ("pyefd",)
POINT = (1.0, 0.6, 0.3, 0.2)


def program(x):
    angle = np.linspace(0.0, 2 * np.pi, 21)
    radius = x[0] + x[2] * np.cos(2 * angle + 0.7) + x[3] * np.sin(3 * angle - 0.4)
    contour = np.stack([radius * np.cos(angle), x[1] * radius * np.sin(angle)], axis=1)
    coefficients = elliptic_fourier_descriptors(contour, order=4)
    a0, c0 = calculate_dc_coefficients(contour)
    drawn = reconstruct_contour(coefficients, locus=(a0, c0), num_points=12)
    shape = normalize_efd(coefficients)
    return np.sum(drawn**2) + np.sum(shape[1:] ** 2) + shape[0, 3]
