"""Convolutions over one, two or three axes, and their transposes, as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, DType, Size
from adjoint.nn import init
from adjoint.nn.functions.convolution import batch, each, pairs, through, transposed
from adjoint.nn.init import Rng
from adjoint.nn.layers.settings import Drawn
from adjoint.nn.parameter import Parameter
from adjoint.nn.precision import notice
from adjoint.tape.tensor import Tensor

MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _Convolution(Drawn):
    """What the layers share: sizes, weights and their initial values."""

    axes: ClassVar[int]
    is_transpose: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size,
        padding: Size | str,
        dilation: Size,
        groups: int,
        bias: bool,
        padding_mode: str,
        rng: Rng,
        dtype: DType,
    ) -> None:
        name = type(self).__name__
        if groups < 1 or in_channels < 1 or out_channels < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"{name}: numbers of channels are positive multiples of groups={groups}; got {in_channels} and "
                f"{out_channels}"
            )
        if padding_mode not in MODES:
            raise ArgumentError(f"{name}: padding_mode is one of {', '.join(MODES)}; got {padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = each("kernel_size", kernel_size, self.axes)
        self.stride, self.dilation = each("stride", stride, self.axes), each("dilation", dilation, self.axes)
        self.padding, self.padding_mode = padding, padding_mode
        self.transposed, self.output_padding = self.is_transpose, (0,) * self.axes
        self._around = pairs(padding, self.axes, self.kernel_size, self.stride, self.dilation)
        rng = np.random.default_rng(rng)
        lead = (in_channels, out_channels // groups) if self.is_transpose else (out_channels, in_channels // groups)
        shape = (*lead, *self.kernel_size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(init.uniform(shape, rng, dtype, -bound, bound))
        self.bias = Parameter(init.uniform((out_channels,), rng, dtype, -bound, bound)) if bias else None

    def forward(self, x: Array) -> Tensor:
        notice(x, self.weight)
        around = self._around
        if self.padding_mode != "zeros":
            x = np.pad(x, [(0, 0)] * (np.ndim(x) - self.axes) + list(around), mode=MODES[self.padding_mode])  # type: ignore[call-overload]  # a mode's name
            around = ((0, 0),) * self.axes
        x, alone = batch(type(self).__name__, x, self.axes, self.in_channels)
        options = {"stride": self.stride, "dilation": self.dilation, "groups": self.groups}
        return through(x, self.weight, self.bias, alone, padding=around, **options)

    def extra_repr(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        plain = {"padding": 0, "dilation": (1,) * self.axes, "groups": 1, "padding_mode": "zeros"}
        shown += [f"{name}={getattr(self, name)!r}" for name, value in plain.items() if getattr(self, name) != value]
        return ", ".join(shown + ([] if self.bias is not None else ["bias=False"]))


class Conv2d(_Convolution):
    """`nn.functional.conv2d` with weights and biases of its own.

    Args:
        in_channels, out_channels: `x` is (n, in, height, width), or without n.
        kernel_size: the windows' sizes, one number or two.
        stride, padding, dilation, groups: as in `nn.functional.conv2d`.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        rng: a seed or generator; weights and biases are uniform within ±1/sqrt(in / groups * k1 * k2).
        dtype: of the parameters.

    Attributes:
        weight: (out, in / groups, k1, k2).
        bias: (out,), or None.

    Raises:
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Conv2d(3, 8, 3, padding=1, rng=0)(np.ones((2, 3, 10, 10))).shape
        (2, 8, 10, 10)
    """

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, rng, dtype
        )


class Conv1d(Conv2d):
    """`Conv2d` over one axis: `x` is (n, in, length), `weight` (out, in / groups, k).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Conv1d(2, 4, 3, stride=2, rng=0)(np.ones((5, 2, 9))).shape
        (5, 4, 4)
    """

    axes = 1


class Conv3d(Conv2d):
    """`Conv2d` over three axes: `x` is (n, in, depth, height, width).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Conv3d(1, 2, 3, padding="same", rng=0)(np.ones((1, 4, 4, 4))).shape
        (2, 4, 4, 4)
    """

    axes = 3


class ConvTranspose2d(_Convolution):
    """`nn.functional.conv_transpose2d` with weights and biases of its own.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation: as there.
        padding_mode: "zeros" only.
        rng, dtype: as in `Conv2d`; the bound is 1/sqrt(out / groups * k1 * k2).

    Attributes:
        weight: (in, out / groups, k1, k2).
        bias: (out,), or None.

    Raises:
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ConvTranspose2d(4, 2, 2, stride=2, rng=0)(np.ones((1, 4, 5, 5))).shape
        (1, 2, 10, 10)
    """

    axes = 2
    is_transpose = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        if padding_mode != "zeros" or isinstance(padding, str):
            raise ArgumentError(
                f'{type(self).__name__} takes padding as whole numbers, and padding_mode="zeros"; got {padding!r} and '
                f"{padding_mode!r}"
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, rng, dtype
        )
        self.output_padding = each("output_padding", output_padding, self.axes, 0)

    def forward(self, x: Array, output_size: Sequence[int] | None = None) -> Tensor:
        """The result; `output_size` says its last axes, in place of `output_padding`."""
        more = self.output_padding if output_size is None else self._missing(np.shape(x), tuple(output_size))
        return transposed(
            type(self).__name__, self.axes, x, self.weight, self.bias, self.stride, self.padding, more, self.groups,
            self.dilation,
        )  # fmt: skip

    def _missing(self, shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
        """The padding behind the result that makes it as large as `size`."""
        around = each("padding", self.padding, self.axes, 0)
        settings = zip(shape[-self.axes :], self.stride, around, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings]
        more = tuple(m - n for m, n in zip(size[-self.axes :], least, strict=True))
        if len(size) < self.axes or not all(0 <= m < s for m, s in zip(more, self.stride, strict=True)):
            most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
            raise ArgumentError(f"{type(self).__name__}: output_size is from {least} to {most}; got {size}")
        return more


class ConvTranspose1d(ConvTranspose2d):
    """`ConvTranspose2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ConvTranspose1d(3, 2, 4, stride=2, padding=1, rng=0)(np.ones((3, 5))).shape
        (2, 10)
    """

    axes = 1


class ConvTranspose3d(ConvTranspose2d):
    """`ConvTranspose2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ConvTranspose3d(1, 1, 2, rng=0)(np.ones((1, 2, 2, 2))).shape
        (1, 3, 3, 3)
    """

    axes = 3
