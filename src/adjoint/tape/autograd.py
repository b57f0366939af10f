"""PyTorch's `torch.autograd`: gradients of results that exist already."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from functools import partial

import numpy as np

from adjoint.core.errors import ArgumentError, GradientError
from adjoint.core.types import Array, Value
from adjoint.tape.backward import backward as gradients_of
from adjoint.tape.tensor import Tensor, wrap

_apart = ContextVar("apart", default=False)


def is_apart() -> bool:
    """Whether the backward pass that runs is one of `grad`, whose gradients no leaf keeps."""
    return _apart.get()


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """``t.backward()`` of each of `tensors`, from the cotangents `grad_tensors`.

    Example:
        >>> import adjoint as ad
        >>> x = ad.tensor(3.0, requires_grad=True)
        >>> ad.autograd.backward([x**2, 2 * x])
        >>> x.grad
        tensor(8.)
    """
    results = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    one = grad_tensors is None or isinstance(tensors, Tensor)
    seeds = [grad_tensors] * len(results) if one else list(grad_tensors)
    for out, seed in zip(results, seeds, strict=True):
        out.backward(seed, retain_graph=retain_graph is not False, create_graph=create_graph)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    only_inputs: bool = True,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Array, ...]:
    """The gradients of the sum of `outputs` by each of `inputs`; nothing is added to their ``grad``.

    Args:
        outputs: tensors that were computed from the inputs.
        inputs: leaves, or tensors on the way from these.
        grad_outputs: the cotangent of each output; 1 for one of one element.
        retain_graph: False frees the graph's saved values; they stay otherwise, other than PyTorch's.
        create_graph: make the gradients tensors with a history.
        allow_unused: give None for an input that no output was computed from.
        only_inputs: True; other leaves get no gradient.
        is_grads_batched: False; for many cotangents at once, `adjoint.vjp` and `adjoint.vmap`.
        materialize_grads: give zeros for such an input.

    Raises:
        GradientError: for such an input otherwise, or where there is no graph.

    Example:
        >>> import adjoint as ad
        >>> x = ad.tensor(3.0, requires_grad=True)
        >>> ad.autograd.grad(x**2, x)
        (tensor(6.),)
    """
    if callable(outputs):
        raise ArgumentError("autograd.grad takes tensors that are computed already; of a function, ad.grad(f)(x)")
    if is_grads_batched or not only_inputs:
        raise ArgumentError(
            "autograd.grad takes one cotangent for each output, and gives gradients by its inputs alone. Of many "
            "cotangents: ad.vmap(ad.vjp(f, x)[1])(cotangents)"
        )
    results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    seeds = [grad_outputs] if isinstance(outputs, Tensor) or grad_outputs is None else list(grad_outputs)
    seeds = seeds * len(results) if grad_outputs is None else seeds
    start: dict[Value, Value] = {}
    for out, seed in zip(results, seeds, strict=True):
        if out.node is None:
            raise GradientError(
                "autograd.grad of a tensor without a graph: nothing that it was computed from requires one"
            )
        cotangent = out._seed(seed)
        if create_graph and not isinstance(cotangent, Tensor):
            cotangent = wrap(cotangent, None, out.level)
        start[out.node] = start[out.node] + cotangent if out.node in start else cotangent
    seen: dict[Value, Value] = {x.node: start[x.node] for x in wanted if x.node in start}
    between = [x for x in wanted if x.node is not None and not x.is_leaf and x.node not in start]
    handles = [x.register_hook(partial(seen.__setitem__, x.node)) for x in between]
    before = _apart.set(True)
    try:
        rebox = results[0]._reboxed if create_graph else None
        seen |= gradients_of(start, retain_graph=retain_graph is not False, rebox=rebox, results=results)
    finally:
        _apart.reset(before)
        for handle in handles:
            handle.remove()
    found = tuple(_given(x, i, seen, allow_unused or materialize_grads) for i, x in enumerate(wanted))
    if materialize_grads:
        found = tuple(
            wrap(np.zeros_like(x.detach().held), None, x.level) if g is None else g
            for x, g in zip(wanted, found, strict=True)
        )
    return found


def _given(x: Tensor, number: int, seen: dict[Value, Value], allow_unused: bool) -> object:
    if x.node is None:
        raise GradientError(f"autograd.grad: input {number} requires no gradient. x.requires_grad_() before it is used")
    g = seen.get(x.node)
    if g is None and not allow_unused:
        raise GradientError(
            f"autograd.grad: no output was computed from input {number}. allow_unused=True gives None for it"
        )
    if g is None or (isinstance(g, Tensor) and g.level == x.level):
        return g
    return wrap(np.asarray(g) if isinstance(g, np.generic) else g, None, x.level)
