"""An anti-reflection coating and a lens: Fresnel's equations, layer matrices, Zernike terms of a wavefront."""

import numpy as np
from prysm import polynomials, thinfilm, thinlens
from prysm.coordinates import cart_to_polar, make_xy_grid

PACKAGE, FOLLOWED = "prysm", ("prysm",)
POINT = (0.11, 0.07, 0.3, 0.2)


def program(x):
    stack = [(1.38, x[0]), (2.1, x[1]), (1.52, 0.0)]
    r, t = thinfilm.multilayer_stack_rt(stack, 0.55, "p", aoi=12.0)
    px, py = make_xy_grid(16, diameter=2.0)
    rho, angle = cart_to_polar(px, py)
    front = x[2] * polynomials.zernike_nm(2, 2, rho, angle) + x[3] * polynomials.zernike_nm(3, 1, rho, angle)
    power = thinlens.singlet_efl(0.02 + 0.01 * x[2], -0.01, 3.0, 1.5)
    return np.abs(r) ** 2 + np.abs(t) ** 2 + np.mean(front**2) + 1e-2 * power
