"""What a kernel computes: expressions over the elements of a domain, the arrays that they read and those they write."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from adjoint.native.codegen.llvm_text import IRValue
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import Operand

SAVED = 4  # operations that are computed once for a short axis


class Expression(NamedTuple):
    """A value at each place of the domain: `function` of other values. Functions of one `key` write the same code.

    With `array`, it is the elements of that array at the positions that its only argument gives.
    """

    function: Callable[..., IRValue] | None
    args: tuple[int, ...]
    key: Hashable
    array: Operand | None = None


class Reduction(NamedTuple):
    """How elements are taken together in `dtype`, from `identity` on, and what becomes of the result.

    With `passes`, the reduction before this one decides which of two results is kept: the second one, if `passes` is
    true of the results of that reduction. Of the lanes that none passes, `combine` makes one result.
    """

    combine: Callable[[IRValue, IRValue], IRValue]
    identity: float
    finish: Callable[[IRValue], IRValue]
    dtype: str
    key: Hashable
    passes: Callable[[IRValue, IRValue], IRValue] | None = None


class Spec(NamedTuple):
    """What a kernel computes.

    Values are numbered: first the operands that are read, then the expressions. A store names its value; with a
    reduction, that of the value along the axes `reduced`. Along those `in_turn`, one place comes after another.
    """

    domain: tuple[int, ...]
    reads: list[Operand]
    expressions: list[Expression]
    stores: list[tuple[int, Operand, Reduction | None]]
    reduced: frozenset[int] = frozenset()
    in_turn: frozenset[int] = frozenset()

    @property
    def looked_up(self) -> list[Operand]:
        """The arrays that expressions read at computed positions."""
        return [expression.array for expression in self.expressions if expression.array]

    @property
    def operands(self) -> list[Operand]:
        """All arrays: those that are read, looked up, and written."""
        return [*self.reads, *self.looked_up, *(operand for _, operand, _ in self.stores)]


class Split(NamedTuple):
    """How a step may be cut into parts that do not depend on each other.

    Attributes:
        length: how many places there are along the axis that is cut.
        quantum: a part has a multiple of so many, but for the last.
        at: which numbers of the step are the length of a part.
        shifts: how many bytes further each operand of the step begins, for each place. Without, the first number of
            `at` and the one after it are the first place, and the one after the last.
        time: about how many nanoseconds the step takes.
    """

    length: int
    quantum: int
    at: tuple[int, ...]
    shifts: tuple[int, ...]
    time: float


def collapsed(spec: Spec) -> tuple[list[int], list[bool], list[list[int]], list[list[int]]]:
    """The domain with as few axes as possible: lengths, which are reduced, and the strides of reads and stores."""
    lengths: list[int] = []
    reduced: list[bool] = []
    reads, operands = [*spec.reads, *spec.looked_up], spec.operands
    strides: list[list[int]] = [[] for _ in operands]
    ends = True  # whether nothing may join what is there
    for axis, length in enumerate(spec.domain):
        if length == 1:
            continue
        here = [operand.strides[axis] for operand in operands]
        joins = (
            not ends
            and axis not in spec.in_turn
            and reduced[-1] == (axis in spec.reduced)
            and all(before[-1] == now * length for before, now in zip(strides, here, strict=True))
        )
        if joins:
            lengths[-1] *= length
        else:
            lengths.append(length)
            reduced.append(axis in spec.reduced)
        ends = axis in spec.in_turn
        for before, now in zip(strides, here, strict=True):
            before[-1:] = [now] if joins else [*before[-1:], now]
    return lengths, reduced, strides[: len(reads)], strides[len(reads) :]


def spread_along(spec: Spec, reads: Sequence[Sequence[int]]) -> list[bool]:
    """For each value, whether it differs along the last axis; `reads` are the strides of what is read."""
    count = len(spec.reads)
    spread = [bool(strides) and strides[-1] != 0 for strides in reads[:count]]
    arrays = iter(reads[count:])
    for expression in spec.expressions:
        own = expression.array is not None and bool(strides := next(arrays)) and strides[-1] != 0
        spread.append(own or any(spread[a] for a in expression.args))
    return spread


def handed_on(spec: Spec) -> int:
    """The number of the read that finds what the innermost loop stored one place before, or -1."""
    axis = max((axis for axis, n in enumerate(spec.domain) if n > 1), default=-1)
    if axis not in spec.in_turn or len(spec.stores) != 1:
        return -1
    _, target, reduction = spec.stores[0]
    if reduction or target.positions is not None or target.adds or target.dtype in ("b1", "f2"):
        return -1
    before = target._replace(offset=target.offset - target.strides[axis] * align_of(target.dtype))
    return spec.reads.index(before) if before in spec.reads else -1


def broadcast_strides(strides: Sequence[int], shape: Sequence[int], domain: Sequence[int]) -> tuple[int, ...]:
    """Strides along `domain` of an array of `shape` that is broadcast to it."""
    missing = len(domain) - len(shape)
    own = (0 if n == 1 else s for n, s in zip(shape, strides, strict=True))
    return (0,) * missing + tuple(own)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of an array in C order."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def within_vectors(spec: Spec, outer: list[int], lengths: list[int], reads: list[list[int]], longest: int) -> list[int]:
    """Short axes that are gone through within each vector, since much is the same along them and computed once then.

    Args:
        outer: collapsed axes outside of the loop in vectors, which goes along the last one.
        lengths, reads: of the collapsed domain.
        longest: so many places are short.
    """
    first = [axis in spec.in_turn for axis, n in enumerate(spec.domain) if n > 1]
    turns = sum(first)  # these axes are not collapsed
    along = [{a for a, step in enumerate(strides) if step} for strides in reads]
    values, arrays = along[: len(spec.reads)], iter(along[len(spec.reads) :])
    for expression in spec.expressions:
        own = next(arrays) if expression.array else set()
        values.append(own.union(*(values[a] for a in expression.args)))
    computed = [axes for axes in values[len(spec.reads) :] if len(lengths) - 1 in axes]
    short = [a for a in outer if a >= turns and lengths[a] <= longest and all(first[:turns])]
    found = [a for a in short if sum(a not in axes for axes in computed) >= SAVED]
    return found if math.prod(lengths[a] for a in found) <= longest else []
