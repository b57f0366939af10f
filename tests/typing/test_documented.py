"""Each public name says what it does, with an example that runs; what lacks one is written here."""

import doctest
import inspect

import pytest

import adjoint as ad
from adjoint.core.op import Op
from adjoint.core.registry import Composite

#: Names without an example of their own: they need another library's arrays, other people's code, or several calls.
LACKING = {"": ["DeviceError", "LeakWarning", "NotRunError"]}
ROOMS = [
    "",
    "nn",
    "optim",
    "train",
    "distributed",
    "data",
    "testing",
    "io",
    *(f"scipy.{m}" for m in ad.scipy.MODULES if m != "spatial"),
]
OPERATIONS = [name for name in dir(ad) if isinstance(getattr(ad, name), Op | Composite)]


def public(room):
    """The names of a room and what they stand for: functions, classes, operations."""
    module = ad
    for part in filter(None, room.split(".")):
        module = getattr(module, part)
    for name in dir(module):
        value = getattr(module, name)
        foreign = room[:5] == "scipy" and not str(getattr(value, "__module__", "")).startswith("adjoint.scipy")
        if name[0] != "_" and not inspect.ismodule(value) and not foreign:
            yield name, value


def text_of(value):
    """Its own: a class inherits none, and an operation does not say what operations are."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return text or ""


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_documented(room):
    found = dict(public(room))
    assert found
    said = {name: text_of(value) for name, value in found.items()}
    assert not [name for name, text in said.items() if not text or text in (Op.__doc__, Composite.__doc__)]
    assert sorted(name for name, text in said.items() if ">>>" not in text) == LACKING.get(room, [])


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_of_operations_run(name):
    """`doctest` finds functions and classes by itself, and no instances."""
    run(name, getattr(ad, name).__doc__)


@pytest.mark.parametrize("name", [name for name, _ in public("scipy.optimize")])
def test_examples_of_functions_that_are_made_run(name):
    """`doctest` passes over functions that were made in another file, and have its globals."""
    run(name, text_of(getattr(ad.scipy.optimize, name)))


def run(name, text):
    parsed = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert doctest.DocTestRunner(verbose=False).run(parsed).failed == 0
    assert parsed.examples
