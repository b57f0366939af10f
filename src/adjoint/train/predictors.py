"""Models that carry all they need to read raw examples: network, normalisation, columns, names of the classes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Self

import numpy as np

from adjoint import io
from adjoint.core.errors import AdjointError, DataError, ShapeError
from adjoint.core.types import Value
from adjoint.data.columns import Columns
from adjoint.data.dataset import Dataset, NDArray
from adjoint.data.normalise import Normalisation
from adjoint.nn import Module
from adjoint.ops.neural.activation import softmax
from adjoint.train.metrics import logits_of
from adjoint.train.networks import Architecture, build_network

_KEY = "adjoint.classifier"
_FORMAT = 1


class Predictor:
    """What a `Classifier` and a `Regressor` share.

    Attributes:
        network: a module from normalised examples to its outputs.
    """

    plan: Architecture
    normalisation: Normalisation
    picture: tuple[int, int] | None
    columns: Columns | None
    network: Module

    def _made(self, outputs: int, data: Mapping[str, Value]) -> None:
        self.plan, self.normalisation = data["plan"], data["normalisation"]
        self.picture, self.columns = data["picture"], data["columns"]
        self.network = build_network(self.plan, self.picture, outputs)

    def prepared(self, x: NDArray) -> NDArray:
        """Raw examples (examples, features) as the network takes them.

        Raises:
            ShapeError: if there are more or fewer features than the network was made for.
        """
        if x.ndim != 2 or x.shape[1] != self.plan.features:
            size = f"{self.picture[0]} x {self.picture[1]} = " if self.picture and self.plan.channels == 1 else ""
            raise ShapeError(f"this model reads examples of {size}{self.plan.features} values; got {x.shape[1:]}")
        return self.normalisation(x, self.plan.dtype)

    def about(self) -> dict[str, Value]:
        """What the file keeps beside the weights."""
        return {
            "format": _FORMAT,
            "plan": asdict(self.plan),
            "mean": self.normalisation.mean.tolist(),
            "scale": self.normalisation.scale.tolist(),
            "picture": self.picture,
            "columns": None if self.columns is None else self.columns.state(),
        }

    def save(self, path: str | os.PathLike[str], state: Mapping[str, NDArray] | None = None) -> None:
        """Write weights (these, or `state`) and everything else to one safetensors file."""
        io.save(path, self.network.state_dict() if state is None else state, {_KEY: json.dumps(self.about())})

    @classmethod
    def for_data(
        cls: type[Self],
        data: Dataset,
        *,
        hidden: tuple[int, ...] = (256,),
        dropout: float = 0.2,
        dtype: str = "float32",
        seed: int = 0,
        network: str = "mlp",
    ) -> Self:
        """An untrained model for examples like those of `data`."""
        plan = Architecture(data.x.shape[1], hidden, dropout, dtype, seed, network, data.channels)
        facts = {"normalisation": Normalisation.of(data), "picture": data.picture, "columns": data.columns}
        model: Self = cls._of(cls._labels(data), {"plan": plan, **facts})
        return model

    @classmethod
    def _labels(cls, data: Dataset) -> dict[str, Value]:
        """What the model must know of the labels of `data`, as `about` has it."""
        raise NotImplementedError

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str], network: str | None = None) -> Self:
        """The model that `save` wrote.

        Args:
            path: the file.
            network: "module:Class", if the model is one of a class of yours: a file alone does not decide which code
                runs.

        Raises:
            DataError: if the file is none, or its parts do not fit together.
        """
        state = io.load(path)
        try:
            about: dict[str, Value] = json.loads(_metadata(path)[_KEY])
            kind = Classifier if "classes" in about else Regressor
            if about["format"] != _FORMAT:
                raise DataError(f"{Path(path)}: written by another version of adjoint; train the model again")
            if not issubclass(kind, cls):
                raise DataError(f"{Path(path)}: a {kind.__name__} was saved there; load it with {kind.__name__}.load")
            plan = Architecture(**{**about["plan"], "hidden": tuple(about["plan"]["hidden"])})
            if ":" in plan.network and plan.network != network:
                raise DataError(f"{Path(path)}: this model is a {plan.network}; say so, for its code to run: "
                                f"--network {plan.network}")  # fmt: skip
            columns = about.get("columns")
            model: Value = kind._of(about, {
                "plan": plan,
                "normalisation": Normalisation(np.array(about["mean"]), np.array(about["scale"])),
                "picture": tuple(about["picture"]) if about["picture"] else None,
                "columns": None if columns is None else Columns.of_state(columns),
            })  # fmt: skip
            model.network.load_state_dict(state)
            model.network.eval()
        except DataError:
            raise
        except (AdjointError, KeyError, TypeError, ValueError, AttributeError):
            raise DataError(
                f"{Path(path)}: not a model that `adjoint train` wrote; give it a runs/…/model.safetensors"
            ) from None
        return model  # type: ignore[no-any-return]  # of `kind`, which is a `cls`

    @classmethod
    def _of(cls, about: Mapping[str, Value], data: Mapping[str, Value]) -> Value:
        raise NotImplementedError


class Classifier(Predictor):
    """A network that answers raw examples with probabilities.

    Args:
        plan: the architecture.
        classes: the name of each class.
        normalisation: what is done to raw examples first.
        picture: (height, width) if examples are pictures.
        columns: how tables with a header are read.

    Attributes:
        network: a module from normalised examples to logits.

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
        columns: Columns | None = None,
    ) -> None:
        self.classes = classes
        self._made(len(classes), {"plan": plan, "normalisation": normalisation, "picture": picture, "columns": columns})

    @classmethod
    def _labels(cls, data: Dataset) -> dict[str, Value]:
        return {"classes": data.classes}

    @classmethod
    def _of(cls, about: Mapping[str, Value], data: Mapping[str, Value]) -> Classifier:
        return cls(classes=tuple(about["classes"]), **data)

    def about(self) -> dict[str, Value]:
        return super().about() | {"classes": self.classes}

    def probabilities(self, x: NDArray) -> NDArray:
        """How likely each class is for each raw example: shape (examples, classes)."""
        answers: NDArray = softmax(logits_of(self.network, self.prepared(x)), axis=1)
        return answers

    def __repr__(self) -> str:
        return f"Classifier({self.plan}, classes={self.classes})"


class Regressor(Predictor):
    """A network that answers raw examples with a number.

    Args:
        plan, normalisation, picture, columns: as in `Classifier`.
        mean, scale: of the labels; the network gives ``(label - mean) / scale``.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> data = ad.data.measured(np.eye(4), [1.0, 2.0, 3.0, 4.0])
        >>> ad.train.Regressor.for_data(data, hidden=(8,)).predictions(data.x).shape
        (4,)
    """

    def __init__(
        self,
        plan: Architecture,
        mean: float,
        scale: float,
        normalisation: Normalisation,
        picture: tuple[int, int] | None = None,
        columns: Columns | None = None,
    ) -> None:
        self.mean, self.scale = mean, scale
        self._made(1, {"plan": plan, "normalisation": normalisation, "picture": picture, "columns": columns})

    @classmethod
    def _labels(cls, data: Dataset) -> dict[str, Value]:
        return {"label_mean": float(data.y.mean()), "label_scale": float(data.y.std()) or 1.0}

    @classmethod
    def _of(cls, about: Mapping[str, Value], data: Mapping[str, Value]) -> Regressor:
        return cls(mean=about["label_mean"], scale=about["label_scale"], **data)

    def about(self) -> dict[str, Value]:
        return super().about() | {"label_mean": self.mean, "label_scale": self.scale}

    def targets(self, y: NDArray) -> NDArray:
        """Labels as the network gives them: shape (examples, 1)."""
        return ((y - self.mean) / self.scale).astype(self.plan.dtype)[:, None]

    def predictions(self, x: NDArray) -> NDArray:
        """The number for each raw example: shape (examples,), float64."""
        return logits_of(self.network, self.prepared(x))[:, 0].astype(float) * self.scale + self.mean

    def __repr__(self) -> str:
        return f"Regressor({self.plan}, mean={self.mean:g}, scale={self.scale:g})"


def _metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return file.metadata() or {}
