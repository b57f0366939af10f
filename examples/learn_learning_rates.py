"""Learn the learning rates: descend on how well a training went, through all of its steps."""

import numpy as np

import adjoint as ad
from adjoint import optim


def predict(params, x):
    return np.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params, x, y):
    """The mean squared error of a small network."""
    return np.mean((predict(params, x) - y) ** 2)


def first(rng, hidden=8):
    """Where a training starts."""
    return {
        "w1": rng.normal(size=(2, hidden)),
        "b1": np.zeros(hidden),
        "w2": rng.normal(size=hidden) / np.sqrt(hidden),
        "b2": 0.0,
    }


def trained(settings, params, x, y, steps):
    """The parameters after some steps of gradient descent, with a learning rate for each array of the network."""
    rule = optim.functional.sgd({k: np.exp(v) for k, v in settings["rates"].items()}, np.tanh(settings["momentum"]))
    state = rule.init(params)
    for _ in range(steps):
        params, state = rule.update(params, ad.grad(loss)(params, x, y), state)
    return params


def main(rounds=40, steps=20):
    """Returns losses on unseen points, before and after learning, for known and new starts; and what was learned."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = np.tanh(2 * x[:, 0]) - 0.5 * x[:, 1] + 2.0
    starts = [first(rng) for _ in range(4)]

    def after_training(settings, start):
        return loss(trained(settings, start, x[:40], y[:40], steps), x[40:], y[40:])

    def objective(settings):
        return sum(after_training(settings, start) for start in starts[:2]) / 2

    given = {"rates": dict.fromkeys(starts[0], np.log(0.05)), "momentum": 0.0}
    settings, rule = given, optim.functional.adam(0.1)
    state = rule.init(settings)
    for _ in range(rounds):
        settings, state = rule.update(settings, ad.grad(objective)(settings), state)

    for name, value in settings["rates"].items():
        print(f"learning rate of {name}: 0.05 → {np.exp(value):.3f}")
    print(f"momentum: 0 → {np.tanh(settings['momentum']):.3f}")
    result = {"objective": objective, "settings": settings}
    for name, chosen in (("known", starts[:2]), ("new", starts[2:])):
        result[name] = [np.mean([after_training(s, start) for start in chosen]) for s in (given, settings)]
        print(f"loss after {steps} steps from {name} starts: {result[name][0]:.4f} → {result[name][1]:.4f}")
    return result


if __name__ == "__main__":
    main()
