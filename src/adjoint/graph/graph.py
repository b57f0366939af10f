"""`Graph`: a program as unique nodes, which can be looked at, checked, rewritten, differentiated and run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import ArgumentError, GraphError
from adjoint.graph.node import Node, in_order
from adjoint.graph.symbol import Guard
from adjoint.tape.lines import line_of

if TYPE_CHECKING:
    from adjoint.graph.rewrite import Report, Rule


class Graph:
    """Inputs, outputs, and what leads from ones to the others.

    Attributes:
        inputs: the nodes that a call fills: the arguments' leaves, then the state.
        outputs: the nodes of the value's leaves, then of the state that the program writes.
        guards: what the program asked of values on its way, and which answers it got.
        state: what the program reads besides its arguments, and writes; see `adjoint.graph.state`.
        written: for each written state, its number.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> graph = ad.capture(ad.grad(lambda x: np.sum(x * np.sin(x))), np.ones(3))
        >>> graph(np.array([0.0, 1.0, 2.0]))
        array([0.        , 1.38177329, 0.07700375])
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        *,
        takes: Callable[..., list[Any]] | None = None,
        gives: Callable[[list[Any]], Any] | None = None,
        guards: Sequence[Guard] = (),
        state: Any = None,
        written: Sequence[int] = (),
        name: str = "f",
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self._takes, self._gives = takes, gives
        self.guards, self.state, self.written, self.name = tuple(guards), state, tuple(written), name
        self._steps: list[Any] | None = None

    @property
    def nodes(self) -> list[Node]:
        """All nodes, each after what it uses; inputs that nothing uses are not there."""
        return in_order((*self.outputs, *(guard.node for guard in self.guards)))

    def __len__(self) -> int:
        return len(self.nodes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arrays of whatever kind.

        Values are dropped after their last use. State is read afresh, and written when all is computed.

        Raises:
            ArgumentError: if arguments are not like the captured ones.
            GraphError: if the program would have taken another way for these values.
        """
        given = self._takes(*args, **kwargs) if self._takes else list(args)
        if self.state is not None:
            given += self.state.read()
        results = self.run(given)
        if self.state is not None:
            count = len(results) - len(self.written)
            self.state.write(dict(zip(self.written, results[count:], strict=True)))
            results = results[:count]
        return self._gives(results) if self._gives else (results[0] if len(results) == 1 else tuple(results))

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for one value an input."""
        if len(values) != len(self.inputs):
            raise ArgumentError(f"the graph takes {len(self.inputs)} arrays; got {len(values)}")
        for node, value in zip(self.inputs, values, strict=True):
            if node.shape is not None and np.shape(value) != node.shape:
                raise ArgumentError(
                    f"input {node.value} was captured with shape {node.shape}; got {np.shape(value)}. Capture the "
                    f"function once more for this shape"
                )
        slots: list[Any] = list(values) + [None] * self._planned()
        for run, out, args, drop, node in self._steps or ():
            slots[out] = run(*[slots[i] for i in args]) if args else run()
            if node is not None:
                self._ask(node, slots[out])
            for i in drop:
                slots[i] = None
        return [slots[i] for i in self._out]

    def _planned(self) -> int:
        """Work out once, which slot each value goes to and when it is used for the last time."""
        if self._steps is None:
            place = {node: i for i, node in enumerate(self.inputs)}
            nodes = [node for node in self.nodes if node not in place]
            place |= {node: len(place) + k for k, node in enumerate(nodes)}
            last = {arg: node for node in nodes for arg in node.args}
            keep = set(self.outputs)
            ends: dict[Node, list[int]] = {}
            for arg, node in last.items():
                if arg not in keep:
                    ends.setdefault(node, []).append(place[arg])
            guarded = {guard.node for guard in self.guards}
            self._steps = [
                (_runner(n), place[n], [place[a] for a in n.args], ends.get(n, ()), n if n in guarded else None)
                for n in nodes
            ]
            self._out = [place[node] for node in self.outputs]
        return len(self._steps)

    def _ask(self, node: Node, value: Any) -> None:
        for guard in self.guards:
            if guard.node is not node:
                continue
            answer = _answered(guard.question, value)
            same = np.array_equal(answer, guard.answer, equal_nan=np.asarray(answer).dtype.kind in "fc")
            if not same:
                raise GraphError(
                    f"the captured program asked at {line_of(guard.place)} for the {guard.question} of a value, and "
                    f"went on with {guard.answer}; it is {answer} now, for which the program may be another one. "
                    f"Capture it with these arguments, or choose by np.where instead of by `if`"
                )

    def verify(self) -> None:
        """Check what must hold of a graph: order, uniqueness, inputs, and that each node is what its operation gives.

        Raises:
            GraphError: naming the node and what is wrong with it.
        """
        from adjoint.graph.verify import verify

        verify(self)

    def replaced(self, outputs: Sequence[Node], guards: Sequence[Guard] | None = None) -> Graph:
        """The same program with other nodes as its outputs (and guards)."""
        return Graph(
            self.inputs,
            outputs,
            takes=self._takes,
            gives=self._gives,
            guards=self.guards if guards is None else guards,
            state=self.state,
            written=self.written,
            name=self.name,
        )

    def rewritten(self, rules: Iterable[Rule] | None = None, report: Report | None = None) -> Graph:
        """The same program, simpler: with `rules` applied wherever they fit.

        Args:
            rules: those of `adjoint.graph.rules`: `SAFE` if not given, which leave every result bit for bit (and
                log(softmax) more accurate); `UNSAFE` and `COMMUTATIVE` are asked for: ``rules=SAFE + UNSAFE``.
            report: a `Report` to be filled with what was replaced where.

        Example:
            >>> import adjoint as ad
            >>> graph = ad.capture(lambda x, y: -(-x) * 1.0 - (-y), 1.0, 2.0)
            >>> len(graph), len(graph.rewritten())
            (8, 3)
        """
        from adjoint.graph.rewrite import rewritten
        from adjoint.graph.rules import SAFE

        return rewritten(self, SAFE if rules is None else rules, report)

    def __str__(self) -> str:
        from adjoint.graph.text import listing

        return listing(self)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self)} nodes, {len(self.outputs)} outputs>"


def _answered(question: str, value: Any) -> Any:
    """What a program gets that asks `question` of `value`."""
    kinds: dict[str, Callable[[Any], Any]] = {"bool": bool, "float": float, "int": int, "complex": complex}
    return kinds.get(question, np.asarray if question == "values" else int)(value)


def _runner(node: Node) -> Callable[..., Any]:
    """The function that computes `node` from its arguments' values, on arrays of any kind."""
    if node.op is None:
        value = node.value
        return (lambda whole: whole[value]) if node.args else (lambda: value)
    op, settings = node.op, node.settings
    return lambda *args: apply(op, args, settings)
