from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import adjoint as ad
from adjoint import io
from adjoint.data import Dataset, dataset
from adjoint.train import Classifier


def flowers(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    return dataset(rng.normal([5, -2, 0], [1, 3, 9], (30, 3)), np.array(["rose", "iris", "lily"] * 10), name="flowers")


def pictures() -> Dataset:
    return dataset(np.random.default_rng(0).integers(0, 255, (30, 6, 5)), np.arange(30) % 4)


def test_probabilities_are_those_of_the_formula() -> None:
    data = flowers()
    model = Classifier.for_data(data, hidden=(7,), dtype="float64")
    state = model.network.state_dict()
    x = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
    hidden = np.maximum(x @ state["0.weight"].T + state["0.bias"], 0)
    logits = hidden @ state["3.weight"].T + state["3.bias"]
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.probabilities(data.x), expected, rtol=1e-12)


@pytest.mark.parametrize("hidden", [(), (4,), (8, 6)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("data", [flowers(), pictures()], ids=["table", "pictures"])
def test_a_saved_model_answers_as_before(tmp_path: Path, hidden: tuple[int, ...], dtype: str, data: Dataset) -> None:
    model = Classifier.for_data(data, hidden=hidden, dtype=dtype, seed=3)
    model.save(tmp_path / "m.safetensors")
    loaded = Classifier.load(tmp_path / "m.safetensors")
    assert (loaded.plan, loaded.classes, loaded.picture) == (model.plan, model.classes, model.picture)
    answers = loaded.probabilities(data.x)
    assert answers.dtype == dtype
    np.testing.assert_array_equal(answers, model.probabilities(data.x))


def test_the_file_is_plain_safetensors_by_the_networks_names(tmp_path: Path) -> None:
    model = Classifier.for_data(flowers(), hidden=(4,))
    model.save(tmp_path / "m.safetensors")
    arrays = safetensors.numpy.load_file(tmp_path / "m.safetensors")
    assert {name: a.shape for name, a in arrays.items()} == {
        "0.weight": (4, 3), "0.bias": (4,), "3.weight": (3, 4), "3.bias": (3,)
    }  # fmt: skip


def test_other_weights_may_be_saved(tmp_path: Path) -> None:
    model = Classifier.for_data(flowers(), hidden=())
    state = {name: value + 1 for name, value in model.network.state_dict().items()}
    model.save(tmp_path / "m.safetensors", state)
    np.testing.assert_array_equal(Classifier.load(tmp_path / "m.safetensors").network.state_dict()["0.bias"],
                                  state["0.bias"])  # fmt: skip


def test_seeds_decide_the_first_weights() -> None:
    first, same, other = (Classifier.for_data(flowers(), seed=s).network.state_dict()["0.weight"] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_examples_of_another_size_are_refused() -> None:
    with pytest.raises(ad.ShapeError, match=r"6 x 5 = 30 values; got \(20,\)"):
        Classifier.for_data(pictures()).probabilities(np.zeros((2, 20)))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    with pytest.raises(ad.DataError, match=r"m\.safetensors"):
        Classifier.load(path)
    path.write_bytes(b"no model")
    with pytest.raises(ad.DataError, match=r"m\.safetensors"):
        Classifier.load(path)
    io.save(path, {"0.weight": np.zeros((2, 2))})
    with pytest.raises(ad.DataError, match="not a model that `adjoint train` wrote"):
        Classifier.load(path)
    model = Classifier.for_data(flowers(), hidden=(4,))
    model.save(path, {**model.network.state_dict(), "0.bias": np.zeros(9)})
    with pytest.raises(ad.DataError, match="not a model that `adjoint train` wrote"):
        Classifier.load(path)
