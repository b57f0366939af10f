"""`custom_linear_solve`: the solution of a linear system, by any solver, as a function of matrix and right side.

At each level the solution below is used unchanged. The variation at this level gives another right side,
``db - dA x``, which is solved for with the same matrix; backward, with its transpose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.core.box import Box, outermost, raw, settled
from adjoint.core.errors import NotSupportedError, RuleError
from adjoint.core.objects.trees import flatten
from adjoint.core.rules.pullbacks import dtype_of, shape_of
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.forward.dual import Dual
from adjoint.forward.structure import Diagonal, Pattern
from adjoint.tape.node import as_array
from adjoint.tape.tensor import Tensor
from adjoint.tape.zeros.selected import Selected, bare
from adjoint.transforms.custom_rules import Derivative, Leaves, carried_out, operations, stripped
from adjoint.transforms.reverse import vjp


class Ravelled:
    """A tree of arrays as one vector, and the backward pass."""

    def __init__(self, tree: Tree) -> None:
        leaves, self._rebuild = flatten(tree)
        self._forms = [(shape_of(x), dtype_of(x)) for x in leaves]
        self.vector = self.of(leaves)

    @staticmethod
    def of(leaves: Sequence[Array]) -> Value:
        """The elements of `leaves` one after another."""
        rows = [np.ravel(as_array(x)) for x in leaves]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def leaves(self, vector: Array) -> list[Array]:
        """The arrays that are in `vector`."""
        start, found = 0, []
        for shape, dtype in self._forms:
            stop = start + math.prod(shape)
            piece = np.reshape(vector[start:stop], shape)
            found.append(piece if piece.dtype == dtype or piece.dtype.kind != dtype.kind else piece.astype(dtype))
            start = stop
        return found

    def tree(self, vector: Array) -> Value:
        """The tree that has its elements from `vector`."""
        return self._rebuild(self.leaves(vector))


def custom_linear_solve(
    matvec: Function, b: Array, solve: Function, transpose_solve: Function | None = None, symmetric: bool = False
) -> Array:
    """``solve(matvec, b)``, the x at which ``matvec(x)`` is b, with the derivatives of a linear solve.

    Args:
        matvec: a linear function, of NumPy functions, whose value is of the structure and shapes of its argument. It
            may use tensors: the result is differentiable by those.
        b: the right side: an array, or a tree of arrays.
        solve: ``solve(matvec, b)`` gives x. It may be any code; it is given plain arrays, and a `matvec` of them.
        transpose_solve: ``transpose_solve(vecmat, g)``, the same for the (conjugate) transpose of `matvec`, for the
            backward pass. Without it `solve` is given that transpose, and what it gives is checked.
        symmetric: whether `matvec` is its own (conjugate) transpose.

    Returns:
        x, a tree like b, differentiable in every mode. Inside `vmap`, `solve` is called for one sample after another.

    Raises:
        RuleError: if x has another structure or shape than b; or if the transpose is needed, and `solve` does not
            solve it.
        NotSupportedError: for a second derivative by ``backward(create_graph=True)``; nested `ad.grad` gives it.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from scipy.sparse.linalg import LinearOperator, cg
        >>> def by_cg(matvec, b):
        ...     return cg(LinearOperator((len(b), len(b)), matvec=matvec), b, rtol=1e-12)[0]
        >>> def energy(k):
        ...     return np.sum(ad.custom_linear_solve(lambda x: k * x, np.ones(3), by_cg, symmetric=True))
        >>> ad.grad(energy)(np.array([1.0, 2.0, 4.0]))
        array([-1.    , -0.25  , -0.0625])
    """
    form = Ravelled(b)

    def ravelled(function: Function, what: str) -> Function:
        def inner(product: Function, v: Array) -> Value:
            return _like(form, function(lambda x: form.tree(product(Ravelled(x).vector)), form.tree(v)), what)

        return inner

    solves = ravelled(solve, "solve"), ravelled(transpose_solve or solve, "transpose_solve")
    products: Value = (lambda v: _like(form, matvec(form.tree(v)), "matvec"), None)
    if symmetric:
        products, solves = (products[0], products[0]), (solves[0], solves[0])
    return form.tree(_solved(_System(products, solves), form.vector))


def _like(form: Ravelled, tree: Tree, what: str) -> Array:
    given = Ravelled(tree)
    if given.vector.shape != form.vector.shape:
        raise RuleError(
            f"custom_linear_solve: {what} gave {given.vector.size} number(s) in {len(given.leaves(given.vector))} "
            f"array(s) for a right side of {form.vector.size}; it must give what b is like"
        )
    return given.vector


class _System:
    """A linear system on vectors: the products with its matrix and with the transpose, and what solves each.

    Dependences of the products on boxes of `levels`, those above the level that is solved, are left out.
    """

    def __init__(
        self,
        products: tuple[Function, Function | None],
        solves: tuple[Function, Function],
        levels: tuple[int, ...] = (),
    ) -> None:
        self.products, self.solves, self.levels = products, solves, levels

    def product(self, v: Array) -> Value:
        """The matrix times `v`."""
        x = self.products[0](v)
        for level in self.levels:
            x = _below(x, level)
        return x

    def transposed(self, like: Batched) -> _System:
        """The system of the conjugate transpose."""
        product, back = self.products
        if back is None:
            # Not of what is left when levels are taken off: they lie beneath the one that this opens.
            pullback = vjp(product, np.zeros_like(like))[1]
            back = lambda v: pullback(v)[0]  # noqa: E731 - one of two ways to have it
        return _System((back, product), self.solves[::-1], self.levels)

    def below(self, level: int) -> _System:
        """The same without what is of `level`."""
        return _System(self.products, self.solves, (*self.levels, level))


def _below(x: Array, level: int) -> Array:
    x = settled(x, level)
    return x.held if isinstance(x, Tensor | Dual | Selected) and x.level == level else x


def _solved(system: _System, b: Array) -> Array:
    """The solution of `system`, of whatever kinds of arrays its matrix and `b` are."""
    top = outermost([b, system.product(np.zeros_like(b))])
    if isinstance(top, Batched):
        return _one_by_one(system, b, top)
    if isinstance(top, Pattern):
        return top.mixed(np.shape(b), [b])
    if isinstance(top, Diagonal):
        return _solved(system, top.stack())
    if not isinstance(top, Tensor | Dual | Selected):
        return _checked(system, b)
    below = system.below(top.level)
    x = _solved(below, _below(b, top.level))
    if isinstance(top, Selected):
        return x  # each element of a solution is made of all
    # Its value is zero, and its derivative db - dA x; the derivative of x is the solution for that.
    residual = b - system.product(x)
    return carried_out(_Solution(below, x, top.level), [residual])[0]


def _checked(system: _System, b: Array) -> Array:
    (x,) = stripped([system.solves[0](system.product, b)], 0)
    off, scale = np.linalg.norm(raw(system.product(x) - b)), np.linalg.norm(raw(b))
    if off > 1e-3 * scale:  # not where something is nan
        raise RuleError(
            f"custom_linear_solve: what was returned is not a solution (its right side is off by {off / scale:.1e} of "
            f"itself). `solve` must solve for the matvec that it is given, which may be the transpose; give "
            f"transpose_solve=, or symmetric=True"
        )
    return x


def _one_by_one(system: _System, b: Array, top: Batched) -> Batched:
    """For one sample after another. A matrix that differs between them is made: its products are of all at once."""
    level, n = top.level, b.shape[0]
    rows: Array = np.stack([system.product(e) for e in np.eye(n, dtype=dtype_of(b))])
    (right, many), (matrix, differ) = (_layers(x, level) for x in (b, rows))
    count = right.shape[0] if many else matrix.shape[0] if differ else 1

    def sample(i: int) -> Array:
        own = np.swapaxes(matrix[i] if differ else matrix, 0, 1)
        one = _System((lambda v: own @ v, lambda v: np.conj(own.T) @ v), system.solves)
        return _solved(one, right[i] if many else right)

    if not (many or differ):
        return Batched.of((sample(0), False), level)
    return Batched.of((np.stack([sample(i) for i in range(count)]), True), level)


def _layers(x: Array, level: int) -> tuple[Array, bool]:
    x = settled(x, level)
    return x.layers if isinstance(x, Batched) and x.level == level else (x, False)


_OPS = operations("custom_linear_solve")


class _Solution(Derivative):
    """Takes a residual, whose value is zero, to the solution `x` plus the residual's own solution."""

    name, ops, aside = "custom_linear_solve", _OPS, frozenset()

    def __init__(self, system: _System, x: Array, level: int) -> None:
        self.system, self.x, self.level = system, x, level

    def value(self, xs: Leaves) -> list[Array]:
        return [self.x]

    def forward(self, xs: Leaves) -> tuple[list[Value], Value]:
        return [self.x], None

    def residual(self, xs: Leaves) -> Array:
        return None

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Value]:
        g = bare(gs[0])
        if isinstance(g, Box) and g.level == self.level:
            raise NotSupportedError(
                "backward(create_graph=True) through custom_linear_solve would miss what its matrix depends on. Nest "
                "transforms instead: ad.grad(ad.grad(f))"
            )
        return [_solved(self.system.transposed(self.x), g)]

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Value], list[Value]]:
        return [self.x], [_solved(self.system, ts[0])]
