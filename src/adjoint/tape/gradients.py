"""`Gradients`: the backward pass that starts at a tensor, and the gradients that it leaves in leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.core.box import Box
from adjoint.core.errors import DTypeError, GradientError, ShapeError
from adjoint.core.op import Op
from adjoint.core.rules.cotangents import as_cotangent, one_like
from adjoint.core.rules.pullbacks import freed, op_of
from adjoint.core.threads.locks import COLLECTING
from adjoint.core.types import Array
from adjoint.tape.backward import backward
from adjoint.tape.node import TapeNode, leaf, walk
from adjoint.tape.observers.observing import collected
from adjoint.tape.writes.mutations import is_elsewhere

if TYPE_CHECKING:
    from adjoint.tape.tensor import Tensor


class Gradients(ArrayBox):
    """What a tensor is asked when its derivative is wanted."""

    __slots__ = ("node",)
    held: Array
    node: TapeNode | None

    def _around(self, data: Array) -> Tensor:
        """A constant tensor of this level around `data`."""
        raise NotImplementedError

    def _reboxed(self, node: TapeNode, saved: tuple[Array, ...]) -> tuple[object, ...]:
        raise NotImplementedError

    def _tensor(self, value: Array) -> Tensor:
        """`value`, which is set as a gradient, as a tensor."""
        raise NotImplementedError

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to or through this tensor."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Start (or, for a leaf, stop) collecting a gradient here.

        From the start on, the tensor has memory of its own: a copy, if an array elsewhere shows what it has now.
        """
        if requires_grad and self.node is None:
            self.node = self._new_leaf()
            if is_elsewhere(self):
                self.held = np.array(self.held)
        elif not requires_grad and self.node is not None:
            if not self.is_leaf:
                raise GradientError(
                    "this tensor was computed from others that require a gradient, so it does too; to use "
                    "its values as a constant, take t.detach()"
                )
            self.node = None
        return self

    def _new_leaf(self) -> TapeNode:
        if self.dtype.kind not in "fc":
            raise DTypeError(
                f"only real and complex tensors can require a gradient; this one has dtype {self.dtype}. "
                f"Convert it first: t.astype(float)"
            )
        return leaf(self.shape, self.dtype)

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by the user, not computed from tensors that require a gradient."""
        return self.node is None or self.node.pullback is None

    @property
    def grad_fn(self) -> Op | None:
        """The operation that computed this tensor, if it is in a graph; None of a leaf."""
        return None if self.node is None or self.node.pullback is None else op_of(self.node.pullback)

    def detach_(self) -> Self:
        """Forget the history, and require no gradient.

        Raises:
            GradientError: of a view, whose history is that of the tensor that it shows.
        """
        if getattr(self, "root", self) is not self:
            raise GradientError("detach_() of a view, whose history is that of another tensor: t = t.detach()")
        self.node = None
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient collected so far, a tensor of this shape and dtype; None before `backward`."""
        return None if self.node is None else getattr(self.node, "grad", None)

    @grad.setter
    def grad(self, value: Array) -> None:
        if self.node is None:
            raise GradientError("this tensor holds no gradient: it does not require one. t.requires_grad_()")
        if value is not None:
            value = self._tensor(value)
            if value.dtype.kind not in "biufc":
                raise DTypeError(f"a gradient is made of numbers; got an array of {value.dtype}")
            if value.shape != self.shape:
                raise ShapeError(f"a gradient has its tensor's shape {self.shape}; got {value.shape}")
        self.node.grad = value

    def backward(self, gradient: Array = None, retain_graph: bool = True, create_graph: bool = False) -> None:
        """Add the gradient of this tensor to `grad` of every leaf that it was computed from.

        Args:
            gradient: the cotangent of this tensor, of its shape; 1 for a tensor of one element.
            retain_graph: False frees saved values as they are used; a second call then says so.
            create_graph: make the gradients tensors with a history of their own, to differentiate again.

        Raises:
            GradientError: if there is no graph, or no `gradient` for more than one element.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> x = ad.tensor([3.0, 4.0], requires_grad=True)
            >>> np.linalg.norm(x).backward()
            >>> x.grad
            tensor([0.6, 0.8])
        """
        node = self.node
        if node is None:
            raise GradientError(
                "backward() on a tensor without a graph: nothing that it was computed from requires a "
                "gradient (or it was computed under no_grad, or by a compiled step that wrote what its graph needs). "
                "Make a leaf with ad.tensor(..., requires_grad=True)"
            )
        seed = self._seed(gradient)
        rebox = None
        if create_graph:
            seed = self._around(seed) if not isinstance(seed, Gradients) else seed
            rebox = self._reboxed
        found = backward({node: seed}, retain_graph=retain_graph, rebox=rebox, results=[self])
        hooked = [target for target in found if target.saved]
        for whole in dict.fromkeys([target.saved[0].whole for target in hooked]) if hooked else ():
            if whole is not None:
                whole.whole(found)
        with COLLECTING:  # two threads may add to one leaf
            for target, g in found.items():
                self._collect(target, g, create_graph)
        for target in hooked:
            collected(target)

    def _collect(self, target: TapeNode, g: Array, create_graph: bool) -> None:
        """Add `g` to the gradient that the leaf `target` holds."""
        g = g if isinstance(g, Gradients) and g.level == self.level else self._around(g)
        kept = target.grad
        if kept is None:
            target.grad = g
        elif create_graph or kept.requires_grad:
            target.grad = kept + g
        elif isinstance(kept.held, np.ndarray):
            np.add(kept.held, g.held, out=kept.held)
        elif isinstance(kept.held, Box) and kept.held.level < 0:  # a program writes down that it writes
            kept.held += g.held
        else:
            target.grad = kept + g

    def _seed(self, gradient: Array) -> Array:
        if gradient is None:
            if self.held.size != 1:
                raise GradientError(
                    f"backward() of a tensor of shape {self.shape} needs the cotangent to start from: "
                    f"t.backward(np.ones({self.shape})), or reduce it to one number: t.sum().backward()"
                )
            if self.dtype.kind == "c":
                raise GradientError(
                    "backward() of a complex number needs the cotangent to start from: t.backward(1.0) for that of its "
                    "real part; or take np.real, np.imag or np.abs of it"
                )
            return np.ones_like(self.held) if self.shape else one_like(self.held)
        if isinstance(gradient, Gradients) and gradient.level == self.level and gradient.node is None:
            gradient = gradient.held
        gradient = as_cotangent(gradient, self.held, "backward")
        if gradient.shape != self.shape:
            raise ShapeError(f"backward(gradient): the gradient must have the tensor's shape {self.shape}; "
                             f"got {gradient.shape}")  # fmt: skip
        return gradient

    def zero_grad(self) -> None:
        """Forget the gradient collected here."""
        if self.node is not None and (self.node.pullback is None or hasattr(self.node, "grad")):
            self.node.grad = None

    def null_gradients(self) -> None:
        """Forget the gradients of every tensor that leads to this one, and keep the graph."""
        for node in walk(self.node) if self.node is not None else ():
            if hasattr(node, "grad"):
                node.grad = None

    def clear_graph(self) -> None:
        """Free the graph behind this tensor: saved values and the links between operations."""
        for node in walk(self.node) if self.node is not None else ():
            if node.pullback is not None:
                node.pullback, node.parents, node.saved = freed, (), ()
