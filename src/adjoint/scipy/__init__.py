"""What SciPy's own functions cannot do with tensors: the same functions, by the same names, with derivatives.

Each module stands for SciPy's of that name, takes arrays and tensors alike, and loads on first use.

    import adjoint.scipy as asp

    asp.linalg.expm(t), asp.signal.lfilter(b, a, t), asp.integrate.solve_ivp(f, (0, 1), t)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODULES = ("integrate", "interpolate", "linalg", "optimize", "signal", "sparse", "special", "stats")


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"adjoint.scipy.{name}")
    raise AttributeError(f"module 'adjoint.scipy' has no attribute {name!r}; it has {', '.join(MODULES)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *MODULES})
