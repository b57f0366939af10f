"""Where a recorded program repeats itself: its turns, and the role of each argument in them.

The calls of a graph form a sequence, in the order in which they were made. Say that from `start` on there are turns
of `period` calls each that are alike. Argument k of call j of turn t stands at a position of that sequence; inputs and
constants have negative ones. In a loop these positions are affine in t, and the step tells what the argument is:

    0            the same in each turn
    period       made in the same turn, or carried from an earlier one
    ± a period of an earlier loop       kept by that loop, which reads it forwards or backwards
    none         listed one by one, if all is there before the loop begins

So one comparison of integer arrays checks all turns. Turns at either end that differ are not rolled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjoint.graph.loops.row import FEWEST, CallRow
from adjoint.graph.node import Node, multiplies, size_of

LARGEST = 1 << 13  # numbers that are put into a table at each call
ABREAST = 64  # calls that turns have together, if several are taken as one: a kernel holds as many
PRODUCT = 1 << 10  # numbers of a product, from which on turns are not taken together
GRAM = 6  # calls that are looked up together


class Local(NamedTuple):
    """An argument that call `j` of the same turn made."""

    j: int


class Carried(NamedTuple):
    """Made by call `j`, as many turns ago as there are `first` values, which stand at these positions."""

    j: int
    first: tuple[int, ...]


class Fixed(NamedTuple):
    """An argument that is the same in each turn: the value at this position."""

    at: int


class EarlierValue(NamedTuple):
    """An argument that call `j` of the earlier loop number `loop` made, in its turn ``start + step * turn``."""

    loop: int
    j: int
    start: int
    step: int

    def turns(self, times: int) -> tuple[int, int]:
        """The first and the last turn for which there is such a turn of a loop of so many `times`."""
        by = abs(self.step)
        ahead = self.start if self.step > 0 else times - 1 - self.start  # how far it may go, in the other direction
        return -(ahead // by), (times - 1 - ahead) // by


class Listed(NamedTuple):
    """An argument that is a different value in each turn: those at these positions."""

    at: tuple[int, ...]


Source = Local | Carried | Fixed | EarlierValue | Listed


class TurnRange(NamedTuple):
    """So many `times` turns of `period` calls from position `start` on.

    Attributes:
        sources: for each call of a turn, what its arguments are.
        numbers: for each call, the first turn's whole numbers in its index, and by how much they grow.
        abreast: how many turns of the program one of these is.
    """

    start: int
    period: int
    times: int
    sources: list[list[Source]]
    numbers: list[list[tuple[int, int]]]
    abreast: int = 1

    @property
    def stop(self) -> int:
        return self.start + self.period * self.times

    def within(self, at: int) -> tuple[int, int] | None:
        """The turn and the call at a position; None outside."""
        return divmod(at - self.start, self.period) if self.start <= at < self.stop else None


def stretches(codes: np.ndarray, least: int, most: int = 12) -> list[tuple[int, int, int]]:
    """Where codes repeat: ``(start, period, length)``, such that more than `least` calls are saved.

    The periods are those distances at which the same few codes come again, of which the `most` promising are tried: so
    it takes time that grows with the row alone.
    """
    count = len(codes) - GRAM + 1
    if count < 3:
        return []
    grams = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for k in range(GRAM):
            grams = grams * np.uint64(0x9E3779B97F4A7C15) + codes[k : count + k].astype(np.uint64) + np.uint64(1)
    order = np.argsort(grams, kind="stable")
    distance = np.zeros(count, np.int64)
    distance[order[1:]] = np.where(grams[order[1:]] == grams[order[:-1]], np.diff(order), 0)
    found, pending = [], [(0, len(codes))]
    while pending:
        low, high = pending.pop()
        here = distance[low : max(low, high - GRAM + 1)]
        periods, counts = np.unique(here[here > 0], return_counts=True)
        likely = periods[np.argsort(-counts * periods, kind="stable")][:most]
        best = (least, 0, 0, 0)
        for period in sorted(likely.tolist()):
            if (high - low) <= best[0] + period:
                continue
            breaks = np.flatnonzero(codes[low : high - period] != codes[low + period : high])
            breaks = np.concatenate([[-1], breaks, [high - low - period]])
            lengths = np.diff(breaks) - 1
            k = int(np.argmax(lengths))
            times = int(lengths[k]) // period + 1
            if times >= FEWEST and (times - 1) * period > best[0]:
                best = ((times - 1) * period, low + int(breaks[k]) + 1, period, int(lengths[k]) + period)
        _, start, period, length = best
        if period:
            found.append((start, period, length))
            pending += [(low, start), (start + length, high)]
    return sorted(found)


def turns_of(
    row: CallRow, start: int, period: int, length: int, earlier: Sequence[TurnRange], abreast: int = 1
) -> TurnRange | str:
    """The turns of a stretch of alike codes, so many of them taken as one; or why there are none."""
    abreast = abreast if length >= 2 * FEWEST * period * abreast else 1
    period *= abreast
    if length // period < FEWEST:
        return "too few turns"
    start, length = _cut(row, start, period, length)
    times = length // period
    if times < FEWEST:
        return "too few turns"
    at, owner = row.arguments(start, period, times)
    m = times // 2
    turn = np.arange(times)[:, None]
    step = at[m + 1] - at[m]
    fits = at == at[m] + step * (turn - m)
    inner = step == period
    place = at[m] - (start + m * period)
    lag = np.where(inner & (place < 0), -(place // period), 0)
    listed = ~inner & (~fits[times // 4 : -(times // 4)].all(0) | ((at[m] < 0) & (step != 0)))
    numbers, steady = _numbers(row, start, period, times, m)
    good = (fits | listed | (lag > 0)).all(1) & steady
    lo, hi = _around(good, m)
    for c in np.flatnonzero(lag).tolist():  # the first value may come from anywhere
        low, high = _around(fits[:, c], m)
        lo, hi = max(lo, low - 1), min(hi, high)
    before = at[m, (step == 0) & ~listed]  # made before the first turn
    lo = max(lo, int((before.max(initial=-1) - start) // period) + 1)
    kept: dict[int, EarlierValue] = {}
    for c in np.flatnonzero((step != 0) & ~inner & ~listed).tolist():
        found = _kept(int(at[m, c]), int(step[c]), m, earlier)
        if found is None:
            listed[c] = True
            continue
        low, high = found.turns(earlier[found.loop].times)
        lo, hi, kept[c] = max(lo, low), min(hi, high), found
    if lo < times and int(at[lo, lag > 0].max(initial=-1)) >= start + lo * period:
        lo += 1
    if hi - lo + 1 < FEWEST:
        return "its turns use one another in different ways" if steady.all() else "an index is not affine in the turn"
    if int(at[lo : hi + 1, listed].max(initial=-1)) >= start + lo * period:
        return "a turn uses values of the turns before in an order of its own"
    sources: list[list[Source]] = [[] for _ in range(period)]
    for c, j in enumerate(owner.tolist()):
        if c in kept:
            whence: Source = kept[c]._replace(start=kept[c].start + kept[c].step * lo)
        elif listed[c]:
            whence = Listed(tuple(at[lo : hi + 1, c].tolist()))
        elif step[c] == 0:
            whence = Fixed(int(at[m, c]))
        elif lag[c]:
            whence = Carried(int(place[c]) % period, tuple(at[lo : lo + int(lag[c]), c].tolist()))
        else:
            whence = Local(int(place[c]))
        sources[j].append(whence)
    if any(_costs(row, source) for of in sources for source in of):
        return "each turn uses arrays of its own"
    moved = [[(first + by * lo, by) for first, by in of] for of in numbers]
    return TurnRange(start + lo * period, period, hi - lo + 1, sources, moved, abreast)


def _costs(row: CallRow, source: Source) -> bool:
    """Whether it is expensive to stack the arrays that an argument is in each turn, such as weights of layers."""
    if not isinstance(source, Listed):
        return False
    nodes = [row.node(at) for at in source.at]
    node, given = nodes[0], any(node.kind == "input" for node in nodes)
    constant = all(node.kind == "constant" for node in nodes)
    return given or (not constant and len(nodes) * math.prod(node.shape) > LARGEST)


def _around(good: np.ndarray, m: int) -> tuple[int, int]:
    """The first and the last of all good turns around turn m."""
    wrong = np.flatnonzero(~good)
    return int(wrong[wrong <= m].max(initial=-1)) + 1, int(wrong[wrong > m].min(initial=len(good))) - 1


def _kept(at: int, step: int, m: int, earlier: Sequence[TurnRange]) -> EarlierValue | None:
    """The earlier loop in whose turns an argument goes on by `step`, if it is at `at` in turn m."""
    for i, loop in enumerate(earlier):
        home = loop.within(at)
        if home is not None:
            by, rest = divmod(step, loop.period)
            return None if rest else EarlierValue(i, home[1], home[0] - by * m, by)
    return None


def _numbers(
    row: CallRow, start: int, period: int, times: int, m: int
) -> tuple[list[list[tuple[int, int]]], np.ndarray]:
    """Whole numbers of the indices, in turn 0, with their steps; and in which turns they are so."""
    steady, found = np.ones(times, bool), list[list[tuple[int, int]]]()
    for j in range(period):
        if start + j not in row.numbers:
            found.append([])
            continue
        each = np.array([row.numbers[start + j + period * t] for t in range(times)])
        by = each[m + 1] - each[m]
        steady &= (each == each[m] + by * (np.arange(times)[:, None] - m)).all(1)
        found.append(list(zip((each[m] - by * m).tolist(), by.tolist(), strict=True)))
    return found, steady


def whole_turns(row: CallRow, found: Sequence[tuple[int, int, int]]) -> tuple[list[tuple[int, int, int]], int]:
    """The stretches with the periods of whole turns, and how many small turns are taken as one: as many everywhere."""
    whole = [(start, period * _multiple(row, start, period, length), length) for start, period, length in found]
    if any(ends_kernels(node) for start, period, _ in whole for node in row.calls[start : start + period]):
        return whole, 1
    largest, fewest = max(period for _, period, _ in whole), min(length // period for _, period, length in whole)
    return whole, max(1, min(ABREAST // largest, fewest // (2 * FEWEST)))


def ends_kernels(node: Node) -> bool:
    """Whether a call is a large product of matrices: kernels end there, so turns gain nothing from being one."""
    return multiplies(node) and size_of(node) >= PRODUCT


def _multiple(row: CallRow, start: int, period: int, length: int, samples: int = 32) -> int:
    """How many stretches of alike codes are one turn: after so many, arguments go on as before, in most places."""
    times = length // period
    at, _ = row.arguments(start, period, times)
    constant = np.array([node.kind == "constant" for node in reversed(row.given)])
    indexed = [j for j in range(period) if start + j in row.numbers]
    best, found = 0, 1
    for k in range(1, times // FEWEST + 1):
        first = np.unique(np.linspace(times // 10, times - times // 10 - 2 * k - 1, samples).astype(int))
        rows = [at[first + turn] for turn in (0, k, 2 * k)]
        bent = rows[0] + rows[2] != 2 * rows[1]
        bent[:, [c for c in np.flatnonzero(bent.any(0)).tolist() if _tabled(rows, c, constant)]] = False
        good = ~bent.any(1)
        for j in indexed:
            places = [start + j + period * (first + turn) for turn in (0, k, 2 * k)]
            one, two, three = (np.array([row.numbers[i] for i in each.tolist()]) for each in places)
            good &= (one + three == 2 * two).all(1)
        if int(good.sum()) > best:
            best, found = int(good.sum()), k
        if good.all():
            break
    return found


def _tabled(each: Sequence[np.ndarray], c: int, constant: np.ndarray) -> bool:
    """Whether argument `c` is always a constant, another one in each turn."""
    places = np.concatenate([rows[:, c] for rows in each])
    return bool((places < 0).all() and constant[places].all())


def _cut(row: CallRow, start: int, period: int, length: int) -> tuple[int, int]:
    """Where turns begin such that the fewest values go from one to the next."""
    times = length // period
    at, owner = row.arguments(start, period, times)
    m = times // 2
    inner = (at[m + 1] - at[m] == period) & (at[m] >= 0)
    born = at[m, inner] - start
    age = start + m * period + owner[inner] - at[m, inner]
    until: dict[int, int] = {}
    for b, a in zip((born % period).tolist(), age.tolist(), strict=True):
        until[b] = max(until.get(b, 0), a)
    alive = np.zeros(2 * period + 2, np.int64)
    for b, a in until.items():
        alive[b + 1] += 1
        alive[b + 1 + a % period] -= 1
    across = np.cumsum(alive)[: 2 * period].reshape(2, period).sum(0)
    shift = int(np.argmin(across))
    return start + shift, length - shift
