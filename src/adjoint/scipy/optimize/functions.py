"""A user's function of a tree as a function of a vector, whose graph at the last point is kept.

SciPy asks for a value and for its derivatives in separate calls. A value is recorded. A derivative at the same point,
byte for byte, uses that record; if none is asked for, no backward pass runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adjoint.core.backend import as_array, fetched, is_elsewhere
from adjoint.core.box import Box, raw
from adjoint.core.errors import DTypeError, GradientError, LeavesGraphError, NotSupportedError, ShapeError
from adjoint.core.objects.trees import flatten, is_leaf, paths
from adjoint.core.protocol import in_graph
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Function, Value
from adjoint.scipy import derivatives
from adjoint.scipy.arrays import plain
from adjoint.scipy.followed import NO_NUMBERS
from adjoint.scipy.optimize.layout import VectorLayout


@dataclass
class Counts:
    """How often the function ran, and how often a pass went back through it."""

    forward: int = 0
    backward: int = 0
    products: int = 0


@dataclass
class Posed:
    """``f(tree, *args)`` of the tree that `layout` describes.

    Attributes:
        f: the user's function.
        layout: of its first argument.
        name: what messages call it, such as "minimize: f".
    """

    f: Function
    layout: VectorLayout
    name: str

    def number(self, x: Array, args: Value) -> Array:
        """The value, one real number, as float64."""
        value = self.f(self.layout.unravel(x), *args)
        shape = shape_of(value)
        if shape is None or int(np.prod(shape)) != 1:
            found = f"shape {shape}" if shape is not None else f"a {type(value).__name__}"
            raise ShapeError(f"{self.name} must give one number; it gave {found}. Reduce it: np.sum(…), np.mean(…)")
        if isinstance(x, Box) and dtype_of(value).kind in "iub":
            raise DTypeError(
                f"{self.name} gave {dtype_of(value)}, which does not vary smoothly, so there is no gradient to follow; "
                f"methods without gradients, such as Nelder-Mead, can do"
            )
        return self._real(np.reshape(value, ()), "")

    def vector(self, x: Array, args: Value) -> Array:
        """The values, an array or a tree of arrays of real numbers, as one float64 vector."""
        value = self.f(self.layout.unravel(x), *args)
        leaves, _ = flatten(value)
        parts = [np.reshape(self._real(leaf, path), (-1,)) for leaf, path in zip(leaves, paths(value), strict=True)]
        if not parts:
            raise ShapeError(f"{self.name} must give numbers, an array or a tree of arrays; it gave {value!r}")
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _real(self, value: Array, path: str) -> Array:
        value = value if isinstance(value, Box) else as_array(value)
        dtype = dtype_of(value)
        if dtype.kind not in "fiub":
            hint = " (np.abs(z) ** 2; np.stack([z.real, z.imag]))" if dtype.kind == "c" else ""
            raise DTypeError(f"{self.name} must give real numbers{hint}; value{path} has dtype {dtype}")
        return value if dtype == np.float64 else value.astype(np.float64)


def shape_of(value: Array) -> tuple[int, ...] | None:
    """The shape of an array or number; None for anything else."""
    return np.shape(value) if is_leaf(value) else None


class LastPoint:
    """A function of a vector that knows its last point.

    Args:
        function: ``function(x)`` gives a number or a vector.
        layout: names what is not finite.
        name: what messages call it.
        record: False if no derivative will be asked for.
        is_start: whether the first point is where a solver starts, so that the value must be finite.
    """

    def __init__(
        self,
        function: Callable[[Value], Value],
        layout: VectorLayout,
        name: str,
        record: bool = True,
        is_start: bool = True,
    ) -> None:
        self.function, self.layout, self.name, self.record, self.is_start = function, layout, name, record, is_start
        self.counts = Counts()
        self._value: Value = None
        self._pullback: object = None
        self._known: dict[str, tuple[bytes, Value]] = {}
        self._key = b""

    def value(self, x: Array) -> Array:
        """The value at `x`, recorded."""
        return self._at(x)[0]

    def _at(self, x: Array) -> tuple[Array, Array]:
        key = np.asarray(x, np.float64).tobytes()
        if key != self._key:
            point = np.array(x, np.float64)  # the solver may write into its own
            self._key, self._value, self._pullback = b"", None, None  # frees the last graph before the next is made
            self.counts.forward += 1
            value, pullback = derivatives.pulled(self.function, point) if self.record else (self.function(point), None)
            if isinstance(raw(value), Box):
                raise NotSupportedError(NO_NUMBERS)
            if in_graph(value):
                raise LeavesGraphError(
                    f"{self.name} uses a tensor that is none of its arguments, and its gradient would be lost. Pass it "
                    f"as one, args=(…,), or if it is a constant here, t.detach()"
                )
            value = self._here(key, value, pullback)
            self._value, self._pullback = plain(value)[()], pullback
            first, self.is_start = self.is_start, False
            if first and not np.all(np.isfinite(self._value)):
                raise GradientError(
                    f"{self.name} is {_shown(self._value)} at the starting point; start where it is finite"
                )
            self._key = key
        return self._value, self._pullback

    def _here(self, key: bytes, value: Array, pullback: object) -> Array:
        """`value`, fetched if it is elsewhere."""
        return value

    def once(self, what: str, x: Array, compute: Callable[[Value], Value]) -> Array:
        """``compute(x)``, kept until another point is asked for."""
        key = np.asarray(x, np.float64).tobytes()
        known = self._known.get(what)
        if known is None or known[0] != key:
            known = self._known[what] = (key, compute(np.array(x, np.float64)))
        return known[1]

    def finite(self, derivative: Array, value: Array) -> Array:
        """A derivative whose last axis is that of the parameters.

        Raises:
            GradientError: if it is not finite where the value is.
        """
        bad = ~np.isfinite(derivative)
        if bad.any() and np.all(np.isfinite(value)):
            mask = bad.reshape(-1, bad.shape[-1]).any(axis=0)
            raise GradientError(
                f"{self.name} is finite, but its derivative by {self.layout.where(mask)} is not. Look for a root or a "
                f"logarithm at 0, or for np.where with a branch that is nan; bounds keep the solver away"
            )
        return derivative


def _shown(value: Array) -> str:
    return str(value) if np.ndim(value) == 0 else f"not finite in element {int(np.argmax(~np.isfinite(value)))}"


class Objective(LastPoint):
    """A function with one number as its value: gradient, Hessian, and products with it."""

    def fun(self, x: Array) -> float:
        return float(self.value(x))

    def _here(self, key: bytes, value: Array, pullback: Value) -> Array:
        """Together with the gradient, which the solver asks for next: what both are made of is computed once."""
        if pullback is None or not is_elsewhere(value):
            return value
        self.counts.backward += 1
        value, gradient = fetched(value, pullback(np.float64(1.0)))
        self._known["gradient"] = key, self.finite(gradient, value)
        return value

    def jac(self, x: Array) -> Array:
        """The gradient, through the graph of the value."""
        return self.once("gradient", x, self._gradient).copy()

    def _gradient(self, x: Array) -> Array:
        value, pullback = self._at(x)
        self.counts.backward += 1
        return self.finite(plain(pullback(np.float64(1.0))), value)

    def hessp(self, x: Array, v: Array) -> Array:
        """The product of the Hessian with `v`; the linearisation is kept until another point is asked for."""
        self.counts.products += 1
        return self._products(x)(np.array(v, np.float64).ravel())

    def _products(self, x: Array) -> Callable[[Array], Array]:
        product: Callable[[Value], Value] = self.once(
            "curvature", x, lambda x: derivatives.curvature(self.function, x)[1]
        )
        return product

    def hess(self, x: Array) -> Array:
        """The Hessian, symmetric."""
        self.counts.products += self.layout.size
        h = plain(derivatives.matrix(self._products(x), self.layout.size))
        return (h + h.T) * 0.5


class Residuals(LastPoint):
    """A function with a vector as its value: Jacobian, and products with it."""

    _by_pattern: derivatives.SparseJacobian | None = None

    def fun(self, x: Array) -> Array:
        return np.array(self.value(x))

    def jac(self, x: Array) -> Array:
        """The Jacobian (m, n)."""
        return self.once("jacobian", x, self._dense).copy()  # SciPy scales its own in place, for robust losses

    def operator(self, x: Array) -> Array:
        """The Jacobian as a `scipy.sparse.linalg.LinearOperator`."""
        value, pullback = self._at(x)
        self.counts.backward += 1
        return derivatives.operator(pullback, value, self.layout.size)

    def sparse(self, x: Array) -> Array:
        """The Jacobian as a `scipy.sparse` array. Its pattern is found once, and `f` runs for a few directions anew."""
        return self.once("sparse", x, self._sparse).copy()

    def _sparse(self, x: Array) -> Array:
        self._by_pattern = self._by_pattern or derivatives.SparseJacobian()
        self.counts.backward += 1
        found = self._by_pattern(self.function, x)
        bad = found.indices[~np.isfinite(found.data)]
        self.finite(np.where(np.isin(np.arange(self.layout.size), bad), np.nan, 0.0), self.value(x))
        return found

    def _dense(self, x: Array) -> Array:
        value, pullback = self._at(x)
        self.counts.backward += 1
        return self.finite(derivatives.jacobian_of(pullback, value, self.layout.size), value)

    def weighted(self, x: Array, weights: Array) -> Array:
        """The Hessian of the sum of the values times `weights`, as an operator (trust-constr asks for this)."""
        from scipy.sparse.linalg import LinearOperator

        w, n = np.array(weights), self.layout.size
        product = derivatives.curvature(lambda x: np.sum(self.function(x) * w), np.array(x))[1]
        return LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), dtype=np.float64)
