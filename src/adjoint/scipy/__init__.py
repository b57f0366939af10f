"""SciPy's functions that do not work on tensors: the same functions, by the same names, with derivatives.

Each module has the functions of SciPy's module of that name, takes arrays and tensors alike, and loads on first use.

    import adjoint.scipy as asp

    asp.linalg.expm(t), asp.signal.lfilter(b, a, t), asp.integrate.solve_ivp(f, (0, 1), t)
"""

from __future__ import annotations

from importlib import import_module
from itertools import takewhile
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING

from adjoint.core.public import public as _public
from adjoint.core.types import Function

if TYPE_CHECKING:
    from adjoint.scipy import fft as fft
    from adjoint.scipy import fftpack as fftpack
    from adjoint.scipy import integrate as integrate
    from adjoint.scipy import interpolate as interpolate
    from adjoint.scipy import linalg as linalg
    from adjoint.scipy import optimize as optimize
    from adjoint.scipy import signal as signal
    from adjoint.scipy import sparse as sparse
    from adjoint.scipy import spatial as spatial
    from adjoint.scipy import special as special
    from adjoint.scipy import stats as stats

MODULES = (
    "fft", "fftpack", "integrate", "interpolate", "linalg", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
)  # fmt: skip

# Of trees here, and with derivatives that are derived; SciPy's own words for these are understood elsewhere.
_OWN_WORDS = {
    ("optimize", "root"): "systems",
    ("optimize", "minimize"): "minima",
    ("optimize", "least_squares"): "fits",
}


def twin(function: Function) -> Function | None:
    """Our function that can be called wherever `function`, one of SciPy's, is; None if there is none.

    Without tensors it gives what SciPy's gives. For most it is the one of the same name here; `minimize`,
    `least_squares` and `root` here take trees and derive what SciPy estimates, so for these it is another.

    Example:
        >>> import scipy.linalg, scipy.optimize, adjoint.scipy
        >>> adjoint.scipy.twin(scipy.linalg.expm) is adjoint.scipy.linalg.expm
        True
        >>> adjoint.scipy.twin(scipy.optimize.root) is adjoint.scipy.optimize.root
        False
    """
    package, *path = str(getattr(function, "__module__", "")).split(".")
    path, name = [*takewhile(lambda part: not part.startswith("_"), path)], getattr(function, "__qualname__", "")
    if package != "scipy" or not path or path[0] not in MODULES or name.startswith("_"):
        return None
    place = (*path, _OWN_WORDS[path[0], name]) if (path[0], name) in _OWN_WORDS else tuple(path)
    try:
        if attrgetter(name)(import_module(".".join(("scipy", *path)))) is not function:
            return None
        found = attrgetter(name)(import_module(".".join(("adjoint.scipy", *place))))
    except (AttributeError, ModuleNotFoundError):
        return None
    return found if callable(found) else None


if not TYPE_CHECKING:  # else checkers would accept every misspelt name

    def __getattr__(name: str) -> ModuleType:
        if name in MODULES or name == "kernels":
            return import_module(f"adjoint.scipy.{name}")
        raise AttributeError(f"module 'adjoint.scipy' has no attribute {name!r}; it has {', '.join(MODULES)}")


def __dir__() -> list[str]:
    return _public(globals(), *MODULES)
