"""Which values a checkpoint keeps: policies, and how the second run uses the kept values.

In the first run, the results of the chosen operations are kept, by the number of the node that was written.
In the second run the arguments are tensors that check whether the next node has a kept result. If it has, the
operation is recorded with this result, and not carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import cast

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.arrays.python_number import PythonNumber, as_numpy
from adjoint.core.errors import ArgumentError
from adjoint.core.objects.trees import map_tree
from adjoint.core.op import Op
from adjoint.core.protocol import array_ufunc
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.threads.switches import Setting
from adjoint.core.types import Array, Settings, Tree, Value
from adjoint.tape.modes import Observer, Observing
from adjoint.tape.node import TapeNode
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor, View, wrap

Policy = Callable[[Op, Mapping[str, Value]], bool]


def save_nothing(op: Op, settings: Settings) -> bool:
    """The policy of `ad.checkpoint` that keeps no inner value: the least memory.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> f = ad.checkpoint(np.sin, policy=ad.save_nothing)
        >>> ad.grad(f)(0.0)
        np.float64(1.0)
    """
    return False


def save_everything(op: Op, settings: Settings) -> bool:
    """The policy of `ad.checkpoint` that keeps what is always kept: as if it were not there.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> f = ad.checkpoint(np.sin, policy=ad.save_everything)
        >>> ad.grad(f)(0.0)
        np.float64(1.0)
    """
    return True


# The operations that np.dot, np.einsum, np.convolve and layers come to.
_PRODUCTS = ("matmul", "affine", "conv")


def save_matmuls(op: Op, settings: Settings) -> bool:
    """The policy of `ad.checkpoint` that keeps matrix products and convolutions, and computes again what is cheap.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> layer = ad.checkpoint(lambda x, w: np.tanh(x @ w), policy=ad.save_matmuls)
        >>> ad.grad(lambda w: np.sum(layer(np.ones(2), w)))(np.zeros((2, 3)))
        array([[1., 1., 1.],
               [1., 1., 1.]])
    """
    return op.name.startswith(_PRODUCTS)


def save_only_names(*labels: str) -> Policy:
    """The policy of `ad.checkpoint` that keeps the values called ``ad.name(value, label)``.

    The operation that made such a value is not carried out again.

    Raises:
        ArgumentError: if a label is not a string.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> block = lambda x: np.sin(ad.name(np.exp(x), "rates"))
        >>> ad.grad(ad.checkpoint(block, policy=ad.save_only_names("rates")))(0.0)
        np.float64(0.5403023058681398)
    """
    if wrong := [label for label in labels if not isinstance(label, str)]:
        raise ArgumentError(f"save_only_names takes labels, as in ad.name(x, 'label'); got {wrong[0]!r}")
    wanted = frozenset(labels)
    return lambda op, settings: op.name == "name" and settings.get("label") in wanted


class Watching(Observing):
    """Puts aside the results that `policy` chooses, while a function runs for the first time."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.places: list[tuple[int, Op]] = []
        self._kept: dict[int, np.ndarray] = {}
        self._numbers: dict[TapeNode, int] = {}
        super().__init__()

    def observers(self) -> Mapping[str, Observer]:
        return {"checkpoint": self._observe}

    def _observe(self, node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
        pullback = cast(Pullback, node.pullback)
        number = self._numbers[node] = len(self._numbers)
        named = {n: v for n, v in zip(pullback.names, node.saved, strict=True) if n in pullback.op.settings}
        if not self.policy(pullback.op, named):
            return
        if pullback.op.name == "name":  # its value is that of the operation before it
            node, out = node.parents[0], values[0]
            if node not in self._numbers:
                return
            number = self._numbers[node]
        if type(out) is np.ndarray and out.base is None and number not in self._kept:
            self._kept[number] = out
            self.places.append((number, cast(Pullback, node.pullback).op))

    def values(self) -> tuple[np.ndarray, ...]:
        """What was put aside, in the order of `places`; to be called once, after the run."""
        kept, self._kept, self._numbers = tuple(self._kept.values()), {}, {}
        return kept


class Replay(Observing):
    """The second run: `kept` are given where they were the results of the first."""

    def __init__(self, watching: Watching, kept: Sequence[np.ndarray]) -> None:
        self._kept = {number: (op, value) for (number, op), value in zip(watching.places, kept, strict=True)}
        self._count = 0
        super().__init__()

    def observers(self) -> Mapping[str, Observer]:
        return {"checkpoint": self._observe}

    def _observe(self, node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
        self._count += 1

    def asked(self) -> Setting:
        """Inside, tensors ask it; to be entered too."""
        return Setting(_replay, self)

    def arguments(self, tree: Tree) -> Value:
        """The tensors in `tree` as those that look here before an operation is carried out."""
        return map_tree(_replayed, tree)

    def given(self, op: Op) -> Op:
        """`op`, or if its result is known, an operation that gives that."""
        found = self._kept.get(self._count)
        if found is None or found[0] is not op:
            return op
        return op.replace(forward=lambda *_, **__: found[1])


_replay: ContextVar[Replay | None] = ContextVar("replay", default=None)


class _Looking(Tensor):
    """A tensor that asks `Replay` before an operation is carried out, and whose results do so too."""

    __slots__ = ()

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        replay = _replay.get()
        if replay is None:
            return Tensor.process(self, op, args, settings)
        return _results(Tensor.recorded(self, replay.given(op), args, settings))

    def snapshot(self) -> Value:
        return _replayed(Tensor.snapshot(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value) -> Array:
        return array_ufunc(ufunc, method, inputs, kwargs)


class _LookingView(View):
    __slots__ = ()
    process = _Looking.process
    __array_ufunc__ = _Looking.__array_ufunc__


class _LookingNumber(TensorNumber):
    """One of Python's numbers, for which a tensor looks."""

    __slots__ = ()
    __array_ufunc__ = _Looking.__array_ufunc__

    def as_array(self) -> Value:
        return _replayed(wrap(self.held, self.node, self.level))

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Value:
        return self.as_array().process(op, tuple(map(as_numpy, args)), settings)


_Looking.python_kind = _LookingNumber
for _middle in ("add", "sub", "mul", "truediv", "pow"):  # the general operators, in place of the short ones
    for _method in (f"__{_middle}__", f"__r{_middle}__", f"__i{_middle}__"):
        setattr(_LookingNumber, _method, getattr(PythonNumber, _method))
_LookingNumber.__neg__ = PythonNumber.__neg__  # type: ignore[method-assign]  # as above
for _kind in (_Looking, _LookingView):  # the general operators, in place of the short ones
    for _name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
        for _method in (f"__{_name}__", f"__r{_name}__"):
            setattr(_kind, _method, getattr(ArrayBox, _method))


def _results(out: Array) -> Array:
    """The results of one operation, looking."""
    return tuple(map(_replayed, out)) if isinstance(out, tuple) else _replayed(out)


def _replayed(value: Array) -> Array:
    if isinstance(value, View):
        value.__class__ = _LookingView
    elif isinstance(value, TensorNumber):
        return _LookingNumber.standing_for(value)
    elif isinstance(value, Tensor):
        value.__class__ = _Looking
    return value
