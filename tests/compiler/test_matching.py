"""``match``, and imports from the package around, in compiled functions."""

import sys
from collections import OrderedDict, UserList, deque, namedtuple
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.0, 2.0, 3.0])
compiled = partial(ad.compile, backend="numpy")


@dataclass
class Point:
    x: float
    y: float = 2.0


class Disc:
    __match_args__ = ("radius", "area")

    def __init__(self, radius):
        self.radius = radius

    def __repr__(self):
        return f"Disc({self.radius})"

    @property
    def area(self):
        return 3.0 * self.radius**2


class Known:
    ONE = 1
    TEXT = "b"


Pair = namedtuple("Pair", "a b")


def chosen(v, z):
    match v:
        case None:
            return z * 0.0
        case True:
            return z * 10.0
        case Known.ONE:
            return z * 11.0
        case Known.TEXT:
            return z * 12.0
        case Point(x=0.0):
            return z * 13.0
        case Point(a, b) if a > 1:
            return z * a * b
        case Point(x=q):
            return z + q
        case Disc(r, a) | {"disc": Disc(r) as a}:
            return z * r, type(a) is float
        case Disc(radius=1.0, colour=_):
            return z
        case Pair(a, b=[b, *_]):
            return z * a * b
        case [1, *rest]:
            return z * len(rest) + sum(rest), rest
        case [a, b] | (a, b, _):
            return z * a + b
        case [[a, *_], *_, {"last": b}, _]:
            return z * a, b
        case {"k": k, **more}:
            return z * k, more
        case {"n": Pair(a, b=c)}:
            return z * a * c
        case str() as s if len(s) > 2:
            return z * len(s)
        case "x" | "yy":
            return z * 14.0
        case float(f):
            return z * f
        case int(i):
            return z**i
        case {}:
            return -z
        case _:
            return z


VALUES = [
    *(None, True, False, 1, 3, 2.5, 2j, "b", "abc", "x", "q", (), {}, (1,)),
    *(Point(0.0), Point(2.0, 3.0), Point(1.0), Disc(2.0), {"disc": Disc(1.0)}, Pair(2.0, [3.0])),
    *([1, 2.0, 3.0], [2.0, 3.0], (2.0, 3.0, 4.0), range(2, 4), deque([1, 2.0]), UserList([2.0, 3.0])),
    *([[2.0, 1.0], 0, {"last": 5.0}, 0], [[], 0, {"last": 5.0}, 0]),
    *({"k": 2.0, "z": 1}, OrderedDict(k=1.0), {"n": Pair(2.0, 3.0)}, {"n": (1, 2)}),
]


def alike(found, wanted):
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple | list):
        for a, b in zip(found, wanted, strict=True):
            alike(a, b)
    else:
        np.testing.assert_equal(found, wanted)


@pytest.mark.parametrize("v", VALUES, ids=repr)
def test_patterns(v):
    given, outside = compiled(chosen), compiled(lambda z: chosen(v, z))
    for k in (1.0, 2.0):
        alike(given(v, k * X), chosen(v, k * X))
        alike(outside(k * X), chosen(v, k * X))
    for f in (given, outside):
        assert "runs as it is" not in f.explain() or "disc" in repr(v).lower() or type(v) in (deque, UserList)


def test_what_changes_is_matched_anew():
    shape = Point(0.5, 1.0)

    def area(z):
        match shape:
            case Point(x, y) if x > 1.0:
                return z * x * y * 100.0
            case Point(x, 1.0):
                return z * x
            case Disc(r):
                return z * r
            case other:
                return z - other.y

    f = compiled(area)
    for x, y in ((0.5, 1.0), (2.0, 1.0), (0.5, 3.0), (0.5, 1.0), (4.0, 2.0)):
        shape = Point(x, y)
        np.testing.assert_array_equal(f(X), area(X))
    shape = Disc(5.0)
    np.testing.assert_array_equal(f(X), area(X))
    Disc.__match_args__ = ("area",)
    try:
        np.testing.assert_array_equal(f(X), area(X))
    finally:
        Disc.__match_args__ = ("radius", "area")


seen = None


def test_names_are_bound_before_the_guard_is_asked():
    def f(z):
        global seen
        outer = 0.0

        def inside():
            nonlocal outer
            match z:
                case outer if outer[0] > 1.0:
                    return 1.0
            return 2.0

        factor = inside()
        match float(z[0]):
            case 1.0:
                factor = 3.0
            case float(seen) if seen > 0.5:
                factor *= seen * 2.0
            case other:
                factor -= other
        for i in range(4):
            match i, factor:
                case 1, _:
                    continue
                case 3, _:
                    break
                case step, _:
                    factor += step
        return z * factor + outer

    made = compiled(f)
    for k in (1.0, 2.0, 0.25, 1.0, 0.3):
        found = []
        for g in (f, made):
            globals()["seen"] = None
            found += [g(k * X), seen]
        np.testing.assert_array_equal(found[2], found[0])
        assert found[3] == found[1]
    assert "runs as it is" not in made.explain()


def test_questions_about_values_are_guards():
    def sign(x):
        match x[0] > 0, x.shape:
            case True, (n,):
                return x * n
            case np.True_, _:
                return x
            case (_, (3,)) as both:
                return x * len(both)

    f = compiled(sign)
    for x in (X, -X, X[:2], -X[:2], X):
        np.testing.assert_equal(f(x), sign(x))


@pytest.mark.parametrize("v", [Point(1.0), Disc(1.0), 3.0])
def test_errors_are_pythons(v):
    def f(z):
        match v:
            case Point(1.0, 2.0, 3.0):
                return z
            case Disc(a, b, c):
                return z * a * b * c
            case float(a, b):
                return z * a * b

    made = compiled(f)
    for _ in range(2):
        with pytest.raises(TypeError):
            f(X)
        with pytest.raises(TypeError):
            made(X)


def test_in_transforms():
    def f(x):
        match x[0] * x[1], float(x[2]):
            case float(a), float(b) if a > 1.0:
                return a * b
            case a, b:
                return np.sin(a) * b

    for k in (1.0, 0.5, 2.0):
        np.testing.assert_allclose(compiled(ad.grad(f))(k * X), ad.grad(f)(k * X), rtol=1e-14)
        np.testing.assert_allclose(ad.grad(compiled(f))(k * X), ad.grad(f)(k * X), rtol=1e-14)


def test_imports_of_the_package_around(tmp_path, monkeypatch):
    package = tmp_path / "surroundings"
    (package / "below").mkdir(parents=True)
    (package / "__init__.py").write_text("scale = 2.0\n")
    (package / "tools.py").write_text("def twice(x):\n    return x * 2.0\n")
    (package / "below" / "__init__.py").write_text("")
    (package / "below" / "work.py").write_text(
        "def f(x):\n    from . import scaled\n    from .. import scale, tools\n"
        "    from ..tools import twice as double\n"
        "    return double(x) * scale + tools.twice(x) * scaled\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    work, tools = import_module("surroundings.below.work"), import_module("surroundings.tools")
    sys.modules["surroundings.below"].scaled = 3.0
    f = compiled(work.f)
    try:
        for k in (1.0, 2.0):
            np.testing.assert_array_equal(f(k * X), work.f(k * X))
        assert "runs as it is" not in f.explain()
        sys.modules["surroundings"].scale = 5.0
        np.testing.assert_array_equal(f(X), work.f(X))
        tools.twice = lambda x: x * 7.0
        np.testing.assert_array_equal(f(X), work.f(X))
        del sys.modules["surroundings.below"].scaled
        for g in (f, work.f):
            with pytest.raises(ImportError):
                g(X)
    finally:
        for name in [name for name in sys.modules if name.startswith("surroundings")]:
            del sys.modules[name]
