"""Cotangents and tangents that know where a selection left them out, so that 0 stays 0 next to an infinity.

`numpy.where`, an index, a maximum and a write leave values out. Such a value does not have a cotangent that happens to
be 0: it has none, whatever its partial derivatives are. A zero that arithmetic made is a number,
and 0 * inf is nan. Rules are linear in the cotangent, and forward rules in the tangent. So this kind of array
has to handle only a few kinds of operations: those that choose, move, scale, and add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.layered import Layered, as_now
from adjoint.core.backend import alone, backend_of, beside, is_elsewhere, maybe_any, zeros
from adjoint.core.box import Box, apply, new_level, raw
from adjoint.core.errors import LeavesGraphError, NotSupportedError
from adjoint.core.op import Op
from adjoint.core.rules.cotangents import Lazy
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, DType, Settings, Value
from adjoint.ops.values import is_number

if TYPE_CHECKING:
    from adjoint.core.rules.pullbacks import Pullback
    from adjoint.tape.node import ObservedNode


# Runs the rule of a node, which has this pullback, on a cotangent and saved values.
RuleRun = Callable[[Value, Value, Value, tuple[Value, ...]], Sequence[Value]]
#: Types of saved values without numbers in them: shapes, dtypes, settings.
NO_NUMBERS = frozenset((int, bool, str, type(None), *(type(np.dtype(c)) for c in "efdFD")))
_OF_NUMPY = (np.ndarray, np.generic)
# Of so many elements, to look for a byte among their truth values is faster than to look for the largest element.
_FEW = 4096


class Selected(Layered):
    """An array with truth values of its shape: True where some path that was taken leads. Elsewhere it is 0.

    The layers are the array, the truth values (None for True everywhere), and whether products are to be kept at 0
    where nothing was taken. They are not in rules whose factors are finite, which need no help.
    """

    __slots__ = ()

    @property
    def value(self) -> Array:
        return self.layers[0]

    @property
    def taken(self) -> Value:
        """Where some path that was taken leads; None for everywhere."""
        return self.layers[1]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layers[0].shape  # type: ignore[no-any-return]  # an array's or a box's

    @property
    def dtype(self) -> DType:
        return self.layers[0].dtype

    def replaced(self, value: Array) -> Value:
        """`value`, which stands for this array from now on."""
        return self if value is self.layers[0] else self._made(value, None)

    def detach(self) -> Value:
        """The same cotangent without history."""
        value = self.layers[0]
        return self._made(value.detach() if isinstance(value, Box) else value, self.layers[1])  # type: ignore[attr-defined]  # every box has detach()

    def numpy(self) -> Value:
        """The numbers alone, for a rule that asks for them."""
        return alone(self.layers[0])

    def _constant(self, array: Array) -> tuple[object, ...]:
        raise NotSupportedError("a cotangent can not become another array")

    def _leaving(self, call: str) -> Value:
        raise LeavesGraphError(f"{call} would take the numbers out of a cotangent")

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        out = self._processed(op, args, settings)
        if len(args) == 1 and op.memory.view != "never" and type(out) is Selected:  # which a rule may write through
            return self.viewed(out, op, settings)
        return out

    def _processed(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        mine = [x if isinstance(x, Selected) and x.level == self.level else None for x in args]
        values = [x if m is None else m.layers[0] for x, m in zip(args, mine, strict=True)]
        out = apply(op, values, settings)
        if op.kind == "constant":
            return self._made(out, _nowhere(out)) if op.name == "zeros_like" else out
        if op.multiple:
            return tuple(self._made(x, None) for x in out)
        taken = [m.layers[1] if m is not None else False for m in mine]
        if op.name == "choose_either":
            condition = _own(values[0]) if self.layers[2] else values[0]
            return self._made(out, _chosen(condition, taken[1], taken[2], out))
        if op.kind == "elementwise":
            return self._elementwise(op, values, mine, out)
        if "moves" in op.flags:
            return self._made(out, _moved(op, values, mine, settings))
        if "multilinear" in op.flags and sum(m is not None for m in mine) == 1:
            return self._product(op, values, mine, settings, out)
        return self._made(out, None if any(t is None or maybe_any(t) for t in taken) else _nowhere(out))

    def _made(self, value: Array, taken: Array | None) -> Selected:
        return Selected.of((value, taken, self.layers[2]), self.level)

    def _elementwise(self, op: Op, values: Sequence[Array], mine: Sequence[Selected | None], out: Array) -> Selected:
        """Each element is taken where one of those that it was made of is."""
        whole = _is_sum(op)
        taken: Value = False
        for x, m in zip(values, mine, strict=True):
            if m is not None:
                taken = _either(taken, m.layers[1])
            elif whole and (isinstance(x, Box) or maybe_any(x)):  # something that is no 0 is added
                taken = None
        if "selects" in op.flags:
            ones = [x if m is None else np.ones_like(x) for x, m in zip(values, mine, strict=True)]
            chosen = np.not_equal(apply(op, ones, {}), 0)
            taken = chosen if taken is None else np.logical_and(taken, chosen)
        if taken is None:
            return self._made(out, None)
        taken = np.broadcast_to(taken, out.shape) if np.shape(taken) != out.shape else taken
        masked = self.layers[2] and not whole and (recorded(out) or has_nan([out]))
        return self._made(_masked(taken, out) if masked else out, taken)

    def _product(
        self, op: Op, values: Sequence[Array], mine: Sequence[Array], settings: Settings, out: Array
    ) -> Selected:
        """A sum of products: those with an element that was left out are none, whatever the other factor is."""
        k = next(i for i, m in enumerate(mine) if m is not None)
        taken = mine[k].layers[1]
        if taken is None:
            return self._made(out, None)
        if op.name == "matmul" and min(map(np.ndim, values)) > 1:  # which is that of whole rows, or columns
            found = np.broadcast_to(np.any(taken, axis=-1 if k == 0 else -2, keepdims=True), out.shape)
        else:
            weights = [_ones(x) if i != k else taken.astype(float) for i, x in enumerate(values)]
            found = np.not_equal(apply(op, weights, settings), 0)
        others = [x for i, x in enumerate(values) if i != k]
        symbolic = any(map(is_symbolic, values))
        if all(map(stays_finite, others)) if symbolic else not self.layers[2]:
            return self._made(out, found)
        bad = [np.logical_not(np.isfinite(x)) for x in values]
        if symbolic or any(map(maybe_any, bad)):
            finite = [np.where(b, 0.0, x) if i != k else x for i, (x, b) in enumerate(zip(values, bad, strict=True))]
            weights = [b.astype(float) if i != k else taken.astype(float) for i, b in enumerate(bad)]
            met = np.not_equal(apply(op, weights, settings), 0)
            out = np.where(met, out, apply(op, finite, settings))
        return self._made(out, found)


def _masked(taken: Array, out: Array) -> Array:
    """`out` where it is taken, else 0; a number stays one."""
    found = np.where(taken, out, 0.0)
    return found[()] if is_number(out) else found


def _is_sum(op: Op) -> bool:
    """Whether `op` adds its arguments up, each with a sign."""
    return all(rule.function in (1, -1) for rule in op.rules)


def _own(condition: Array) -> Array:
    """`condition` as it is now: in forward mode it may be an array of the user's, which is written later."""
    return condition.copy() if isinstance(condition, np.ndarray) else as_now(condition)


def _chosen(condition: Array, x: Array, y: Array, out: Array) -> Array | None:
    """Where `out` is taken, which is chosen from what is taken where `x` and `y` say."""
    if x is None and y is None:
        return None
    if dtype_of(condition).kind == "b" and ((x is None and y is False) or (x is False and y is None)):
        chosen = condition if x is None else np.logical_not(condition)
    else:
        chosen = np.where(condition, True if x is None else x, True if y is None else y)
    chosen = beside(out, chosen)
    return np.broadcast_to(chosen, out.shape) if np.shape(chosen) != out.shape else chosen


def _either(a: Array, b: Array) -> Value:
    if a is None or b is None:
        return None
    return b if a is False else np.logical_or(a, b)


def _nowhere(x: Array) -> Array:
    return zeros(x, np.shape(x), bool)


def _ones(x: Array) -> Value:
    return np.ones(np.shape(x)) if backend_of(x) is None else np.ones_like(raw(x), dtype=float, shape=np.shape(x))


def _moved(op: Op, values: Sequence[Array], mine: Sequence[Selected | None], settings: Settings) -> Array | None:
    """Truth values go where elements go; where several are added up, one is enough."""
    places = [m is None and dtype_of(x).kind in "iu" for x, m in zip(values, mine, strict=True)]
    if "pads" not in op.flags and all(
        place or (m is not None and m.layers[1] is None) for place, m in zip(places, mine, strict=True)
    ):
        return None
    taken = []
    for x, m, place in zip(values, mine, places, strict=True):
        known = _nowhere(x) if m is None else m.layers[1]
        known = np.logical_not(_nowhere(x)) if known is None else np.bool_(known) if type(known) is bool else known
        taken.append(x if place else known * (1 + 1j) if dtype_of(x).kind == "c" else known)  # of either part
    return np.not_equal(apply(op, taken, settings), 0)


def selecting(run: RuleRun, observers: Sequence[Callable[[RuleRun], RuleRun]], careful: bool) -> RuleRun:
    """Runs rules as `run` does, on cotangents that know where they were taken, as soon as something is selected.

    `careful`: all products are kept at 0 where nothing was taken, and not only those with factors that may be
    infinite though values are finite. `observers` are put around a rule, and see plain cotangents.
    """
    level = new_level()
    run = _observed(run, observers) if observers else run

    def running(node: Value, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Value:
        selects = pullback.selects
        if type(g) is list:  # one an output of an operation that has several
            return _run(run, node, pullback, g, saved)
        value, taken, _ = g.layers if type(g) is Selected else (g, None, None)
        if taken is None and not selects:
            return run(node, pullback, value, saved)
        masks = careful or not pullback.finite or any(may_be_infinite(x) or not stays_finite(x) for x in saved)
        once = pullback.hooks is not None
        if (
            not (selects or once)
            and pullback.op.kind == "elementwise"
            and not (masks and type(value) is not np.ndarray)
        ):
            shares = run(node, pullback, value, saved)  # which may be all that is needed
            if all(c.shape == value.shape and (not masks or not (recorded(c) or has_nan([c]))) for c in shares):
                return [
                    c if parent.pullback is None and c is not value else Selected.of((c, taken, False), level)
                    for parent, c in zip(node.parents, shares, strict=True)
                ]
        return _run(run, node, pullback, Selected.of((value, taken, masks), level), saved)

    return running


def _observed(run: RuleRun, observers: Sequence[Callable[[RuleRun], RuleRun]]) -> RuleRun:
    def observed(node: ObservedNode, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Value:
        found: Value = None

        def seen(*_: Value) -> Value:
            nonlocal found
            found = run(node, pullback, g, saved)
            return [bare(c) for c in found] if type(found) in (tuple, list) else found

        for around in observers:
            seen = around(seen)
        seen(node, pullback, [bare(c) for c in g] if type(g) is list else bare(g), saved)
        return found

    return observed


def _run(run: RuleRun, node: Value, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Value:
    try:
        shares = run(node, pullback, g, saved)
    except (LeavesGraphError, NotSupportedError):  # a rule of somebody's that is not written in NumPy's functions
        shares = run(node, pullback, [bare(c) for c in g] if type(g) is list else g.layers[0], saved)
    if type(shares) is not tuple and type(shares) is not list:
        return shares
    value = bare(g)
    ends = [parent.pullback is None for parent in node.parents]  # a leaf wants its share alone, if it is no other's
    return [
        bare(c) if type(c) is Selected and (c.taken is None or (end and c.value is not value)) else c
        for end, c in zip(ends, shares, strict=True)
    ]


def bare(g: Array) -> Array | None:
    """A cotangent without what is known of it."""
    return g.layers[0] if type(g) is Selected else g


def recorded(x: Array) -> bool:
    """Whether `x` is part of a derivative, or of a program, whose own zeros are yet to come; or elsewhere."""
    if not isinstance(x, Box):
        return is_elsewhere(x)
    return not isinstance(x, Layered) or x.held is x or any(map(recorded, x.layers))


def may_be_infinite(x: Array) -> bool:
    """Whether a saved value, in a program, may be infinite or nan: its value is not known."""
    inner = raw(x)
    return is_elsewhere(inner) or (isinstance(inner, Box) and inner.may_be_infinite)


def stays_finite(x: Array) -> bool:
    """Whether a factor in a program is finite now, and so in each call of it, as far as this can be known."""
    inner = raw(x)
    if isinstance(inner, Box):
        return inner.stays_finite()
    return is_elsewhere(inner) or all(map(is_finite, numbers(inner)))


def is_symbolic(x: Array) -> bool:
    """Whether `x` is part of a program, or elsewhere, so that it cannot be checked for nan."""
    return is_elsewhere(x) or (isinstance(x, Box) and isinstance(raw(x), Box))


def has_nan(values: Iterable[Array]) -> bool:
    """Whether there is nan in any of these cotangents; what a program computes with, it can not say."""
    for g in values:
        kind = type(g)
        if kind is not np.ndarray and issubclass(kind, Lazy):
            g = getattr(g, "value", None)
            kind = type(g)
        if kind is np.ndarray:
            if _is_nan(g):
                return True
        elif kind is np.float64 or kind is float:
            if g != g:  # noqa: PLR0124 - nan is not itself
                return True
        elif any(_is_nan(np.asarray(array)) for array in numbers(g)):
            return True
    return False


def _is_nan(array: np.ndarray) -> bool:
    if array.size > _FEW:
        return bool(np.isnan(array.max()))
    return b"\1" in np.isnan(array).tobytes()  # a dot product would warn of overflow


def is_finite(array: Array) -> bool:
    """Whether all numbers of an array are finite."""
    if array.size <= _FEW or array.dtype.kind == "c":
        return b"\0" not in np.isfinite(array).tobytes()
    if array.dtype.char in "fd" and array.flags.forc:
        line = array.ravel("K")
        with np.errstate(over="ignore"):
            if np.isfinite(np.dot(line, line)):  # one way through the array; its squares may be too large
                return True
    return bool(np.isfinite(array.max()) and np.isfinite(array.min()))  # no array of truth values


def numbers(x: Array) -> Iterator[Array]:
    """The plain arrays in cotangents of any kind: of a dual, its tangent too."""
    left = [x]
    while left:
        x = left.pop()
        kind = type(x)
        if kind in NO_NUMBERS:
            continue
        if issubclass(kind, _OF_NUMPY):
            if x.dtype.kind in "fc":
                yield x
        elif issubclass(kind, Layered):
            if x.held is not x:
                left += x.layers
        elif issubclass(kind, tuple | list):
            left += x
        elif issubclass(kind, Box | Lazy):
            held = x.held if issubclass(kind, Box) else getattr(x, "value", None)
            if held is not x:
                left.append(held)
        elif kind is float or kind is complex:
            yield np.asarray(x)
