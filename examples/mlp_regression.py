"""A neural network from nothing: two functions of plain NumPy, and their gradient."""

from itertools import pairwise

import numpy as np

import adjoint as ad


def network(layers, x):
    """A multilayer perceptron with tanh between its layers; `layers` is a list of {"w": …, "b": …}."""
    for layer in layers[:-1]:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def loss(layers, x, y):
    return np.mean((network(layers, x) - y) ** 2)


def initial(sizes, rng):
    """Weights of variance 1/n_in (LeCun et al., "Efficient BackProp", 1998) and biases of 0."""
    pairs = pairwise(sizes)
    return [{"w": rng.normal(size=(m, n)) / np.sqrt(m), "b": np.zeros(n)} for m, n in pairs]


def main(steps=2000, rate=0.05, momentum=0.9):
    """Learn a wave. Returns the first and the last loss, and the error on points not trained on."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(128, 1))
    y = np.sin(4 * x) + 0.3 * x
    layers = initial((1, 32, 32, 1), rng)
    speed = [{name: np.zeros_like(w) for name, w in layer.items()} for layer in layers]

    step_of = ad.value_and_grad(loss)
    history = []
    for step in range(steps):
        value, gradients = step_of(layers, x, y)
        history.append(value)
        for layer, v, g in zip(layers, speed, gradients, strict=True):
            for name in layer:
                v[name] = momentum * v[name] - rate * g[name]
                layer[name] = layer[name] + v[name]
        if step % 200 == 0 or step == steps - 1:
            print(f"step {step:5d}   loss {value:.6f}")

    unseen = np.linspace(-0.95, 0.95, 50)[:, None]
    error = np.max(np.abs(network(layers, unseen) - (np.sin(4 * unseen) + 0.3 * unseen)))
    print(f"largest error on unseen points: {error:.4f}")
    return {"first": history[0], "last": history[-1], "unseen": error}


if __name__ == "__main__":
    main()
