"""All work grows linearly with the number of inputs, uses, writes and outputs. Calls are counted, not seconds."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.arrays.layered import memories, own
from adjoint.compiler.recording.arguments import SymbolicArguments
from adjoint.compiler.trace.guards import Binding, Guards
from adjoint.compiler.trace.inputs import Inputs
from adjoint.ops.shape.joining import pile
from adjoint.tape.node import written
from adjoint.tape.writes import foreign as watching
from benchmarks.workloads.growth import PAIR, PATTERNS, exponents, leaves


def calls(run: Callable[[], Any]) -> int:
    """How many functions `run` calls in this thread, those of C included."""
    count = 0

    def counted(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # calls of finalizers would be counted
    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


@pytest.mark.parametrize("name", PATTERNS)
def test_calls_grow_linearly(name: str) -> None:
    build = PATTERNS[name]
    first = 400 if name == "compile: n operations" else 100  # from some length on, a loop is recorded as one
    build(8)(), build(first)()  # what is made once a process
    few, more, many = (calls(build(n)) for n in (first, 2 * first, 4 * first))
    assert many - more <= 2.2 * (more - few) + 500, (few, more, many)


def test_a_quadratic_program_is_found() -> None:
    def run(n: int) -> None:
        for i in range(n):
            for _ in range(i):
                abs(0)

    few, more, many = (calls(lambda n=n: run(n)) for n in (100, 200, 400))
    assert many - more > 2.2 * (more - few) + 500


class Asked(tuple[int, ...]):
    """Numbers that count how often somebody looks for one of them."""

    __slots__ = ()
    times = 0

    def __contains__(self, key: object) -> bool:
        Asked.times += 1
        return super().__contains__(key)


@pytest.mark.parametrize("constants", [0, 500])
def test_a_node_of_many_inputs_is_not_searched_for_each(constants: int) -> None:
    """Looking through a tuple is no call, so it is counted here."""
    tensors = leaves(500)
    values = [*(t.data for t in tensors), *[np.ones(2)] * constants]
    wanted, parents = Asked(range(500)), tuple(t.node for t in tensors)
    Asked.times = 0
    node = written(pile, values, wanted, parents, np.stack(values), {"axis": 0}, 0, 0)
    assert len(node.parents) == 500
    assert Asked.times == 0


class Kept(tuple[Any, ...]):
    """Saved values that count how often somebody takes some of them."""

    __slots__ = ()
    times = 0

    def __getitem__(self, key: Any) -> Any:
        Kept.times += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("copied", [watching.COPIED, 0])
def test_saved_constants_of_one_node_are_kept_together(monkeypatch: pytest.MonkeyPatch, copied: int) -> None:
    monkeypatch.setattr(watching, "COPIED", copied)
    constants = [np.full(2, float(i)) for i in range(300)]
    t = ad.tensor(np.ones(2), requires_grad=True)
    node = np.einsum("i,i->", t, PAIR).node
    node.saved, before = (Kept(constants), *node.saved[1:]), node.saved
    Kept.times = 0
    watching.protect_parts(node, 0, range(1, 300))
    assert Kept.times < 3
    assert [x.tolist() for x in node.saved[0]] == [x.tolist() for x in constants]
    assert [a is b for a, b in zip(node.saved[0], constants, strict=True)] == [True] + [copied == 0] * 299
    assert node.saved[1:] == before[1:]


def test_numbers_that_a_trace_reads_are_found_at_once() -> None:
    asked = 0

    class Asking(Binding):
        __slots__ = ()

        @property
        def identity(self) -> Any:
            nonlocal asked
            asked += 1
            return super().identity

    numbers = [float(i) for i in range(300)]
    inputs = Inputs(SymbolicArguments((), ()), Guards())
    places = [Asking(numbers, i) for i in range(300)]
    found = [inputs.number(numbers[p.key], p) for p in places]
    assert asked < 10 * 300
    assert [x.node for x in found] == [inputs.number(numbers[p.key], p).node for p in places]
    assert len({x.node for x in found}) == 300


class Searched(frozenset[int]):
    """Numbers that may not be looked at one after another."""

    __slots__ = ()

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("each result looks at each argument")


def test_a_result_is_not_compared_with_each_argument() -> None:
    arguments = [np.ones(2) for _ in range(9)]
    given = Searched(memories(arguments))
    assert own(arguments[5], given) is not arguments[5]
    assert own(made := np.ones(2), given) is made


def test_many_inputs_have_the_gradients_of_few() -> None:
    tensors = leaves(300)
    np.sum(np.stack([t * i for i, t in enumerate(tensors)])).backward()
    assert [t.grad.tolist() for t in tensors] == [[float(i)] * 2 for i in range(300)]


def test_rows_of_a_list_of_different_shapes_are_refused_by_their_first() -> None:
    assert ad.jvp(lambda x: np.array([[x, 2 * x], [3 * x, x]]), (1.0,), (1.0,))[1].tolist() == [[1.0, 2.0], [3.0, 1.0]]
    with pytest.raises(ValueError, match="inhomogeneous"):
        ad.jvp(lambda x: np.array([[x, x], [np.ones(2) * x, np.ones(2) * x]]), (1.0,), (1.0,))


def test_exponents_are_measured() -> None:
    found = exponents(PATTERNS["stack of n tensors"], 20, 2)
    assert found["linear"] == [1.0]
    assert len(found["adjoint"]) == 1
