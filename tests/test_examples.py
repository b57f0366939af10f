"""Every example runs, small, and its numbers are right; its function is plain NumPy."""

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_gaussian_mixture():
    result = load("gaussian_mixture")["main"](n=200, steps=60)
    assert_allclose(result["by_adjoint"], result["by_hand"], atol=1e-12)
    assert_allclose(result["fitted"], result["true"], atol=0.2)


def test_black_scholes():
    greeks = load("black_scholes")["main"](n=4)
    assert set(greeks) == {"delta", "theta", "rho", "vega", "gamma", "vanna"}
    for by_adjoint, closed_form in greeks.values():
        assert by_adjoint.shape == (4,)
        assert_allclose(by_adjoint, closed_form, rtol=1e-11)


def test_kalman_filter():
    example = load("kalman_filter")
    result = example["main"](n=120)
    assert_allclose(result["slope"], 0, atol=1e-2)
    assert np.all(np.abs(result["fitted"] - result["true"]) < 3 * result["error"])

    at = np.array([0.3, -0.2])
    loss = lambda log_noise: example["negative_log_likelihood"](log_noise, result["measurements"])
    assert_allclose(ad.grad(loss)(at), differences(loss, at), rtol=1e-6)


def test_pendulum_rk4():
    example = load("pendulum_rk4")
    result = example["main"](steps=40)
    assert_allclose(result["fitted"], result["true"], atol=2e-3)
    at = result["true"] + [0.1, -0.1]
    assert_allclose(ad.grad(result["misfit"])(at), differences(result["misfit"], at), rtol=1e-6)


def test_mlp_regression():
    result = load("mlp_regression")["main"](steps=300)
    assert result["last"] < result["first"] / 100
    assert result["unseen"] < 0.15


def test_inverse_heat():
    result = load("inverse_heat")["main"](n=24)
    assert_allclose(result["found"], result["exact"], atol=1e-3)
    assert np.sqrt(np.mean((result["found"] - result["true"]) ** 2)) < 0.15


def test_epidemic():
    result = load("epidemic")["main"](last=30)
    assert np.all(np.abs(result["fitted"] - result["true"]) < 3 * result["errors"])
    assert np.all(result["errors"] < 0.01)
    at = np.log(result["true"]) + np.array([0.1, -0.1])
    assert_allclose(ad.grad(result["loss"])(at), differences(result["loss"], at), rtol=1e-4)


def test_fit_ode():
    example = load("fit_ode")
    result = example["main"]()
    published = {"birth": 0.55, "hunt": 0.028, "feed": 0.024, "death": 0.80}  # C. Howard, 2009, rounded
    for name, rate in published.items():
        assert abs(result["rates"][name] - rate) < result["errors"]["rates"][name] * rate
    fit = result["fit"]
    assert fit.forward <= fit.nfev + 1
    shifted = lambda v: example["populations"]({"rates": fit.x["rates"], "start": v}, np.arange(4.0))[:, -1]
    at = fit.x["start"]
    assert_allclose(ad.jacobian(shifted)(at), differences(shifted, at).T, rtol=1e-3)  # the solver chooses other steps


def test_learn_learning_rates():
    result = load("learn_learning_rates")["main"](rounds=30)
    before, after = result["new"]
    assert after < before / 3
    objective, settings = result["objective"], result["settings"]
    along = lambda m: objective(settings | {"momentum": m})
    at = settings["momentum"]
    assert_allclose(ad.grad(objective)(settings)["momentum"], (along(at + 1e-6) - along(at - 1e-6)) / 2e-6, rtol=1e-4)


def test_conductivity():
    example = load("conductivity")
    result = example["main"](n=16)
    assert result["after"] < result["before"] / 4
    assert 0.3 < result["misfits"][-1] < 2 < result["misfits"][0]
    u, log_k, source = np.linspace(0, 1, 256), result["found"], result["source"]
    for argument, at in ((0, u), (1, log_k)):
        along = lambda v, argument=argument: example["imbalance"](*((v, log_k) if argument == 0 else (u, v)), source)
        v = np.cos(np.arange(256.0))
        got = ad.sparse_jacobian(example["imbalance"], argument)(u, log_k, source) @ v
        assert_allclose(got, (along(at + 1e-6 * v) - along(at - 1e-6 * v)) / 2e-6, atol=1e-7)


def test_digits_resnet():
    result = load("digits_resnet")["main"](epochs=5)
    assert result["accuracy"] > 0.97
    assert sum(p.ndim > 1 for p in result["model"].parameters()) == 8 + 2  # eight layers, and two shortcuts' products


def test_character_gpt():
    result = load("character_gpt")["main"]()
    assert result["history"]["accuracy"][-1] > 0.94
    lines = result["written"].splitlines()
    assert len(lines) > 4
    right = sum(line in result["text"].splitlines() for line in lines[:-1])  # the last one is not whole
    assert right >= len(lines) - 2


def test_lstm_series():
    errors = load("lstm_series")["main"]()["errors"]
    assert errors["LSTM"] < 0.8 * errors["linear"] < 0.8 * errors["as before"]
    series = load("lstm_series")["mackey_glass"](300)
    assert 0.2 < series.min() < series.max() < 1.5


def test_digits_vae(tmp_path):
    result = load("digits_vae")["main"](epochs=15, path=tmp_path / "plane.png")
    assert result["history"]["validation_loss"][-1] < 26
    assert result["alike"] > 0.5  # of ten digits
    assert (tmp_path / "plane.png").read_bytes().startswith(b"\x89PNG")


def test_gan_ring(tmp_path):
    example = load("gan_ring")
    result = example["main"]()
    assert result["share"] > 0.5
    assert result["modes"] == 8
    true, modes = example["on_the_ring"](example["clouds"](2000, np.random.default_rng(3)))
    assert (true, modes) == (1.0, 8)
    whole = example["main"](epochs=3)
    for epochs in (1, 3):
        stopped = example["main"](epochs=epochs, folder=tmp_path)
    for name, value in whole["maker"].items():
        np.testing.assert_array_equal(stopped["maker"][name], value)


def differences(f, at, h=1e-6):
    """The gradient of `f` by central differences."""
    return np.array([(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(len(at))])


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_begins_with_plain_numpy(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    names = {node.id for node in ast.walk(functions[0]) if isinstance(node, ast.Name)}
    assert "np" in names
    assert "ad" not in names
    assert any(node.name == "main" for node in functions)
    assert f"def test_{path.stem}(" in Path(__file__).read_text(encoding="utf-8")
