"""Functions that see the cotangent of a tensor when the backward pass reaches it, and may change it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.core.box import Box
from adjoint.core.errors import DTypeError, GradientError, GraphFreedError, ShapeError
from adjoint.core.rules.pullbacks import Pullback, dtype_of, freed
from adjoint.core.types import Array, Value
from adjoint.tape.zeros.selected import Selected

if TYPE_CHECKING:
    from adjoint.tape.node import TapeNode
    from adjoint.tape.tensor import Tensor

Hook = Callable[..., Value]
_numbers = count()


class HookHandle:
    """Takes its hook away again: ``handle.remove()``, or ``with tensor.register_hook(f):`` for a while."""

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        self._hooks, self._number = hooks, next(_numbers)
        hooks[self._number] = hook

    def remove(self) -> None:
        """Take the hook away; doing so again does nothing."""
        self._hooks.pop(self._number, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Whole(Protocol):
    """What sees all gradients of a pass at its end, before they are kept, and may put others in their place."""

    def whole(self, found: dict[TapeNode, Value]) -> None:
        """Change `found`, the gradients by their leaves."""

    def recorded(self, found: dict[TapeNode, Value], stand_in: Callable[[Tensor], Tensor]) -> None:
        """The same where a program is recorded: `stand_in` gives what stands for a tensor in it."""


class RecordedWhole:
    """What sees all gradients of a pass of a program: each stand-in of a leaf has it."""

    def __init__(self, whole: Whole, stand_in: Callable[[Tensor], Tensor]) -> None:
        self._whole, self._stand_in = whole, stand_in

    def whole(self, found: dict[TapeNode, Value]) -> None:
        """Put others in place of the gradients."""
        self._whole.recorded(found, self._stand_in)

    def recorded(self, found: dict[TapeNode, Value], stand_in: Callable[[Tensor], Tensor]) -> None:
        """Nobody records a program of a program."""
        raise NotImplementedError


class NodeHooks:
    """The hooks of one node, called in the order in which they came; then its gradient is kept, if asked for."""

    def __init__(self, tensor: Tensor, node: TapeNode) -> None:
        self.level, self.like = tensor.level, type(tensor.detach())
        self.tensor, self.order = weakref.ref(tensor), node.order
        self.before: dict[int, Hook] = {}
        self.after: dict[int, Hook] = {}
        self.keeps = False
        self.whole: Whole | None = None

    @property
    def is_watched(self) -> bool:
        """Whether there is more than `whole`."""
        return bool(self.before or self.after or self.keeps)

    def are_all_of(self, leaf: TapeNode) -> bool:
        """Whether a leaf has these hooks, and no more than `whole` in them."""
        return bool(leaf.saved) and leaf.saved[0] is self and not self.is_watched

    def __call__(self, g: Array) -> Value:
        """The cotangent `g`, or what hooks put in its place."""
        if isinstance(g, Selected):
            return g.replaced(self(g.value))
        for hook in tuple(self.before.values()):
            own = isinstance(g, self.like) and g.level == self.level
            shown: Value = g if own else self._shown(g)
            given = hook(shown)
            if given is not None and given is not shown:
                g = self._taken(given, g, own)
        tensor = self.tensor() if self.keeps else None
        node = None if tensor is None else tensor.node
        if node is not None and node.order == self.order:  # else nobody can ask for it any more
            kept = g if isinstance(g, self.like) else self._shown(g, writeable=True)
            node.grad = kept if node.grad is None else node.grad + kept
        return g

    def _shown(self, g: Array, writeable: bool = False) -> Tensor:
        """A tensor of the hook's own: it may be kept, but to write into it would change nothing, so that fails."""
        if not isinstance(g, Box):
            g = np.array(g)
            g.flags.writeable = writeable
        shown = object.__new__(self.like)
        shown.held, shown.node, shown.level = g, None, self.level
        return shown

    def _taken(self, given: Value, g: Array, own: bool) -> Value:
        """What a hook gave in place of `g`, in its shape and dtype and in memory of its own."""
        if isinstance(given, self.like) and not own and (given.level == self.level or given.node is None):
            given = given.held  # this pass is not itself recorded
        kind = dtype_of(given).kind
        if kind not in "fciub" or (kind == "c" and g.dtype.kind != "c"):
            raise DTypeError(f"a hook must give a cotangent of its tensor's dtype {g.dtype}; got {dtype_of(given)}")
        if not isinstance(given, Box):
            given = np.array(given, g.dtype)
        if given.shape != g.shape:
            raise ShapeError(
                f"a hook must give a cotangent of its tensor's shape {g.shape}, or None to leave it as it is; "
                f"got shape {given.shape}"
            )
        return given if given.dtype == g.dtype else given.astype(g.dtype)


def hooks_of(tensor: Tensor, call: str) -> NodeHooks:
    """The hooks of a tensor's node: those of a leaf are what it saves, those of a result stand before its rule."""
    node = tensor.node
    if node is None:
        raise GradientError(f"{call} on a tensor that requires no gradient; t.requires_grad_() first")
    if node.pullback is None:
        if not node.saved:
            node.saved = (NodeHooks(tensor, node),)
        return cast(NodeHooks, node.saved[0])
    pullback: Value = node.pullback
    if pullback is freed:
        raise GraphFreedError(f"{call}: the graph of this tensor was freed; compute it again")
    if pullback.hooks is None:
        node.pullback = _hooked(pullback, NodeHooks(tensor, node))
    return cast(Value, node.pullback).hooks  # type: ignore[no-any-return]  # NodeHooks, attached below


def _hooked(pullback: Pullback, hooks: NodeHooks) -> Pullback:
    def hooked(g: Array, saved: Array) -> object:
        return pullback.run(hooks(g), saved)

    # The rule may hand on what a hook gave, so a share is not sure to be the rule's own.
    return pullback.replace(run=hooked, fresh=False, special=True, alert=True, hooks=hooks)


class Observable(ArrayBox):
    """The methods of a tensor that let its cotangent be seen."""

    __slots__ = ()
    node: Value

    def register_hook(self, hook: Callable[[Value], Value]) -> HookHandle:
        """Call `hook` with this tensor's cotangent in each backward pass, before it goes on from here.

        Args:
            hook: takes the whole cotangent as a tensor (read-only), of this tensor's shape and dtype. What it
                gives, unless None, takes the cotangent's place: for later hooks, for `grad`, and further back.

        Returns:
            A handle; ``handle.remove()`` takes the hook away.

        Raises:
            GradientError: if this tensor requires no gradient.
            ShapeError: in the pass, if `hook` gives something of another shape.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
            >>> y = x * 10
            >>> handle = y.register_hook(lambda g: np.clip(g, -1, 1))
            >>> np.sum(y**2).backward()
            >>> x.grad
            tensor([10., 10.])
        """
        return HookHandle(hooks_of(cast(Value, self), "register_hook()").before, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Value], Value]) -> HookHandle:
        """Call `hook` with this leaf after each ``backward()`` that has added to its `grad`.

        Raises:
            GradientError: if this tensor requires no gradient, or is no leaf.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> w = ad.tensor([1.0, 2.0], requires_grad=True)
            >>> handle = w.register_post_accumulate_grad_hook(lambda w: print(w.grad))
            >>> np.sum(w * w).backward()
            tensor([2., 4.])
        """
        if self.node is not None and self.node.pullback is not None:
            raise GradientError(
                "register_post_accumulate_grad_hook() is for leaves, where gradients collect; to see the cotangent of "
                "a result, use t.register_hook(f)"
            )
        hooks = hooks_of(cast(Value, self), "register_post_accumulate_grad_hook()")
        leaf = weakref.ref(cast(Value, self))

        def collected() -> None:
            tensor = leaf()
            if tensor is not None:
                hook(tensor)

        return HookHandle(hooks.after, collected)

    def retain_grad(self) -> None:
        """Keep the gradient of this intermediate value too, in `grad`: as it is after all hooks."""
        node = self.node
        if node is not None and node.pullback is None:
            return
        hooks_of(cast(Value, self), "retain_grad()").keeps = True
        node.grad = getattr(node, "grad", None)


def collected(leaf: TapeNode) -> None:
    """Call the hooks that wait for the gradient of `leaf`."""
    for hook in tuple(cast(NodeHooks, leaf.saved[0]).after.values()):
        hook()
