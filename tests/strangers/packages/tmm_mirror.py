"""A mirror of layers: reflection and absorption in coherent light, with absorbing films, at an angle."""

import numpy as np
from tmm import coh_tmm, ellips

PACKAGE, FOLLOWED = "tmm", ("tmm",)
POINT = (100.0, 300.0, 0.3, 1.9)


def program(x):
    indices = [1.0, x[3] + 0.1j, 3.3 + 0.3j, 1.0]
    thicknesses = [np.inf, x[0], x[1], np.inf]
    s = coh_tmm("s", indices, thicknesses, x[2], 400.0)
    p = coh_tmm("p", indices, thicknesses, x[2], 400.0)
    seen = ellips(indices, thicknesses, x[2], 400.0)
    return s["R"] + p["T"] + seen["psi"] + seen["Delta"]
