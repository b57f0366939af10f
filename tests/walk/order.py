"""In which order results lie, for arguments that lie in any: checks that `tests/test_registry_memory.py` walks.

`ravel` and `reshape` give views of some orders and copies of others, so the order says what a later write reaches.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Literal

import numpy as np

from adjoint.core.errors import GradientMismatchError
from adjoint.core.memory import is_laid_out, lies, without_repeats
from adjoint.core.objects.trees import flatten
from adjoint.core.registry import Entry
from adjoint.core.types import Array, Value
from adjoint.testing.samples import samples
from adjoint.transforms.batch import vmap
from adjoint.transforms.reverse import vjp
from tests.walk.memory import LayoutTrial

Layout = Callable[[np.ndarray], np.ndarray]
MOST = 3  # axes: their orders are tried all


def layouts(n: int) -> Iterator[tuple[str, Layout]]:
    """Ways in which an array of `n` axes may lie: in each order of its axes, and repeated along each of them."""
    for axes in permutations(range(n)):
        yield f"axes {axes}", partial(_by, axes)
    for axis in range(n):
        for order in ("C", "F"):
            yield f"repeated along {axis}, {order}", partial(_repeated, axis, order)


def _by(axes: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    return np.transpose(np.copy(np.transpose(x, axes), order="C"), np.argsort(axes))


def _repeated(axis: int, order: Literal["C", "F"], x: np.ndarray) -> np.ndarray:
    once = np.copy(np.take(x, [0], axis), order=order)
    return once if once.shape == x.shape else np.broadcast_to(once, x.shape)  # nothing repeated: it can be written


def pile(sample: np.ndarray, where: str) -> np.ndarray:
    """Two of `sample`, each with strides as it has them; the samples lie one after another, or element by element."""
    once = sample[without_repeats(sample)]
    order = sorted(range(sample.ndim), key=lambda axis: -abs(sample.strides[axis]))
    axes = (0, *(axis + 1 for axis in order)) if where == "outermost" else (*(axis + 1 for axis in order), 0)
    stack = _by(axes, np.stack([once, once]))
    return stack if once.shape == sample.shape else np.broadcast_to(stack, (2, *sample.shape))


def check_order(entry: Entry) -> int:
    """Results of the sample calls of `entry` lie as NumPy's, and are read-only where NumPy's are.

    Of real arguments of two or three axes in all layouts; of complex ones and integers in one.

    Returns:
        How many results were compared.

    Raises:
        GradientMismatchError: if a result lies otherwise.
    """
    compared = 0
    for sample in samples(entry):
        trial = LayoutTrial(entry, sample, "C")
        given = [np.asarray(x) for x in trial.arrays]
        for n in {x.ndim for x in given} & set(range(2, MOST + 1)):
            for kind, made in (("real", given), ("complex", [x + 1j for x in given]), ("int", _integers(given))):
                for name, lay in layouts(n):
                    if kind == "real" or name == f"axes {tuple(reversed(range(n)))}":
                        laid = [lay(x) if x.ndim == n else x for x in made]
                        for mode in ("reverse", "outermost", "innermost"):
                            compared += _compare(trial, laid, f"{trial.name}, {kind}, {name}, {mode}", mode)
    return compared


def _integers(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [np.rint(np.nan_to_num(8 * x.real)).astype(int) for x in arrays]


def _compare(trial: LayoutTrial, arrays: list[np.ndarray], name: str, mode: str) -> int:
    found: list[Value] = []

    def call(*xs: Array) -> list[Value]:
        leaves = list(trial.leaves)
        for i, x in zip(trial.varying, xs, strict=True):
            leaves[i] = x
        args, kwargs = trial.rebuild(leaves)
        return flatten(trial.function(*args, **kwargs))[0]

    def noted(*xs: Array) -> list[Array]:
        out = call(*xs)
        found[:] = map(lies, out)
        return [x for x in out if hasattr(x, "shape")]

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if mode == "reverse":
                wanted = call(*arrays)
                vjp(noted, *arrays)
            else:
                stacks = [pile(x, mode) for x in arrays]
                wanted = call(*(x[0] for x in stacks))
                vmap(noted)(*stacks)
        except Exception:
            return 0  # what is refused, and by whom, is another test's matter
    pairs = [(x, y) for x, y in zip(found, wanted, strict=True) if isinstance(x, np.ndarray) and np.ndim(y) > 1]
    for x, y in pairs:
        if y.size and (_orders(x) != _orders(y) or x.flags.writeable != y.flags.writeable):
            raise GradientMismatchError(
                f"{name}: the result has strides {x.strides}, writeable: {x.flags.writeable}; NumPy's has {y.strides}, "
                f"writeable: {y.flags.writeable}"
            )
    return len(pairs)


def _orders(x: np.ndarray) -> list[tuple[int, ...]]:
    """The orders of axes in which `x` lies without gaps: axes of one element lie anywhere."""
    return [axes for axes in permutations(range(x.ndim)) if is_laid_out(x, axes)]
