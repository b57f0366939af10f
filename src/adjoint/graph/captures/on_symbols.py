"""`on_symbols`: the graph of a function that reads only its arguments."""

from __future__ import annotations

from adjoint.core.types import Function, Value
from adjoint.graph.captures.record import recording
from adjoint.graph.captures.signature import CaptureArguments, results
from adjoint.graph.graph import Graph, needed


def on_symbols(f: Function, *examples: Value, **named: Value) -> Graph:
    """Call `f` with symbols, and keep what it did.

    For functions of adjoint that read and write nothing but their arguments. Effects of any other function would happen
    at once, and its arrays would be constants: `adjoint.capture` records such a function through its twin.
    """
    given = CaptureArguments(f, examples, named)
    args, kwargs = given.arguments()
    with recording() as record:
        outputs, gives = results(f(*args, **kwargs))
    guards = needed(record.guards, outputs)
    return Graph(given.inputs, outputs, takes=given.takes, gives=gives, guards=guards, name=getattr(f, "__name__", "f"))
