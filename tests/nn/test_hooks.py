"""Hooks of modules: what they see, what they change, and that they can be taken away. Values are worked out by hand."""

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core.errors import GradientError


class Both(nn.Module):
    """Two arguments, two results."""

    def forward(self, a, b, *, scale=1.0):
        return scale * a * b, a + b


def leaves(*values):
    return [ad.tensor(v, requires_grad=True) for v in values]


def test_a_forward_hook_sees_and_replaces_results():
    layer, seen = nn.ReLU(), []
    first = layer.register_forward_hook(lambda module, args, out: seen.append((module is layer, args, out)))
    second = layer.register_forward_hook(lambda module, args, out: out * 10)
    x = np.array([-1.0, 2.0])
    assert layer(x).tolist() == [0.0, 20.0]
    assert seen[0][0]
    assert seen[0][1][0] is x
    assert seen[0][2].tolist() == [0.0, 2.0]
    second.remove()
    second.remove()
    assert layer(x).tolist() == [0.0, 2.0]
    with layer.register_forward_hook(lambda module, args, out: out + 1):
        assert layer(x).tolist() == [1.0, 3.0]
    first.remove()
    assert layer(x).tolist() == [0.0, 2.0]
    assert len(seen) == 3


def test_hooks_are_called_in_order_and_prepended_ones_first():
    layer, order = nn.Identity(), []
    for name, options in (("a", {}), ("b", {}), ("c", {"prepend": True})):
        layer.register_forward_hook(lambda *_, name=name: order.append(name), **options)
        layer.register_forward_pre_hook(lambda *_, name=name: order.append(f"pre {name}"), **options)
    layer(np.ones(1))
    assert order == ["pre c", "pre a", "pre b", "c", "a", "b"]


def test_arguments_by_name_are_seen_and_replaced():
    model, seen = Both(), []
    model.register_forward_pre_hook(lambda m, args, kwargs: (args, {"scale": 3.0}), with_kwargs=True)
    model.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    assert model(np.array(2.0), np.array(5.0), scale=7.0)[0] == 30.0
    assert seen == [{"scale": 3.0}]
    model.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(ad.ArgumentError, match="gives None or"):
        model(1.0)


def test_a_backward_hook_sees_the_cotangents_of_this_call_alone():
    model, seen = Both(), []
    model.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    a, b = leaves([2.0], [5.0])
    product, total = model(a, b)
    np.sum(3 * product + total + 100 * a).backward()
    ((gi, go),) = seen
    assert [g.tolist() for g in gi] == [[16.0], [7.0]]
    assert [g.tolist() for g in go] == [[3.0], [1.0]]
    assert all(isinstance(g, ad.Tensor) for g in (*gi, *go))
    assert (a.grad.tolist(), b.grad.tolist()) == ([116.0], [7.0])


def test_a_backward_hook_replaces_the_cotangents_of_arguments():
    model = Both()
    model.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2, 0 * gi[1]))
    model.register_full_backward_pre_hook(lambda m, go: (go[0] * 10, go[1]))
    a, b = leaves([2.0], [5.0])
    np.sum(model(a, b)[0]).backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([100.0], [0.0])


def test_arguments_without_gradient_are_none():
    layer, seen = nn.Linear(2, 1, bias=False, rng=0), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    layer(np.ones((1, 2))).sum().backward()
    assert seen == [((None,), [[1.0]])]
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_a_wrong_replacement_says_what_is_wanted():
    model = nn.Identity()
    model.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    (a,) = leaves([2.0])
    with pytest.raises(ad.ArgumentError, match="a tuple with a cotangent in place of each"):
        np.sum(model(a)).backward()


def test_hooks_work_in_transforms_and_to_second_order():
    model = nn.Sequential(nn.Tanh())
    model[0].register_full_backward_hook(lambda m, gi, go: (3 * gi[0],))
    tanh, x = np.tanh(0.3), 0.3
    assert ad.grad(lambda x: model(x))(x) == pytest.approx(3 * (1 - tanh**2))
    second = ad.grad(ad.grad(lambda x: nn.Tanh()(x)))(x)
    plain = nn.Tanh()
    plain.register_full_backward_hook(lambda m, gi, go: None)
    assert ad.grad(ad.grad(lambda x: plain(x)))(x) == pytest.approx(second)
    (t,) = leaves(0.3)
    (g,) = ad.autograd.grad(plain(t), t, create_graph=True)
    assert ad.autograd.grad(g, t)[0].item() == pytest.approx(second)


def test_copies_have_the_hooks_and_states_do_not():
    layer, calls = nn.Linear(1, 1, rng=0), []
    layer.register_forward_hook(lambda m, args, out: calls.append(m))
    twin = copy.deepcopy(layer)
    twin(np.ones(1))
    assert calls == [twin]
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_a_compiled_function_calls_hooks_each_time_and_notices_new_ones():
    model, seen = nn.Sequential(nn.Linear(2, 3, rng=0), nn.ReLU()), []
    f, x = ad.compile(lambda x: model(x).sum(), wait=True), np.ones((1, 2))
    before = [f(x).item() for _ in range(3)]
    handle = model[1].register_forward_hook(lambda m, args, out: seen.append(out.shape) or 10 * out)
    assert [f(x).item() for _ in range(3)] == pytest.approx([10 * v for v in before])
    assert seen == [(1, 3)] * 3
    handle.remove()
    assert [f(x).item() for _ in range(3)] == pytest.approx(before)
    assert len(seen) == 3


class Weighted(nn.Module):
    """Its result depends on a parameter of its own as well."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter([2.0, 3.0, 5.0])

    def forward(self, a, b):
        return np.sin(a) * b * self.w


def array(value):
    return value.detach().numpy() if isinstance(value, ad.Tensor) else value


def tripled():
    layer = Weighted()
    layer.register_full_backward_hook(lambda module, gi, go: tuple(None if g is None else g * 3.0 for g in gi))
    return layer


X, B = np.array([0.3, 0.7, 1.1]), np.array([1.0, -2.0, 0.5])
LATER = {
    "hessian": lambda f: ad.hessian(f)(X),
    "tangents of gradients": lambda f: ad.jvp(ad.grad(f), (X,), (B,))[1],
    "products": lambda f: ad.hvp(f, X, B),
    "twice": lambda f: ad.grad(lambda x: np.sum(B * ad.grad(f)(x)))(X),
    "samples": lambda f: ad.vmap(ad.grad(f))(np.stack([X, B])),
    "compiled": lambda f: [(c := ad.compile(ad.grad(f)))(X), c(X)][1],
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("both", [False, True])
def test_hooks_change_what_is_derived_from_gradients(name, both):
    plain, hooked = Weighted(), tripled()
    other = (lambda x: x * x) if both else (lambda x: B)
    found = LATER[name](lambda x: np.sum(hooked(x, other(x)) ** 2))
    np.testing.assert_allclose(array(found), 3 * array(LATER[name](lambda x: np.sum(plain(x, other(x)) ** 2))), 1e-12)


@pytest.mark.parametrize("outside", [
    lambda f: ad.grad(lambda xs: np.sum(ad.vmap(f)(xs)))(np.stack([X, B])),
    lambda f: ad.jacobian(lambda xs: ad.vmap(f)(xs))(np.stack([X, B])),
    lambda f: ad.grad(lambda x: ad.jvp(f, (x,), (B,))[1])(X),
])  # fmt: skip
def test_hooks_that_would_see_no_cotangents_are_refused(outside):
    layer = tripled()
    with pytest.raises(GradientError, match="its hooks see no cotangents"):
        outside(lambda x: np.sum(layer(x, B) ** 2))
    layer.register_forward_hook(lambda module, args, out: out).remove()  # no cotangents, nothing to see
    plain = Weighted()
    plain.register_forward_hook(lambda module, args, out: out * 2.0)
    found, expected = outside(lambda x: np.sum(plain(x, B))), outside(lambda x: np.sum(2.0 * Weighted()(x, B)))
    np.testing.assert_allclose(array(found), array(expected), 1e-12)
