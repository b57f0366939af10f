"""Find a pendulum's length and damping from its recorded swing, by differentiating a Runge-Kutta integration."""

import numpy as np
from scipy.optimize import minimize

import adjoint as ad


def acceleration(state, length, damping):
    angle, speed = state
    return np.stack([speed, -9.81 / length * np.sin(angle) - damping * speed])


def swing(params, start, dt, steps):
    """Angles of a damped pendulum, by the classical Runge-Kutta method of fourth order."""
    length, damping = params
    state = start
    angles = [start[0]]
    for _ in range(steps):
        k1 = acceleration(state, length, damping)
        k2 = acceleration(state + dt / 2 * k1, length, damping)
        k3 = acceleration(state + dt / 2 * k2, length, damping)
        k4 = acceleration(state + dt * k3, length, damping)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        angles.append(state[0])
    return np.stack(angles)


def main(steps=60, dt=0.05):
    """Fit with SciPy's BFGS. Returns the true and the fitted parameters, and the misfit as a function."""
    true = np.array([0.7, 0.25])
    start = np.array([1.2, 0.0])
    recorded = swing(true, start, dt, steps) + 0.001 * np.random.default_rng(0).normal(size=steps + 1)

    def misfit(params):
        return np.sum((swing(params, start, dt, steps) - recorded) ** 2)

    def report(intermediate_result):
        length, damping = intermediate_result.x
        print(f"length {length:.5f}   damping {damping:.5f}   misfit {intermediate_result.fun:.3e}")

    fit = minimize(ad.value_and_grad(misfit), np.array([0.8, 0.0]), jac=True, method="BFGS", callback=report)
    return {"true": true, "fitted": fit.x, "misfit": misfit}


if __name__ == "__main__":
    main()
