"""A peak on a sloping background: the background by polynomials and by penalised splines, and what is left."""

import numpy as np
from pybaselines import Baseline

PACKAGE, FOLLOWED = "pybaselines", ("pybaselines",)
POINT = (1.2, 0.3, 5.0)
T = np.linspace(0.0, 10.0, 40)


def program(x):
    y = x[2] * np.exp(-(((T - 4.0) / x[0]) ** 2)) + x[1] * T + 0.1 * np.sin(T)
    fitter = Baseline(T)
    smooth, _ = fitter.asls(y, lam=1e3, p=0.01, max_iter=4, tol=1e-12)
    curve, _ = fitter.modpoly(y, poly_order=2, max_iter=3)
    return np.sum((y - smooth) ** 2) + np.sum((y - curve) * T) / 10.0
