"""The ways in which a cell is computed, and what is different from NumPy in them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

import adjoint as ad
from adjoint.core.errors import GraphError
from adjoint.core.objects.trees import flatten
from adjoint.core.rules.pullbacks import strict_cotangents
from adjoint.graph.captures.on_symbols import on_symbols
from adjoint.testing.cases import outputs, random_like
from tests.grid.cells import Cell
from tests.test_registry_dtypes import told
from tests.walk.dtypes import MODES, difference, in_mode
from tests.walk.edges import Outcome, outcome
from tests.walk.forward import inner

EAGER = (*MODES, "last axis", "captured", "cotangents")
COMPILED = ("numpy", "native", "pullbacks")
WAYS = (*EAGER, *COMPILED)
# SciPy's own function does not return from infinities, or from single precision; nor, at times, does LAPACK.
ENDLESS = {"hyp1f1", "obl_ang1", "obl_rad1", "pro_ang1", "pro_rad1", "svd"}
UNSIGNED = {
    "det",
    "dot",
    "einsum",
    "inner",
    "stacked_det",
    "tensordot",
}  # sums whose order, or library, decides the sign of 0
REAL = "real numbers only"  # what says that there is no derivative for complex ones
# What is different and stays so, by its words: {operation: {a part of them: the reason}}.
EXCEPT = {
    "put_into_axis": {"is read-only": "NumPy from 2.4 on refuses rows that it would have to copy; written as before"}
}
ROUNDING = {"e": 0.05, "f": 1e-3, "F": 1e-3, "d": 1e-9, "D": 1e-9}


def wrong(cells: Sequence[Cell], ways: Sequence[str], counts: Counter[str]) -> Iterator[str]:
    """What is wrong with cells of one operation; `counts` says how many of them are compared in each way."""
    for way in ways:
        chosen = [cell for cell in cells if not _told(cell, way)]
        counts[way] += len(chosen)
        for cell, text in _found(way, chosen):
            if any(part in text for part in EXCEPT.get(cell.case.entry.name, ())):
                continue
            shapes = ", ".join(str(np.shape(a)) for a in cell.case.arrays)
            yield f"{cell.case.entry.name}({shapes}) | {way} | {cell.name} | {text[:400]!r}"


def _found(way: str, cells: Sequence[Cell]) -> Iterator[tuple[Cell, str]]:
    if way == "pullbacks":
        yield from compiled_pullbacks("native", cells)
    elif way in COMPILED:
        yield from compiled(way, cells)
    else:
        for cell in cells:
            if text := eager(way, cell):
                yield cell, text


def _told(cell: Cell, way: str) -> bool:
    """Whether a difference there has a reason."""
    mode = way if way in MODES else "batched" if way == "last axis" else "constant"
    return told(cell.case.entry, f"{mode}, {cell.name}")


def eager(way: str, cell: Cell) -> str | None:
    """How a cell differs from NumPy in one of the ways `EAGER`, in words; None where it does not."""
    theirs, signed = cell.numpys(cell.first), cell.case.entry.name not in UNSIGNED
    if way == "cotangents":
        return None if theirs.error else cotangents(cell)
    if way == "captured":
        return captured(cell, theirs, signed)
    if way == "last axis":
        stacked = [np.stack([a, a], axis=-1) for a in cell.first]
        ours = outcome(lambda: [x[0] for x in outputs(ad.vmap(cell.case.f, -1)(*stacked))])
    else:
        found = in_mode(way, cell.case, cell.first)
        if found is None or REAL in str(found.error):
            return None
        ours = found
    return difference(ours, theirs, cell.first, signed)


def captured(cell: Cell, theirs: Outcome, signed: bool) -> str | None:
    """A graph of the first arrays, called with the others."""
    made = outcome_of(lambda: on_symbols(cell.case.f, *cell.first))
    if isinstance(made, Exception):
        return difference(Outcome([], made, set()), theirs, cell.first, signed)
    if theirs.error:
        return difference(outcome(lambda: made(*cell.first)), theirs, cell.first, signed)
    for arrays in (cell.first, cell.other):
        wanted = cell.numpys(arrays)
        found = outcome(lambda arrays=arrays: made(*arrays))
        if wanted.error or isinstance(found.error, GraphError):
            continue  # it holds for values like the first alone, and says so
        if text := difference(found._replace(warned=set()), wanted, arrays, signed):
            return text
    return None


def outcome_of(call):
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return call()
        except Exception as error:
            return error


def varying(arrays: Sequence[np.ndarray]) -> list[int]:
    return [i for i, a in enumerate(arrays) if a.dtype.kind in "fc"]


def pulled(cell: Cell, arrays: Sequence[np.ndarray]):
    """A function of cotangents and those of `arrays` that vary: the value and its cotangents."""
    places = varying(arrays)

    def f(*values):
        given = list(arrays)
        for i, x in zip(places, values, strict=True):
            given[i] = x
        return cell.case.f(*given)

    return f, [arrays[i] for i in places]


def cotangents(cell: Cell) -> str | None:
    """Cotangents, complex for complex values and no two alike, have their values' shapes and dtypes at each rule.

    And ⟨w, Jv⟩ = ⟨Jᵀw, v⟩ in the cell's own precision.
    """
    f, arrays = pulled(cell, cell.first)
    if not arrays:
        return None
    rng = np.random.default_rng(0)
    try:
        with strict_cotangents(), np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            value, pullback = ad.vjp(f, *arrays)
            results, rebuild = flatten(value)
            w = [random_like(rng, x) for x in results]
            back = pullback(rebuild(w))
            v = [random_like(rng, a) for a in arrays]
            tangent = flatten(ad.jvp(f, arrays, v)[1])[0]
    except (ad.NotDifferentiableError, ad.NotSupportedError, ad.DTypeError, ad.LeavesGraphError, np.linalg.LinAlgError):
        return None  # documented refusals
    except Exception as error:  # also one that its rule does not mean
        return repr(error)
    for x, g in zip(arrays, back, strict=True):
        if (np.shape(g), g.dtype) != (x.shape, x.dtype):
            return f"the cotangent of {x.dtype} of shape {x.shape} is {g.dtype} of shape {np.shape(g)}"
    for y, t in zip(results, tangent, strict=True):
        if np.shape(t) != np.shape(y) or (np.result_type(y).kind in "fc" and np.result_type(t) != np.result_type(y)):
            return f"the tangent of {np.result_type(y)} of {np.shape(y)} is {np.result_type(t)} of {np.shape(t)}"
    pairs = [[np.asarray(x, np.result_type(np.result_type(x), float)) for x in xs] for xs in (w, tangent, back, v)]
    with np.errstate(all="ignore"):
        one, two = inner(*pairs[:2]), inner(*pairs[2:])
        size = inner(*(list(map(np.abs, xs)) for xs in pairs[:2])) + inner(*(list(map(np.abs, xs)) for xs in pairs[2:]))
    rounding = max(ROUNDING.get(np.result_type(x).char, 0.0) for x in (*arrays, *results))
    if np.isfinite(size) and not abs(one - two) <= rounding * max(size, 1.0):
        return f"⟨w, Jv⟩ = {one!r}, but ⟨Jᵀw, v⟩ = {two!r}"
    return None


def compiled(backend: str, chosen: Sequence[Cell]) -> Iterator[tuple[Cell, str]]:
    """What is different where cells are compiled as one function, and called with the first arrays, others, the first.

    Cells that NumPy refuses are compiled alone.
    """
    signed = not any(cell.case.entry.name in UNSIGNED for cell in chosen)
    wanted = [(cell, [cell.numpys(x) for x in (cell.first, cell.other, cell.first)]) for cell in chosen]
    runs = [
        Run(cell, cell.case.f, [cell.first, cell.other, cell.first], all_.__getitem__)
        for cell, all_ in wanted
        if not any(x.error for x in all_)
    ]
    for run, turn, ours in _together(backend, runs):
        if text := difference(ours, run.expected(turn), run.points[turn], signed):
            yield run.cell, f"call {turn + 1}: {text}"
    for cell, all_ in wanted:
        if all_[0].error:
            run = ad.compile(cell.case.f, wait=True, backend=backend)
            for arrays in (cell.first, cell.first):
                ours = outcome(lambda arrays=arrays, run=run: run(*arrays))
                if text := difference(ours, all_[0], arrays, signed):
                    yield cell, text
                    break


class Run(NamedTuple):
    """What is called three times: a cell's function, its arguments at each call, and what each call has to give."""

    cell: Cell
    f: Callable[..., object]
    points: Sequence[Sequence[object]]
    expected: Callable[[int], Outcome]


def _together(backend: str, runs: Sequence[Run]) -> Iterator[tuple[Run, int, Outcome]]:
    """What each of `runs` gives at each call, compiled as one function.

    Where that function raises, each half is tried.
    """
    if not runs:
        return

    def all_of(points):
        return [run.f(*point) for run, point in zip(runs, points, strict=True)]

    step = ad.compile(all_of, wait=True, backend=backend)
    for turn in range(3):
        points = [run.points[turn] for run in runs]
        found = outcome_of(lambda points=points: step(points))
        if isinstance(found, Exception) and len(runs) > 1:
            half = len(runs) // 2
            yield from _together(backend, runs[:half])
            yield from _together(backend, runs[half:])
            return
        if isinstance(found, Exception):
            yield runs[0], turn, Outcome([], found, set())
            return
        for run, x in zip(runs, found, strict=True):
            yield run, turn, Outcome(outputs(x), None, set())


def compiled_pullbacks(backend: str, chosen: Sequence[Cell]) -> Iterator[tuple[Cell, str]]:
    """What is different in compiled pullbacks from eager ones, by the first arrays, others, and the first."""
    rng = np.random.default_rng(1)
    runs = [run for cell in chosen if (run := _pullback(cell, rng)) is not None]
    for run, turn, ours in _together(backend, runs):
        w, _, values = run.points[turn]
        if text := difference(ours, run.expected(turn), [*values, *w], False):
            yield run.cell, f"pullback, call {turn + 1}: {text}"


def _pullback(cell, rng):
    _, arrays = pulled(cell, cell.first)
    if not arrays or cell.numpys(cell.first).error or cell.numpys(cell.other).error:
        return None
    places = varying(cell.first)

    def run(w, constants, values):
        def g(*moving):
            given = list(constants)
            for i, x in zip(places, moving, strict=True):
                given[i] = x
            return cell.case.f(*given)

        return ad.vjp(g, *values)[1](rebuild(w))

    value = outcome_of(lambda: cell.case.f(*cell.first))
    if isinstance(value, Exception):
        return None
    results, rebuild = flatten(value)
    if not any(np.result_type(x).kind in "fc" for x in results):
        return None
    w = [random_like(rng, x) for x in results]
    constants = [np.asarray(a) for a in cell.first]
    points = [(w, constants, [arrays[i] for i in places]) for arrays in (cell.first, cell.other, cell.first)]
    if any(isinstance(outcome_of(lambda p=p: run(*p)), Exception) for p in points):
        return None
    return Run(cell, run, points, lambda turn: Outcome(outputs(outcome_of(lambda: run(*points[turn]))), None, set()))
