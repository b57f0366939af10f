"""PyTorch's `torch.nn.modules`, and the modules below it: the layers, which are in `adjoint.nn` itself."""

from __future__ import annotations

import sys

from adjoint import nn
from adjoint.core.types import Value
from adjoint.nn.layers.convolution import _Convolution as _ConvNd
from adjoint.nn.layers.normalization import BatchNorm2d as _BatchNorm  # the others derive from it

_BELOW = (
    *("activation", "batchnorm", "container", "conv", "distance", "dropout", "flatten", "fold", "linear", "loss"),
    *("module", "normalization", "padding", "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling"),
)
_HERE = sys.modules[__name__]
for _name in _BELOW:  # ``from adjoint.nn.modules.loss import MSELoss``
    sys.modules[f"{__name__}.{_name}"] = _HERE
_OTHERS = {"_BatchNorm": _BatchNorm, "_ConvNd": _ConvNd}


def __getattr__(name: str) -> Value:
    if name in _BELOW:
        return _HERE
    return _OTHERS.get(name) or getattr(nn, name)


def __dir__() -> list[str]:
    return dir(nn)
