"""Every elementwise operation, reduction and copy, by dtype and by how its arguments lie in memory, against NumPy."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Budget, Case, Row, Samples
from benchmarks.peers import load

TITLE = "Elementwise operations"
ABOUT = (
    "Each operation alone, compiled, on 256 by 384 elements, by dtype. Of four layouts (C order, Fortran order, every "
    "other element, parts of longer rows) the one is shown where adjoint is slowest beside NumPy: the least time of "
    "calls that alternate."
)
Function = Callable[..., Any]
FLOATS = ("f4", "f8")
WHOLE = ("i4", "i8", "u1")
REAL = (*FLOATS, *WHOLE)
NUMBERS = (*REAL, "c16")
SECONDS = 2e-4  # of one sample, at least
# Places in NumPy's and SciPy's namespaces, with the dtypes and the interval of the arguments.
_CALLS = (
    ("exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh arctan arcsinh", FLOATS, 0.1, 3.0),
    ("arcsin arccos arctanh", FLOATS, -0.99, 0.99),
    ("arccosh", FLOATS, 1.0, 9.0),
    ("floor ceil rint trunc isnan isfinite isinf signbit reciprocal spacing modf frexp sinc", FLOATS, -9.0, 9.0),
    ("negative absolute square copy", NUMBERS, -3.0, 3.0),
    ("sign", REAL, -3.0, 3.0),
    ("invert", (*WHOLE, "b1"), 0.0, 1.0),
    ("logical_not", ("f8", "i8", "b1"), 0.0, 1.0),
    ("conj angle", ("c8", "c16"), 0.1, 3.0),
    ("erf erfc expit gammaln ndtr", FLOATS, 0.1, 0.9),
    ("nan_to_num ptp nansum nanmax median", FLOATS, 0.1, 3.0),
)
_PAIRS = (
    ("add subtract multiply divide maximum minimum equal", NUMBERS),
    ("floor_divide remainder fmod greater fmax", REAL),
    ("power", (*FLOATS, "i8")),
    ("hypot arctan2 logaddexp logaddexp2 copysign", FLOATS),
    ("bitwise_and left_shift", ("i4", "i8")),
    ("logical_and", ("b1", "f8")),
)
_WRITTEN: dict[str, tuple[Function, tuple[str, ...]]] = {
    "x + 1": (lambda x: x + 1, (*NUMBERS, "b1")),
    "x ** 2": (lambda x: x**2, NUMBERS),
    "x ** 2.5": (lambda x: x**2.5, FLOATS),
    "x / 3": (lambda x: x / 3, NUMBERS),
    "x // 3": (lambda x: x // 3, REAL),
    "x > 1": (lambda x: x > 1, REAL),
    "clip": (lambda x: np.clip(x, 1, 2), REAL),
    "where": (lambda x: np.where(x > 1, x, 0), REAL),
    "to float32": (lambda x: x.astype(np.float32), ("f8", *WHOLE, "b1")),
    "to int64": (lambda x: x.astype(np.int64), (*FLOATS, "i4", "u1", "b1")),
    "x.T.copy": (lambda x: x.T.copy(), (*NUMBERS, "b1")),
    "roll": (lambda x: np.roll(x, 3, axis=1), FLOATS),
    "concatenate": (lambda x: np.concatenate([x, x]), FLOATS),
    "x + row": (lambda x: x + x[0], FLOATS),
    "x + column": (lambda x: x + x[:, :1], FLOATS),
}
_REDUCED = ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "cumsum", "var", "any", "all")


class Operation(NamedTuple):
    """What is computed, for which dtypes, and of how many arguments between which bounds."""

    name: str
    function: Function
    dtypes: tuple[str, ...]
    count: int = 1
    low: float = 0.1
    high: float = 3.0


def operations() -> Iterator[Operation]:
    """All that is in the table."""
    special = load("scipy.special")
    for names, dtypes, low, high in _CALLS:
        for name in names.split():
            yield Operation(name, getattr(np, name, None) or getattr(special, name), dtypes, 1, low, high)
    for names, kinds in _PAIRS:
        yield from (Operation(name, getattr(np, name), kinds, 2) for name in names.split())
    yield from (Operation(name, function, kinds) for name, (function, kinds) in _WRITTEN.items())
    for name in _REDUCED:
        for axis in (None, 0, 1):
            given = "" if axis is None else f"axis={axis}"
            yield Operation(f"{name}({given})", partial(_reduced, name, axis), ("f4", "f8", "i4", "i8"), 1, 0.99, 1.01)


def _reduced(name: str, axis: int | None, x: Any) -> Any:
    return getattr(np, name)(x, axis=axis)


def array(dtype: str, shape: tuple[int, int], low: float, high: float) -> np.ndarray:
    """Numbers between two bounds; whole ones from 1 to 8."""
    rng = np.random.default_rng(0)
    if dtype == "b1":
        return rng.random(shape) < 0.5
    if dtype[0] in "iu":
        return rng.integers(1, 9, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    return (x + 1j * rng.uniform(-1.0, 1.0, shape) if dtype[0] == "c" else x).astype(dtype)


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same array in C order, in Fortran's, with gaps, and as a part of longer rows."""
    gaps = np.zeros([2 * n for n in x.shape], x.dtype)[::2, ::2]
    rows = np.zeros([x.shape[0], x.shape[1] + 16], x.dtype)[:, : x.shape[1]]
    gaps[...], rows[...] = x, x
    return {"C": x, "Fortran": np.asfortranarray(x), "gaps": gaps, "rows": rows}


def alternating(ours: Function, theirs: Function, args: tuple[np.ndarray, ...], rounds: int) -> tuple[float, float]:
    """The least seconds that a call of each takes; they take turns."""

    def seconds(f: Function, loops: int) -> float:
        start = time.perf_counter()
        for _ in range(loops):
            f(*args)
        return (time.perf_counter() - start) / loops

    for f in (ours, theirs):
        seconds(f, 3)
    loops = max(1, round(SECONDS / max(seconds(theirs, 2), 1e-7)))
    pairs = [(seconds(ours, loops), seconds(theirs, loops)) for _ in range(rounds)]
    return min(mine for mine, _ in pairs), min(other for _, other in pairs)


def arguments(operation: Operation, dtype: str, shape: tuple[int, int]) -> dict[str, tuple[np.ndarray, ...]]:
    """The arguments by layout; the second one has the same numbers in another order."""
    x = array(dtype, shape, operation.low, operation.high)
    given = [layouts(x), layouts(np.ascontiguousarray(x[::-1, ::-1]))][: operation.count]
    return {name: tuple(one[name] for one in given) for name in given[0]}


def _measured(
    operation: Operation, dtype: str, shape: tuple[int, int], parts: dict[str, float], rounds: int
) -> Samples:
    """The samples of the layout where adjoint is slowest beside NumPy; `parts` gets the ratios of all of them."""
    found = []
    for name, args in arguments(operation, dtype, shape).items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ours = load("adjoint").compile(operation.function, wait=True)
            found.append(alternating(ours, operation.function, args, rounds))
        parts[name] = found[-1][0] / found[-1][1]
    ours, theirs = max(found, key=lambda pair: pair[0] / pair[1])
    return {"adjoint": [ours], "NumPy": [theirs]}


def cases(small: bool = False) -> Iterator[Case]:
    """A row for each operation and dtype."""
    shape = (8, 12) if small else (256, 384)
    for operation in operations():
        for dtype in operation.dtypes:
            parts: dict[str, float] = {}
            measure = partial(_measured, operation, dtype, shape, parts)
            name, budgets = f"{operation.name}, {np.dtype(dtype)}", (Budget("NumPy", 1.0),)
            yield Case(name, measure=measure, budgets=budgets, parts=parts)


LIMITS = (1.0, 1.05)


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """How many cells (an operation, a dtype and a layout) take longer than NumPy: of all, by dtype and by layout."""
    groups: dict[str, dict[str, list[float]]] = {
        "all": defaultdict(list), "by dtype": defaultdict(list), "by layout": defaultdict(list)
    }  # fmt: skip
    for row in rows:
        dtype = row.case.name.rpartition(", ")[2]
        for layout, ratio in row.case.parts.items():
            for group, name in (("all", "cells"), ("by dtype", dtype), ("by layout", layout)):
                groups[group][name].append(ratio)
    limits = " / ".join(f"{limit:g}" for limit in LIMITS)
    yield f"Cells above {limits} times NumPy's time:"
    for group, members in groups.items():
        counts = (
            f"{name} {' / '.join(str(sum(r > limit for r in ratios)) for limit in LIMITS)} of {len(ratios)}"
            for name, ratios in members.items()
        )
        yield f"- {group}: {', '.join(counts)}"
