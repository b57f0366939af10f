"""Subclasses of Python's types that are made of tensors: right, or refused by the name of the class."""

import datetime
import decimal
import fractions
import math
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple

import numpy as np
import pytest

import adjoint as ad
from tests.strangers.judge import MODES, judge

POINT = (0.3, 0.7, 1.1)


class Angle(float):
    def degrees(self):
        return self * 180 / math.pi


class Length(float):
    def __new__(cls, value, unit="m"):
        made = super().__new__(cls, value)
        made.unit = unit
        return made


class Doubled(float):
    def __new__(cls, value):
        return float.__new__(cls, value * 2)


class Impedance(complex):
    pass


class Size(int):
    pass


class Label(str):
    __slots__ = ()


class Polynomial(tuple):
    __slots__ = ()

    def __new__(cls, *terms):
        return super().__new__(cls, terms)

    def __add__(self, other):
        return Polynomial(*(a + b for a, b in zip(self, other, strict=True)))

    def at(self, x):
        return np.array(self) @ np.array([1.0, x])


class Track(list):
    def length(self):
        return math.sqrt(sum(a * a for a in self)) + np.array(self).prod()


class Zeros(list):
    def __init__(self, n):
        super().__init__([0.0] * n)


class Rates(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, math.sin(value))


Pair = namedtuple("Pair", "a b")


def local(x):
    class Own(float):
        pass

    return Own(x[0]) * 2


REFUSED = {
    "Angle": lambda x: Angle(x[0]).degrees(),
    "Angle of a number": lambda x: Angle(float(x[0])) * 2,
    "Length": lambda x: Length(x[0]) * 2.0,
    "Length by name": lambda x: Length(value=x[0]) * 2.0,
    "Doubled": lambda x: Doubled(x[0]) * 2.0,
    "Impedance": lambda x: abs(Impedance(x[0], x[1])),
    "Own": local,
    "Fraction": lambda x: float(fractions.Fraction(x[0])),
    "Decimal": lambda x: float(decimal.Decimal(float(x[0]))),
    "timedelta": lambda x: datetime.timedelta(seconds=x[0]).total_seconds(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_class_of_plain_numbers_is_refused_by_name(name):
    f, x = REFUSED[name], np.array(POINT)
    said = name.partition(" ")[0] + r"\(t\)"
    with pytest.raises(ad.LeavesGraphError, match=said) as error:
        ad.grad(f)(x)
    assert "ad.through" not in str(error.value)
    assert "test_numbers_of_classes.py" in str(error.value)
    with pytest.raises(ad.LeavesGraphError, match=said):
        ad.jvp(f, (x,), (x,))
    with pytest.raises(ad.BatchedValueError, match=said):
        ad.vmap(f)(np.stack([x, 2 * x]))


def track(x):
    return Track([x[0], x[1]]).length() + Track(x).length() + np.linalg.norm(Track(x))


def zeros(x):
    made = Zeros(3)
    made[0], made[1] = x[0], math.sin(x[1])
    return np.sum(np.array(made) ** 2)


def rates(x):
    made = Rates()
    made["a"] = x[0]
    return made["a"] * x[1]


def containers(x):
    a, b, c = UserList([x[0], x[1]]), UserDict({"a": x[0]}), deque(x, maxlen=2)
    a.append(x[2])
    b["b"] = x[1]
    d, e, f = OrderedDict(a=x[0]), defaultdict(float), Counter(a=x[0], b=x[1]) + Counter(a=x[2])
    d["b"] = x[1]
    e["b"] += x[1] * x[2]
    first = sum(a) * np.array(a).prod() + b["a"] * b["b"] + c[0] * c[1]
    return first + d["a"] * sum(d.values()) + e["b"] * x[0] + f["a"] * f["b"] * f.most_common(1)[0][1]


def pair(x):
    p = Pair(x[0], x[1])
    return p.a * p.b + sum(p) + math.hypot(*p) + np.array(p).prod()


PROGRAMS = [
    lambda x: (Polynomial(x[0], x[1]) + Polynomial(x[1], x[2])).at(x[2]),
    lambda x: x[0] * Size(x[2]) + x[1] * Size(2),
    lambda x: x[0] * fractions.Fraction(1, 2) + float(fractions.Fraction.from_float(0.5)) * np.array(x).prod(),
    lambda x: x[0] * dict.fromkeys("ab", 2.0)["b"] + np.array(x).prod() * float(decimal.Decimal.from_float(0.5)),
    track,
    zeros,
    rates,
    containers,
    pair,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    assert judge(program, POINT).outcomes == dict.fromkeys(MODES, "right")


def test_a_text_of_a_users_class_is_that_of_the_number():
    found = []
    ad.grad(lambda x: found.append(Label(x)) or x * len(Label(x)))(0.25)
    assert found == ["0.25"]
    assert type(found[0]) is Label


class Count:
    """A whole number, by ``__index__`` alone."""

    def __init__(self, n):
        self.n = n

    def __index__(self):
        return int(self.n)


def test_numbers_by_index_alone():
    f = lambda x: x[0] * float(Count(2)) + x[1] * complex(Count(3)).real + x[2] * int(Count(4))
    np.testing.assert_array_equal(ad.grad(f)(np.ones(3)), [2.0, 3.0, 4.0])
