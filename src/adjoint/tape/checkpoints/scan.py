"""A loop whose gradient needs the memory of k steps instead of all: `checkpoint_scan`.

Each step but the last runs recorded, and its graph is dropped: its results get a node that stands for the step.
When the backward pass comes to such a node, the loop continues from the nearest earlier snapshot to that step, and
takes new snapshots on the way (`revolve` says where). Then it runs the step once more, and the pass goes through that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, cast

import numpy as np

from adjoint.core.errors import ArgumentError, GradientError, ShapeError
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.threads.weak import WeakValues
from adjoint.core.types import Array, T, Tree, Value
from adjoint.tape.backward import Resumed
from adjoint.tape.checkpoints import revolve
from adjoint.tape.checkpoints.arguments import SavedArguments
from adjoint.tape.checkpoints.checkpoint import boundary, check_unwritten, inner_roots, name_of, result_of, stand_in
from adjoint.tape.checkpoints.sameness import ArraySums, compiled_calls, note_compiled, print_of, same, values_of
from adjoint.tape.modes import GradMode, recording_floor
from adjoint.tape.node import TapeNode, next_order
from adjoint.tape.reach import CallState
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations
from adjoint.tape.writes.foreign import constants_seen
from adjoint.tape.writes.views import root_of


class Snapshot(NamedTuple):
    """The state before step `position`."""

    position: int
    carry: SavedArguments
    state: CallState
    node: TapeNode  # holds the arrays, with the moment at which they had these values

    def again(self) -> Value:
        """The carried values as they were."""
        arrays = mutations.MutationLog().saved(self.node)[0]
        return self.carry.again(arrays, cast(Value, self.node.pullback).op.name)


class Scan:
    """One run of the loop, and what is needed to go back through it."""

    def __init__(
        self, step: Callable[[Value, Value], tuple[Value, Value]], xs: Array, length: int, snapshots: int
    ) -> None:
        self.step, self.length, self.snapshots = step, length, snapshots
        self.op = Op(name=f"checkpoint_scan({name_of(step)})", forward=step, inputs=("function",))
        self.floor = recording_floor.get()
        # Of the nodes that stand for steps: a later step's is younger, and all are older than what they stand for.
        self.orders = [next_order() for _ in range(length)]
        self.xs = self._snapshot(0, xs)
        self.taken: list[Snapshot] = []
        self._nodes: WeakValues[tuple[int, int], TapeNode] = WeakValues()
        self._prints: list[int | list[bytes | ArraySums | None]] = []  # of each step; one hash where these are bytes
        self._outside: dict[TapeNode, None] = {}

    def _snapshot(self, position: int, carry: Tree) -> Snapshot:
        arguments = SavedArguments(carry)
        node = stand_in(self.op, next_order(), (), (arguments.arrays, ()), lambda g, saved: ())
        return Snapshot(position, arguments, CallState(self.step, ()), node)

    def forward(self, carry: Tree) -> tuple[Value, Value]:
        """Run the loop."""
        self.taken = [self._snapshot(0, carry)]
        stops = set(revolve.snapshots_on_the_way(0, self.length - 1, self.snapshots))
        ys: list[Array] = []
        for t in range(self.length - 1):
            carry, y = self._run(t, carry)
            ys.append(y)
            if t + 1 in stops:
                self.taken.append(self._snapshot(t + 1, carry))
        carry, y = self._result(self.step(carry, self._x(self.length - 1)))
        for snapshot in self.taken:
            snapshot.state.settle(self.orders[0])
        for (t, _), node in self._nodes.items():
            if t == self.length - 1:
                node.parents = tuple(self._outside)
                cast(Value, node.pullback).wanted = tuple(range(len(node.parents)))
        self._outside = {}
        return carry, _stacked([*ys, y])

    def _run(self, t: int, carry: Tree) -> tuple[Value, Value]:
        """Run step `t`, and drop the graph behind its results."""
        mark, first = next_order(), len(self._prints) == t
        with constants_seen() as constants, compiled_calls() as calls:
            value = self._result(self.step(carry, self._x(t)))
        leaves = _leaves(value, carry)
        roots = inner_roots(leaves, mark)
        if calls.any:
            note_compiled()  # to a checkpoint around this one
        if first:
            prints = [print_of(root, calls.any) for root in roots.values()]
            self._prints.append(prints if calls.any else hash((constants.sum, *prints)))
            inner = [cast(TapeNode, root.node) for root in roots.values()]
            self._outside |= dict.fromkeys(node for node in boundary(inner, mark) if node.order > self.orders[0])
        for i, root in roots.items():
            root.node = result_of(self._node(t + 1, root.level), i, len(leaves))
        return value

    def _node(self, t: int, level: int) -> TapeNode:
        """The node that stands for the step before state `t`, at a level."""
        node = self._nodes.get((t, level))
        if node is None:
            node = stand_in(self.op, self.orders[t], (), ((), ()), lambda g, saved: self._resume(t, g))
            self._nodes[t, level] = node
        return node

    def _resume(self, t: int, g: list[Array]) -> Resumed:
        """Run the step before state `t` again; the cotangents `g` of its results go to the graph that this makes."""
        while self.taken[-1].position >= t:
            self.taken.pop()
        start, now = self.taken[-1], next_order()
        used = [values_of(tensor) for tensor in start.state.parameters]
        check_unwritten(used, now, self.orders[0], self.op.name)
        with start.state.restored(), GradMode(self.floor):
            carry = start.again()
            free = self.snapshots - len(self.taken) + 1
            stops = set(revolve.snapshots_on_the_way(start.position, t - 1, free))
            for s in range(start.position, t - 1):
                carry, _ = self._run(s, carry)
                if s + 1 in stops:
                    self.taken.append(self._snapshot(s + 1, carry))
                    self.taken[-1].state.changed = start.state.changed
            mark = next_order()
            with constants_seen() as constants:
                value = self._result(self.step(carry, self._x(t - 1)))
        leaves = _leaves(value, carry)
        if not _comes_again(self._prints[t - 1], constants.sum, inner_roots(leaves, mark).values()):
            raise GradientError(
                f"{self.op.name} ran step {t - 1} again for its gradient, and it did not give what it gave the "
                f"first time. What it reads was changed in between, or it draws random numbers from a source that is "
                f"not found"
            )
        pairs = [(cast(TapeNode, root_of(leaf)[0].node), c) for leaf, c in zip(leaves, g, strict=True) if c is not None]
        return Resumed(tuple(node for node, _ in pairs), tuple(c for _, c in pairs))

    def _x(self, t: int) -> Value:
        leaves, rebuild = flatten(self.xs.again())
        return rebuild([leaf[t] for leaf in leaves])

    def _result(self, value: Array) -> tuple[Value, Value]:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ArgumentError(
                f"a step of checkpoint_scan gives two things, what it carries on and what is collected: "
                f"return carry, y (or carry, None); this one gave {type(value).__name__}"
            )
        return value


def _comes_again(first: int | list[bytes | ArraySums | None], constants: int, roots: Collection[Tensor]) -> bool:
    """Whether a step gave what it gave at `first`."""
    if isinstance(first, int):
        return first == hash((constants, *map(print_of, roots)))
    return len(first) == len(roots) and all(map(same, first, roots))


def _leaves(value: Array, carry: Tree) -> list[Value]:
    # The carried values too: the step may have written into them.
    return flatten(value)[0] + flatten(carry)[0]


def _stacked(ys: Sequence[Array]) -> object:
    """The trees `ys` as one tree of arrays with a new first axis."""
    columns = zip(*(flatten(y)[0] for y in ys), strict=True)
    return flatten(ys[0])[1]([np.stack(column) for column in columns])


def checkpoint_scan(
    step: Callable[[T, Value], tuple[T, Value]],
    carry: T,
    xs: Array = None,
    length: int | None = None,
    *,
    snapshots: int,
) -> tuple[T, Value]:
    """A loop that carries a state on, with the memory of `snapshots` states and one step, however long it is.

    As ``for x in xs: carry, y = step(carry, x)``, with every ``y`` collected. Its gradient repeats as few steps as is
    possible with so many snapshots (Griewank and Walther's Revolve, ACM TOMS 26, 2000; the first state is one of
    them): n steps with k snapshots are gone back through in r n − β(k + 1, r − 1) more, with β(k, r) the binomial
    coefficient of k + r over k, and r the smallest number with n ≤ β(k, r). Gradients are those of the loop, bit for
    bit; random numbers and states of modules are as in `checkpoint`.

    Args:
        step: takes what is carried, a tree of arrays, and one ``x``; gives the same anew, and a ``y`` or None.
        carry: the first state.
        xs: a tree of arrays, whose first axis is the loop's.
        length: the number of steps, if there are no `xs`.
        snapshots: the most states to keep, at least 1.

    Returns:
        The last state, and the tree of all ``y``, with a new first axis.

    Raises:
        ArgumentError: if the number of steps is not clear, or a step gives something else.
        ShapeError: if `xs` differ in length.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> def last(x, snapshots=3):
        ...     return ad.checkpoint_scan(lambda x, _: (np.sin(x), None), x, length=100, snapshots=snapshots)[0]
        >>> ad.grad(last)(0.5) == ad.grad(lambda x: last(x, snapshots=100))(0.5)
        np.True_
    """
    revolve.check(snapshots)
    shapes = [np.shape(x) for x in flatten(xs)[0]]
    if () in shapes:
        raise ShapeError("checkpoint_scan: every array in xs needs a first axis, that of the loop; one is a single "
                         "number. What all steps share, the step function may close over")  # fmt: skip
    lengths = {shape[0] for shape in shapes}
    if len(lengths) > 1:
        raise ShapeError(f"checkpoint_scan: the arrays in xs have different lengths: {', '.join(map(str, lengths))}")
    if length is not None and length < 0:
        raise ArgumentError(f"checkpoint_scan: length must be 0 or more; got {length}")
    steps = lengths | ({length} if length is not None else set())
    if len(steps) != 1:
        got = f"xs have {min(lengths)}, length={length}" if steps else "neither"
        raise ArgumentError(f"checkpoint_scan needs xs or length=, to know the number of steps; got {got}")
    (n,) = steps
    return Scan(step, xs, n, snapshots).forward(carry) if n else (carry, None)
