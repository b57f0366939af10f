"""A self-organising map trained by its own rule: where its weights end up, by learning rate and width."""

import numpy as np
from minisom import MiniSom

PACKAGE, FOLLOWED = "MiniSom", ("minisom",)
POINT = (1.0, 0.5)
DATA = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7], [0.4, 0.5, 0.6], [0.7, 0.1, 0.5]])


def program(x):
    som = MiniSom(3, 3, 3, sigma=x[0], learning_rate=x[1], random_seed=1)
    som.train(DATA, 8)
    weights = som.get_weights()
    return np.sum(weights**2) + som.quantization_error(DATA)
