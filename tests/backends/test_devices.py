"""Tensors and networks move to a device and back by name; gradients return to where each value came from."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core import backend
from tests.backends.strict import BACKEND, Strict, inside, on_second, strict, transfers


def test_a_tensor_moves_and_its_gradient_comes_back():
    t = ad.tensor([1.0, 2.0, 4.0], requires_grad=True)
    there = t.to("strict")
    assert (t.device, there.device, there.requires_grad) == ("cpu", "strict:0", True)
    assert isinstance(there.data, Strict)
    loss = np.sum(there**3)
    assert loss.device == "strict:0"
    loss.backward()
    assert isinstance(t.grad.data, np.ndarray)
    np.testing.assert_allclose(t.grad.numpy(), 3 * t.numpy() ** 2, rtol=1e-14)


def test_there_and_back():
    def f(x):
        return np.sum(np.sin(ad.as_tensor(x).to("strict") ** 2).cpu() * x)

    def plain(x):
        return np.sum(np.sin(x**2) * x)

    x, v = np.array([0.3, -1.2]), np.array([1.0, 0.5])
    for transform in (ad.grad, ad.hessian, lambda f: lambda x: ad.jvp(f, (x,), (v,))[1]):
        np.testing.assert_allclose(transform(f)(x), transform(plain)(x), rtol=1e-13)
    rows = np.array([[0.3, -1.2], [2.0, 0.1]])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(rows), [ad.grad(plain)(row) for row in rows], rtol=1e-13)


def test_nothing_moves_that_is_there():
    t = ad.tensor([1.0])
    there = t.to("strict")
    before = dict(transfers)
    assert t.to("cpu") is t
    assert t.cpu() is t
    assert there.to("strict") is there
    assert there.to("strict:0") is there
    assert dict(transfers) == before


def test_a_dtype_and_a_device_together():
    t, model = ad.tensor([1.0, 2.0]), ad.tensor(np.float32([3])).to("strict")
    for moved in (t.to("strict", np.float32), t.to(model), t.to(np.float32, device="strict"), t.to("strict").float()):
        assert (moved.device, moved.dtype) == ("strict:0", np.float32)
    assert ad.tensor([1.0], requires_grad=True, device="strict").device == "strict:0"
    assert ad.zeros(2, 3, device="strict").device == "strict:0"
    assert ad.as_tensor([1.0], device="strict").device == "strict:0"
    assert ad.as_tensor(there := t.to("strict")) is there


def test_a_network_learns_there_as_here():
    def trained(place):
        model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1, rng=1)).to(place)
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        rng = np.random.default_rng(0)
        x, y = (ad.tensor(rng.normal(size=shape)).to(place) for shape in ((8, 3), (8, 1)))
        for _ in range(3):
            optimizer.zero_grad()
            nn.mse_loss(model(x), y).backward()
            optimizer.step()
        assert {t.device.partition(":")[0] for t in (*model.parameters(), *model.buffers())} == {place}
        return model

    here, there = trained("cpu"), trained("strict")
    for name, value in there.state_dict().items():
        np.testing.assert_allclose(value, here.state_dict()[name], rtol=1e-10, atol=1e-14, err_msg=name)
    back = there.cpu()
    assert all(isinstance(p.data, np.ndarray) for p in back.parameters())


def test_buffers_that_are_not_saved_move_too():
    model = nn.Linear(1, 1, rng=0)
    model.register_buffer("scale", np.ones(1), persistent=False)
    assert model.to("strict").scale.device == "strict:0"


def test_weights_are_loaded_to_where_the_network_is():
    source, target = nn.Linear(2, 3, rng=0), nn.Linear(2, 3, rng=1).to("strict")
    target.load_state_dict(source.state_dict())
    assert isinstance(target.weight.data, Strict)
    np.testing.assert_array_equal(inside(target.weight.data), source.weight.numpy())


class OnADevice:
    """Another library's array, as DLPack sees it."""

    def __init__(self, kind, values):
        self.kind, self.values = kind, values

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


def test_an_array_of_another_library_stays_on_its_device(monkeypatch):
    values = strict([1.0, 2.0])
    monkeypatch.setitem(backend._AT, "cuda", BACKEND._replace(from_dlpack=lambda x: x.values))
    before = dict(transfers)
    t = ad.from_dlpack(OnADevice(2, values))
    assert isinstance(t.data, Strict)
    assert dict(transfers) == before
    np.testing.assert_array_equal(inside(t.data), [1.0, 2.0])
    assert isinstance(ad.from_dlpack(OnADevice(2, values), device="cpu").data, np.ndarray)
    assert ad.from_dlpack(np.ones(2), device="strict").device == "strict:0"
    with pytest.raises(ad.DeviceError, match="of kind 8: move it to the CPU first"):
        ad.from_dlpack(OnADevice(8, values))


@pytest.mark.parametrize("say", [lambda t: t.to("mps"), lambda t: t.to("cuda:x"), lambda t: nn.Linear(1, 1).to("tpu")])
def test_devices_that_nobody_knows(say):
    with pytest.raises(ad.ArgumentError, match="expected the device 'cpu', 'cuda' or 'cuda:1'; got '"):
        say(ad.tensor([1.0]))


def test_a_network_that_can_not_move_is_as_it_was():
    model = nn.Linear(2, 2, rng=0)
    before = model.weight.held
    try:
        model.to("cuda")
    except ad.DeviceError as error:
        assert "CuPy" in str(error) or "cannot be used" in str(error)  # noqa: PT017 - where there is no GPU alone
        assert model.weight.held is before


@pytest.mark.parametrize(
    "go",
    [
        lambda a, b: ad.tensor(a) * ad.tensor(b),
        lambda a, b: ad.tensor(a) * b,
        lambda a, b: np.concatenate([ad.tensor(a), ad.tensor(b)]),
        lambda a, b: np.where(ad.tensor(a) > 0, a, b),
        lambda a, b: ad.grad(lambda x: np.sum(x * b))(a),
        lambda a, b: ad.jvp(np.sin, (a,), (b,)),
        lambda a, b: ad.vjp(np.sin, a)[1](b),
        lambda a, b: (ad.tensor(a, requires_grad=True) * 1.0).backward(b),
        lambda a, b: ad.vmap(lambda x, y: x * y)(a, b),
    ],
)
def test_two_devices_of_one_library_are_an_error_that_names_the_call(go):
    """CuPy takes the other device's memory where it can reach it, and moves the result without a word."""
    with pytest.raises(ad.DeviceError, match=r"strict:0 and strict:1.*t\.to\('strict:0'\)"):
        go(strict([1.0, 2.0]), on_second([3.0, 4.0]))


def test_what_is_taken_stays_on_its_device():
    """CuPy's own copies are made on the current device."""
    x = on_second([1.0, 2.0])
    assert ad.tensor(x).device == "strict:1"
    places = []
    ad.vjp(lambda x: places.append(x.device) or x, x)
    ad.jvp(lambda x: places.append(x.device) or x, (x,), (x,))
    assert places == ["strict:1"] * 2
