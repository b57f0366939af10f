"""Activations as modules, to stand between layers in `Sequential`.

Their formulas are in `adjoint.ops.neural.activation`.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.types import A, Array, DType, Function
from adjoint.nn.functions import units
from adjoint.nn.init import Rng
from adjoint.nn.layers.settings import Drawn, WithSettings
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.neural import activation
from adjoint.tape.tensor import Tensor


class Rectifier(Module):
    """An activation without settings; `inplace` is PyTorch's: the result is a new array in any case."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


class ReLU(Rectifier):
    """The larger of x and 0; its slope at 0 is 0.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReLU()(np.array([-2.0, 0.5, 3.0]))
        array([0. , 0.5, 3. ])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.relu(x)


class Tanh(Module):
    """The hyperbolic tangent.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Tanh()(np.array([-2.0, 0.5, 3.0]))
        array([-0.96402758,  0.46211716,  0.99505475])
    """

    def forward(self, x: Array) -> Tensor:
        return np.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x)), for x of any size.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Sigmoid()(np.array([-2.0, 0.5, 3.0]))
        array([0.11920292, 0.62245933, 0.95257413])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.sigmoid(x)


class SiLU(Rectifier):
    """x * sigmoid(x).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.SiLU()(np.array([-2.0, 0.5, 3.0]))
        array([-0.23840584,  0.31122967,  2.85772238])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.silu(x)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, for x of any size; x itself where ``beta * x`` is above `threshold`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Softplus()(np.array([-2.0, 0.5, 3.0]))
        array([0.12692801, 0.97407698, 3.04858735])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Array) -> Tensor:
        return units.softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """x times the normal distribution's cdf; see `adjoint.gelu`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.GELU()(np.array([-2.0, 0.5, 3.0]))
        array([-0.04550026,  0.34573123,  2.99595031])
    """

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Array) -> Tensor:
        return activation.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """x where it is positive, ``negative_slope * x`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LeakyReLU(0.1)(np.array([-2.0, 0.5, 3.0]))
        array([-0.2,  0.5,  3. ])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, x: Array) -> Tensor:
        return activation.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}"


class ELU(Module):
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ELU()(np.array([-2.0, 0.5, 3.0]))
        array([-0.86466472,  0.5       ,  3.        ])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha, self.inplace = alpha, inplace

    def forward(self, x: Array) -> Tensor:
        return activation.elu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along axis `dim`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Softmax(dim=0)(np.array([-2.0, 0.5, 3.0]))
        array([0.00618829, 0.07538875, 0.91842297])
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Array) -> Tensor:
        return activation.softmax(x, axis=self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """log(softmax(x)) along axis `dim`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LogSoftmax(dim=0)(np.array([-2.0, 0.5, 3.0]))
        array([-5.08509725, -2.58509725, -0.08509725])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.log_softmax(x, axis=self.dim)


class Softmin(Softmax):
    """softmax(-x) along axis `dim`."""

    def forward(self, x: Array) -> Tensor:
        return activation.softmax(-x, axis=self.dim)


class Softmax2d(Module):
    """softmax over the channels of (n, channels, height, width) or (channels, height, width)."""

    def forward(self, x: Array) -> Tensor:
        return activation.softmax(x, axis=-3)


class Softsign(Module):
    """x / (1 + abs(x))."""

    def forward(self, x: Array) -> Tensor:
        return activation.softsign(x)


class ReLU6(Rectifier):
    """x, held between 0 and 6."""

    def forward(self, x: Array) -> Tensor:
        return activation.relu6(x)


class Hardtanh(WithSettings):
    """x, held between `min_val` and `max_val`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Hardtanh()(np.array([-2.0, 0.5, 3.0]))
        array([-1. ,  0.5,  1. ])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val)
        self.inplace = inplace

    def forward(self, x: Array) -> Tensor:
        return activation.hardtanh(x, **self._settings)


def prelu(input: A, weight: Array) -> A:
    """x where it is positive, ``weight * x`` elsewhere; `weight` is one number, or one for each channel (axis 1)."""
    if np.size(weight) > 1 and np.ndim(input) > 2:
        weight = np.reshape(weight, (-1,) + (1,) * (np.ndim(input) - 2))
    elif np.size(weight) == 1:
        weight = np.reshape(weight, ())  # a number gives a number
    return activation.prelu(input, weight)


class PReLU(Drawn):
    """x where it is positive, ``weight * x`` elsewhere, with a learned weight for all or for each channel (axis 1).

    Args:
        num_parameters: 1, or the number of channels.
        init: the weights' first value.
        dtype: of the weights.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: DType = np.float64) -> None:
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full(num_parameters, init, dtype))

    def forward(self, x: Array) -> Tensor:
        return prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.size}"


class RReLU(Module):
    """x where it is positive, ``a * x`` elsewhere: while training `a` is drawn for each element from [lower, upper)."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False, *, rng: Rng = None) -> None:
        self.lower, self.upper, self.inplace, self.rng = lower, upper, inplace, np.random.default_rng(rng)

    def forward(self, x: Array) -> Tensor:
        if not self.training:
            return activation.leaky_relu(x, (self.lower + self.upper) / 2)
        slopes = self.rng.uniform(self.lower, self.upper, np.shape(x))
        dtype = getattr(x, "dtype", slopes.dtype)
        return activation.prelu(x, slopes.astype(dtype) if dtype.kind == "f" else slopes)


def rrelu(
    input: A,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    rng: Rng = None,
) -> A:
    """What `adjoint.nn.RReLU` does, with random numbers from `rng`."""
    layer: Function = RReLU(lower, upper, rng=rng).train(training)
    return layer(input)


def softmin(input: A, dim: int = -1) -> A:
    """``softmax(-input)`` along an axis."""
    return activation.softmax(-input, axis=dim)


class Mish(Rectifier):
    """x * tanh(softplus(x))."""

    def forward(self, x: Array) -> Tensor:
        return units.mish(x)


class Hardsigmoid(Rectifier):
    """(x + 3) / 6, held between 0 and 1."""

    def forward(self, x: Array) -> Tensor:
        return units.hardsigmoid(x)


class Hardswish(Rectifier):
    """x * hardsigmoid(x)."""

    def forward(self, x: Array) -> Tensor:
        return units.hardswish(x)


class LogSigmoid(Module):
    """log(sigmoid(x)), for x of any size."""

    def forward(self, x: Array) -> Tensor:
        return units.logsigmoid(x)


class SELU(Rectifier):
    """The scaled ELU that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""

    def forward(self, x: Array) -> Tensor:
        return units.selu(x)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, x: Array) -> Tensor:
        return units.tanhshrink(x)


class CELU(WithSettings):
    """x where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha)
        self.inplace = inplace

    def forward(self, x: Array) -> Tensor:
        return units.celu(x, **self._settings)


class GLU(WithSettings):
    """The first half of axis `dim` times the sigmoid of the second half."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)

    def forward(self, x: Array) -> Tensor:
        return units.glu(x, **self._settings)


class Hardshrink(WithSettings):
    """x where its size is above `lambd`, 0 elsewhere."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def forward(self, x: Array) -> Tensor:
        return units.hardshrink(x, **self._settings)


class Softshrink(WithSettings):
    """x moved by `lambd` towards 0, and 0 in between."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def forward(self, x: Array) -> Tensor:
        return units.softshrink(x, **self._settings)


class Threshold(WithSettings):
    """x where it is above `threshold`, `value` elsewhere."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value)
        self.inplace = inplace

    def forward(self, x: Array) -> Tensor:
        return units.threshold(x, **self._settings)
