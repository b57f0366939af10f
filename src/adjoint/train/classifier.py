"""A classifier that carries all it needs to read raw examples: network, normalisation, names of the classes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import io
from adjoint.core.errors import AdjointError, DataError, ShapeError
from adjoint.data.dataset import Array, Dataset
from adjoint.data.normalise import Normalisation
from adjoint.nn import Dropout, Linear, Module, ReLU, Sequential
from adjoint.ops.activation import softmax
from adjoint.train.metrics import logits_of

_KEY = "adjoint.classifier"
_FORMAT = 1


@dataclass(frozen=True)
class Architecture:
    """The architecture, as the model file keeps it.

    Attributes:
        features: values an example.
        hidden: width of each hidden layer; none for logistic regression.
        dropout: share of hidden units that training switches off at random.
        dtype: of weights and computations, "float32" or "float64".
        seed: of the initial weights and of the split of the data.
    """

    features: int
    hidden: tuple[int, ...]
    dropout: float
    dtype: str
    seed: int


class Classifier:
    """A multilayer perceptron that answers raw examples with probabilities.

    Args:
        plan: the architecture.
        classes: the name of each class.
        normalisation: what is done to raw examples first.
        picture: (height, width) if examples are pictures.

    Attributes:
        network: a `Sequential` from normalised examples to logits.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> data = ad.data.dataset(np.eye(4), [0, 1, 0, 1])
        >>> model = ad.train.Classifier.for_data(data, hidden=(8,))
        >>> model.probabilities(data.x).shape
        (4, 2)
    """

    def __init__(
        self,
        plan: Architecture,
        classes: tuple[str, ...],
        normalisation: Normalisation,
        picture: tuple[int, int] | None = None,
    ) -> None:
        self.plan, self.classes, self.normalisation, self.picture = plan, classes, normalisation, picture
        self.network = Sequential(*_layers(plan, len(classes)))

    @classmethod
    def for_data(
        cls,
        data: Dataset,
        *,
        hidden: tuple[int, ...] = (256,),
        dropout: float = 0.2,
        dtype: str = "float32",
        seed: int = 0,
    ) -> Classifier:
        """An untrained classifier for examples like those of `data`."""
        plan = Architecture(data.x.shape[1], hidden, dropout, dtype, seed)
        return cls(plan, data.classes, Normalisation.of(data), data.picture)

    def prepared(self, x: Array) -> Array:
        """Raw examples (examples, features) as the network takes them.

        Raises:
            ShapeError: if there are more or fewer features than the network was made for.
        """
        if x.ndim != 2 or x.shape[1] != self.plan.features:
            size = f"{self.picture[0]} x {self.picture[1]} = " if self.picture else ""
            raise ShapeError(f"this model reads examples of {size}{self.plan.features} values; got {x.shape[1:]}")
        return self.normalisation(x, self.plan.dtype)

    def probabilities(self, x: Array) -> Array:
        """How likely each class is for each raw example: shape (examples, classes)."""
        answers: Array = softmax(logits_of(self.network, self.prepared(x)), axis=1)
        return answers

    def save(self, path: str | os.PathLike[str], state: dict[str, Array] | None = None) -> None:
        """Write weights (these, or `state`) and everything else to one safetensors file."""
        about = {
            "format": _FORMAT,
            "plan": asdict(self.plan),
            "classes": self.classes,
            "mean": self.normalisation.mean.tolist(),
            "scale": self.normalisation.scale.tolist(),
            "picture": self.picture,
        }
        io.save(path, self.network.state_dict() if state is None else state, {_KEY: json.dumps(about)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Classifier:
        """The classifier that `save` wrote.

        Raises:
            DataError: if the file is none, or its parts do not fit together.
        """
        state = io.load(path)
        try:
            about: dict[str, Any] = json.loads(_metadata(path)[_KEY])
            if about["format"] != _FORMAT:
                raise DataError(f"{Path(path)}: written by another version of adjoint; train the model again")
            plan = Architecture(**{**about["plan"], "hidden": tuple(about["plan"]["hidden"])})
            normalisation = Normalisation(np.array(about["mean"]), np.array(about["scale"]))
            picture = tuple(about["picture"]) if about["picture"] else None
            model = cls(plan, tuple(about["classes"]), normalisation, picture)
            model.network.load_state_dict(state)
        except DataError:
            raise
        except (AdjointError, KeyError, TypeError, ValueError, AttributeError):
            raise DataError(
                f"{Path(path)}: not a model that `adjoint train` wrote; give it a runs/…/model.safetensors"
            ) from None
        return model

    def __repr__(self) -> str:
        return f"Classifier({self.plan}, classes={self.classes})"


def _layers(plan: Architecture, classes: int) -> Iterator[Module]:
    seeds = np.random.SeedSequence(plan.seed).spawn(2 * len(plan.hidden) + 1)
    width = plan.features
    for i, units in enumerate(plan.hidden):
        yield Linear(width, units, rng=np.random.default_rng(seeds[2 * i]), dtype=plan.dtype)
        yield ReLU()
        yield Dropout(plan.dropout, rng=np.random.default_rng(seeds[2 * i + 1]))
        width = units
    yield Linear(width, classes, rng=np.random.default_rng(seeds[-1]), dtype=plan.dtype)


def _metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return file.metadata() or {}
