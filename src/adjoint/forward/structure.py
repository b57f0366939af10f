"""Tangents with structure: which element depends on which input, and derivatives that stay diagonal.

A derivative is linear, so a tangent meets linear operations only. So an array that stands for *all* tangents at
once need not know any operation by name: a `Pattern` sees where numbers go; a `Diagonal` stays one as long as
each element is only scaled by itself, and becomes a stack of dense tangents otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.batch.batched import Batched
from adjoint.core.backend import maybe_any
from adjoint.core.box import Box, apply, new_level, raw, settled
from adjoint.core.errors import NotSupportedError
from adjoint.core.leaks.notes import Reach, begin, over
from adjoint.core.memory import shows
from adjoint.core.op import Op
from adjoint.core.rules.cotangents import Lazy
from adjoint.core.rules.pullbacks import shape_of
from adjoint.core.types import Array, Axis, Function, Settings, Value
from adjoint.forward.dual import Dual
from adjoint.ops.indexing.writing import follow, part_of
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import pullback_for

_SCALING = frozenset({"multiply", "divide", "negative", "positive", "conjugate", "copy", "astype"})
_ADDING = frozenset({"add", "subtract", "choose_either"})


class Diagonal(Layered):
    """The n tangents of an array of n elements that are 0 but for one element each: the layer holds these elements."""

    __slots__ = ()
    per_sample = True

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        if op.kind == "constant":
            values = [x.layers[0] if isinstance(x, Diagonal) else x for x in args]
            return apply(op, values, settings)
        if self._stays(op, args):
            values = [x.layers[0] if isinstance(x, Diagonal) else x for x in args]
            return Diagonal.of((apply(op, values, settings),), self.level)
        return apply(op, [x.stack() if isinstance(x, Diagonal) else x for x in args], settings)

    def _stays(self, op: Op, args: Sequence[Array]) -> bool:
        """Whether `op` does to each element something that depends on its place alone."""
        mine = [isinstance(x, Diagonal) for x in args]
        if op.name in _ADDING:  # what is added must have this structure itself, or be 0
            added = [k for k in range(len(args)) if k or op.name != "choose_either"]
            fits = all(mine[k] or (not isinstance(args[k], Box) and not maybe_any(args[k])) for k in added)
        else:
            fits = op.name in _SCALING and sum(mine) == 1 and (mine[0] or op.name == "multiply")
        if not fits:
            return False
        shape = self.shape
        for x, own in zip(args, mine, strict=True):
            if issubclass(type(x), Batched) and x.level == self.level:
                return False
            if (other := shape_of(x)) != shape and (own or np.broadcast_shapes(other, shape) != shape):
                return False
        return True

    def settled(self) -> Value:
        return self.stack()

    def _leaving(self, call: str) -> Value:
        return self.stack()._leaving(call)

    def stack(self) -> Batched:
        """The same tangents, one after another."""
        (elements,) = self.layers
        n = self.size
        rows = np.zeros_like(elements, shape=(n, n))
        rows[np.arange(n), np.arange(n)] = np.reshape(elements, -1)
        return Batched.of((np.reshape(rows, (n, *elements.shape)), True), self.level)

    def _constant(self, array: Array) -> tuple[Array, ...]:
        raise NotSupportedError("a diagonal tangent cannot become another array")

    def constant_of(self, array: Array) -> Batched:
        return Batched.of((array, False), self.level)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layers[0].shape  # type: ignore[no-any-return]  # an array's or a box's

    @property
    def dtype(self) -> Value:
        return self.layers[0].dtype


class Pattern(Layered):
    """Which elements of an array depend on which of the inputs: a row of truth values an element.

    The layers are the rows, a sparse matrix of SciPy's, and the array's shape.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layers[1]  # type: ignore[no-any-return]  # see the class

    @property
    def dtype(self) -> Value:
        return np.dtype(float)

    def constant_of(self, array: Array) -> Array:
        return array  # which depends on nothing, and has numbers

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        out = self._processed(op, args, settings)
        if len(args) > 1 or op.memory.view == "never" or type(out) is not Pattern:
            return out
        model = follow(np.empty(self.root.shape, bool), self.path)
        return self.seen_each(out, op, settings) if shows(op(model, **settings), model) else out

    def _processed(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        if op.kind == "constant":
            return apply(op, [np.zeros(x.shape) if isinstance(x, Pattern) else x for x in args], settings)
        if op.name in ("astype", "copy", "real", "imag"):
            return self
        if op.kind == "elementwise":
            return self._union(np.broadcast_shapes(*map(np.shape, args)), args)
        if op.name == "matmul":
            return self._product(*args)
        if op.name == "overwrite" and part_of(settings["path"]):
            return self._part_written(op, args, settings)
        if op.kind == "linear":
            return self._moved(op, args, settings)
        zeros = [np.zeros(x.shape) if isinstance(x, Pattern) else x for x in args]
        out = apply(op, zeros, settings)
        rows = [self.mixed(np.shape(x), args, op.batch == "leading") for x in (out if op.multiple else (out,))]
        return tuple(rows) if op.multiple else rows[0]

    def _made(self, rows: Array, shape: tuple[int, ...]) -> Pattern:
        return Pattern.of((rows, shape), self.level)

    def _union(self, shape: tuple[int, ...], args: Sequence[Array]) -> Pattern:
        """Each element depends on what the elements at its place do."""
        rows = None
        for x in args:
            if isinstance(x, Pattern):
                own = x.layers[0]
                if x.shape != shape:
                    own = own[np.broadcast_to(np.arange(x.size).reshape(x.shape), shape).ravel()]
                rows = own if rows is None else rows + own
        return self._made(rows, shape)

    def _product(self, x: Array, y: Array) -> Array:
        """A product of matrices: all of a row, or of a column, comes together."""
        shape = np.matmul(np.empty(np.shape(x)), np.empty(np.shape(y))).shape
        terms: list[Value] = []
        for z, axis in ((x, -1), (y, -2)):
            if isinstance(z, Pattern):
                if z.ndim == 1:
                    terms.append(_total(z, None))
                else:
                    summed = _total(z, axis, keepdims=True)
                    other = np.ndim(y if z is x else x)
                    terms.append(summed if other > 1 else np.squeeze(summed, axis))
        return np.broadcast_to(terms[0] if len(terms) == 1 else terms[0] + terms[1], shape)

    def mixed(self, shape: tuple[int, ...], args: Sequence[Array], stacks: bool = False) -> Array:
        """Each element depends on all that goes in; where matrices are stacked, on its own matrix alone."""
        import scipy.sparse as sp

        given = [x for x in args if isinstance(x, Pattern)]
        lead = given[0].shape[:-2]
        if stacks and len(given) == 1 and lead and shape[: len(lead)] == lead:
            own = _total(given[0], (-2, -1))
            return np.broadcast_to(np.reshape(own, lead + (1,) * (len(shape) - len(lead))), shape)
        together = sum(sp.csr_array(x.layers[0].sum(axis=0, dtype=bool).reshape(1, -1)) for x in given)
        return self._made(sp.csr_array(np.ones((math.prod(shape), 1), bool)) @ together, shape)

    def _moved(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        """A linear operation: see where numbers go that are unlike any others, and unlike their sums."""
        import scipy.sparse as sp

        rows = sp.vstack([x.layers[0] for x in args if isinstance(x, Pattern)], format="csr")
        marks, start = _marks(rows.shape[0]), 0
        values = [x if isinstance(x, Pattern) else np.real(x) for x in args]  # what is no tangent is 0
        for i, x in enumerate(args):
            if isinstance(x, Pattern):
                values[i] = marks[start : start + x.size].reshape(x.shape)
                start += x.size
        out: Array = apply(op, values, settings)
        found = _positions(out, marks)
        if found is not None:  # each element comes from one, or from none
            return self._made(
                sp.vstack([rows, sp.csr_array((1, rows.shape[1]), dtype=bool)], format="csr")[found], out.shape
            )
        if op.name == "reduce_mean":
            return _total(args[0], **settings)
        if len(args) == 1:
            marks = _marks(out.size)
            pullback = pullback_for(op, (0,), values, out)
            goes = pullback.run(marks.reshape(out.shape), pullback.save(values, out, settings))[0]
            found = _positions(goes.dense() if isinstance(goes, Lazy) else goes, marks)
            if found is not None:  # each element goes to one, or to none
                here = np.flatnonzero(found >= 0)
                into = sp.csr_array((np.ones(here.size, bool), (found[here], here)), (out.size, rows.shape[0]))
                return self._made(into @ rows, out.shape)
        return self.mixed(out.shape, args)

    def _part_written(self, op: Op, args: Sequence[Array], settings: Settings) -> Pattern:
        """The real or the imaginary part of numbers is written: the other one stays."""
        path = tuple(step for step in settings["path"] if step[0].name not in ("real", "imag"))
        return self._union(np.shape(args[1]), [self._moved(op, args, {**settings, "path": path}), args[1]])


def _total(x: Array, axis: Axis, keepdims: bool = False) -> Array:
    return np.sum(x, axis=axis, keepdims=keepdims)


def _marks(count: int) -> np.ndarray:
    """Numbers none of which is the sum, the mean, or a simple multiple, of others."""
    rng = np.random.default_rng(0)
    return rng.permutation(count) + rng.uniform(0.25, 0.75, count)


def _positions(values: Array, marks: np.ndarray) -> np.ndarray | None:
    """Which of `marks` each value is, -1 where it is 0; None if some value is neither."""
    values = np.ravel(values)
    if not marks.size:
        return np.full(values.size, -1)
    order = np.argsort(marks)
    at = order[np.minimum(np.searchsorted(marks[order], values), marks.size - 1)]
    same = marks[at] == values
    return np.where(same, at, -1) if np.all(same | (values == 0)) else None


def pattern_of(f: Function, x: np.ndarray) -> Value:
    """Which elements of ``f(x)`` depend on which elements of `x`: a sparse matrix of truth values."""
    import scipy.sparse as sp

    level = new_level()
    rows = sp.csr_array(sp.eye_array(x.size, dtype=bool))
    try:
        begin(level, recording_floor.get())
        value = f(Dual.of((x, Pattern.of((rows, x.shape), new_level())), level))
    finally:
        ledger = over(level)
    out = settled(value, level)
    if ledger is not None:
        ledger.report(out, Reach(isinstance(out, Dual) and out.level == level and out.carries))
    tangent = out.tangent if isinstance(out, Dual) and out.level == level else None
    if tangent is None:
        return sp.csr_array((np.size(raw(out)), x.size), dtype=bool)
    return tangent.layers[0].astype(bool)
