"""Inverse heat conduction: the heat that flowed into a wall, from a thermometer inside it."""

import numpy as np
from scipy.optimize import minimize

import adjoint as ad


def temperature_at(flux, depth, cells=20, ratio=0.4):
    """Temperatures at cell number `depth` of a wall that is heated from the left by `flux`, one value a time step.

    Explicit finite differences: `ratio` is diffusivity * dt / dx**2, stable up to 1/2. The right side is insulated.
    """
    wall = np.zeros(cells)
    readings = []
    for q in flux:
        inward = np.concatenate([np.reshape(q, (1,)), ratio * (wall[:-1] - wall[1:]), np.zeros(1)])
        wall = wall + inward[:-1] - inward[1:]
        readings.append(wall[depth])
    return np.stack(readings)


def misfit(flux, measured, depth, smoothness):
    """How far `flux` is from explaining what was measured, and from being smooth (Tikhonov's term)."""
    error = temperature_at(flux, depth) - measured
    return np.sum(error**2) + smoothness * np.sum(np.diff(flux) ** 2)


def main(n=60, depth=1, noise=0.01, smoothness=0.01):
    """Recover a pulse of heat of `n` time steps. Returns it, what was found, and the optimum by linear algebra."""
    time = np.linspace(0, 1, n)
    true = np.exp(-(((time - 0.4) / 0.12) ** 2)) + 0.4 * (time > 0.65) * (time < 0.8)
    measured = temperature_at(true, depth) + noise * np.random.default_rng(0).normal(size=n)

    objective = ad.value_and_grad(misfit)
    fit = minimize(
        lambda flux: objective(flux, measured, depth, smoothness),
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-12, "gtol": 1e-7},
    )

    # The model is linear in the flux, so the same optimum is the solution of a linear system.
    A, D = ad.jacobian(temperature_at)(np.zeros(n), depth), np.diff(np.eye(n), axis=0)
    exact = np.linalg.solve(A.T @ A + smoothness * D.T @ D, A.T @ measured)

    for t in range(0, n, max(1, n // 24)):
        print(f"{time[t]:4.2f}  true {true[t]:5.2f}  found {fit.x[t]:5.2f}  {'█' * round(30 * max(fit.x[t], 0))}")
    print(f"{fit.nfev} evaluations, each with the gradient by all {n} fluxes")
    return {"true": true, "found": fit.x, "exact": exact}


if __name__ == "__main__":
    main()
