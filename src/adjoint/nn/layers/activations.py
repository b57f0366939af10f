"""Activations as modules, to stand between layers in `Sequential`.

Their formulas are in `adjoint.ops.neural.activation`.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.types import A, Array
from adjoint.nn.functions import units
from adjoint.nn.layers.settings import Rectifier, WithSettings
from adjoint.nn.module import Module
from adjoint.ops.neural import activation
from adjoint.tape.tensor import Tensor


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
    """softmax(-x) along axis `dim`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Softmin(dim=0)(np.array([-2.0, 0.5, 3.0]))
        array([0.91842297, 0.07538875, 0.00618829])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.softmax(-x, axis=self.dim)


class Softmax2d(Module):
    """softmax over the channels of (n, channels, height, width) or (channels, height, width).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Softmax2d()(np.zeros((4, 2, 3))).ravel()[:2]
        array([0.25, 0.25])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.softmax(x, axis=-3)


class Softsign(Module):
    """x / (1 + abs(x)).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Softsign()(np.array([-2.0, 0.5, 3.0]))
        array([-0.66666667,  0.33333333,  0.75      ])
    """

    def forward(self, x: Array) -> Tensor:
        return activation.softsign(x)


def softmin(input: A, dim: int = -1) -> A:
    """``softmax(-input)`` along an axis."""
    return activation.softmax(-input, axis=dim)


class Mish(Rectifier):
    """x * tanh(softplus(x)).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Mish()(np.array([-2.0, 0.5, 3.0]))
        array([-0.25250148,  0.37524521,  2.986535  ])
    """

    def forward(self, x: Array) -> Tensor:
        return units.mish(x)


class LogSigmoid(Module):
    """log(sigmoid(x)), for x of any size.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LogSigmoid()(np.array([-2.0, 0.5, 3.0]))
        array([-2.12692801, -0.47407698, -0.04858735])
    """

    def forward(self, x: Array) -> Tensor:
        return units.logsigmoid(x)


class SELU(Rectifier):
    """The scaled ELU that keeps mean 0 and variance 1 (Klambauer et al., 2017).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.SELU()(np.array([-2.0, 0.5, 3.0]))
        array([-1.52016647,  0.52535049,  3.15210296])
    """

    def forward(self, x: Array) -> Tensor:
        return units.selu(x)


class Tanhshrink(Module):
    """x - tanh(x).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Tanhshrink()(np.array([-2.0, 0.5, 3.0]))
        array([-1.03597242,  0.03788284,  2.00494525])
    """

    def forward(self, x: Array) -> Tensor:
        return units.tanhshrink(x)


class CELU(WithSettings):
    """x where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CELU()(np.array([-2.0, 0.5, 3.0]))
        array([-0.86466472,  0.5       ,  3.        ])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha)
        self.inplace = inplace

    def forward(self, x: Array) -> Tensor:
        return units.celu(x, **self._settings)


class GLU(WithSettings):
    """The first half of axis `dim` times the sigmoid of the second half.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.GLU()(np.array([1.0, 2.0, 0.0, 3.0]))
        array([0.5       , 1.90514825])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)

    def forward(self, x: Array) -> Tensor:
        return units.glu(x, **self._settings)
