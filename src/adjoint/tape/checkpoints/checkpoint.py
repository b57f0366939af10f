"""Less memory for more time: `checkpoint` keeps a function's arguments, and runs it again when its gradient is needed.

The function first runs as always, recorded. Then the nodes of its results are replaced by one node that stands for
the whole graph, which is dropped. When the backward pass comes to it, the function runs once more, and the pass goes on
through the new graph. That graph is younger than all waiting nodes, so its nodes come next, as those of the first graph
would have. So every cotangent is added in the same order as without `checkpoint`, bit for bit. Values that the function
closes over get their share, because the new graph uses the same nodes. A second derivative needs no extra code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from itertools import pairwise
from typing import cast, overload

import numpy as np

from adjoint.core.errors import ArgumentError, GradientError, InPlaceError
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.rules.cotangents import Lazy
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.types import Array, Function, P, R, Value
from adjoint.tape.backward import Resumed
from adjoint.tape.checkpoints.arguments import SavedArguments
from adjoint.tape.checkpoints.policies import Policy, Replay, Watching, save_everything, save_nothing
from adjoint.tape.checkpoints.sameness import compiled_calls, note_compiled, print_of, same, values_of
from adjoint.tape.modes import NEVER, GradMode, recording_floor
from adjoint.tape.node import TapeNode, next_order
from adjoint.tape.reach import CallState
from adjoint.tape.tensor import Tensor, View
from adjoint.tape.writes import mutations
from adjoint.tape.writes.foreign import constants_seen
from adjoint.tape.writes.views import root_of


class ResultCotangent(Lazy):
    """The cotangent `value` of result number `i` of `count`; the others have none."""

    __slots__ = ("count", "i", "value")

    def __init__(self, i: int, value: Array, count: int) -> None:
        self.i, self.value, self.count = i, value, count

    def dense(self) -> list[Array | None]:
        return self.add_to([None] * self.count)

    def add_to(self, total: list[Array]) -> list[Array | None]:
        total[self.i] = self.value if total[self.i] is None else total[self.i] + self.value
        return total


class WeakNode(TapeNode):
    """A node that may be referred to weakly."""

    __slots__ = ("__weakref__",)


def stand_in(
    op: Op, order: int, parents: tuple[TapeNode, ...], saved: tuple[Array, ...], pullback: Function
) -> TapeNode:
    """A node for a graph that is made when a cotangent comes: ``pullback(cotangents, saved)`` makes it."""
    node = WeakNode()
    node.order, node.parents, node.saved = order, parents, (*saved, ())
    node.pullback = Pullback(pullback, op, ("arguments", "kept", "needs"), tuple(range(len(parents))), special=True)
    return node


def result_of(node: TapeNode, i: int, count: int) -> TapeNode:
    """The node of result number `i` of what `node` stands for."""

    def pullback(g: Array, saved: tuple[()]) -> tuple[ResultCotangent]:
        return (ResultCotangent(i, g, count),)

    result = TapeNode()
    result.order, result.parents, result.saved = next_order(), (node,), ()
    result.pullback = Pullback(pullback, cast(Pullback, node.pullback).op, wanted=(0,), straight=True)
    return result


def boundary(nodes: Sequence[TapeNode], mark: int) -> tuple[TapeNode, ...]:
    """The nodes older than `mark` on which the younger ones that lead to `nodes` hang."""
    inside, outside = list(dict.fromkeys(nodes)), set[TapeNode]()
    seen = set(inside)
    for node in inside:
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                (inside.append if parent.order < mark else outside.add)(parent)
    return tuple(sorted(outside, key=lambda node: node.order))


def inner_roots(leaves: Sequence[Array], mark: int) -> dict[int, Tensor]:
    """The tensors among `leaves`, or whose memory they show, whose history is younger than `mark`: by index."""
    found: dict[int, Tensor] = {}
    seen: set[int] = set()
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            root = root_of(leaf)[0]
            node = root.node
            if id(root) not in seen and node is not None and node.order < mark and node.pullback is not None:
                seen.add(id(root))
                found[i] = root
    return found


def is_other(found: list[dict[TapeNode, Value]], known: list[dict[TapeNode, Value]]) -> bool:
    """Whether parameters hold something else than what is `known`."""
    return any(now[node] is not was for now, then in zip(found, known, strict=True) for node, was in then.items())


def check_unwritten(arrays: Iterable[Array], now: int, mark: int, what: str) -> None:
    """Raise if one of `arrays` was written after `mark` and before `now`."""
    if mutations.latest() > mark:
        return
    if any(isinstance(array, np.ndarray) and now < mutations.last(array) < mark for array in arrays):
        raise written_since(what)


def written_since(what: str) -> InPlaceError:
    """The error of a call that cannot run again."""
    return InPlaceError(
        f"{what} must run again for its gradient, but a value that it uses (a parameter, say) has been written "
        f"since. Go backward before the write"
    )


class CheckpointedCall:
    """One call of a checkpointed function: made once, and again whenever its gradient is due."""

    def __init__(self, function: Function, op: Op, policy: Policy, args: Value, kwargs: Value) -> None:
        self.function, self.op = function, op
        self.mark, self.floor = next_order(), recording_floor.get()
        self.arguments = SavedArguments((args, kwargs))
        self.state = CallState(function, (args, kwargs))
        self.kept: tuple[Value, ...] = ()
        self.versions: list[tuple[tuple[TapeNode, ...], list[dict[TapeNode, Value]]]] = []
        self.watching = None if policy is save_nothing else Watching(policy)

    def first(self, args: Value, kwargs: Value) -> Value:
        """Call the function, and give its results a node that replaces the graph behind them."""
        with constants_seen() as self.constants, compiled_calls() as calls, self.watching or nullcontext():
            value = self.function(*args, **kwargs)
        self.roughly = calls.any
        if calls.any:
            note_compiled()  # to a checkpoint around this one
        if self.watching is not None:
            self.kept = self.watching.values()
        self.state.settle(self.mark)
        leaves = self._leaves(value, args, kwargs)
        roots = inner_roots(leaves, self.mark)
        self.prints = {i: print_of(root, self.roughly) for i, root in roots.items()}
        for level in {root.level for root in roots.values()}:
            self._replace({i: root for i, root in roots.items() if root.level == level})
        for leaf in leaves:
            if isinstance(leaf, View):
                _ = leaf.node  # takes its path from the new history
        return value

    def _leaves(self, value: Array, args: object, kwargs: object) -> list[Array]:
        # The arguments too: the function may have written into them.
        return flatten(value)[0] + flatten((args, kwargs))[0]

    def _replace(self, roots: dict[int, Tensor]) -> None:
        """Hang `roots`, which are of one level, on a new node, and drop the graph that they came from."""
        nodes: dict[TapeNode, int] = {}
        for i, root in roots.items():
            nodes.setdefault(cast(TapeNode, root.node), i)
        indices = tuple(nodes.values())
        parents = boundary(list(nodes), self.mark)
        self.versions.append((parents, self.state.versions(parents)))
        node = stand_in(
            self.op,
            self.mark,
            parents,
            (self.arguments.arrays, self.kept),
            lambda g, saved: self.again(g, saved, indices),
        )
        results = {old: result_of(node, k, len(nodes)) for k, old in enumerate(nodes)}
        for root in roots.values():
            root.node = results[cast(TapeNode, root.node)]

    def again(self, g: list[Array], saved: tuple[Array, ...], indices: tuple[int, ...]) -> Resumed:
        """Call the function again; the cotangents `g` of its results `indices` go to the graph that this makes."""
        arrays, kept, _ = saved
        args, kwargs = self.arguments.again(arrays, self.op.name)
        now, written = next_order(), mutations.latest() < self.mark
        check_unwritten(map(values_of, self.state.parameters), now, self.mark, self.op.name)
        if any(is_other(self.state.versions(nodes), known) for nodes, known in self.versions):
            raise written_since(self.op.name)
        with self.state.restored(), GradMode(self.floor), constants_seen() as constants:
            if self.watching is None:
                value = self.function(*args, **kwargs)
            else:
                replay = Replay(self.watching, kept)
                with replay, replay.asked():
                    value = self.function(*replay.arguments(args), **replay.arguments(kwargs))
        leaves = self._leaves(value, args, kwargs)
        nodes = [self._same(leaves, i, constants.sum) for i in indices]
        if written:
            check_unwritten(self._used(nodes, now), now, self.mark, self.op.name)
        pairs = [(node, c) for node, c in zip(nodes, g, strict=True) if c is not None]
        return Resumed(tuple(node for node, _ in pairs), tuple(c for _, c in pairs))

    def _same(self, leaves: Sequence[Array], i: int, constants: int) -> TapeNode:
        """The node of result number `i`, which must have come out as it did the first time."""
        root = root_of(leaves[i])[0] if i < len(leaves) and isinstance(leaves[i], Tensor) else None
        alike = root is not None and (self.roughly or constants == self.constants.sum) and same(self.prints[i], root)
        if root is None or root.node is None or not alike:
            raise GradientError(
                f"{self.op.name} ran again for its gradient, and did not give what it gave the first time. What it "
                f"reads was changed in between, or it draws random numbers from a source that is not found: give the "
                f"generator as an argument"
            )
        return root.node

    def _used(self, nodes: Sequence[TapeNode], now: int) -> Iterator[object]:
        """Arrays that the second run used, other than its arguments."""
        ours = {id(mutations.owner(array)) for array in self.arguments.arrays if isinstance(array, np.ndarray)}
        used: list[Value] = []
        inside = dict.fromkeys(nodes)
        stack = list(inside)
        while stack:
            node = stack.pop()
            used += node.saved
            fresh = [parent for parent in node.parents if parent.order < now and parent not in inside]
            inside |= dict.fromkeys(fresh)
            stack += fresh
        return (a for a in used if isinstance(a, np.ndarray) and id(mutations.owner(a)) not in ours)


@overload
def checkpoint(function: Callable[P, R], *, policy: Policy = ...) -> Callable[P, R]: ...
@overload
def checkpoint(function: None = None, *, policy: Policy = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def checkpoint(function: Value = None, *given: Value, policy: Policy = save_nothing) -> object:
    """A function that does what `function` does, and keeps none of its inner values: they are computed again.

    ``ad.checkpoint(f)`` is a function, which is then called; ``@ad.checkpoint`` and ``@ad.checkpoint(policy=…)``
    decorate one. Gradients are the same bit for bit, in any nesting, also those of parameters and tensors that
    `function` closes over; second and higher derivatives are the same to rounding. Random numbers are the same, drawn
    from generators that are arguments, attributes, closed over, or global, and from ``np.random``; the second run
    leaves no trace in them, or in the attributes and buffers of modules.

    Args:
        function: takes and gives trees of tensors, and anything else; also an `nn.Module`. It must do the same when
            it is called again; what it changes elsewhere (a list that it appends to) is changed twice.
        policy: which inner values to keep all the same: `ad.save_nothing`, `ad.save_everything`, `ad.save_matmuls`,
            ``ad.save_only_names(…)``, or a function of an operation and its settings.

    Raises:
        ArgumentError: if arguments of `function` are given here.
        InPlaceError: in the backward pass, if a value that it uses was overwritten and cannot be restored.
        GradientError: in the backward pass, if the second run gives other values.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> block = ad.checkpoint(lambda x: np.tanh(np.sin(x) * 2))
        >>> ad.grad(lambda x: np.sum(block(block(x))))(np.zeros(2))
        array([4., 4.])
    """
    if given:
        name = getattr(function, "__name__", "f")
        raise ArgumentError(
            f"checkpoint takes the function only, and gives a function back. Call that one: "
            f"ad.checkpoint({name})({', '.join('…' for _ in given)})"
        )
    if function is None:
        return lambda function: checkpoint(function, policy=policy)
    if not callable(function) or not callable(policy):
        raise ArgumentError(f"checkpoint(function, policy=…) takes two functions; got {function!r} and {policy!r}")
    if policy is save_everything:
        return function
    op = Op(name=f"checkpoint({name_of(function)})", forward=function, inputs=("function",))

    def checkpointed(*args: object, **kwargs: object) -> Array:
        if recording_floor.get() >= NEVER:
            return function(*args, **kwargs)
        return CheckpointedCall(function, op, policy, args, kwargs).first(args, kwargs)

    # Not what is in its __dict__: a module is a function too, and that would be its parameters.
    return update_wrapper(checkpointed, function, [a for a in WRAPPER_ASSIGNMENTS if hasattr(function, a)], ())


def name_of(function: Value) -> str:
    """What messages call a function."""
    return getattr(function, "__name__", type(function).__name__)


def checkpoint_sequential(
    functions: Sequence[Callable[[Value], Value]], segments: int, x: Array, *, policy: Policy = save_nothing
) -> Array:
    """``functions[-1](… functions[0](x))``, with all but the last of `segments` pieces checkpointed.

    Args:
        functions: one after another; also an `nn.Sequential`.
        segments: into how many pieces of about equal length to cut. About the square root of ``len(functions)`` needs
            the least memory: the values between pieces, and those inside of one.
        x: what the first function is given.
        policy: as in `checkpoint`.

    Raises:
        ArgumentError: if there are fewer functions than `segments`, or fewer than one of either.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.grad(lambda x: ad.checkpoint_sequential([np.sin] * 9, 3, x))(0.5)
        np.float64(0.41123740859955293)
    """
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ArgumentError(
            f"checkpoint_sequential cuts {len(functions)} functions into pieces: segments must be from 1 to "
            f"{len(functions)}; got {segments}"
        )
    edges = [k * len(functions) // segments for k in range(segments + 1)]
    for start, stop in pairwise(edges[:-1]):
        x = checkpoint(_Chain(functions[start:stop]), policy=policy)(x)
    return _Chain(functions[edges[-2] :])(x)


class _Chain:
    """Functions one after another, as one."""

    def __init__(self, functions: Sequence[Callable[[Value], Value]]) -> None:
        self.functions = functions
        self.__name__ = (
            name_of(functions[0]) if len(functions) == 1 else f"{name_of(functions[0])} … {name_of(functions[-1])}"
        )

    def __call__(self, x: Array) -> Array:
        for function in self.functions:
            x = function(x)
        return x
