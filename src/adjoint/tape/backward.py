"""The backward pass.

Nodes are numbered as they are made, so an operation's number is above the numbers of everything that it used.
The pass keeps the waiting cotangents, and always takes the node with the highest number. By then
every later use of that value that leads to the result has added its share. So each rule runs
once, on the whole cotangent. Values that do not lead to the result are never visited. Leaves wait to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from adjoint.core.backend import explained, is_elsewhere, is_foreign
from adjoint.core.box import Box, raw
from adjoint.core.errors import RuleError
from adjoint.core.memory import lies
from adjoint.core.record import Record
from adjoint.core.rules.cotangents import Lazy
from adjoint.core.rules.pullbacks import Pullback, fit, freed
from adjoint.core.types import Array, Value
from adjoint.tape.alone import is_alone, run_within
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import TapeNode
from adjoint.tape.observers.hooks import PackedValues, unpacked
from adjoint.tape.writes import mutations
from adjoint.tape.writes.foreign import check
from adjoint.tape.zeros.hazards import few_are_safe, oldest_hazard, program_masks
from adjoint.tape.zeros.notes import MANY, Notes, free, is_own
from adjoint.tape.zeros.selected import RuleRun, Selected, recorded, selecting

if TYPE_CHECKING:
    from adjoint.tape.node import Leaf


# What is no part of another derivative or of a program, nor elsewhere.
_PLAIN = frozenset((ndarray, np.float64, np.float32))
# At a cotangent of so many elements, it is worth a walk through what is left to do.
_LARGE = 1 << 16
# From so many elements on, it is worth asking whether a rule may write into its cotangent.
_ALONE = 1 << 14
# One of so few elements is copied sooner than it is known whether anything else refers to it.
_SMALL = 256
# Which selections a pass seeks: none, all, or those whose zeros go to other nodes than leaves.
_NOTHING, _ALL, _ENDS = range(3)

Rebox = Callable[[TapeNode, tuple[Value, ...]], tuple[Value, ...]]


class Resumed(Record):
    """The result of a pullback that has just recorded its graph: nodes of that graph, and their cotangents."""

    __slots__ = ()

    nodes: tuple[TapeNode, ...]
    cotangents: Sequence[Array]


class PassRunner(Record):
    """What runs the rules, for a pass that is itself recorded, and the observers that are put around it."""

    __slots__ = ()

    rule: RuleRun | None
    observers: Sequence[Callable[[RuleRun], RuleRun]]

    def refuses_nan(self) -> bool:
        """Whether an observer would raise at nan, also at one that the pass gets rid of."""
        return any(getattr(around.__self__, "refuses_nan", False) for around in self.observers)  # type: ignore[attr-defined]  # a method

    def whole(self) -> RuleRun | None:
        """Both; None if the pass simply calls the rules."""
        run = self.rule
        for around in self.observers:
            run = around(run or _simply)
        return run


_SIMPLE = PassRunner(None, ())


def backward(
    cotangents: dict[TapeNode, Array],
    *,
    retain_graph: bool = True,
    rebox: Rebox | None = None,
    results: Sequence[Array] = (),
) -> dict[TapeNode, Value]:
    """Carry `cotangents` to the leaves; give each leaf that was met its own.

    A selection (`numpy.where`, an index …) leaves zeros in cotangents, and 0 times an infinite partial derivative is
    nan. Rules are linear, so a pass without nan in the end was right. If there is, the pass goes again from the first
    selection on, with cotangents that know where they were taken: see `adjoint.tape.zeros.selected`. A pass that is
    recorded computes with these at once, because a later pass, or call, will meet its zeros.

    Args:
        cotangents: of the results to start from, by node; each of its result's shape and dtype.
        retain_graph: False frees what each node saved as soon as its rule has run, or at the end, after a selection.
        rebox: gives a node's saved values as tensors, so that the pass itself is recorded (``create_graph``).
        results: where the pass starts. If these are made of tensors or symbols, it is recorded as well.
    """
    runner = _runner_of(rebox)
    try:
        found, owned, notes = _passed(cotangents, retain_graph, runner, results)
        if notes is not None:
            if notes.start is not None and (found is None or notes.has_nan(found)):
                again = PassRunner(selecting(runner.rule or _simply, runner.observers, True), ())
                found, owned, _ = _passed(notes.start, retain_graph, again)
            elif notes.own:
                owned |= notes.owned(found)
            free(notes.left)
    except Exception as error:
        if (refused := explained(error)) is not error:
            raise refused from error
        raise
    ends: dict[Value, Value] = found
    notes = None
    for leaf in tuple(ends):  # the gradient is an array of the leaf's own
        if leaf not in owned:
            if type(ends[leaf]) is ndarray and ends[leaf].size <= _SMALL:
                ends[leaf] = np.array(ends[leaf])
                owned.add(leaf)
            elif is_alone(ends, leaf):
                owned.add(leaf)
        g = ends[leaf]
        if leaf not in owned or type(g) is not ndarray or g.dtype is not leaf.dtype or leaf.saved:
            ends[leaf] = _finished(g, leaf, leaf in owned)
    return ends


def _passed(  # noqa: PLR0915 - calls would cost as much as small rules
    cotangents: dict[TapeNode, Array], retain_graph: bool, runner: PassRunner, results: Sequence[Array] | None = None
) -> tuple[Value, set[TapeNode], Notes | None]:
    """One pass: the leaves' cotangents, those of them that are buffers of the pass, and the notes from a selection on.

    Without `results`, it runs through selections as well. It gives None where it is to go again at once.
    """
    seeks, run = _NOTHING if results is None else _ALL, None if runner is _SIMPLE else runner.whole()
    waiting, owned = dict(cotangents), set()
    last_write, log, heap = mutations.latest(), mutations.MutationLog(), _in_order(waiting)
    notes: Notes | None = None
    node: TapeNode | None = None
    while heap or node is not None:
        if node is None:
            g = waiting.pop(node := heappop(heap)[1])
        if type(g) is not ndarray and issubclass(type(g), Lazy):
            g = g.dense()
            owned.add(node)
        pullback: Value = node.pullback
        saved, parents = node.saved if node.order < last_write else log.saved(node), node.parents
        if notes is not None and type(g) is ndarray and g.size > _LARGE:
            notes = notes.needed(node, g, waiting, owned, last_write)
        if pullback.special:
            if seeks and pullback.selects and not (seeks == _ENDS and _ends(pullback, parents)):
                seeks, run, notes = _begun(
                    node, g, waiting, owned, runner, _is_recorded(results or (), cotangents), last_write
                )
            if pullback.alert:
                if pullback.hooks is not None and notes is not None and notes.stops_at_hooks():
                    return None, owned, notes
                g, saved = _prepared(node, pullback, g, saved, node in owned, log)
        if pullback.within is not None and run is None and type(g) is ndarray and g.size >= _ALONE:
            held, g, shares, c = {None: g}, None, None, None  # it is in `held` alone
            shares = run_within(held, pullback, saved)
        else:
            shares = pullback.run(g, saved) if run is None else run(node, pullback, g, saved)
        if not retain_graph:
            if notes is None or node.order < notes.mark:
                node.pullback, node.parents, node.saved = freed, (), ()
            else:
                notes.left.append(node)
        if len(parents) == 1 and pullback.straight and shares[0] is not None and parents[0].pullback is not None:
            if not heap or parents[0].order < heap[0][0]:  # it would come off the heap at once
                (node,), (g,) = parents, shares
                continue
        if pullback.special and type(shares) is Resumed:
            (parents, shares), last_write, log = (
                shares,
                mutations.latest(),
                mutations.MutationLog(),
            )  # it may reuse memory
        for parent, c in zip(parents, shares):  # noqa: B905 - one share a parent; strict= costs 5 % here
            if parent in waiting:
                if parent in owned and type(total := waiting[parent]) is ndarray and type(c) is ndarray:
                    total += c
                else:
                    waiting[parent] = _added(
                        waiting[parent], c, parent, owned, pullback.special and pullback.consumes and c is g
                    )
            elif c is not None:
                waiting[parent] = c
                if parent.pullback is not None:
                    heappush(heap, (parent.order, parent))
                elif c.shape != parent.shape:  # type: ignore[attr-defined]  # a leaf
                    raise _of_another_shape(c, parent, pullback)
                elif (
                    notes is not None
                    and (type(c) is not ndarray or c.size > MANY)
                    and (pullback.finite and notes.plain and notes.knows(parent, c, pullback, g, saved))
                ):
                    continue  # not one that is added to in place: then it would be another
                if (parent.pullback is None and pullback.fresh and is_own(c, g)) or (
                    pullback.special and pullback.consumes and c is g
                ):
                    owned.add(parent)
        node = shares = c = None  # what was added up is freed before the next rule runs
    return waiting, owned, notes


def _in_order(waiting: Iterable[TapeNode]) -> list[tuple[int, TapeNode]]:
    """The nodes that have rules, each after its number."""
    return sorted([(node.order, node) for node in waiting if node.pullback is not None])


def _of_another_shape(c: Array, leaf: Array, pullback: Pullback) -> RuleError:
    """The error for the cotangent `c` that a rule gave for a leaf of another shape."""
    return RuleError(
        f"a rule of {pullback.op.name} gave a cotangent of shape {c.shape} for a value of shape {leaf.shape}; a "
        f"cotangent has its value's shape"
    )


def _begun(
    node: TapeNode,
    g: Array,
    waiting: dict[TapeNode, Array],
    owned: set[TapeNode],
    runner: PassRunner,
    is_recorded: bool,
    last_write: float,
) -> tuple[int, RuleRun | None, Notes | None]:
    """A selection with cotangent `g` is met, while others wait.

    Returns which selections to seek from now on, what runs the rules, and the notes. There are none where no rule that
    is left to run can make nan of a zero.
    """
    if runner is _SIMPLE and not is_recorded:
        if _ends(node.pullback, node.parents):  # type: ignore[arg-type]  # it has one
            return _ENDS, None, None
        if type(g) is ndarray and few_are_safe(node, waiting, last_write):
            return _NOTHING, None, None
    if runner.observers and runner.refuses_nan():
        return _NOTHING, selecting(runner.rule or _simply, runner.observers, True), None
    if is_recorded and isinstance(g, Box) and raw(g) is g and not program_masks([node, *waiting], last_write):
        return _NOTHING, None if runner is _SIMPLE else runner.whole(), None  # a step of training, say
    notes = Notes({**waiting, node: g}, runner.rule is None and not is_recorded)
    if notes.plain and type(g) is ndarray and g.size > _LARGE:
        notes.until = oldest_hazard(notes.start or (), last_write)
        if notes.until == -inf:
            return _NOTHING, None if runner is _SIMPLE else runner.whole(), None
    for leaf in owned:
        if leaf.pullback is None:
            notes.known[leaf] = waiting[leaf]
            notes.own.append(leaf)
    owned.clear()  # nothing is added to these in place any more
    if notes.plain:
        return _NOTHING, None if runner is _SIMPLE else runner.whole(), notes
    return _NOTHING, selecting(runner.rule or _simply, runner.observers, False), notes


def _ends(pullback: Pullback, parents: Sequence[TapeNode]) -> bool:
    """Whether a selection multiplies nothing, and its zeros go to leaves: no rule meets them."""
    if not pullback.picks:
        return False
    for parent in parents:  # noqa: SIM110 - a call of all() costs more than the loop
        if parent.pullback is not None:
            return False
    return True


def _is_recorded(results: Sequence[Array], cotangents: dict[TapeNode, Array]) -> bool:
    """Whether a pass from these results, with these cotangents, is part of another derivative or of a program."""
    for x in results:
        if isinstance(x, Box) and type(held := x.held) not in _PLAIN:
            if is_elsewhere(x) or (issubclass(type(held), Box) and recorded(held)):
                return True
    given = cotangents.values()
    return not _PLAIN.issuperset(map(type, given)) and any(recorded(c) for c in given if not issubclass(type(c), Lazy))


def _runner_of(rebox: Rebox | None) -> PassRunner:
    if rebox is None and type(recording_floor.raw()) is int:
        return _SIMPLE
    run: RuleRun | None = None
    if rebox is not None:

        def run(node: TapeNode, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Sequence[Value]:
            return pullback.run(g, rebox(node, saved))

    observers = recording_floor.observers().values()
    return PassRunner(run, [observer.around for observer in observers if hasattr(observer, "around")])


def _simply(node: TapeNode, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Sequence[object]:
    return pullback.run(g, saved)


def _prepared(
    node: TapeNode, pullback: Pullback, g: Array, saved: tuple[Array, ...], owned: bool, log: mutations.MutationLog
) -> tuple[object, tuple[object, ...]]:
    """Cotangent and saved values of a rule that writes into the one, or whose others were packed or may be written."""
    if pullback.fingerprinted:
        if type(node.saved) is PackedValues:
            saved = log.saved(node, unpacked(node))
        check(node, saved)
    if not pullback.consumes:
        return g, saved
    there = g.arrived() if isinstance(g, Box) else g
    return np.array(there) if type(there) is ndarray and not (owned and there is g) else there, saved


def _added(total: Array, c: Array, node: TapeNode, owned: set[TapeNode], consumed: bool) -> Value:
    """`total` + `c`: in place if `total` is a buffer that this pass made and that nothing else uses.

    `consumed`: `c` is such a buffer, which a rule wrote into and handed on.
    """
    if c is None:
        return total
    if issubclass(type(total), Lazy):
        total, c = (c, total) if consumed else (total.dense(), c)
        owned.add(node)
    if issubclass(type(c), Lazy):
        if node in owned and issubclass(type(total), Box):
            total = total.arrived()
        if node in owned and isinstance(total, np.ndarray | list):
            return c.add_to(total)
        c = c.dense()
    elif node in owned and type(total) is ndarray and type(c) is ndarray:
        total += c
        return total
    elif node in owned and _is_no_task(total, c):
        there, c = (x.arrived() if isinstance(x, Box) else x for x in (total, c))  # the sum lies as it did
        return np.add(there, c, out=there) if type(there) is type(c) is ndarray else there + c
    total = total + c
    owned.add(node)
    return total


def _is_no_task(*xs: Array) -> bool:
    """Whether one of these is on its way, and one is not in C order: their sum is not handed over."""
    in_order = all(model.flags.c_contiguous for x in xs if type(model := lies(x)) is ndarray)
    return not in_order and any(issubclass(type(x), Box) and x.waits for x in xs)


def _finished(g: Array, leaf: Leaf, owned: bool) -> Array:
    """A leaf's cotangent in its own shape and dtype, in memory that nothing else refers to; through its hooks."""
    if issubclass(type(g), Lazy):
        g, owned = g.last(), True
    if type(g) is Selected:
        g, owned = g.value, False
    if isinstance(g, Box) and isinstance(inner := raw(g), Box):
        inner.ends_pass(leaf)
    if g.dtype != leaf.dtype:
        g, owned = fit(g, leaf.shape, leaf.dtype), False
    kind = type(g)
    if issubclass(kind, np.generic) or (not owned and issubclass(kind, np.ndarray)):
        g = np.array(g)
    elif isinstance(g, Box) and not (owned and leaf.shape):
        g = g.apart()
    elif not owned and is_foreign(g):
        g = g.copy()
    return leaf.saved[0](g) if leaf.saved else g
