"""One derivative to check: a function of several arrays, the arrays, and their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, GradientMismatchError
from adjoint.core.objects.trees import flatten, paths
from adjoint.core.op import Op, rule_of
from adjoint.core.types import Array, Function, Value
from adjoint.testing.coordinates import count, label, to_arrays, to_vector
from adjoint.transforms.reverse import vjp


def _fitting(g: Array, x_shape: tuple[int, ...], x_dtype: np.dtype) -> Array:
    if g.shape != x_shape or g.dtype != x_dtype:
        raise GradientMismatchError(
            f"a rule gave a cotangent of shape {g.shape} and dtype {g.dtype} for an input of shape {x_shape} and dtype "
            f"{x_dtype}; a cotangent has its input's shape and dtype"
        )
    return g


# The identity, with a look at the cotangent that comes back: a leaf would quietly make it fit.
probe = Op("probe", lambda x: x, ("x",), (rule_of(_fitting),))


@dataclass(frozen=True, slots=True)
class CheckedProblem:
    """A function of arrays that gives a list of arrays, where to differentiate it, and the names of its inputs.

    Attributes:
        function: takes the arrays `point`, or boxes in their place, to a list of real or complex arrays.
        point: the inputs that vary.
        names: what messages call them.
        what: the name of the derivative, such as "first derivative".
        outputs: the values of `function` at `point`.
        title: what messages call the function.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.testing import CheckedProblem
        >>> x = np.array([1.0, 2.0])
        >>> CheckedProblem(lambda x: [x**2], [x], ["x"], "first derivative", [x**2], "square").size
        (2, 2)
    """

    function: Callable[..., list[Value]]
    point: list[np.ndarray]
    names: list[str]
    what: str
    outputs: list[np.ndarray]
    title: str

    @property
    def size(self) -> tuple[int, int]:
        """The number of real coordinates of the inputs and of the outputs."""
        return count(self.point), count(self.outputs)

    def pullback(self, point: Sequence[Array] | None = None) -> Callable[..., tuple[Value, ...]]:
        """The pullback of `function` at `point`: a list of cotangents of the outputs to cotangents of the inputs."""
        _, pullback = vjp(lambda *xs: self.function(*map(probe, xs)), *(self.point if point is None else point))
        return cast(Callable[..., tuple[Value, ...]], pullback)

    def value(self, vector: np.ndarray) -> np.ndarray:
        """The outputs' coordinates as a function of the inputs' coordinates."""
        return to_vector([np.asarray(out) for out in self.function(*to_arrays(vector, self.point))])

    def output_label(self, i: int) -> str:
        names = ["out"] if len(self.outputs) == 1 else [f"out[{k}]" for k in range(len(self.outputs))]
        return label(i, self.outputs, names)

    def input_label(self, i: int) -> str:
        return label(i, self.point, self.names)

    def cast(self, dtypes: Sequence[np.dtype]) -> CheckedProblem:
        """The same problem at inputs of other `dtypes`."""
        point = [np.asarray(x, dtype) for x, dtype in zip(self.point, dtypes, strict=True)]
        outputs = [np.asarray(out) for out in self.function(*point)]
        return CheckedProblem(self.function, point, self.names, self.what, outputs, self.title)

    def derived(self, weights: list[np.ndarray], what: str) -> CheckedProblem:
        """The pullback as a function of the inputs and of its cotangent: its derivatives are the next order's."""
        n = len(self.point)

        def pulled(*values: Array) -> list[Value]:
            return list(self.pullback(values[:n])(list(values[n:])))

        point = [*self.point, *weights]
        names = [*self.names, *(f"cotangent {k}" for k in range(len(weights)))]
        outputs = [np.asarray(out) for out in pulled(*point)]
        return CheckedProblem(pulled, point, names, what, outputs, self.title)


def problem_of(f: Function, args: object, kwargs: dict[str, object]) -> tuple[CheckedProblem, list[Value]]:
    """The first problem for `f` at `args`, in float64 or complex128; and the dtypes that its inputs came in."""
    args = tuple(args) if isinstance(args, tuple | list) else (args,)
    title = getattr(f, "__name__", None) or getattr(f, "name", None) or type(f).__name__
    leaves, rebuild = flatten((args, kwargs))
    positional = len(flatten(args)[0])
    varying = [i for i, leaf in enumerate(leaves) if varies(leaf, number=i < positional)]
    if not varying:
        raise ArgumentError(
            f"check_grads: nothing to differentiate {title} by: no real or complex array or float among its "
            f"arguments. Call it as check_grads(f, (np.array([0.5, 1.5]),))"
        )
    labels = [f"args{p[3:]}" if p.startswith("[0]") else f"kwargs{p[3:]}" for p in paths((args, kwargs))]

    def function(*values: Array) -> list[Value]:
        given = [raised(leaf) if varies(leaf, number=False) else leaf for leaf in leaves]
        for i, value in zip(varying, values, strict=True):
            given[i] = value
        found_args, found_kwargs = rebuild(given)
        results, _ = flatten(f(*found_args, **found_kwargs))
        return [out for out in results if np.result_type(out).kind in "fc" or isinstance(out, Box)]

    point = [raised(leaves[i]) for i in varying]
    outputs = [np.asarray(out) for out in function(*point)]
    if not outputs:
        raise ArgumentError(f"check_grads: {title} gives no real or complex numbers, so it has no derivative to check")
    again = [np.asarray(out) for out in function(*point)]
    if not all(map(_same, outputs, again)):
        raise ArgumentError(
            f"check_grads: two calls of {title} with the same arguments gave different values; draw its random "
            f"numbers from a generator that is seeded inside it"
        )
    dtypes = [np.asarray(leaves[i]).dtype for i in varying]
    return CheckedProblem(function, point, [labels[i] for i in varying], "first derivative", outputs, title), dtypes


def varies(leaf: Array, number: bool) -> bool:
    """Whether to differentiate by `leaf`: real and complex arrays, and Python numbers if `number`."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "fc"
    return number and type(leaf) in (float, complex)


def raised(leaf: Array) -> np.ndarray:
    """`leaf` in double precision."""
    array = np.asarray(leaf)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))
