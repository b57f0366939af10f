"""Solutions of equations as functions of the equations' parameters: `implicit_root`, `fixed_point`.

Where ``F(z(θ), θ) = 0``, ``F_z dz = -F_θ dθ`` (the implicit function theorem): the tangent of z is one linear solve
away, and so is the cotangent of θ, ``-F_θᵀ λ`` with ``F_zᵀ λ = g``. How z was found does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, DivergedError, GradientError, ShapeError
from adjoint.core.objects.trees import flatten, matched
from adjoint.core.types import Array, Function, P, R, Value
from adjoint.forward.dual import Dual
from adjoint.tape.tensor import Tensor
from adjoint.transforms.batch import vmap
from adjoint.transforms.calls import Custom, DerivativeCall, ruling, taken
from adjoint.transforms.custom import stop_gradient
from adjoint.transforms.custom_rules import Leaves, carried_out
from adjoint.transforms.forward import jvp
from adjoint.transforms.linear_solve import Ravelled, custom_linear_solve
from adjoint.transforms.reverse import vjp

DENSE = 256  # a larger system is solved by products only


def implicit_root(
    solver: Callable[P, R], condition: Function, *, nondiff_argnums: Sequence[int] | int = (), symmetric: bool = False
) -> Callable[P, R]:
    """``solver``, with the derivatives of the equation that its result fulfils.

    Args:
        solver: ``solver(*theta)`` gives z, an array or a tree of arrays. It may be any code; it is given plain arrays.
        condition: ``condition(z, *theta)``, of NumPy functions, is zero at the solution. It gives as many numbers as
            there are in z. Tensors that it uses must be among theta.
        nondiff_argnums: the numbers of those of theta that are settings. Keyword arguments are settings too.
        symmetric: whether the derivative of the condition by z is a symmetric matrix, as that of a gradient is.

    Returns:
        A function with the arguments of `solver`, differentiable in every mode and to every order, with one linear
        solve for each derivative. Up to 256 unknowns the matrix is made; beyond that its products are enough.

    Raises:
        ShapeError: if `condition` gives another number of values than there are unknowns.
        GradientError: if the solution has no derivative, or the solver stopped before it came there.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from scipy.optimize import brentq
        >>> kepler = lambda e, m, ecc: e - ecc * np.sin(e) - m
        >>> anomaly = ad.implicit_root(lambda m, ecc: brentq(kepler, 0.0, 7.0, (m, ecc)), kepler)
        >>> e = anomaly(1.0, 0.3)
        >>> bool(np.isclose(ad.grad(anomaly)(1.0, 0.3), 1 / (1 - 0.3 * np.cos(e))))
        True
    """
    rooted: Callable[P, R] = _Root(solver, condition, nondiff_argnums, symmetric)
    return rooted


class _Root(Custom[..., Value]):
    def __init__(self, solver: Function, condition: Function, nondiff: Sequence[int] | int, symmetric: bool) -> None:
        super().__init__(solver, nondiff)
        self.condition, self.symmetric = condition, symmetric

    def __call__(self, *args: Array, **kwargs: Value) -> Array:
        value = super().__call__(*args, **kwargs)
        made = self.call(*self.bound(args, kwargs))
        if not made.boxed:
            made.check_closed(made.leaves, made.results(value))
        return value

    def call(self, args: list[Value], settings: dict[str, Value]) -> _RootCall:
        return _RootCall(self, args, settings)


class _RootCall(DerivativeCall[_Root]):
    def forward(self, xs: Leaves) -> tuple[list[Value], Value]:
        zs = carried_out(self, xs)
        self.check_closed(xs, zs)
        return zs, (list(xs), list(zs))

    def check_closed(self, xs: Leaves, zs: Leaves) -> None:
        """Raise if the condition depends on something else that is differentiated, and of which `zs` do not know."""
        xs, fixed = stop_gradient(list(xs)), stop_gradient(list(zs))
        form = Ravelled(self.rebuilt(fixed))
        if _levels([self._off(form.vector, form, xs)]) - _levels(zs) - _levels(xs):
            raise GradientError(
                f"implicit_root: the condition of {self.name} uses an array that is differentiated (or differs between "
                f"samples) and is none of its arguments, so its gradient would be lost. Pass it as an argument; or, if "
                f"it is a constant, as ad.stop_gradient(t)"
            )

    def residual(self, xs: Leaves) -> Array:
        return self.forward(xs)[1]

    def _off(self, z: Array, form: Ravelled, xs: Leaves) -> Value:
        """By how much the vector `z` fails the condition."""
        condition = self.custom.condition
        args = (form.tree(z), *self.arguments(xs))
        value = ruling(condition, *args)(*args, **taken(condition, self.settings))
        off = Ravelled(value).vector
        if off.shape != z.shape:
            raise ShapeError(
                f"implicit_root: the condition of {self.name} gives {off.size} number(s) for {z.size} unknown(s); it "
                f"must give as many"
            )
        return off

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Value], list[Value]]:
        zs = carried_out(self, xs)
        self.check_closed(xs, zs)
        form = Ravelled(self.rebuilt(list(zs)))
        z, n = form.vector, form.vector.shape[0]
        moved = jvp(lambda *xs: self._off(z, form, xs), tuple(xs), tuple(ts))[1]

        def product(v: Array) -> Value:
            return jvp(lambda z: self._off(z, form, xs), (z,), (v,))[1]

        if n <= DENSE:
            off = self._off(z, form, stop_gradient(list(xs)))
            found = _dense(np.swapaxes(vmap(product)(_eye(z)), 0, 1), np.stack([moved, stop_gradient(off)], axis=1))
            _check(found[:, 1], np.maximum(np.abs(z), 1.0), off)
            tangent = found[:, 0]
        else:
            tangent = _by_products(product, moved, self.custom.symmetric)
        return zs, form.leaves(-tangent)

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Value]:
        xs, zs = residual
        form = Ravelled(self.rebuilt(list(zs)))
        z, g = form.vector, Ravelled.of(gs)
        off, pullback = vjp(lambda z: self._off(z, form, xs), z)

        def product(v: Array) -> Value:
            return pullback(v)[0]

        if z.shape[0] <= DENSE:
            multiplier = _dense(np.swapaxes(vmap(product)(_eye(z)), 0, 1), g)
        else:
            multiplier = _by_products(product, g, self.custom.symmetric)
        _check(np.sum(multiplier * np.conj(off)), np.sum(np.abs(g) * np.maximum(np.abs(z), 1.0)), off)

        def parameters(*chosen: Value) -> Value:
            everything = list(xs)
            for i, x in zip(wanted, chosen, strict=True):
                everything[i] = x
            return self._off(z, form, everything)

        found: list[Value] = [None] * len(xs)
        for i, c in zip(wanted, vjp(parameters, *(xs[i] for i in wanted))[1](-multiplier), strict=True):
            found[i] = c
        return found


def _levels(xs: Leaves) -> set[int]:
    """The levels at which one of `xs` varies."""
    found = set()
    for x in xs:
        while isinstance(x, Tensor | Dual | Batched):
            history: object = (
                x.node if isinstance(x, Tensor) else x.layers[1]
            )  # a dual's tangent, or whether it is a stack
            if history is not None and history is not False:
                found.add(x.level)
            x = x.held
    return found


def _eye(z: Array) -> np.ndarray:
    return np.eye(z.shape[0], dtype=z.dtype)


def _check(off: Array, scale: Array, residual: Array) -> None:
    """A solver that stopped early has another derivative: `off` is how far from the solution, to first order."""
    near = raw(np.less_equal(np.abs(off), 1e-3 * scale))
    if not isinstance(near, np.ndarray | np.generic | bool):  # a pattern has no numbers
        return
    if not np.all(near):
        raise GradientError(
            f"the solver stopped before it came to a solution (its equations are off by up to "
            f"{np.abs(raw(residual)).max():.1e}), so it has no derivative yet. Ask for more: tol=1e-10, more iterations"
        )


def _dense(a: Array, b: Array) -> Array:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise _not_isolated() from None


def _not_isolated() -> GradientError:
    return GradientError(
        "the solution has no derivative: the equations that define it are singular there. If other solutions lie "
        "beside it, make it unique, for example by a small penalty on the parameters. If abs is 0 there, its square "
        "has no second derivative: write np.abs(z)**2 as z.real**2 + z.imag**2"
    )


def _by_products(product: Function, b: Array, symmetric: bool) -> Value:
    from scipy.sparse.linalg import LinearOperator, gmres, minres

    def solve(product: Function, b: Array) -> Value:
        n = b.shape[0]
        system = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), dtype=b.dtype)
        found, _ = minres(system, b, rtol=1e-12) if symmetric else gmres(system, b, rtol=1e-12, restart=50)
        if not np.linalg.norm(system @ found - b) <= 1e-6 * np.linalg.norm(b):
            raise _not_isolated()
        return found

    return custom_linear_solve(product, b, solve, symmetric=symmetric)


def fixed_point(f: Function, x0: Array, *theta: Array, tol: float = 1e-10, max_steps: int = 1000) -> Array:
    """The x at which ``f(x, *theta)`` is x again, by iterating from `x0`; differentiable without the iterations.

    Args:
        f: takes and gives an array or a tree of arrays, like `x0`. Tensors that it uses must be among theta.
        x0: where to start. The result does not depend on it, so it has no derivative.
        theta: arrays or trees of arrays, by which the result is differentiable in every mode.
        tol: stop when no element moves by more than this, relative to it or to 1 (single precision: by a few of its
            own last digits).
        max_steps: how many steps to take at most.

    Raises:
        DivergedError: if it still moves after that.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> root = lambda a: ad.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a)  # Heron's
        >>> round(root(2.0), 12), round(float(ad.grad(root)(2.0)), 12)
        (1.414213562373, 0.353553390593)
    """

    def iterate(x: Array, *theta: Array) -> Array:
        gap = math.inf
        for _ in range(max_steps):
            new = f(x, *theta)
            gap = _moved(x, new)
            x = new
            if gap <= tol:
                return x
        raise DivergedError(
            f"fixed_point: after {max_steps} steps the values still move by {gap:.1e}, more than tol={tol:.1e}. Start "
            f"nearer to the solution, allow more steps (max_steps=), or damp f: 0.5 * (x + f(x))"
        )

    return implicit_root(iterate, lambda x, _, *theta: _differences(ruling(f, x, *theta)(x, *theta), x))(
        stop_gradient(x0), *theta
    )


def _moved(old: Batched, new: Batched) -> float:
    """By how much `new` differs from `old`, relative to it or to 1, beyond the precision of its numbers."""
    gaps = [0.0]
    try:
        pairs = zip(flatten(old)[0], matched(new, old), strict=True)
    except ValueError as error:
        raise ArgumentError(f"fixed_point: the function must give what it takes; {error}") from None
    for a, b in pairs:
        a, b = raw(a), raw(b)
        if getattr(b, "dtype", np.dtype(type(b))).kind not in "biufc":
            raise ArgumentError(f"fixed_point: the function must give numbers; it gave {b!r}")
        gap = np.abs(b - a) / np.maximum(np.abs(b), 1.0)
        if np.size(gap):
            gaps.append(float(np.max(gap)) - (4 * float(np.finfo(gap.dtype).eps) if gap.dtype.itemsize < 8 else 0.0))
    return math.nan if any(map(math.isnan, gaps)) else max(gaps)


def _differences(a: Array, b: Array) -> object:
    return [x - y for x, y in zip(flatten(a)[0], flatten(b)[0], strict=True)]
