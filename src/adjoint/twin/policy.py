"""Whose code is followed: the modules whose functions get twins while a transform runs.

These are modules that are not installed (scripts, notebooks, a project's own modules), the package of the
differentiated function, and packages that `through` names.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from contextvars import ContextVar
from functools import partial
from types import FunctionType

from adjoint.core.errors import ArgumentError
from adjoint.core.messages.frames import is_entered_next
from adjoint.core.threads.locks import WRITES
from adjoint.core.threads.switches import Giving, Setting
from adjoint.core.types import C, Value

# Not followed, whatever is asked for: their functions have stand-ins, or know tensors themselves, or know no numbers.
_NEVER = frozenset(
    {"numpy", "scipy", "adjoint", "builtins", "torch", "jax", "jaxlib", "autograd", "llvmlite", "optree"}
)
_NEVER |= (frozenset(sys.stdlib_module_names) | {"typing_extensions", "pytest", "_pytest"}) - {"__main__"}
# What lies within SciPy's public modules: functions that are written in Python are computed by what has stand-ins.
_SCIPY = "signal ndimage stats linalg constants integrate interpolate optimize spatial special cluster differentiate"
OF_SCIPY = tuple(f"scipy.{name}." for name in (*_SCIPY.split(), "_lib", "_external"))
# And what NumPy's methods run, of arrays of users' classes.
_NUMPYS = ("numpy.polynomial.", "numpy._core._methods", "numpy.lib._polynomial_impl")
WITHIN = (*_NUMPYS, "colorsys", "statistics", "dataclasses", *OF_SCIPY)
# Parts of Python that are written in Python, and call methods of users' classes.
WITHIN += ("copy", "contextlib", "collections", "_collections_abc")

#: The module of functions that a program wrote and ran, such as those of `sympy.lambdify`: they have a text, and none.
GENERATED = "<generated>"

Patterns = frozenset[str]
_everywhere: Patterns = frozenset()
_times: Counter[str] = Counter()  # how many calls of `through` name each package everywhere
_here: ContextVar[Patterns] = ContextVar("followed", default=frozenset())
_known: dict[Patterns, Patterns] = {}


#: Stands among the names while `vmap` calls a function: there an index may differ between samples.
SAMPLES = "<samples>"


def of_samples() -> Setting:
    """Follow functions as `vmap` does: plain arrays and lists may be indexed by what differs between samples."""
    return Setting(_here, _one(_here.get() | {SAMPLES}))


def patterns() -> Patterns:
    """The packages that `through` names, here and now: the same object for the same names."""
    here = _here.get()
    return _one(_everywhere | here) if here else _everywhere


def _one(names: Patterns) -> Patterns:
    return _known.setdefault(names, names)


#: What is known of classes holds until there are more modules, or more names in a notebook.
MODULES = sys.modules
NAMES: Mapping[str, Value] = {} if hasattr(MODULES["__main__"], "__file__") else vars(MODULES["__main__"])


def home_of(f: FunctionType) -> str:
    """The name of the module that the function `f` is of."""
    return f.__globals__.get("__name__") or GENERATED


class Follows(dict[str | None, bool]):
    """Whether a module's functions are followed, by its name; kept once it is known."""

    def __init__(self, names: Patterns) -> None:
        super().__init__()
        self.names = names

    def __missing__(self, module: str | None) -> bool:
        answer = self[module] = bool(module) and self._asked(module or "")
        return answer

    def function(self, f: FunctionType) -> bool:
        """Whether the function `f` is followed."""
        return self[home_of(f)]

    def cls(self, cls: type) -> bool:
        """Whether the class `cls` is followed: one that is written in Python."""
        return self[cls.__module__] and not cls.__flags__ & _OF_C

    def _asked(self, module: str) -> bool:
        if module == GENERATED:
            return True
        if module.startswith(WITHIN):
            return True
        parts = module.split(".")
        if parts[0] in _NEVER:
            return False
        if _is_ones_own(module):
            return True
        from fnmatch import fnmatchcase

        above = (".".join(parts[: i + 1]) for i in range(len(parts)))
        return any(fnmatchcase(name, pattern) for name in above for pattern in self.names)


# Py_TPFLAGS_IMMUTABLETYPE: no class that Python code made has it.
_OF_C = 1 << 8
# Where installed packages and Python's own modules lie.
_STANDARD = os.path.dirname(os.__file__)
_PACKAGES = ("site-packages", "dist-packages")


def _is_ones_own(module: str) -> bool:
    """Whether a module lies elsewhere than installed ones: it is the user's."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if file is None:
        return module == "__main__" and loaded is not None
    return not file.startswith(_STANDARD) and not any(name in file for name in _PACKAGES)


class through(Giving, ContextDecorator):  # noqa: N801 - called like a function
    """Differentiate through other people's packages: their NumPy code is followed like your own.

    Inside a transform, functions of your own package are rewritten so that NumPy's idioms differentiate: arrays that
    are made and filled, ``np.array([a, b])``, ``math.sin(a)``, ``float(a)``. This says for which other packages the
    same is done. No file and no module is changed, and nothing happens while no transform runs.

    Args:
        packages: names of packages, loaded already or later; ``"pandas_*"`` and its like stand for several.

    As a call it holds from then on, in every thread. As a context manager or a decorator it holds inside, in this
    thread or task only. What a call gives may be entered later: from then on it holds in the block only.

    Raises:
        ArgumentError: if no package is named, or one that is never followed (NumPy and SciPy have rules already).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> with ad.through("filterpy", "rowan"):
        ...     gradient = ad.grad(lambda x: np.sum(x**2))(np.ones(2))
        >>> gradient
        array([2., 2.])
    """

    def __init__(self, *packages: str) -> None:
        wrong = [name for name in packages if not isinstance(name, str) or name.split(".")[0] in _NEVER]
        if wrong or not packages:
            raise ArgumentError(
                f"ad.through takes the names of packages whose code is to be followed, as in "
                f"ad.through('filterpy', 'rowan'); got {wrong[0] if wrong else 'none'!r}"
                + (", which has rules of its own" if wrong and isinstance(wrong[0], str) else "")
            )
        self._packages = frozenset(packages)
        self._become()
        self._named: Patterns = frozenset()
        if not is_entered_next(sys._getframe(1)):  # no other thread may follow before the block begins
            self._named = self._packages
            _count_everywhere(self._packages, 1)

    def _recreate_cm(self) -> through:
        again = object.__new__(type(self))
        again._packages, again._named = self._packages, frozenset()
        again._become()
        return again

    def _become(self) -> None:
        Giving.__init__(self, _here)
        self.gives = self

    def value(self) -> Patterns:
        return _one(_here.get() | self._packages)

    def __call__(self, function: C) -> C:
        self._take_back()
        return super().__call__(function)

    def entering(self) -> Callable[[], Value]:
        self._take_back()
        return super().entering()

    def _take_back(self) -> None:
        """Hold inside of a block only; what other calls name everywhere stays named."""
        with WRITES:
            named, self._named = self._named, frozenset()
            _count_everywhere(named, -1)


def _count_everywhere(names: Patterns, more: int) -> None:
    global _everywhere  # noqa: PLW0603 - one set for the process, replaced as a whole and never changed
    with WRITES:
        for name in names:
            _times[name] += more
        _everywhere = _one(frozenset(name for name, times in _times.items() if times > 0))


def is_scipys(f: FunctionType) -> bool:
    """Whether `f` is a function of SciPy's that is followed, where an argument is more than numbers."""
    return str(f.__globals__.get("__name__")).startswith(OF_SCIPY)


def has_module(f: FunctionType) -> bool:
    """Whether the globals of `f` are those of a module that is loaded: they stay."""
    home = f.__globals__.get("__name__")
    return isinstance(home, str) and getattr(sys.modules.get(home), "__dict__", None) is f.__globals__


def is_modules(f: FunctionType) -> bool:
    """Whether `f` is a function of a module, or of a class there: it stays as long as its module."""
    return "<locals>" not in f.__qualname__ and has_module(f)


def package(module: str | None) -> str:
    """The package that a module belongs to."""
    return (module or "").split(".")[0]


def forgets(table: dict[int, Value], key: int) -> Callable[[Value], None]:
    """A callback that removes `key` from `table` when its object dies, also at the interpreter's end."""
    return partial(table.pop, key)
