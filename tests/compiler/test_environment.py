"""What a function finds outside of its arguments: on another value there, it is recorded anew, or runs as it is."""

import itertools
import logging
import random
import subprocess
import sys
import time
from functools import cached_property

import numpy as np
import pytest

import adjoint as ad

X = np.arange(3.0)


@pytest.fixture
def compiled():
    return lambda f: ad.compile(f, wait=True, backend="numpy")


class Config:
    scale = 2.0
    shift = np.ones(3)

    @staticmethod
    def twice(x):
        return x * FACTOR

    @property
    def half(self):
        return self.scale / FACTOR

    @cached_property
    def kept(self):
        return FACTOR


FACTOR = 2.0


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1.0, np.ones(3)


def test_values_of_classes(compiled, monkeypatch):
    f = compiled(lambda x: x * Config.scale + Config.shift)
    np.testing.assert_array_equal(f(X), X * 2 + 1)
    monkeypatch.setattr(Config, "scale", 3.0)
    np.testing.assert_array_equal(f(X), X * 3 + 1)
    monkeypatch.setattr(Config, "shift", np.zeros(3))
    np.testing.assert_array_equal(f(X), X * 3)
    settings = Config()
    g = compiled(lambda x: x * settings.half)
    np.testing.assert_array_equal(g(X), X * 1.5)
    settings.scale = 8.0  # of this object, before that of the class
    np.testing.assert_array_equal(g(X), X * 4)


def test_what_methods_and_properties_read(compiled, monkeypatch):
    settings = Config()
    f = compiled(lambda x: settings.twice(x) + settings.half)
    np.testing.assert_array_equal(f(X), X * 2 + 1)
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    np.testing.assert_array_equal(f(X), X * 4 + 0.5)
    monkeypatch.setattr(Config, "twice", staticmethod(lambda x: -x))
    np.testing.assert_array_equal(f(X), -X + 0.5)


def test_a_shape_that_is_all_that_is_read():
    settings, weights = Config(), ad.tensor(np.zeros(3))
    settings.table = np.zeros(3)
    for backend in ("numpy", "native"):
        f = ad.compile(lambda x: x * settings.table.shape[0], wait=True, backend=backend)
        g = ad.compile(lambda x: x * weights.size, wait=True, backend=backend)
        for count in (3, 3, 3, 5, 5, 3, 3):
            settings.table, weights.data = np.zeros(count), np.zeros(count)
            np.testing.assert_array_equal(f(X), X * count)
            np.testing.assert_array_equal(g(X), X * count)


def test_slots(compiled):
    settings = Slots()
    f = compiled(lambda x: x * settings.a + settings.b)
    np.testing.assert_array_equal(f(X), X + 1)
    settings.a = 5.0
    np.testing.assert_array_equal(f(X), X * 5 + 1)
    settings.b = np.zeros(3)
    np.testing.assert_array_equal(f(X), X * 5)


def test_containers(compiled):
    chosen, queue = {1, 2}, __import__("collections").deque([1.0, 2.0])
    f = compiled(lambda x: x * sum(chosen) + queue[0])
    np.testing.assert_array_equal(f(X), X * 3 + 1)
    chosen.remove(1)
    chosen.add(5)  # as many as before
    np.testing.assert_array_equal(f(X), X * 7 + 1)
    queue.rotate()
    np.testing.assert_array_equal(f(X), X * 7 + 2)


def test_attributes_by_names_in_texts(compiled):
    settings = Config()
    settings.power, name = 2.0, "power"
    f = compiled(lambda x: x ** getattr(settings, name))
    np.testing.assert_array_equal(f(X), X**2)
    settings.power = 3.0
    np.testing.assert_array_equal(f(X), X**3)


def test_attributes_that_nobody_names_do_not_matter(compiled):
    settings = Config()
    f = compiled(lambda x: x * settings.scale)
    f(X)
    settings.name = "another"
    settings.log = [1, 2, 3]
    f(X)
    assert len(f._latest.graph) == 3
    assert sum(map(len, f._specializations.values())) == 1


def outside():
    ticks, numbers = itertools.count(), random.Random(0)
    logger = logging.getLogger("a test")
    return {
        "time": lambda x: x * (time.perf_counter() > 0),
        "itertools|count": lambda x: x + next(ticks),
        "random": lambda x: x * numbers.random(),
        "random too": lambda x: x * random.random(),
        "logging": lambda x: logger.info("called") or x * 2,
    }


@pytest.mark.parametrize("name", list(outside()))
def test_what_is_another_thing_at_each_call_is_not_recorded(compiled, name):
    plain, f = outside()[name], compiled(outside()[name])
    random.seed(0)
    expected = [plain(X) for _ in range(3)]
    random.seed(0)
    for value in expected:
        np.testing.assert_array_equal(f(X), value)
    assert f.explain().splitlines()[-1].strip().startswith("run")
    assert not f._specializations[next(iter(f._specializations))]


def test_functions_of_numpys_by_their_own_names():
    from numpy import linalg, maximum, where

    f = ad.compile(lambda x: where(x > 1.0, maximum(x, 0.5), linalg.norm(x)), wait=True, backend="numpy")
    np.testing.assert_array_equal(f(X), f.function(X))
    assert "runs as it is" not in f.explain()
    np.testing.assert_array_equal(f(-X), f.function(-X))


def test_floats_that_change_are_inputs_from_then_on():
    rate, settings = 0.5, Config()
    settings.power = 2.0

    def plain(x):
        return rate * x**settings.power

    for backend in ("numpy", "native"):
        f = ad.compile(plain, wait=True, backend=backend)
        for k in range(40):
            rate, settings.power = 0.5 + k, 2.0 + k / 8
            np.testing.assert_allclose(f(X), plain(X), rtol=1e-14)
        assert sum(map(len, f._specializations.values())) == 1
        assert len(f._latest.state.numbers) == 2
        rate = 3  # a whole number is part of the program
        np.testing.assert_allclose(f(X), plain(X), rtol=1e-14)
        rate = np.float32(2.0)
        assert f(np.float32(X)).dtype == plain(np.float32(X)).dtype


def test_a_counter_becomes_an_input(compiled):
    count = 0
    f = compiled(lambda x: x + count)
    for count in range(80):
        np.testing.assert_array_equal(f(X), X + count)
    assert sum(map(len, f._specializations.values())) == 1


def test_a_shape_that_is_counted_is_not_recorded_for_ever(compiled):
    count = 0
    f = compiled(lambda x: np.sum(x) + np.ones(count))
    for count in range(80):
        np.testing.assert_array_equal(f(X), np.sum(X) + np.ones(count))
    assert "16 specializations" in f.explain()


def test_a_function_that_changes_a_float(compiled):
    settings = Config()
    settings.total = 0.0

    def f(x):
        settings.total += 1.0
        return x * settings.total

    g = compiled(f)
    for k in range(1, 6):
        np.testing.assert_array_equal(g(X), X * k)


def test_a_question_that_hangs_on_rounding_stays_with_numpy():
    def plain(x):
        noise = np.sum(np.exp(x) * 3.0) - np.sum(np.sin(x) + np.exp(x) * 3.0) + np.sum(np.sin(x))
        return x * 2 if noise > 0 else x * 3 if noise < 0 else x

    f = ad.compile(plain, wait=True)
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=37)
        found = f(x)
        assert any(np.array_equal(found, factor * x) for factor in (1, 2, 3))
    assert sum(map(len, f._specializations.values())) <= 3
    assert "runs as it is" not in f.explain()


USES = {
    "a product": lambda x, table: x * (table * 2),
    "a row": lambda x, table: x + table[1],
    "an element": lambda x, table: x + table[1, 1],
    "a number": lambda x, table: x + float(table[0, 2]),
    "transposed": lambda x, table: x @ table.T,
    "a sum": lambda x, table: x + table.sum(),
    "another dtype": lambda x, table: x + table.astype(np.float32),
    "a tensor": lambda x, table: ad.tensor(table)[1] * x,
    "a branch": lambda x, table: x if table[0, 0] > 5 else -x,
    "chosen rows": lambda x, table: table[np.argsort(x)],
}


@pytest.mark.parametrize("use", USES)
def test_what_is_made_of_arrays_outside_is_made_at_each_call(both, use):
    def story(compiled):
        table = np.arange(12.0).reshape(4, 3)
        f = compiled(lambda x: USES[use](x, table))
        for x in (np.arange(3.0), np.ones(3), np.arange(3.0)[::-1].copy()):
            found = f(x)
            yield (found if isinstance(found, ad.Tensor) else ad.tensor(np.array(found)),)
            table += 10

    both(story)


def test_one_array_in_two_places_and_then_two(both):
    def story(compiled):
        held = {"a": np.ones(3)}
        held["b"] = held["a"]
        f = compiled(lambda x: held["a"] * x - held["b"])
        for other in (None, np.zeros(3), np.full(3, 2.0)):
            held["b"] = held["b"] if other is None else other
            for k in range(2):
                yield (ad.tensor(np.array(f(np.full(3, 1.0 + k)))),)

    both(story)


def test_errors_of_numbers_that_are_raised_before_the_first_recording():
    text = (
        "import numpy as np, adjoint as ad\n"
        "np.seterr(all='raise')\n"
        "f = ad.compile(lambda x: 1.0 / x, wait=True)\n"
        "assert f(np.full(2, 2.0)).tolist() == [0.5, 0.5]\n"
        "try: f(np.zeros(2))\n"
        "except FloatingPointError: print('raised')\n"
    )
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert told.stdout == "raised\n"
