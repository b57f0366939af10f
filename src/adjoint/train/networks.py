"""Networks by name: "mlp", "conv", or a class of the user's, "module:Class"."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Value
from adjoint.nn import Conv2d, Dropout, Flatten, Linear, MaxPool2d, Module, ReLU, Sequential

_SMALLEST = 4  # pixels a side, of what is halved twice


@dataclass(frozen=True)
class Architecture:
    """The architecture, as the model file keeps it.

    Attributes:
        features: values an example.
        hidden: width of each hidden layer; none for a linear model. Of "conv", of the layers after the convolutions.
        dropout: share of hidden units that training switches off at random.
        dtype: of weights and computations, "float32" or "float64".
        seed: of the initial weights and of the split of the data.
        network: "mlp", "conv" or "module:Class".
        channels: values a pixel, of pictures.
    """

    features: int
    hidden: tuple[int, ...]
    dropout: float
    dtype: str
    seed: int
    network: str = "mlp"
    channels: int = 1


def build_network(plan: Architecture, picture: tuple[int, int] | None, outputs: int) -> Module:
    """The network of an architecture: from examples (n, features) to (n, outputs).

    Raises:
        ArgumentError: if there is none of this name, or it does not suit the data.

    Example:
        >>> import numpy as np
        >>> from adjoint.train.networks import Architecture, build_network
        >>> net = build_network(Architecture(64, (32,), 0.0, "float32", 0, "conv"), (8, 8), 10)
        >>> net(np.zeros((5, 64), np.float32)).shape
        (5, 10)
    """
    if plan.network == "mlp":
        return Sequential(*_dense(plan, plan.features, outputs))
    if plan.network == "conv":
        return Sequential(*_convolutional(plan, picture, outputs))
    if ":" in plan.network:
        made = _imported(plan.network)(plan.features, outputs)
        if not isinstance(made, Module):
            raise ArgumentError(f"{plan.network} makes {type(made).__name__}; a network is an adjoint.nn.Module")
        return made.astype(np.dtype(plan.dtype))
    raise ArgumentError(f"networks are mlp, conv, and module:Class for one of your own; got {plan.network!r}")


class Pictures(Module):
    """Rows of pixels, (n, height * width * channels), as pictures, (n, channels, height, width)."""

    def __init__(self, height: int, width: int, channels: int) -> None:
        self.shape = (height, width, channels)

    def forward(self, x: Array) -> Value:
        return np.transpose(np.reshape(x, (len(x), *self.shape)), (0, 3, 1, 2))

    def extra_repr(self) -> str:
        return " x ".join(map(str, self.shape))


def _dense(plan: Architecture, width: int, outputs: int) -> Iterator[Module]:
    seeds = np.random.SeedSequence(plan.seed).spawn(2 * len(plan.hidden) + 1)
    for i, units in enumerate(plan.hidden):
        yield Linear(width, units, rng=np.random.default_rng(seeds[2 * i]), dtype=plan.dtype)
        yield ReLU()
        yield Dropout(plan.dropout, rng=np.random.default_rng(seeds[2 * i + 1]))
        width = units
    yield Linear(width, outputs, rng=np.random.default_rng(seeds[-1]), dtype=plan.dtype)


def _convolutional(plan: Architecture, picture: tuple[int, int] | None, outputs: int) -> Iterator[Module]:
    """Twice a convolution and a halving; then what "mlp" has."""
    if picture is None or min(picture) < _SMALLEST:
        shown = "a table" if picture is None else f"{picture[0]} x {picture[1]} pixels"
        raise ArgumentError(f"the network conv reads pictures of at least {_SMALLEST} x {_SMALLEST} pixels; these data "
                            f"are {shown}. The network mlp reads them")  # fmt: skip
    first, second = (np.random.default_rng(seed) for seed in np.random.SeedSequence([plan.seed, 1]).spawn(2))
    height, width = picture
    yield Pictures(height, width, plan.channels)
    yield Conv2d(plan.channels, 16, 3, padding=1, rng=first, dtype=plan.dtype)
    yield ReLU()
    yield MaxPool2d(2)
    yield Conv2d(16, 32, 3, padding=1, rng=second, dtype=plan.dtype)
    yield ReLU()
    yield MaxPool2d(2)
    yield Flatten()
    yield from _dense(plan, 32 * (height // 4) * (width // 4), outputs)


def _imported(name: str) -> Value:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # modules lie where the command is given
    try:
        return getattr(import_module(module), attribute)
    except ImportError as error:
        raise ArgumentError(f"{name}: the module {module!r} cannot be imported ({error})") from None
    except AttributeError:
        raise ArgumentError(f"{name}: the module {module!r} has no {attribute!r}") from None
    finally:
        sys.path.remove("")
