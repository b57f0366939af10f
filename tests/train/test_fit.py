import itertools
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.data import DataLoader, Normalisation, digits, split
from adjoint.train import Callback, Checkpoint, Classifier, History, Step, evaluate, fit, logits_of
from adjoint.train.metrics import accuracy


def line(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Points of a plane, and on which side of a line they lie."""
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, (x[:, 0] > x[:, 1]).astype(int)


class Hear(Callback):
    """Calls a function with each step."""

    def __init__(self, function: Any) -> None:
        self.on_step = function  # type: ignore[method-assign]  # a function is what is to be heard


def learn(model: nn.Module, lr: float = 0.5, **options: Any) -> History:
    x, y = line()
    options = {"epochs": 3, "batch_size": 16, "seed": 1, "scheduler": "cosine", "metrics": ["accuracy"], **options}
    sgd = optim.SGD(model.parameters(), lr=lr)
    return fit(model, (x[:90], y[:90]), optimizer=sgd, validation=(x[90:], y[90:]), **options)


def test_the_loss_falls_and_the_line_is_found() -> None:
    history = learn(nn.Linear(2, 2, rng=0), epochs=6)
    assert history["epoch"] == [1, 2, 3, 4, 5, 6]
    assert history.epochs[-1].loss < history.epochs[0].loss / 2
    assert history["validation_accuracy"][-1] > 0.9
    assert not history.interrupted
    assert not history.stopped


def test_the_learning_rate_falls_along_a_cosine_and_comes_back() -> None:
    x, y = line()
    model = nn.Linear(2, 2, rng=0)
    sgd = optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        history = fit(model, (x, y), optimizer=sgd, epochs=3, batch_size=60, scheduler="cosine")
        expected = 0.25 * (1 + np.cos(np.pi * np.arange(1, 6, 2) / 6))  # of the last step of each epoch
        np.testing.assert_allclose(history["learning_rate"], expected)
        assert sgd.lr == 0.5


def test_one_full_batch_step_is_gradient_descent() -> None:
    x, y = line(20)
    for accumulate, size in ((1, 20), (4, 5), (3, 8)):
        model = nn.Linear(2, 2, rng=0)
        weight, bias = (parameter.numpy().copy() for parameter in model.parameters())
        sgd = optim.SGD(model.parameters(), lr=0.1)
        history = fit(model, (x, y), optimizer=sgd, epochs=1, batch_size=size, accumulate=accumulate)
        logits = x @ weight.T + bias
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        error = (chances - np.eye(2)[y]) / len(y)
        np.testing.assert_allclose(model.weight.numpy(), weight - 0.1 * error.T @ x, rtol=1e-10)
        np.testing.assert_allclose(history["loss"], -np.mean(np.log(chances[range(20), y])))


def test_numbers_and_losses_of_ones_own() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = x @ np.array([[1.0], [-2.0], [0.5]])
    for loss in (None, nn.mse_loss, lambda answers, target: np.mean(np.abs(answers - target))):
        model = nn.Linear(3, 1, rng=0)
        history = fit(
            model, (x, y), loss=loss, optimizer=optim.Adam(model.parameters(), lr=0.05), epochs=40,
            metrics=["mean_absolute_error"], scheduler="cosine", validation=(x[:50], y[:50]),
        )  # fmt: skip
        assert history["validation_mean_absolute_error"][-1] < 0.02


def test_an_array_alone_is_input_and_target_and_models_take_several() -> None:
    x = np.random.default_rng(0).normal(size=(64, 4))
    x[:, 2:] = x[:, :2]
    model = nn.Sequential(nn.Linear(4, 2, rng=0), nn.Linear(2, 4, rng=1))
    history = fit(model, x, optimizer=optim.Adam(model.parameters(), lr=0.02), epochs=60)
    assert history["loss"][-1] < 0.01
    bilinear = nn.Bilinear(2, 2, 1, rng=0)
    target = np.einsum("ni,ni->n", x[:, :2], x[:, 2:])[:, None]
    history = fit(bilinear, (x[:, :2], x[:, 2:], target), optimizer=optim.Adam(bilinear.parameters(), 0.1), epochs=60)
    assert history["loss"][-1] < 0.01


def test_the_best_weights_are_those_of_the_best_epoch() -> None:
    states: list[dict[str, np.ndarray]] = []
    model = nn.Linear(2, 2, rng=0)
    history = learn(model, lr=30.0, epochs=5, callbacks=[lambda _: states.append(model.state_dict())])
    best = min(history.epochs, key=lambda epoch: epoch.validation_loss)
    assert history.best is not None
    assert history.best.validation_loss == best.validation_loss
    for name, value in states[history.best.number - 1].items():
        np.testing.assert_array_equal(history.best_state[name], value)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(history.last_state[name], value)


def test_the_figure_that_is_watched_decides() -> None:
    model = nn.Linear(2, 2, rng=0)
    history = learn(model, lr=30.0, epochs=6, monitor="validation_accuracy")
    assert history.best is not None
    assert history.best.validation_accuracy == max(history["validation_accuracy"])
    smallest = learn(nn.Linear(2, 2, rng=0), lr=30.0, epochs=6, monitor="validation_accuracy", mode="min")
    assert smallest.best is not None
    assert smallest.best.validation_accuracy == min(smallest["validation_accuracy"])


def test_training_ends_early_where_nothing_becomes_better() -> None:
    history = learn(nn.Linear(2, 2, rng=0), lr=0.0, epochs=50, monitor="accuracy", mode="min", patience=3)
    assert (len(history.epochs), history.stopped) == (50, False)  # as good as the best is not worse
    model = nn.Linear(2, 2, rng=0)
    rising = itertools.count()
    metrics = {"rising": lambda answers, y: next(rising)}
    history = learn(model, epochs=50, metrics=metrics, monitor="rising", patience=3)
    assert (len(history.epochs), history.stopped) == (4, True)
    stopped = learn(nn.Linear(2, 2, rng=0), epochs=50, callbacks=[lambda history: len(history.epochs) == 2])
    assert (len(stopped.epochs), stopped.stopped) == (2, True)


def test_steps_report_running_means_and_every_example() -> None:
    steps: list[Step] = []
    history = learn(nn.Linear(2, 2, rng=0), epochs=2, callbacks=[Hear(steps.append)])
    assert [step.done for step in steps] == list(range(1, 13))
    assert {step.total for step in steps} == {12}
    assert [step.examples for step in steps[:6]] == [16, 32, 48, 64, 80, 90]
    assert steps[5].loss == history.epochs[0].loss
    assert steps[5].accuracy == history.epochs[0].accuracy
    with pytest.raises(AttributeError, match="has no figure 'los'; it has loss, accuracy"):
        _ = steps[0].los


def test_schedules_step_as_they_are_made() -> None:
    x, y = line(64)
    for make, expected in (
        (lambda sgd: optim.lr_scheduler.StepLR(sgd, 1, 0.5), [1.0, 0.5, 0.25]),
        (lambda sgd: optim.lr_scheduler.OneCycleLR(sgd, 1.0, total_steps=12, cycle_momentum=False), None),
        (lambda sgd: optim.lr_scheduler.ReduceLROnPlateau(sgd, "max", patience=0), [1.0, 1.0, 0.1]),
    ):
        model = nn.Linear(2, 2, rng=0)
        sgd = optim.SGD(model.parameters(), lr=1.0)
        history = fit(model, (x, y), optimizer=sgd, scheduler=make(sgd), batch_size=16, epochs=3)
        if expected is None:
            assert history["learning_rate"][-1] == pytest.approx(1 / 25e4)
        else:
            np.testing.assert_allclose(history["learning_rate"], expected)


def test_gradients_are_clipped() -> None:
    x, y = line(16)
    for options in ({"clip_norm": 1e-3}, {"clip_value": 1e-4}):
        model = nn.Linear(2, 2, rng=0)
        before = model.weight.numpy().copy()
        fit(model, (1e3 * x, y), optimizer=optim.SGD(model.parameters(), lr=1.0), epochs=1, **options)
        assert 0 < np.abs(model.weight.numpy() - before).max() <= 1.001e-3


def test_values_wait_in_half_precision() -> None:
    x, y = line(64)
    weights = []
    for storage in (None, np.float16):
        model = nn.Sequential(
            nn.Linear(2, 8, rng=0, dtype=np.float32), nn.Tanh(), nn.Linear(8, 2, rng=1, dtype=np.float32)
        )
        fit(
            model, (x.astype(np.float32), y), optimizer=optim.SGD(model.parameters(), lr=0.1), epochs=3, storage=storage
        )
        weights.append(model[0].weight.numpy())
    assert weights[1].dtype == np.float32
    np.testing.assert_allclose(*weights, atol=1e-3)
    assert not np.array_equal(*weights)


def test_seeds_decide_everything() -> None:
    first, second = (learn(nn.Linear(2, 2, rng=0)) for _ in range(2))
    other = learn(nn.Linear(2, 2, rng=0), seed=2)
    assert first["loss"] == second["loss"]
    assert first["loss"] != other["loss"]


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


def test_evaluation_weighs_batches_by_their_examples() -> None:
    x, y = line(10)
    model = nn.Linear(2, 2, rng=0)
    found = evaluate(model, DataLoader((x, y), 4), nn.cross_entropy, {"accuracy": accuracy})
    logits = logits_of(model, x)
    assert found["accuracy"] == pytest.approx(accuracy(logits, y))
    assert found["loss"] == pytest.approx(float(nn.cross_entropy(logits, y)))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("lr", "said"), [(1e200, "became (nan|inf)"), (1e7, "lower learning rate than 1e.07")])
def test_a_diverging_loss_is_told(lr: float, said: str) -> None:
    with pytest.raises(ad.DivergedError, match=said):
        learn(nn.Sequential(nn.Linear(2, 4, rng=0), nn.ReLU(), nn.Linear(4, 2, rng=1)), lr=lr, scheduler=None)


def test_a_validation_that_diverges_is_told() -> None:
    x, y = line(20)
    with pytest.raises(ad.DivergedError, match="validation loss became nan in epoch 1"):
        fit(nn.Linear(2, 2, rng=0), (x, y), validation=(np.full_like(x, np.nan), y), epochs=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": 0}, "epochs=0"),
        ({"accumulate": 0}, "accumulate=0"),
        ({"patience": 0}, "patience=0"),
        ({"save_every": 0}, "save_every=0"),
        ({"batch_size": 0}, "batch_size"),
        ({"scheduler_every": "week"}, "got 'week'"),
        ({"compiled": True, "storage": np.float16}, "not both"),
        ({"resume": True}, "needs the folder"),
        ({"scheduler": "cosinus"}, "got 'cosinus'"),
        ({"metrics": ["acuracy"]}, "accuracy, mean_absolute_error; got 'acuracy'"),
        ({"monitor": "validation_acc"}, "monitor is one of loss, accuracy, validation_loss"),
        ({"mode": "largest"}, '"min" or "max"'),
        ({"loss": lambda answers, y: None}, "got NoneType; a loss function ends with"),
        ({"loss": lambda answers, y: answers}, r"got shape \(16, 2\). Take its mean"),
        ({"loss": lambda answers, y: 1.0}, "depends on the model's parameters; got float"),
        ({"callbacks": [Hear(print)], "folder": "", "resume": False, "epochs": -1}, "epochs=-1"),
    ],
)
def test_wrong_settings_are_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ad.ArgumentError, match=said):
        learn(nn.Linear(2, 2, rng=0), **options)


def test_wrong_data_are_told() -> None:
    x, y = line(20)
    with pytest.raises(ad.ArgumentError, match="no batches"):
        fit(nn.Linear(2, 2), DataLoader((x, y), 32, drop_last=True))
    with pytest.raises(ad.ArgumentError, match="a dict of x, y"):
        fit(nn.Linear(2, 2), {"x": x, "y": y})
    with pytest.raises(ad.ArgumentError, match="has its own batch_size"):
        fit(nn.Linear(2, 2), DataLoader((x, y), 4), batch_size=8)
    with pytest.raises(ad.ArgumentError, match="these are <U1"):
        fit(nn.Linear(2, 2), (x, np.where(y, "a", "b")))
    with pytest.raises(ad.ArgumentError, match=r"these are bool. Give y.astype\(int\)"):
        fit(nn.Linear(2, 2), (x, y > 0))
    with pytest.raises(ad.ArgumentError, match=r"as in adjoint.optim.SGD\(model.parameters\(\), lr=0.1\); got <class"):
        fit(nn.Linear(2, 2), (x, y), optimizer=optim.SGD)
    other = optim.SGD(nn.Linear(2, 2).parameters())
    with pytest.raises(ad.ArgumentError, match="changes another optimizer"):
        fit(nn.Linear(2, 2), (x, y), scheduler=optim.lr_scheduler.StepLR(other, 1))


def test_ctrl_c_ends_training_with_what_was_learned() -> None:
    model = nn.Linear(2, 2, rng=0)

    def interrupt(step: Step) -> None:
        if step.done == 8:
            raise KeyboardInterrupt

    history = learn(model, callbacks=[Hear(interrupt)])
    assert history.interrupted
    assert [epoch.number for epoch in history.epochs] == [1]
    assert history.best is history.epochs[0]
    np.testing.assert_array_equal(history.last_state["weight"], model.weight.numpy())
    assert not np.array_equal(history.best_state["weight"], history.last_state["weight"])


def test_the_first_ctrl_c_waits_for_the_step_and_the_second_one_does_not() -> None:
    steps: list[int] = []

    class Pressed(nn.Linear):
        presses = 1

        def forward(self, x: Any) -> Any:
            if len(steps) == 2:
                for _ in range(self.presses):
                    os.kill(os.getpid(), signal.SIGINT)
            return super().forward(x)

    for presses, done in ((1, 3), (2, 2)):
        steps.clear()
        model = Pressed(2, 2, rng=0)
        model.presses = presses
        history = learn(model, callbacks=[Hear(lambda step: steps.append(step.done))])
        assert history.interrupted
        assert len(steps) == done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_digits_are_learned_in_a_few_epochs() -> None:
    parts = split(digits(), seed=0)
    model = Classifier.for_data(parts.train, hidden=(128,), seed=0)
    assert Normalisation.of(parts.train) == model.normalisation
    history = fit(
        model.network,
        (model.prepared(parts.train.x), parts.train.y),
        optimizer=optim.AdamW(model.network.parameters(), lr=3e-3),
        scheduler="cosine",
        metrics=["accuracy"],
        validation=(model.prepared(parts.validation.x), parts.validation.y),
        epochs=10,
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
        (model.prepared(parts.train.x), parts.train.y),
        optimizer=optim.AdamW(model.network.parameters(), lr=3e-3),
        scheduler="cosine",
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        validation=(model.prepared(parts.validation.x), parts.validation.y),
        epochs=epochs,
        batch_size=64,
        compiled=compiled,
        callbacks=[Hear(lambda step: losses.append(step.loss * step.examples))],
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
    assert history["loss"] == plain["loss"]


def test_divergence_is_noticed_in_compiled_steps() -> None:
    with pytest.raises(ad.DivergedError, match="diverged"):
        learn(nn.Linear(2, 2, rng=0), lr=1e9, compiled=True)


# -- Runs that go on ------------------------------------------------------------------------------


def noisy() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 8, rng=0), nn.ReLU(), nn.Dropout(0.3, rng=1), nn.Linear(8, 2, rng=2))


def stop_at(step: int) -> Hear:
    def stop(now: Step) -> None:
        if now.done == step:
            raise KeyboardInterrupt

    return Hear(stop)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("accumulate", [1, 4])
def test_a_stopped_run_ends_with_the_bits_of_one_that_was_not(tmp_path: Path, compiled: bool, accumulate: int) -> None:
    options = {"compiled": compiled, "accumulate": accumulate, "epochs": 3}
    steps: list[int] = []
    whole = learn(noisy(), **options, callbacks=[Hear(lambda step: steps.append(step.done))])
    for stop in steps if accumulate == 4 else (1, 5, 6, 7, 17):
        folder = tmp_path / str(stop)
        stopped = learn(noisy(), **options, folder=folder, callbacks=[stop_at(stop)])
        assert stopped.interrupted
        history = learn(noisy(), **options, folder=folder, resume=True)
        for name in ("loss", "accuracy", "validation_loss", "learning_rate"):
            assert history[name] == whole[name], name
        for state, other in ((history.last_state, whole.last_state), (history.best_state, whole.best_state)):
            for name, value in state.items():
                np.testing.assert_array_equal(value, other[name])
        assert {path.name for path in folder.iterdir()} == {
            "checkpoint.safetensors", "model.safetensors", "last.safetensors", "metrics.csv",
        }  # fmt: skip


def test_a_finished_run_is_gone_on_with_and_not_overwritten(tmp_path: Path) -> None:
    first = learn(nn.Linear(2, 2, rng=0), folder=tmp_path, scheduler=None, epochs=2)
    again = learn(nn.Linear(2, 2, rng=0), folder=tmp_path, scheduler=None, epochs=2, resume=True)
    assert again["loss"] == first["loss"]
    longer = learn(nn.Linear(2, 2, rng=0), folder=tmp_path, scheduler=None, epochs=4, resume=True)
    assert longer["loss"] == learn(nn.Linear(2, 2, rng=0), scheduler=None, epochs=4)["loss"]
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    with pytest.raises(ad.ArgumentError, match=r"holds a run\. resume=True goes on"):
        learn(nn.Linear(2, 2, rng=0), folder=tmp_path)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_a_run_that_a_callback_stopped_stays_stopped(tmp_path: Path) -> None:
    stop = Hear(lambda step: step.done == 8)
    first = learn(noisy(), folder=tmp_path, callbacks=[stop])
    again = learn(noisy(), folder=tmp_path, resume=True)
    assert first.stopped
    assert again.stopped
    for name, value in first.last_state.items():
        np.testing.assert_array_equal(again.last_state[name], value)


def test_callbacks_are_gone_on_with(tmp_path: Path) -> None:
    class Count(Callback):
        steps = 0

        def on_step(self, step: Step) -> None:
            self.steps += 1

        def state_dict(self) -> dict[str, Any]:
            return {"steps": self.steps}

        def load_state_dict(self, state: Any) -> None:
            self.steps = state["steps"]

    learn(noisy(), folder=tmp_path, callbacks=[Count(), stop_at(7)])
    count = Count()
    learn(noisy(), folder=tmp_path, callbacks=[count, stop_at(999)], resume=True)
    assert count.steps == 18


def test_every_generator_is_kept(tmp_path: Path) -> None:
    own = np.random.default_rng(5)
    model = nn.Sequential(nn.Dropout(0.5, rng=1))

    class Data:
        def __init__(self) -> None:
            self.rng = np.random.Generator(np.random.MT19937(3))

        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> float:
            return float(self.rng.normal())

    data = Data()
    loss = lambda answers: own.normal() + np.mean(answers)
    checkpoint = Checkpoint(tmp_path / "c", model=model, loader=DataLoader(data, 2), also=loss)
    draws = lambda: [own.normal(), model(np.ones(4)).tolist(), data[0], np.random.rand(), __import__("random").random()]  # noqa: NPY002 - kept too
    checkpoint.save(text="a", numbers=[1, 2.5], nested={"x": np.arange(3)})
    first = draws()
    extra = checkpoint.load()
    assert draws() == first
    assert extra["numbers"] == [1, 2.5]
    np.testing.assert_array_equal(extra["nested"]["x"], np.arange(3))


def test_checkpoints_of_other_programs_are_refused(tmp_path: Path) -> None:
    model, sgd = nn.Linear(2, 2), optim.SGD(nn.Linear(2, 2).parameters())
    Checkpoint(tmp_path / "c", model=model).save()
    with pytest.raises(ad.ArgumentError, match="holds the parts model; this program has model, optimizer"):
        Checkpoint(tmp_path / "c", model=model, optimizer=sgd).load()
    with pytest.raises(ad.ArgumentError, match=r"states of 1 random generators.* use 2"):
        Checkpoint(tmp_path / "c", model=model, also=np.random.default_rng(0)).load()
    with pytest.raises(ad.ArgumentError, match="step is int, which has no state_dict"):
        Checkpoint(tmp_path / "c", step=3)
    ad.io.save(tmp_path / "w", model.state_dict())
    with pytest.raises(ad.DataError, match="not a checkpoint"):
        Checkpoint(tmp_path / "w", model=model).load()


@pytest.mark.parametrize("name", optim.lr_scheduler.__dict__.get("__all__", ["MultiStepLR", "OneCycleLR"]))
def test_schedules_are_gone_on_with(tmp_path: Path, name: str) -> None:
    model = nn.Linear(2, 2)

    def make() -> Any:
        sgd = optim.SGD(model.parameters(), lr=np.float64(0.1))
        if name == "MultiStepLR":
            return sgd, optim.lr_scheduler.MultiStepLR(sgd, [2, 4, 4])
        return sgd, optim.lr_scheduler.OneCycleLR(sgd, 0.5, total_steps=10)

    (whole, schedule), (stopped, other) = make(), make()
    for k in range(8):
        schedule.step()
        if k < 3:
            other.step()
        elif k == 3:
            Checkpoint(tmp_path / "c", optimizer=stopped, scheduler=other).save()
            stopped, other = make()
            Checkpoint(tmp_path / "c", optimizer=stopped, scheduler=other).load()
        if k >= 3:
            other.step()
            assert stopped.lr == whole.lr
