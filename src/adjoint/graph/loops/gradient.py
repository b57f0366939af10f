"""The gradient of a loop: a loop that goes through its turns from the last one to the first.

The body is differentiated once. The values that its pullback needs are kept for every turn, in stacks, which the
other loop reads from their ends. It carries cotangents of carried values, sums those of values that are the same in
each turn, and returns those of rows as stacks.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.backend import IN_TURNS
from adjoint.core.box import Box, apply, goes_back, new_level
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import recording
from adjoint.graph.graph import Graph
from adjoint.graph.loops.invariant import hoisted
from adjoint.graph.loops.keeping import needed, products_of
from adjoint.graph.loops.loop import LOOP, Loop, Window
from adjoint.graph.loops.vanishing import (
    LoopError,
    is_careful,
    is_cut,
    is_zero,
    refuse_nan,
    refuse_nan_at_ends,
    vanishes,
)
from adjoint.graph.node import Node, constant, in_order, placeholder
from adjoint.graph.rewriting.driver import made_call, with_args
from adjoint.graph.rewriting.rules import EXACT
from adjoint.graph.symbol import LEVEL, Symbol
from adjoint.tape.backward import backward
from adjoint.tape.node import leaf
from adjoint.tape.tensor import Tensor, wrap
from adjoint.tape.zeros.selected import bare

LATEST = Window(0, 1)


class TurnStack(NamedTuple):
    """Values of all turns: output `number` of the loop that goes forward, or else of the one that goes back."""

    forward: bool
    number: int


class Reverse(NamedTuple):
    """How cotangents go back through a loop.

    Attributes:
        forward: the loop, which keeps what is needed.
        loop: the loop that goes back.
        needs: inputs of the first one that are differentiated by.
        alive: outputs of the first one whose cotangents are taken.
        carried: inputs whose cotangents are carried.
        fixed: inputs whose cotangents are added up.
        rows: inputs that are read by turn, and have a cotangent.
        products: inputs whose cotangents are products of stacks: the stacks of each product, whose sum is wanted.
        kept: for each row that the second loop reads, the number of the first one's output; or of its input, below 0.
        given: inputs that are the same in each turn, and are needed.
        careful: whether a partial derivative may be infinite: where the cotangent is 0, that would be nan.
        vanishing: whether a turn may leave values out, so that a cotangent is 0 where an argument may be infinite.
    """

    forward: Loop
    loop: Loop
    needs: tuple[int, ...]
    alive: list[int]
    carried: list[int]
    fixed: list[int]
    rows: list[int]
    products: dict[int, list[tuple[TurnStack, TurnStack]]]
    kept: list[int]
    given: list[int]
    careful: bool
    vanishing: bool

    def pulled(
        self, g: Sequence[Array], xs: Sequence[Value], out: Sequence[Array], loop: Loop, needs: tuple[int, ...]
    ) -> list[Value]:
        """The cotangents of a loop's arguments.

        Raises:
            LoopError: if the pass through the turns, one by one, would not give the same.
        """
        a, b = loop.carried, loop.carried + len(loop.slices)
        g = [_unless_zero(bare(c)) for c in g[: a + loop.stacks]]
        there = [i for i, c in enumerate(g) if c is not None]
        reverse, left = self, out
        if not {*there} <= {*reverse.alive} or not {*needs} <= {*reverse.needs}:
            reverse = reversed_of(loop, needs, there)
            left = run(reverse.forward, [bare(x) for x in xs])
        kinds, outputs = loop.body.inputs, loop.body.outputs

        def seed(i: int) -> Value:
            if i < len(g) and g[i] is not None:
                return g[i]
            return np.zeros(outputs[i].shape if i < a else (reverse.loop.count, *outputs[i].shape), outputs[i].dtype)

        args = [seed(i) for i in reverse.carried]
        args += [np.zeros(kinds[i].shape, kinds[i].dtype) for i in reverse.fixed]
        args += [left[k] if k >= 0 else xs[~k] for k in reverse.kept]
        args += [seed(i) for i in reverse.alive if i >= a]
        args += [xs[i] for i in reverse.given]
        if loop.ends:
            args.append(bare(left[-1] if loop.asks else xs[-1]))
        found = run(reverse.loop, args)
        cotangents: list[Value] = [None] * len(xs)
        for i, products in reverse.products.items():
            pairs = [[_flat((left if x.forward else found)[x.number]) for x in pair] for pair in products]
            each = [np.matmul(np.transpose(x), y) for x, y in pairs]
            cotangents[i] = functools.reduce(np.add, each)
        for i, c in zip([*reverse.carried, *reverse.fixed, *reverse.rows], found, strict=False):
            cotangents[i] = (
                c if not a <= i < b else _spread(c, loop.slices[i - a], reverse.loop.count, xs[i], loop.ends)
            )
        lost = [
            i for i, c in zip(reverse.carried, reverse.loop.body.outputs, strict=False) if i in needs and is_zero(c)
        ]
        if loop.ends:  # perhaps before its first turn: where that makes no difference, it is not asked
            lost = [] if IN_TURNS.get() else [i for i in lost if not np.all(np.isfinite(xs[i])) and args[-1] > 0]
        for i in lost:  # no turn reads the first value, so no path leads to it
            cotangents[i] = None
        unread = (reverse.vanishing or there != reverse.alive) and not is_cut()
        if (reverse.careful or unread) and not IN_TURNS.get():  # nan would show outside, too
            refuse_nan(c for i, c in enumerate(cotangents) if i in needs)
        return cotangents


class Unasked:
    """Stands for how cotangents go back through a loop without a tape: it runs again, and keeps what they need."""

    def pulled(
        self, g: Sequence[Array], xs: Sequence[Value], out: Sequence[Array], loop: Loop, needs: tuple[int, ...]
    ) -> list[Value]:
        """The cotangents of a loop's arguments."""
        there = [i for i, c in enumerate(g[: loop.carried + loop.stacks]) if _unless_zero(bare(c)) is not None]
        reverse = reversed_of(loop, needs, there)
        return reverse.pulled(g, xs, run(reverse.forward, [bare(x) for x in xs]), loop, needs)


def run(loop: Loop, args: Sequence[Value]) -> list[Value]:
    """The results of a loop for arrays of any kind."""
    if not all(_is_known(x) for x in args):
        return unrolled(loop, args)
    loop, args = hoisted(loop, args)
    if not goes_back(*args):
        loop.reverse = loop.reverse or Unasked()
        return list(apply(LOOP, args, {"loop": loop}))
    count = loop.carried + loop.stacks  # it gives nothing else
    refuse_nan_at_ends(args)
    needs = tuple([i for i, x in enumerate(args) if _varies(x)])
    reverse = reversed_of(loop, needs, range(count))
    reverse.forward.reverse = reverse
    found = list(apply(LOOP, args, {"loop": reverse.forward}))
    return [*found[:count], *(found[-1:] if loop.asks else ())]


def _varies(x: object) -> bool:
    while isinstance(x, Tensor):
        if x.node is not None:
            return True
        x = x.held
    return False


def _is_known(x: object) -> bool:
    while isinstance(x, Tensor):
        x = x.held
    return not isinstance(x, Box) or isinstance(x, Symbol)


def unrolled(loop: Loop, args: Sequence[Value]) -> list[object]:
    """The same, turn by turn."""
    a, b = loop.carried, loop.carried + len(loop.slices)
    state, read, fixed = list(args[:a]), args[a:b], args[b:]
    stacks: list[list[Value]] = [[] for _ in range(loop.stacks)]
    turns = loop.turns(args)
    for turn in range(turns):
        rows = [x[window.at(turn, turns * bool(loop.ends))] for x, window in zip(read, loop.slices, strict=True)]
        found = loop.body.schedule.interpreted([*state, *rows, *fixed])
        assert found is not None
        if loop.asks and not found.pop():
            turns = turn
            break
        state = found[:a]
        for stack, value in zip(stacks, found[a:], strict=True):
            stack.append(value)
    ahead, kinds = loop.stacks - loop.backwards, loop.body.outputs[a:]
    more = [
        np.zeros((loop.count - turns if loop.ends else 0, *kinds[k].shape), kinds[k].dtype) for k in range(len(stacks))
    ]
    whole = [[*(s if k < ahead else s[::-1]), *more[k]] for k, s in enumerate(stacks)]
    return [*state, *map(np.stack, whole), *([np.int64(turns)] if loop.asks else ())]


def _reached(loop: Loop, needs: Sequence[int], outputs: Sequence[int]) -> tuple[list[int], list[int]]:
    """Outputs whose cotangents are needed, and inputs that have one: both through what is carried."""
    body, a = loop.body, loop.carried
    nodes = in_order(body.outputs)

    def leads(numbers: set[int]) -> set[Node]:
        seen = {body.inputs[i] for i in numbers}
        for node in nodes:
            if node.args and any(arg in seen for arg in node.args):
                seen.add(node)
        return seen

    varying = {i for i in needs if body.inputs[i].dtype.kind in "fc"}
    while True:
        seen = leads(varying)
        more = varying | {i for i in range(a) if body.outputs[i] in seen and body.inputs[i].dtype.kind in "fc"}
        if more == varying:
            break
        varying = more
    alive = {i for i in outputs if body.outputs[i] in seen and body.outputs[i].dtype.kind in "fc"}
    while True:
        used = set(in_order([body.outputs[i] for i in alive]))
        more = alive | {i for i in range(a) if i in varying and body.inputs[i] in used}  # of turn 0, at least
        if more == alive:
            break
        alive = more
    return sorted(alive), sorted(i for i in varying if body.inputs[i] in used)


def _differentiated(
    loop: Loop, alive: Sequence[int], varying: Sequence[int]
) -> tuple[dict[int, Node], dict[int, Node]]:
    """Inputs for the cotangents of a body's outputs, and what gives those of its inputs.

    Raises:
        LoopError: if the gradient asks for values.
    """
    body, level = loop.body, new_level()
    with recording(silent=True) as record, np.errstate(all="ignore"):
        symbols = [Symbol.of((np.array(value)[()], node), LEVEL)
                   for value, node in zip(loop.samples, body.inputs, strict=True)]  # fmt: skip
        leaves = {i: leaf(symbols[i].shape, symbols[i].dtype) for i in varying}
        boxes = [wrap(x, leaves[i], level) if i in leaves else x for i, x in enumerate(symbols)]
        found = body.schedule.interpreted(boxes)
        assert found is not None
        seeds = {i: placeholder("cotangent", body.outputs[i].shape, body.outputs[i].dtype) for i in alive}
        start: dict[Value, Value] = {}
        for i, seed in seeds.items():
            out = found[i]
            if isinstance(out, Tensor) and out.node is not None:
                g = Symbol.of((np.ones(out.shape, out.dtype)[()], seed), LEVEL)
                start[out.node] = start[out.node] + g if out.node in start else g
        token = IN_TURNS.set(True)
        try:
            pulled = backward(start, results=[x for x in found if isinstance(x, Tensor)])
        finally:
            IN_TURNS.reset(token)
    if record.draws or any(guard.question != "run" for guard in record.guards):
        raise LoopError("its gradient asks for values")

    def cotangent(i: int) -> Node:
        c = pulled.get(leaves[i]) if i in leaves else None
        c = np.zeros(symbols[i].shape, symbols[i].dtype) if c is None else bare(c)
        return c.node if isinstance(c, Symbol) else constant(c)

    return seeds, {i: cotangent(i) for i in {*varying, *(i for i in alive if i < loop.carried)}}


def _flat(stack: Value) -> Value:
    """The rows of all turns one after another."""
    return stack if len(stack.shape) == 2 else np.reshape(stack, (-1, stack.shape[-1]))


def reversed_of(loop: Loop, needs: Sequence[int], outputs: Sequence[int]) -> Reverse:
    """How cotangents of `outputs` go back to the inputs `needs`, as it was found out before."""
    key = tuple(needs), tuple(outputs)
    if key not in loop.reverses:
        loop.reverses[key] = reversed_loop(loop, needs, outputs)
    found: Reverse = loop.reverses[key]
    return found


def reversed_loop(loop: Loop, needs: Sequence[int], outputs: Sequence[int]) -> Reverse:
    """How cotangents of `outputs` go back to the inputs `needs`.

    Raises:
        LoopError: if there is no loop that does this.
    """
    turned = bool(loop.backwards)
    if turned and loop.backwards < loop.stacks:
        raise LoopError("some of its stacks are written from their end")
    body, a, b = loop.body, loop.carried, loop.carried + len(loop.slices)
    inputs = body.inputs
    alive, varying = _reached(loop, needs, outputs)
    seeds, cotangents = _differentiated(loop, alive, varying)
    whole = Graph([*inputs, *seeds.values()], [*body.outputs, *cotangents.values()]).rewritten(EXACT).outputs
    values = whole[: len(body.outputs)]
    cotangents = dict(zip(cotangents, whole[len(values) :], strict=True))
    values, asked = (values[:-1], values[-1:]) if loop.asks else (values, ())
    carried = [i for i in alive if i < a]
    rows = [i for i in varying if a <= i < b]
    # Turn t of n has row n - 1 - t of stacks that are written from the end. The loop that goes back has it at its turn
    # s = n - 1 - t, and reads row s of them (`LATEST`); what turns read at p + q t is then at p + q (n - 1) - q s.
    # Its own stacks have turn t at row n - 1 - s = t, where the others do not: none of these are multiplied together.
    factors = {i: [] if turned else products_of(cotangents[i]) for i in varying if i >= b}
    if loop.ends:  # what is read from the end comes first: its cotangents are written as turns go
        rows.sort(key=lambda i: loop.slices[i - a] == LATEST)
    fixed = [i for i, pairs in factors.items() if not pairs]
    pairs = [(i, *pair) for i, each in factors.items() for pair in each]
    totals = [placeholder("sum", inputs[i].shape, inputs[i].dtype) for i in fixed]
    sums = [made_call(op_named("add"), (total, cotangents[i])) for total, i in zip(totals, fixed, strict=True)]
    results = [*(cotangents[i] for i in carried), *sums, *(cotangents[i] for i in rows)]
    own = len(results)
    results += dict.fromkeys(node for _, *pair in pairs for node in pair)
    depends, used = needed(results, [*seeds.values(), *totals], [*values, *asked])
    read, given = (tuple([i for i in span if inputs[i] in used]) for span in (range(a, b), range(b, len(inputs))))
    others = {inputs[i] for i in (*read, *given)}
    kept = sorted(used - others, key=lambda node: node.number)
    forward = _keeping(loop, Graph(inputs, [*values, *kept, *asked], name="body"), len(kept))
    count = forward.count
    later, products = _stacks_of(pairs, results[own:], {n: len(values) + k for k, n in enumerate(kept)}, own)
    results = [*results[:own], *later]
    sources = [*kept, *(inputs[i] for i in read)]
    made = {node: placeholder("kept", node.shape, node.dtype) for node in (*sources, *(inputs[i] for i in given))}
    for node in in_order(results):
        if node in depends and node.args:
            made[node] = with_args(node, tuple([made.get(arg, arg) for arg in node.args]))
    stacks = [i for i in alive if i >= a]
    takes = [*(seeds[i] for i in carried), *totals, *(made[node] for node in sources), *(seeds[i] for i in stacks),
             *(made[inputs[i]] for i in given),
             *([placeholder("turns", (), np.dtype(np.int64))] if loop.ends else ())]  # fmt: skip
    stack = LATEST if turned else Window(-1 if loop.ends else count - 1, -1)  # from the end
    windows = [stack] * len(kept)
    windows += [_turned(loop.slices[i - a], count, loop.ends) for i in read] + [stack] * len(stacks)
    gives = [made.get(node, node) for node in results]
    ahead = sum(bool(loop.ends) and loop.slices[i - a] != LATEST for i in rows)
    back = Loop(Graph(takes, gives, name="body"), count, len(carried) + len(fixed), windows, 0, (),
                len(rows) + len(later), len(rows) + len(later) - ahead)  # fmt: skip
    back.ends = "when told" if loop.ends else ""
    back.site, back.abreast = loop.site, loop.abreast
    known = {made[node]: value for node, value in zip(inputs, loop.samples, strict=True) if node in made}
    back.samples = [known.get(node, np.ones(node.shape, node.dtype)[()]) for node in takes]
    nodes = in_order(values)
    numbers = [*range(len(values), len(values) + len(kept)), *(~i for i in read)]
    return Reverse(forward, back, tuple(needs), alive, carried, fixed, rows, products, numbers, list(given),
                   is_careful(nodes), vanishes(nodes, [cotangents[i] for i in carried]))  # fmt: skip


def _keeping(loop: Loop, body: Graph, kept: int) -> Loop:
    """`loop` with a body that keeps so many values more."""
    count = loop.room if loop.asks else loop.count
    made = Loop(body, count, loop.carried, loop.slices, 0, (), loop.stacks + kept)
    made.ends, made.room = loop.ends, count
    made.backwards = made.stacks if loop.backwards else 0
    made.samples, made.site, made.abreast = loop.samples, loop.site, loop.abreast
    return made


def _stacks_of(
    pairs: Sequence[tuple[int, Node, Node]], factors: Sequence[Node], kept: dict[Node, int], own: int
) -> tuple[list[Node], dict[int, list[tuple[TurnStack, TurnStack]]]]:
    """The factors of products that the loop which goes back keeps, after its `own` results; and all products."""
    later = list(dict.fromkeys(node for node in factors if node not in kept))
    stack_of = {node: TurnStack(True, k) for node, k in kept.items()}
    stack_of |= {node: TurnStack(False, own + k) for k, node in enumerate(later)}
    products: dict[int, list[tuple[TurnStack, TurnStack]]] = {}
    for i, x, y in pairs:
        products.setdefault(i, []).append((stack_of[x], stack_of[y]))
    return later, products


def _turned(window: Window, count: int, ends: str) -> Window:
    """The same rows from the last turn on."""
    if ends:
        return LATEST if window.start < 0 else Window(-1, -1)
    return Window(window.start + window.step * (count - 1), -window.step)


def _unless_zero(c: object) -> object:
    """None for a cotangent of zeros, which an unused result has."""
    return None if c is None or (isinstance(c, np.ndarray | np.generic) and not np.any(c)) else c


def _spread(c: Value, window: Window, count: int, x: Value, ends: str) -> Value:
    """The cotangent of an array of which each turn reads a row."""
    if ends or (np.shape(x)[0] == count and window == LATEST):  # one that ends reads stacks alone, in their order
        return c
    if np.shape(x)[0] == count and window == Window(count - 1, -1):
        return c[::-1]
    raise LoopError("rows of an array are read in another order")
