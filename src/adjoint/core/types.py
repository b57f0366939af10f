"""Type aliases for functions that transforms take and return, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

Function = Callable[..., Any]
#: The parameters of a function that is given; what is given back has the same.
P = ParamSpec("P")
#: The parameters of a method, after the instance.
Q = ParamSpec("Q")
#: What such a function returns, and what it returns besides (`has_aux`).
R = TypeVar("R")
Aux = TypeVar("Aux")
#: What a class makes.
T = TypeVar("T")
