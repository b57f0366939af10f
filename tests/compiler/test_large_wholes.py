"""Python's whole numbers beside its floats, beyond what floats can say: it compares and divides them exactly."""

from collections.abc import Callable

import numpy as np
import pytest

import adjoint as ad
from adjoint.compiler.trace.loops.numbers.spans import affine, bounds
from adjoint.core.registry import op_named
from adjoint.graph.node import constant
from adjoint.graph.rewriting.driver import made_call

LARGE = 1 << 53


def ordered(x: float, n: int) -> float:
    s = 0.0
    for i in range(n):
        if x + s <= 0.0:
            s = s + 4.0
        s = s + x if LARGE + i > 9007199254740992.0 else s - x
    return s


def equal(x: float, n: int) -> float:
    s = x * 0.0
    for i in range(n):
        if s * x > 1:
            s = s * 0.5
        s = s + x * (LARGE + i == 2.0**53)
    return s


def carried(x: float, n: int) -> float:
    s, c, y = x * 0.0, LARGE, 2.0**53
    for _ in range(n):
        c = c + 3
        if s * x > 1:
            c = c - 2
        if c == y:
            s = s + x
        y = y + 2.0
        s = s * 0.5 + x * (c != y) + (c <= y) + 2 * (y < c)
    return s


def divided(x: float, n: int) -> float:
    s, c = x * 0.0, 3**36
    for i in range(2 * n):
        c = c + 3
        if s * x > 1:
            c = c - 2
        s = s * 0.5 + (c - i) / (c - 3 * i) * x + (c + i) / 7 / 2.0**50 + c / (i + 3) / 2.0**50
    return s


def until(x: float, n: int) -> float:
    s, i, c = x * 0.0, 0, LARGE
    while s < n:
        i += 1
        c = c + 3
        s = s + abs(x) + (c > 2.0**53 + 3 * i - 1) / 2
    return s


def doubled(x: float, n: int) -> float:
    s, c = x * 0.0, 1 << 62
    for _ in range(n):
        c = c + 1 if s * x > 1 else c + 3
        s = s * 0.5 + ((c + c) % 1000) + x
    return s


def squared(x: float, n: int) -> float:
    s, c = x * 0.0, 1 << 40
    for _ in range(n):
        c = c + 1 if s * x > 1 else c + 3
        s = s * 0.5 + ((c * c) % 1000) + x
    return s


@pytest.mark.parametrize("program", [ordered, equal, carried, divided, until, doubled, squared])
def test_whole_numbers_in_loops_are_not_rounded(program: Callable[[float, int], float]) -> None:
    compiled = ad.compile(program, wait=True)
    for x in (1.0, 1.0, 0.3, -0.7, 2.1, 0.01):
        assert compiled(x, 14) == program(x, 14)


def test_small_counters_go_through_native_loops() -> None:
    def summed(x: float, n: int) -> float:
        s, c = x * 0.0, 0
        for i in range(n):
            c = c + 1 if s > 1.0 else c + 2
            s = s + x * (c > i + 0.5) + (c * c) / 1e3
        return s

    compiled = ad.compile(summed, wait=True)
    for x in (1.0, 1.0, 0.3):
        assert compiled(x, 30) == summed(x, 30)
    assert "one loop" in str(compiled.explain())


@pytest.mark.parametrize("number", [2.0**53, 2.0**53 + 2])
@pytest.mark.parametrize("whole", [LARGE, LARGE + 1, LARGE + 3])
def test_numbers_with_histories_are_compared_exactly(number: float, whole: int) -> None:
    def asked(x: float) -> float:
        return (
            1.0 * (x < whole)
            + 2.0 * (x <= whole)
            + 4.0 * (x > whole)
            + 8.0 * (x >= whole)
            + 16.0 * (x == whole)
            + 0 * x
        )

    expected = asked(number)
    assert ad.value_and_grad(asked)(number)[0] == expected
    assert ad.jvp(asked, (number,), (1.0,))[0] == expected


def test_sums_of_narrow_numbers_are_not_taken_for_whole_ones_without_end():
    narrow = constant(np.int8(100))
    for name in ("add", "multiply"):
        node = made_call(op_named(name), (narrow, narrow))
        assert affine(None, node) is None
        assert bounds(None, node) is None
    wide = constant(np.int64(100))
    assert bounds(None, made_call(op_named("add"), (wide, wide))) == (200, 200)
