"""Activations that are linear, or a polynomial, in each of a few pieces, as modules.

Their formulas are in `adjoint.ops.neural.activation`.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.types import A, Array, DType, Function
from adjoint.nn.functions import units
from adjoint.nn.init import Rng
from adjoint.nn.layers.settings import Drawn, Rectifier, WithSettings
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.neural import activation
from adjoint.tape.tensor import Tensor


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


class ReLU6(Rectifier):
    """x, held between 0 and 6.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ReLU6()(np.array([-2.0, 0.5, 3.0]))
        array([0. , 0.5, 3. ])
    """

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

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.PReLU()(np.array([-2.0, 0.5, 3.0]))
        tensor([-0.5,  0.5,  3. ], op=prelu)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: DType = np.float64) -> None:
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full(num_parameters, init, dtype))

    def forward(self, x: Array) -> Tensor:
        return prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.size}"


class RReLU(Module):
    """x where it is positive, ``a * x`` elsewhere: while training `a` is drawn for each element from [lower, upper).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.RReLU(0.1, 0.3).eval()(np.array([-2.0, 0.5]))
        array([-0.4,  0.5])
    """

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


class Hardsigmoid(Rectifier):
    """(x + 3) / 6, held between 0 and 1.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Hardsigmoid()(np.array([-2.0, 0.5, 3.0]))
        array([0.16666667, 0.58333333, 1.        ])
    """

    def forward(self, x: Array) -> Tensor:
        return units.hardsigmoid(x)


class Hardswish(Rectifier):
    """x * hardsigmoid(x).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Hardswish()(np.array([-2.0, 0.5, 3.0]))
        array([-0.33333333,  0.29166667,  3.        ])
    """

    def forward(self, x: Array) -> Tensor:
        return units.hardswish(x)


class Hardshrink(WithSettings):
    """x where its size is above `lambd`, 0 elsewhere.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Hardshrink()(np.array([-2.0, 0.5, 3.0]))
        array([-2.,  0.,  3.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def forward(self, x: Array) -> Tensor:
        return units.hardshrink(x, **self._settings)


class Softshrink(WithSettings):
    """x moved by `lambd` towards 0, and 0 in between.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Softshrink()(np.array([-2.0, 0.5, 3.0]))
        array([-1.5,  0. ,  2.5])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def forward(self, x: Array) -> Tensor:
        return units.softshrink(x, **self._settings)


class Threshold(WithSettings):
    """x where it is above `threshold`, `value` elsewhere.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Threshold(1.0, 0.0)(np.array([-2.0, 0.5, 3.0]))
        array([0., 0., 3.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value)
        self.inplace = inplace

    def forward(self, x: Array) -> Tensor:
        return units.threshold(x, **self._settings)
