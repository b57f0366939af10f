"""Places in the arena: as few bytes as liveness allows, and nothing is read after its place was given away."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.core.errors import GraphError
from adjoint.native.plan.memory.arena import UNIT, Arena, StepUse, planned, verify


def chain(n, in_place):
    """Each step reads what the one before has written."""
    uses = [StepUse((), (0,), {})]
    return uses + [StepUse((k,), (k + 1,), {k + 1: (k,)} if in_place else {}) for k in range(n)]


@pytest.mark.parametrize(("in_place", "places"), [(True, 1), (False, 2)])
def test_a_chain_needs_one_place_or_two(in_place, places):
    uses, sizes = chain(20, in_place), dict.fromkeys(range(21), 1000)
    arena = planned(uses, sizes)
    verify(uses, sizes, arena)
    assert arena.size == places * 1024


@pytest.mark.parametrize("seed", range(20))
def test_random_plans_hold(seed):
    rng = np.random.default_rng(seed)
    sizes = {k: int(rng.integers(1, 5000)) for k in range(60)}
    uses = []
    for k in range(60):
        reads = tuple({int(i) for i in rng.integers(0, k, 3)}) if k else ()
        uses.append(StepUse(reads, (k,), {k: reads[:1]}))
    arena = planned(uses, sizes)
    verify(uses, sizes, arena)
    assert arena.size <= sum(-(-s // UNIT) * UNIT for s in sizes.values())


def test_a_place_given_away_too_early_is_found():
    uses = [StepUse((), (0,), {}), StepUse((), (1,), {}), StepUse((0, 1), (2,), {})]
    sizes = dict.fromkeys(range(3), 64)
    with pytest.raises(GraphError, match="step 2 reads 0"):
        verify(uses, sizes, Arena(128, {0: 0, 1: 0, 2: 64}))
    with pytest.raises(GraphError, match="step 2 writes 2 over 0"):
        verify(uses, sizes, Arena(128, {0: 0, 1: 64, 2: 0}))
    verify(uses, sizes, Arena(192, {0: 0, 1: 64, 2: 128}))


def test_numbers_written_together_lie_side_by_side_and_go_together():
    uses = [
        StepUse((), (0, 1, 2), {}, (0, 1, 2)),
        StepUse((0,), (3,), {3: (0,)}),
        StepUse((2,), (4, 5), {}, (4, 5)),
        StepUse((1, 3, 4, 5), (6,), {}),
        StepUse((6,), (7,), {}),
    ]
    sizes = dict.fromkeys(range(8), 8)
    arena = planned(uses, sizes)
    verify(uses, sizes, arena)
    at = arena.places
    assert [at[k] - at[0] for k in range(3)] == [0, 8, 16]
    assert at[5] - at[4] == 8
    assert len({at[0] // UNIT, at[3] // UNIT, at[4] // UNIT}) == 3  # 1 is read after 0, so that nobody takes its place
    assert at[7] // UNIT in {at[0] // UNIT, at[3] // UNIT, at[4] // UNIT}
    with pytest.raises(GraphError, match="step 3 reads 1"):
        verify(uses, sizes, arena._replace(places=at | {4: at[1]}))


def test_free_places_are_joined():
    uses = [
        StepUse((), (0,), {}),
        StepUse((), (1,), {}),
        StepUse((0, 1), (2,), {}),
        StepUse((2,), (3,), {}),
        StepUse((3,), (4,), {}),
    ]
    arena = planned(uses, {0: 64, 1: 64, 2: 64, 3: 128, 4: 64})
    assert arena.size == 192
    assert arena.places[3] == 0


def test_programs_use_their_memory_again():
    def f(x):
        for _ in range(10):
            x = np.exp(-x) @ x
        return x

    graph = ad.capture(f, np.ones((50, 50))).rewritten()
    program = native.build(graph.inputs, graph.outputs)
    assert program.listing().memory.arena <= 4 * (50 * 50 * 8 + UNIT)  # a product gives x and exp(-x) at once
    x = np.random.default_rng(0).random((50, 50)) / 50
    np.testing.assert_allclose(program(x)[0], graph.run([x])[0], rtol=1e-9)
