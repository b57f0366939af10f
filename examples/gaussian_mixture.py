"""Fit a mixture of Gaussians by gradient ascent on its log likelihood."""

import numpy as np

import adjoint as ad


def log_likelihood(params, points):
    """Mean log density of `points` (n, d) under k Gaussians with diagonal covariance.

    Bishop, "Pattern Recognition and Machine Learning" (2006), equation 9.14.
    """
    log_weights = params["logits"] - np.logaddexp.reduce(params["logits"])
    z = (points[:, None, :] - params["means"]) / np.exp(params["log_scales"])
    log_density = -0.5 * z**2 - params["log_scales"] - 0.5 * np.log(2 * np.pi)
    joint = log_weights + np.sum(log_density, axis=-1)
    return np.mean(np.logaddexp.reduce(joint, axis=1))


def gradient_by_hand(params, points):
    """The derivative by the means, through responsibilities (Bishop, equation 9.16)."""
    scales = np.exp(params["log_scales"])
    offset = points[:, None, :] - params["means"]
    joint = params["logits"] - np.sum(0.5 * (offset / scales) ** 2 + params["log_scales"], axis=-1)
    responsibility = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    return np.einsum("nk,nkd->kd", responsibility, offset) / scales**2 / len(points)


def main(n=600, steps=300, rate=0.5):
    """Draw from three Gaussians, and find them again. Returns the true and the fitted means, and both gradients."""
    rng = np.random.default_rng(0)
    means = np.array([[-2.0, 0.0], [2.0, 1.0], [0.0, -3.0]])
    points = means[rng.integers(3, size=n)] + 0.5 * rng.normal(size=(n, 2))
    params = {"logits": np.zeros(3), "means": means + rng.normal(size=(3, 2)), "log_scales": np.zeros((3, 2))}
    by_hand, by_adjoint = gradient_by_hand(params, points), ad.grad(log_likelihood)(params, points)["means"]

    ascend = ad.value_and_grad(log_likelihood)
    for step in range(steps):
        value, gradient = ascend(params, points)
        params = {name: params[name] + rate * gradient[name] for name in params}
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step:4d}   log likelihood {value:.4f}")
    print(f"fitted means\n{params['means'].round(2)}\ntrue means\n{means}")
    return {"true": means, "fitted": params["means"], "by_hand": by_hand, "by_adjoint": by_adjoint}


if __name__ == "__main__":
    main()
