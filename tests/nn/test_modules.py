"""Parameters, modules, containers and layers."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core.errors import ArgumentError, ShapeError


def two_layers() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4, rng=0), nn.ReLU(), nn.Linear(4, 2, rng=1))


def test_a_parameter_shares_its_array_and_keeps_its_identity():
    values = np.zeros(2)
    p = same = nn.Parameter(values)
    with ad.no_grad():
        p += 1.0
    assert p is same
    assert values.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 5.0
    assert p.requires_grad
    assert repr(p) == "Parameter([1., 1.], requires_grad=True)"


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_of_a_parameter_are_parameters(twin):
    p = nn.Parameter([1.0, 2.0])
    q = twin(p)
    assert type(q) is nn.Parameter
    assert q.requires_grad
    assert not np.shares_memory(p.data, q.data)
    assert q.tolist() == [1, 2]


def test_whole_numbers_are_no_parameter():
    with pytest.raises(ad.DTypeError, match="astype"):
        nn.Parameter([1, 2])


class Tangle(nn.Module):
    """Parameters set after children, a list of modules, a shared parameter, a buffer."""

    def __init__(self):
        self.child = nn.Linear(2, 3, rng=0)
        self.several = [nn.Linear(3, 1, rng=1), nn.Dropout(0.5), nn.Parameter(np.ones(1))]
        self.own = nn.Parameter(np.zeros(2))
        self.tied = self.child.weight
        self.register_buffer("count", np.zeros(()))
        self.register_buffer("cache", np.zeros(5), persistent=False)


def test_own_parameters_come_first_and_shared_ones_once():
    names = ["several.2", "own", "tied", "child.bias", "several.0.weight", "several.0.bias"]
    assert [name for name, _ in Tangle().named_parameters()] == names
    assert len(list(Tangle().parameters())) == 6
    assert [type(m).__name__ for m in Tangle().modules()] == ["Tangle", "Linear", "Linear", "Dropout"]
    assert [name for name, _ in Tangle().named_buffers()] == ["count", "cache"]


def test_state_has_every_name_and_copies():
    module = Tangle()
    state = module.state_dict()
    assert set(state) == {"several.2", "own", "tied", "count", "child.weight", "child.bias", "several.0.weight",
                          "several.0.bias"}  # fmt: skip
    state["own"][:] = 7
    assert module.own.tolist() == [0, 0]


def test_loading_writes_into_the_same_arrays():
    a, b = two_layers(), nn.Sequential(nn.Linear(3, 4, rng=8), nn.ReLU(), nn.Linear(4, 2, rng=9))
    arrays = [p.held for p in b.parameters()]
    assert b.load_state_dict(a.state_dict()) == ([], [])
    x = np.ones((2, 3))
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())
    assert all(p.held is array for p, array in zip(b.parameters(), arrays, strict=True))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda s: s.pop("0.bias"), ad.ArgumentError, "missing: '0.bias'"),
        (lambda s: s.update(extra=np.ones(1)), ad.ArgumentError, "unexpected: 'extra'"),
        (lambda s: s.update({"2.weight": np.ones((4, 2))}), ad.ShapeError, r"'2.weight' is \(2, 4\), got \(4, 2\)"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_whole(change, error, words):
    net = two_layers()
    before, state = net.state_dict(), {name: value + 1 for name, value in net.state_dict().items()}
    change(state)
    with pytest.raises(error, match=words):
        net.load_state_dict(state)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_loading_loosely_reports_what_was_left():
    net = two_layers()
    state = net.state_dict() | {"extra": np.ones(1), "0.bias": np.full(4, 5.0)}
    del state["2.bias"]
    assert net.load_state_dict(state, strict=False) == (["2.bias"], ["extra"])
    assert net[0].bias.tolist() == [5] * 4


def test_loading_after_a_forward_pass_is_noticed_by_backward():
    net = two_layers()
    loss = net(np.ones((1, 3))).sum()
    net.load_state_dict(net.state_dict())
    with pytest.raises(ad.InPlaceError):
        loss.backward()


def test_train_eval_zero_grad_freeze_and_apply_reach_every_module():
    net = nn.Sequential(two_layers(), nn.Dropout(0.5))
    assert not any(m.training for m in net.eval().modules())
    assert all(m.training for m in net.train().modules())
    net(np.ones((1, 3))).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    seen = []
    net.apply(seen.append)
    assert seen[-1] is net
    assert len(seen) == 6


def test_astype_keeps_the_parameter_objects():
    net = two_layers()
    before = list(net.parameters())
    net.astype(np.float32)
    assert all(p is q and p.dtype == np.float32 for p, q in zip(before, net.parameters(), strict=True))
    net(np.ones((2, 3), np.float32)).sum().backward()
    assert all(p.grad.dtype == np.float32 for p in net.parameters())


def test_repr_shows_the_tree():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.GELU()), nn.Dropout(0.1))) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Sequential(\n"
        "    (0): GELU(approximate='none')\n  )\n  (2): Dropout(p=0.1)\n)"
    )


def test_a_module_without_forward_says_what_to_write():
    with pytest.raises(NotImplementedError, match="def forward"):
        nn.Module()(1)


def test_containers_count_slice_and_refuse_functions():
    net = two_layers()
    assert len(net) == 3
    assert isinstance(net[-1], nn.Linear)
    assert isinstance(net[:2], nn.Sequential)
    assert net[:2][0] is net[0]
    net[1] = nn.Tanh()
    assert isinstance(list(net)[1], nn.Tanh)
    with pytest.raises(ad.ArgumentError, match="number 0"):
        nn.Sequential(np.tanh)


def test_linear_by_hand_and_its_gradients():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": [[2.0, 3.0]], "bias": [1.0]})
    y = layer(np.array([[1.0, 1.0], [0.0, 2.0]]))
    assert y.tolist() == [[6], [7]]
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 3]]
    assert layer.bias.grad.tolist() == [2]


def test_linear_starts_within_its_bounds_and_from_its_seed():
    layer = nn.Linear(100, 50, rng=3)
    assert np.abs(layer.weight.numpy()).max() <= 0.1
    assert np.abs(layer.weight.numpy()).max() > 0.099
    np.testing.assert_array_equal(layer.weight.numpy(), nn.Linear(100, 50, rng=3).weight.numpy())
    assert nn.Linear(3, 2, bias=False)(np.ones((4, 5, 3))).shape == (4, 5, 2)
    assert nn.Linear(3, 2, weight_init="ones", dtype=np.float32).weight.tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("x", [np.ones(3), np.ones((5, 4))])
def test_linear_refuses_other_widths(x):
    with pytest.raises(ad.ShapeError, match="in"):
        nn.Linear(2, 1)(x)


def test_dropout_keeps_the_mean_and_repeats_with_its_seed():
    x = np.ones(20_000)
    y = nn.Dropout(0.25, rng=0)(x)
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert y.mean() == pytest.approx(1, abs=0.02)
    np.testing.assert_array_equal(y, nn.Dropout(0.25, rng=0)(x))
    assert nn.Dropout(1.0)(np.array([np.nan, 1.0])).tolist() == [0, 0]
    t = ad.tensor(np.ones(100), requires_grad=True)
    dropped = nn.Dropout(0.5, rng=1)(t)
    dropped.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), dropped.numpy())
    with pytest.raises(ad.ArgumentError, match="probability"):
        nn.Dropout(1.5)


def test_layer_norm_by_hand():
    layer = nn.LayerNorm(2, eps=0.0)
    layer.load_state_dict({"weight": [2.0, 2.0], "bias": [0.5, 0.5]})
    assert layer(np.array([[1.0, 3.0]])).tolist() == [[-1.5, 2.5]]
    assert len(list(nn.LayerNorm((2, 3), elementwise_affine=False).parameters())) == 0
    with pytest.raises(ad.ShapeError, match="LayerNorm"):
        layer(np.ones(3))


def test_embedding_adds_up_the_gradients_of_a_repeated_symbol():
    layer = nn.Embedding(4, 2, rng=0)
    layer(np.array([1, 3, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("index", "error"), [([4], ad.ArgumentError), ([-1], ad.ArgumentError), ([1.0], ad.DTypeError)]
)
def test_embedding_refuses_what_is_no_symbol(index, error):
    with pytest.raises(error, match="Embedding"):
        nn.Embedding(4, 2)(np.array(index))


@pytest.mark.parametrize(("dims", "shape"), [((1, -1), (2, 60)), ((0, 1), (6, 4, 5)), ((2, 3), (2, 3, 20))])
def test_flatten_joins_axes(dims, shape):
    assert nn.Flatten(*dims)(np.zeros((2, 3, 4, 5))).shape == shape


@pytest.mark.parametrize(
    "module",
    [
        nn.ReLU(),
        nn.Tanh(),
        nn.Sigmoid(),
        nn.SiLU(),
        nn.Softplus(),
        nn.GELU(),
        nn.LeakyReLU(0.2),
        nn.ELU(0.5),
        nn.Softmax(),
    ],
)
def test_activation_modules_match_torch(module):
    torch = pytest.importorskip("torch")
    x = np.linspace(-3, 3, 8).reshape(2, 4)
    t, u = ad.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    name, settings = (
        type(module).__name__,
        dict(vars(module)) or ({"dim": -1} if isinstance(module, nn.Softmax) else {}),
    )
    y, v = module(t), getattr(torch.nn, name)(**settings)(u)
    np.testing.assert_allclose(y.numpy(), v.detach().numpy(), atol=1e-14)
    (y * x).sum().backward()
    (v * torch.tensor(x)).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), u.grad.numpy(), atol=1e-14)


def test_a_small_network_learns_exclusive_or():
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    net = nn.Sequential(nn.Linear(2, 16, rng=0), nn.Tanh(), nn.Linear(16, 2, rng=1))
    optimizer = ad.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.cross_entropy(net(x), y)
        loss.backward(retain_graph=False)
        optimizer.step()
    assert loss.item() < 0.01
    assert np.argmax(net(x).numpy(), axis=1).tolist() == y.tolist()


@pytest.mark.parametrize("name", nn.init.INITIALIZERS)
def test_initialisers_have_shape_dtype_and_seed(name):
    f = nn.init.get(name)
    values = f((6, 4), rng=0, dtype=np.float32)
    assert values.shape == (6, 4)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, f((6, 4), rng=0, dtype=np.float32))


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("xavier_uniform", 2 / 500),
        ("xavier_normal", 2 / 500),
        ("kaiming_uniform", 2 / 300),
        ("kaiming_normal", 2 / 300),
        ("normal", 1.0),
        ("uniform", 1 / 12),
    ],
)
def test_initialisers_have_their_variance(name, variance):
    assert nn.init.get(name)((200, 300), rng=0).var() == pytest.approx(variance, rel=0.03)


def test_orthogonal_and_truncated_values():
    q = nn.init.orthogonal((3, 5), rng=0)
    np.testing.assert_allclose(q @ q.T, np.eye(3), atol=1e-12)
    q = nn.init.orthogonal((6, 2, 2), rng=0, gain=2.0).reshape(6, 4)
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(4), atol=1e-12)
    assert np.abs(nn.init.truncated_normal((1000,), rng=0, mean=1.0, std=0.5) - 1).max() <= 1.0
    assert nn.init.fans((4, 3, 5, 5)) == (75, 100)
    assert nn.init.gain("relu") == math.sqrt(2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: nn.init.get("kaiming"),
        lambda: nn.init.gain("swish"),
        lambda: nn.init.xavier_normal((3,)),
        lambda: nn.init.kaiming_normal((3, 2), mode="fan"),
        lambda: nn.Linear(0, 2),
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ad.AdjointError):
        wrong()


@pytest.mark.parametrize("module", [nn.Hardshrink(), nn.Softshrink(), nn.Threshold(0.5, 7.0)], ids=repr)
def test_what_cuts_values_off_keeps_nan(module):
    assert np.isnan(np.asarray(module(np.array([np.nan, 1.0])))).tolist() == [True, False]


def test_the_largest_element_is_never_in_the_padding():
    x = np.full((1, 4, 4), -np.inf)
    x[0, 2:] = -5.0
    out, where = nn.functional.max_pool2d(x, 2, 2, 1, return_indices=True)
    assert out.tolist() == [[[-np.inf] * 3, [-5.0] * 3, [-5.0] * 3]]
    assert where.tolist() == [[[0, 1, 3], [8, 9, 11], [12, 13, 15]]]
    small = np.full((1, 4), np.iinfo(np.int8).min, np.int8)
    assert nn.functional.max_pool1d(small, 2, 2, 1).tolist() == [[-128, -128, -128]]


def test_a_window_of_lp_pool_that_is_cut_off_counts_as_a_whole_one():
    out = nn.functional.lp_pool1d(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), 2, 2, ceil_mode=True)
    assert np.allclose(out, np.sqrt([[5.0, 25.0, 50.0]]))
    assert nn.functional.lp_pool1d(np.array([[1.0, -2.0]]), np.inf, 2).tolist() == [[2.0]]


def test_instance_norm_without_momentum_keeps_its_averages():
    norm = nn.InstanceNorm1d(2, momentum=None, track_running_stats=True)
    norm(np.random.default_rng(0).normal(size=(3, 2, 4)))
    assert (norm.running_mean.tolist(), norm.num_batches_tracked.item()) == ([0.0, 0.0], 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (2, 3, 4, 2)])
def test_running_averages_have_the_same_bits_by_either_way(dtype, shape):
    tensors = [ad.tensor(a) for a in (np.zeros(3, dtype), np.ones(3, dtype))]
    others = [nn.Parameter(t.numpy().copy()).requires_grad_(False) for t in tensors]  # of a class of their own
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = ad.tensor(rng.normal(3, 2, shape).astype(dtype))
        for means, variances in (tensors, others):
            nn.functional.batch_norm(x, means, variances, training=True)
    for one, other in zip(tensors, others, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy(), strict=True)


def test_running_averages_that_are_read_only_are_refused():
    norm = nn.BatchNorm1d(3)
    norm.running_mean.held.flags.writeable = False
    with pytest.raises(ad.ReadOnlyError):
        norm(np.random.default_rng(0).normal(size=(4, 3)))


def test_a_transformer_layer_without_biases_has_none():
    layer = nn.TransformerDecoderLayer(4, 2, 8, bias=False, rng=0)
    assert not [name for name, _ in layer.named_parameters() if "bias" in name]


def test_prelu_of_a_number_is_a_number():
    assert np.shape(nn.PReLU()(np.array(-2.0))) == ()


def test_places_of_a_grid_vary_between_samples_and_calls():
    rng = np.random.default_rng(0)
    image, places = rng.normal(size=(2, 3, 5, 4)), rng.uniform(-1.3, 1.3, (4, 2, 3, 3, 2))

    def f(x, grid):
        return np.sum(np.sin(nn.functional.grid_sample(x, grid, padding_mode="reflection")))

    gradient = ad.grad(f, argnums=(0, 1))
    compiled = ad.compile(gradient, wait=True)
    for grid in places:
        for found, wanted in zip(compiled(image, grid), gradient(image, grid), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
    assert "as it is" not in compiled.explain()
    np.testing.assert_allclose(ad.vmap(f, in_axes=(None, 0))(image, places), [f(image, g) for g in places], rtol=1e-13)


def test_hard_draws_have_the_slope_of_soft_ones():
    weights = np.array([1.0, 2.0, 4.0])

    def drawn(logits, hard):
        return np.sum(nn.functional.gumbel_softmax(logits, tau=0.7, hard=hard, rng=3) * weights)

    at = np.array([0.3, -0.2, 0.1])
    assert drawn(at, True) in weights
    np.testing.assert_allclose(ad.grad(drawn)(at, True), ad.grad(drawn)(at, False), rtol=1e-12)
    step = 1e-6 * np.eye(3)
    slopes = [(drawn(at + h, False) - drawn(at - h, False)) / 2e-6 for h in step]
    np.testing.assert_allclose(ad.grad(drawn)(at, False), slopes, rtol=1e-7)


def test_what_embeddings_begin_with_and_share():
    vectors = np.arange(6.0).reshape(3, 2)
    layer = nn.Embedding.from_pretrained(vectors)
    assert not layer.weight.requires_grad
    vectors[0] = 9.0
    np.testing.assert_array_equal(layer(np.array([0])).numpy(), [[0.0, 1.0]])
    with pytest.raises(ShapeError, match="symbols, width"):
        nn.Embedding.from_pretrained(np.ones(3))
    with pytest.raises(ArgumentError, match="dense"):
        nn.Embedding(3, 2, sparse=True)
    with pytest.raises(ArgumentError, match="proj_size"):
        nn.GRU(3, 4, proj_size=2)
    with pytest.raises(ArgumentError, match="proj_size"):
        nn.LSTM(3, 4, proj_size=4)
    with pytest.raises(ShapeError, match="multiple"):
        nn.functional.scaled_dot_product_attention(
            np.ones((3, 2, 2)), np.ones((2, 2, 2)), np.ones((2, 2, 2)), enable_gqa=True
        )


def test_data_of_a_parameter_stays_an_array():
    p = nn.Parameter(np.array([1.0, 2.0]))
    for _ in range(3):
        p.grad = None
        np.sum(p**2).backward()
        p.data = p.data - 0.25 * p.grad
        assert type(p.held) is np.ndarray
    np.testing.assert_array_equal(p.data, [0.125, 0.25])
    p.data = [3, 4]
    assert (p.dtype, p.tolist()) == (np.float64, [3.0, 4.0])
    with pytest.raises(ad.GradientError, match="detach"):
        p.data = p * 2


def test_a_compiled_step_walks_modules():
    """Not only where the parameters are found beforehand: `zero_grad` and `parameters` are called in the step."""
    net = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Dropout(0.0), nn.Linear(3, 1, rng=1))

    def step(x):
        net.zero_grad()
        np.sum(net(x) ** 2).backward()
        return [p.grad for p in net.parameters()]

    compiled = ad.compile(step, wait=True)
    for expected, found in zip(step(np.ones((4, 2))), compiled(np.ones((4, 2))), strict=True):
        np.testing.assert_allclose(found, expected)
    assert "runs as it is" not in str(compiled.explain())


def test_buffers_may_be_none_or_deleted():
    module = nn.Linear(2, 1, bias=False, rng=0)
    module.register_buffer("shift", None)
    assert list(module.state_dict()) == ["weight"]
    module.shift = ad.tensor([1.0])
    assert list(module.state_dict()) == ["weight", "shift"]
    del module.shift
    assert list(module.state_dict()) == ["weight"]
    assert not list(module.buffers())
    module.load_state_dict(module.state_dict())
    copied = copy.deepcopy(module).to(np.float64)
    assert [name for name, _ in copied.named_parameters()] == ["weight"]
