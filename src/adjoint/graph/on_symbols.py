"""`on_symbols`: the graph of a function that reads only its arguments."""

from __future__ import annotations

from adjoint.core.types import Function, Value
from adjoint.graph.graph import Graph, needed
from adjoint.graph.record import recording
from adjoint.graph.signature import Given, results


def on_symbols(f: Function, *examples: Value, **named: Value) -> Graph:
    """Call `f` with symbols, and keep what it did.

    For functions of our own, which read and write nothing but their arguments. What anybody else's does besides is done
    then, and its arrays are constants: `adjoint.capture` records it through its twin.
    """
    given = Given(f, examples, named)
    args, kwargs = given.arguments()
    with recording() as record:
        outputs, gives = results(f(*args, **kwargs))
    guards = needed(record.guards, outputs)
    return Graph(given.inputs, outputs, takes=given.takes, gives=gives, guards=guards, name=getattr(f, "__name__", "f"))
