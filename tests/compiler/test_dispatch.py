"""Which trace a call takes: many kinds of arguments in turn, and kinds without end."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.compiler import compiled
from adjoint.compiler.kinds import first_sight


def counted(f, **options):
    """The compiled function, and how often it was recorded so far."""
    made = ad.compile(f, wait=True, **options)
    return made, lambda: sum(map(len, made._specializations.values()))


def test_many_kinds_in_turn_take_their_fast_paths(monkeypatch):
    f, recorded = counted(lambda x, n=1: x * n + 1)
    arrays = [np.arange(k + 2.0) for k in range(3 * compiled.MOST_DIRECT)]
    for _ in range(3):
        for x in arrays:
            np.testing.assert_array_equal(f(x), x + 1)
            np.testing.assert_array_equal(f(x, n=2), x * 2 + 1)
    assert recorded() == 2 * len(arrays)
    assert len(f._directs) == compiled.MOST_DIRECT
    monkeypatch.setattr(compiled.Compiled, "_by_slow_path", None)  # which is not asked any more
    for x in arrays:
        np.testing.assert_array_equal(f(x), x + 1)
        np.testing.assert_array_equal(f(x, n=2), x * 2 + 1)


def test_what_looks_alike_at_first_sight_is_told_apart():
    f, recorded = counted(lambda x, pair: x * pair[0] + len(pair))
    x = np.ones(3)
    pairs = [(np.float64(2.0),) * k for k in range(1, 3 * compiled.MOST_DIRECT)]
    for _ in range(3):
        for pair in pairs:
            np.testing.assert_array_equal(f(x, pair), x * 2 + len(pair))
    assert recorded() == len(pairs)
    assert len({first_sight((x, pair), {}) for pair in pairs}) == 1


def test_the_names_and_the_number_of_arguments_tell_kinds_apart():
    def f(*args, **kwargs):
        return args[0] * len(args) + len(kwargs)

    compiled, _ = counted(f)
    x = np.ones(2)
    calls = [((x,), {}), ((x, x), {}), ((x,), {"a": x}), ((x,), {"b": x}), ((x, 1), {}), ((x, 2), {}), ((x, True), {})]
    for _ in range(3):
        for args, kwargs in calls:
            np.testing.assert_array_equal(compiled(*args, **kwargs), f(*args, **kwargs))


def test_whole_numbers_that_vary_are_not_recorded_for_ever(monkeypatch):
    monkeypatch.setattr(compiled, "MOST_VALUES", 5)
    f, recorded = counted(lambda x, n: x * n)
    x = np.ones(3)
    for n in range(40):
        np.testing.assert_array_equal(f(x, n), x * n)
    assert recorded() == 5
    assert "runs as it is, because its whole numbers had 5 values" in f.explain()
    f(np.ones(4), 1)  # other arrays are not among these
    assert recorded() == 6
    np.testing.assert_array_equal(f(x, 3), x * 3)
    assert recorded() == 6


@pytest.mark.parametrize("wait", [True, False])
def test_kinds_have_a_bound(wait, monkeypatch):
    monkeypatch.setattr(compiled, "MOST_KINDS", 4)
    f = ad.compile(lambda x: x + 1, wait=wait)
    for k in range(20):
        for _ in range(3):
            np.testing.assert_array_equal(f(np.ones(k)), np.full(k, 2.0))
    assert len(f._specializations) == 4
    assert len(f._by_kind) <= 4
    assert "runs as it is, because it was called with 4 kinds of arguments" in f.explain()
