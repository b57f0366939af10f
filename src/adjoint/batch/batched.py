"""`Batched`: many arrays of one shape; a program for one of them computes with all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.arrays.fast_path import PLAIN, FastPath, WithFastPaths
from adjoint.arrays.operators import by_objects, holds_objects
from adjoint.batch.fast import fast_path
from adjoint.batch.memory import by_sample, shown
from adjoint.batch.memory import settled as settled_by
from adjoint.batch.rules import stacked_result
from adjoint.core.backend import is_foreign, is_writable_elsewhere
from adjoint.core.box import ELSEWHERE, Box, apply, report_mix
from adjoint.core.errors import BatchedValueError
from adjoint.core.leaks.notes import refused
from adjoint.core.memory import axes_by, is_laid_out, lies, shows
from adjoint.core.objects.foreign import plain_array
from adjoint.core.op import Op
from adjoint.core.types import Array, Index, Settings, ShapeLike, Value
from adjoint.ops.indexing.writing import extended, follow
from adjoint.ops.shape.copying import copy
from adjoint.ops.shape.reshaping import reshape
from adjoint.ops.values import is_number


class Batched(WithFastPaths):
    """One sample of a stack of them: its shape and dtype are those of a single sample.

    `adjoint.vmap` makes them. The layers are the data and whether they are a stack, with the samples along the
    first axis, or one array for all samples.
    """

    __slots__ = ()
    per_sample = True
    in_index = "iub"

    @classmethod
    def fast_path(cls, op: Op, otherwise: FastPath) -> FastPath | None:
        return None if op.batch else fast_path(op, cls, otherwise)

    def processed(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        if holds_objects(args):
            return by_objects(op, args, settings)
        level = self.level
        values: list[Array] = []
        stacked: list[bool] = []
        n = 0
        for arg in args:
            is_stacked = False
            if isinstance(arg, Box):
                if arg.level == level:
                    arg = arg.settled()
                if issubclass(type(arg), Batched) and (arg.level == level or not arg.layers[1]):
                    arg, is_stacked = arg._layers if arg._base is None else arg.layers
                    if is_stacked:
                        n = arg.shape[0]
            elif type(arg) not in PLAIN:
                arg = plain_array(arg)
            values.append(arg)
            stacked.append(is_stacked)
        if not any(stacked):
            out = apply(op, values, settings)
            if op.kind == "constant" and "creates" not in op.flags:
                return out
            out = _wrapped(op, out, False, level)
            if op.flags and _is_array(op, args, settings) and not out.shape:
                out.keep_array()
            return self.viewed(out, op, settings) if len(args) == 1 and isinstance(out, Batched) else out
        if "once" in op.flags:
            return apply(op, [_any_one(x) if s else x for x, s in zip(values, stacked, strict=True)], settings)
        try:
            out = stacked_result(op, values, settings, tuple(stacked), n)
        except Exception as error:
            report_mix(op.name, values, error)
            raise
        if op.memory.view == "never":
            several = isinstance(out, tuple | list)
            given = values, stacked, settings
            out = [settled_by(op, x, *given) for x in out] if several else settled_by(op, out, *given)
        out = _wrapped(op, out, True, level)
        if op.flags and _is_array(op, args, settings) and not out.shape:
            out.keep_array()
        shows_it = op.memory.view != "never" and len(args) == 1 and isinstance(out, Batched)
        return self.viewed(out, op, settings) if shows_it else out

    def _constant(self, array: Array) -> tuple[Array, ...]:
        return array, False

    def constant(self, answer: Batched) -> Value:
        return answer

    @property
    def shape(self) -> tuple[int, ...]:
        data, is_stacked = self._layers if self._base is None else self.layers
        return data.shape[1:] if is_stacked else data.shape  # type: ignore[no-any-return]  # an array's or a box's

    @shape.setter
    def shape(self, shape: ShapeLike) -> None:
        self.take_shape(shape)

    @property
    def dtype(self) -> Value:
        return (self._layers if self._base is None else self.layers)[0].dtype

    def viewed(self, result: Batched, op: Op, settings: Value) -> Array:
        """As for any array; what NumPy's result for one sample shows is a view, whatever that of all shows."""
        data, is_stacked = result._layers
        if len(data.shape) == is_stacked and result._is_number() and not _is_array(op, (self,), settings):
            if (
                self._is_number()
                or op.name == "flip"
                or (op.name == "getitem" and not _has_ellipsis(settings["index"]))
            ):
                return result  # a number of its own, as NumPy's ``a[0]`` is
        if not is_stacked:
            return super().viewed(result, op, settings)
        if op.memory.view == "never" or self._is_number() or not self.layers[1]:
            return result
        model = self.lies()
        if not isinstance(model, np.ndarray) and is_foreign(model):
            # How one sample would lie is not known: of indices, say, all samples share as one does.
            if op is reshape and settings.get("copy"):
                return result
            if op is not reshape:
                return super().viewed(result, op, settings)
            root = self.root
            result._base, result._seen = (root, extended(self.path, op, settings, root.shape, self)), root._layers
            return result
        lying = shown(op, model, settings) if isinstance(model, np.ndarray) else None
        if lying is None or shows(lying, model):
            root = self.root
            result._base, result._seen = (root, extended(self.path, op, settings, root.shape)), root._layers
        elif isinstance(stack := lies(data), np.ndarray) and stack.flags.writeable:
            axes = by_sample(axes_by("K", lying), stack)
            if shows(data, self.layers[0]) or not is_laid_out(stack, axes):
                result._layers = copy(data, order=axes), True
        return result

    def lies(self) -> Value:
        data, is_stacked = self.layers
        model = lies(data)
        if not isinstance(model, np.ndarray):
            return model
        if self.path and not shows(data, self.root.layers[0]):
            return follow(self.root.lies(), self.path)
        return model if not is_stacked else model[0, ...] if len(model) else np.zeros(model.shape[1:], model.dtype)

    def _is_number(self) -> bool:
        if self._base is not None or self.shape:
            return False
        return not (ELSEWHERE and is_writable_elsewhere(self._layers[0]))

    @property
    def requires_grad(self) -> bool:
        """Always true: the values of many samples must not be used as those of one."""
        return True

    @property
    def carries(self) -> bool:
        return bool(self.layers[1])

    def detach(self) -> Value:
        """The same samples without history."""
        data, is_stacked = self.layers
        return Batched.of((data.detach() if isinstance(data, Box) else data, is_stacked), self.level)  # type: ignore[attr-defined]  # every box has detach()

    def __bool__(self) -> bool:
        data, is_stacked = self.layers
        if not is_stacked:
            return bool(data)
        answers = {bool(data[i]) for i in range(data.shape[0])}
        if len(answers) > 1:
            raise BatchedValueError(
                "inside vmap, a condition is true for some samples and false for others, so `if` and `while` cannot "
                "branch on it. Compute both sides and choose: np.where(condition, a, b)"
            )
        return answers == {True}

    def _leaving(self, call: str) -> Value:
        """The value, if it is the same for all samples."""
        data, is_stacked = self.layers
        if not is_stacked:
            return data._leaving(call) if isinstance(data, Box) else data  # type: ignore[attr-defined]  # see `Box`
        refused(self, call, 0)
        raise BatchedValueError(
            f"{call}: inside vmap this is a value for each of many samples, not one. Stay with arrays: NumPy functions "
            f"and t itself work, ad.take(a, t, axis=0) is a[t], and np.zeros_like(t) makes an array to write into. Or "
            f"call the function for one sample after another"
        )

    def numpy(self) -> np.ndarray:
        """The value, if it is the same for all samples; else it is refused."""
        return np.array(self._leaving("t.numpy()"))

    def item(self, *index: int) -> Value:
        """The value, if it is the same for all samples; else it is refused."""
        return self._leaving("t.item()").item(*index)

    def tolist(self) -> Value:
        """The value, if it is the same for all samples; else it is refused."""
        return self._leaving("t.tolist()").tolist()

    def __repr__(self) -> str:
        return f"batched({self.layers[0]!r})"


# What operations say of results without axes, where NumPy gives arrays; those of others are numbers.
_ARRAYS = frozenset(("array", "creates"))


def _is_array(op: Op, args: Sequence[Array], settings: Settings) -> bool:
    """Whether a result of `op` without axes is an array, as NumPy's would be, and no number."""
    if "as_given" in op.flags:
        return not is_number(args[0])
    if op.name == "getitem":
        return is_number(args[0]) and _has_ellipsis(settings["index"])
    return not _ARRAYS.isdisjoint(op.flags)


def _any_one(stack: Array) -> Array:
    """One sample; zeros, if there is none."""
    return stack[0] if stack.shape[0] else np.zeros_like(stack, shape=stack.shape[1:])


def _has_ellipsis(index: Index) -> bool:
    return any(part is ... for part in (index if isinstance(index, tuple) else (index,)))


def _wrapped(op: Op, out: Array, is_stacked: bool, level: int) -> Array:
    if op.multiple or isinstance(out, tuple | list):
        return tuple(Batched.of((x, is_stacked), level) for x in out)
    return Batched.of((out if hasattr(out, "dtype") else np.asarray(out), is_stacked), level)
