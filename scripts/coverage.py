"""Write `docs/coverage.md`: every function of NumPy and every ufunc of `scipy.special`, with its status.

Run as ``python scripts/coverage.py``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import scipy

sys.path.insert(0, str(Path(__file__).parents[1]))

from adjoint.testing.samples import walk
from adjoint.testing.walk_backend import WITHOUT
from tests.walk.coverage import Coverage, Status, namespaces, place_of
from tests.walk.natively import HowCompiled, compiled_as

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
HEAD = """# Coverage

What each function of NumPy, and each universal function of `scipy.special`, does with a tensor in a graph: one of six
things, and never a silent copy, an array of Python objects, or a gradient that is zero where it should not be. This
page is made from the registry of operations by `python scripts/coverage.py`, for NumPy {numpy} and SciPy {scipy}.

| status | what it means | functions |
|---|---|---:|
{counts}
| all | | {total} |

The third column says how a function that `ad.compile` has compiled carries out the call. The compiler is asked, for the
sample calls of the tests, which are mostly of float64 arrays. Each way gives the function's own values.

| compiled | what it means | functions |
|---|---|---:|
{ways}

Left out are modules that have arrays, text or generators of their own: `numpy.ma`, `numpy.char`, `numpy.strings`,
`numpy.rec`, `numpy.random`, `numpy.polynomial`, `numpy.emath`, `numpy.ctypeslib` and `numpy.testing`. They turn their
arguments into arrays, so a tensor in a graph raises there.
"""
MEANING = {
    Status.DIFFERENTIABLE: "gives a tensor; gradients flow through it",
    Status.CONSTANT: "gives plain arrays, which small changes of the argument do not change; or a tensor to write into",
    Status.IN_PLACE: "writes into its first argument, a tensor; gradients flow through what was written",
    Status.NOT_DIFFERENTIABLE: "raises `NotDifferentiableError` with the reason; works on tensors outside a graph",
    Status.NOT_SUPPORTED: "raises `NotSupportedError`, which names the call to use; works on tensors outside a graph",
    Status.NO_TENSOR: "is not for tensors; one in a graph raises",
}
WAYS = {
    HowCompiled.NATIVE: "native code computes it; most Fourier transforms call the loops of NumPy's own functions",
    HowCompiled.PARTLY: "native code computes some of it, or some of the calls, and NumPy the rest",
    HowCompiled.NUMPY: "a step between native ones, in which NumPy or SciPy computes it",
    HowCompiled.FIXED: "its answer does not depend on values, and is part of the program",
    HowCompiled.REFUSED: "a function that calls it with values is not compiled, and runs as it is",
}
ELSEWHERE = """
## Arrays of other libraries

{runs} of the {total} operations that have a derivative run on arrays that answer NumPy's protocols and that nobody can
look at: value, pullback, tangent, second order and `vmap`, tested on a strict stand-in. These do not, and raise:

| operation | why |
|---|---|
{rows}"""
TITLES = {"scipy.special": "scipy.special, universal functions"}


def page() -> str:
    """The text of the page."""
    walked = namespaces()
    places = {id(f): place_of(f) for functions in walked.values() for f in functions.values()}
    missing = sorted(name for fs in walked.values() for name, f in fs.items() if places[id(f)] is None)
    if missing:
        raise SystemExit(f"no status: {', '.join(missing)}; give them one (see docs/add_an_op.md)")
    counted = Counter(place.status for place in places.values() if place is not None)
    counts = "\n".join(f"| {status.value} | {meaning} | {counted[status]} |" for status, meaning in MEANING.items())
    ways = {id(f): compiled_as(f) for functions in walked.values() for f in functions.values()}
    told = Counter(ways.values())
    text = HEAD.format(
        numpy=np.__version__,
        scipy=scipy.__version__,
        counts=counts,
        total=len(places),
        ways="\n".join(f"| {way.value} | {meaning} | {told[way]} |" for way, meaning in WAYS.items()),
    )
    for module, functions in walked.items():
        text += f"\n## {TITLES.get(module, module)}\n\n| function | status | compiled | note |\n|---|---|---|---|\n"
        names: dict[int, list[str]] = {}
        for name, function in functions.items():
            names.setdefault(id(function), []).append(f"`{name}`")
        text += "".join(row(same, places[i], ways[i]) for i, same in names.items())
    return text + elsewhere()


def elsewhere() -> str:
    """What runs on other libraries' arrays, and what does not."""
    reasons: dict[str, list[str]] = {}
    for name, why in sorted(WITHOUT.items()):
        reasons.setdefault(why, []).append(f"`{name}`")
    entries = [entry.name for entry in walk()]
    rows = "".join(f"| {', '.join(names)} | {why} |\n" for why, names in reasons.items())
    return ELSEWHERE.format(runs=len(entries) - len(WITHOUT), total=len(entries), rows=rows)


def row(names: list[str], place: Coverage | None, way: HowCompiled) -> str:
    assert place is not None
    return f"| {', '.join(names)} | {place.status.value} | {way.value} | {place.note} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
