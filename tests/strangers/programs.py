"""Programs written the way people write NumPy: functions of a vector, and the points where they are differentiated."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

MODULES = ("mechanics", "signals", "statistics", "science", "python", "arrays", "libraries")
MODULES += ("instruments", "estimates", "habits", "tables", "objects", "languages")


class Program(NamedTuple):
    name: str
    run: Callable
    point: tuple[float, ...]


def at(*point):
    """Say where a function is to be differentiated; the function itself stays as it is."""

    def mark(function):
        function.point = point
        return function

    return mark


def programs() -> list[Program]:
    found = []
    for module in MODULES:
        for name, value in vars(import_module(f"tests.strangers.programs_{module}")).items():
            if hasattr(value, "point"):
                found.append(Program(f"{module}.{name}", value, value.point))
    return found
