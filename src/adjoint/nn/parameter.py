"""`Parameter`: a tensor that a module learns."""

from __future__ import annotations

from functools import cache

import numpy as np

from adjoint.core.types import Array
from adjoint.tape.tensor import Tensor


@cache
def _keep_freed_memory() -> None:
    """Let glibc keep what a step frees for the next one, instead of giving it back: pages cost a quarter of a step.

    The largest block that was freed sets its limits (M_MMAP_THRESHOLD in mallopt(3)). This one is never written into.
    """
    np.empty(31 << 20, np.uint8)


class Parameter(Tensor):
    """A tensor that modules find, and that optimisers write in place.

    Args:
        data: a tensor, whose memory is shared and not copied; an array, which is shared too, and read-only as long
            as the parameter lives (see `Tensor`); or numbers.
        requires_grad: False freezes it.

    Raises:
        DTypeError: if `data` are whole numbers or truth values, and a gradient is required.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> values = np.zeros(2)
        >>> p = nn.Parameter(values)
        >>> np.shares_memory(p.numpy(), values)
        True
    """

    __slots__ = ()

    def __init__(self, data: Array, requires_grad: bool = True) -> None:
        _keep_freed_memory()
        super().__init__(data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return "Parameter" + super().__repr__().removeprefix("tensor").replace("\n", "\n   ")
