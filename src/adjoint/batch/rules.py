"""How an operation acts on a stack of samples at once.

Every rule takes the arguments with the axis of the samples in front, or without one where an argument is the
same for all (`stacked` says which), and gives the stacked result. Most follow from the operation's kind:

- elementwise, and what says ``batch="elementwise"``: the samples' axes are lined up, and the function broadcasts;
- a reduction, and what says ``batch="axes"``: axes are counted from 1 instead of 0;
- ``batch="leading"``: the function takes stacks as it is, as all of NumPy's linear algebra does;
- a function ``batch=lambda a, axes: …`` of the stacked arrays (all of them stacked) and the settings that it names.
  If it names ``stacked`` too, arguments that are the same for all samples come as they are. It may answer
  NotImplemented, for the last way;
- ``batch="columns"``: what does the same to each column of its last argument, a matrix, takes all samples' columns
  at once, if nothing else is stacked (else, with the flag ``stacks``, it takes stacks as they are);
- anything else is called for one sample after another: right, and as slow as a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from adjoint.core.backend import as_beside
from adjoint.core.box import apply
from adjoint.core.errors import BatchedValueError
from adjoint.core.op import Op, parameters
from adjoint.core.types import Array, DType, Function, Settings, Value
from adjoint.ops.shape.reshaping import counted_from_one, lined_up, merged

BatchRule = Callable[[Op, Sequence[Value], Mapping[str, Value], tuple[bool, ...], int], Value]
_AXES = ("axis", "axes", "axis1", "axis2", "source", "destination")
_DEFAULT = {"argsort": -1, "argpartition": -1}


def stacked_result(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """The results of `op` for `n` samples, stacked along a first axis."""
    rule = rule_of(op)
    return rule(op, args, settings, stacked, n) if n else _of_none(rule, op, args, settings, stacked)


def _of_none(rule: BatchRule, op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...]) -> Array:
    """The result for no samples: what the rule gives; if the rule fails, an empty stack of results for one sample."""
    out: Array = ()
    with suppress(ValueError, IndexError, ArithmeticError):
        out = rule(op, args, settings, stacked, 0)
    if isinstance(out, tuple) and not out:
        one = [_some(x.shape[1:], x.dtype) if s else x for x, s in zip(args, stacked, strict=True)]
        out = apply(op, one, settings)
        return tuple(x[None][:0] for x in out) if isinstance(out, tuple) else out[None][:0]
    return out


def _some(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Numbers that few operations refuse: matrices are regular, indices 0."""
    if dtype.kind not in "fc":
        return np.zeros(shape, dtype)
    return np.broadcast_to(np.eye(*shape[-2:], dtype=dtype), shape) if len(shape) > 1 else np.ones(shape, dtype)


def rule_of(op: Op) -> BatchRule:
    """The batching rule of `op`, kept with it."""
    rule: BatchRule | None = op.pullbacks.get("batch")
    if rule is None:
        rule = op.pullbacks["batch"] = _chosen(op)
    return rule


def _chosen(op: Op) -> BatchRule:
    if callable(op.batch):
        return _stated(op.batch)
    ufunc = isinstance(op.forward, np.ufunc) and op.forward.signature is None
    if op.batch == "elementwise" or op.kind == "elementwise" or (ufunc and not op.settings):
        return elementwise
    if op.batch == "axes" or {"axis", "keepdims"} <= op.settings.keys():
        return along_axes
    if "creates" in op.flags:
        return created
    return {"leading": leading, "columns": columns}.get(str(op.batch), one_by_one)


def _stated(function: Function) -> BatchRule:
    """The rule that an operation's own block states."""
    names = parameters(function)

    def rule(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
        if "stacked" not in names:
            model = args[stacked.index(True)]
            args = [everywhere(as_beside(model, x), s, n) for x, s in zip(args, stacked, strict=True)]
            stacked = (True,) * len(args)
        arrays = {op.inputs[0][1:]: args} if op.inputs[0][0] == "*" else dict(zip(op.inputs, args, strict=True))
        given: dict[str, Value] = {**settings, **arrays, "stacked": stacked, "n": n, "settings": settings}
        out = function(**{name: given[name] for name in names})
        return one_by_one(op, args, settings, stacked, n) if out is NotImplemented else out

    return rule


def everywhere(x: Array, is_stacked: bool, n: int) -> Array:
    """`x` stacked: repeated, without a copy, if it is one and the same for all samples."""
    return x if is_stacked else np.broadcast_to(x, (n, *np.shape(x)))


def elementwise(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """Line up the samples' own axes from the right, with the axis of the samples in front of all."""
    return apply(op, lined_up(args, stacked), settings)


def along_axes(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """Count axes from 1. No axis at all means all but the first."""
    (a,) = args
    ndim = a.ndim if type(a) is np.ndarray else np.ndim(a)
    given = dict(settings)
    if ndim == 1 and any(given.get(name) is not None for name in _AXES):  # numbers: NumPy says which have an axis
        return one_by_one(op, args, settings, stacked, n)
    if op.kind == "constant" and given.get("axis", _DEFAULT.get(op.name)) is None:  # argmax takes one axis at most
        if given.get("keepdims") or given.get("where", True) is not True:
            return one_by_one(op, args, settings, stacked, n)
        a, given["axis"] = merged(a, 1, ndim - 1), 0
        ndim = 2
    moved = {name: counted_from_one(value, ndim) if name in _AXES else value for name, value in given.items()}
    return apply(op, (a,), moved)


def created(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """An array to write into, one a sample."""
    model, *rest = args
    if stacked[0] and settings.get("shape") is None:
        return apply(op, args, settings)
    sample = apply(op, (model[0] if stacked[0] else model, *rest), settings)
    return np.copy(np.broadcast_to(sample, (n, *np.shape(sample))))


def leading(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """The function takes stacks as it is; of numbers, a stack would be a vector."""
    if any(is_stacked and np.ndim(x) == 1 for x, is_stacked in zip(args, stacked, strict=True)):
        return one_by_one(op, args, settings, stacked, n)
    return apply(op, [everywhere(x, s, n) for x, s in zip(args, stacked, strict=True)], settings)


def columns(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """The columns of all samples as those of one matrix."""
    *same, x = args
    if any(stacked[:-1]) or max(map(np.ndim, same)) > 2 or np.ndim(x) > 3:
        stacks = "stacks" in op.flags and np.ndim(x) - stacked[-1] > 1
        return (elementwise if stacks else one_by_one)(op, args, settings, stacked, n)
    out = apply(op, (*same, merged(np.moveaxis(x, 0, 1), 1, np.ndim(x) - 1)), settings)
    return np.moveaxis(np.reshape(out, (out.shape[0], n, *x.shape[2:])), 1, 0)


def one_by_one(op: Op, args: Sequence[Array], settings: Settings, stacked: tuple[bool, ...], n: int) -> Array:
    """A loop over the samples."""
    if not n:
        raise BatchedValueError(
            f"vmap over no samples: {op.name} is called for one sample after another, and so its result has no shape. "
            f"Leave the call out when there are none"
        )
    results = [apply(op, [x[i] if s else x for x, s in zip(args, stacked, strict=True)], settings) for i in range(n)]
    if isinstance(results[0], tuple):
        return tuple(_stack(op, column) for column in zip(*results, strict=True))
    return _stack(op, results)


def _stack(op: Op, results: Sequence[Array]) -> Array:
    shapes = {np.shape(x) for x in results}
    if len(shapes) > 1:
        raise BatchedValueError(
            f"{op.name} inside vmap gives results of different shapes for different samples "
            f"({', '.join(map(str, sorted(shapes)))}), which do not fit into one array. Use a form whose "
            f"shape does not depend on the values: np.where(mask, x, 0.0) instead of x[mask]"
        )
    return np.stack(results)
