"""What is kept for twins goes with the functions: closures, their variables, modules that are gone, old sources."""

import gc
import linecache
import sys
import types
import weakref
from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint.twin import follow
from adjoint.twin.syntax import source

X = np.arange(1.0, 4.0)


class Held:
    """What is watched."""


def inner(held):
    """A loss whose inner functions are made at each call, inside of its twin."""

    def loss(x):
        mine = Held()
        held.append(weakref.ref(mine))

        def helper(v):
            return np.sin(v) + (mine is None)

        a = np.zeros(3)
        a[:] = helper(x)
        return np.sum(a)

    return loss


def recursive(held):
    mine = Held()
    held.append(weakref.ref(mine))

    def loss(x, k=2):
        a = np.zeros(3) + (mine is None)
        a[:] = x
        return np.sum(a) if k == 0 else loss(x * 2.0, k - 1)

    return loss


def called(held):
    """A closure that another one calls, and that leads back to itself."""
    mine = Held()
    held.append(weakref.ref(mine))

    def helper(v):
        a = np.zeros(3) + (mine is None)
        a[:] = v
        return a if helper else 0.0

    return lambda x: np.sum(helper(x) * helper(x))


def of_object(held):
    """An object that has a closure with itself in it."""

    class Model:
        def __init__(self):
            self.loss = lambda x: self.filled(x)

        def filled(self, x):
            a = np.zeros(3)
            a[:] = x
            return np.sum(a)

    model = Model()
    held.append(weakref.ref(model))
    return model.loss


def without_twin(held):
    mine = Held()
    held.append(weakref.ref(mine))
    return lambda x: np.sum(x * (mine is not None))


CALLS = {
    "grad": lambda f: ad.grad(f)(X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "vmap": lambda f: ad.vmap(f)(np.stack([X, X])),
    "compiled": lambda f: [g(X) for g in [ad.compile(f, wait=True)] for _ in range(3)],
    "compiled gradient": lambda f: [g(X) for g in [ad.compile(ad.grad(f), wait=True)] for _ in range(3)],
    "captured": lambda f: ad.capture(f, X),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("make", [inner, recursive, called, of_object, without_twin])
def test_closures_go_with_what_they_hold(make, call):
    held = []
    for _ in range(3):
        with suppress(ad.NotSupportedError):  # a capture that is refused holds nothing either
            CALLS[call](make(held))
    gc.collect()
    assert len(held) >= 3 * (make is not inner or call != "captured")
    assert sum(reference() is not None for reference in held) == 0


def test_a_closure_has_one_twin_as_long_as_somebody_has_it():
    def outer(k):
        def helper(v):
            a = np.zeros(3)
            a[:] = v
            return a * k

        return helper

    helper = outer(2.0)
    twins = follow.twins_for(helper)
    twin = twins.resolve(helper)
    assert twin is not helper
    assert twins.resolve(helper) is twin
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(helper(x)))(X), np.full(3, 2.0))


SOURCE = """
import numpy as np
class Held: pass
held = Held()
def loss(x):
    a = np.zeros(3)
    a[:] = x
    return np.sum(a)
"""


def test_modules_that_are_gone_are_forgotten_but_for_the_latest(tmp_path):
    held = []
    for k in range(follow._GONE + 4):
        module = types.ModuleType(f"gone_{k}")
        path = tmp_path / f"gone_{k}.py"
        path.write_text(SOURCE)
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        exec(compile(SOURCE, str(path), "exec"), vars(module))
        np.testing.assert_array_equal(ad.grad(module.loss)(X), np.ones(3))
        held.append(weakref.ref(module.held))
        del sys.modules[module.__name__], module
    gc.collect()
    assert sum(reference() is not None for reference in held) <= follow._GONE + 1
    assert held[0]() is None


def test_the_latest_sources_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_FILES", 4)
    spaces = []
    for k in range(6):
        path = tmp_path / f"file_{k}.py"
        path.write_text("def f(x):\n    return x + 1\n")
        spaces.append({})
        exec(compile(path.read_text(), str(path), "exec"), spaces[-1])
        source.find(spaces[-1]["f"])
    assert len(source._files) <= 4
    linecache.checkcache()
    assert source.find(spaces[0]["f"]).node.name == "f"  # it is read again


def test_the_codes_of_functions_that_are_gone_are_forgotten():
    def used():
        f = eval("lambda x: [print(end=''), x][1]")
        g = ad.compile(f, wait=True)
        for _ in range(3):
            g(X)
        return weakref.ref(f.__code__)

    reference = used()
    gc.collect()
    assert reference() is None


def test_why_a_function_has_no_twin_holds_nothing_of_the_call():
    class Big(np.ndarray):
        pass

    held = []

    def used():
        big = np.zeros(3).view(Big)
        held.append(weakref.ref(big))

        def f(x):
            class Inside:
                value = big

            return np.asarray(Inside.value) + x

        compiled = ad.compile(f, wait=True)
        for _ in range(3):
            compiled(X)

    used()
    gc.collect()
    assert held[0]() is None


def _with_defaults(x, by=0.5, *, times=1.0):
    return np.sum(np.array([x[0], x[1] * by])) * times


def test_default_arguments_that_are_set_later():
    def inner(x, by=0.5, *, times=1.0):
        return np.sum(np.array([x[0], x[1] * by])) * times

    for f in (_with_defaults, inner):
        outer = lambda x, f=f: f(x)
        for slope in (ad.grad(f), ad.grad(outer), ad.compile(ad.grad(f))):
            f.__defaults__, f.__kwdefaults__ = (0.5,), {"times": 1.0}
            for _ in range(2):
                np.testing.assert_array_equal(slope(np.ones(2)), [1.0, 0.5])
            f.__defaults__ = (2.0,)
            np.testing.assert_array_equal(slope(np.ones(2)), [1.0, 2.0])
            f.__kwdefaults__ = {"times": 3.0}
            np.testing.assert_array_equal(slope(np.ones(2)), [3.0, 6.0])
