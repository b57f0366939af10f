"""What happens to a model between its training steps: each event does the same to a plain and to a compiled history."""

import copy
import pickle

import numpy as np

import adjoint as ad
from adjoint import nn

from . import training_lives as lives
from .training_lives import CLASSES, OPTIMISERS, SCHEDULES, WIDTH, Residual, batch, evaluate


def some(rng, things):
    things = list(things)
    return things[rng.integers(len(things))]


def module(h, rng):
    return some(rng, h.life.model.modules())


def parameter(h, rng):
    return some(rng, h.life.model.parameters())


def freezes(h, rng):
    module(h, rng).requires_grad_(rng.random() < 0.5)


def freezes_one(h, rng):
    parameter(h, rng).requires_grad = bool(rng.random() < 0.5)


def thaws(h, rng):
    h.life.model.requires_grad_(True)


def clears(h, rng):
    h.life.optimizer.zero_grad(set_to_none=bool(rng.integers(2)))


def clears_one(h, rng):
    parameter(h, rng).grad = None


def sets_a_gradient(h, rng):
    p = parameter(h, rng)
    if p.requires_grad:
        p.grad = rng.normal(size=p.shape)


def adds_to_a_gradient(h, rng):
    p = parameter(h, rng)
    if p.grad is not None:
        p.grad += 1.0


def shares_a_gradient(h, rng):
    p, q = parameter(h, rng), parameter(h, rng)
    if p.requires_grad and q.requires_grad and p.grad is not None and p.shape == q.shape:
        q.grad = p.grad


def turns_mode(h, rng):
    module(h, rng).train(bool(rng.integers(2)))


def sets_rate(h, rng):
    some(rng, h.life.optimizer.param_groups)["lr"] = some(rng, [0.02, np.float64(0.03), 0.0, 1, np.float32(0.05)])


def sets_decay(h, rng):
    group = some(rng, h.life.optimizer.param_groups)
    name = some(rng, [n for n in ("momentum", "weight_decay", "nesterov", "maximize", "eps") if n in group] or ["lr"])
    group[name] = some(rng, [True, False]) if name in ("nesterov", "maximize") else some(rng, [0.0, 0.5, 0.01])


def new_optimiser(h, rng):
    h.life.optimizer = some(rng, OPTIMISERS)(h.life.model.parameters())
    h.life.schedule = some(rng, SCHEDULES)(h.life.optimizer)


def only_some(h, rng):
    h.life.optimizer = some(rng, OPTIMISERS)(list(h.life.model.parameters())[rng.integers(2) :])


def adds_group(h, rng):
    extra = nn.Parameter(np.ones(2))
    h.life.optimizer.add_param_group({"params": [extra], "lr": 0.3})


def drops_group(h, rng):
    if len(h.life.optimizer.param_groups) > 1:
        h.life.optimizer.param_groups.pop()


def drops_state(h, rng):
    h.life.optimizer.state.clear() if hasattr(h.life.optimizer.state, "clear") else None


def saves(h, rng):
    h.life.kept = {"model": h.life.model.state_dict(), "optimizer": h.life.optimizer.state_dict()}
    h.life.kept = copy.deepcopy(h.life.kept)


def loads(h, rng):
    if "model" in h.life.kept:
        h.life.model.load_state_dict(h.life.kept["model"])
        h.life.optimizer.load_state_dict(h.life.kept["optimizer"])


def loads_model(h, rng):
    if "model" in h.life.kept:
        h.life.model.load_state_dict(h.life.kept["model"], strict=False)


def pickles(h, rng):
    h.life.model, h.life.optimizer = pickle.loads(pickle.dumps((h.life.model, h.life.optimizer)))


def pickles_model(h, rng):
    h.life.model = pickle.loads(pickle.dumps(h.life.model))


def copies(h, rng):
    lives.copied(h)


def copies_model(h, rng):
    h.life.model = copy.deepcopy(h.life.model)
    h.life.optimizer = some(rng, OPTIMISERS)(h.life.model.parameters())


def replaces_layer(h, rng):
    k = int(rng.integers(len(h.life.model) - 1))
    h.life.model[k] = some(rng, [nn.Tanh(), nn.Linear(WIDTH, WIDTH, rng=rng), Residual(rng), nn.Identity()])


def replaces_last(h, rng):
    h.life.model[len(h.life.model) - 1] = nn.Linear(WIDTH, CLASSES, bias=bool(rng.integers(2)), rng=rng)


def replaces_weight(h, rng):
    layer = h.life.model[len(h.life.model) - 1]
    layer.weight = nn.Parameter(rng.normal(size=(CLASSES, WIDTH)))


def adds_layer(h, rng):
    h.life.model.insert(1, some(rng, [nn.ReLU(), Residual(rng), nn.Dropout(0.5, rng=3)]))


def drops_layer(h, rng):
    if len(h.life.model) > 2:
        del h.life.model[1]


def writes_parameter(h, rng):
    p = parameter(h, rng)
    p.data[...] = p.data * 0.5 + 0.1


def new_data(h, rng):
    p = parameter(h, rng)
    p.data = some(rng, [np.array(p.data) * 0.9, np.asfortranarray(np.array(p.data)), np.array(p.data, copy=True)])


def new_kind_of_data(h, rng):
    h.life.model.astype(some(rng, [np.float32, np.float64]))


def ties(h, rng):
    layers = [m for m in h.life.model.modules() if isinstance(m, nn.Linear) and m.weight.shape == (WIDTH, WIDTH)]
    if layers:
        some(rng, layers).weight = some(rng, layers).weight


def replaces_buffer(h, rng):
    owners = [(m, n) for m in h.life.model.modules() for n, b in m.named_buffers() if "." not in n and b is not None]
    if owners:
        m, n = some(rng, owners)
        value = np.array(getattr(m, n))
        if rng.random() < 0.5:
            setattr(m, n, (value * 0.5).astype(value.dtype))
        else:
            m.register_buffer(n, (value * 0.5).astype(value.dtype))


def sets_attribute(h, rng):
    m = module(h, rng)
    if isinstance(m, Residual):
        m.gain, m.mixed = some(rng, [0.5, 0.25, 2]), bool(rng.integers(2))
    elif isinstance(m, lives.Branches):
        m.chosen = some(rng, ["a", "b", "missing"])
    elif isinstance(m, lives.Recurrent):
        m.keeps = not m.keeps
    elif isinstance(m, nn.Dropout):
        m.p = some(rng, [0.0, 0.2, 0.9])
    elif isinstance(m, nn.BatchNorm1d):
        m.momentum = some(rng, [0.1, 0.5, None])


def sets_number(h, rng):
    name = some(rng, ["limit", "every", "count", "best"])
    value = {"limit": [1.0, 0.1, 100], "every": [1, 2, 3], "count": [0, 7], "best": [0.1, np.inf]}[name]
    setattr(h.life, name, some(rng, value))


def sets_global(h, rng):
    lives.SCALE = some(rng, [1.0, 2.0, np.float32(0.5), 1])


def new_loss(h, rng):
    def squared(out, y):
        return np.mean((out - np.eye(CLASSES)[y]) ** 2)

    h.life.loss = some(rng, [nn.cross_entropy, nn.CrossEntropyLoss(label_smoothing=0.1), squared])


def hooks_forward(h, rng):
    notes, k = h.life.notes, int(rng.integers(3))

    def hook(m, args, out):
        notes.append(k)
        return out * 0.9 if k else None

    h.life.handles.append(module(h, rng).register_forward_hook(hook))


def hooks_before(h, rng):
    factor = some(rng, [1.1, 0.5])
    h.life.handles.append(module(h, rng).register_forward_pre_hook(lambda m, args: (args[0] * factor,)))


def hooks_backward(h, rng):
    h.life.handles.append(module(h, rng).register_full_backward_hook(lambda m, g_in, g_out: None))


def hooks_tensor(h, rng):
    p = parameter(h, rng)
    if p.requires_grad:
        h.life.handles.append(p.register_hook(lambda g: g * 0.5))


def hooks_step(h, rng):
    notes = h.life.notes
    h.life.handles.append(h.life.optimizer.register_step_post_hook(lambda o, a, k: notes.append("stepped")))


def unhooks(h, rng):
    if h.life.handles:
        h.life.handles.pop().remove()


def goes_on(h, rng):
    h.life.schedule.step()


def evaluates(h, rng):
    return h.evaluate(h.life, batch(rng)[0])


def evaluates_otherwise(h, rng):
    was = h.life.model.training
    h.life.model.eval()
    result = h.evaluate(h.life, batch(rng, 3)[0])
    h.life.model.train(was)
    return result


def trains_plainly(h, rng):
    return h.own[0](h.life, *batch(rng))


def goes_back_plainly(h, rng):
    x, y = batch(rng)
    nn.cross_entropy(h.life.model(x), y).backward()


def steps_alone(h, rng):
    h.life.optimizer.step()


def average_evaluates(h, rng):
    h.life.average.eval()
    return evaluate(h.life, batch(rng)[0]), h.life.average(batch(rng)[0])


def keeps_its_size(h, rng):
    return h.step(h.life, *batch(rng, 3))


def other_layouts(h, rng):
    x, y = batch(rng, 10)
    ways = [(x[::2], y[::2]), (np.asfortranarray(x), y), (x[::-1], y), (x, y.astype(np.int8))]
    return h.step(h.life, *some(rng, ways))


def other_kinds(h, rng):
    x, y = batch(rng)
    return h.step(h.life, *some(rng, [(x.astype(np.float32), y), (ad.tensor(x), y), (x, ad.tensor(y)), ((x > 0), y)]))


def an_input_with_gradient(h, rng):
    x = ad.tensor(batch(rng)[0], requires_grad=True)
    h.step(h.life, x, np.zeros(5, int))
    return x.grad


def raises(h, rng):
    x, y = batch(rng)
    return h.step(h.life, *some(rng, [(x[:, :2], y), (x, y[:2]), (x, y + 9), (None, y)]))


def nan(h, rng):
    x, y = batch(rng)
    x[0, 0] = some(rng, [np.nan, np.inf, 1e200])
    return h.step(h.life, x, y)


def without_gradients(h, rng):
    with ad.no_grad():
        return h.step(h.life, *batch(rng))


def in_inference(h, rng):
    with ad.inference_mode():
        return h.step(h.life, *batch(rng))


def compiled_anew(h, rng):
    h.step = h.compiled(h.own[0])


def other_step(h, rng):
    h.own[0] = some(rng, lives.STEPS)
    h.step = h.compiled(h.own[0])


EVENTS = [
    value
    for name, value in list(vars().items())
    if hasattr(value, "__code__")
    and value.__code__.co_varnames[:2] == ("h", "rng")
    and name[-5:] not in ("odule", "meter")
]


def history(seed, compiled, events):
    """Each point of a history: what was done, and what was seen after it."""
    lives.SCALE = 1.0
    h = lives.History(seed, compiled)
    rng = np.random.default_rng(seed + 2)
    for k in range(events):
        for _ in range(rng.integers(1, 4)):
            data = batch(rng)
            yield f"{k}: a step", h.seen(lambda h, data=data: h.step(h.life, *data))
        event = some(rng, EVENTS)
        state = int(rng.integers(1 << 30))
        does = lambda h, event=event, state=state: event(h, np.random.default_rng(state))
        yield f"{k}: {event.__name__}", h.seen(does)
    for _ in range(2):
        data = batch(rng)
        yield "the last: a step", h.seen(lambda h, data=data: h.step(h.life, *data))
