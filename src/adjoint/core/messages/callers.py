"""The caller of a refused operation: the user's line, the function of SciPy or NumPy, and what to call instead."""

from __future__ import annotations

import linecache
import os
import sys
from itertools import islice
from types import FrameType, FunctionType
from typing import NamedTuple

from adjoint.core.late import service
from adjoint.core.messages.frames import is_of, short_name
from adjoint.core.types import Function, Value

_LIBRARIES = ("numpy", "scipy")
_AROUND = ".standins.scientific"  # what calls SciPy's functions for the user
_LONGEST = 60
_ADVICE = (
    ". @ad.differentiable on the function that does this makes it work, and {} if the code is somebody else's (ad.grad "
    "and its like do so for your own, where its source is at hand); or use functions that take tensors: np.stack([…]), "
    "np.zeros_like(t) for arrays to fill, np.sin(t)"
)
# What to write in place of functions that hold plain numbers only, by their modules.
_INSTEAD = {
    "numpy.ma.": "Masked arrays hold plain numbers: choose by np.where(mask, 0.0, t), t[~mask], np.nansum(t)",
    "numpy.matrixlib.": "np.matrix holds plain numbers: use arrays of two axes, np.array([[a, b], [c, d]]) or "
    "np.atleast_2d(t), and write the matrix product as `@`",
}


class Caller(NamedTuple):
    """The line of the user's, and the libraries' functions that it called, the outermost first."""

    file: str
    line: int
    span: tuple[int | None, int | None, int | None, int | None]
    module: str
    library: tuple[tuple[str, str], ...]  # of each, the module and the name there


def caller(frame: FrameType | None) -> Caller | None:
    """The caller: the first frame from `frame` outward that is not adjoint, NumPy or SciPy."""
    library: list[tuple[str, str]] = []
    while frame is not None and is_of(frame, "adjoint", *_LIBRARIES):
        if is_of(frame, *_LIBRARIES):
            library.append(_entry(frame))
        elif library and not frame.f_globals["__name__"].endswith(_AROUND):  # these are called by an operation of ours
            library.clear()
        frame = frame.f_back
    if frame is None:
        return None
    span = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    module = frame.f_globals.get("__name__") or ""
    return Caller(frame.f_code.co_filename, frame.f_lineno, span, module, tuple(reversed(library[-8:])))


def _entry(frame: FrameType) -> tuple[str, str]:
    """Module and name of a function; for a wrapper, those of the wrapped function; for a method, ``norm.pdf``."""
    module, code = frame.f_globals["__name__"], frame.f_code
    if "<locals>" in code.co_qualname:
        for x in frame.f_locals.values():
            if isinstance(x, FunctionType) and x.__module__.startswith(_LIBRARIES) and "<" not in x.__qualname__:
                return x.__module__, x.__qualname__
    owner = frame.f_locals.get("self")
    home = sys.modules.get(".".join(module.split(".")[:2]))
    held = next((name for name, x in vars(home).items() if x is owner), "") if owner is not None and home else ""
    return module, f"{held}.{code.co_name}" if held else code.co_qualname


def told(who: Caller, conversion: bool) -> str:
    """What an error says of its caller; `conversion` if numbers were asked for."""
    function, name = _named(who.library)
    text = _source(who)
    place = f"{short_name(who.file)}:{who.line}" + (f" ({text})" if text else "")
    package = who.module.partition(".")[0]
    other = f"ad.through({package!r})" if package not in ("", "__main__") else "ad.through('package')"
    where = f"This is {name}, called at {place}" if name else f"At {place}"
    for module, instead in _INSTEAD.items():
        if any(home.startswith(module) for home, _ in who.library):
            return f"{where}. {instead}"
    if not name.startswith("scipy."):
        return where + _ADVICE.format(other) * conversion
    ours = _ours(function, name)
    if ours:
        return (
            f"{where}; {ours} takes tensors. ad.grad of code of your own calls that by itself, and so does "
            f"{other} for code of somebody else's"
        )
    if function is not None and _has_array_api(function):
        return (
            f"{where}; adjoint.scipy has no such function, but SciPy's own takes arrays of every library, tensors too, "
            f"if SCIPY_ARRAY_API=1 is in the environment before SciPy is imported"
        )
    return (
        f"{where}; adjoint.scipy has no such function. Compute it with NumPy's, or give it a derivative: ad.custom_vjp"
    )


def _named(library: tuple[tuple[str, str], ...]) -> tuple[Function | None, str]:
    """The outermost function of a library that has a public name, and that name; empty if none was called."""
    for module, qualname in library:
        top = qualname.partition(".")[0]
        parts = module.split(".")
        for i in range(2 if module.startswith("numpy.ma.") else 1, len(parts) + 1):  # np.ma.sum is not np.sum
            home = ".".join(parts[:i])
            found = getattr(sys.modules.get(home), top, None)
            is_public = found is not None and not any(part.startswith("_") for part in (*parts[:i], top))
            if is_public and (getattr(found, "__module__", None) or type(found).__module__).startswith(parts[0]):
                method = "" if qualname.endswith(("__init__", "__call__")) else qualname[len(top) :]
                return found, f"{home}.{top}{method}"
    return None, ".".join(library[0]) if library else ""


def _ours(function: object, name: str) -> str:
    """The name of what `adjoint.scipy` has in place of SciPy's `function`; empty if it has nothing."""
    scipy = service("scipy")
    _, room, top, *_ = (*name.split("."), "", "")
    if room not in scipy.MODULES or getattr(sys.modules.get(f"scipy.{room}"), top, None) is not function:
        return ""
    return f"{scipy.__name__}.{room}.{top}" if hasattr(getattr(scipy, room), top) else ""


def _has_array_api(function: Function) -> bool:
    """Whether SciPy says that `function` takes other libraries' arrays, and is not told to yet."""
    known: Value = sys.modules.get("scipy._lib._array_api")
    says = getattr(known, "xp_capabilities_table", {}).get(function)
    if says is None or os.environ.get("SCIPY_ARRAY_API"):
        return False
    return not (says["np_only"] or says["cpu_only"])


def _source(who: Caller) -> str:
    """The text of the call, if it is at hand and short."""
    first, last, start, stop = who.span
    if first is None or first != last:
        return ""
    line = linecache.getline(who.file, first).encode()
    text = line[start:stop].decode(errors="replace").strip()
    return text if len(text) <= _LONGEST else ""
