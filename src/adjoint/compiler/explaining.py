"""What `explain` says of a compiled function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.compiler.backend import Runner
from adjoint.compiler.recording import Recording
from adjoint.tape.lines import line_of


def explained(
    function: Callable[..., Any], signatures: Mapping[Any, Sequence[Recording]], reasons: Mapping[Any, str]
) -> str:
    """What was recorded of `function`: the ways through it by signature, and why there is none for others."""
    lines = [f"{getattr(function, '__name__', 'f')}: {len(signatures)} signature(s)"]
    for ways in signatures.values():
        for way in ways:
            lines.append(f"  {way.graph!r}, {len(way.graph.guards)} guard(s)")
            lines += [
                f"    asks {guard.question} at {line_of(guard.place)}: {guard.answer}" for guard in way.graph.guards
            ]
            lines += [f"    {line}" for line in _plan(way.runner)]
    lines += [f"  runs as it is, because {reason}" for reason in reasons.values()]
    return "\n".join(lines)


def _plan(runner: Runner) -> list[str]:
    """How a program is run, step by step."""
    if runner.native is None:
        return [f"by NumPy: {runner.reason or 'native code is being made'}"]
    return str(runner.native.listing()).splitlines()
