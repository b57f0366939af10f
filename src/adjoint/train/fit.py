"""The training loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from adjoint.compiler import compile
from adjoint.core.errors import ArgumentError, DivergedError
from adjoint.data.batches import batches
from adjoint.data.dataset import Array
from adjoint.nn import Module, cross_entropy
from adjoint.optim import Optimizer
from adjoint.train.metrics import accuracy, logits_of, mean_loss

State = dict[str, Array]

_BLOWN_UP = 1000.0  # a loss so many times the first one is not coming back


@dataclass(frozen=True)
class Epoch:
    """One pass over the training examples: means while learning (without label smoothing), then the validation."""

    number: int
    loss: float
    accuracy: float
    validation_loss: float
    validation_accuracy: float
    learning_rate: float
    seconds: float


@dataclass(frozen=True)
class Step:
    """Where training stands after a batch; loss and accuracy are means over the epoch so far."""

    epoch: int
    done: int
    total: int
    examples: int
    loss: float
    accuracy: float


@dataclass
class History:
    """What happened in training.

    Attributes:
        epochs: the finished epochs.
        best: the epoch with the lowest validation loss; None before the first one has finished.
        best_state: the weights after that epoch (or the last ones).
        last_state: the weights at the end.
        interrupted: whether Ctrl-C ended it.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    best_state: State = field(default_factory=dict)
    last_state: State = field(default_factory=dict)
    interrupted: bool = False


@dataclass
class _Sums:
    """Running sums over an epoch."""

    examples: int = 0
    loss: float = 0.0
    right: int = 0

    def add(self, loss: float, logits: Array, y: Array) -> None:
        self.examples += len(y)
        self.loss += loss * len(y)
        self.right += int(np.count_nonzero(logits.argmax(axis=1) == y))


def fit(
    model: Module,
    optimizer: Optimizer,
    train: tuple[Array, Array],
    validation: tuple[Array, Array],
    *,
    epochs: int,
    batch_size: int = 32,
    rng: np.random.Generator,
    label_smoothing: float = 0.0,
    augment: Callable[[Array], Array] | None = None,
    compiled: bool = False,
    on_step: Callable[[Step], object] | None = None,
    on_epoch: Callable[[History], object] | None = None,
) -> History:
    """Train a classifier with the cross-entropy loss, its learning rate falling to 0 along half a cosine.

    The schedule: I. Loshchilov and F. Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts*, 2017, eq. 5,
    without restarts.

    Args:
        model: takes (examples, ...) to logits (examples, classes). It ends with the last weights, in evaluation mode.
        optimizer: of the model's parameters. Its learning rate is the highest one.
        train: examples and class numbers to learn from.
        validation: examples and class numbers to choose the best weights by.
        epochs: passes over the training examples.
        batch_size: examples a step.
        rng: the source of the order of examples.
        label_smoothing: see `adjoint.nn.cross_entropy`.
        augment: changes each batch of examples before the model sees it.
        compiled: run each step as one native program (see `adjoint.compile`), made before the first step of each size
            of batches. Losses differ from those of the plain step by rounding alone.
        on_step, on_epoch: called after every step and every epoch.

    Returns:
        The history. Ctrl-C ends training early, and the history says so.

    Raises:
        DivergedError: if the loss becomes nan, infinite, or a thousand times what it was.
        ArgumentError: for fewer than 1 epoch, or no examples.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(200, 2))
        >>> y = (x[:, 0] > x[:, 1]).astype(int)
        >>> model = ad.nn.Linear(2, 2, rng=0)
        >>> sgd = ad.optim.SGD(model.parameters(), lr=1.0)
        >>> history = ad.train.fit(model, sgd, (x[:150], y[:150]), (x[150:], y[150:]), epochs=5, rng=rng)
        >>> history.best.validation_accuracy > 0.9
        True
    """
    x, y = train
    if epochs < 1 or not len(x) or not len(validation[0]):
        raise ArgumentError(f"fit needs at least 1 epoch, and examples to learn from and to validate with; "
                            f"got epochs={epochs}, {len(x)} and {len(validation[0])} examples")  # fmt: skip
    history, highest = History(), optimizer.lr
    total = epochs * math.ceil(len(x) / batch_size)
    done, first = 0, math.nan
    step = _step(label_smoothing)
    if compiled:
        step = compile(step, wait=True)  # to change over in mid-stream would make no two runs alike
    try:
        for number in range(1, epochs + 1):
            model.train()
            sums, start = _Sums(), perf_counter()
            for xs, ys in batches(x, y, batch_size, rng):
                optimizer.lr = highest * (1 + math.cos(math.pi * done / total)) / 2
                loss, unsmoothed, logits = step(model, optimizer, xs if augment is None else augment(xs), ys)
                value = loss.item()
                first = value if done == 0 else first
                if not value <= _BLOWN_UP * max(first, 1.0):
                    raise DivergedError(f"training diverged: the loss became {value:g} in epoch {number} of {epochs}; "
                                        f"a lower learning rate than {highest:g} may help")  # fmt: skip
                done += 1
                sums.add(unsmoothed.item(), logits.numpy(), ys)
                if on_step is not None:
                    on_step(Step(number, done, total, sums.examples, sums.loss / sums.examples,
                                 sums.right / sums.examples))  # fmt: skip
            seconds = perf_counter() - start
            answers = logits_of(model, validation[0])
            _close_epoch(history, model, Epoch(
                number, sums.loss / sums.examples, sums.right / sums.examples, mean_loss(answers, validation[1]),
                accuracy(answers, validation[1]), optimizer.lr, seconds,
            ))  # fmt: skip
            if on_epoch is not None:
                on_epoch(history)
    except KeyboardInterrupt:
        history.interrupted = True
    finally:
        optimizer.lr = highest
        model.eval()
    history.last_state = model.state_dict()
    history.best_state = history.best_state or history.last_state
    return history


def _step(label_smoothing: float) -> Callable[[Module, Optimizer, Array, Array], tuple[Any, ...]]:
    """A step of training: it gives the loss, the loss without label smoothing, and the logits."""

    def step(model: Module, optimizer: Optimizer, x: Array, y: Array) -> tuple[Any, ...]:
        logits = model(x)
        loss = cross_entropy(logits, y, label_smoothing=label_smoothing)
        unsmoothed = cross_entropy(logits.detach(), y) if label_smoothing else loss.detach()
        optimizer.zero_grad()
        loss.backward(retain_graph=False)
        optimizer.step()
        return loss.detach(), unsmoothed, logits.detach()

    return step


def _close_epoch(history: History, model: Module, epoch: Epoch) -> None:
    """Note the epoch, and keep the weights if they are the best so far."""
    if not math.isfinite(epoch.validation_loss):
        raise DivergedError(f"training diverged: the validation loss became {epoch.validation_loss:g} in epoch "
                            f"{epoch.number}; a lower learning rate may help")  # fmt: skip
    history.epochs.append(epoch)
    if history.best is None or epoch.validation_loss <= history.best.validation_loss:
        history.best, history.best_state = epoch, model.state_dict()
