"""What SciPy's own functions cannot do with tensors: the same functions, by the same names, with derivatives.

Each module stands for SciPy's of that name, takes arrays and tensors alike, and loads on first use.

    import adjoint.scipy as asp

    asp.linalg.expm(t), asp.signal.lfilter(b, a, t), asp.integrate.solve_ivp(f, (0, 1), t)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.scipy import integrate as integrate
    from adjoint.scipy import interpolate as interpolate
    from adjoint.scipy import linalg as linalg
    from adjoint.scipy import signal as signal
    from adjoint.scipy import sparse as sparse
    from adjoint.scipy import special as special
    from adjoint.scipy import stats as stats

MODULES = ("integrate", "interpolate", "linalg", "signal", "sparse", "special", "stats")


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"adjoint.scipy.{name}")
    raise AttributeError(f"module 'adjoint.scipy' has no attribute {name!r}; it has {', '.join(MODULES)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *MODULES})
