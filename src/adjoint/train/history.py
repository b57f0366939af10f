"""What a training reports: its last step, its epochs so far, and the callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.data.dataset import NDArray

StateDict = dict[str, NDArray]


class _Figures:
    """Figures by name, as attributes too: ``epoch.loss``, ``epoch.validation_accuracy``."""

    figures: Mapping[str, float]

    def __getattr__(self, name: str) -> float:
        figures = vars(self).get("figures", {})
        if name in figures:
            return float(figures[name])
        raise AttributeError(f"{type(self).__name__} has no figure {name!r}; it has {', '.join(figures)}")


@dataclass(frozen=True)
class Epoch(_Figures):
    """One pass over the training examples.

    Attributes:
        number: from 1.
        figures: "loss" and the metrics, as means over the examples while learning; then the same of the validation,
            with "validation_" before their names.
        learning_rate: of the last step.
        seconds: without the validation.

    Example:
        >>> import adjoint as ad
        >>> epoch = ad.train.Epoch(1, {"loss": 0.5, "accuracy": 0.9}, learning_rate=0.01, seconds=2.0)
        >>> epoch.loss, epoch.row()["accuracy"]
        (0.5, 0.9)
    """

    number: int
    figures: Mapping[str, float]
    learning_rate: float
    seconds: float

    def row(self) -> dict[str, float]:
        """The line of this epoch in `metrics.csv`."""
        return {"epoch": self.number, **self.figures, "learning_rate": self.learning_rate, "seconds": self.seconds}


@dataclass(frozen=True)
class Step(_Figures):
    """Where training stands after a step.

    Attributes:
        epoch: from 1.
        done: steps since the start of the training.
        total: steps that there will be; None if this is not known.
        examples: of this epoch so far.
        figures: "loss" and the metrics, as means over this epoch so far.

    Example:
        >>> import adjoint as ad
        >>> step = ad.train.Step(epoch=1, done=10, total=100, examples=320, figures={"loss": 0.5})
        >>> step.loss
        0.5
    """

    epoch: int
    done: int
    total: int | None
    examples: int
    figures: Mapping[str, float]


@dataclass
class History:
    """What happened in a training.

    Attributes:
        epochs: the finished epochs.
        best: the epoch with the best figure of those watched; None before the first one has finished.
        best_state: the weights after that epoch (or the last ones).
        last_state: the weights at the end.
        interrupted: whether Ctrl-C ended it.
        stopped: whether a callback ended it, or that nothing became better.

    Example:
        >>> import adjoint as ad
        >>> one, two = ad.train.Epoch(1, {"loss": 0.5}, 0.01, 2.0), ad.train.Epoch(2, {"loss": 0.25}, 0.01, 2.0)
        >>> history = ad.train.History([one, two])
        >>> history["loss"]
        [0.5, 0.25]
    """

    epochs: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    best_state: StateDict = field(default_factory=dict)
    last_state: StateDict = field(default_factory=dict)
    interrupted: bool = False
    stopped: bool = False

    def __getitem__(self, name: str) -> list[float]:
        """One figure over the epochs: ``history["loss"]``."""
        rows = [epoch.row() for epoch in self.epochs]
        if rows and name not in rows[0]:
            raise ArgumentError(f"the history has no figure {name!r}; it has {', '.join(rows[0])}")
        return [row[name] for row in rows]


class Callback:
    """Listens to a training: override what you want to hear. What returns True ends the training.

    Example:
        >>> import adjoint as ad
        >>> class Until(ad.train.Callback):
        ...     def on_epoch(self, history):
        ...         return history.epochs[-1].loss < 0.1
    """

    def on_start(self, history: History) -> object:
        """Before the first step; the history has the epochs of a run that is resumed."""

    def on_step(self, step: Step) -> object:
        """After each step of the optimiser."""

    def on_epoch(self, history: History) -> object:
        """After each epoch and its validation."""

    def on_end(self, history: History) -> object:
        """At the end, also after Ctrl-C."""

    def state_dict(self) -> dict[str, Value]:
        """What a resumed run gives to `load_state_dict`."""
        return {}

    def load_state_dict(self, state: Mapping[str, Value]) -> None:
        """Take back what `state_dict` gave."""


class AfterEpoch(Callback):
    """A function of the history as a callback."""

    def __init__(self, function: Callable[[History], object]) -> None:
        self._function = function

    def on_epoch(self, history: History) -> object:
        return self._function(history)


def watched(monitor: str | None, mode: str | None, validated: bool) -> tuple[str, bool]:
    """The figure that decides what is best, and whether larger is better."""
    if mode not in (None, "min", "max"):
        raise ArgumentError(f'fit: mode is "min" or "max"; got {mode!r}')
    name = monitor or ("validation_loss" if validated else "loss")
    return name, mode == "max" or (mode is None and name.endswith("accuracy"))
