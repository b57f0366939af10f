"""`build`: a graph's nodes as a program that runs natively where it can, and by NumPy where it must."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, in_order
from adjoint.native import entry, lowering
from adjoint.native.emit import key_of
from adjoint.native.engine import Kernel, Module, compiled
from adjoint.native.indexing import checks
from adjoint.native.plan import Plan, Planner, kind_of
from adjoint.native.primitive import primitive

if TYPE_CHECKING:
    from adjoint.native.listing import Listing


class KernelRecord(NamedTuple):
    """What one native step does: the nodes it computes in so many loops, and the bytes that it reads and writes."""

    name: str
    nodes: tuple[Node, ...]
    loops: int
    read: int
    written: int


class Segment:
    """Steps that run in one native call: arrays in, a list of new arrays out.

    `run` is the built-in function; what does not fit it comes back to `_slow`.
    """

    def __init__(self, inputs: Sequence[Node], plan: Plan, outputs: Sequence[Node], kernels: list[Kernel]) -> None:
        self.inputs, self.outputs, self.plan, self.kernels = inputs, outputs, plan, kernels
        self._lock = threading.Lock()
        self._others: list[Callable[..., list[np.ndarray]]] = []
        self.run, self._words = self._instance(self._slow)
        self.closed = False

    def _instance(self, slow: Callable[..., Any]) -> tuple[Callable[..., list[np.ndarray]], Any]:
        """A native function with an arena of its own."""
        plan, count = self.plan, len(self.inputs) + len(self.outputs)
        arena = np.empty(plan.arena.size // 8 + 8, np.int64)
        start = -(-arena.ctypes.data // 64) * 64
        constants = [np.ascontiguousarray(node.value) for node in plan.constants]
        slots: dict[Any, int] = {node: i for i, node in enumerate(self.inputs)}
        results: dict[Any, int] = {}
        for step in plan.steps:
            for value in step.use.writes:
                if value not in plan.arena.places:
                    results[value] = 0
        slots |= self._result_slots(results)
        slots |= {node: count + i for i, node in enumerate(plan.constants)}
        arena_slot = count + len(constants)
        block = np.array([0] * count + [c.ctypes.data for c in constants] + [start], np.int64)
        params = []
        for step in plan.steps:
            words: list[int] = []
            for value, offset in step.operands:
                place = plan.arena.places.get(value)
                words += (slots[value], offset) if place is None else (arena_slot, place + offset)
            params.append(np.array([*words, *step.numbers, 0], np.int64))
        calls = [w for k, p in zip(self.kernels, params, strict=True) for w in (k.address, p.ctypes.data)]
        steps = np.array(calls or [0], np.int64)
        dims = [np.array([*node.shape, 0], np.int64) for node in (*self.inputs, *self.outputs)]
        kinds = [
            w
            for node, d in zip(self.inputs, dims, strict=False)
            for w in (id(node.dtype), len(node.shape), d.ctypes.data, 0 if node.shape else id(node.dtype.type))
        ]
        outs = [
            w
            for node, d in zip(self.outputs, dims[len(self.inputs) :], strict=True)
            for w in (id(node.dtype), len(node.shape), d.ctypes.data)
        ]
        tables = [np.array(words or [0], np.int64) for words in (kinds, outs)]
        keep = (arena, constants, block, params, steps, dims, tables, slow, self.kernels, self.inputs, self.outputs)
        described = entry.table(
            [len(self.inputs), len(self.outputs), len(plan.steps), block.ctypes.data, steps.ctypes.data,
             tables[0].ctypes.data, tables[1].ctypes.data, id(slow), 0, int(self._is_long())],
            keep,
        )  # fmt: skip
        if not entry.supported():
            return entry.by_ctypes(described), described
        return entry.builtin(described), described

    def _result_slots(self, results: dict[Any, int]) -> dict[Any, int]:
        from adjoint.native.plan import Copy

        first = len(self.inputs)
        slots: dict[Any, int] = {}
        for value in results:
            i = value.number if isinstance(value, Copy) else self.outputs.index(value)
            slots[value] = first + i
        return slots

    def _is_long(self) -> bool:
        """Whether other threads should run meanwhile: it takes longer than letting them."""
        return sum(step.read + step.written for step in self.plan.steps) > 1 << 20 or any(
            step.label.startswith("BLAS") and np.prod(step.numbers[2:5]) > 1 << 20 for step in self.plan.steps
        )

    def _slow(self, *args: Any) -> list[np.ndarray]:
        """For arguments that are not as the native function wants them, and while that is busy."""
        if self.closed:
            raise NotSupportedError("the program has been closed; build it once more: adjoint.native.build(…)")
        arrays = fitted(self.inputs, args)
        if not self._words[entry.BUSY]:
            return self.run(*arrays)
        with self._lock:
            other = self._others.pop() if self._others else self._instance(_busy)[0]
        try:
            return other(*arrays)
        finally:
            with self._lock:
                self._others.append(other)

    def close(self) -> None:
        """Forget the code."""
        self.closed = True
        self._words[entry.ARGS] = -1
        self._others.clear()


def _busy(*args: Any) -> Any:
    raise AssertionError("an instance of a segment is used twice at once")


def fitted(inputs: Sequence[Node], args: Sequence[Any]) -> list[np.ndarray]:
    """Arguments as contiguous arrays of the inputs' dtypes and shapes."""
    if len(args) != len(inputs):
        raise ArgumentError(f"the program takes {len(inputs)} arrays; got {len(args)}")
    arrays = []
    for node, arg in zip(inputs, args, strict=True):
        array: np.ndarray = np.require(arg, node.dtype, ["C", "A", "E"])
        array = array.reshape(()) if not node.shape and array.size == 1 and np.ndim(arg) == 0 else array
        if array.dtype is not node.dtype:  # an equal dtype, but another object
            array = array.astype(node.dtype).view(node.dtype)
        if array.shape != node.shape:
            raise ArgumentError(f"the program was built for shape {node.shape} of {node.label}; got {array.shape}")
        arrays.append(array)
    return arrays


class NumpyStep(NamedTuple):
    """An operation that NumPy computes in between, and why."""

    node: Node
    args: list[int]
    out: int
    reason: str


class NativeStep(NamedTuple):
    """A segment, and where its arguments are and its results go."""

    segment: Segment
    args: list[int]
    outs: list[int]


class Program:
    """A compiled program: called with one array an input, it gives a list of new arrays.

    Attributes:
        run: the same call with the least overhead: a built-in function, if everything is native.
        kernels: a `KernelRecord` for each native step, in the order in which they run.
        arena_bytes: the memory that it keeps for values in between.
        compile_seconds: how long LLVM took for what was not there yet.
    """

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], fastmath: bool = False) -> None:
        self.fastmath = fastmath
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        results = primitive(self.outputs)
        held = checks(in_order(results))
        self._results = results = [*results, *held]
        nodes = [n for n in in_order(results) if n.kind in ("call", "part")]
        kinds, self.reasons = {}, dict[Node, str]()
        for node in nodes:
            kinds[node], self.reasons[node] = kind_of(node)
        self._parts = _partition(nodes, kinds, results)
        self._assemble(kinds, results)
        first = self._steps[0] if self._whole else None
        alone = first if isinstance(first, NativeStep) else None
        self._every: Callable[..., list[np.ndarray]] = alone.segment.run if alone else self._through
        self.run = self._checked if held else self._every

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        return self.run(*arrays)

    def _assemble(self, kinds: dict[Node, str], results: list[Node]) -> None:
        slots: dict[Node, int] = {node: i for i, node in enumerate(self.inputs)}
        used_later = _used_later(self._parts, results)
        # With one segment alone its results are the program's: arguments and repeated values among them too.
        stored = all(key_of(n.dtype) in lowering.STORED and 0 not in n.shape for n in results)
        self._whole = stored and [native for native, _ in self._parts] == [True]
        plans = []
        for native, part in self._parts:
            if native:
                outs = results if self._whole else [n for n in part if n in used_later[id(part)]]
                plans.append((part, outs, Planner(part, {n: kinds[n] for n in part}, outs, self.fastmath)))
        self._steps: list[NumpyStep | NativeStep] = []
        planned = {id(part): (outs, planner.plan()) for part, outs, planner in plans}
        functions = [step.function for _, plan in planned.values() for step in plan.steps]
        found = compiled(functions)
        self.modules: list[Module] = list(dict.fromkeys(kernel.module for kernel in found))
        self.plans: list[Plan] = []
        self._kernels = iter(found)
        for native, part in self._parts:
            if native:
                outs, plan = planned[id(part)]
                inside = set(part)
                takes = list(dict.fromkeys(a for n in part for a in n.args
                                           if a not in inside and a.kind != "constant"))  # fmt: skip
                takes = [n for n in self.inputs if n in takes] + [n for n in takes if n not in self.inputs]
                if len(self._parts) == 1:
                    takes = list(self.inputs)
                kernels = [next(self._kernels) for _ in plan.steps]
                for node in outs:
                    slots.setdefault(node, len(slots))
                segment = Segment(takes, plan, outs, kernels)
                self._steps.append(NativeStep(segment, [slots[n] for n in takes], [slots[n] for n in outs]))
                self.plans.append(plan)
            else:
                for node in part:
                    for arg in node.args:
                        slots.setdefault(arg, len(slots))
                    slots.setdefault(node, len(slots))
                    self._steps.append(NumpyStep(node, [slots[a] for a in node.args], slots[node], self.reasons[node]))
        for node in results:
            slots.setdefault(node, len(slots))
        self._constants = [(slots[n], n.value) for n in slots if n.kind == "constant"]
        self._count, self._gives = len(slots), [slots[n] for n in results]

    def _checked(self, *arrays: Any) -> list[np.ndarray]:
        """The results, if all numbers in index arrays are inside; else what NumPy says of it."""
        results = self._every(*arrays)
        return results if results.pop() else Graph(self.inputs, self.outputs).run(arrays)

    def _through(self, *arrays: Any) -> list[np.ndarray]:
        """Segments and NumPy's steps in turn."""
        if len(arrays) != len(self.inputs):
            raise ArgumentError(f"the program takes {len(self.inputs)} arrays; got {len(arrays)}")
        values: list[Any] = [*arrays, *[None] * (self._count - len(arrays))]
        fresh: set[int] = set()
        for slot, value in self._constants:
            values[slot] = value
        for step in self._steps:
            if isinstance(step, NativeStep):
                for slot, array in zip(step.outs, step.segment.run(*[values[i] for i in step.args]), strict=True):
                    values[slot] = array
                    fresh.add(slot)
            elif step.node.op is None:
                values[step.out] = values[step.args[0]][step.node.value]
            else:
                values[step.out] = apply(step.node.op, [values[i] for i in step.args], step.node.settings)
        outs = []
        for slot, node in zip(self._gives, self._results, strict=True):
            own = slot in fresh
            fresh.discard(slot)
            outs.append(values[slot] if own else np.array(values[slot], node.dtype))
        return outs

    @property
    def kernels(self) -> list[KernelRecord]:
        return [
            KernelRecord(step.function.name, step.nodes, step.loops, step.read, step.written)
            for plan in self.plans
            for step in plan.steps
        ]

    def listing(self, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Listing:
        """The plan: each step with what it reads and writes, where and how long that lies, and why NumPy computes it.

        Args:
            inputs, outputs: what to call the arguments and the results.
        """
        from adjoint.native.listing import Listing

        return Listing(self.inputs, self._results, self._steps, (inputs, outputs))

    @property
    def arena_bytes(self) -> int:
        return sum(plan.arena.size for plan in self.plans)

    @property
    def compile_seconds(self) -> float:
        return sum(module.seconds for module in self.modules)

    @property
    def llvm(self) -> str:
        """The code that LLVM was given."""
        return "\n".join(module.text for module in self.modules)

    @property
    def assembly(self) -> str:
        """This processor's instructions for it."""
        return "\n".join(module.assembly for module in self.modules)

    def close(self) -> None:
        """Free the code; a later call raises `NotSupportedError`."""
        for step in self._steps:
            if isinstance(step, NativeStep):
                step.segment.close()
        self.modules = []


Part = tuple[bool, list[Node]]


def _partition(nodes: Sequence[Node], kinds: dict[Node, str], results: Sequence[Node]) -> list[Part]:
    """As few segments as come of taking all that is ready: native nodes, then NumPy's, and so on."""
    parts: list[Part] = []
    left, done = list(nodes), set[Node]()
    while left:
        for native in (True, False):
            part, rest = list[Node](), list[Node]()
            for node in left:
                ready = all(arg in done or arg.kind in ("input", "constant") for arg in node.args)
                here = ready and (kinds[node] not in ("numpy", "part")) is native
                (part if here else rest).append(node)
                if here:
                    done.add(node)
            left = rest
            if part:
                parts.append((native, part))
    _delay(parts, set(results))
    return [(native, part) for native, part in parts if part]


def _delay(parts: list[Part], results: set[Node]) -> None:
    """Put what only later segments use of the program's inputs into these: its argument is there anyway."""
    home = {node: i for i, (_, part) in enumerate(parts) for node in part}
    users: dict[Node, list[Node]] = {}
    for i, (_, part) in reversed(list(enumerate(parts))):
        for node in reversed(part):
            later = [home[user] for user in users.get(node, [])]
            given = all(arg.kind in ("input", "constant") for arg in node.args)
            if later and given and node not in results and min(later) > i and parts[min(later)][0] and parts[i][0]:
                home[node] = min(later)
            for arg in node.args:
                users.setdefault(arg, []).append(node)
    for i, (_, part) in enumerate(parts):
        part[:] = sorted((n for n in home if home[n] == i), key=lambda n: n.number)


def _used_later(parts: Sequence[Part], results: Sequence[Node]) -> dict[int, set[Node]]:
    """For each part, what others or the caller use of it."""
    home = {node: id(part) for _, part in parts for node in part}
    later: dict[int, set[Node]] = {id(part): set() for _, part in parts}
    for node in results:
        if node in home:
            later[home[node]].add(node)
    for _, part in parts:
        for node in part:
            for arg in node.args:
                if arg in home and home[arg] != id(part):
                    later[home[arg]].add(arg)
    return later


def build(inputs: Sequence[Node], outputs: Sequence[Node], *, fastmath: bool = False) -> Program:
    """Compile what leads from `inputs` to `outputs`, for this processor.

    Args:
        inputs: nodes of known shape and dtype; the program is called with one array for each.
        outputs: nodes that use these (or are them). What has no native code is computed by NumPy in between, for which
            `Program.listing` gives the reasons.
        fastmath: let a product and a sum be rounded once instead of twice; nothing else changes.

    Returns:
        A `Program`: ``program(*arrays)`` gives a list of new arrays, of one result each.

    Raises:
        ArgumentError: from a call with other shapes, or another number of arrays.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import native
        >>> graph = ad.capture(ad.grad(lambda x: np.sum(np.tanh(x) ** 2)), np.ones(3))
        >>> program = native.build(graph.inputs, graph.outputs)
        >>> program(np.array([0.0, 1.0, -2.0]))
        [array([ 0.        ,  0.63970001, -0.13621869])]
    """
    return Program(inputs, outputs, fastmath)
