"""Functions that import what they call: their twins are made once, and made anew when a module's name changes."""

import sys
import types

import numpy as np
import pytest

import adjoint as ad
from adjoint.twin.codes import Codes
from adjoint.twin.syntax.facts import set_by

X = np.array([0.3, 0.7])


def filled(x):
    a = np.zeros(2)
    a[0], a[1] = x[0], x[0] * x[1]
    return a


def plain(x):
    return x * np.array([2.0, 3.0])


def of_a_name(x):
    from kit import work

    return np.sum(work(x))


def of_another_name(x):
    from kit import work as labour

    return np.sum(labour(x))


def of_a_module(x):
    import kit as box

    return np.sum(box.work(x))


@pytest.fixture
def kit(monkeypatch):
    module = types.ModuleType("kit")
    module.work = filled
    monkeypatch.setitem(sys.modules, "kit", module)
    return module


@pytest.mark.parametrize("f", [of_a_name, of_another_name, of_a_module])
def test_twins_are_made_once(kit, monkeypatch, f):
    made = []
    plainly = Codes._rewritten
    monkeypatch.setattr(Codes, "_rewritten", lambda self, g: made.append(g) or plainly(self, g))
    for _ in range(3):
        np.testing.assert_allclose(ad.grad(f)(X), [1.7, 0.3])
    assert len(made) == len(set(made))


@pytest.mark.parametrize("f", [of_a_name, of_another_name, of_a_module])
def test_names_of_modules_may_change(kit, f):
    for work, wanted in ((filled, [1.7, 0.3]), (plain, [2.0, 3.0]), (filled, [1.7, 0.3])):
        kit.work = work
        np.testing.assert_allclose(ad.grad(f)(X), wanted)


def test_attributes_that_a_code_sets_are_read_from_its_instructions():
    names = [f"n{i}" for i in range(600)]  # above 255, an instruction has a prefix
    source = "def f(o, p):\n" + "".join(f"    o.{n} = p.{n}r\n" for n in names) + "    o.last += 1\n    del p.gone\n"
    scope = {}
    exec(source, scope)
    assert list(set_by(scope["f"].__code__)) == [*names, "last"]
