"""Write `docs/coverage.md`: every function of NumPy and every ufunc of `scipy.special`, with its status.

Run as ``python scripts/coverage.py``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import scipy

from adjoint.testing.coverage import Place, Status, namespaces, place_of

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
HEAD = """# Coverage

What each function of NumPy, and each universal function of `scipy.special`, does with a tensor in a graph: one of six
things, and never a silent copy, an array of Python objects, or a gradient that is zero where it should not be. This
page is made from the registry of operations by `python scripts/coverage.py`, for NumPy {numpy} and SciPy {scipy}.

| status | what it means | functions |
|---|---|---:|
{counts}
| all | | {total} |

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
    text = HEAD.format(numpy=np.__version__, scipy=scipy.__version__, counts=counts, total=len(places))
    for module, functions in walked.items():
        text += f"\n## {TITLES.get(module, module)}\n\n| function | status | note |\n|---|---|---|\n"
        names: dict[int, list[str]] = {}
        for name, function in functions.items():
            names.setdefault(id(function), []).append(f"`{name}`")
        text += "".join(row(same, places[i]) for i, same in names.items())
    return text


def row(names: list[str], place: Place | None) -> str:
    assert place is not None
    return f"| {', '.join(names)} | {place.status.value} | {place.note} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
