"""The training loop."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter

from adjoint import io
from adjoint.compiler import compile
from adjoint.core.errors import ArgumentError, DivergedError
from adjoint.core.types import Value
from adjoint.data.loader import DataLoader, Transform
from adjoint.nn import Module
from adjoint.optim import AdamW, Optimizer
from adjoint.optim.lr_scheduler import LambdaLR, LRScheduler, OneCycleLR, ReduceLROnPlateau
from adjoint.train.checkpoint import Checkpoint
from adjoint.train.ctrl_c import ctrl_c
from adjoint.train.history import AfterEpoch, Callback, Epoch, History, StateDict, Step, watched
from adjoint.train.inputs import loader_of, validation_of
from adjoint.train.metrics import Metric, metrics_by_name
from adjoint.train.progress import Progress, is_live
from adjoint.train.ranks import PieceFigures, Ranks
from adjoint.train.runs import write_metrics
from adjoint.train.steps import LossFunction, Means, figures_of, learner, loss_for, parts_of, summed

_BLOWN_UP = 1000.0  # a loss so many times the first one is not coming back
_UNSAVED = 60.0  # seconds of work that a crash may cost
CHECKPOINT = "checkpoint.safetensors"


def fit(
    model: Module,
    data: Value,
    *,
    loss: LossFunction | None = None,
    metrics: Sequence[str | Metric] | Mapping[str, Metric] = (),
    optimizer: Optimizer | None = None,
    scheduler: LRScheduler | ReduceLROnPlateau | str | None = None,
    scheduler_every: str | None = None,
    validation: Value = None,
    epochs: int = 10,
    batch_size: int | None = None,
    seed: int = 0,
    transform: Transform | None = None,
    accumulate: int = 1,
    clip_norm: float | None = None,
    clip_value: float | None = None,
    storage: Value = None,
    monitor: str | None = None,
    mode: str | None = None,
    patience: int | None = None,
    callbacks: Sequence[Callback | Callable[[History], Value]] = (),
    progress: bool | None = None,
    compiled: bool = False,
    pieces: int | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    save_every: int | None = None,
    save_weights: Callable[[Path, StateDict], None] = io.save,
) -> History:
    """Train a model: classes, numbers, or anything for which there is a loss.

    Of a batch ``(x, y)`` the model takes `x` and the loss its answer and `y`: ``loss(model(x), y)``. With more parts,
    the model takes all but the last. An array alone is both: ``loss(model(x), x)``.

    Args:
        model: it ends with the last weights, in evaluation mode.
        data: a `DataLoader`; or what one takes, which is then shuffled.
        loss: gives one number. None: cross-entropy for whole numbers, mean squared error for real ones.
        metrics: names ("accuracy", "mean_absolute_error") or functions ``f(answer, y) -> float`` of NumPy arrays, which
            are averaged over the examples; or such functions by name.
        optimizer: of the model's parameters; None for AdamW.
        scheduler: of the learning rate; "cosine" for half a cosine that falls to 0 step by step (Loshchilov and Hutter,
            2017, eq. 5); afterwards the rate is the same as before.
        scheduler_every: "epoch" or "step"; None for what its class is made for.
        validation: a `DataLoader`, or what one takes: examples that choose the best weights.
        epochs: passes over the data, those before a resume included.
        batch_size: examples a batch (32), where `data` is no loader; and `seed`, `transform`: see `DataLoader`.
        accumulate: batches a step; their gradients make one. They are weighted by their numbers of examples, which is
            exact for losses that are means over examples.
        clip_norm, clip_value: the largest norm of all gradients, the largest element.
        storage: a dtype, such as np.float16, in which values wait for the backward pass; weights and sums stay as they
            are. Not for compiled steps.
        monitor: the figure that decides what is best: the validation's loss, or the loss.
        mode: "min" or "max"; None for what suits the name: "max" for accuracies.
        patience: after so many epochs that are worse than the best, training ends; one that is as good is not worse.
        callbacks: `Callback` objects, or functions of the history, called after each epoch.
        progress: whether to show it; None for terminals and notebooks alone.
        compiled: run each step as one native program (see `adjoint.compile`), made before the first step of each size
            of batches. Losses differ from those of the plain step by rounding alone.
        pieces: of each batch, whose gradients are computed apart and added by pairs: 1, 2, 4, 8, … On as many ranks as
            divide it, the weights have then the same bits. None: a piece for each rank.
        folder: where to keep the run: `checkpoint.safetensors`, the best weights (`model.safetensors`), the last ones
            (`last.safetensors`), and `metrics.csv`. Ctrl-C saves, too.
        resume: go on with the run in `folder`, if there is one, to the bits that it would have had without a stop.
        save_every: steps from one checkpoint to the next; None for each epoch, and once a minute.
        save_weights: writes a file of weights.

    Returns:
        The history. Ctrl-C ends training early, and the history says so; a second one does not wait for the step.

    Raises:
        DivergedError: if the loss becomes nan, infinite, or a thousand times what it was.
        ArgumentError: for settings that do not go together, no examples, a loss that is not one number, and a
            `folder` that has another run.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(200, 2))
        >>> y = (x[:, 0] > x[:, 1]).astype(int)
        >>> model = ad.nn.Linear(2, 2, rng=0)
        >>> sgd = ad.optim.SGD(model.parameters(), lr=1.0)
        >>> held_out = (x[150:], y[150:])
        >>> history = ad.train.fit(model, (x[:150], y[:150]), optimizer=sgd, metrics=["accuracy"], validation=held_out)
        >>> history.best.validation_accuracy > 0.9
        True
    """
    counts = {"epochs": epochs, "accumulate": accumulate, "patience": patience, "save_every": save_every}
    if too_small := {name: count for name, count in counts.items() if count is not None and count < 1}:
        got = ", ".join(f"{name}={count}" for name, count in too_small.items())
        raise ArgumentError(f"fit: {', '.join(counts)} are at least 1; got {got}")
    if scheduler_every not in (None, "epoch", "step"):
        raise ArgumentError(f'fit: scheduler_every is "epoch" or "step"; got {scheduler_every!r}')
    if compiled and storage is not None:
        raise ArgumentError("fit: a compiled step plans its own memory; give compiled=True or storage, not both")
    if resume and folder is None:
        raise ArgumentError('fit: resume=True needs the folder of the run: fit(..., folder="runs/x", resume=True)')
    if optimizer is not None and not isinstance(optimizer, Optimizer):
        raise ArgumentError(f"fit: the optimizer is an object that knows the parameters, as in "
                            f"adjoint.optim.SGD(model.parameters(), lr=0.1); got {optimizer!r}")  # fmt: skip
    loader = loader_of(data, batch_size, seed, transform)
    held_out = None if validation is None else validation_of(validation, loader.batch_size)
    optimizer = optimizer or AdamW(model.parameters())
    before = [group["lr"] for group in optimizer.param_groups]
    run = _Fit(model, loader, optimizer, held_out, metrics_by_name(metrics), loss, epochs, accumulate, Ranks(pieces))
    run.monitor, run.larger = watched(monitor, mode, held_out is not None)
    run.patience, run.save_every, run.save_weights = patience, save_every, save_weights
    run.settings = (clip_norm, clip_value, storage, compiled)
    run.schedule(scheduler, scheduler_every)
    run.callbacks = [c if isinstance(c, Callback) else AfterEpoch(c) for c in callbacks]
    if run.ranks.first and (progress or (progress is None and is_live(sys.stdout))):
        run.callbacks.append(Progress(epochs))
    try:
        if folder is not None:
            run.keep_in(Path(folder), resume, (loss, run.metrics, callbacks))
        return run.go()
    finally:
        if scheduler == "cosine":
            for group, rate in zip(optimizer.param_groups, before, strict=True):
                group["lr"] = rate
                group.pop("initial_lr", None)
        model.eval()


class _Fit:
    """A training between its start and its end."""

    monitor: str
    larger: bool
    patience: int | None
    save_every: int | None
    save_weights: Callable[[Path, StateDict], None]
    settings: tuple[float | None, float | None, Value, bool]

    def __init__(
        self, model: Module, loader: DataLoader, optimizer: Optimizer, held_out: DataLoader | None,
        metrics: dict[str, Metric], loss: LossFunction | None, epochs: int, accumulate: int, ranks: Ranks,
    ) -> None:  # fmt: skip
        self.model, self.loader, self.optimizer, self.held_out = model, loader, optimizer, held_out
        self.metrics, self.loss, self.epochs, self.accumulate = metrics, loss, epochs, accumulate
        self.ranks = ranks
        self.learn: Callable[..., tuple[Value, Value]] | None = None
        self.callbacks: list[Callback] = []
        self.scheduler: Value = None
        self.each_step = False
        self.history = History()
        self.means = Means(("loss", *metrics))
        self.done = self.waited = 0  # steps; epochs since the best one
        self.first, self.elapsed = math.nan, 0.0  # the first loss; seconds of this epoch
        self.rate = optimizer.lr  # of the last step
        self.begun: int | None = None  # the loader's number of this epoch; None before its first step
        self.folder: Path | None = None
        self.checkpoint: Checkpoint | None = None
        self.saved, self.saved_at = 0, perf_counter()
        self.whole, self.asked = True, False  # whether no step is half done; whether Ctrl-C was pressed

    # -- What it needs ------------------------------------------------------------------------------

    def learned(self, target: Value) -> Callable[..., tuple[Value, Value]]:
        """The function that learns from a batch. The first target decides about the loss if none was given."""
        if self.learn is None:
            self.loss = self.loss or loss_for(target)
            clip_norm, clip_value, storage, compiled = self.settings
            self.learn = learner(
                self.ranks.model(self.model, compiled), self.optimizer, self.loss, clip_norm, clip_value, storage,
                bool(self.metrics),
                partial(compile, wait=True) if compiled else None,  # to change over in mid-stream: no two runs alike
                self.ranks.between(compiled),
            )  # fmt: skip
        return self.learn

    @property
    def listeners(self) -> list[Callback]:
        """The callbacks of this training; none but on rank 0."""
        return self.callbacks if self.ranks.first else []

    @property
    def steps(self) -> int | None:
        """Steps an epoch, if the loader knows its length."""
        try:
            return -(-len(self.loader) // self.accumulate)
        except TypeError:
            return None

    def schedule(self, scheduler: Value, every: str | None) -> None:
        """Take on the schedule of the learning rate."""
        if scheduler == "cosine":
            if self.steps is None:
                raise ArgumentError('fit: "cosine" must know how many steps there will be; give data with a length')
            total = self.epochs * self.steps
            scheduler = LambdaLR(self.optimizer, lambda step: (1 + math.cos(math.pi * min(step / total, 1.0))) / 2)
            every = "step"
        elif isinstance(scheduler, str) or not (scheduler is None or hasattr(scheduler, "step")):
            raise ArgumentError(f'fit: scheduler is one of adjoint.optim.lr_scheduler, or "cosine"; got {scheduler!r}')
        if scheduler is not None and getattr(scheduler, "optimizer", self.optimizer) is not self.optimizer:
            raise ArgumentError("fit: the scheduler changes another optimizer; make it of the one that is given here")
        self.scheduler = scheduler
        self.each_step = every == "step" or (every is None and isinstance(scheduler, OneCycleLR))

    def keep_in(self, folder: Path, resume: bool, also: Value) -> None:
        """Keep the run in `folder`, and continue the one that is there already."""
        parts = {"model": self.model, "optimizer": self.optimizer, "loader": self.loader}
        if self.scheduler is not None:
            parts["scheduler"] = self.scheduler
        parts |= {f"callback_{i}": callback for i, callback in enumerate(self.callbacks)
                  if type(callback).state_dict is not Callback.state_dict}  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.checkpoint = folder, Checkpoint(folder / CHECKPOINT, also=also, **parts)
        if not self.checkpoint.exists():
            return
        if not resume:
            raise ArgumentError(f"fit: {folder} holds a run. resume=True goes on with it; a new run needs a new folder")
        kept = self.checkpoint.load()
        self.history.epochs = [Epoch(**row) for row in kept["epochs"]]
        if kept["best"] is not None:
            self.history.best, self.history.best_state = self.history.epochs[kept["best"] - 1], kept["best_state"]
        self.means.examples, self.means.sums = kept["examples"], kept["sums"]
        for name in ("done", "waited", "first", "elapsed", "rate", "begun"):
            setattr(self, name, kept[name])
        self.history.stopped = kept["stopped"]
        self.saved = self.done

    def save(self) -> None:
        """Write the checkpoint, if the run has a folder."""
        if self.checkpoint is None:
            return
        self.saved, self.saved_at = self.done, perf_counter()
        if not self.ranks.first:  # a state that lies on all ranks is put together by all
            for part in self.checkpoint.parts.values():
                part.state_dict()
            return
        best = self.history.best
        self.checkpoint.save(
            epochs=[vars(epoch) for epoch in self.history.epochs], best=best.number if best else None,
            best_state=self.history.best_state, examples=self.means.examples, sums=self.means.sums, done=self.done,
            waited=self.waited, first=self.first, elapsed=self.elapsed, rate=self.rate,
            begun=self.begun, stopped=self.history.stopped,
        )  # fmt: skip

    # -- The loop -----------------------------------------------------------------------------------

    def go(self) -> History:
        history = self.history
        for callback in self.listeners:
            callback.on_start(history)
        with ctrl_c(self):
            try:
                while len(history.epochs) < self.epochs and not history.stopped and not self.asked:
                    self.epoch()
            except KeyboardInterrupt:
                self.asked = True
            history.interrupted = self.asked
        if (self.asked or history.stopped) and self.whole:
            self.save()
        history.last_state = self.model.state_dict()
        history.best_state = history.best_state or history.last_state
        if self.folder is not None and self.ranks.first:
            self.save_weights(self.folder / "model.safetensors", history.best_state)
            self.save_weights(self.folder / "last.safetensors", history.last_state)
            write_metrics(history, self.folder / "metrics.csv")
        for callback in self.listeners:
            callback.on_end(history)
        return history

    def epoch(self) -> None:
        """An epoch, or the rest of one; with Ctrl-C, up to the end of the step."""
        self.model.train()
        start = perf_counter() - self.elapsed
        if self.begun is None:
            self.begun = self.loader.epoch
        if self.begun == self.loader.epoch:  # it is another one if the run was stopped after the last step
            batches = iter(self.loader)
            while group := self.taken(batches):
                self.step(group)
                self.elapsed = perf_counter() - start
                self.tell()
                unsaved = self.done - self.saved
                due = unsaved >= self.save_every if self.save_every else perf_counter() - self.saved_at > _UNSAVED
                self.asked, self.history.stopped, due = self.ranks.any(self.asked, self.history.stopped, due)
                if self.asked or self.history.stopped:
                    return
                if due:
                    self.save()
        if not self.means.examples:
            raise ArgumentError("fit: the data gave no batches; drop_last leaves out batches that are not full, and an "
                                "iterator is read only once")  # fmt: skip
        self.close()

    def taken(self, batches: Iterator[Value]) -> list[Value]:
        """The batches of the next step. From here on until it is done, nothing is saved."""
        self.whole = False
        return list(islice(batches, self.accumulate))

    def step(self, group: list[Value]) -> None:
        """Learn from a group of batches."""
        parts = [parts_of(batch) for batch in group]
        examples = [len(target) for _, target in parts]
        found: list[list[PieceFigures]] = [[] for _ in parts]
        for piece in self.ranks.turns(self.model, self.loss):
            for k, (inputs, target) in enumerate(parts):
                share, last = examples[k] / sum(examples) / len(self.ranks.own), k == len(parts) - 1
                with self.ranks.part(piece, inputs, target) as (rows, wanted, weight):
                    scale = None if share * weight == 1 else share * weight
                    loss, answers = self.learned(target)(rows, wanted, scale, k == 0, last)
                    found[k].append((weight, [loss.item(), *figures_of(self.metrics, answers, wanted)]))
        for k, of_pieces in enumerate(found):
            figures = self.ranks.mean(of_pieces)
            value = figures[0]
            self.first = value if self.done == 0 and k == 0 else self.first
            if not value <= _BLOWN_UP * max(abs(self.first), 1.0):
                raise DivergedError(
                    f"training diverged: the loss became {value:g} in epoch {len(self.history.epochs) + 1} of "
                    f"{self.epochs}; a lower learning rate than {self.optimizer.lr:g} may help"
                )
            self.means.add(examples[k], figures)
        self.done += 1
        self.rate = self.optimizer.lr
        if self.each_step:
            self.scheduler.step()
        self.whole = True

    def tell(self) -> None:
        if not self.listeners:
            return
        total = None if self.steps is None else self.epochs * self.steps
        step = Step(len(self.history.epochs) + 1, self.done, total, self.means.examples, self.means.figures())
        for callback in self.listeners:
            self.history.stopped |= callback.on_step(step) is True

    def close(self) -> None:
        """End the epoch: validate, note the figures, keep the weights if they are the best so far."""
        history, figures = self.history, self.means.figures()
        if self.held_out is not None:
            held_out = self.ranks.parts(self.held_out)
            sums = summed(self.model, held_out, self.loss, self.metrics, len(self.ranks.own))
            found = self.ranks.joined(sums).final()
            figures |= {f"validation_{name}": value for name, value in found.items()}
            if not math.isfinite(found["loss"]):
                raise DivergedError(f"training diverged: the validation loss became {found['loss']:g} in epoch "
                                    f"{len(history.epochs) + 1}; a lower learning rate may help")  # fmt: skip
        if self.monitor not in figures:
            raise ArgumentError(f"fit: monitor is one of {', '.join(figures)}; got {self.monitor!r}")
        epoch = Epoch(len(history.epochs) + 1, figures, self.rate, self.elapsed)
        history.epochs.append(epoch)
        now, best = figures[self.monitor], None if history.best is None else history.best.figures[self.monitor]
        self.waited += 1
        if best is None or (now >= best if self.larger else now <= best):
            history.best, history.best_state, self.waited = epoch, self.model.state_dict(), 0
        if isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step(now)
        elif self.scheduler is not None and not self.each_step:
            self.scheduler.step()
        history.stopped |= self.patience is not None and self.waited >= self.patience
        self.means, self.elapsed, self.begun = Means(("loss", *self.metrics)), 0.0, None
        self.whole = True
        for callback in self.listeners:
            history.stopped |= callback.on_epoch(history) is True
        (history.stopped,) = self.ranks.any(history.stopped)
        self.save()
        if self.folder is not None and self.ranks.first:
            write_metrics(history, self.folder / "metrics.csv")
            if history.best is epoch:
                self.save_weights(self.folder / "model.safetensors", history.best_state)
