"""`Graph`: a program as unique nodes, which can be looked at, checked, rewritten, differentiated and run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import ArgumentError, GraphError
from adjoint.core.late import service
from adjoint.core.threads.commit import Action, commit
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.node import Node, in_order, is_ordered
from adjoint.graph.schedule import Schedule, ScheduledCall, numpy_step
from adjoint.tape.observers.lines import line_of

if TYPE_CHECKING:
    from adjoint.graph.rewriting.driver import Report, Rewrite


class Graph:
    """Inputs, outputs, and what leads from ones to the others.

    Attributes:
        inputs: the nodes that a call fills: the arguments' leaves, then the state.
        outputs: the nodes of the value's leaves, then of the state that the program writes.
        guards: what the program asked of values while it was recorded, and which answers it got.
        state: what the program reads besides its arguments, and writes; see `adjoint.graph.captures.state`.
        written: for each written state, its number.
        lies: by number, the strides in bytes of inputs that do not lie in C order, where it matters for speed.

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
        takes: Callable[..., list[Value]] | None = None,
        gives: Callable[[list[Value]], Value] | None = None,
        guards: Sequence[Guard] = (),
        state: Value = None,
        written: Sequence[int] = (),
        name: str = "f",
        lies: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.lies = dict(lies or {})
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self._takes, self._gives = takes, gives
        self.guards, self.state, self.written, self.name = tuple(guards), state, tuple(written), name
        self._schedule: Schedule | None = None
        self._asked: dict[Node, list[Guard]] = {}
        for guard in self.guards:
            if guard.question != "run":
                self._asked.setdefault(guard.node, []).append(guard)

    @cached_property
    def nodes(self) -> list[Node]:
        """All nodes, each after what it uses; inputs that nothing uses are not there."""
        return in_order((*self.outputs, *(guard.node for guard in self.guards)))

    @property
    def writes(self) -> bool:
        """Whether a call changes anything besides."""
        return bool(self.written) or (self.state is not None and bool(self.state.cleared or self.state.sets))

    @cached_property
    def exchanges(self) -> bool:
        """Whether a call sends messages to other processes."""
        return any(node.op is not None and "collective" in node.op.flags for node in self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        """Run the program on arrays of whatever kind.

        Values are dropped after their last use. State is read afresh, and written when all is computed.

        Raises:
            ArgumentError: if arguments are not like the captured ones.
            GraphError: if the program would have taken another path for these values.
        """
        given = self._takes(*args, **kwargs) if self._takes else list(args)
        held = [] if self.state is None else list(self.state.read())
        results = [_apart(x, held) for x in self.run([*given, *held])]
        writes: Sequence[Action] = ()
        if self.state is not None:
            count = len(results) - len(self.written)
            results, new = results[:count], results[count:]
            results, writes = self.state.writes(dict(zip(self.written, new, strict=True)), results)
        value = self._gives(results) if self._gives else (results[0] if len(results) == 1 else tuple(results))
        commit(writes)
        return value

    def run(self, values: Sequence[Array]) -> list[Value]:
        """The outputs for one value an input."""
        if len(values) != len(self.inputs):
            raise ArgumentError(f"the graph takes {len(self.inputs)} arrays; got {len(values)}")
        for node, value in zip(self.inputs, values, strict=True):
            if node.shape is not None and np.shape(value) != node.shape:
                raise ArgumentError(
                    f"input {node.value} was captured with shape {node.shape}; got {np.shape(value)}. Capture the "
                    f"function once more for this shape"
                )
        results = self.schedule.interpreted(values)
        assert results is not None  # its checks raise
        return results

    @property
    def schedule(self) -> Schedule:
        """How it runs by NumPy: each node in order, and the guards as soon as what they ask about is there."""
        if self._schedule is None:
            slots = {node: i for i, node in enumerate(self.inputs)}
            guarded = {guard.node for guard in self.guards}
            steps = [ScheduledCall(partial(self.ask, node), (i,), None) for node, i in slots.items() if node in guarded]
            nodes = [node for node in self.nodes if node not in slots]
            slots |= {node: i for i, node in enumerate(nodes, len(slots))}
            for node in nodes:
                if node.args or node.op is not None:  # else it is a constant
                    steps.append(numpy_step(node, [slots[arg] for arg in node.args], slots[node]))
                    if node in guarded or depends_on_values(node):
                        steps.append(ScheduledCall(partial(self._as_captured, node), (slots[node],), None))
            outputs = [slots[node] for node in self.outputs]
            for k, node in enumerate(self.outputs):
                if node.kind in ("input", "constant"):  # a caller's array, or one of the program's own
                    outputs[k] = len(slots) + k
                    steps.append(ScheduledCall(_copied, (slots[node],), outputs[k]))
            constants = {slots[node]: node.value for node in nodes if not node.args and node.op is None}
            self._schedule = Schedule(len(self.inputs), constants, steps, outputs, f"program of {self.name}")
        return self._schedule

    def _as_captured(self, node: Node, value: Array) -> bool:
        as_captured(node, value)
        return self.ask(node, value)

    def ask(self, node: Node, value: Array) -> bool:
        """Hold the guards of `node` against its value in this run. True if they agree.

        Raises:
            GraphError: if one is answered differently.
        """
        for guard in self._asked.get(node, ()):
            answer = _answered(guard.question, value)
            same = answer == guard.answer if guard.question == "shape" else answer is guard.answer
            if not same and not (guard.question != "shape" and _alike(np.asarray(answer), np.asarray(guard.answer))):
                raise GraphError(
                    f"the captured program asked at {line_of(guard.place)} for the {guard.question} of a value, and "
                    f"went on with {guard.answer}; it is {answer} now, for which the program may be another one. "
                    f"Capture it with these arguments, or choose by np.where instead of by `if`"
                )
        return True

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

    def rewritten(self, rules: Iterable[Rewrite] | None = None, report: Report | None = None) -> Graph:
        """The same program, simpler: with `rules` applied wherever they fit.

        Args:
            rules: those of `adjoint.graph.rewriting.rules`: `SAFE` if not given, which leave every result bit for bit
                (and log(softmax) more accurate); `UNSAFE` and `COMMUTATIVE` are asked for: ``rules=SAFE + UNSAFE``.
            report: a `Report` to be filled with what was replaced where.

        Example:
            >>> import adjoint as ad
            >>> graph = ad.capture(lambda x, y: -(-x) * 1.0 - (-y), 1.0, 2.0)
            >>> len(graph), len(graph.rewritten())
            (8, 3)
        """
        from adjoint.graph.rewriting.driver import rewritten
        from adjoint.graph.rewriting.rules import SAFE

        return rewritten(self, SAFE if rules is None else rules, report)

    def to_source(self) -> str:
        """The program as a Python function that needs NumPy alone: the same values, bit for bit.

        Its parameters are the leaves of the arguments and of the state that is read; it returns the outputs, and the
        state that the program writes as a dictionary.

        Example:
            >>> import adjoint as ad
            >>> print(ad.capture(lambda x, y: (x + y) * (x + y), 1.0, 2.0).to_source())
            import numpy as np
            ...
        """
        from adjoint.graph.text.source import source

        return source(self)

    def __str__(self) -> str:
        from adjoint.graph.text.text import listing

        return listing(self)

    def _repr_html_(self) -> str:
        shown: str = service("page")(self)
        return shown

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self)} nodes, {len(self.outputs)} outputs>"


def _copied(value: Array) -> Array:
    return np.array(value) if isinstance(value, np.ndarray) else value


def _answered(question: str, value: Array) -> object:
    """The answer to `question` about `value`."""
    if question == "shape":
        return tuple(np.shape(x) for x in value) if isinstance(value, tuple) else np.shape(value)
    kinds: dict[str, Callable[[Value], Value]] = {"bool": bool, "float": float, "int": int, "complex": complex}
    return kinds.get(question, np.asarray if question == "values" else int)(value)


def needed(guards: Iterable[Guard], outputs: Iterable[Node]) -> list[Guard]:
    """The guards without repetitions, and without shapes that computing `outputs` checks anyway."""
    once = list({(guard.node, guard.question): guard for guard in guards}.values())
    asked = [guard.node for guard in once if guard.question not in SEEN]
    computed = set(in_order([*outputs, *asked]))
    return [g for g in once if g.question not in SEEN or g.node not in computed or is_ordered(g.node)]


# Questions that computing the node answers.
SEEN = ("shape", "run")


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two answers are the same: nan as nan, 0.0 not as -0.0."""
    if a.dtype.kind == "c":
        return _alike(a.real, b.real) and _alike(a.imag, b.imag)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a) & (a == 0), np.signbit(b) & (b == 0))


def depends_on_values(node: Node) -> bool:
    """Whether shape or dtype of what `node` gives may depend on values, as those of np.nonzero and np.unique do."""
    op = node.op
    if op is None or "still" in op.flags:
        return False
    return op.kind in ("constant", "general") and not isinstance(op.forward, np.ufunc)


def as_captured(node: Node, value: Value) -> bool:
    """Refuse a value of another shape or dtype than in the capture: what follows may be another program."""
    shape, dtype, values = node.shape, node.dtype, value
    if shape is None or node.op is None:
        return True
    if not isinstance(dtype, tuple):
        shape, dtype, values = (shape,), (dtype,), (value,)
    for s, d, x in zip(shape, dtype, values, strict=True):
        found = np.shape(x), x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
        if found != (s, d):
            line = f" at {line_of(node.place)}" if node.place else ""
            raise GraphError(
                f"{node.op.name}{line} gave {s} {d} when the program was captured, and gives {found[0]} {found[1]} "
                f"now, for which the program may be another one. Capture it with these arguments"
            )
    return True


def _apart(x: Array, held: Sequence[Value]) -> Array:
    """A result in memory of its own: a write into it would change what is kept outside, and no tensor would know."""
    shows = isinstance(x, np.ndarray) and any(isinstance(h, np.ndarray) and np.may_share_memory(x, h) for h in held)
    return np.array(x) if shows else x
