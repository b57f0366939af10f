"""Write `docs/conformance.md`: what becomes of calls of other libraries with tensors.

Each call of `conformance_cases` is made twice: with NumPy arrays, and with tensors that require a gradient. The
gradient is compared with differences of the first. A result that comes without a graph, although it depends on
the input, is the one thing that must not be; the script then fails.

    python scripts/conformance.py            write the page
    python scripts/conformance.py --print    print it instead
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import numpy as np

import adjoint as ad
from adjoint.core.registry import answer

sys.path.insert(0, str(Path(__file__).parent))
from conformance_cases import ARRAYS, Case, cases

PAGE = Path(__file__).parents[1] / "docs" / "conformance.md"
HEADING = "## Packages"  # from here on the page is written by `scripts/strangers.py`
MEANING = {
    "gradient": "runs on tensors, and the gradient is right",
    "constant": "runs on tensors; its result does not change with small changes of the input, so has no gradient",
    "ours": "refuses tensors; the note names the call that takes them",
    "refused": "refuses tensors with the error in the note",
    "nan": "runs on tensors, and the gradient is nan: visible, and no use",
    "WRONG": "a gradient that differs from differences",
    "SILENT": "a result without a graph that depends on the input",
}
STEP, TOLERANCE = 1e-6, 2e-5


class Outcome(NamedTuple):
    library: str
    name: str
    outcome: str
    note: str = ""


def resolve(name: str) -> Any:
    """The object called `name`, modules imported as needed."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise ImportError(name)


def leaves(result: Any) -> Iterator[Any]:
    """The numbers and arrays in a result, whatever holds them."""
    if isinstance(result, ad.Tensor | np.ndarray | np.generic | float | int | complex):
        if np.dtype(getattr(result, "dtype", type(result))).kind in "iufcb":
            yield result
    elif isinstance(result, tuple | list):
        for part in result:
            yield from leaves(part)
    elif hasattr(result, "dims"):  # of xarray
        yield from leaves(result.variable.data)
    elif hasattr(result, "__dict__"):
        for key, part in sorted(vars(result).items()):
            if not key.startswith("_"):
                yield from leaves(part)


def moved(case: Case, direction: dict[str, np.ndarray], step: float) -> list[Any]:
    arrays = [ARRAYS[name] + step * direction[name] for name in case.inputs]
    return [np.asarray(leaf) for leaf in leaves(case.call(resolve(case.name), *arrays))]


def judge(case: Case) -> Outcome:
    """Make the call, inside `grad` and on tensors in a graph, and say what became of it."""
    rng = np.random.default_rng(11)
    direction = {name: rng.normal(size=ARRAYS[name].shape) for name in case.inputs}
    high, low = moved(case, direction, STEP), moved(case, direction, -STEP)
    slopes = [
        np.subtract(a, b) / (2 * STEP) if a.dtype.kind in "fc" else np.zeros(()) for a, b in zip(high, low, strict=True)
    ]
    inside = _judge(case, direction, slopes, _grad)
    outside = _judge(case, direction, slopes, _backward)
    if outside.outcome in (inside.outcome, "constant"):
        return inside
    if outside.outcome.isupper():
        return outside
    return inside._replace(note=f"outside of `ad.grad`: {outside.outcome} {outside.note}")


def _grad(loss: Any, arrays: list[np.ndarray]) -> Any:
    return ad.grad(loss, argnums=tuple(range(len(arrays))))(*arrays)


def _backward(loss: Any, arrays: list[np.ndarray]) -> Any:
    tensors = [ad.tensor(a, requires_grad=True) for a in arrays]
    loss(*(t * 1.0 for t in tensors)).backward()
    return [np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in tensors]


def _judge(case: Case, direction: dict[str, np.ndarray], slopes: list[Any], differentiate: Any) -> Outcome:
    label, rng = (case.library, case.name), np.random.default_rng(12)
    wrong: list[Outcome] = []
    expected: list[float] = []

    def loss(*tensors: Any) -> Any:
        total = 0.0 * sum(map(np.sum, tensors))
        outputs = list(leaves(case.call(resolve(case.name), *tensors)))
        if len(outputs) != len(slopes):
            wrong.append(Outcome(*label, "WRONG", f"{len(outputs)} results where NumPy arrays give {len(slopes)}"))
            return total
        for output, slope in zip(outputs, slopes, strict=True):
            if isinstance(output, ad.Tensor) and output.requires_grad:
                weight = rng.normal(size=output.shape)
                total = total + np.sum(weight * np.real(output)) + np.sum(weight * np.imag(output))
                expected.append(np.sum(weight * np.real(slope)) + np.sum(weight * np.imag(slope)))
            elif np.max(np.abs(slope), initial=0.0) > 1e-7:
                wrong.append(Outcome(*label, "SILENT", f"a result of shape {np.shape(slope)} without a graph"))
        return total

    try:
        gradients = differentiate(loss, [ARRAYS[name] for name in case.inputs])
    except Exception as error:  # any error is a refusal, and the page says which
        return refusal(case, error)
    if wrong:
        return wrong[0]
    if not expected:
        return Outcome(*label, "constant")
    if not all(isinstance(g, np.ndarray) for g in gradients):
        return Outcome(*label, "WRONG", f"gradients of type {', '.join(type(g).__name__ for g in gradients)}")
    found = sum(np.sum(g * d) for g, d in zip(gradients, direction.values(), strict=True))
    if not np.isfinite(found):
        return Outcome(*label, "nan", "nan arises within the function, which then overwrites it")
    if abs(found - sum(expected)) > TOLERANCE * max(1.0, abs(sum(expected))):
        return Outcome(*label, "WRONG", f"{found:.8g} instead of {sum(expected):.8g}")
    return Outcome(*label, "gradient")


def refusal(case: Case, error: BaseException) -> Outcome:
    """What the page says of an error: of ours, where that lies beneath."""
    beneath: BaseException | None = error
    while beneath is not None and not isinstance(beneath, ad.AdjointError):
        beneath = beneath.__cause__ or beneath.__context__
    error = beneath or error
    note = type(error).__name__
    if not isinstance(error, ad.LeavesGraphError):
        message = re.sub(r": [{\[]<module.*", "", " ".join(str(error).split()))
        note += ": " + message.partition(". ")[0][:120]
    ours = replacement(case.name)
    return Outcome(case.library, case.name, "ours" if ours else "refused", f"`{ours}`" if ours else note)


def replacement(name: str) -> str:
    """A call of adjoint's, or of NumPy's, that does the same on tensors."""
    _, *modules, function = name.split(".")
    if not name.startswith("scipy."):
        return ""
    try:
        resolve(".".join(("adjoint.scipy", *modules, function)))
        return ".".join(("adjoint.scipy", *modules, function))
    except (ImportError, AttributeError):
        pass
    if modules in (["linalg"], ["fft"]) and answer(getattr(getattr(np, modules[0]), function, None)) is not None:
        return f"numpy.{modules[0]}.{function}"
    return "numpy.convolve" if name == "scipy.signal.convolve" else ""


def page(outcomes: list[Outcome]) -> str:
    counts = Counter(o.outcome for o in outcomes)
    made_with = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "einops", "xarray"))
    lines = [
        "# What other libraries do with tensors",
        "",
        f"{len(outcomes)} functions, called with tensors that require a gradient; SciPy with `SCIPY_ARRAY_API=1`,",
        "scikit-learn with `array_api_dispatch=True` ([how to switch them on](howto/array_api.md)).",
        f"Gradients are compared with differences. Written by `scripts/conformance.py`, with {made_with}.",
        "",
        "| outcome | functions | meaning |",
        "|---|---|---|",
        *(
            f"| {key} | {counts[key]} | {text} |"
            for key, text in MEANING.items()
            if counts[key] or key in ("SILENT", "WRONG")
        ),
        "",
        "`LeavesGraphError` is adjoint's: the function wanted plain numbers, and the gradient would have been lost.",
        "`Multiple namespaces` is SciPy's: it wants all arrays to be tensors, so constants go through `xp.asarray`.",
    ]
    for library in dict.fromkeys(o.library for o in outcomes):
        lines += ["", f"## {library}", "", "| function | outcome | note |", "|---|---|---|"]
        lines += [
            f"| `{o.name}` | {o.outcome} | {o.note.replace('|', '/')} |" for o in outcomes if o.library == library
        ]
    _, _, packages = PAGE.read_text(encoding="utf-8").partition(HEADING)
    return "\n".join(lines) + "\n" + ("\n" + HEADING + packages if packages else "")


def main() -> int:
    import sklearn

    warnings.simplefilter("ignore")
    with sklearn.config_context(array_api_dispatch=True), np.errstate(all="ignore"):
        outcomes = [judge(case) for case in cases()]
    if "--print" in sys.argv:
        sys.stdout.write(page(outcomes))
    else:
        PAGE.write_text(page(outcomes), encoding="utf-8")
    bad = [o for o in outcomes if o.outcome.isupper()]
    for o in bad:
        print(f"{o.name}: {o.outcome}, {o.note}", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main())
