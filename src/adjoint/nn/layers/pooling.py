"""Pooling as layers: `nn.functional`'s functions with their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adjoint.core.types import Array, Size
from adjoint.nn.functions import pooling
from adjoint.nn.layers.settings import WithSettings
from adjoint.tape.tensor import Tensor


class _Pooling(WithSettings):
    axes: ClassVar[int] = 2


class MaxPool2d(_Pooling):
    """`nn.functional.max_pool2d` as a layer.

    Args:
        kernel_size, stride, padding, dilation, return_indices, ceil_mode: as there.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MaxPool2d(2)(np.ones((5, 3, 8, 8))).shape
        (5, 3, 4, 4)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
                         return_indices=return_indices, ceil_mode=ceil_mode)  # fmt: skip

    def forward(self, x: Array) -> Tensor:
        return pooling.max_pool(self.axes, x, **self._settings)


class MaxPool1d(MaxPool2d):
    """`MaxPool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MaxPool1d(2)(np.array([[1.0, 3.0, 5.0, 7.0]]))
        array([[3., 7.]])
    """

    axes = 1


class MaxPool3d(MaxPool2d):
    """`MaxPool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MaxPool3d(2)(np.ones((1, 4, 4, 4))).shape
        (1, 2, 2, 2)
    """

    axes = 3


class AvgPool2d(_Pooling):
    """`nn.functional.avg_pool2d` as a layer.

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: as there.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AvgPool2d(3, stride=2, padding=1)(np.ones((3, 8, 8))).shape
        (3, 4, 4)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode,
                         count_include_pad=count_include_pad, divisor_override=divisor_override)  # fmt: skip

    def forward(self, x: Array) -> Tensor:
        return pooling.avg_pool(self.axes, x, **self._settings)


class AvgPool1d(AvgPool2d):
    """`AvgPool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AvgPool1d(2)(np.array([[1.0, 3.0, 5.0, 7.0]]))
        array([[2., 6.]])
    """

    axes = 1


class AvgPool3d(AvgPool2d):
    """`AvgPool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AvgPool3d(2)(np.ones((1, 4, 4, 4))).shape
        (1, 2, 2, 2)
    """

    axes = 3


class LPPool2d(_Pooling):
    """``sum(x**p)**(1/p)`` of each window.

    Args:
        norm_type: p.
        kernel_size, stride, ceil_mode: as in `MaxPool2d`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LPPool2d(2, 2)(np.ones((1, 2, 2))).item()
        2.0
    """

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)

    def forward(self, x: Array) -> Tensor:
        return pooling.lp_pool(self.axes, x, **self._settings)


class LPPool1d(LPPool2d):
    """`LPPool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LPPool1d(2, 2)(np.array([[3.0, 4.0, 6.0, 8.0]]))
        array([[ 5., 10.]])
    """

    axes = 1


class LPPool3d(LPPool2d):
    """`LPPool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LPPool3d(2, 2)(np.ones((1, 4, 4, 4))).shape
        (1, 2, 2, 2)
    """

    axes = 3


class AdaptiveAvgPool2d(_Pooling):
    """The means of as many windows along each axis as `output_size` says; they cover the input.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AdaptiveAvgPool2d((2, None))(np.ones((1, 3, 7, 5))).shape
        (1, 3, 2, 5)
    """

    def __init__(self, output_size: Size | Sequence[int | None] | None) -> None:
        super().__init__(output_size=output_size)

    def forward(self, x: Array) -> Tensor:
        return pooling.adaptive_avg_pool(self.axes, x, **self._settings)


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """`AdaptiveAvgPool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AdaptiveAvgPool1d(1)(np.array([[1.0, 3.0, 5.0]]))
        array([[3.]])
    """

    axes = 1


class AdaptiveAvgPool3d(AdaptiveAvgPool2d):
    """`AdaptiveAvgPool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AdaptiveAvgPool3d(2)(np.ones((1, 4, 4, 4))).shape
        (1, 2, 2, 2)
    """

    axes = 3


class AdaptiveMaxPool2d(_Pooling):
    """The largest elements of the windows of `AdaptiveAvgPool2d`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AdaptiveMaxPool2d(1)(np.arange(6.0).reshape(1, 2, 3)).item()
        5.0
    """

    def __init__(self, output_size: Size | Sequence[int | None] | None, return_indices: bool = False) -> None:
        super().__init__(output_size=output_size, return_indices=return_indices)

    def forward(self, x: Array) -> Tensor:
        return pooling.adaptive_max_pool(self.axes, x, **self._settings)


class AdaptiveMaxPool1d(AdaptiveMaxPool2d):
    """`AdaptiveMaxPool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AdaptiveMaxPool1d(1)(np.array([[1.0, 3.0, 5.0]]))
        array([[5.]])
    """

    axes = 1


class AdaptiveMaxPool3d(AdaptiveMaxPool2d):
    """`AdaptiveMaxPool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AdaptiveMaxPool3d(2)(np.ones((1, 4, 4, 4))).shape
        (1, 2, 2, 2)
    """

    axes = 3


class MaxUnpool2d(_Pooling):
    """Puts what `MaxPool2d` with ``return_indices=True`` gave back in its places, among zeros.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> out, where = nn.MaxPool2d(2, return_indices=True)(np.arange(4.0).reshape(1, 2, 2))
        >>> nn.MaxUnpool2d(2)(out, where)
        array([[[0., 0.],
                [0., 3.]]])
    """

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: Array, indices: Array, output_size: Sequence[int] | None = None) -> Tensor:
        return pooling.max_unpool(self.axes, x, indices, **self._settings, output_size=output_size)


class MaxUnpool1d(MaxUnpool2d):
    """`MaxUnpool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> largest, places = nn.MaxPool1d(2, return_indices=True)(np.array([[1.0, 3.0, 7.0, 5.0]]))
        >>> nn.MaxUnpool1d(2)(largest, places)
        array([[0., 3., 7., 0.]])
    """

    axes = 1


class MaxUnpool3d(MaxUnpool2d):
    """`MaxUnpool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> largest, places = nn.MaxPool3d(2, return_indices=True)(np.ones((1, 4, 4, 4)))
        >>> nn.MaxUnpool3d(2)(largest, places).shape
        (1, 4, 4, 4)
    """

    axes = 3
