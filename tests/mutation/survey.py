"""Which mutants of the registry's rules the walk finds."""

from __future__ import annotations

import functools
import os
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import adjoint.scipy.linalg
import adjoint.scipy.signal
import adjoint.scipy.sparse  # noqa: F401 - their operations are walked too
from adjoint.core.op import Op
from adjoint.native import lower
from adjoint.testing import walk
from tests.living import living
from tests.mutation.mutants import Mutant, functions, lowerings, met, mutants_of, mutants_of_record
from tests.mutation.walk import Check, checks, failure, lowered, reached

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
NATIVE = frozenset(path.name for path in Path(str(lower.__file__)).parent.glob("*.py"))  # files that write native code

SOON = 3  # tests of an operation that every mutant is given to, without asking whether they reach it


class Outcome(NamedTuple):
    """What became of a mutant: the test that found it, or None."""

    mutant: str
    kind: str
    operations: tuple[str, ...]
    found: str | None


@functools.cache
def equivalents() -> dict[str, str]:
    """Mutants that compute the same as the rule, or what is as right, each with the reason."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    pairs = [line.split(" # ") for line in lines if line and not line.startswith("#")]
    return {mutant.strip(): reason for mutant, reason in pairs}


def is_equivalent(mutant: str) -> bool:
    """Whether a line of the list is `mutant`, as far as a ``*`` in it says."""
    return any(pattern.fullmatch(mutant) for pattern in patterns().values())


@functools.cache
def patterns() -> dict[str, re.Pattern[str]]:
    """The lines of the list, in which ``*`` stands for any text."""
    return {line: re.compile(re.escape(line).replace(r"\*", ".*")) for line in equivalents()}


def score(found: list[Outcome]) -> float:
    """How many of a hundred mutants the walk finds, of those that can be found."""
    there = [outcome for outcome in found if outcome.found or not is_equivalent(outcome.mutant)]
    return 100.0 * sum(outcome.found is not None for outcome in there) / max(len(there), 1)


def survey(
    only: str | None = None,
    every: int = 1,
    jobs: int = 1,
    job: int = 0,
    names: frozenset[str] | None = None,
    native: bool = False,
    equivalent: bool = False,
) -> Iterator[Outcome]:
    """The outcome of each mutant of the operation `only`, or of all, or of `names`; those of one job of several.

    Of the rules, or, with `native`, of what writes native code. Those of the list are walked only if `equivalent`.
    """
    number = -1
    for users, mutant in everything(only, native):
        if names is not None and str(mutant) not in names:
            continue
        number += 1
        if number % every or number // every % jobs != job:
            continue
        if not equivalent and is_equivalent(str(mutant)):
            yield Outcome(str(mutant), _kind(mutant), tuple(op.name for op in users), None)
            continue
        met.clear()
        found = _walked_apart(users, mutant) if native else walked(users, mutant)
        if found or met[True] or not met[False]:  # else it found no number to change
            yield Outcome(str(mutant), _kind(mutant), tuple(op.name for op in users), found)


def everything(only: str | None = None, native: bool = False) -> Iterator[tuple[list[Op], Mutant]]:
    """All mutants, each with the operations whose rules it is part of."""
    ops = [entry for entry in walk() if isinstance(entry, Op)]
    made: dict[CodeType, list[FunctionType]] = {}  # of one code: what a factory makes
    users: dict[CodeType, list[Op]] = {}
    for op in ops:
        for f in lowerings(op) if native else functions(op):
            if f not in made.setdefault(f.__code__, []):
                made[f.__code__].append(f)
            if op not in users.setdefault(f.__code__, []):
                users[f.__code__].append(op)
    for op in ops:
        if only in (None, op.name) and not native:
            yield from (([op], mutant) for mutant in mutants_of_record(op))
    for code, using in users.items():
        if only is None or only in (op.name for op in using):
            chosen = using if only is None else [op for op in using if op.name == only]
            yield from ((chosen, mutant) for mutant in mutants_of(made[code]))


def walked(users: list[Op], mutant: Mutant) -> str | None:
    """The test that finds the mutant, by way of one of the operations that use it."""
    native = any(mutant.where.startswith(f"{name}:") for name in NATIVE)
    for op in users:
        checks_of = _native_checks(op) if native else _checks(op)
        found = _found(checks_of[:SOON], mutant, users)
        if found is None:
            everywhere = native or mutant.code is None  # a process of its own would ask anew what tests reach
            rest = [c for c in checks_of[SOON:] if everywhere or mutant.code in _codes(op, c)]
            found = _found(rest, mutant, users)
        if found:
            return f"{op.name}, {found}"
    return None


def _found(given: list[Check], mutant: Mutant, users: list[Op]) -> str | None:
    with mutant.inside():
        kept = [op.pullbacks for op in users]
        for op in users if mutant.code else ():
            op.pullbacks = {}  # they hold copies of rules
        _forget()
        try:
            return next(filter(None, map(failure, given)), None)
        finally:
            _forget()
            for op, pullbacks in zip(users, kept, strict=True):
                op.pullbacks = pullbacks


@functools.cache
def _codes(op: Op, check: Check) -> frozenset[CodeType]:
    _forget()
    return reached(check)


def _walked_apart(users: list[Op], mutant: Mutant) -> str | None:
    """`walked` in a process of its own, which wrong native code may end."""
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        with os.fdopen(writes, "wb") as pipe:
            pickle.dump((walked(users, mutant), met), pipe)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        written = pipe.read()
    if os.waitpid(pid, 0)[1] or not written:
        return "its code ends the process"
    found, counts = pickle.loads(written)
    met.update(counts)
    return found


@functools.cache
def _checks(op: Op) -> list:
    return checks(op)


@functools.cache
def _native_checks(op: Op) -> list:
    """The lowering of `op` alone, in each dtype, and then what compiles its samples."""
    return lowered(op) + [check for check in _checks(op) if check.name.startswith("test_natively")]


@functools.cache
def _caches() -> list:
    return [x for x in living() if isinstance(x, functools._lru_cache_wrapper) and x.__module__.startswith("adjoint.")]


def _forget() -> None:
    for cached in _caches():
        cached.cache_clear()


def _kind(mutant: Mutant) -> str:
    last = mutant.what.rpartition("→ ")[2]
    return "constant" if re.fullmatch(r"-?[\d.e+-]+", last) else re.sub(r"rule \d+", "number", last)
