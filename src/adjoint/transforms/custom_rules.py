"""How a function with its own derivative is carried out on arrays of every kind.

The outermost box is removed, and the rest is carried out below. The function's own rule replaces what that kind of box
does (write a node, push a tangent, set the samples' axis aside). So the rule's values are arrays of the kinds
below, which is all that second derivatives need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Protocol, cast

import numpy as np

from adjoint.arrays.layered import Writable
from adjoint.batch.batched import Batched
from adjoint.batch.rules import everywhere
from adjoint.core.box import Box, outermost, settled
from adjoint.core.errors import GradientError, InPlaceError
from adjoint.core.memory import shows
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op, rule_of
from adjoint.core.protocol import in_graph
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.types import Array, Function, Value
from adjoint.forward.dual import Dual, dual
from adjoint.forward.structure import Diagonal, Pattern
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import written
from adjoint.tape.tensor import Tensor, outputs, wrap
from adjoint.tape.writes.fingerprint import fingerprint
from adjoint.tape.writes.foreign import protect_parts
from adjoint.tape.zeros.selected import Selected, bare
from adjoint.transforms.custom_shown import follows, is_held, locked, showing, without_rule, written_since

Leaves = Sequence[Array]


class Derivative(Protocol):
    """A function of arrays, and its derivative. A cotangent or a tangent that is None is zero."""

    name: str
    ops: tuple[Op, Op]
    #: The levels at which axes of samples are set aside.
    aside: frozenset[int]

    def value(self, xs: Leaves) -> list[Array]:
        """The results."""

    def forward(self, xs: Leaves) -> tuple[list[Value], Value]:
        """The results, and what `backward` needs: a tree of arrays and anything else."""

    def residual(self, xs: Leaves) -> Array:
        """What `backward` needs, alone."""

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Value]:
        """The cotangents of all `xs`, of which those numbered `wanted` are used, for those of the results."""

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Value], list[Value]]:
        """The results, and their tangents for those of `xs`."""


def carried_out(rule: Derivative, xs: Leaves) -> list[Array]:
    """The results of `rule` for `xs`, of whatever kinds they are."""
    top = outermost(xs)
    if top is not None:
        xs = [settled(x, top.level) for x in xs]
        top = outermost(xs)
    if isinstance(top, Tensor):
        return _recorded(rule, xs, top.level)
    if isinstance(top, Dual):
        return _pushed(rule, xs, top.level)
    if isinstance(top, Batched):
        return _stacked(rule, xs, top.level)
    if isinstance(top, _LINEAR):
        return _of_linear(rule, xs, top)
    return rule.value(xs)


def _of_linear(rule: Derivative, xs: Leaves, top: Value) -> list[Array]:
    """The same of cotangents that were selected, and of what goes through linear operations in place of tangents."""
    if isinstance(top, Selected):
        return carried_out(rule, [bare(x) for x in xs])
    mine = [isinstance(x, type(top)) and x.level == top.level for x in xs]
    if isinstance(top, Diagonal):
        return carried_out(rule, [x.stack() if own else x for x, own in zip(xs, mine, strict=True)])
    outs = carried_out(rule, [np.zeros(x.shape) if own else x for x, own in zip(xs, mine, strict=True)])
    return [top.mixed(np.shape(out), xs) for out in outs]


def _recorded(rule: Derivative, xs: Leaves, level: int) -> list[Tensor]:
    values, parents, wanted = [], [], []
    for i, x in enumerate(xs):
        if isinstance(x, Tensor) and (x.level == level or x.node is None):
            values.append(x.held)
            if x.node is not None:
                parents.append(x.node)
                wanted.append(i)
        else:
            values.append(x)
    if not parents or level < recording_floor.get():
        outs = stripped(carried_out(rule, values), level)
        return [
            without_rule(wrap(out, None, level), of)
            for out, of in zip(outs, _shown(rule, outs, values, xs), strict=True)
        ]
    outs, residual = rule.forward(values)
    leaves, rebuild = flatten(residual)
    outs, leaves = stripped(outs, level), stripped(leaves, level)
    _closed(rule, (*outs, *leaves), level)
    del residual
    shown = _shown(rule, outs, values, xs, kept=leaves)
    outs = [out if of is None else locked(out, shared=follows(of, level)) for out, of in zip(outs, shown, strict=True)]
    call = _RuleCall(rule, leaves, rebuild, level)
    op, settings = rule.ops[level == 0], {"residuals": call.arrays, "call": call}
    node = written(op, values, tuple(wanted), tuple(parents), tuple(outs), settings, recording_floor.raw(), level)
    known = {id(x) for x in (*(values[i] for i in wanted), *outs)}
    parts = [i for i, x in enumerate(call.arrays) if isinstance(x, np.ndarray | Writable) and id(x) not in known]
    if parts:  # they may be anyone's
        protect_parts(node, cast(Pullback, node.pullback).names.index("residuals"), parts)
    results = outputs(outs, node, level)
    real = [x if x.dtype.kind in "fc" else wrap(x.held, None, level) for x in results]
    return [showing(x, of) for x, of in zip(real, shown, strict=True)]


def _shown(
    rule: Derivative, outs: Leaves, values: Leaves, xs: Sequence[Value], kinds: Value = np.ndarray, kept: Leaves = ()
) -> list[Value]:
    """What each of `outs` shows: one of `xs`, of which `values` are the layers below, or another array, or None.

    Other arrays are those of some of the `kinds` that the rule's functions read by name, and those that somebody
    else holds, apart from the leaves `kept` of the residual; then the result itself is given.
    """
    found: list[Value] = []
    own: list[Array] | None = None
    for out in outs:
        i = _which(out, values)
        if i is None and isinstance(out, kinds):
            own = list(_read_by(rule, kinds)) if own is None else own
            of = next((x for x in own if out is x or shows(out, x)), None)
            found.append(of if of is not None or not is_held(out, outs, kept) else out)
        else:
            found.append(None if i is None else xs[i])
    return found


def _which(out: Array, values: Leaves) -> int | None:
    marked = any(op is written_since for op, _ in getattr(out, "path", ()))
    root = out.root if marked else None
    found = (i for i, x in enumerate(values) if out is x or shows(out, x) or (marked and getattr(x, "root", x) is root))
    return next(found, None)


class _RuleCall:
    """What the node of one call keeps beside the arrays of its residual."""

    def __init__(self, rule: Derivative, leaves: Leaves, rebuild: Function, level: int) -> None:
        self.rule, self.level, self._rebuild = rule, level, rebuild
        self._leaves = [None if isinstance(x, np.ndarray | Box) else x for x in leaves]
        self._places = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray | Box)]
        self.arrays = tuple(leaves[i] for i in self._places)
        self._read = [(array, fingerprint(array)) for array in _read_by(rule)]

    def residual(self, arrays: Leaves) -> Array:
        """What `backward` needs, around `arrays`.

        Raises:
            InPlaceError: if an array that the rule's functions read by themselves has been written since.
        """
        if any(fingerprint(array) != mark for array, mark in self._read):
            raise InPlaceError(
                f"an array that the functions of {self.rule.name} read, without being given it, has been written since "
                f"{self.rule.name} was called. Go backward before the write, or give the array as an argument"
            )
        leaves = list(self._leaves)
        for i, array in zip(self._places, arrays, strict=True):
            leaves[i] = array
        return self._rebuild(leaves)


def _read_by(rule: Value, kinds: Value = np.ndarray) -> Iterator[Array]:
    """The arrays that the functions of `rule` close over, or name as globals: they may be read on the backward pass."""
    while isinstance(rule, _SampledRule):
        rule = rule.rule
    holders = (getattr(rule, "__dict__", {}), getattr(getattr(rule, "custom", None), "__dict__", {}))
    waiting = [f for holder in holders for f in holder.values() if isinstance(f, FunctionType)]
    seen = set(waiting)
    while waiting:
        f = waiting.pop()
        named = [f.__globals__.get(name) for name in f.__code__.co_names]
        for value in (*named, *(cell.cell_contents for cell in f.__closure__ or () if _is_full(cell))):
            if isinstance(value, kinds):
                yield value
            elif isinstance(value, FunctionType) and value not in seen and value.__globals__ is f.__globals__:
                seen.add(value)
                waiting.append(value)


def _is_full(cell: Value) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # not yet filled
        return False


def operations(name: str) -> tuple[Op, Op]:
    """What the nodes of a function with a derivative of its own refer to: at a level of its own, and at level 0.

    Only at level 0 can a pass be recorded while it runs (``create_graph``); only there arguments are kept for it.
    """

    def pullback(g: Array, residuals: Value, call: _RuleCall, needs: Value) -> list[Value]:
        return stripped(call.rule.backward(call.residual(residuals), g, needs), call.level)

    def pullback_again(g: Array, xs: Array, residuals: Value, call: _RuleCall, needs: Value) -> list[object]:
        if any(isinstance(x, Tensor) and x.level == call.level for x in xs):  # they have come with their histories
            call.residual(residuals)
            return stripped(call.rule.backward(call.rule.residual(xs), g, needs), call.level)
        return pullback(g, residuals, call, needs)

    empty: dict[str, Value] = {"residuals": (), "call": None}
    own, zero = (
        Op(name, rule, ("*xs",), (rule_of(rule),), settings=empty, joint=True, multiple=True)
        for rule in (pullback, pullback_again)
    )
    return own, zero


def _pushed(rule: Derivative, xs: Leaves, level: int) -> list[Dual]:
    values: list[Array] = []
    tangents: list[Array] = []
    for x in xs:
        primal, tangent = x.layers if isinstance(x, Dual) else (x, None)
        mine = isinstance(x, Dual) and (x.level == level or tangent is None)
        values.append(primal if mine else x)
        tangents.append(tangent if mine else None)
    if all(t is None for t in tangents):
        outs = stripped(carried_out(rule, values), level)
        return [
            without_rule(dual(out, None, level), of)
            for out, of in zip(outs, _shown(rule, outs, values, xs), strict=True)
        ]
    outs, pushed = (stripped(found, level) for found in rule.push(values, tangents))
    shown = _shown(rule, outs, values, xs)
    outs = [out if of is None else locked(out) for out, of in zip(outs, shown, strict=True)]
    _closed(rule, (*outs, *(t for t in pushed if isinstance(t, Dual | Tensor))), level)
    return [showing(dual(out, t, level), of) for out, t, of in zip(outs, pushed, shown, strict=True)]


def _stacked(rule: Derivative, xs: Leaves, level: int) -> list[Batched]:
    values: list[Array] = []
    stacked: list[bool] = []
    for x in xs:
        data, is_stacked = x.layers if isinstance(x, Batched) and (x.level == level or not x.layers[1]) else (x, False)
        values.append(data)
        stacked.append(is_stacked)
    if not any(stacked):
        outs = carried_out(rule, values)
        pairs = zip(outs, _shown(rule, outs, values, xs), strict=True)
        return [without_rule(Batched.of((out, False), level), of) for out, of in pairs]
    n = next(x.shape[0] for x, is_stacked in zip(values, stacked, strict=True) if is_stacked)
    samples = _SampledRule(rule, tuple(stacked), level, n)
    outs = carried_out(samples, values)
    shown = [xs[of] if type(of) is int else of for of in samples.shown]
    outs = [out if of is None else locked(out) for out, of in zip(outs, shown, strict=True)]
    return [showing(Batched.of((out, True), level), of) for out, of in zip(outs, shown, strict=True)]


class _SampledRule:
    """`rule` for `n` samples at once: of stacks, which it is given with their first axis set aside at `level`."""

    def __init__(self, rule: Derivative, stacked: tuple[bool, ...], level: int, n: int) -> None:
        self.rule, self.stacked, self.level, self.n = rule, stacked, level, n
        self.name, self.ops, self.aside = rule.name, rule.ops, rule.aside | {level}
        self.shown: list[Value] = []  # the number of the argument that each result shows, or an array of the rule's

    def _boxed(self, xs: Leaves, stacked: Leaves | None = None) -> list[Batched]:
        flags = self.stacked if stacked is None else stacked
        pairs = zip(xs, flags, strict=True)
        return [Batched.of((x, is_stacked), self.level) if hasattr(x, "dtype") else x for x, is_stacked in pairs]

    def _layers(self, x: Array) -> tuple[Array, bool]:
        x = settled(x, self.level)
        return x.layers if isinstance(x, Batched) and x.level == self.level else (x, False)

    def _unboxed(self, xs: Leaves) -> list[Array]:
        return [None if x is None else everywhere(*self._layers(x), self.n) for x in stripped(xs, self.level)]

    def value(self, xs: Leaves) -> list[Array]:
        boxed = self._boxed(xs)
        return self._noted(self.rule.value(boxed), boxed)

    def forward(self, xs: Leaves) -> tuple[list[Value], Value]:
        boxed = self._boxed(xs)
        outs, residual = self.rule.forward(boxed)
        return self._noted(outs, boxed), residual

    def _noted(self, outs: Leaves, xs: Leaves) -> list[Array]:
        self.shown = _shown(self.rule, outs, xs, range(len(xs)), np.ndarray | Writable)
        return self._unboxed(outs)

    def residual(self, xs: Leaves) -> Array:
        return self.rule.residual(self._boxed(xs))

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Value]:
        found = self.rule.backward(residual, self._boxed(gs, [True] * len(gs)), wanted)
        return [None if c is None else self._share(c, s) for c, s in zip(found, self.stacked, strict=True)]

    def _share(self, c: Array, stacked: bool) -> Array:
        """The cotangent of an argument from those of its samples: their sum, if it is the same for all."""
        data, is_stacked = self._layers(c)
        if stacked:
            return everywhere(data, is_stacked, self.n)
        return np.sum(data, axis=0) if is_stacked else data * float(self.n)

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Value], list[Value]]:
        boxed = self._boxed(xs)
        outs, pushed = self.rule.push(boxed, self._boxed(ts))
        return self._noted(outs, boxed), self._unboxed(pushed)


def stripped(xs: Leaves, level: int) -> list[Array]:
    """What a rule at `level` gave, without the boxes that its transform's twin put around constants of the program."""
    return [_stripped(x, level) if isinstance(x, Box) else x for x in xs]


def _stripped(x: Value, level: int) -> Value:
    if not isinstance(x, Tensor | Dual | _AROUND) or 0 < x.level < level:
        return x
    if isinstance(x, Tensor | Dual | Batched) and not x.carries:
        return _stripped(x.held, level)
    if isinstance(x, _AROUND) and (inner := _stripped(x.layers[0], level)) is not x.layers[0]:
        return type(x).of((inner, *x.layers[1:]), x.level)
    return x


_LINEAR = Selected | Diagonal | Pattern
# Kinds of arrays around others, of samples, cotangents and tangents.
_AROUND = Batched | Selected | Diagonal


def _closed(rule: Derivative, arrays: Leaves, level: int) -> None:
    """Raise if `arrays`, computed from values below `level`, have a history at it: that of something else."""
    for x in arrays:
        while isinstance(x, Batched) and x.level in rule.aside:
            x = x.held
        if isinstance(x, Box) and x.level >= level and (in_graph(x) or x.per_sample):
            raise GradientError(
                f"{rule.name} uses an array that is differentiated (or differs between samples) and is none of its "
                f"arguments: its rule says nothing about that, and the gradient would be lost. Pass it as an argument; "
                f"or, if it is a constant, as ad.stop_gradient(t)"
            )
