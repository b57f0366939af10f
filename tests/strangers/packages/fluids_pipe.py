"""Pressure drop in a pipe: Reynolds number, friction factor, bends, an orifice, and the pump that it takes."""

from math import pi

import fluids

PACKAGE, FOLLOWED = "fluids", ("fluids",)
POINT = (0.012, 0.08, 40.0, 4.5e-5)


def program(x):
    flow, diameter, length, roughness = x[0], x[1], x[2], x[3]
    density, viscosity = 998.0, 1.002e-3
    speed = flow / (pi * diameter**2 / 4)
    re = fluids.Reynolds(V=speed, D=diameter, rho=density, mu=viscosity)
    friction = fluids.friction_factor(Re=re, eD=roughness / diameter)
    k = fluids.K_from_f(fd=friction, L=length, D=diameter)
    k += fluids.entrance_sharp() + fluids.exit_normal()
    k += 4 * fluids.bend_rounded(Di=diameter, angle=90.0, fd=friction, rc=3 * diameter, method="Rennels")
    k += fluids.contraction_conical(Di1=diameter, Di2=0.8 * diameter, l=0.1, fd=friction, method="Rennels")
    drop = fluids.dP_from_K(K=k, rho=density, V=speed)
    return 1e-5 * drop + fluids.head_from_P(P=drop, rho=density) / 10
