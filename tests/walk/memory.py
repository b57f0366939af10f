"""What a write through a result reaches: checks that `tests/test_registry_memory.py` walks.

The values of a result do not show whether it is a view, and in which order it lies. So each sample call is made on
arrays of every layout, and its results are written: at one element, and through `reshape` by each order of their axes,
which shows the memory of some layouts and copies others. Afterwards all arrays must hold what NumPy's hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np

from adjoint.compiler import compile
from adjoint.core.box import Box
from adjoint.core.errors import AdjointError, GradientMismatchError
from adjoint.core.memory import axes_by, is_laid_out, shows
from adjoint.core.objects.trees import flatten
from adjoint.core.op import SampleCall
from adjoint.core.registry import Entry
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.on_symbols import on_symbols
from adjoint.ops.values import is_number
from adjoint.testing.samples import samples
from adjoint.transforms.batch import vmap
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import vjp


def _flipped(x: Array) -> Array:
    back = (slice(None, None, -1),) * np.ndim(x)
    return np.copy(x[back], order="C")[back]


def _turned(x: Array) -> Array:
    axes = (*range(1, np.ndim(x)), 0)
    return np.transpose(np.copy(np.transpose(x, axes), order="C"), np.argsort(axes))


#: Each takes an array to one of another layout, by NumPy calls alone; and the least number of axes that it needs.
LAYOUTS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "C": (lambda x: np.copy(x, order="C"), 0),
    "Fortran": (lambda x: np.copy(x, order="F"), 2),
    "turned": (_turned, 3),
    "negative strides": (_flipped, 1),
    "strided": (lambda x: np.copy(np.repeat(x, 2, axis=-1), order="C")[..., ::2], 1),
    "broadcast": (lambda x: np.broadcast_to(np.copy(x[:1]), np.shape(x)), 1),
    "0-d": (lambda x: np.copy(x[(0,) * np.ndim(x) + (...,)]), 1),
    "empty": (lambda x: np.copy(x[:0]), 1),
}
#: The orders of axes through which results are written, by their number; of many axes, two.
ORDERS = [list(permutations(range(n))) for n in range(4)] + [
    [tuple(range(n)), tuple(range(n))[::-1]] for n in range(4, 8)
]
# What these make of a sample call may be refused.
CHANGED = ("broadcast", "0-d", "empty")


class LayoutTrial:
    """One sample call of an operation on arrays of one layout, as a function of its arrays that vary."""

    def __init__(self, entry: Entry, sample: SampleCall, layout: str) -> None:
        # Those that NumPy hands over; SciPy's written in Python do not.
        handed = [f for f in entry.answers if isinstance(f, np.ufunc) or f.__module__.startswith("numpy")]
        self.function: Function = handed[0] if handed else entry
        self.name, self.layout = f"{entry.name}, {layout}", layout
        self.leaves, self.rebuild = flatten((sample.args, sample.kwargs))
        self.varying = [
            i for i, x in enumerate(self.leaves) if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fc"
        ]
        self.arrays = [self.leaves[i] for i in self.varying]

    def called(self, *xs: Array) -> tuple[list[Array], list[Array]]:
        """The arrays, in this layout, and what the operation gives for them."""
        lay, least = LAYOUTS[self.layout]
        arrays = [lay(x) if np.ndim(x) >= least else np.copy(x) for x in xs]
        given = list(self.leaves)
        for i, array in zip(self.varying, arrays, strict=True):
            given[i] = array
        args, kwargs = self.rebuild(given)
        return arrays, flatten(self.function(*args, **kwargs))[0]

    def __call__(self, *xs: Array) -> list[Array]:
        """All arrays after the results were written."""
        arrays, outs = self.called(*xs)
        outs = [out for out in outs if np.ndim(out) and np.result_type(out).kind in "fc" and np.size(out)]
        mark = 1000.0
        for out in outs:
            n = np.ndim(out)
            out[(0,) * n] = mark = mark * 1.7
            for axes in ORDERS[n]:
                np.reshape(np.transpose(out, axes), -1)[-1:] = mark = mark * 1.7
        return [*arrays, *outs]


def trials(entry: Entry) -> Iterator[LayoutTrial]:
    """The sample calls of `entry` that have arrays, in every layout."""
    for sample in samples(entry):
        for layout, (_, least) in LAYOUTS.items():
            trial = LayoutTrial(entry, sample, layout)
            if any(np.ndim(x) >= least for x in trial.arrays):
                yield trial


def _reverse(trial: LayoutTrial) -> Array:
    return vjp(trial, *trial.arrays)[0]


def _forward(trial: LayoutTrial) -> Array:
    return jvp(trial, trial.arrays, [np.ones_like(x) for x in trial.arrays])[0]


def _vmapped(trial: LayoutTrial) -> Array:
    return [x[1] for x in vmap(trial)(*(np.stack([x, x]) for x in trial.arrays))]


def _captured(trial: LayoutTrial) -> Array:
    return on_symbols(trial, *trial.arrays)(*trial.arrays)


MODES: dict[str, Callable[[LayoutTrial], Array]] = {
    "reverse": _reverse,
    "forward": _forward,
    "vmap": _vmapped,
    "capture": _captured,
}


def check_writes(trial: LayoutTrial, mode: str) -> bool | None:
    """In `mode`, writes through the results reach what they reach in NumPy; what NumPy refuses is refused.

    Returns:
        Whether there was something to compare: NumPy takes the call.

    Raises:
        GradientMismatchError: with what is otherwise.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = trial(*trial.arrays)
        except Exception as error:
            if "read-only" not in str(error):
                return False  # NumPy refuses the call itself
            expected = None
        try:
            found = [_values(x) for x in MODES[mode](trial)]
        except Exception as error:
            if expected is None or trial.layout in CHANGED or "read-only" in str(error):
                return False
            raise GradientMismatchError(f"{trial.name}, {mode}: {type(error).__name__}: {error}") from error
    if expected is None:
        raise GradientMismatchError(f"{trial.name}, {mode}: a result is written that NumPy gives read-only")
    _compare(trial, mode, found, expected)
    return True


def check_compiled_writes(chosen: Sequence[LayoutTrial], backend: str) -> bool:
    """The same for sample calls that NumPy takes, compiled as one program, in its second run and the next.

    Returns:
        Whether a program was recorded.

    Raises:
        GradientMismatchError: with what is otherwise.
    """
    arrays = [trial.arrays for trial in chosen]
    compiled = compile(
        lambda arrays: [trial(*xs) for trial, xs in zip(chosen, arrays, strict=True)], wait=True, backend=backend
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [compiled(arrays) for _ in range(4)]
        expected = [trial(*trial.arrays) for trial in chosen]
    for run in runs[1:]:
        for trial, found, right in zip(chosen, run, expected, strict=True):
            _compare(trial, f"compiled, {backend}", [_values(x) for x in found], right)
    return any(map(len, compiled._specializations.values()))


def is_taken(trial: LayoutTrial) -> bool:
    """Whether NumPy takes the call, and lets its results be written."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trial(*trial.arrays)
        except Exception:
            return False
    return True


def _compare(trial: LayoutTrial, mode: str, found: Sequence[np.ndarray], expected: Sequence[Array]) -> None:
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x.shape != np.shape(y) or not np.allclose(x, y, rtol=1e-9, atol=1e-9, equal_nan=True):
            what = f"argument {i}" if i < len(trial.arrays) else f"result {i - len(trial.arrays)}"
            raise GradientMismatchError(f"{trial.name}, {mode}: after writes, {what} is {x}, NumPy's is {y}")


def check_derivatives(trial: LayoutTrial, rng: np.random.Generator) -> None:
    """Forward and reverse mode agree about what was written: ⟨w, J t⟩ = ⟨Jᵀ w, t⟩.

    Raises:
        GradientMismatchError: if they do not.
    """
    arrays = trial.arrays
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tangents = [rng.standard_normal(np.shape(x)).astype(np.result_type(x)) for x in arrays]
            pushed = jvp(trial, arrays, tangents)[1]
            weights = [rng.standard_normal(np.shape(x)).astype(np.result_type(x)) for x in pushed]
            pulled = vjp(trial, *arrays)[1](weights)
        except (AdjointError, ArithmeticError, ValueError, TypeError, IndexError):
            return  # `check_writes` says whether that is right
    left, right = _product(weights, pushed), _product(pulled, tangents)
    if np.isfinite(left + right) and not np.isclose(left, right, rtol=1e-7, atol=1e-7 * (1 + abs(left))):
        raise GradientMismatchError(f"{trial.name}: after writes, ⟨w, J t⟩ is {left} and ⟨Jᵀ w, t⟩ is {right}")


def check_statement(entry: Entry, trial: LayoutTrial) -> bool:
    """What `entry` states of its result's memory holds for NumPy's result.

    Returns:
        Whether NumPy takes the call.

    Raises:
        GradientMismatchError: if it does not hold.
    """
    memory = entry.memory
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            arrays, outs = trial.called(*trial.arrays)
        except Exception:
            return False
    first = np.asarray(arrays[0])
    for out in (x for x in outs if isinstance(x, np.ndarray) and x.size > 1 and first.size > 1):
        view = any(shows(out, x) for x in arrays if isinstance(x, np.ndarray))
        if memory.view != "perhaps" and view != (memory.view == "always"):
            raise GradientMismatchError(f"{trial.name}: stated is a view: {memory.view}; NumPy's is one: {view}")
        if memory.locked and first.flags.writeable and out.flags.writeable:
            raise GradientMismatchError(f"{trial.name}: stated is that it is read-only; NumPy's is not")
        kept = first if first.ndim == out.ndim else np.empty((0,) * out.ndim)
        several = isinstance(getattr(entry, "forward", None), np.ufunc) or getattr(entry, "kind", "") == "elementwise"
        several |= memory.order == "K" and trial.layout == "broadcast"  # ufuncs and copies differ about strides of 0
        if memory.order and not (view or several) and not is_laid_out(out, axes_by(memory.order, kept)):
            raise GradientMismatchError(f"{trial.name}: stated is order {memory.order}; NumPy's strides: {out.strides}")
    return True


def _product(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    return float(sum(np.sum(np.real(np.conj(_values(x)) * _values(y))) for x, y in zip(xs, ys, strict=True)))


def _values(x: Array) -> np.ndarray:
    return np.array(x.detach().numpy() if isinstance(x, Box) else x)  # type: ignore[attr-defined]  # every box has detach()


def check_kinds(trial: LayoutTrial, mode: str) -> bool:
    """In `mode`, a result without axes is a number, which no write through a view of it reaches, where NumPy's is one.

    Returns:
        Whether there was something to compare.

    Raises:
        GradientMismatchError: if NumPy's is a number, and this one is not.
    """
    seen: list[list[bool]] = []

    def noted(*xs: Array) -> Array:
        outs = trial.called(*xs)[1]
        seen.append([is_number(x) or not hasattr(x, "shape") for x in outs if not np.ndim(x)])
        return sum((np.sum(np.abs(x)) for x in xs), start=np.zeros(()))

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            noted(*trial.arrays)
            if not seen[0]:
                return False
            KINDS[mode](noted, trial.arrays)
        except Exception:  # refused: of nothing, say
            return False
    if any(theirs and not ours for theirs, ours in zip(seen[0], seen[-1], strict=True)):
        raise GradientMismatchError(f"{trial.name}, {mode}: results are numbers: {seen[-1]}; NumPy's: {seen[0]}")
    return True


KINDS: dict[str, Callable[[Function, list[Array]], Value]] = {
    "reverse": lambda f, xs: vjp(f, *xs),
    "forward": lambda f, xs: jvp(f, xs, [np.ones_like(x) for x in xs]),
    "vmap": lambda f, xs: vmap(f)(*(np.stack([x, x]) for x in xs)),
}
