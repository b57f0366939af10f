"""Pooling with windows at drawn places, as layers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Size
from adjoint.nn.functions.fractional import Ratio, fractional_max_pool
from adjoint.nn.init import Rng
from adjoint.nn.module import Module


class FractionalMaxPool2d(Module):
    """`nn.functional.fractional_max_pool2d` as a layer (Graham, 2014).

    Args:
        kernel_size, output_size, output_ratio, return_indices: as there.
        rng: a seed or generator for where windows begin, in each call anew.

    Raises:
        ArgumentError: if there is neither a size nor a ratio, or both.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.FractionalMaxPool2d(3, output_size=(13, 12), rng=0)(np.ones((2, 4, 50, 32))).shape
        (2, 4, 13, 12)
    """

    axes: ClassVar[int] = 2

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: Ratio | None = None,
        return_indices: bool = False,
        _random_samples: Array = None,
        *,
        rng: Rng = None,
    ) -> None:
        if (output_size is None) == (output_ratio is None):
            raise ArgumentError(
                f"{type(self).__name__} takes either output_size or output_ratio; got {output_size} and {output_ratio}"
            )
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices, self.rng = return_indices, np.random.default_rng(rng)
        if _random_samples is None:
            self._random_samples = None
        else:
            self.register_buffer("_random_samples", _random_samples)

    def forward(self, x: Array) -> Array:
        return fractional_max_pool(
            self.axes, x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples, rng=self.rng,
        )  # fmt: skip

    def extra_repr(self) -> str:
        size = f"output_size={self.output_size}" if self.output_ratio is None else f"output_ratio={self.output_ratio}"
        return f"kernel_size={self.kernel_size}, {size}"


class FractionalMaxPool3d(FractionalMaxPool2d):
    """`FractionalMaxPool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.FractionalMaxPool3d(2, output_size=2, rng=0)(np.ones((1, 4, 4, 4))).shape
        (1, 2, 2, 2)
    """

    axes = 3
