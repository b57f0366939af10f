"""`adjoint_source`: the backward pass of a function as a program to read and run."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.capture import capture_around, captured
from adjoint.core.errors import NotSupportedError
from adjoint.core.objects.trees import flatten, paths
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.types import Array, Function, Value
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, placeholder
from adjoint.graph.symbol import Symbol
from adjoint.graph.text.source import Headings, SourceWriter, source, users_line
from adjoint.tape.modes import Observing
from adjoint.tape.zeros.selected import RuleRun
from adjoint.transforms.reverse import value_and_grad, vjp

if TYPE_CHECKING:
    from adjoint.tape.node import ObservedNode


def adjoint_source(f: Function, *args: object, argnums: int | Sequence[int] = 0) -> str:
    """The gradient of `f` as straight-line NumPy source: what it computes, then how cotangents come back.

    The text is a function of the arrays and floats among `args`, one parameter a leaf. It returns the value and the
    gradient for arguments of these shapes, bit for bit those of the captured `adjoint.value_and_grad`. Where the value
    of `f` is not one real number, there is a last parameter ``cotangent`` (one for each array of the value), and what
    is returned are the value and `adjoint.vjp`'s cotangents.

    Args:
        f: takes arrays, numbers or trees of these.
        args: examples; whole numbers and strings become part of the program.
        argnums: the number of the argument to differentiate by, or several.

    Raises:
        NotSupportedError: if `f` writes state outside of it; capture it (`adjoint.capture`) instead.

    Operations that NumPy and SciPy have no call for are looked up by name in adjoint's registry.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> print(ad.adjoint_source(lambda x, y: x * y + np.sin(x), 2.0, 3.0))
        import numpy as np
        ...
    """
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    dtypes = [x.dtype for x in flatten(args)[0] if hasattr(x, "dtype")]
    double = all(dtype in (np.float64, np.complex128) or dtype.kind in "iub" for dtype in dtypes)
    plain = captured(f, args, {}, double=double)
    if plain.writes:
        raise NotSupportedError(
            f"adjoint_source: {plain.name} writes state outside of it, which a function of arrays cannot; use "
            f"ad.capture({plain.name}, ...).to_source() for the whole program"
        )
    outputs = plain.outputs
    several = len(outputs) != 1 or int(np.prod(outputs[0].shape)) != 1 or outputs[0].dtype.kind != "f"
    rules = _RuleObserver()

    def observed(followed: Function, *given: object) -> object:
        program = _pulled(followed, chosen, len(args)) if several else value_and_grad(followed, chosen)
        with Observing(source=rules):
            return program(*given)

    observed.__signature__ = _signature(f, len(args), several)  # type: ignore[attr-defined]  # what `inspect` reads
    cotangents = [flatten(plain(*args))[1]([np.ones(n.shape, n.dtype) for n in outputs])] if several else []
    graph = capture_around(observed, f, (*args, *cotangents), double)
    count = len(outputs)
    one = isinstance(argnums, int) and len(graph.outputs) == count + 1

    def returned(writer: SourceWriter) -> str:
        names = [writer.names[node] for node in graph.outputs]
        rest = ", ".join(names[count:])
        gradients = rest if one else f"({rest})" if len(names) > count + 1 else f"({rest},)"
        return ", ".join([*names[:count], gradients])

    return source(
        graph,
        names=rules.names(graph) | _gradients(graph.outputs[count:], observed, chosen, args),
        headings=rules.headings,
        returns=returned,
        name=f"{plain.name if plain.name.isidentifier() else 'f'}_and_gradient",
    )


def _pulled(f: Function, chosen: tuple[int, ...], count: int) -> Function:
    """The value of `f` and its cotangents, as a function of its arguments and the value's cotangent."""

    def program(*given: object) -> object:
        args, cotangent = list(given[:count]), given[count]

        def of(*some: object) -> Value:
            whole = list(args)
            for k, x in zip(chosen, some, strict=True):
                whole[k] = x
            return f(*whole)

        value, pullback = vjp(of, *(args[k] for k in chosen))
        return value, pullback(cotangent)

    return program


def _signature(f: Function, count: int, several: bool) -> inspect.Signature:
    """The parameters of `f`, by names that `capture` reads; and the cotangent."""
    try:
        found = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        found = []
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [p.name for p in found if p.kind in (kind, inspect.Parameter.POSITIONAL_ONLY)][:count]
    names += [f"x{i}" for i in range(len(names), count)]
    names += ["cotangent"] * several
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def _gradients(
    nodes: Sequence[Node], program: Function, chosen: tuple[int, ...], args: tuple[object, ...]
) -> dict[Node, str]:
    """The gradients' names: ``d_x`` for that by x."""
    parameters = list(inspect.signature(program).parameters)
    leaves = [parameters[k] + path for k in chosen for path in paths(args[k])]
    return {node: f"d_{leaf}" for node, leaf in zip(nodes, leaves, strict=True) if node.kind in ("call", "part")}


def _writes(node: Node) -> bool:
    return node.op is not None and node.op.name == "overwrite"


class _RuleObserver:
    """Sees the operations of `f`, and the rules as they run: which nodes of the graph come from which."""

    def __init__(self) -> None:
        self._values: dict[object, Node] = {}
        self._steps: list[tuple[int, object, object]] = []
        self._ops: dict[object, str] = {}

    def __call__(self, node: ObservedNode, values: Sequence[Array], wanted: tuple[int, ...], out: Value) -> None:
        first = out[0] if isinstance(out, tuple | list) else out
        if isinstance(first, Symbol):
            whole = first.node if out is first else first.node.args[0]
            self._values[node] = whole

    def around(self, run: RuleRun) -> RuleRun:
        """`run`, which runs a rule, with a note of when it did."""

        def noted(node: Value, pullback: Pullback, g: Array, saved: tuple[object, ...]) -> Sequence[object]:
            self._steps.append((placeholder("now").number, node, g))
            self._ops[node] = pullback.op.name
            return run(node, pullback, g, saved)

        return noted

    def _value(self, step: object, nodes: Sequence[Node]) -> Node | None:
        """The node of what an operation gave. A write is seen before its target's symbol has moved on."""
        value = self._values.get(step)
        if self._ops.get(step) != "overwrite":
            return value
        return next((node for node in nodes if _writes(node) and node.args[1] is value), value)

    def names(self, graph: Graph) -> dict[Node, str]:
        """A name for each cotangent, from that of its value."""
        names = SourceWriter(graph, {}).names
        found: dict[Node, str] = {}
        for _, step, g in self._steps:
            value = self._value(step, graph.nodes)
            if isinstance(g, Symbol) and g.node.kind in ("call", "part") and value is not None and value in names:
                found.setdefault(g.node, f"d_{names[value]}")
        return found

    def headings(self, writer: SourceWriter) -> Headings:
        """Before the backward lines of an operation: its forward line, and where that stands."""
        first = self._steps[0][0] if self._steps else float("inf")
        said: dict[Node, list[str]] = {}
        last, k, pending = "", 0, list[str]()
        calls = [node for node in writer.nodes if node.kind in ("call", "part")]
        for node in calls:
            if node.number < first:
                line = users_line(node)
                if line != last:
                    said[node] = [f"# {line}"]
                    last = line
                continue
            while k < len(self._steps) and self._steps[k][0] < node.number:
                pending = pending if pending and not pending[0] else ["", "# Backward"] if k == 0 else pending
                pending = [*pending, *self._heading(writer, self._steps[k][1])]
                k += 1
            if pending:
                said[node] = pending
                pending = []
        return said

    def _heading(self, writer: SourceWriter, step: object) -> list[str]:
        value = self._value(step, writer.nodes)
        lines = writer.lines(writer.root(value)) if value is not None and value in writer.names else []
        return [f"# {lines[-1]}"] if lines else [f"# {self._ops[step]}, whose value is not needed"]
