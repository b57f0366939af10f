"""Weak references whose callbacks are C's: no Python runs in them, in which an interrupt would be lost."""

import sys
import types
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.threads.weak import WeakKeys, WeakValues, at_end
from tests.living import living


class Thing:
    pass


def test_values_go_with_their_last_reference():
    table, thing = WeakValues(), Thing()
    table["a"] = thing
    assert table.get("a") is thing
    assert table.items() == [("a", thing)]
    del thing
    assert (table.get("a"), len(table), table.items()) == (None, 0, [])


def test_keys_go_with_their_last_reference():
    table, thing = WeakKeys(), Thing()
    assert table.get(thing) is None
    table[thing] = 1
    table[thing] = 2
    assert (table.get(thing), len(table)) == (2, 1)
    del thing
    assert len(table) == 0


def test_many_ends():
    ended, things = [], [Thing() for _ in range(300)]
    for thing in things:
        at_end(thing, ended.append)
    del things, thing
    assert len(ended) == 300


def test_a_leaf_gives_its_array_back():
    array = np.ones(3)
    leaf = ad.Tensor(array, requires_grad=True)
    assert not array.flags.writeable
    del leaf
    assert array.flags.writeable


def python_callbacks():
    """The functions of Python that weak references of the library's call, and its ``__del__``s."""
    found = []
    for thing in living():
        if isinstance(thing, type) and str(thing.__module__).startswith("adjoint.") and "__del__" in vars(thing):
            found.append(thing)
        for reference in weakref.getweakrefs(thing):
            callback = getattr(reference, "__callback__", None)
            if isinstance(callback, types.FunctionType | types.MethodType):
                where = getattr(callback, "__func__", callback).__code__.co_filename
                if "adjoint" in where.replace("\\", "/").split("/"):
                    found.append((thing, callback))
    return found


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="looks at CPython's references")
def test_no_python_runs_when_things_go():
    @ad.compile(wait=True)
    def step(x):
        return np.sum(np.tanh(x) ** 2)

    constant, x = np.ones(200_000), ad.tensor(np.ones(200_000), requires_grad=True)
    step(np.ones(4))
    step(np.ones(4))
    loss = np.sum(x * constant * np.ones((50, 1)).mean())
    assert not python_callbacks()
    loss.backward()
