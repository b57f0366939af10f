"""The plan of a segment: kernels and products in order, what each reads and writes, and where in the arena it lies."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Literal

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.node import Node
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.kernels import INLINED, write
from adjoint.native.codegen.loops.loop_nest import Expression, Reduction, Spec, Split, contiguous
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.lower import table as lowering
from adjoint.native.plan import arranging, partial_sums, systems
from adjoint.native.plan import order as axes
from adjoint.native.plan.classify import reduction_of
from adjoint.native.plan.elements import stores as parts_of
from adjoint.native.plan.fusion import Group, Scope, axes_reduced, groups, homes, members
from adjoint.native.plan.layout import assembly
from adjoint.native.plan.layout.assembly import is_number, number_as
from adjoint.native.plan.layout.views import StridedView, plain, through
from adjoint.native.plan.loops import steps as looping
from adjoint.native.plan.memory import adding, arguments
from adjoint.native.plan.memory import arena as buffers
from adjoint.native.plan.memory.arena import StepUse
from adjoint.native.plan.pairs import fourier
from adjoint.native.plan.products import multiplying
from adjoint.native.plan.rewriting import again, extremes
from adjoint.native.plan.steps import Copy, Plan, PlanStep, bytes_of, slots_of
from adjoint.native.plan.windows import sliding

NOWHERE_ELSE: Mapping[Node, tuple[int, ...]] = MappingProxyType({})  # all inputs lie in C order
_PRODUCT, _READ = (
    0.01,
    0.1,
)  # nanoseconds for a product of two numbers, about: of tiles, and of a matrix that is read once


class Planner:
    """Makes the plan of a segment.

    Args:
        nodes: what native code computes, in order.
        kinds: for each of these what it is; see `kind_of`.
        outputs: the values that leave the segment, in the order of the results.
        fastmath: whether a product and a sum may be rounded once.
        writes: values that are written into arguments, each with the argument.
        checks: values that must be equal to an array, or else nothing is written.
        memory: "auto" or "low"; see `adjoint.compile`.
        by_element: what is computed for each row of arrays with short axes; see `elements`.
        lies: the strides in bytes of inputs that do not lie in C order.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        kinds: dict[Node, str],
        outputs: Sequence[Node],
        fastmath: bool = False,
        writes: Sequence[tuple[Node, Node]] = (),
        checks: Sequence[tuple[Node, np.ndarray]] = (),
        memory: str = "auto",
        by_element: Set[Node] = frozenset(),
        lies: Mapping[Node, tuple[int, ...]] = NOWHERE_ELSE,
    ) -> None:
        self.fastmath, self.writes, self.checks, self.memory = fastmath, writes, checks, memory
        self.kinds, self.outputs = dict(kinds), outputs
        self.views: dict[Node, StridedView] = {
            node: StridedView(node, node.shape, tuple(s // node.dtype.itemsize for s in strides))
            for node, strides in lies.items()
        }
        self.moved: dict[
            Node, StridedView
        ] = {}  # values that lie in another order than NumPy's, and the views of these
        for node in nodes:
            if kinds[node] == "view":
                shown = through(node, self.view(node.args[0]))
                if shown is None:  # its elements are put in order first
                    self.kinds[node] = "identity"
                else:
                    self.views[node] = shown
        self.kept = [*outputs, *(value for value, _ in writes), *(value for value, _ in checks)]
        self.scope = Scope(nodes, self.kinds, self.views, self.kept, by_element)
        self.leaving = {*outputs, *(value for value, _ in writes)}
        self.movable: set[Node] = set()
        self.again: dict[Node, tuple[Node, ...]] = {}  # values that each reader computes by itself, and by which nodes
        self.blocks: dict[Node, tuple[Node, int]] = {}  # for numbers that lie side by side: the first, and how far on
        self.results: dict[Value, int] = {}
        self.constants: list[Node] = []
        self.known: dict[Hashable, FunctionText] = {}
        self.placed: parts_of.Placed = {}  # what kernels write right to its part of an array
        self.steps: list[PlanStep] = []
        self.within = False  # whether it is the plan of a loop's turns
        self.copied: dict[Hashable, Copy] = {}  # what sides of products have been copied to

    def view(self, node: Node) -> StridedView:
        """Where the elements of `node` lie."""
        return self.moved.get(node) or self.views.get(node) or plain(node)

    def plan(self) -> Plan:
        """All steps, and places for what they write."""
        order = groups(self.scope)
        self.placed = parts_of.placed(self.scope, order)
        needed = self._needed(order)
        self.again = again.chosen(self.scope, order, needed, self.memory == "low")
        needed -= self.again.keys()
        self.movable = axes.movable(self.scope, order)
        copies: list[tuple[Node, Copy]] = []
        turned: dict[Node, int] = {}
        shown = axes.turned(self.outputs, self.scope, self.movable - self.again.keys(), order)
        for i, node in enumerate(self.outputs):
            if node in shown and (base := self.scope.base(node)) not in turned:
                self.moved |= shown[node]
                turned[base] = self.results[base] = i
                self.movable.discard(base)
                continue
            copied = node in self.views or node not in self.kinds or node in self.results
            if copied:
                copies.append((node, Copy(node, node.shape, i)))
            self.results[copies[-1][1] if copied else node] = i
        first, later = arguments.parted(self, order)
        for group in first:
            self._step(group, needed)
        arguments.check(self)
        checked = len(self.steps)
        for group in later:
            self._step(group, needed)
        for node, copy in copies:
            self.put_in_order(self.view(node), copy)
        direct = arguments.direct(self, checked)
        arguments.commit(self, direct)
        targets = [target for _, target in self.writes]
        uses = [step.use for step in self.steps]
        over = {*direct, *targets}
        inside = (value for use in uses for value in use.writes if value not in self.results and value not in over)
        sizes = {value: bytes_of(value) for value in inside}
        arena = buffers.planned(uses, sizes)
        buffers.verify(uses, sizes, arena)
        final = next((i for i, use in enumerate(uses) if over.intersection(use.writes)), len(uses))
        return Plan(self.steps, self.constants, arena, targets, direct, final, tuple(self.again), turned)

    def takes(self, inputs: Sequence[Node]) -> list[Node]:
        """What the segment is called with: first those that are the program's `inputs`."""
        own = set(self.scope.nodes)
        used = dict.fromkeys(arg for node in self.scope.nodes for arg in node.args)
        used |= dict.fromkeys((*self.kept, *(target for _, target in self.writes)))
        found = [node for node in used if node not in own and node.kind != "constant"]
        return [node for node in inputs if node in used] + [node for node in found if node not in inputs]

    def _step(self, group: Group | Node, needed: set[Node]) -> None:
        if isinstance(group, Node):
            made = {"matmul": multiplying.multiply, "slide": sliding.slide, "taps": sliding.taps, "loop": looping.loop,
                    "system": systems.step, "fourier": fourier.step, "assemble": Planner._assemble}  # fmt: skip
            if self.kinds[group] in made:
                made[self.kinds[group]](self, group)
        elif group.product:
            after = multiplying.multiply if self.kinds[group.product] == "matmul" else sliding.slide
            after(self, group.product, group, needed)
        else:
            self._compute(group, needed)

    def _needed(self, order: Sequence[Group | Node]) -> set[Node]:
        """The values that are used outside of the kernel that computes them."""
        home = homes(order)
        needed = {self.scope.base(node) for node in self.kept}
        for i, group in enumerate(order):
            for user, arg in ((node, arg) for node in members(group) for arg in node.args):
                if home.get(arg) != i and user not in self.placed.get(arg, ()):  # no view is at home in a kernel
                    needed.add(self.scope.base(arg))
        return needed

    # -- Steps ----------------------------------------------------------------------------------------

    def _compute(self, group: Group, needed: set[Node]) -> None:
        reads: list[Operand] = []
        expressions: list[Expression] = []
        places: dict[Value, int] = {}
        externals: dict[Node, None] = {}
        inside = {node for node in group.nodes if self.kinds[node] != "identity"}
        outside = dict.fromkeys(arg for node in group.members for arg in node.args if arg not in inside)
        computed = list(dict.fromkeys(one for arg in outside for one in self.again.get(arg, ())))
        inside.update(computed)
        for node in (*computed, *group.members):
            for arg in node.args[1:] if self.kinds[node] == "gather" else node.args:
                shown = arg in outside and arg in self.views and self.views[arg].base in self.again
                if arg not in inside and arg not in externals and not is_number(arg) and not shown:
                    externals[arg] = None
        for arg in externals:
            view = self.view(arg)
            places[arg] = len(reads)
            read = view.read(arg.dtype, group.domain)
            reads.append(read if group.domain else self._in_block(read))
            self.hold(view.base)
        further: dict[Node, dict[Value, int]] = {}
        for arg in outside:
            if arg in self.views and (base := self.views[arg].base) in self.again:
                further[arg] = self._read_through(arg, base, group.domain, reads)
        for arg, own in further.items():
            for node in self.again[self.views[arg].base]:
                self.express(node, len(reads), expressions, own)
            places[arg] = own[self.views[arg].base]
        for node in (*computed, *group.nodes):
            self.express(node, len(reads), expressions, places)
        whole = contiguous(group.domain)
        stored = [node for node in group.nodes if node in needed]
        if not group.domain:
            inner = [node for node in stored if node not in self.leaving]
            self.blocks |= {node: (inner[0], buffers.NUMBER * i) for i, node in enumerate(inner)}
        stores: list[tuple[int, Operand, Reduction | None]]
        stores = [(places[n], self._in_block(Operand(n, key_of(n.dtype), self._own(n) or whole)), None) for n in stored]
        for node in group.reductions:
            numbers = [self._number(arg, len(reads), expressions, places) for arg in node.args]
            if node.op in extremes.PLACES:  # beside the extreme itself
                there = Operand(self.scratch(node, node.shape), key_of(node.args[0].dtype), self._kept(node))
                stores += [(numbers[0], there, extremes.extreme(node))]
            stores += [(numbers[-1], Operand(node, key_of(node.dtype), self._kept(node)), reduction_of(node))]
        written = (
            (node, part) for node in group.nodes for parts in self.placed.get(node, {}).values() for part in parts
        )
        stores += [(places[node], part, None) for node, part in written]
        if not stores:
            return
        spec = parts_of.in_tables(Spec(group.domain, reads, expressions, stores, group.axes), self.scope)
        if len(group.domain) > 1:
            spec = arranging.arranged(self, spec)
            if adding.add_up(self, spec, tuple(group.members)):
                return
        if not partial_sums.parted(self, spec, tuple(group.members)):
            self.write(spec, tuple(group.members))

    def _own(self, node: Node) -> tuple[int, ...] | None:
        """Strides of a value that lies as a result shows it."""
        return self.moved[node].strides if node in self.moved and node in self.results else None

    def _read_through(self, arg: Node, base: Node, domain: tuple[int, ...], reads: list[Operand]) -> dict[Value, int]:
        """Read what `base` is computed of, where `arg` is, a view of it with further axes; numbers of what is read."""
        cone, own = self.again[base], dict[Value, int]()
        for leaf in dict.fromkeys(x for one in cone for x in one.args if x not in cone and not is_number(x)):
            view = again.through(self.view(leaf), base, arg)
            own[leaf] = len(reads)
            reads.append(view.read(leaf.dtype, domain))
            self.hold(view.base)
        return own

    def _in_block(self, operand: Operand) -> Operand:
        """A number as part of the block of numbers in which it lies, if there is one."""
        block, within = self.blocks.get(operand.buffer, (None, 0))
        return operand._replace(block=block, within=within)

    def scratch(self, node: Node, shape: tuple[int, ...]) -> Copy:
        """Stands for memory that a step of `node` fills for the next one."""
        return Copy(node, shape, -len(self.steps) - 1)

    def multiplied(
        self, function: FunctionText, operands: list[tuple[Value, int]], numbers: list[int], nodes: tuple[Node, ...],
        use: StepUse, by: Literal["kernel", "product", "BLAS"], sizes: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """Add a step of a product of matrices. It reads and writes whole values."""
        read, written = (sum(map(bytes_of, values)) for values in (use.reads, use.writes))
        label = " ".join(dict.fromkeys(n.label for n in nodes)) or "panels"
        units, split = numbers[1] - numbers[0], None
        if by == "product" and units > 1:
            of_one = _PRODUCT if sizes[1] > 1 else _READ
            split = Split(units, 1, (0,), (), of_one * math.prod(sizes))
        self.steps.append(
            PlanStep(function, operands, numbers, nodes, label, 0, read, written, use, None, by, sizes, split)
        )

    def express(self, node: Node, reads: int, expressions: list[Expression], places: dict[Value, int]) -> None:
        if self.kinds[node] == "identity":
            places[node] = self._number(node.args[0], reads, expressions, places)
            return
        if self.kinds[node] == "gather":
            at = self._number(node.args[1], reads, expressions, places)
            expressions.append(Expression(None, (at,), "gather", self._looked_up(node)))
            places[node] = reads + len(expressions) - 1
            return
        found = lowering.lowered(node)
        args = tuple(self._number(arg, reads, expressions, places) for arg in node.args)
        assert node.op is not None
        # The function is one for all nodes that `lowering` finds alike, so it tells them apart.
        inlined = not found.plain and math.prod(node.shape) >= INLINED
        key = (lowering.name_of(node), found.loop, found.function, key_of(node.dtype), inlined)
        expressions.append(Expression(lowering.applied(found, key_of(node.dtype), self.fastmath), args, key))
        places[node] = reads + len(expressions) - 1

    def _looked_up(self, node: Node) -> Operand:
        """The array that a gather reads, at its first element."""
        view, settings, size = self.view(node.args[0]), node.settings, node.dtype.itemsize
        if view.is_contiguous:
            self.hold(view.base)
            offset = (view.offset + settings["offset"]) * size
            return Operand(view.base, key_of(node.dtype), settings["strides"], offset)
        copy = self.scratch(node, view.shape)  # positions count elements in order
        self.put_in_order(view, copy)
        return Operand(copy, key_of(node.dtype), settings["strides"], settings["offset"] * size)

    def _number(self, arg: Node, reads: int, expressions: list[Expression], places: dict[object, int]) -> int:
        """The number of a value in the kernel; that of a constant is written there."""
        if arg not in places:
            expressions.append(number_as(arg.value, key_of(arg.dtype)))
            places[arg] = reads + len(expressions) - 1
        return places[arg]

    def _kept(self, node: Node) -> tuple[int, ...]:
        """Strides of a reduction's result along the axes of its argument."""
        shape, axes = node.args[0].shape, axes_reduced(node)
        own = contiguous([1 if i in axes else n for i, n in enumerate(shape)])
        return tuple(0 if i in axes else s for i, s in enumerate(own))

    def write(self, spec: Spec, nodes: tuple[Node, ...], in_place: bool = True) -> None:
        written = write(spec, self.known)
        count = len(spec.reads) + len(spec.looked_up)
        taken = {operand.buffer for operand in spec.looked_up}
        buffers_of = [operand.buffer for operand in written.operands]
        sizes = [math.prod(n for n, s in zip(spec.domain, o.strides, strict=True) if s) * int(o.dtype[1])
                 for o in written.operands]  # fmt: skip
        instead = buffers.donors(spec, taken) if in_place else {}
        together = () if spec.domain else tuple(o.buffer for _, o, _ in spec.stores if o.block is not None)
        own = dict.fromkeys(buffers_of[count:])  # a running result reads what it has written
        read = tuple(dict.fromkeys(b for b in buffers_of[:count] if b not in own))
        use = StepUse(read, tuple(buffers_of[count:]), instead, together)
        label = " ".join(dict.fromkeys(n.label for n in nodes))
        self.steps.append(
            PlanStep(written.function, written.places, written.numbers, nodes, f"{label} over {spec.domain}",
                     written.loops, sum(sizes[:count]), sum(sizes[count:]), use, split=written.split)
        )  # fmt: skip

    def put_in_order(self, view: StridedView, target: Value) -> None:
        """Put the elements of a view in order."""
        self.hold(view.base)
        there = Operand(target, key_of(view.base.dtype), contiguous(view.shape))
        self.write(Spec(view.shape, [view.read(view.base.dtype, view.shape)], [], [(0, there, None)]), ())

    def _assemble(self, node: Node) -> None:
        """Put arrays to their places in a larger one, one after another."""
        values = assembly.PartValues(self.view, self.again, self.express)
        parts, own = assembly.parts(node) or (), self._own(node)
        if own is None and node in self.movable:
            strides = assembly.apart(node, self.view(node.args[0]))
            if (moved := axes.moved_views(node, node.shape, strides, self.scope)) is not None:
                self.moved |= moved
                own = strides
        if own is not None:
            parts = assembly.laid_apart(node, own)
        left = (part for part in parts if part.value is None or node not in self.placed.get(part.value, ()))
        specs = assembly.as_one(node, [assembly.spec_of(part, node, values) for part in left])
        for spec in specs + assembly.further(node, self.view, own):
            for read in spec.reads:
                self.hold(read.buffer)
            self.write(axes.reordered(spec, axes.chosen(spec, {}), {}), (node,), False)

    def inner(
        self, nodes: Sequence[Node], kinds: dict[Node, str], inputs: Sequence[Node], outputs: Sequence[Node],
        writes: Sequence[tuple[Node, Node]],
    ) -> tuple[Plan, dict[Value, int]]:  # fmt: skip
        """The plan of a body, and where its values lie; see `slots_of`."""
        planner = Planner(nodes, kinds, outputs, self.fastmath, writes, memory=self.memory)
        planner.within = True
        plan = planner.plan()
        return plan, slots_of(plan, inputs, outputs)

    def whole(self, arg: Node) -> tuple[Value, int]:
        """Where all elements of `arg` lie side by side: in which value, and from which byte on."""
        view = self.view(arg)
        if not view.is_contiguous:
            copy = self.scratch(arg, arg.shape)
            self.put_in_order(view, copy)
            return copy, 0
        self.hold(view.base)
        return view.base, view.offset * arg.dtype.itemsize

    def copy(self, arg: Node, target: object) -> None:
        """Put the elements of `arg` into the memory of `target`."""
        self.put_in_order(self.view(arg), target)

    def hold(self, base: object) -> object:
        """Note that a step reads `base`; if it is a constant, the plan keeps it."""
        if isinstance(base, Node) and base.kind == "constant" and base not in self.constants:
            self.constants.append(base)
        return base
