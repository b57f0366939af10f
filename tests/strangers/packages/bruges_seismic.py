"""A seismic reflection with offset: Zoeppritz, Shuey and Aki-Richards, Gassmann's fluid, a wavelet."""

import bruges as bg
import numpy as np

PACKAGE, FOLLOWED = "bruges", ("bruges",)
POINT = (2800.0, 1400.0, 2.4, 3200.0)


def program(x):
    angles = np.array([0.0, 10.0, 20.0])
    exact = bg.reflection.zoeppritz_rpp(x[0], x[1], x[2], x[3], 1700.0, 2.5, angles)
    shuey = bg.reflection.shuey(x[0], x[1], x[2], x[3], 1700.0, 2.5, angles)
    aki = bg.reflection.akirichards(x[0], x[1], x[2], x[3], 1700.0, 2.5, angles)
    moduli = bg.rockphysics.lam(vp=x[0], vs=x[1], rho=x[2] * 1000)
    return np.sum(np.real(exact)) + np.sum(shuey**2) + np.sum(np.real(aki)) + 1e-10 * moduli
