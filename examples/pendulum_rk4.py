"""Find a pendulum's length and damping from its recorded swing, by differentiating a Runge-Kutta integration."""

import numpy as np

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


def main(steps=60, dt=0.05, iterations=8):
    """Fit by Gauss-Newton steps. Returns the true and the fitted parameters, and the derivative two ways."""
    true = np.array([0.7, 0.25])
    start = np.array([1.2, 0.0])
    recorded = swing(true, start, dt, steps) + 0.001 * np.random.default_rng(0).normal(size=steps + 1)

    params = np.array([1.0, 0.0])
    residual = lambda p: swing(p, start, dt, steps) - recorded  # noqa: E731 - one expression, used twice
    jacobian = ad.jacobian(residual)
    for i in range(iterations):
        r, J = residual(params), jacobian(params)
        print(f"iteration {i}   length {params[0]:.5f}   damping {params[1]:.5f}   misfit {np.sum(r**2):.3e}")
        params = params - np.linalg.lstsq(J, r)[0]

    loss = lambda p: np.sum(residual(p) ** 2)  # noqa: E731 - as above
    step = 1e-6
    differences = [(loss(true + step * e) - loss(true - step * e)) / (2 * step) for e in np.eye(2)]
    return {"true": true, "fitted": params, "gradient": ad.grad(loss)(true), "differences": np.array(differences)}


if __name__ == "__main__":
    main()
