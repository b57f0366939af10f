"""Training as people do it, compiled and as it is: values, parameters, gradients and optimisers' state are alike."""

from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim

RNG = np.random.default_rng(0)
X, Y, T = RNG.normal(size=(12, 5)), RNG.integers(0, 3, 12), RNG.normal(size=(12, 3))


def network(seed=0, drop=0.0):
    rng = np.random.default_rng(seed)
    return nn.Sequential(nn.Linear(5, 4, rng=rng), nn.Tanh(), nn.Dropout(drop, rng=rng), nn.Linear(4, 3, rng=rng))


def ways(f):
    return sum(map(len, f._specializations.values()))


def stepping(compiled, model, optimizer):
    @compiled
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_parameters_that_are_frozen_and_thawed(both):
    def story(compiled):
        model = network()
        adam = optim.Adam(model.parameters(), lr=0.05)
        step = stepping(compiled, model, adam)
        for frozen in (False, True, True, False, True, False):
            model[0].requires_grad_(not frozen)
            yield step(X, Y), model, adam

    (step,) = both(story)
    assert ways(step) == 2


def test_a_loss_alone_of_parameters_that_are_frozen_and_thawed(both):
    def story(compiled):
        model = network()
        loss = compiled(lambda x, y: nn.cross_entropy(model(x), y))
        for k in range(6):
            model[3].requires_grad_(k % 3 != 1)
            loss(X, Y).backward()
            yield (model,)

    (loss,) = both(story)
    assert ways(loss) == 2


def test_a_judge_that_is_frozen_for_a_while_inside(both):
    def story(compiled):
        maker, judge = network(), nn.Linear(3, 1, rng=2)
        sgd = optim.SGD(maker.parameters(), lr=0.1)

        @compiled
        def step(x):
            judge.requires_grad_(False)
            sgd.zero_grad()
            loss = np.mean(judge(maker(x)) ** 2)
            loss.backward()
            sgd.step()
            judge.requires_grad_(True)
            return loss

        for _ in range(3):
            np.sum(judge(T)).backward()
            yield step(X), maker, judge

    (step,) = both(story)
    assert ways(step) == 1


def test_a_function_that_freezes(both):
    def story(compiled):
        model = network()

        @compiled
        def freeze(x):
            model[0].requires_grad_(False)
            np.sum(model(x)).backward()

        for _ in range(3):
            freeze(X)
            yield model, np.array([p.requires_grad for p in model.parameters()])

    both(story)


@pytest.mark.parametrize("make", [optim.Adam, partial(optim.SGD, momentum=0.9), optim.AdamW])
def test_optimisers_that_go_back(both, make):
    def story(compiled):
        model = network()
        optimizer = make(model.parameters(), lr=0.05)
        step = stepping(compiled, model, optimizer)
        fresh = optimizer.state_dict()
        yield step(X, Y), model
        kept = model.state_dict(), optimizer.state_dict()
        for state in (kept[1], fresh, kept[1]):
            for _ in range(2):
                yield step(X, Y), model, optimizer
            model.load_state_dict(kept[0])
            optimizer.load_state_dict(state)
        yield step(X, Y), model, optimizer

    (step,) = both(story)
    assert ways(step) == 1


@pytest.mark.parametrize("make", [optim.Adam, partial(optim.SGD, momentum=0.9), optim.AdamW])
def test_parameters_without_axes(both, make):
    def story(compiled):
        scale = nn.Parameter(np.array(2.0))
        optimizer = make([scale], lr=0.1)

        @compiled
        def step(x):
            optimizer.zero_grad()
            loss = (scale * x - 3) ** 2
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(4):
            yield step(1.0), scale, optimizer

    both(story)


def test_arrays_without_axes_are_written_more_than_once(both):
    def f(total, x):
        total *= 0.5
        total += x
        total -= 1.0
        return total * 2

    def story(compiled):
        g = compiled(f)
        mine = np.array(4.0)
        for k in range(3):
            yield g(mine, float(k)), mine

    both(story)


def test_anomalies_are_found_in_compiled_steps(both):
    found = []

    def story(compiled):
        w = ad.tensor([1.0, 0.0], requires_grad=True)

        @compiled
        def f(x):
            w.zero_grad()
            np.sum(np.sqrt(w) * x).backward()

        f(np.ones(2))
        f(np.ones(2))
        with pytest.raises(ad.AnomalyError) as caught, ad.detect_anomaly():
            f(np.zeros(2))
        found.append(str(caught.value).splitlines()[0])
        yield ()

    with np.errstate(all="ignore"):
        both(story)
    assert found[0] == found[1]


def test_pure_adam_is_one_program(both):
    def story(compiled):
        rule = optim.functional.adam(0.1)

        @compiled
        def step(w, state):
            return rule.update(w, ad.grad(lambda w: np.mean((X @ w - T) ** 2))(w), state)

        w = np.zeros((5, 3))
        state = rule.init(w)
        for _ in range(5):
            w, state = step(w, state)
            yield ad.tensor(w), ad.tensor(state[0]), ad.tensor(state[1][0])

    (step,) = both(story)
    assert ways(step) <= 2


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_pythons_numbers_stay_pythons(backend):
    def f(rate, x):
        return rate * 0.9, 2.5, 3, True, x * rate, np.sum(x) * rate

    compiled = ad.compile(f, wait=True, backend=backend)
    x = np.ones(3, np.float32)
    for rate in (1.0, 0.5, 0.25):
        expected, found = f(rate, x), compiled(rate, x)
        assert [type(a) for a in found] == [type(a) for a in expected]
        assert [float(np.sum(a)) for a in found] == [float(np.sum(a)) for a in expected]
        assert (found[0] * x).dtype == np.float32


def test_groups_that_come_and_go(both):
    def story(compiled):
        model = network()
        adam = optim.Adam(model[3].parameters(), lr=0.05)
        step = stepping(compiled, model, adam)
        yield step(X, Y), model
        yield step(X, Y), model
        adam.add_param_group({"params": list(model[0].parameters()), "lr": 0.01})
        yield step(X, Y), model
        yield step(X, Y), model, adam
        adam.param_groups.pop()
        yield step(X, Y), model

    both(story)


def test_momentum_that_is_switched_on_later(both):
    def story(compiled):
        model = network()
        sgd = optim.SGD(model.parameters(), lr=0.1)
        step = stepping(compiled, model, sgd)
        for momentum in (0.0, 0.0, 0.9, 0.5, 0.0, 0.9):
            sgd.param_groups[0]["momentum"] = momentum
            yield step(X, Y), model

    (step,) = both(story)
    assert ways(step) == 2


class Lion(optim.Optimizer):
    """An optimiser whose first step makes its state."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def update(self, data, grad, state, group, scratch):
        if "mean" not in state:
            state["mean"] = np.zeros_like(data)
        data -= group["lr"] * np.sign(0.9 * state["mean"] + 0.1 * grad)
        state["mean"] = 0.99 * state["mean"] + 0.01 * grad


def test_an_optimiser_that_makes_its_state_late(both):
    def story(compiled):
        model = network()
        lion = Lion(model.parameters(), 0.01)
        step = stepping(compiled, model, lion)
        for _ in range(5):
            yield step(X, Y), model, lion

    (step,) = both(story)
    assert ways(step) == 2  # without the state, and with it


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_loss_whose_parameters_were_written_since(backend):
    model = network()
    sgd = optim.SGD(model.parameters(), lr=0.1)
    step = stepping(partial(ad.compile, wait=True, backend=backend), model, sgd)
    plain = stepping(lambda f: f, model, sgd)
    with pytest.raises(ad.InPlaceError):
        plain(X, Y).backward()
    for _ in range(3):
        loss = step(X, Y)
        assert loss.requires_grad
        assert not loss.is_leaf
        with pytest.raises(ad.InPlaceError, match="written in place"):
            loss.backward()
    assert step._latest.back is None  # nothing is kept for a backward pass
    assert backend == "numpy" or step._directs


def test_parameters_written_between_a_loss_and_its_way_back(both):
    def story(compiled):
        model = network()
        sgd = optim.SGD(model.parameters(), lr=0.1)

        @compiled
        def late(x, y):
            sgd.zero_grad()
            loss, other = nn.cross_entropy(model(x), y), np.sum(model[3].weight)
            other.backward()
            sgd.step()
            loss.backward()

        for _ in range(2):
            with pytest.raises(ad.InPlaceError, match="optimiser"):
                late(X, Y)
            yield (model,)

    both(story)


def test_a_loss_that_can_still_go_back(both):
    def story(compiled):
        layer = nn.Linear(5, 3, rng=0)
        sgd = optim.SGD(layer.parameters(), lr=0.1)
        step = stepping(compiled, layer, sgd)  # the gradient of one layer needs none of its parameters
        for _ in range(3):
            step(X, Y).backward()
            yield (layer,)

    both(story)


def test_losses_taken_out_as_numbers(both):
    def story(compiled):
        model = network()
        sgd = optim.SGD(model.parameters(), lr=0.3)

        @compiled
        def step(x, y):
            sgd.zero_grad()
            loss = nn.cross_entropy(model(x), y)
            (loss * (1.0 + loss.item())).backward()  # a factor without a history
            sgd.step()
            return {"loss": loss.item(), "small": loss.detach().astype(np.float32).item() * 2}

        for _ in range(4):
            found = step(X, Y)
            assert [type(x) for x in found.values()] == [float, float]
            yield *map(np.array, [found["loss"], np.float32(found["small"])]), model

    (step,) = both(story)
    assert ways(step) == 1


def test_numbers_taken_out_have_the_derivative_that_they_have_in_the_program():
    def f(x):
        return np.sum(x) * np.sum(x).item()

    graph, x = ad.capture(f, np.ones(2)), np.array([1.0, 2.0])
    np.testing.assert_array_equal(ad.grad(f)(x), [6.0, 6.0])
    np.testing.assert_array_equal(ad.grad(graph)(x), [6.0, 6.0])
    np.testing.assert_array_equal(graph(x), 9.0)


def test_chosen_rows_after_a_step_of_others(both):
    """A pass over nodes that are older than a write elsewhere gets the index as it was saved."""

    def story(compiled):
        w, v = (ad.tensor(np.arange(12.0).reshape(4, 3), requires_grad=True) for _ in range(2))
        sgd = optim.SGD([v], lr=0.1)

        @compiled
        def step(x):
            w.zero_grad()
            v.zero_grad()
            np.sum(v * x).backward()
            loss = np.sum((w * x)[np.array([1, 3])] ** 2)
            sgd.step()
            loss.backward()
            return loss.detach()

        for _ in range(2):
            yield step(np.ones(3)), w, v

    both(story)


def test_arrays_that_are_put_elsewhere_in_containers(both):
    def story(compiled):
        state = {"w": np.zeros((5, 3)), "v": np.zeros((5, 3))}
        pair = [np.zeros(3), np.ones(3)]

        @compiled
        def step(x, y):
            loss, g = ad.value_and_grad(lambda w: nn.cross_entropy(x @ w, y))(state["w"])
            state["v"] = 0.9 * state["v"] + g
            state["w"] = state["w"] - 0.1 * state["v"]
            return loss

        @compiled
        def turn(x):
            pair[0], pair[1] = pair[1] + x, pair[0] * x

        for k in range(3):
            step(X, Y)
            turn(float(k + 1))
            arrays = [*state.values(), *pair]
            assert all(type(x) is np.ndarray for x in arrays)
            yield map(ad.tensor, arrays)

    both(story)


@pytest.mark.parametrize("gives", ["gradients", "a gradient's array", "parameters", "views"])
def test_what_a_step_gives_of_its_state_costs_it_nothing(gives):
    model = network()
    sgd, plain = optim.SGD(model.parameters(), lr=0.05), network()
    other = optim.SGD(plain.parameters(), lr=0.05)

    def step_of(model, sgd):
        def step(x, y):
            sgd.zero_grad()
            nn.cross_entropy(model(x), y).backward(retain_graph=False)
            sgd.step()
            if gives == "gradients":
                return [p.grad for p in model.parameters()]
            if gives == "a gradient's array":
                return [model[0].weight.grad.data, model[0].weight.grad]
            return list(model.parameters()) if gives == "parameters" else [p.data[1:] for p in model.parameters()]

        return step

    step, as_it_is = ad.compile(step_of(model, sgd), wait=True), step_of(plain, other)
    for _ in range(4):
        found, expected = step(X, Y), as_it_is(X, Y)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(a.data), np.asarray(b.data), rtol=1e-12)
    ((trace,),) = step._specializations.values()
    assert trace.back is None
    assert step._directs
    if gives == "a gradient's array":
        assert found[0] is model[0].weight.grad.held
        return
    assert len(trace.runner.execution.into) >= 4  # the parameters are written where they are
    for p, x in zip(model.parameters(), found, strict=True):
        assert x is p.grad if gives == "gradients" else x is p if gives == "parameters" else np.shares_memory(x, p.data)


def test_a_guard_asks_a_product_instead_of_its_larger_sides():
    model = nn.Sequential(nn.Linear(300, 40, rng=0), nn.ReLU(), nn.Linear(40, 3, rng=1), nn.ReLU(), nn.Linear(3, 3))
    x = RNG.normal(size=(12, 300))

    def step(x, y):
        model.zero_grad()
        nn.cross_entropy(model(x), y).backward()
        return [p.grad for p in model.parameters()]

    compiled = ad.compile(step, wait=True)

    def alike():
        with np.errstate(invalid="ignore"):
            found, expected = [np.array(g.data) for g in compiled(x, Y)], step(x, Y)
        return all(np.allclose(a, np.asarray(b.data), equal_nan=True) for a, b in zip(found, expected, strict=True))

    assert alike()
    assert alike()
    assert "isfinite(0.weight)" not in compiled.explain()  # which goes into a product that is asked
    model[0].weight.data[0, 0] = np.inf  # in both programs, what is left out stays so
    assert alike()
    model[0].weight.data[0, 0] = 1.0
    assert alike()


def test_turns_with_large_products_are_taken_one_at_a_time():
    xs, w = RNG.normal(size=(120, 32, 40)), RNG.normal(size=(40, 40)) / 7

    def last(w, xs):
        h = np.zeros((32, 40))
        for x in xs:
            h = np.tanh(x + h @ w)
        return np.sum(h * h)

    compiled = ad.compile(ad.grad(last), wait=True)
    for _ in range(3):
        np.testing.assert_allclose(compiled(w, xs), ad.grad(last)(w, xs), rtol=1e-9, atol=1e-12)
    assert "one loop" in compiled.explain()
    assert "at a time" not in compiled.explain()
