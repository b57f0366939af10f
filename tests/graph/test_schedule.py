"""A schedule gives the same, whether it is interpreted or written as a function."""

import weakref
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.graph.schedule import LONGEST, Schedule, ScheduledCall


def parts(x):
    q, r = np.linalg.qr(x)
    return r @ q, q


def found(x):
    return np.cumsum(x[np.nonzero(x > 1.0)])


def given_twice(x):
    y = np.sin(x)
    return x, y, y, np.array(3.0), 2.0


def sorted_between(x):
    return np.sum(np.sort(x * 2.0) * 3.0), np.sort(x)


def branch(x):
    return np.sum(x) if np.sum(x) > 0 else x


ONES = np.array([[2.0, 1.0], [0.5, 3.0]])
PROGRAMS = [parts, found, given_twice, sorted_between, branch, ad.grad(lambda x: np.sum(np.sort(x) ** 2))]


@pytest.mark.parametrize("f", PROGRAMS)
def test_both_ways_give_what_the_function_gives(f):
    graph = ad.capture(f, ONES)
    expected = f(ONES)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for run in (graph.run, graph.schedule.function()):
        for value, wanted in zip(run([ONES]), expected, strict=True):
            np.testing.assert_array_equal(value, wanted)
            assert not np.shares_memory(value, ONES)


@pytest.mark.parametrize("f", [sorted_between, found, given_twice])
def test_a_partly_native_program_runs_both_ways(f):
    graph = ad.capture(f, ONES)
    program = native.build(graph.inputs, graph.outputs)
    schedule = program.driver.schedule()
    for value, wanted in zip(schedule.interpreted([ONES]), schedule.function(spread=True)(ONES), strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_a_guard_that_fails_raises_both_ways():
    graph = ad.capture(branch, ONES)
    for run in (graph.run, graph.schedule.function()):
        with pytest.raises(ad.GraphError, match="bool of a value"):
            run([-ONES])


def test_another_number_of_values_is_refused_both_ways():
    graph = ad.capture(branch, ONES)
    for run in (graph.run, graph.schedule.function()):
        with pytest.raises(ad.ArgumentError, match="takes 1 arrays; got 2"):
            run([ONES, ONES])


def ways(schedule):
    return [schedule.interpreted, schedule.function(), lambda given: schedule.function(spread=True)(*given)]


def test_a_step_may_end_the_run():
    steps = [
        ScheduledCall(lambda x: [x, x + 1] if x < 5 else None, (0,), (2, 3)),
        ScheduledCall(lambda x: x > 0, (2,), None),
        ScheduledCall(lambda x, y, z: x + y + z, (2, 3, 1), 4),
    ]
    for run in ways(Schedule(1, {1: 100}, steps, [4, 1], "steps")):
        assert run([2]) == [105, 100]
        assert run([0]) is None
        assert run([7]) is None


def test_values_are_dropped_after_their_last_use():
    class Value:
        pass

    alive = []

    def made(*args):
        alive.append(sum(each() is not None for each in refs))
        value = Value()
        refs.append(weakref.ref(value))
        return value

    steps = [
        ScheduledCall(made, (), 0),
        ScheduledCall(lambda x: made(), (0,), 1),
        ScheduledCall(made, (), 2),  # which nobody uses
        ScheduledCall(lambda x: made(), (1,), 3),
        ScheduledCall(made, (), 4),
    ]
    for run in ways(Schedule(0, {}, steps, [3, 4], "steps")):
        refs, alive = [], []
        results = run([])
        assert alive[2] == 1  # only the second
        assert alive[4] == 1  # only the fourth
        assert [each() for each in refs] == [None, None, None, *results]


def test_a_very_long_schedule_is_interpreted():
    steps = [ScheduledCall(partial(np.add, 1), (k,), k + 1) for k in range(LONGEST + 1)]
    for run in ways(Schedule(1, {}, steps, [LONGEST + 1], "steps")):
        assert run([0]) == [LONGEST + 1]
