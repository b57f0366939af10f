"""What compiling must keep of sample calls of an operation: checks that `tests/test_registry_compiled.py` walks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from adjoint.compiler import compile
from adjoint.core.errors import GradientMismatchError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Function, Value
from adjoint.testing.cases import outputs, random_like
from adjoint.transforms.reverse import vjp
from tests.walk.batch import SampleStackTrial
from tests.walk.dtypes import in_dtype

ELSEWHERE = "elsewhere in memory"
GAPS = 4  # ulps: eagerly an argument is copied, which closes its gaps, and BLAS adds numbers with gaps in another order
# Besides float64 and float32, which are walked with their pullbacks.
OTHER_DTYPES = ("bool", "int8", "uint8", "int64", "float16", "complex64", "complex128")
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "by columns": lambda a: np.array(a, order="F"),
    "backwards": lambda a: np.flip(np.array(np.flip(a), order="C")),
    "with gaps": lambda a: np.stack([a, a], axis=-1)[..., 0],
}
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)
Point = list[list[Value]]  # for each call its cotangents and its arrays


class CompiledTrial:
    """Sample calls and their pullbacks as one function, which is compiled once for all of them.

    Args:
        calls: sample calls, each with the dtype of its real numbers.
        special: whether arrays with nan, infinities and zeros are tried, too.
    """

    def __init__(self, calls: Sequence[tuple[SampleStackTrial, type[Value]]], special: bool) -> None:
        self.names = [f"{stack.name}, {dtype.__name__}" for stack, dtype in calls]
        self.functions: list[Function] = []
        self.counts: list[int] = []  # of cotangents
        self.steps: list[float] = []  # between neighbouring numbers at 1
        rng, first, other = np.random.default_rng(0), [], []
        for stack, dtype in calls:
            one, two = ([_as(dtype, a) for a in point] for point in stack.points)
            results, rebuild = flatten(stack.case.f(*one))
            weights = [random_like(rng, x) for x in results]
            self.functions.append(_pulled(stack.case.f, rebuild, len(results)))
            self.counts.append(len(results))
            self.steps.append(float(np.finfo(dtype).eps))
            first.append([*weights, *one])
            other.append([*weights, *two])
        self.points = [("first", first), ("again", first), ("others", other)]
        for where, arrays_of in ((ELSEWHERE, first), (f"{ELSEWHERE}, later", other)):  # the first call records
            self.points.append((where, [[_strided(x) for x in arrays] for arrays in arrays_of]))
        for turn in range(len(SPECIAL) if special else 0):
            self.points.append((f"special {turn}", [self._planted(k, arrays, turn) for k, arrays in enumerate(first)]))

    def __call__(self, point: Point) -> list[object]:
        """Values and cotangents of all calls."""
        return [function(*arrays) for function, arrays in zip(self.functions, point, strict=True)]

    def _planted(self, k: int, arrays: list[Array], turn: int) -> list[Array]:
        """Arrays of call `k` with a special value in each, if it takes these. Cotangents: eager leaves out zeros."""
        count = self.counts[k]
        planted = arrays[:count] + [_planted(x, turn + i) for i, x in enumerate(arrays[count:])]
        try:
            _quietly(self.functions[k], *planted)
        except (ArithmeticError, ValueError):
            return arrays
        return planted


class Kinds:
    """Sample calls in whole numbers, truth values, half precision and complex numbers as one function; no pullbacks.

    Args:
        stacks: sample calls; each is tried in those dtypes that it takes.
    """

    def __init__(self, stacks: Sequence[SampleStackTrial]) -> None:
        self.names: list[str] = []
        self.steps: list[float] = []
        self._functions: list[Function] = []
        first, other = [], []
        for stack in stacks:
            for dtype in OTHER_DTYPES:
                one, two = ([in_dtype(a, dtype) for a in point] for point in stack.points)
                try:
                    found = [*outputs(_quietly(stack.case.f, *one)), *outputs(_quietly(stack.case.f, *two)), *one]
                    for laid in LAYOUTS.values():
                        _quietly(stack.case.f, *map(laid, one))
                        _quietly(stack.case.f, *map(laid, two))
                except (TypeError, ValueError, ArithmeticError, IndexError, NotImplementedError):
                    continue
                self.names.append(f"{stack.name}, {dtype}")
                self._functions.append(stack.case.f)
                self.steps.append(
                    max([float(np.finfo(x.dtype).eps) for x in found if x.dtype.kind in "fc"], default=0.0)
                )
                first.append(one)
                other.append(two)
        self.points = [("first", first), ("again", first), ("others", other)]
        for name, laid in LAYOUTS.items():
            for when, given in (("first", first), ("later", other)):  # the first call records
                self.points.append((f"{name}, {when}", [[laid(np.asarray(x)) for x in arrays] for arrays in given]))

    def __call__(self, point: Point) -> list[Array]:
        """Values of all calls."""
        return [function(*arrays) for function, arrays in zip(self._functions, point, strict=True)]


def check_compiled(trial: CompiledTrial | Kinds, backend: str, ulps: int) -> int:
    """Compiled, a trial gives what it gives eagerly, at all of its points one after another.

    Args:
        trial: what is compiled.
        backend: see `adjoint.compile`.
        ulps: how far a result may be off, in units in the last place of the largest number in the call; 0 for no bit.

    Returns:
        How many programs were recorded.

    Raises:
        GradientMismatchError: with both.
    """
    compiled = compile(lambda point: trial(point), wait=True, backend=backend)
    for name, point in trial.points:
        calls = zip(trial.names, trial.steps, point, strict=True)
        allowed = max(ulps, GAPS) if name.startswith(ELSEWHERE) else ulps
        results = zip(calls, _quietly(compiled, point), _quietly(trial, point), strict=True)
        for (label, step, arrays), found, expected in results:
            size = max((_largest(x) for x in arrays), default=0.0)
            for i, (x, y) in enumerate(zip(outputs(found), outputs(expected), strict=True)):
                if not near(x, y, allowed * step, size):
                    raise GradientMismatchError(
                        f"{label}, {name}: compiled, result {i} is {x} of {x.dtype}; it should be {y} of {y.dtype}"
                    )
    return sum(map(len, compiled._specializations.values()))


def near(found: np.ndarray, expected: np.ndarray, rtol: float, size: float = 0.0) -> bool:
    """Whether two results are one: the same numbers if `rtol` is 0, else so near for terms as large as `size`.

    The signs of 0 and of nan are left to NumPy.
    """
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    if expected.dtype.kind == "c":
        size = max(size, _largest(expected))
        parts = ((found.real, expected.real), (found.imag, expected.imag))
        return all(near(np.asarray(x), np.asarray(y), rtol, size) for x, y in parts)
    if not rtol or expected.dtype.kind != "f":
        return np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")
    return np.allclose(found, expected, rtol=0.0, atol=rtol * max(size, _largest(expected)), equal_nan=True)


def _pulled(f: Function, rebuild: Callable[[list[Value]], Value], count: int) -> Function:
    def value_and_cotangents(*arrays: Array) -> Array:
        value, pullback = vjp(f, *arrays[count:])
        return value, pullback(rebuild(list(arrays[:count])))

    return value_and_cotangents


def _quietly(f: Function, *args: object) -> Value:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


def _as(dtype: type[object], a: Array) -> Array:
    kind = np.result_type(a).kind
    return np.asarray(a, np.result_type(dtype, np.complex64) if kind == "c" else dtype) if kind in "fc" else a


def _strided(x: Array) -> Array:
    """The same values with gaps between them, or by columns."""
    x = np.asarray(x)
    return np.repeat(x, 2)[::2] if x.ndim == 1 else np.array(x, order="F")


def _planted(x: Array, turn: int) -> Array:
    """A copy with a special value in its middle."""
    planted = np.array(x)
    if planted.size and planted.dtype.kind in "fc":
        planted.flat[planted.size // 2] = SPECIAL[turn % len(SPECIAL)]
    return planted


def _largest(x: Array) -> float:
    """The largest finite absolute value."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
