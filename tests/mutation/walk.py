"""The registry's walk in process: each test of ``tests/test_registry*.py`` that takes an operation, for one of them."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

import adjoint
from adjoint.core.registry import Entry

# What finds most, and finds it soonest, comes first.
MODULES = (
    "",
    "_forward",
    "_cotangents",
    "_batch",
    "_points",
    "_places",
    "_edges",
    "_special",
    "_graph",
    "_dtypes",
    "_memory",
    "_compiled",
)
FIRST = (
    "test_is_the_transpose_of_reverse_mode",
    "test_is_the_transpose_of_reverse_mode_for_complex_numbers",
    "test_vmap_is_a_loop",
    "test_tangents_are_differences",
    "test_gradients",
    "test_ties_and_zeros",
    "test_vmap_and_derivatives_nest",
)
LAST = ("test_compiled_writes", "test_by_numpy", "test_natively", "test_natively_in_other_dtypes")
HERE = str(Path(adjoint.__file__).parent)
LONGEST = 60  # seconds; the suite's own tests have 300


class Check(NamedTuple):
    """One test of the walk for one entry."""

    name: str
    run: Callable[[], None]


def checks(entry: Entry) -> list[Check]:
    """The tests that walk `entry`, those that find most first."""
    found = [check for module in MODULES for check in _of_module(import_module(f"tests.test_registry{module}"), entry)]
    return sorted(found, key=lambda check: _rank(check.name.partition("[")[0]))


def lowered(entry: Entry) -> list[Check]:
    """The tests of native code that is written for `entry` alone, one for each dtype."""
    table, whole = (import_module(f"tests.native.lower.test_{name}") for name in ("table", "whole_quotients"))
    given = [(table.test_every_lowering, case.values[1]) for case in table.cases() if case.values[0] == entry.name]
    tests = [f for name, f in vars(whole).items() if name.startswith("test_") and entry.name in whole.FUNCTIONS]
    return [
        Check(f"{f.__name__}[{dtype}]", lambda f=f, dtype=dtype: _run(f, {"name": entry.name, "dtype": dtype}, []))
        for f, dtype in [*given, *((f, dtype) for f in tests for dtype in whole.DTYPES)]
    ]


def _rank(name: str) -> int:
    if name in FIRST:
        return FIRST.index(name) - len(FIRST)
    return 1 + LAST.index(name) if name in LAST else 0


def _of_module(module: Any, entry: Entry) -> Iterator[Check]:
    for name, function in vars(module).items():
        marks = getattr(function, "pytestmark", ())
        tables = [mark.args[:2] for mark in marks if mark.name == "parametrize"]
        if not name.startswith("test_") or "entry" not in {names for names, _ in tables}:
            continue
        if not any(e is entry for names, values in tables if names == "entry" for e in values):
            continue
        ignored = [mark.args[0] for mark in marks if mark.name == "filterwarnings"]
        rest = [[(names, value) for value in values] for names, values in tables if names != "entry"]
        for chosen in itertools.product(*rest):
            given = {"entry": entry, **dict(chosen)}
            label = "".join(f"[{value}]" for _, value in chosen)
            yield Check(name + label, lambda f=function, given=given, ignored=ignored: _run(f, given, ignored))


def _run(function: Callable[..., None], given: dict[str, Any], ignored: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ignored:
            action, _, rest = text.partition(":")
            message, _, category = rest.partition(":")
            kind = {"": Warning, "RuntimeWarning": RuntimeWarning}[category]
            warnings.filterwarnings(action, message=message, category=kind)  # type: ignore[arg-type]  # as pytest does
        with suppress(pytest.skip.Exception):
            function(**given)


class TooLong(BaseException):
    """The test did not end in time."""


def failure(check: Check) -> str | None:
    """How the test fails, in a line; None if it passes."""
    before = signal.signal(signal.SIGVTALRM, _too_long)  # of the process's own time: others may run beside it
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        check.run()
    except (Exception, pytest.fail.Exception, TooLong) as error:
        return f"{check.name}: {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return None


def reached(check: Check) -> frozenset[CodeType]:
    """The code of this library that the test runs: a change of any other code is none to it."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        said = failure(check)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if said:
        raise AssertionError(f"nothing is changed, and yet {said}")
    return frozenset(code for code in codes if HERE in code.co_filename)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong
