"""NumPy's warnings, at the line of the user's program.

NumPy warns at the line of the Python code that calls it, which here would be a line of adjoint's. So the code that
computes for users has `REFUSES` in place of its registry of warnings: Python then raises TypeError instead of warning.
What warns nothing takes no longer than before. What would warn is computed again by `warned`, which lets the warning
name the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType

import numpy as np

from adjoint.core.messages.frames import CodePlace, frames_of, line_number, place_of, users_frame, warn_at
from adjoint.core.types import Function, Settings, Value

#: The classes of other libraries' arrays that lie on one of several devices, each with what raises if these differ.
ON_DEVICES: dict[type, Callable[[str, Sequence[Value]], None]] = {}
REFUSES = "warnings name the user's line"  # Python wants a dictionary
_SHADOWS: dict[str, dict[str, Value]] = {}  # the globals of modules, with REFUSES


def is_refused(error: Exception) -> bool:
    """Whether Python raised `error` because a registry refuses a warning."""
    return error.args == ("'registry' must be a dict or None",)


def after_refusal(error: Exception, otherwise: Function, *args: Value) -> Value:
    """What the general path, `otherwise`, gives if `error` refuses a fast path's warning; other errors are raised."""
    if not is_refused(error):
        raise error
    return otherwise(*args)


def refusing(function: Value) -> Value:
    """A copy of one of adjoint's functions, which refuses to warn; anything else as it is."""
    if type(function) is not FunctionType or (function.__module__ or "").partition(".")[0] != "adjoint":
        return function
    names = function.__globals__
    shadow = _SHADOWS.setdefault(names["__name__"], {**names, "__warningregistry__": REFUSES})
    code = function.__code__.replace()  # one of its own, as Python fits code to the globals that it runs with
    copy = FunctionType(code, shadow, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def warned(
    error: Exception, function: Function, args: Sequence[Value], settings: Settings, place: CodePlace | None = None
) -> Value:
    """``function(*args, **settings)``, which has just raised `error`, a refusal; now it warns.

    The warning names `place`, or else the line of the user's that is running.

    A rule's warning may name adjoint's line where someone else takes NumPy's messages (``np.seterrcall``), or where it
    is not about numbers. CuPy warns where it takes another device's memory: that raises.
    """
    if (kind := next((type(x) for x in args if type(x) in ON_DEVICES), None)) is not None:
        ON_DEVICES[kind](getattr(function, "__name__", "a call"), args)
    place, modes, ours = place or place_of(users_frame(2)), dict[str, Value](), list[dict[str, Value]]()
    if np.geterrcall() is None:
        modes = {kind: "log" for kind, how in np.geterr().items() if how == "warn"} | {"call": _NumberWarning(place)}
    elif type(function) is FunctionType:
        ours.append(_refuser(error))
    try:
        while True:
            for names in ours:
                names["__warningregistry__"] = {}
            try:
                with np.errstate(**modes):
                    return eval(_at(place), place.names, {"f": function, "args": args, "settings": settings})
            except TypeError as raised:
                if not is_refused(raised) or any(_refuser(raised) is names for names in ours):
                    raise raised from None  # the refusal says nothing to the user
                ours.append(_refuser(raised))
            except Exception as raised:
                raise raised from None
    finally:
        for names in ours:
            names["__warningregistry__"] = REFUSES


def guarded(text: str, name: str, scope: dict[str, Value]) -> str:
    """`text`, whose last function is `name`, with its warnings at the user's line. `scope` has its names."""
    before, head, rest = text.rpartition(f"def {name}(")
    given, _, body = rest.partition("):\n")
    scope |= {"is_refused": is_refused, "warned": warned, "__warningregistry__": REFUSES}
    lines = [f"{before}{head}{given}):", "    try:", *(f"    {line}" for line in body.splitlines())]
    lines += ["    except TypeError as error:", "        if not is_refused(error):", "            raise"]
    return "\n".join([*lines, f"        return warned(error, {name}, ({given}), {{}})", ""])


class _NumberWarning:
    """What NumPy tells about numbers, as a warning at a place."""

    def __init__(self, place: CodePlace) -> None:
        self.place = place

    def write(self, text: str) -> None:
        warn_at(self.place, text.removeprefix("Warning: ").rstrip(), RuntimeWarning)


_CALL = compile("f(*args, **settings)", "<call>", "eval")


def _at(place: CodePlace) -> Value:
    """Code of a call, in the line of `place`."""
    code, line = place.code, line_number(place.code, place.at)
    return _CALL.replace(co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=line)


def _refuser(error: Exception) -> dict[str, Value]:
    """The globals of the frame that raised `error`."""
    return list(frames_of(error))[-1].f_globals
