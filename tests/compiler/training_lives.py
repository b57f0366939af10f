"""Random models, optimisers and training steps; `training_events` has what happens between the steps."""

import contextlib
import copy

import numpy as np

import adjoint as ad
from adjoint import nn, optim
from adjoint.optim import lr_scheduler

from .attacks.seen import Seen, scrubbed

WIDTH, CLASSES = 4, 3
SCALE = 1.0  # a name of the module that steps read


class Residual(nn.Module):
    """A block with a buffer, a count, and a number that scales it."""

    def __init__(self, rng):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH, rng=rng)
        self.register_buffer("mean", np.zeros(WIDTH))
        self.gain, self.calls, self.mixed = 0.5, 0, True

    def forward(self, x):
        self.calls += 1
        if self.training:
            self.mean[:] = 0.9 * self.mean + 0.1 * np.mean(ad.stop_gradient(x), axis=0)
        h = np.tanh(self.inner(x)) * self.gain
        return x + h - self.mean if self.mixed else h


class Branches(nn.Module):
    """Layers in a list and in a dictionary, one of them used twice; parameters of its own."""

    def __init__(self, rng):
        super().__init__()
        self.many = nn.ModuleList([nn.Linear(WIDTH, WIDTH, rng=rng) for _ in range(2)])
        self.named = nn.ModuleDict({"a": nn.Linear(WIDTH, WIDTH, rng=rng), "b": nn.LayerNorm(WIDTH)})
        self.scale = nn.Parameter(rng.normal(size=WIDTH))
        self.bias = nn.Parameter(np.array(0.1))
        self.chosen = "a"

    def forward(self, x):
        for layer in self.many:
            x = nn.relu(layer(x)) + self.bias
        return self.many[0](self.named[self.chosen](x)) * self.scale


class Recurrent(nn.Module):
    """A cell that reads the columns of its input, one after the other; it may keep its state."""

    def __init__(self, rng):
        super().__init__()
        self.cell = nn.GRUCell(1, WIDTH, rng=rng)
        self.kept, self.keeps = None, False

    def forward(self, x):
        h = np.zeros((len(x), WIDTH)) if self.kept is None or len(self.kept) != len(x) else self.kept
        for t in range(x.shape[1]):
            h = self.cell(x[:, t : t + 1], h)
        if self.keeps:
            self.kept = h.detach()
        return h


def network(rng):
    """A network of random layers between one that takes `WIDTH` numbers and one that gives `CLASSES`."""
    layers = [
        lambda: nn.Linear(WIDTH, WIDTH, rng=rng), nn.Tanh, nn.ReLU, lambda: nn.Dropout(0.3, rng=int(rng.integers(99))),
        lambda: nn.BatchNorm1d(WIDTH), lambda: nn.LayerNorm(WIDTH), lambda: Residual(rng), lambda: Branches(rng),
        lambda: Recurrent(rng), nn.Softplus, nn.PReLU,
    ]  # fmt: skip
    chosen = [layers[k]() for k in rng.integers(len(layers), size=rng.integers(1, 4))]
    return nn.Sequential(nn.Linear(WIDTH, WIDTH, rng=rng), *chosen, nn.Linear(WIDTH, CLASSES, rng=rng))


OPTIMISERS = [
    lambda p: optim.SGD(p, lr=0.1), lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
    lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01), lambda p: optim.Adam(p, lr=0.01),
    lambda p: optim.AdamW(p, lr=0.01), lambda p: optim.RMSprop(p, lr=0.01), lambda p: optim.Adagrad(p, lr=0.05),
    lambda p: optim.Adam(p, lr=0.01, amsgrad=True), optim.Adadelta,
    lambda p: optim.NAdam(p, lr=0.01), lambda p: optim.Adamax(p, lr=0.01), lambda p: optim.RAdam(p, lr=0.01),
]  # fmt: skip
SCHEDULES = [
    lambda o: lr_scheduler.StepLR(o, 2), lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    lambda o: lr_scheduler.CosineAnnealingLR(o, 5), lambda o: lr_scheduler.LambdaLR(o, lambda k: 1.0 / (1 + k)),
    lambda o: lr_scheduler.LinearLR(o, total_iters=4), lambda o: lr_scheduler.MultiStepLR(o, [1, 3]),
]  # fmt: skip


class Life:
    """A model, what trains it, and what was noted on the way."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.model = network(rng)
        make = OPTIMISERS[rng.integers(len(OPTIMISERS))]
        several = [{"params": [p], "lr": 0.01 * (k + 1)} for k, p in enumerate(self.model.parameters())]
        self.optimizer = make(several if rng.random() < 0.2 else self.model.parameters())
        self.schedule = SCHEDULES[rng.integers(len(SCHEDULES))](self.optimizer)
        self.average = optim.swa_utils.AveragedModel(self.model)
        self.shadow = [np.array(p.data) for p in self.model.parameters()]
        self.count, self.every, self.limit, self.best, self.penalty = 0, 2, 1.0, np.inf, 0.0
        self.losses, self.handles, self.notes, self.kept = [], [], [], {}
        self.loss = nn.cross_entropy
        self.noise = np.random.default_rng(seed)


def plain(life, x, y):
    life.optimizer.zero_grad()
    loss = life.loss(life.model(x), y) * SCALE
    loss.backward()
    life.optimizer.step()
    return loss


def accumulated(life, x, y):
    loss = life.loss(life.model(x), y) / life.every
    loss.backward()
    life.count += 1
    if life.count % life.every == 0:
        life.optimizer.step()
        life.optimizer.zero_grad(set_to_none=life.count % 4 == 0)
    return loss.detach()


def clipped(life, x, y):
    life.optimizer.zero_grad()
    loss = life.loss(life.model(x), y)
    loss.backward()
    norm = optim.clip_grad_norm([p for p in life.model.parameters() if p.grad is not None], life.limit)
    if norm < 50.0:
        life.optimizer.step()
    return loss.item(), norm


def scheduled(life, x, y):
    loss = life.loss(life.model(x), y)
    life.optimizer.zero_grad(set_to_none=False)
    loss.backward()
    life.optimizer.step()
    life.schedule.step()
    life.losses.append(loss.item())
    life.best = min(life.best, life.losses[-1])
    return life.losses[-1]


def averaged(life, x, y):
    life.optimizer.zero_grad()
    loss = life.loss(life.model(x), y)
    loss.backward()
    life.optimizer.step()
    with ad.no_grad():
        for mean, p in zip(life.shadow, life.model.parameters(), strict=False):
            mean *= 0.9
            mean += 0.1 * p.data
    life.average.update_parameters(life.model)
    return loss


def penalised(life, x, y):
    out = life.model(x + 0.01 * life.noise.normal(size=x.shape))
    loss = life.loss(out, y)
    for p in life.model.parameters():
        if p.requires_grad:
            loss = loss + 1e-3 * np.sum(p**2)
    life.optimizer.zero_grad()
    loss.backward()
    life.optimizer.step()
    return {"loss": loss, "out": out, "grads": [p.grad for p in life.model.parameters()]}


def watched(life, x, y):
    was = life.model.training
    life.model.eval()
    with ad.no_grad():
        before = np.mean(np.argmax(life.model(x), axis=1) == y)
    life.model.train(was)
    loss = plain(life, x, y)
    return before, loss, life.model[0].weight


def closed(life, x, y):
    def again():
        life.optimizer.zero_grad()
        loss = life.loss(life.model(x), y)
        loss.backward()
        return loss

    first = again()
    life.optimizer.step()
    second = again()
    return first.item() - second.item()


def by_hand(life, x, y):
    loss = life.loss(life.model(x), y)
    loss.backward()
    for p in life.model.parameters():
        if p.grad is not None:
            p.data -= 0.05 * p.grad.data
            p.grad = None
    return loss


def called(life, x, y):
    """The gradient by a transform, of the parameters as a tree."""
    names = {name: p.data for name, p in life.model.named_parameters()}
    value, grads = ad.value_and_grad(lambda w: life.loss(nn.functional_call(life.model, w, (x,)), y))(names)
    for name, p in life.model.named_parameters():
        p.data[...] -= 0.05 * grads[name]
    return value


def caught(life, x, y):
    """A step that is not taken where the loss is large, nor where something raises."""
    try:
        life.optimizer.zero_grad()
        loss = life.loss(life.model(x), y)
        if loss > 2.5:
            raise ArithmeticError("large")
        loss.backward()
        life.optimizer.step()
    except ArithmeticError as error:
        life.notes.append(str(error))
        return None
    finally:
        life.count += 1
    return loss


STEPS = [plain, plain, accumulated, clipped, scheduled, averaged, penalised, watched, closed, by_hand, called, caught]


def evaluate(life, x):
    with ad.no_grad():
        return nn.softmax(life.model(x))


def batch(rng, size=5):
    return rng.normal(size=(size, WIDTH)), rng.integers(CLASSES, size=size)


class History:
    """One history, compiled or plain: a life, its step, and an evaluation."""

    def __init__(self, seed, compiled):
        self.life = Life(seed)
        step = STEPS[np.random.default_rng(seed + 1).integers(len(STEPS))]
        self.compiled, self.own = compiled, [step, evaluate]
        self.step, self.evaluate = compiled(step), compiled(evaluate)

    def seen(self, do):
        """What a call gave or raised, and all that there is after it."""
        result, error = None, None
        try:
            with contextlib.suppress(StopIteration):
                result = do(self)
        except Exception as raised:
            error = type(raised).__name__, scrubbed(str(raised))
        look = Seen({"__name__": __name__}, {"made": [], "own": set()})
        look.walk("the result", result)
        look.walk("the life", self.life)
        look = Seen({"__name__": __name__}, {"made": [], "own": set()}, look.found)
        look.add("raised", error)
        look.walk("the result", result)
        look.walk("the life", self.life)
        return look.tokens


def copied(history):
    """The same life, copied; the functions stay."""
    history.life = copy.deepcopy(history.life)
