"""`build`: a graph's nodes as a program that runs natively where it can, and by NumPy where it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.threads.locks import COMPILING
from adjoint.core.types import Array
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, in_order
from adjoint.native.call import array_entry
from adjoint.native.call.driver import Driver, NativeStep, NumpyStep, Runnable
from adjoint.native.call.segment import Segment
from adjoint.native.codegen.jit import NativeModule, assembly_of, compiled, module_text
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.lower import table as lowering
from adjoint.native.plan import systems
from adjoint.native.plan.classify import kind_of
from adjoint.native.plan.elements.rows import written_out
from adjoint.native.plan.layout import indexing
from adjoint.native.plan.layout.piecewise import followed
from adjoint.native.plan.loops.body import is_loop
from adjoint.native.plan.loops.held import told
from adjoint.native.plan.pairs.splitting import as_floats, for_numpy, split, stands_for
from adjoint.native.plan.partition import partition, used_later, views_for_numpy
from adjoint.native.plan.planner import Planner
from adjoint.native.plan.products.chains import ordered
from adjoint.native.plan.recipe import kind_of as array_kind
from adjoint.native.plan.recipe import recipe_of
from adjoint.native.plan.rewriting.decompose import primitive, taken_apart
from adjoint.native.plan.steps import Plan, functions_of

if TYPE_CHECKING:
    from adjoint.native.report.listing import Listing


class KernelRecord(NamedTuple):
    """What one native step does: the nodes it computes in so many loops, and the bytes that it reads and writes."""

    name: str
    nodes: tuple[Node, ...]
    loops: int
    read: int
    written: int


class Program(Runnable):
    """What leads from `inputs` to `outputs`, compiled for this processor; made by `build`.

    Called with one array an input, ``program(*arrays)`` gives a list of new arrays, one a result.

    Args:
        inputs: nodes of known shape and dtype; the program is called with one array for each.
        outputs: nodes that use these (or are them). What has no native code is computed by NumPy in between, for which
            `Program.listing` gives the reasons.
        fastmath: let a product and a sum be rounded once instead of twice; nothing else changes.
        memory: "auto", or "low" to compute again what native code can; see `adjoint.compile`.
        into: outputs, by their number, that a call need not give, if its last step can write them into the array of an
            input, by its number. Both have one shape and dtype.
        checks: nodes, and the values that they must have, bit by bit. If they have others, a call gives None, and has
            written nothing.
        seen: nodes that are computed although nothing uses them, since their shapes are guarded, or they send messages.
        after: by the number of a node in `seen`, how many of the checks come before it.
        exact: refuse arrays of other dtypes than the inputs', which otherwise are converted.
        by_element: compute arrays of many rows and short axes element by element; see `native.plan.elements`.
        lies: the strides in bytes of inputs, by number, that do not lie in C order. Arrays that lie otherwise are
            copied.

    Attributes:
        run: the same call with the least overhead: a built-in function, if everything is native.
        whole, held, long: see `Runnable`.
        kernels: a `KernelRecord` for each native step, in the order in which they run.
        modules: the code of these, without repetitions.
        plans: of the segments.
        into: those of `into` that a call writes.
        given: what the results of a call are: shapes, dtypes and labels.
        loops: notes on repeating turns: which are loops of native code, and why others are not.

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

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        *,
        fastmath: bool = False,
        memory: str = "auto",
        into: Mapping[int, int] | None = None,
        checks: Sequence[tuple[Node, np.ndarray]] = (),
        seen: Sequence[Node] = (),
        after: Mapping[int, int] | None = None,
        exact: bool = False,
        by_element: bool = True,
        lies: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.fastmath, self.memory, self.exact = fastmath, memory, exact
        self.loops: list[str] = []
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        asked = [*(node for node, _ in checks), *seen]
        turned = any(sorted(strides, reverse=True) != [*strides] for strides in (lies or {}).values())
        real = split(primitive([*ordered(self.outputs, asked), *asked]), self.inputs, taken_apart, turned)
        plain, self._inputs = real.outputs, [real.inputs.get(node, node) for node in self.inputs]
        count = len(plain)
        plain, inside = told(plain, kind_of)
        plain += inside
        written = written_out(plain) if by_element else None
        everything = followed(written.outputs if written else plain)
        self._by_element = written.nodes if written else frozenset[Node]()
        values = everything[: len(outputs)]
        self._checks = [(n, answer) for n, (_, answer) in zip(everything[len(outputs) :], checks, strict=False)]
        first = len(outputs) + len(checks)
        before = {everything[first + k]: everything[len(outputs) : len(outputs) + n] for k, n in (after or {}).items()}
        held = indexing.together([*systems.checks(in_order(everything)), *everything[count:]])
        finite = [written.finite] if written and written.finite else []
        self._checks += [(node, np.asarray(True)) for node in (*held, *finite)]
        everything += [*held, *finite]
        nodes = [n for n in in_order(everything) if n.kind in ("call", "part")]
        kinds, reasons = {}, dict[Node, str]()
        for node in nodes:
            kinds[node], reasons[node] = kind_of(node)
        for node in views_for_numpy(nodes, kinds, everything):
            kinds[node], reasons[node] = "numpy", "a view for NumPy's steps"
        self._parts = partition(nodes, kinds, everything, before)
        # With one segment alone its results are the program's: arguments and repeated values among them too.
        stored = all(_is_stored(n) for n in (*values, *(node for node, _ in self._checks)))
        whole = stored and [native for native, _ in self._parts] == [True] and not finite
        # The last segment writes all that goes into arguments, if nothing can fail after it.
        self._writing = self._parts[-1][1] if stored and self._parts and self._parts[-1][0] else None
        direct = self._writing is not None and array_entry.supported() and not finite
        into = dict(into or {}) if direct else {}
        self._lies = {self._inputs[k]: strides for k, strides in (lies or {}).items() if k not in into.values()}
        results = [node for i, node in enumerate(values) if i not in into]
        self._writes = [(values[i], self._inputs[k]) for i, k in into.items()]
        kept = [node for i, node in enumerate(outputs) if i not in into]
        self._plainly = partial(Program, inputs, outputs, fastmath=fastmath, memory=memory, checks=checks, seen=seen,
                                after=after, exact=exact, by_element=False, lies=lies)  # fmt: skip
        super().__init__(self._assembled(kinds, reasons, results, kept, whole), into, whole, bool(finite))
        if held and not exact and not finite:
            self._every, self.run = self.run, self._by_numpy_if_outside

    def _assembled(
        self, kinds: dict[Node, str], reasons: dict[Node, str], results: list[Node], kept: list[Node], whole: bool
    ) -> Driver:
        """Plan the segments, have their code made, and put them in order with NumPy's steps."""
        slots: dict[Node, int] = {node: i for i, node in enumerate(self._inputs)}
        checked = [node for node, _ in self._checks]
        written = [node for node, _ in self._writes]
        natively = {node for native, part in self._parts if native for node in part}
        asked = [(node, answer) for node, answer in self._checks if node not in natively]
        later = used_later(self._parts, [*results, *written, *(node for node, _ in asked)])
        steps: list[NumpyStep | NativeStep] = []
        planned: dict[int, tuple[list[Node], Planner, Plan]] = {}
        for native, part in self._parts:
            if native:
                inside, here = set(part), part is self._writing
                writes = self._writes if here else []
                checks = [(n, as_floats(answer)) for n, answer in self._checks if n in inside or whole]
                outs = results if whole else [n for n in part if n in later[id(part)]]
                if here and not whole:
                    outs = [n for n in outs if n in results]
                planner = Planner(part, {n: kinds[n] for n in part}, outs, self.fastmath, writes, checks, self.memory,
                                  self._by_element, {n: _lies(n, s) for n, s in self._lies.items()})  # fmt: skip
                planned[id(part)] = outs, planner, planner.plan()
        self._functions = {f.key: f for _, _, plan in planned.values() for f in functions_of(plan)}
        kernels = dict(zip(self._functions, compiled(list(self._functions.values())), strict=True))
        self.modules: list[NativeModule] = list(dict.fromkeys(kernel.module for kernel in kernels.values()))
        # For reports: what each step does, and gives.
        self.told: list[NumpyStep | tuple[Plan, Sequence[Node]]] = []
        self.results = results
        for native, part in self._parts:
            if native:
                outs, planner, plan = planned[id(part)]
                takes = list(self._inputs) if whole else planner.takes(self._inputs)
                for node in (*takes, *outs):
                    slots.setdefault(node, len(slots))
                own = {function.key: kernels[function.key] for function in functions_of(plan)}
                segment = Segment(recipe_of(plan, takes, outs, self._lies), own, self.exact)
                steps.append(NativeStep(segment, [slots[n] for n in takes], [slots[n] for n in outs]))
                self.told.append((plan, outs))
            else:
                for node in part:
                    for arg in node.args:
                        slots.setdefault(arg, len(slots))
                    slots.setdefault(node, len(slots))
                    step = NumpyStep(for_numpy(node), [slots[a] for a in node.args], slots[node], reasons[node])
                    steps.append(step)
                    self.told.append(step)
        for node in (*results, *checked, *written):
            slots.setdefault(node, len(slots))
        return Driver(
            [array_kind(node, self._lies.get(new)) for node, new in zip(self.inputs, self._inputs, strict=True)],
            len(slots),
            steps,
            {slots[n]: n.value for n in slots if n.kind == "constant"},
            [(slots[n], array_kind(node)) for n, node in zip(results, kept, strict=True)],
            {slots[node]: answer for node, answer in asked},
            self.exact,
        )

    def _by_numpy_if_outside(self, *arrays: Array) -> object:
        """The results; if an index is outside of its array, the error that NumPy raises."""
        results = self._every(*arrays)
        return Graph(self.inputs, self.outputs).run(arrays) if results is None else results

    @cached_property
    def otherwise(self) -> Program:
        """The program that computes place by place what is not finite."""
        with COMPILING:
            return self._plainly()

    @property
    def made(self) -> Program:
        """The program itself, where another one is read from disk."""
        return self

    @property
    def plans(self) -> list[Plan]:
        return [told[0] for told in self.told if not isinstance(told, NumpyStep)]

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
        from adjoint.native.report.listing import Listing

        return Listing(self._inputs, self.results, self.told, (inputs, outputs))

    @property
    def llvm(self) -> str:
        """The code that LLVM is given for it."""
        return module_text(list(self._functions.values()))

    @property
    def assembly(self) -> str:
        """This processor's instructions for it."""
        return assembly_of(self.llvm)


def _is_stored(node: Node) -> bool:
    return (
        (node.kind != "part" or is_loop(node.args[0])) and key_of(node.dtype) in lowering.STORED and 0 not in node.shape
    )


def _lies(node: Node, strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of the real numbers that `node` stands for."""
    return (*strides, node.dtype.itemsize) if stands_for(node) else strides


build = Program  # the name that says what a call does
