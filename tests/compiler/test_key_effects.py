"""Keys whose class hashes or compares them by a property with an effect: that runs at each call."""

import dataclasses

import numpy as np
import pytest

import adjoint as ad

SEEN = []


class Counted:
    """Hashes itself by a property."""

    def __init__(self, n):
        self.n = n

    @property
    def seen(self):
        SEEN.append(self.n)
        return self.n

    def __hash__(self):
        return hash(self.seen)

    def __eq__(self, other):
        return self.seen == other.seen


class Computed:
    """Has no such attribute until it is asked."""

    def __init__(self, n):
        self.n = n

    def __getattr__(self, name):
        SEEN.append(name)
        return self.n

    def __hash__(self):
        return hash(self.seen)

    def __eq__(self, other):
        return self.n == other.n


class Nested:
    """Consists of one that counts."""

    def __init__(self, n):
        self.part = Counted(n)

    def __hash__(self):
        return hash(self.part)

    def __eq__(self, other):
        return self.part == other.part


class Deep(Nested):
    """Reads its part's property."""

    def __hash__(self):
        return hash(self.part.seen)

    def __eq__(self, other):
        return self.part.n == other.part.n


@dataclasses.dataclass(frozen=True)
class Data:
    """A dataclass."""

    part: object


class Plain:
    """Reads what it has."""

    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash((type(self), self.n))

    def __eq__(self, other):
        return self.__class__ is other.__class__ and self.n == other.n


def looking_up(made):
    def f(x):
        table = {made(1): x * 2.0, made(2): x * 3.0}
        return table[made(1)] + table[made(2)]

    return f


MADE = {
    "property": Counted,
    "getattr": Computed,
    "nested": Nested,
    "deep": Deep,
    "data": lambda n: Data(Counted(n)),
    "tuple in data": lambda n: Data((Counted(n),)),
    "tuple": lambda n: (Counted(n), 1),
    "set": lambda n: frozenset([Counted(n)]),
}


@pytest.mark.parametrize("name", MADE)
def test_effects_of_keys_happen_at_each_call(name):
    f = looking_up(MADE[name])
    SEEN.clear()
    f(np.ones(2))
    expected, compiled = list(SEEN), ad.compile(f, wait=True)
    for turn in range(3):
        SEEN.clear()
        assert np.array_equal(compiled(np.ones(2) * turn), np.full(2, 5.0 * turn))
        assert expected == SEEN


@pytest.mark.parametrize("made", [Plain, lambda n: Data(Plain(n)), lambda n: (Plain(n), "a")])
def test_keys_that_only_compute_are_recorded(made):
    compiled = ad.compile(looking_up(made), wait=True)
    for turn in range(3):
        assert np.array_equal(compiled(np.ones(2) * turn), np.full(2, 5.0 * turn))
    assert "native" in str(compiled.explain())
