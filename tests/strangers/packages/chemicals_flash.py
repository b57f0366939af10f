"""A mixture of pentane, hexane and heptane boils in a vessel: vapour pressures, the split and surface tension."""

import math

import chemicals

PACKAGE, FOLLOWED = "chemicals", ("chemicals", "fluids")
POINT = (345.0, 0.3, 0.45, 110.0)
CRITICAL = ((469.7, 3.37e6, 0.251), (507.6, 3.025e6, 0.301), (540.2, 2.74e6, 0.349))


def program(x):
    feed = [x[1], x[2], 1.0 - x[1] - x[2]]
    pressures = [chemicals.Lee_Kesler(x[0], Tc, Pc, omega) for Tc, Pc, omega in CRITICAL]
    constants = [p / (1000.0 * x[3]) for p in pressures]
    vapour, liquid, gas = chemicals.flash_inner_loop(feed, constants)
    tension = chemicals.Brock_Bird(x[0], 341.9, 507.6, 3.025e6)
    density = chemicals.Rackett(x[0], 507.6, 3.025e6, 0.264)
    hexane = chemicals.Antoine(x[0], 9.0, 1170.0, -48.0)
    return vapour + liquid[0] * gas[2] + 50.0 * tension + math.log(density) + hexane / 1e6
