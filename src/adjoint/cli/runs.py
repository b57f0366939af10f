"""A run of `adjoint train`: its settings, its folder, its model, and the training itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from adjoint import distributed
from adjoint.cli.sources import parts_of
from adjoint.core.errors import DataError
from adjoint.core.types import Value
from adjoint.data import Parts, shifted
from adjoint.distributed.averages import statistics
from adjoint.nn import CrossEntropyLoss, MSELoss
from adjoint.optim import AdamW
from adjoint.train.fit import CHECKPOINT, fit
from adjoint.train.history import History
from adjoint.train.networks import Architecture
from adjoint.train.predictors import Classifier, Regressor
from adjoint.train.threads import blas_threads_for

_LABEL_SMOOTHING = 0.05
_SETTINGS = "run.json"
_PIECES = 4


@dataclass(frozen=True)
class RunSettings:
    """What was said on the command line; `run.json` keeps it, for --resume."""

    source: list[str]
    epochs: int
    batch_size: int
    lr: float
    hidden: list[int]
    dropout: float
    shift: float
    seed: int
    dtype: str
    eager: bool
    network: str
    label: str | None
    task: str | None
    size: list[int] | None
    color: bool
    pieces: int | None = 1  # what runs had whose file does not say it

    def write(self, folder: Path) -> None:
        """Keep the settings in the folder of the run."""
        said = {"from": str(Path.cwd()), **asdict(self)}
        (folder / _SETTINGS).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> RunSettings:
        """The settings of a run.

        Raises:
            DataError: if there is no run in `folder`.
        """
        try:
            said = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
            place = Path(said.pop("from"))
            if place != Path.cwd() and said["source"] != ["digits"]:
                said["source"] = [str(place / name) for name in said["source"]]
            return cls(**said)
        except (FileNotFoundError, NotADirectoryError):
            raise DataError(f"{folder}: there is no run in this folder, as `adjoint train` leaves one") from None
        except (TypeError, ValueError, KeyError) as error:
            raise DataError(f"{folder / _SETTINGS}: not the settings of a run ({error})") from None

    def parts(self) -> Parts:
        """The data, split."""
        size = None if self.size is None else (self.size[0], self.size[1])
        return parts_of(self.source, self.seed, label=self.label, task=self.task, size=size, color=self.color)


@dataclass
class TrainingRun:
    """A training that leaves its files in a folder."""

    settings: RunSettings
    parts: Parts
    model: Classifier | Regressor
    folder: Path

    @property
    def weights(self) -> Path:
        return self.folder / "model.safetensors"

    def learn(self, *, resume: bool) -> History:
        """Train; with `resume`, go on where the run was stopped."""
        said, model, picture = self.settings, self.model, self.model.picture

        def moved(batch: Value, rng: np.random.Generator) -> Value:
            x, y = batch
            gray = picture is not None and model.plan.channels == 1
            return (shifted(x, picture, said.shift, rng) if picture is not None and gray and said.shift else x), y

        (x, y), held_out = ((model.prepared(part.x), self._targets(part.y)) for part in self.parts[:2])
        widths = (model.plan.features, *model.plan.hidden, len(self.parts.train.classes) or 1)
        largest = said.batch_size * max(inputs * outputs for inputs, outputs in pairwise(widths))
        pieces = self._pieces()
        largest = largest if distributed.size() == pieces == 1 else 0  # several ranks have a core each
        # nan and infinity are looked for in the loss; NumPy's warnings about them would only garble the display.
        with np.errstate(all="ignore"), blas_threads_for(largest):
            return fit(
                model.network,
                (x, y),
                loss=CrossEntropyLoss(label_smoothing=_LABEL_SMOOTHING) if self.parts.train.classes else MSELoss(),
                metrics=["accuracy"] if self.parts.train.classes else {"error": self._error},
                optimizer=AdamW(model.network.parameters(), lr=said.lr),
                scheduler="cosine",
                validation=held_out,
                epochs=said.epochs,
                batch_size=said.batch_size,
                seed=said.seed,
                transform=moved,
                compiled=not said.eager,
                pieces=pieces,
                progress=True,
                folder=self.folder,
                resume=resume,
                save_weights=model.save,
            )

    def _pieces(self) -> int | None:
        """The pieces of a batch; None for one a rank, where the ranks cannot share the pieces."""
        found = self.settings.pieces
        if found is None:  # rounding in float64 is nothing; and a batch is normalised whole
            small = self.settings.dtype == "float32"
            found = _PIECES if small and not any(True for _ in statistics(self.model.network)) else 1
        return None if found % distributed.size() else found

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return self.model.targets(y) if isinstance(self.model, Regressor) else y

    def _error(self, answers: np.ndarray, y: np.ndarray) -> float:
        """The mean absolute error, as large as labels are."""
        scale = self.model.scale if isinstance(self.model, Regressor) else 1.0
        return float(np.mean(np.abs(answers - y), dtype=float)) * scale

    def what_is_left(self) -> str:
        """Remove the folder if there is nothing worth keeping in it; say so, or what it holds."""
        if self.weights.exists():
            return f"The best weights before that are in {self.weights}"
        for name in (_SETTINGS, CHECKPOINT):
            (self.folder / name).unlink(missing_ok=True)
        self.folder.rmdir()
        return "Nothing was saved"


def model_for(settings: RunSettings, parts: Parts) -> Classifier | Regressor:
    """An untrained model for the data."""
    kind: Value = Classifier if parts.train.classes else Regressor
    model: Classifier | Regressor = kind.for_data(
        parts.train, hidden=tuple(settings.hidden), dropout=settings.dropout, dtype=settings.dtype, seed=settings.seed,
        network=settings.network,
    )  # fmt: skip
    return model


def layers_of(plan: Architecture, outputs: int) -> str:
    """The network in a few words."""
    dense = " → ".join(map(str, (plan.features, *plan.hidden, outputs)))
    return dense if plan.network == "mlp" else f"{plan.network}, {plan.features} → {outputs}"
