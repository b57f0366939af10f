"""The short path of a function that is not compiled for some kind of arguments: its calls cost little more than plain.

The function itself may be called for any arguments. The conditions are those under which a call cannot become a
compiled one: the arguments are of a kind that was given up, and no transform and no twin calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.compiler.call.argument_checks import MISSES, ArgumentChecks
from adjoint.compiler.call.fast_path import Direct
from adjoint.compiler.recording.arguments import FlatCall
from adjoint.core.codegen import defined
from adjoint.core.types import Function
from adjoint.tape.tensor import Tensor
from adjoint.twin.runtime.fresh import in_call


class _PlainChecks(ArgumentChecks):
    """Objects may hold values of a transform, so the slow path looks into them."""

    def takes_object(self, x: object) -> bool:
        return False


def uncompiled(function: Function, call: FlatCall, varies: Sequence[bool]) -> Direct | None:
    """What calls `function` for arguments like those of `call`, and gives MISS for others; None if there is none."""
    checks = _PlainChecks(call.leaves, {k for k, each in enumerate(varies) if each})
    args, kwargs = call.rebuild(list(range(len(call.leaves))))
    if not checks.takes(args, kwargs):
        return None
    for k, x in enumerate(call.leaves):
        if isinstance(x, np.ndarray | Tensor):
            checks.fits.append(f"x{k}{'.held' * isinstance(x, Tensor)}.dtype is {checks.name(x.dtype)}")
        if isinstance(x, Tensor):
            checks.fits.append(f"x{k}.level == 0")
    checks.scope |= {"function": function, "in_call": in_call, "misses": MISSES}
    lines = [
        *checks.opening(args, kwargs),
        "try:",
        *(f"    {line}" for line in checks.gets),
        f"    if not ({' and '.join([*checks.fits, 'in_call() is None'])}): return MISS",
        "except misses: return MISS",
        "return function(*args, **kwargs)",
    ]
    direct: Direct = defined("\n    ".join(["def plain(args, kwargs):", *lines]), "plain call", checks.scope, "plain")
    return direct
