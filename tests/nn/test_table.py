"""Every layer, function and loss against PyTorch's values, gradients and state: `scripts/torch_values.py` made them."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from tests.nn import table

FILE = np.load(Path(__file__).parent / "torch_values.npz")
CASES = [pytest.param(n, case, id=table.identifier(n, case)) for n, case in enumerate(table.CASES)]


def of(number, case, what):
    """What PyTorch gave, by name."""
    start = f"{table.identifier(number, case)}/{what}/"
    return {key.removeprefix(start): FILE[key] for key in FILE.files if key.startswith(start)}


def built(number, case, options, dtype):
    """The function or module, and its parameters and buffers by name."""
    if case["name"].startswith(table.F):
        function = getattr(nn.functional, case["name"].removeprefix(table.F))
        options = {k: v.astype(dtype) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        return lambda *arrays: function(*arrays, *case["args"], **options), None
    kind = getattr(nn, case["name"])
    if "rng" in inspect.signature(kind).parameters:
        options = options | {"rng": 0}
    module = kind(*case["args"], **options)
    if dtype != np.float64:
        module.astype(dtype)
    return module, module


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("number", "case"), CASES)
def test_as_pytorch(number, case, dtype):
    arrays, options = table.arrays_of(number, case)
    run, module = built(number, case, options, dtype)
    if module is not None:
        shapes = {name: tuple(shape) for name, shape in of(number, case, "state").items()}
        assert {name: value.shape for name, value in module.state_dict().items()} == shapes
        module.load_state_dict(
            table.state_of(number, {n: s for n, s in shapes.items() if n not in options}), strict=False
        )
        module.train(case.get("train", True))
    arrays = [x.astype(dtype) if x.dtype == np.float64 else x for x in arrays]
    inputs = [ad.tensor(x, requires_grad=True) if table.varies(kind) else x
              for x, kind in zip(arrays, case["x"], strict=True)]  # fmt: skip
    results = table.leaves(run(*inputs))
    tolerance = {"rtol": 1e-10, "atol": 1e-11} if dtype == np.float64 else {"rtol": 1e-4, "atol": 2e-5}
    if case["name"] in ("Hardsigmoid", "CELU") and dtype == np.float64:
        tolerance = {"rtol": 1e-7}  # PyTorch's 1 / 6 and 1 / alpha are of single precision
    expected = of(number, case, "out")
    assert len(results) == len(expected)
    for i, found in enumerate(results):
        value = found.numpy() if isinstance(found, ad.Tensor) else found
        np.testing.assert_allclose(value, expected[str(i)], **tolerance)
        assert value.dtype == (dtype if expected[str(i)].dtype.kind == "f" else np.int64)
    wanted = [r for r in results if isinstance(r, ad.Tensor) and r.requires_grad]
    weights = table.cotangents(number, [r.shape for r in wanted])
    sum(np.sum(r * w.astype(dtype)) for r, w in zip(wanted, weights, strict=True)).backward()
    gradients = of(number, case, "x")
    for i, x in enumerate(inputs):
        if str(i) in gradients:
            found = x.grad.numpy()
            if case["name"] == "CTCLoss":  # PyTorch's gradient is that by the logits behind a log-softmax
                found = found - np.exp(arrays[0]) * found.sum(axis=-1, keepdims=True)
            np.testing.assert_allclose(found, gradients[str(i)], **tolerance)
    if module is None:
        return
    parameters, gradients = dict(module.named_parameters()), of(number, case, "grad")
    assert gradients.keys() <= parameters.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(parameters[name].grad.numpy(), gradient, **tolerance, err_msg=name)
    for name, value in of(number, case, "after").items():
        np.testing.assert_allclose(module.state_dict()[name], value, **tolerance, err_msg=name)


def loaded(number, case):
    """The function or module with the table's state, and arrays for it."""
    arrays, options = table.arrays_of(number, case)
    run, module = built(number, case, options, np.float64)
    if module is not None:
        shapes = {name: tuple(shape) for name, shape in of(number, case, "state").items() if name not in options}
        module.load_state_dict(table.state_of(number, shapes), strict=False)
        module.train(case.get("train", True))
    return run, arrays


def numbers(result):
    return [x.numpy() if isinstance(x, ad.Tensor) else x for x in table.leaves(result)]


@pytest.mark.parametrize(("number", "case"), CASES)
def test_compiled_as_it_is(number, case):
    plain, arrays = loaded(number, case)
    f = ad.compile(loaded(number, case)[0], wait=True)
    for _ in range(3):
        for a, b in zip(numbers(f(*arrays)), numbers(plain(*arrays)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("number", "case"), CASES)
def test_forward_mode_is_the_transpose_of_reverse_mode(number, case):
    run, arrays = loaded(number, case)
    at = [i for i, kind in enumerate(case["x"]) if table.varies(kind)]
    if not at:
        return
    if isinstance(run, nn.Module):
        run.requires_grad_(False)
    rng = np.random.default_rng(3000 + number)

    def f(*given):
        full = list(arrays)
        for i, x in zip(at, given, strict=True):
            full[i] = x
        found = table.leaves(run(*full))
        return [x for x in found if np.dtype(x.dtype).kind == "f"]

    points = tuple(arrays[i] for i in at)
    along = tuple(rng.normal(size=x.shape) for x in points)
    _, tangents = ad.jvp(f, points, along)
    values, pullback = ad.vjp(f, *points)
    weights = [rng.normal(size=np.shape(v)) for v in values]
    forward = sum(np.sum(w * t) for w, t in zip(weights, numbers(tangents), strict=True))
    reverse = sum(np.sum(a * g) for a, g in zip(along, pullback(weights), strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-10)
