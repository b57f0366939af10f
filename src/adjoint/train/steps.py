"""One step of training: answers, loss, gradients, optimiser; and the figures of examples that are not learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.objects.trees import map_tree
from adjoint.core.types import Value
from adjoint.data.dataset import NDArray
from adjoint.nn import Module, cross_entropy, mse_loss
from adjoint.optim import Optimizer
from adjoint.optim.clip import clip_grad_norm, clip_grad_value
from adjoint.tape.modes import no_grad
from adjoint.tape.observers.hooks import save_as
from adjoint.tape.tensor import Tensor
from adjoint.train.metrics import Metric

LossFunction = Callable[[Value, Value], Value]


def parts_of(batch: object) -> tuple[tuple[Value, ...], Value]:
    """What of a batch the model takes, and the target: the last part; a single array is both."""
    if isinstance(batch, Mapping):
        raise ArgumentError(
            f"fit takes batches (x, y), or arrays; this one is a dict of {', '.join(map(str, batch))}. Give "
            f"the loader transform=lambda batch, rng: (batch['x'], batch['y'])"
        )
    if isinstance(batch, tuple | list) and len(batch) > 1:
        return tuple(batch[:-1]), batch[-1]
    single = batch[0] if isinstance(batch, tuple | list) else batch
    return (single,), single


def loss_for(target: Value) -> LossFunction:
    """The loss where none is given: cross-entropy for classes, mean squared error for real numbers."""
    kind = np.asarray(target).dtype.kind
    if kind in "iu":
        return cross_entropy
    if kind == "f":
        return mse_loss
    hint = ". Give y.astype(int)" if kind == "b" else ""
    raise ArgumentError(
        f"fit: targets are numbers of classes or real numbers; these are {np.asarray(target).dtype}{hint}"
    )


def learner(
    model: Module,
    optimizer: Optimizer,
    loss: LossFunction,
    clip_norm: float | None,
    clip_value: float | None,
    storage: Value,
    answers_wanted: bool,
    compiled: Callable[..., Value] | None = None,
    between: Callable[..., bool] | None = None,
) -> Callable[..., tuple[Value, Value]]:
    """The function that learns from a batch: it gives the loss, and the answers if they are wanted.

    Of several batches that make one step, the first one forgets the old gradients, each adds its share, and the last
    one steps. A batch that is a step by itself has no share. Model and optimizer are closed over: where modules are
    arguments, a compiled function has to look at them in Python at each call.

    `compiled` makes a compiled function of it; or two, if something happens `between` gradients and update, which
    it answers may follow.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def plainly(inputs: Value, target: Value) -> tuple[Value, Value]:
        answers = model(*inputs)
        return answers, scalar(loss(answers, target))

    def stored(inputs: Value, target: Value) -> tuple[Value, Value]:
        with save_as(storage):
            return plainly(inputs, target)

    forward = plainly if storage is None else stored

    def gradients(inputs: Value, target: Value, share: float | None, first: bool) -> tuple[object, object]:
        answers, value = forward(inputs, target)
        if first:
            optimizer.zero_grad()
        (value if share is None else value * share).backward(retain_graph=False)
        return value.detach(), detached(answers) if answers_wanted else None

    def update() -> None:
        if clip_norm is not None:
            clip_grad_norm(parameters, clip_norm)
        if clip_value is not None:
            clip_grad_value(parameters, clip_value)
        optimizer.step()

    def learn(inputs: Value, target: Value, share: float | None, first: bool, last: bool) -> tuple[object, object]:
        found = gradients(inputs, target, share, first)
        if last and (between is None or between(model, parameters)):
            update()
        return found

    if compiled is None:
        return learn
    if between is None:
        whole: Callable[..., tuple[Value, Value]] = compiled(learn)
        return whole
    gradients, update = compiled(gradients), compiled(update)
    return learn


def scalar(value: Tensor) -> Tensor:
    """`value` if it is one number on the tape."""
    if not isinstance(value, Tensor):
        hint = "; a loss function ends with `return ...`" if value is None else ""
        raise ArgumentError(f"a loss is one number that depends on the model's parameters; got "
                            f"{type(value).__name__}{hint}")  # fmt: skip
    if value.shape != ():
        raise ArgumentError(f"a loss is one number; got shape {value.shape}. Take its mean: np.mean(...)")
    return value


def detached(answers: Tensor) -> Tensor:
    """Answers without their history."""
    if isinstance(answers, tuple | list):
        return tuple(detached(part) for part in answers)
    if isinstance(answers, dict):
        return {name: detached(part) for name, part in answers.items()}
    return answers.detach() if isinstance(answers, Tensor) else answers


def plain(answers: Value) -> Value:
    """Answers as NumPy arrays."""
    return map_tree(_plain, answers)


def _plain(value: Value) -> Value:
    return value.numpy() if isinstance(value, Tensor) else value


class Means:
    """Running means of figures over examples."""

    def __init__(self, names: Iterable[str]) -> None:
        self.examples = 0
        self.sums = dict.fromkeys(names, 0.0)

    def add(self, examples: int, values: Sequence[float]) -> None:
        """Count a batch."""
        self.examples += examples
        for name, value in zip(self.sums, values, strict=True):
            self.sums[name] += value * examples

    def figures(self) -> dict[str, float]:
        """The means so far."""
        return {name: total / max(self.examples, 1) for name, total in self.sums.items()}

    def final(self) -> dict[str, float]:
        """The means over all examples, of which there is one at least."""
        if not self.examples:
            raise ArgumentError("evaluate got no batches; an iterator is read only once, a DataLoader again and again")
        return self.figures()


def evaluate(
    model: Module,
    batches: Iterable[Value],
    loss: LossFunction | None = None,
    metrics: Mapping[str, Metric] | None = None,
) -> dict[str, float]:
    """Loss and metrics of examples that are not learned from: without a graph, and in evaluation mode.

    Args:
        model: is left in the mode in which it was.
        batches: a `DataLoader`, or any iterable of batches.
        loss, metrics: as in `fit`.

    Returns:
        Means over the examples, by name.

    Raises:
        ArgumentError: if there are no batches.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> batches = ad.data.DataLoader((np.zeros((6, 2)), np.zeros((6, 1))), 4)
        >>> ad.train.evaluate(ad.nn.Linear(2, 1, bias=False, rng=0), batches)
        {'loss': 0.0}
    """
    (means,) = summed(model, ((0, batch) for batch in batches), loss, metrics)
    return means.final()


def summed(
    model: Module,
    batches: Iterable[tuple[int, Value]],
    loss: LossFunction | None = None,
    metrics: Mapping[str, Metric] | None = None,
    kinds: int = 1,
) -> list[Means]:
    """The same for batches of several kinds, each given with the number of its kind: the means of each kind."""
    metrics, training = metrics or {}, model.training
    means = [Means(("loss", *metrics)) for _ in range(kinds)]
    try:
        model.eval()
        with no_grad():
            for kind, batch in batches:
                inputs, target = parts_of(batch)
                answers = model(*inputs)
                loss = loss or loss_for(target)
                value = float(np.asarray(plain(loss(answers, target))))
                means[kind].add(len(target), [value, *figures_of(metrics, answers, target)])
    finally:
        model.train(training)
    return means


def figures_of(metrics: Mapping[str, Metric], answers: Value, target: NDArray) -> list[float]:
    """The value of each metric for a batch."""
    if not metrics:
        return []
    answers, target = plain(answers), plain(target)
    return [float(metric(answers, target)) for metric in metrics.values()]
