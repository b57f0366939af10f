"""Learn how noisy a moving thing and its sensor are, by differentiating a Kalman filter's log likelihood."""

import numpy as np
from scipy.optimize import minimize

import adjoint as ad


def negative_log_likelihood(log_noise, measurements, dt=1.0):
    """Of positions measured with noise, for a point that moves at a speed that wanders.

    `log_noise` holds the logarithms of two variances: of the acceleration and of the measurement.
    Durbin and Koopman, "Time Series Analysis by State Space Methods" (2012), equation 7.2.
    """
    acceleration, sensor = np.exp(log_noise)
    move = np.array([[1.0, dt], [0.0, 1.0]])
    push = np.array([dt**2 / 2, dt])
    state = np.array([measurements[0], 0.0])
    covariance = np.diag([10.0, 10.0])
    total = 0.0
    for z in measurements[1:]:
        state = move @ state
        covariance = move @ covariance @ move.T + acceleration * np.outer(push, push)
        surprise = z - state[0]
        variance = covariance[0, 0] + sensor
        total = total + 0.5 * (np.log(2 * np.pi * variance) + surprise**2 / variance)
        gain = covariance[:, 0] / variance
        state = state + gain * surprise
        covariance = covariance - np.outer(gain, covariance[0])
    return total


def simulate(n, acceleration, sensor, seed=0):
    """Positions of a point pushed at random, measured with noise; `acceleration` and `sensor` are variances."""
    rng = np.random.default_rng(seed)
    pushes = np.sqrt(acceleration) * rng.normal(size=n)
    speed = np.cumsum(pushes)
    position = np.cumsum(speed - pushes / 2)
    return position + np.sqrt(sensor) * rng.normal(size=n)


def main(n=200):
    """Fit both variances to `n` measurements with SciPy's L-BFGS. Returns what was true, found, and the slope left."""
    true = np.array([0.1, 4.0])
    measurements = simulate(n, *true)

    objective = ad.value_and_grad(lambda log_noise: negative_log_likelihood(log_noise, measurements))
    fit = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B")
    curvature = ad.hessian(lambda log_noise: negative_log_likelihood(log_noise, measurements))(fit.x)
    error = np.sqrt(np.diag(np.linalg.inv(curvature)))

    for name, variance, x, e in zip(("acceleration", "sensor"), true, fit.x, error, strict=True):
        low, high = np.exp(x - 2 * e), np.exp(x + 2 * e)
        print(
            f"variance of {name:13s} true {variance:.2f}   fitted {np.exp(x):.2f}   95 % from {low:.2f} to {high:.2f}"
        )
    print(f"{fit.nfev} evaluations; log likelihood {-fit.fun:.2f}")
    return {"true": np.log(true), "fitted": fit.x, "error": error, "slope": fit.jac, "measurements": measurements}


if __name__ == "__main__":
    main()
