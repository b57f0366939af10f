"""PyTorch's `torch.utils.checkpoint`: compute again instead of keeping."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.core.types import Array, Function, Value
from adjoint.tape.checkpoints import checkpoint as checkpoints


def checkpoint(
    function: Function,
    *args: Array,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Array,
) -> Value:
    """``adjoint.checkpoint(function)(*args, **kwargs)``; generators are set back for the second run in any case.

    Example:
        >>> import adjoint as ad
        >>> from adjoint.utils.checkpoint import checkpoint
        >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda x: x**2, x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    return checkpoints.checkpoint(function)(*args, **kwargs)


def checkpoint_sequential(
    functions: Sequence[Function],
    segments: int,
    input: Array,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Array:
    """`adjoint.checkpoint_sequential`."""
    return checkpoints.checkpoint_sequential(functions, segments, input)
