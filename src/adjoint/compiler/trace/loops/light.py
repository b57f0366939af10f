"""The turns of a loop that are recorded separately, and the one node made from them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.nested import Differ
from adjoint.compiler.trace.loops.numbers.spans import Affine, Bounds
from adjoint.compiler.trace.loops.settling import Settling
from adjoint.compiler.trace.loops.state.carried import (
    UNSET,
    Same,
    base,
    bits,
    bottom,
    bottom_of,
    flat,
    full,
    in_form,
    is_empty,
    joined,
    kind,
    leaves_of,
    like,
    number_of,
    rows_of,
    symbol,
)
from adjoint.compiler.trace.loops.state.elements import Held, TurnElements, symbol_under
from adjoint.compiler.trace.loops.state.tails import Tails
from adjoint.compiler.trace.loops.state.writing import Writing
from adjoint.compiler.trace.outside import Again
from adjoint.core.box import Box, new_level
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.loops import gradient as loop_gradient
from adjoint.graph.loops.agree import Template, plain, several
from adjoint.graph.loops.body import RollingError
from adjoint.graph.loops.loop import Loop, Window
from adjoint.graph.loops.turns import ABREAST, ends_kernels
from adjoint.graph.loops.vanishing import LoopError
from adjoint.graph.node import Node, in_order, placeholder
from adjoint.graph.python_numbers import item
from adjoint.graph.symbol import Number, Symbol
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.turns import RunningLoop

FEWEST = 12  # turns
BREAKS = 3  # turns that may differ, in one loop
ALONE = 6  # references to what only a name of the user's refers to, where they are counted


class Light(Writing):
    """The turns that are recorded each for itself."""

    def __init__(self, turns: RunningLoop, first: int) -> None:
        self.turns, self.door = turns, turns.door
        self.first = first
        self.outer: Light | None = self.door.light  # the loop around it whose turns are recorded so
        notes, self._spans = self.door.notes, len(self.door.loops.spans)
        self._around = notes.placeless, notes.forced, notes.forced_from
        notes.forced = ()  # the answers that a turn around it gets are none of this loop's
        self.level = new_level()
        self.floor = recording_floor.raw()
        self.boxes: dict[Node, Value] = {}  # what is the same in each turn, by its node
        self._entered: dict[int, tuple[Value, Value, Node]] = {}
        self._same: set[Node] = set()  # what an earlier turn made, and each turn makes
        self._walked: set[Node] = set()  # what that is made of
        self.begun = self.since = placeholder("loop").number
        self.template: Template | None = None
        self.answers: list[list[Value]] = []
        self.risky = False  # whether a turn computes what may raise
        self.start: list[Value] = []
        self.shared = False  # whether somebody else has what is carried
        self.grown: dict[str, tuple[Value, int, int]] = {}  # lists, their lengths at first, and by how much they grow
        self.held: list[Held] = []  # arrays that turns write by elements
        self.places = TurnElements(self)
        self.space: dict[str, Value] = {}  # the names when the turn began
        self.counter_node: Node | None = None  # what the loop goes through, if that is a number of the program
        self.counter_bounds: Bounds = (0, 0)
        self.counter_ends: tuple[Affine | None, Affine | None] = (None, None)
        self.tails = Tails(turns.appended)
        self.settling = Settling(self)

    # -- One turn -------------------------------------------------------------------------------------

    def open(self, space: dict[str, Value]) -> list[object]:
        """The values of the names at the beginning of a turn."""
        door, turns = self.door, self.turns
        del door.loops.spans[self._spans :]
        held = [space.get(name, UNSET) for name in turns.names]
        self.space = {**space}
        before, self.held = self.held, []
        if self.template is None and type(self) is Light:
            self.tails.find(space)
        shape, leaves = self._flattened(space)
        arrays = [each.array for each in before] if before else self._written_by_elements()
        now = [each.stand_in for each in before] if before else arrays
        if self.template is None:
            if any(type(v) in (list, dict) and sys.getrefcount(v) > ALONE for v in held if not is_empty(v)):
                raise self.off("a list is seen in two ways")
            self.start, self._shape = [*leaves, *arrays], shape
            self.shared = any(sys.getrefcount(x) > ALONE for x in leaves)
            for name in turns.lists:
                if type(space.get(name)) is list:
                    self.grown[name] = space[name], len(space[name]), 0
        self.begun = placeholder("turn").number
        self.guards, self.draws = len(door.notes.guards), len(door.notes.draws)
        self._long = {name: len(each) for name, (each, _, _) in self.grown.items()}
        self._own = [self._input(x) for x in (*leaves, *now)]
        self.held = [Held(x, own) for x, own in zip(arrays, self._own[len(leaves) :], strict=True)]
        self.tails.replace(self._own[len(leaves) - self.tails.count : len(leaves)])
        self._nodes = [x.layers[1] for x in self._own]
        self._bases = [base(x) for x in self._own]
        fresh = iter(self._own)
        made = [full(each, fresh) for each in shape]
        names = [v if name in turns.others else new for name, v, new in zip(turns.names, held, made, strict=True)]
        return self.settling.begin(space, names)

    def _flattened(self, space: dict[str, object]) -> tuple[list[Value], list[Value]]:
        """The structure of the names' values, and the arrays in them."""
        leaves: list[Value] = []
        shape = [Same(None) if name in self.turns.others else flat(space[name], leaves) for name in self.turns.names]
        return shape, [*leaves, *self.tails.leaves(), *(each.stand_in for each in self.held)]

    def _input(self, x: Array, name: str = "turn") -> Array:
        value = x.value if type(x) is Number and type(x.value) is int else bottom(x)
        if value is None:
            raise self.off("it uses an array of another kind")
        made = symbol(value, name)
        if type(value) is int:
            self.door.reaches.carry(base(made))
        self.own(made)
        return made

    def row(self, x: object, key: object) -> Value:
        """The stand-in of ``x[key]``, if it is a row whose number is an input; else None."""
        row = self.settling.row(x, key) if self.outer is None else self.outer.row(x, key)
        return None if row is None else self.entered(row)

    def part(self, x: object, key: object) -> Value:
        """The stand-in of ``x[key]``, if it moves from turn to turn or its place is computed; else None."""
        row = self.row(x, key)
        return row if row is not None else self.item(x, self.door.val(key))

    def own(self, made: Value) -> None:
        """Note that an input means something in these turns alone."""
        self.door.loops.owners[base(made).number] = self.turns.site

    def close(self, space: dict[str, Value]) -> None:
        """End a turn, and compare it with the first one."""
        notes = self.door.notes
        if self.door.light is not self:
            raise self.off("a loop within it ends in another way")
        shape, leaves = self._flattened(space)
        self.tails.restore()
        asked = self.settling.unanswered(notes.guards[self.guards :])
        del notes.guards[self.guards :]
        if len(notes.draws) != self.draws:
            raise self.off("random numbers are drawn")
        if others := [guard.question for guard in asked if guard.question not in ("bool", "run")]:
            raise self.off(f"it asks for the {others[0]} of a value")
        risky, asked = {g.node for g in asked if g.question == "run"}, [g for g in asked if g.question == "bool"]
        added: list[Value] = []
        for name, (each, length, by) in self.grown.items():
            if name not in space or space[name] is not each:
                raise self.off("a list is another one")
            more = each[self._long[name] :]
            if self.template is None:
                self.grown[name] = each, length, len(more)
            elif len(more) != by:
                raise self.differ("a list grows by another length")
            added += more
        if not all(type(x) in (Symbol, Number) for x in (*leaves, *added)):
            raise self.differ("it gives something else than arrays")
        if repr(shape) != repr(self._shape) or not all(map(like, leaves, self._own)):
            raise self.differ("shapes or dtypes differ")
        self._untouched(leaves, added)
        if self.uncounted(leaves, 1) or any(map(self.is_large, added)):
            raise self.off("a whole number grows faster than a counter")
        outputs = [x.node for x in (*leaves, *added)] + [guard.node for guard in asked]
        answers = [guard.answer for guard in asked]
        if asked and self.answers and answers != self.answers[0] and self.turns.may_branch:
            raise self.turns.branch()
        if self.template is None:
            if not risky <= {*in_order(outputs)}:
                raise self.off("it computes what may raise, and does not use it")
            self.risky = bool(risky)
            self.asked, self._kinds = asked, [*map(kind, added)]
            self.template = Template(outputs, self._bases, self.since)
            self._count = len(leaves), len(added), len(asked)
        elif [g.question for g in asked] != [g.question for g in self.asked] or [*map(kind, added)] != self._kinds:
            raise self.differ("it asks something else")
        elif not self.template.agrees(outputs, self._bases, self.settling.follows):
            raise self.differ("its operations differ")
        self.answers.append(answers)
        self.settling.end(space, asked)
        self._final = leaves, added, shape
        notes.placeless = True

    # -- What is the same in each turn ------------------------------------------------------------------

    def entered(self, x: Array) -> Array:
        """The stand-in, within the loop, of an array from before it."""
        if self.outer is not None:
            x = self.outer.entered(x)
        if self.held:
            for each in self.held:
                if x is each.array or x is each.stand_in:
                    return each.stand_in
                under, own = symbol_under(x), symbol_under(each.array)
                if under is not None and own is not None and under.root is own.root:
                    raise self.off("it writes into an array that is seen in two ways")
        if isinstance(x, Symbol):
            node = x.layers[1]
            if (node.number > self.begun and node.args) or node in self._same:
                return x  # this turn made it; or it is known already
            earlier = self.since < node.number <= self.begun and node.kind != "constant"
            if earlier and all(node is not own for _, _, own in self._entered.values()):
                if node not in self.boxes and not self._is_same(node):
                    raise self.off("a value of an earlier turn is used")
                self._same.add(node)
            if node not in self.boxes and node.kind != "constant":
                new = node.kind == "input" and node.number not in self.door.loops.owners
                if node.number <= self.since or new or (not node.args and self._is_outer(node)):
                    self.boxes[node] = x
            return x
        if x.level > self.level:
            return x
        found = self._entered.get(id(x))
        if found is None:
            if not isinstance(x, Tensor):
                raise self.off("it uses an array of another kind")
            made = self._input(x, "outer")
            found = self._entered[id(x)] = x, made, made.layers[1]
            self.boxes[base(made)] = x
        return found[1]

    # -- The end ----------------------------------------------------------------------------------------

    def finish(self, space: dict[str, object]) -> list[Array]:
        """The values of the names after all turns."""
        template, (leaves, added, shape), until = self.template, self._final, self.over()
        assert template is not None
        a, b, _ = self._count
        self.hold_sizes(template.turns)
        if self.turns.targets & self.turns.live and any(isinstance(space[name], Box) for name in self.turns.targets):
            raise self.off("what it goes through is used after it")
        boxes = *self.start, *self.boxes.values()
        if any(node.op is item for node in template.nodes) and any(isinstance(x, Tensor) for x in boxes):
            raise self.off("it makes numbers of arrays")
        try:
            results = self._results(template, leaves)
        except (RollingError, LoopError) as error:
            raise self.off(str(error)) from None
        stacks, k = results[a : a + b], 0
        for each, length, by in self.grown.values():
            each += [None] * (by * self.settling.left_out)
            for turn in range(template.turns):
                for i in range(k, k + by):
                    each[length + turn * by + i - k] = in_form(stacks[i][turn], added[i])
            k += by
        for i, (guard, stack) in enumerate(zip(self.asked, results[a + b :], strict=True)):
            while isinstance(stack, Tensor):
                stack = stack.held
            stack = stack if stack.dtype == bool else stack != 0
            answers = np.array([answer[i] for answer in self.answers])
            if self.outer is None:
                self.door.notes.guards.append(Guard(stack.node, "values", answers, guard.place))
                continue
            alike: Value = np.all(stack == answers)
            self.door.notes.guards.append(Guard(alike.node, "bool", True, guard.place))
        self.give_back(results[:a])
        fresh = iter(results[:a])
        made = [full(each, fresh) for each in shape]
        self.left(until)
        self.door.loops.trial = None
        return [space[name] if name in self.turns.targets else UNSET if name in self.turns.passing else new
                for name, new in zip(self.turns.names, made, strict=True)]  # fmt: skip

    def over(self) -> int:
        """No further turn is recorded for itself. Gives the number of the last node that turns may have made."""
        notes, self.door.light = self.door.notes, self.outer
        notes.placeless, notes.forced, notes.forced_from = self._around
        return placeholder("loop").number

    def left(self, until: int) -> None:
        """Note that no code after the turns may use the nodes that they made, up to this one."""
        spans = self.door.loops.spans
        spans[self._spans :] = [(self.since, until, self.turns.site)]

    def _results(self, template: Template, leaves: list[Array]) -> list[Value]:
        """The last carried values, and stacks of what is kept."""
        a, seen = self._count[0], template.turns
        template.goes_on(self.settling.left_out, self.settling.constants)
        turns, names = template.turns, self.turns
        after, used = self._live(), template.leaves
        keep = [i for i in range(a) if after[i] or template.carried[i] in used]
        nodes = [template.outputs[i] for i in keep] + template.outputs[a:]
        wanted = Template(nodes, [template.carried[i] for i in keep], template.since)
        wanted.turns, wanted.numbers, wanted._constants = turns, template.numbers, template._constants
        keep_used = wanted.leaves
        if any(template.carried[i] in keep_used for i in range(a) if i not in keep):
            raise RollingError("a value of an earlier turn takes part")
        program = wanted.program(self.boxes, self.outer is not None)
        size = max(1, sum(bool(node.args) for node in program.graph.nodes))
        most = max(1, min(ABREAST // (2 * size), turns // (2 * FEWEST)))
        most = 1 if any(map(ends_kernels, program.graph.nodes)) else most
        abreast = next(k for k in range(most, 0, -1) if k <= most // 2 + 1 or turns % k == 0)
        body = several(program, abreast) if abreast > 1 else program.graph
        count = turns // abreast
        rows = [rows_of(row, self.boxes, turns) for row in program.rows]
        loop_rows = [x[j : j + count * abreast : abreast] if (abreast, j) != (1, 0) else x
                     for j in range(abreast) for x in rows]  # fmt: skip
        kept = len(program.graph.outputs) - len(keep)
        loop = Loop(body, count, len(keep), [Window(0, 1)] * len(loop_rows), 0, (), kept * abreast)
        loop.site, loop.abreast = names.site, abreast
        carried = [plain(self.start[i]) for i in keep]
        fixed = [plain(self.boxes[node]) for node in program.fixed]
        loop.samples = [bottom_of(x) for x in (*carried, *(x[0] for x in loop_rows), *fixed)]
        if self.settling.left_out:
            self.settling.run_again(program, (carried, rows, fixed), seen, [leaves[i] for i in keep])
        found = self._run_loop(loop, [*carried, *loop_rows, *fixed])
        known = symbol_under(found[0]) if self.risky else None
        if known is not None:  # it is run even if nothing uses what it gives
            self.door.notes.guards.append(Guard(known.node, "run", None, known.node.place))
        state, stacks = found[: len(keep)], found[len(keep) :]
        more: list[list[Value]] = [[] for _ in range(kept)]
        for turn in range(count * abreast, turns):
            each = program.graph.schedule.interpreted([*state, *(x[turn] for x in rows), *fixed])
            assert each is not None
            state = each[: len(keep)]
            for k in range(kept):
                more[k].append(each[len(keep) + k])
        whole = [joined([stacks[j * kept + k] for j in range(abreast)], more[k]) for k in range(kept)]
        results: list[Value] = [None] * a
        for i, x in zip(keep, state, strict=True):
            if not self.settling.left_out and bits(x) != bits(leaves[i]):
                raise RollingError("its turns, run again, give other values")
            results[i] = in_form(number_of(x) if type(leaves[i].value) is int else x, leaves[i])
        for i in range(a):
            if results[i] is None:
                results[i] = leaves[i]  # nothing reads it; code that does finds out
        return [*results, *whole]

    def _run_loop(self, loop: Loop, args: Sequence[Value]) -> list[Value]:
        """The results of a loop; one within turns of another is the same as in the turn before, where it can be."""
        if self.outer is not None:
            try:
                loop, args = self.door.loops.nested.same(loop, args)
            except Differ:
                raise Again from None
            from adjoint.native import not_native

            if reason := not_native(loop):
                raise RollingError(reason)
        return loop_gradient.run(loop, args)  # others are asked when the program is complete: `LoopFacts.refused`

    @property
    def is_settled(self) -> bool:
        """Whether the turns that follow do what those before did, so that their code need not run."""
        return self.settling.is_settled

    def _live(self) -> list[bool]:
        """For each leaf, whether its name is read later."""
        pairs = zip(self.turns.names, self._shape, strict=True)
        named = [name in self.turns.live for name, shape in pairs for _ in range(leaves_of(shape))]
        return [*named, *[False] * self.tails.count, *[True] * len(self.held)]

    # -- Where turns differ -----------------------------------------------------------------------------

    def off(self, why: str) -> Again:
        """What to raise where no turn may be recorded for itself."""
        self.door.loops.off.setdefault(self.turns.site, why)
        return Again()

    def differ(self, why: str) -> Again:
        """The exception to raise if the turn that has ended is not like the first."""
        breaks = self.door.loops.breaks.setdefault(self.turns.key, set())
        breaks.add(self.turns.at - 1)
        return self.off(why) if len(breaks) > BREAKS else Again()

    def later(self, why: str) -> Again:
        """The exception to raise if the turn that has begun cannot belong to the loop."""
        breaks = self.door.loops.breaks.setdefault(self.turns.key, set())
        breaks.add(self.turns.at)
        return self.off(why) if len(breaks) > BREAKS else Again()
