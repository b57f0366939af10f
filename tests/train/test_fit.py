import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.data import Normalisation, digits, split
from adjoint.train import Classifier, History, Step, fit, logits_of
from adjoint.train.metrics import accuracy


def line(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Points of a plane, and on which side of a line they lie."""
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, (x[:, 0] > x[:, 1]).astype(int)


def learn(model: nn.Module, lr: float = 0.5, **options: Any) -> History:
    x, y = line()
    options = {"epochs": 3, "batch_size": 16, "rng": np.random.default_rng(1), **options}
    return fit(model, optim.SGD(model.parameters(), lr=lr), (x[:90], y[:90]), (x[90:], y[90:]), **options)


def test_the_loss_falls_and_the_line_is_found() -> None:
    history = learn(nn.Linear(2, 2, rng=0), epochs=6)
    assert [epoch.number for epoch in history.epochs] == [1, 2, 3, 4, 5, 6]
    assert history.epochs[-1].loss < history.epochs[0].loss / 2
    assert history.epochs[-1].validation_accuracy > 0.9
    assert not history.interrupted


def test_the_learning_rate_falls_along_a_cosine_and_comes_back() -> None:
    x, y = line()
    model = nn.Linear(2, 2, rng=0)
    sgd = optim.SGD(model.parameters(), lr=0.5)
    rates = []
    fit(model, sgd, (x, y), (x, y), epochs=2, batch_size=60, rng=np.random.default_rng(0),
        on_step=lambda _: rates.append(sgd.lr))  # fmt: skip
    np.testing.assert_allclose(rates, 0.25 * (1 + np.cos(np.pi * np.arange(4) / 4)))
    assert sgd.lr == 0.5


def test_one_full_batch_step_is_gradient_descent() -> None:
    x, y = line(20)
    model = nn.Linear(2, 2, rng=0)
    weight, bias = (parameter.numpy().copy() for parameter in model.parameters())
    fit(model, optim.SGD(model.parameters(), lr=0.1), (x, y), (x, y), epochs=1, batch_size=20,
        rng=np.random.default_rng(0))  # fmt: skip
    logits = x @ weight.T + bias
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    error = (chances - np.eye(2)[y]) / len(y)
    np.testing.assert_allclose(model.weight.numpy(), weight - 0.1 * error.T @ x, rtol=1e-10)


def test_the_best_weights_are_those_of_the_best_epoch() -> None:
    states: list[dict[str, np.ndarray]] = []
    model = nn.Linear(2, 2, rng=0)
    history = learn(model, lr=30.0, epochs=5, on_epoch=lambda _: states.append(model.state_dict()))
    best = min(history.epochs, key=lambda epoch: epoch.validation_loss)
    assert history.best is not None
    assert history.best.validation_loss == best.validation_loss
    for name, value in states[history.best.number - 1].items():
        np.testing.assert_array_equal(history.best_state[name], value)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(history.last_state[name], value)


def test_steps_report_running_means_and_every_example() -> None:
    steps: list[Step] = []
    history = learn(nn.Linear(2, 2, rng=0), epochs=2, on_step=steps.append)
    assert [step.done for step in steps] == list(range(1, 13))
    assert {step.total for step in steps} == {12}
    assert [step.examples for step in steps[:6]] == [16, 32, 48, 64, 80, 90]
    assert steps[5].loss == history.epochs[0].loss
    assert steps[5].accuracy == history.epochs[0].accuracy


def test_reported_losses_are_without_smoothing() -> None:
    x, y = line(20)
    model = nn.Linear(2, 2, rng=0)
    before = nn.cross_entropy(logits_of(model, x), y)
    history = fit(model, optim.SGD(model.parameters(), lr=0.1), (x, y), (x, y), epochs=1, batch_size=20,
                  rng=np.random.default_rng(0), label_smoothing=0.3)  # fmt: skip
    np.testing.assert_allclose(history.epochs[0].loss, before)


def test_seeds_decide_everything() -> None:
    first, second = (learn(nn.Linear(2, 2, rng=0)) for _ in range(2))
    other = learn(nn.Linear(2, 2, rng=0), rng=np.random.default_rng(2))
    assert [e.loss for e in first.epochs] == [e.loss for e in second.epochs]
    assert [e.loss for e in first.epochs] != [e.loss for e in other.epochs]


def test_examples_are_augmented_in_training_alone() -> None:
    seen: list[int] = []

    def augment(x: np.ndarray) -> np.ndarray:
        seen.append(len(x))
        return x

    learn(nn.Linear(2, 2, rng=0), epochs=1, augment=augment)
    assert sum(seen) == 90


def test_dropout_is_on_while_learning_and_off_while_validating() -> None:
    class Spy(nn.Module):
        def __init__(self) -> None:
            self.inner, self.modes = nn.Linear(2, 2, rng=0), []

        def forward(self, x: Any) -> Any:
            self.modes.append((self.training, self.inner.training))
            return self.inner(x)

    spy = Spy().eval()
    learn(spy, epochs=2, batch_size=90)
    assert spy.modes == [(True, True), (False, False)] * 2
    assert not spy.training


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("lr", "said"), [(1e200, "became (nan|inf)"), (1e7, "lower learning rate than 1e.07")])
def test_a_diverging_loss_is_told(lr: float, said: str) -> None:
    with pytest.raises(ad.DivergedError, match=said):
        learn(nn.Sequential(nn.Linear(2, 4, rng=0), nn.ReLU(), nn.Linear(4, 2, rng=1)), lr=lr)


def test_a_validation_that_diverges_is_told() -> None:
    x, y = line(20)
    model = nn.Linear(2, 2, rng=0)
    sgd = optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ad.DivergedError, match="validation loss became nan in epoch 1"):
        fit(model, sgd, (x, y), (np.full_like(x, np.nan), y), epochs=1, rng=np.random.default_rng(0))


def test_ctrl_c_ends_training_with_what_was_learned() -> None:
    model = nn.Linear(2, 2, rng=0)

    def interrupt(step: Step) -> None:
        if step.done == 8:
            raise KeyboardInterrupt

    history = learn(model, on_step=interrupt)
    assert history.interrupted
    assert [epoch.number for epoch in history.epochs] == [1]
    assert history.best is history.epochs[0]
    np.testing.assert_array_equal(history.last_state["weight"], model.weight.numpy())
    assert not np.array_equal(history.best_state["weight"], history.last_state["weight"])


def test_ctrl_c_in_the_first_epoch_keeps_the_weights_so_far() -> None:
    ticks = itertools.count()

    def interrupt(_: Step) -> None:
        if next(ticks) == 2:
            raise KeyboardInterrupt

    history = learn(nn.Linear(2, 2, rng=0), on_step=interrupt)
    assert history.interrupted
    assert history.best is None
    np.testing.assert_array_equal(history.best_state["weight"], history.last_state["weight"])


def test_fit_refuses_to_learn_from_nothing() -> None:
    with pytest.raises(ad.ArgumentError, match="epochs=0"):
        learn(nn.Linear(2, 2), epochs=0)


def test_digits_are_learned_in_a_few_epochs() -> None:
    parts = split(digits(), seed=0)
    model = Classifier.for_data(parts.train, hidden=(128,), seed=0)
    assert Normalisation.of(parts.train) == model.normalisation
    history = fit(
        model.network,
        optim.AdamW(model.network.parameters(), lr=3e-3),
        (model.prepared(parts.train.x), parts.train.y),
        (model.prepared(parts.validation.x), parts.validation.y),
        epochs=10,
        rng=np.random.default_rng(0),
    )
    assert history.epochs[-1].validation_accuracy >= 0.93
    assert accuracy(model.probabilities(parts.test.x), parts.test.y) >= 0.95


def digits_curve(compiled: bool, epochs: int = 1, **plan: Any) -> tuple[list[float], History, Classifier]:
    """Losses after each step of a short training on digits; the last batch of an epoch is smaller than the others."""
    parts = split(digits(), seed=0)
    model = Classifier.for_data(parts.train, hidden=(32,), seed=0, **plan)
    losses: list[float] = []
    history = fit(
        model.network,
        optim.AdamW(model.network.parameters(), lr=3e-3),
        (model.prepared(parts.train.x), parts.train.y),
        (model.prepared(parts.validation.x), parts.validation.y),
        epochs=epochs,
        batch_size=64,
        rng=np.random.default_rng(0),
        label_smoothing=0.05,
        compiled=compiled,
        on_step=lambda step: losses.append(step.loss * step.examples),
    )
    return losses, history, model


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-4)])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_compiled_steps_learn_the_same(dtype: str, tolerance: float, dropout: float) -> None:
    plain, history, model = digits_curve(False, dtype=dtype, dropout=dropout)
    compiled, again, other = digits_curve(True, dtype=dtype, dropout=dropout)
    assert len(plain) == 20
    np.testing.assert_allclose(compiled, plain, rtol=tolerance)
    assert again.epochs[0].loss < 0.95 * compiled[0] / 64
    assert again.epochs[0].validation_loss == pytest.approx(history.epochs[0].validation_loss, rel=10 * tolerance)
    assert again.epochs[0].learning_rate == history.epochs[0].learning_rate
    assert not other.network.training
    for name, value in model.network.state_dict().items():
        np.testing.assert_allclose(other.network.state_dict()[name], value, atol=100 * tolerance)


def test_compiled_runs_of_one_seed_are_alike_bit_for_bit() -> None:
    first, second = (digits_curve(True, dropout=0.2) for _ in range(2))
    assert first[0] == second[0]
    for name, value in first[1].last_state.items():
        np.testing.assert_array_equal(second[1].last_state[name], value)


def test_a_compiled_training_goes_on_where_it_was_stopped() -> None:
    def stopped_after(count: int) -> Any:
        def stop(step: Step) -> None:
            if step.done == count:
                raise KeyboardInterrupt

        return stop

    x, y = line()
    results = []
    for compiled in (False, True):
        model = nn.Linear(2, 2, rng=0)
        adam = optim.Adam(model.parameters(), lr=0.1)
        given = {"epochs": 2, "batch_size": 32, "compiled": compiled}
        history = fit(model, adam, (x, y), (x, y), rng=np.random.default_rng(1), on_step=stopped_after(3), **given)
        assert history.interrupted
        assert adam.steps == 3
        weights, state = history.last_state, adam.state_dict()
        model, adam = nn.Linear(2, 2, rng=5), None
        adam = optim.Adam(model.parameters(), lr=0.1)
        model.load_state_dict(weights)
        adam.load_state_dict(state)
        history = fit(model, adam, (x, y), (x, y), rng=np.random.default_rng(2), **given)
        assert adam.steps == 3 + 8
        results.append([epoch.loss for epoch in history.epochs] + model.weight.numpy().ravel().tolist())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-11)


def test_a_model_that_can_not_be_compiled_learns_as_it_is() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.calls = nn.Linear(2, 2, rng=0), []

        def forward(self, x: Any) -> Any:
            self.calls.append(len(x))
            return self.inner(x)

    model = Counting()
    history = learn(model, compiled=True)
    assert sum(model.calls[:6]) == 90
    plain = learn(Counting())
    assert [epoch.loss for epoch in history.epochs] == [epoch.loss for epoch in plain.epochs]


def test_divergence_is_noticed_in_compiled_steps() -> None:
    with pytest.raises(ad.DivergedError, match="diverged"):
        learn(nn.Linear(2, 2, rng=0), lr=1e9, compiled=True)
