"""Layers that learn how many inputs they have from the first array that they see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Value
from adjoint.nn.layers import basic, convolution, normalization
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tape.tensor import Tensor


class LazyLayer(Module):
    """What these layers share: the first call, or a state that is loaded, makes them layers of the class `becomes`.

    Until then there are no parameters, so an optimiser is made after the first call.

    Raises:
        ArgumentError: if somebody asks for the parameters before.
    """

    becomes: ClassVar[type[Module]]
    axis: ClassVar[int] = 1  # of the inputs, in an array with the axis of examples

    def __init__(self, *args: Value, **settings: Value) -> None:
        signature(self.becomes).bind(1, *args, **settings)  # tells of wrong ones
        self._args, self._given = args, settings

    def forward(self, x: Array) -> Tensor:
        shape = np.shape(x)
        alone = len(shape) == self._axes() + 1  # one example, without the axis of examples
        self.materialize(shape[self.axis - alone if self.axis > 0 else self.axis])
        return self(x)

    def _axes(self) -> int:
        """Behind the inputs, of layers that take one example alone."""
        kind = self.becomes
        return getattr(kind, "axes", getattr(kind, "ranks", (0,))[0] - 1 if "Instance" in kind.__name__ else -1)

    def materialize(self, inputs: int) -> None:
        """Become a layer of so many inputs."""
        args, settings, mode = self._args, self._given, self.training
        vars(self).clear()
        self.__class__ = self.becomes  # type: ignore[assignment]  # what it is from now on
        self.__init__(inputs, *args, **settings)  # type: ignore[misc]  # of the other class
        self.training = mode

    def _sized_by(self, state: Mapping[str, Value], prefix: str) -> None:
        """Become a layer that `state`, with names below `prefix`, fits."""
        found = next((state[prefix + name] for name in ("weight", "running_mean") if prefix + name in state), None)
        if found is not None:
            self.materialize(self._inputs(np.shape(found)))

    def _inputs(self, shape: tuple[int, ...]) -> int:
        groups = self._given.get("groups", 1)
        return shape[0] if len(shape) == 1 or self.becomes.__name__.startswith("ConvT") else shape[1] * groups

    def _members(self, kind: type) -> Iterator[tuple[str, Value]]:
        if kind is Parameter:
            raise ArgumentError(
                f"{type(self).__name__} has no parameters before its first call: call the model with a batch, "
                f"model(x), and make the optimiser afterwards"
            )
        return iter(())

    def extra_repr(self) -> str:
        shown = [*map(repr, self._args), *(f"{name}={value!r}" for name, value in self._given.items())]
        return ", ".join(["not yet called", *shown])


class LazyLinear(LazyLayer):
    """`Linear` that takes `in_features` from the first array: ``nn.LazyLinear(out_features, bias=True)``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> net = nn.Sequential(nn.Flatten(), nn.LazyLinear(3, rng=0))
        >>> net(np.zeros((5, 2, 4))).shape, net[1]
        ((5, 3), Linear(in_features=8, out_features=3, bias=True))
    """

    becomes, axis = basic.Linear, -1


class LazyConv1d(LazyLayer):
    """`Conv1d` that takes `in_channels` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyConv1d(5, kernel_size=2)(np.ones((4, 2, 3))).shape
        (4, 5, 2)
    """

    becomes = convolution.Conv1d


class LazyConv2d(LazyLayer):
    """`Conv2d` that takes `in_channels` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyConv2d(5, kernel_size=2)(np.ones((4, 2, 3, 3))).shape
        (4, 5, 2, 2)
    """

    becomes = convolution.Conv2d


class LazyConv3d(LazyLayer):
    """`Conv3d` that takes `in_channels` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyConv3d(5, kernel_size=2)(np.ones((4, 2, 3, 3, 3))).shape
        (4, 5, 2, 2, 2)
    """

    becomes = convolution.Conv3d


class LazyConvTranspose1d(LazyLayer):
    """`ConvTranspose1d` that takes `in_channels` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyConvTranspose1d(5, kernel_size=2)(np.ones((4, 2, 3))).shape
        (4, 5, 4)
    """

    becomes = convolution.ConvTranspose1d


class LazyConvTranspose2d(LazyLayer):
    """`ConvTranspose2d` that takes `in_channels` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyConvTranspose2d(5, kernel_size=2)(np.ones((4, 2, 3, 3))).shape
        (4, 5, 4, 4)
    """

    becomes = convolution.ConvTranspose2d


class LazyConvTranspose3d(LazyLayer):
    """`ConvTranspose3d` that takes `in_channels` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyConvTranspose3d(5, kernel_size=2)(np.ones((4, 2, 3, 3, 3))).shape
        (4, 5, 4, 4, 4)
    """

    becomes = convolution.ConvTranspose3d


class LazyBatchNorm1d(LazyLayer):
    """`BatchNorm1d` that takes `num_features` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyBatchNorm1d()(np.ones((4, 2, 3))).shape
        (4, 2, 3)
    """

    becomes = normalization.BatchNorm1d


class LazyBatchNorm2d(LazyLayer):
    """`BatchNorm2d` that takes `num_features` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyBatchNorm2d()(np.ones((4, 2, 3, 3))).shape
        (4, 2, 3, 3)
    """

    becomes = normalization.BatchNorm2d


class LazyBatchNorm3d(LazyLayer):
    """`BatchNorm3d` that takes `num_features` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyBatchNorm3d()(np.ones((4, 2, 3, 3, 3))).shape
        (4, 2, 3, 3, 3)
    """

    becomes = normalization.BatchNorm3d


class LazyInstanceNorm1d(LazyLayer):
    """`InstanceNorm1d` that takes `num_features` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyInstanceNorm1d()(np.ones((4, 2, 3))).shape
        (4, 2, 3)
    """

    becomes = normalization.InstanceNorm1d


class LazyInstanceNorm2d(LazyLayer):
    """`InstanceNorm2d` that takes `num_features` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyInstanceNorm2d()(np.ones((4, 2, 3, 3))).shape
        (4, 2, 3, 3)
    """

    becomes = normalization.InstanceNorm2d


class LazyInstanceNorm3d(LazyLayer):
    """`InstanceNorm3d` that takes `num_features` from the first array.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LazyInstanceNorm3d()(np.ones((4, 2, 3, 3, 3))).shape
        (4, 2, 3, 3, 3)
    """

    becomes = normalization.InstanceNorm3d
