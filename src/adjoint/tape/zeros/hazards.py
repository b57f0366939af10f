"""Which nodes of a graph may meet an infinity in the backward pass, where the zero of a selection would become nan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from adjoint.core.errors import InPlaceError
from adjoint.core.types import Value
from adjoint.tape.node import TapeNode
from adjoint.tape.writes.mutations import MutationLog
from adjoint.tape.zeros.selected import NO_NUMBERS, is_finite, may_be_infinite, numbers, stays_finite

# Up to so many nodes with so many elements are looked at as soon as something is selected.
_FEW, _ELEMENTS = 8, 1 << 18
# What is larger is not looked at twice.
_SEEN = 1 << 12


def oldest_hazard(nodes: Iterable[TapeNode], last_write: float) -> float:
    """The order of the oldest node, among `nodes` and all that lead to them, whose partial derivatives may be infinite.

    They are finite by a finite rule whose saved values are. What was saved before `last_write` may have been other
    values. If there is no such node, the result is below every order.
    """
    found, seen = -math.inf, set[int]()
    for node in _before(nodes):
        if node.order > found and not _is_safe(node, last_write, seen):
            found = node.order
    return found


def few_are_safe(node: TapeNode, waiting: Iterable[TapeNode], last_write: float) -> bool:
    """Whether few nodes are left after the selection `node`, and none of them may make nan of its zeros.

    To look at them costs less than the notes of a pass. False where there are more, or large arrays to look at.
    """
    left = [n for n in (*node.parents, *waiting) if n.pullback is not None]
    for before in left:  # their numbers are looked at last: that takes longest
        pullback: Value = before.pullback
        if not pullback.finite or pullback.hooks is not None or type(before.saved) is not tuple:
            return False
        for n in before.parents:
            if n.pullback is not None and n not in left:
                left.append(n)
        if len(left) > _FEW:
            return False
    elements = 0
    for before in left:
        try:
            saved = before.saved if before.order < last_write else MutationLog().saved(before)
        except InPlaceError:  # which the pass will raise, if it comes there
            return False
        values = list(saved)
        for x in values:
            kind = type(x)
            if kind is np.ndarray and x.dtype.char in "fd":
                elements += x.size
                if elements > _ELEMENTS or not is_finite(x):
                    return False
            elif kind is tuple:  # a shape, or several results
                values += x
            elif kind is float:  # a setting
                if not math.isfinite(x):
                    return False
            elif kind not in NO_NUMBERS:
                return False
    return True


def program_masks(nodes: Iterable[TapeNode], last_write: float) -> bool:
    """Whether a pass that is part of a program would mask a product at one of `nodes`, or of those that lead to them.

    It masks those where a factor may be infinite. What other factors are made of is asked to be finite.
    """
    return not all(_needs_no_mask(node, last_write) for node in _before(nodes))


def _before(nodes: Iterable[TapeNode]) -> Iterator[TapeNode]:
    """The nodes with rules among `nodes` and all that lead to them."""
    stack = list(dict.fromkeys(nodes))  # in an order that is the same in each process
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node.pullback is None:
            continue
        yield node
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)


def _is_plain(node: TapeNode, last_write: float) -> bool:
    """Whether the rule of `node` is finite, and what it saved is at hand."""
    pullback = node.pullback
    if pullback is None or not pullback.finite or pullback.hooks is not None:
        return False
    return type(node.saved) is tuple and node.order < last_write


def _needs_no_mask(node: TapeNode, last_write: float) -> bool:
    if not _is_plain(node, last_write):
        return False
    if not any(map(may_be_infinite, node.saved)):
        return all(map(stays_finite, node.saved))
    flags = node.pullback.op.flags  # type: ignore[union-attr]  # a plain one has it
    if "multilinear" in flags or ("contracts" in flags and all(np.ndim(x) > 1 for x in node.saved)):
        return all(map(stays_finite, node.saved))
    return False


def _is_safe(node: TapeNode, last_write: float, seen: set[int]) -> bool:
    """Whether nothing at `node` is infinite; `seen` are the large arrays that were found finite."""
    if not _is_plain(node, last_write):
        return False
    for x in numbers(node.saved):
        if id(x) in seen:
            continue
        if not is_finite(x):
            return False
        if x.size > _SEEN and any(x is given for given in node.saved):  # it lives on, so its number stays its own
            seen.add(id(x))
    return True
