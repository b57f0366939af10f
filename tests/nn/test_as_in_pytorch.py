"""What PyTorch's users do with layers beside calling them."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim

F = nn.functional
X = np.random.default_rng(0).normal(size=(4, 3))


def test_names_in_sequential():
    net = nn.Sequential(OrderedDict([("first", nn.Linear(3, 2, rng=0)), ("act", nn.Tanh())]))
    assert list(net.state_dict()) == ["first.weight", "first.bias"]
    np.testing.assert_array_equal(net(X).numpy(), np.tanh(net.first(X)).numpy())
    net.add_module("last", nn.Linear(2, 1, rng=1))
    assert net(X).shape == (4, 1)
    assert net[2] is net.last
    assert [name for name, _ in net[1:].named_children()] == ["act", "last"]


def test_lists_of_modules_change():
    net = nn.ModuleList([nn.ReLU(), nn.Linear(2, 3)])
    assert net.append(nn.Tanh()) is net
    net.insert(0, nn.Identity())
    assert [type(m).__name__ for m in net] == ["Identity", "ReLU", "Linear", "Tanh"]
    assert [name for name, _ in net.named_children()] == ["0", "1", "2", "3"]
    assert isinstance(net.pop(0), nn.Identity)
    del net[0]
    net += [nn.GELU()]
    assert [type(m).__name__ for m in net] == ["Linear", "Tanh", "GELU"]
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    shared = nn.Linear(2, 2, rng=0)
    assert len(list(nn.Sequential(shared, nn.Tanh(), shared).parameters())) == 2
    parts = nn.ModuleDict({"a": shared})
    assert parts.get("b") is None
    assert parts.pop("a") is shared
    assert len(parts) == 0


def test_layers_answer_the_names_of_their_settings():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.Linear(5, 4), nn.Dropout(0.1))
    assert (model[2].in_features, model[2].out_features) == (5, 4)
    assert (model[0].transposed, model[1].kernel_size, model[3].inplace) == (False, 2, False)
    assert (nn.CrossEntropyLoss(label_smoothing=0.1).label_smoothing, nn.Embedding(5, 3).embedding_dim) == (0.1, 3)
    assert pickle.loads(pickle.dumps(nn.MaxPool2d(2))).kernel_size == 2
    assert copy.deepcopy(nn.GLU(1)).dim == 1
    with pytest.raises(AttributeError, match="no attribute 'stried'"):
        _ = model[1].stried


@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear(2, 3, bias=False),
        nn.Conv2d(2, 4, 3, groups=2),
        nn.ConvTranspose1d(2, 4, 3, stride=2, output_padding=1),
        nn.LSTM(2, 4, 2, bidirectional=True, proj_size=2),
        nn.RNN(2, 3, nonlinearity="relu", bias=False),
        nn.GRUCell(2, 3),
        nn.Embedding(4, 3, padding_idx=1),
        nn.Bilinear(2, 3, 4),
        nn.BatchNorm2d(3),
        nn.PReLU(3),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_parameters_are_drawn_anew(layer):
    layer = layer.astype(np.float32)
    for p in layer.parameters():
        p.data[...] = 7
    layer.reset_parameters(rng=3)
    found = layer.state_dict()
    assert not any(np.any(value == 7) for value in found.values())
    layer.reset_parameters(rng=3)
    assert all(np.array_equal(value, found[name]) for name, value in layer.state_dict().items())
    assert {value.dtype for value in found.values()} - {np.dtype(np.int64)} == {np.dtype(np.float32)}


def test_arguments_of_pytorchs():
    assert nn.Linear(2, 3, device="cpu").weight.device == "cpu"
    assert nn.CrossEntropyLoss(size_average=False).reduction == "sum"
    assert F.mse_loss(X, X + 1, reduce=False).shape == (4, 3)
    parameters = list(nn.Linear(2, 3).parameters())
    assert optim.Adam(parameters, foreach=True, fused=None, capturable=False).lr == 1e-3
    assert F.relu(X, inplace=True).shape == F.dropout(X, 0.5, False, True).shape
    for call, said in [
        (lambda: optim.SGD(parameters, lr=1.0, differentiable=True), "optim.functional"),
        (lambda: optim.lr_scheduler.StepLR(optim.SGD(parameters, lr=1.0), 3, verbose=True), "get_last_lr"),
        (lambda: nn.Linear(2, 3, devise="cpu"), r"it takes \(in_features"),
        (lambda: nn.Embedding(2, 3, _weight=X), "from_pretrained"),
    ]:
        with pytest.raises(TypeError, match=said):
            call()


def test_parametrised_layers_are_pickled():
    layer = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2, rng=0)))
    for again in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        np.testing.assert_array_equal(again[0].weight.numpy(), layer[0].weight.numpy())
        assert list(again.state_dict()) == list(layer.state_dict())
        assert type(nn.utils.parametrize.remove_parametrizations(again[0], "weight")) is nn.Linear


def test_a_buffer_that_became_a_number_is_loaded():
    class Counting(nn.Module):
        def __init__(self):
            self.register_buffer("count", np.zeros(()))

        def forward(self, x):
            self.count = self.count + 1
            return x * self.count

    model = Counting()
    model(1.0)
    model.load_state_dict({"count": np.array(5.0)})
    assert model(1.0).item() == 6.0
    assert model.get_buffer("count").item() == 6.0


def test_parts_by_their_path():
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 3)), nn.ReLU())
    assert net.get_submodule("0.0") is net[0][0]
    assert net.get_submodule("") is net
    assert net.get_parameter("0.0.weight") is net[0][0].weight
    with pytest.raises(AttributeError, match="is no Module"):
        net.get_submodule("0.0.weight")


def test_packed_sequences():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(n, 3)) for n in (4, 1, 3)]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    assert padded.shape == (3, 4, 3)
    np.testing.assert_array_equal(nn.utils.rnn.pad_sequence(rows, padding_side="left")[0, 1], np.zeros(3))
    lstm = nn.LSTM(3, 5, batch_first=True, rng=0)
    packed = nn.utils.rnn.pack_padded_sequence(padded, [4, 1, 3], batch_first=True, enforce_sorted=False)
    out, (h, _) = lstm(packed)
    found, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=6)
    wanted, (h2, _) = lstm(padded, lengths=np.array([4, 1, 3]))
    np.testing.assert_array_equal(found[:, :4].numpy(), wanted.numpy())
    np.testing.assert_array_equal(h.numpy(), h2.numpy())
    assert found.shape == (3, 6, 5)
    assert lengths.tolist() == [4, 1, 3]
    for a, b in zip(nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence(rows)), rows, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ad.ArgumentError, match="from 1 to 4"):
        nn.utils.rnn.pack_padded_sequence(padded, [4, 0, 3], batch_first=True)


def test_sizes_of_transposed_convolutions():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, rng=0)
    x = np.ones((1, 2, 5, 5))
    assert layer(x).shape == (1, 3, 9, 9)
    assert layer(x, output_size=(10, 9)).shape == (1, 3, 10, 9)
    with pytest.raises(ad.ArgumentError, match=r"from \[9, 9\] to \[10, 10\]"):
        layer(x, output_size=(11, 9))


def test_initial_values():
    w = nn.Parameter(np.zeros((4, 2, 3)))
    nn.init.dirac_(w, groups=2)
    x = np.random.default_rng(0).normal(size=(1, 4, 7))
    np.testing.assert_array_equal(F.conv1d(x, w, padding=1, groups=2).numpy(), x)
    w = nn.init.sparse_(nn.Parameter(np.zeros((10, 6))), 0.3, rng=0)
    assert np.sum(w.numpy() == 0, axis=0).tolist() == [3] * 6
    a, b = (nn.init.normal_(nn.Parameter(np.zeros(3)), 0.0, 0.02, **{k: 1}).numpy() for k in ("rng", "generator"))
    np.testing.assert_array_equal(a, b)
    for fill in (nn.init.kaiming_uniform_, nn.init.kaiming_normal_):
        with pytest.raises(ad.ArgumentError, match="fan_in"):
            fill(nn.Parameter(np.zeros((2, 2))), mode="fan")


def test_norms_of_gradients():
    a, b = nn.Parameter(np.zeros(2)), nn.Parameter(np.zeros(1))
    a.grad, b.grad = np.array([3.0, 0.0]), np.array([4.0])
    norm = nn.utils.get_total_norm([a.grad, b.grad])
    assert norm == 5.0
    nn.utils.clip_grads_with_norm_([a, b], 1.0, norm)
    np.testing.assert_allclose([*a.grad.numpy(), *b.grad.numpy()], [0.6, 0, 0.8], rtol=1e-6)


def test_whole_channels_are_dropped_with_their_mean():
    x = np.ones((50, 20, 3, 3))
    found = nn.FeatureAlphaDropout(0.5, rng=0)(x)
    assert np.all(found == found[:, :, :1, :1])
    assert len(np.unique(found)) == 2
    np.testing.assert_array_equal(F.feature_alpha_dropout(x, 0.5, True, rng=0), found)


def test_losses_that_are_saturated_still_learn():
    """The gradients that PyTorch has there."""
    grad = ad.grad(lambda p, t: np.sum(F.binary_cross_entropy(p, t, reduction="none")))
    np.testing.assert_allclose(grad(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])), [-1e12, 1e12, 0])
    losses = F.binary_cross_entropy(np.array([0.0, 1.0]), np.array([1.0, 1.0]), reduction="none")
    assert losses.tolist() == [100.0, 0.0]
    found = ad.grad(lambda v: F.gaussian_nll_loss(np.array([2.0]), np.zeros(1), v, eps=1e-2))(np.array([1e-3]))
    np.testing.assert_allclose(found, 0.5 * (1 / 1e-2 - 4 / 1e-4))


def test_places_at_the_border_and_nowhere():
    image = np.arange(4.0).reshape(1, 1, 2, 2)
    place = np.array([-1.0, 1.0, 1.0, -1.0, np.nan, 0.0]).reshape(1, 1, 3, 2)
    values, slope = ad.value_and_grad(
        lambda g: np.sum(F.grid_sample(image, g, padding_mode="border", align_corners=True))
    )(place)
    assert values == 2 + 1 + 1
    assert slope[0, 0, :2].tolist() == [[0, 0], [0, 0]]


def test_pretrained_bags():
    vectors = np.arange(6.0).reshape(3, 2)
    bag = nn.EmbeddingBag.from_pretrained(vectors, mode="sum")
    assert bag(np.array([[0, 2]])).tolist() == [[4.0, 6.0]]
    assert not bag.weight.requires_grad
