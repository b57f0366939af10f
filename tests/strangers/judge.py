"""Differentiate a program in every mode, and compare it with differences of the plain program."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad

TOLERANCE = 1e-5
MODES = ("grad", "jvp", "vmap", "hessian", "compile")


class Verdict(NamedTuple):
    """What each mode gave ("right", "WRONG …" or the error), the largest difference, the gradient's time / value's."""

    outcomes: dict[str, str]
    difference: float
    ratio: float


def number(value: Any) -> float:
    return float(np.real(np.squeeze(np.asarray(value))))


def slopes(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """The derivatives of f's value, a number or an array, by central differences of fourth order: last axis is x's."""
    columns = []
    for step, unit in zip(steps(x), np.eye(len(x)), strict=True):
        near = np.subtract(f(x + step * unit), f(x - step * unit))
        far = np.subtract(f(x + 2 * step * unit), f(x - 2 * step * unit))
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1)


def steps(x: np.ndarray) -> np.ndarray:
    return 1e-4 * np.maximum(np.abs(x), 1e-2)


def difference(found: Any, wanted: np.ndarray, x: np.ndarray, size: float) -> float:
    """The largest difference of derivatives, each in units of what it changes the value by."""
    found, wanted = (np.asarray(d, dtype=float) * np.maximum(np.abs(x), 1e-2) for d in (found, wanted))
    if found.shape != wanted.shape:
        return np.inf
    scale = np.abs(wanted) + 1e-4 * max(np.max(np.abs(wanted)), size)
    return float(np.max(np.abs(found - wanted) / scale))  # nan if a derivative is


def seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def judge(program: Callable[[Any], Any], point: tuple[float, ...], modes: tuple[str, ...] = MODES) -> Verdict:
    """Run `program` plainly and in each mode at `point`."""
    x = np.array(point, dtype=float)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        run = _Runs(program, x)
        outcomes = {mode: run.outcome(mode) for mode in modes}
        ratio = np.nan
        if outcomes.get("grad") == "right":
            ratio = seconds(lambda: ad.value_and_grad(program)(x)) / seconds(lambda: program(x))
    return Verdict(outcomes, run.worst, float(ratio))


class _Runs:
    """One program at one point: its value and slopes, and a comparison for every mode."""

    def __init__(self, program: Callable[[Any], Any], x: np.ndarray) -> None:
        self.program, self.x, self.worst = program, x, 0.0
        self.value = number(program(x))
        self.slopes = slopes(lambda p: number(program(p)), x)

    def outcome(self, mode: str) -> str:
        try:
            found = getattr(self, mode)()
        except Exception as error:  # a refusal: the table names it
            message = " ".join(str(error).split()).partition(". ")[0][:160]
            return f"{type(error).__name__}: {message}"
        return "right" if found <= TOLERANCE else "nan" if np.isnan(found) else f"WRONG by {found:.1e}"

    def close(self, value: Any, at: np.ndarray | None = None) -> float:
        wanted = self.value if at is None else number(self.program(at))
        return abs(number(value) - wanted) / (abs(wanted) + 1e-300)

    def grad(self) -> float:
        value, gradient = ad.value_and_grad(self.program)(self.x)
        found = difference(gradient, self.slopes, self.x, abs(self.value))
        self.worst = float(np.maximum(self.worst, found))
        return float(np.maximum(found, self.close(value)))

    def jvp(self) -> float:
        direction = np.cos(np.arange(len(self.x))) * np.maximum(np.abs(self.x), 1e-2)
        value, slope = ad.jvp(self.program, (self.x,), (direction,))
        wanted = self.slopes @ direction
        size = np.sum(np.abs(self.slopes * direction)) + 1e-4 * abs(self.value)
        found = abs(number(slope) - wanted) / size
        self.worst = float(np.maximum(self.worst, found))
        return float(np.maximum(found, self.close(value)))

    def vmap(self) -> float:
        points = np.stack([self.x, self.x * 1.0001])
        values = ad.vmap(self.program)(points)
        return float(np.max([self.close(v, p) for v, p in zip(np.asarray(values), points, strict=True)]))

    def hessian(self) -> float:
        wanted = slopes(ad.grad(self.program), self.x)
        size = np.maximum(np.abs(self.x), 1e-2)
        found = np.asarray(ad.hessian(self.program)(self.x), dtype=float) * np.outer(size, size)
        wanted = wanted * np.outer(size, size)
        if found.shape != wanted.shape:
            return np.inf
        scale = np.max(np.abs(wanted)) + 1e-2 * abs(self.value) + 1e-300
        return float(np.max(np.abs(found - wanted)) / scale) / 10  # differences of gradients know fewer digits

    def compile(self) -> float:
        """The gradient compiled, and the gradient of what is compiled; the first calls record, later ones run that."""
        fast, slope = ad.compile(ad.value_and_grad(self.program)), ad.grad(ad.compile(self.program))
        worst = np.float64(0.0)
        for p in (self.x, self.x * 1.0001, self.x):
            value, gradient = fast(p)
            _, wanted = ad.value_and_grad(self.program)(p)
            for found in (gradient, slope(p)):
                worst = np.maximum(worst, difference(found, wanted, p, abs(self.value)))
            worst = np.maximum(worst, self.close(value, p))
        return float(worst)
