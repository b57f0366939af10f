"""Draw the pictures of the documentation: ``python scripts/images.py``. A test compares them with what is drawn now."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

import adjoint as ad

FOLDER = Path(__file__).parents[1] / "docs" / "images"


def circuit() -> str:
    """x y + z, with the values of the CS231n notes."""
    x, y, z = (ad.tensor(v, requires_grad=True) for v in (-2.0, 5.0, -4.0))
    return ad.show(x * y + z, names={"x": x, "y": y, "z": z}).svg


def reading() -> str:
    """The function of the tutorial on adjoint programs."""

    def f(x: np.float64, y: np.float64) -> np.float64:
        s = 1 / (1 + np.exp(-y))
        return (x + s) / (x * s + 2.0)

    return ad.show(f, at=(3.0, -4.0)).svg


def plan() -> str:
    """The gradient of a small network, from the page on speed."""

    def network(w1: np.ndarray, w2: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.sum(np.tanh(np.tanh(x @ w1) @ w2) ** 2)

    gradient = ad.compile(ad.grad(network, (0, 1)), wait=True)
    gradient(np.ones((8, 32)), np.ones((32, 6)), np.ones((20, 8)))
    return ad.show(gradient).svg


def turns() -> str:
    """The gradient of Newton's method, from the page on speed."""

    def root(a: np.float64) -> np.float64:
        x = a
        while abs(x * x - a) > 1e-9:
            x = 0.5 * (x + a / x)
        return x

    gradient = ad.compile(ad.grad(root), wait=True)
    for a in (2.0, 3.0, 5.0):
        gradient(a)
    return ad.show(gradient).svg


DRAWN: dict[str, Callable[[], str]] = {"circuit": circuit, "reading": reading, "plan": plan, "turns": turns}


def image(name: str) -> str:
    """The picture called `name`, without what appears under the mouse: that names lines of files."""
    return re.sub("<title>.*?</title>", "", DRAWN[name](), flags=re.DOTALL) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in DRAWN:
        (FOLDER / f"{name}.svg").write_text(image(name), encoding="utf-8")
