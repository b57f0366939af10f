"""Other sizes, as layers: `nn.functional`'s functions with their settings."""

from __future__ import annotations

from typing import ClassVar

from adjoint.core.types import Array, Size
from adjoint.nn.functions.convolution import each
from adjoint.nn.functions.resizing import fold, interpolate, pad, pixel_shuffle, pixel_unshuffle, unfold
from adjoint.nn.layers.settings import WithSettings
from adjoint.tape.tensor import Tensor


class Upsample(WithSettings):
    """`nn.functional.interpolate` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Upsample(scale_factor=2)(np.ones((1, 3, 4, 4))).shape
        (1, 3, 8, 8)
    """

    def __init__(
        self,
        size: Size | None = None,
        scale_factor: object = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners,
                         recompute_scale_factor=recompute_scale_factor)  # fmt: skip

    def forward(self, x: Array) -> Tensor:
        return interpolate(x, **self._settings)


class UpsamplingNearest2d(Upsample):
    """`Upsample` with ``mode="nearest"``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.UpsamplingNearest2d(scale_factor=2)(np.array([[[[1.0, 2.0]]]]))[0, 0]
        array([[1., 1., 2., 2.],
               [1., 1., 2., 2.]])
    """

    def __init__(self, size: Size | None = None, scale_factor: object = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with ``mode="bilinear"`` and aligned corners.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.UpsamplingBilinear2d(scale_factor=2)(np.array([[[[1.0, 2.0]]]]))[0, 0].round(3)
        array([[1.   , 1.333, 1.667, 2.   ],
               [1.   , 1.333, 1.667, 2.   ]])
    """

    def __init__(self, size: Size | None = None, scale_factor: object = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(WithSettings):
    """`nn.functional.pixel_shuffle` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.PixelShuffle(2)(np.arange(4.0).reshape(1, 4, 1, 1))
        array([[[[0., 1.],
                 [2., 3.]]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, x: Array) -> Tensor:
        return pixel_shuffle(x, **self._settings)


class PixelUnshuffle(WithSettings):
    """`nn.functional.pixel_unshuffle` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.PixelUnshuffle(2)(np.ones((1, 1, 4, 4))).shape
        (1, 4, 2, 2)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, x: Array) -> Tensor:
        return pixel_unshuffle(x, **self._settings)


class Unfold(WithSettings):
    """`nn.functional.unfold` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Unfold(2)(np.ones((1, 1, 3, 3))).shape
        (1, 4, 4)
    """

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, x: Array) -> Tensor:
        return unfold(x, **self._settings)


class Fold(WithSettings):
    """`nn.functional.fold` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Fold(output_size=3, kernel_size=2)(np.ones((1, 4, 4)))[0, 0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]])
    """

    def __init__(
        self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )

    def forward(self, x: Array) -> Tensor:
        return fold(x, **self._settings)


class _Padding(WithSettings):
    axes: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Size) -> None:
        super().__init__(padding=each("padding", padding, 2 * self.axes, -(1 << 30)))

    def forward(self, x: Array) -> Tensor:
        return pad(x, self._settings["padding"], self.mode)


class _Constant(_Padding):
    mode = "constant"

    def __init__(self, padding: Size, value: float) -> None:
        super().__init__(padding)
        self._settings["value"] = value

    def forward(self, x: Array) -> Tensor:
        return pad(x, self._settings["padding"], "constant", self._settings["value"])


class ConstantPad2d(_Constant):
    """`nn.functional.pad` of the last two axes: (left, right, top, bottom), or one number for all.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ConstantPad2d((1, 0, 0, 0), 7.0)(np.ones((1, 1, 1)))
        array([[[7., 1.]]])
    """

    axes = 2


class ConstantPad1d(ConstantPad2d):
    """`ConstantPad2d` of the last axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ConstantPad1d(1, 9.0)(np.array([[1.0, 2.0, 3.0]]))
        array([[9., 1., 2., 3., 9.]])
    """

    axes = 1


class ConstantPad3d(ConstantPad2d):
    """`ConstantPad2d` of the last three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ConstantPad3d(1, 9.0)(np.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    axes = 3


class ZeroPad2d(_Padding):
    """`ConstantPad2d` with zeros.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ZeroPad2d(1)(np.array([[[1.0, 2.0], [3.0, 4.0]]]))[0]
        array([[0., 0., 0., 0.],
               [0., 1., 2., 0.],
               [0., 3., 4., 0.],
               [0., 0., 0., 0.]])
    """

    axes, mode = 2, "constant"


class ZeroPad1d(ZeroPad2d):
    """`ZeroPad2d` of the last axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ZeroPad1d(1)(np.array([[1.0, 2.0, 3.0]]))
        array([[0., 1., 2., 3., 0.]])
    """

    axes = 1


class ZeroPad3d(ZeroPad2d):
    """`ZeroPad2d` of the last three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ZeroPad3d(1)(np.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    axes = 3


class ReflectionPad2d(_Padding):
    """Reflects the last two axes at their ends, which are not repeated.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReflectionPad2d(1)(np.array([[[1.0, 2.0], [3.0, 4.0]]]))[0]
        array([[4., 3., 4., 3.],
               [2., 1., 2., 1.],
               [4., 3., 4., 3.],
               [2., 1., 2., 1.]])
    """

    axes, mode = 2, "reflect"


class ReflectionPad1d(ReflectionPad2d):
    """`ReflectionPad2d` of the last axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReflectionPad1d(1)(np.array([[1.0, 2.0, 3.0]]))
        array([[2., 1., 2., 3., 2.]])
    """

    axes = 1


class ReflectionPad3d(ReflectionPad2d):
    """`ReflectionPad2d` of the last three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReflectionPad3d(1)(np.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    axes = 3


class ReplicationPad2d(_Padding):
    """Repeats the outermost elements of the last two axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReplicationPad2d(1)(np.array([[[1.0, 2.0], [3.0, 4.0]]]))[0]
        array([[1., 1., 2., 2.],
               [1., 1., 2., 2.],
               [3., 3., 4., 4.],
               [3., 3., 4., 4.]])
    """

    axes, mode = 2, "replicate"


class ReplicationPad1d(ReplicationPad2d):
    """`ReplicationPad2d` of the last axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReplicationPad1d(1)(np.array([[1.0, 2.0, 3.0]]))
        array([[1., 1., 2., 3., 3.]])
    """

    axes = 1


class ReplicationPad3d(ReplicationPad2d):
    """`ReplicationPad2d` of the last three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReplicationPad3d(1)(np.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    axes = 3


class CircularPad2d(_Padding):
    """Goes on at the other end of the last two axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CircularPad2d(1)(np.array([[[1.0, 2.0], [3.0, 4.0]]]))[0]
        array([[4., 3., 4., 3.],
               [2., 1., 2., 1.],
               [4., 3., 4., 3.],
               [2., 1., 2., 1.]])
    """

    axes, mode = 2, "circular"


class CircularPad1d(CircularPad2d):
    """`CircularPad2d` of the last axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CircularPad1d(1)(np.array([[1.0, 2.0, 3.0]]))
        array([[3., 1., 2., 3., 1.]])
    """

    axes = 1


class CircularPad3d(CircularPad2d):
    """`CircularPad2d` of the last three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CircularPad3d(1)(np.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    axes = 3
