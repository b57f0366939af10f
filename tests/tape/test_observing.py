"""Hooks of tensors: what they see, what they change, in which order, and that they leave no trace."""

import gc
import weakref

import numpy as np
import pytest

import adjoint as ad


def leaf():
    return ad.tensor([1.0, 2.0], requires_grad=True)


def test_a_hook_sees_the_whole_cotangent_once():
    x, seen = leaf(), []
    y = x * 10
    y.register_hook(seen.append)
    np.sum(y * y + y).backward()
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0].numpy(), [21.0, 41.0])
    np.testing.assert_array_equal(x.grad.numpy(), [210.0, 410.0])


def test_several_hooks_in_order_each_after_what_the_last_one_gave():
    x, seen = leaf(), []
    x.register_hook(lambda g: g + 1)
    x.register_hook(seen.append)
    x.register_hook(lambda g: g.numpy() * 10)
    np.sum(x).backward()
    np.testing.assert_array_equal(seen[0].numpy(), [2.0, 2.0])
    np.testing.assert_array_equal(x.grad.numpy(), [20.0, 20.0])


def test_a_hook_on_an_intermediate_changes_what_goes_back():
    x = leaf()
    y = np.sin(x)
    y.retain_grad()
    handle = y.register_hook(lambda g: 2 * g)
    np.sum(y).backward()
    np.testing.assert_array_equal(y.grad.numpy(), [2.0, 2.0])  # as it is after the hooks
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([1.0, 2.0]))
    handle.remove()
    handle.remove()
    x.grad = y.grad = None
    np.sum(y).backward()
    np.testing.assert_array_equal(y.grad.numpy(), [1.0, 1.0])


def test_a_handle_is_a_context():
    x = leaf()
    with x.register_hook(lambda g: 0 * g):
        np.sum(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])
    np.sum(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])


def test_what_a_hook_keeps_stays_and_cannot_be_written():
    x, seen = leaf(), []
    x.register_hook(seen.append)
    for _ in range(2):
        np.sum(x * 3).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 6.0])
    for g in seen:
        np.testing.assert_array_equal(g.numpy(), [3.0, 3.0])
    x.register_hook(lambda g: g.assign(0.0))
    with pytest.raises(ValueError, match="read-only"):
        np.sum(x).backward()


def test_an_array_that_a_hook_gives_remains_the_users():
    own = np.array([5.0, 5.0])
    x = leaf()
    y = x + 0.0
    y.register_hook(lambda g: own)
    for _ in range(2):
        np.sum(y).backward()
    z = x * 1.0
    z[0] = 3.0  # a rule that writes zeros into the cotangent that it is given
    z.register_hook(lambda g: own)
    np.sum(z).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [10.0, 15.0])
    np.testing.assert_array_equal(own, [5.0, 5.0])


def test_dtype_is_kept_and_shape_is_checked():
    x = ad.tensor(np.ones(2, np.float32), requires_grad=True)
    x.register_hook(lambda g: np.array([1, 2]))
    np.sum(x).backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 2.0])
    x.register_hook(lambda g: g[:1])
    with pytest.raises(ad.ShapeError, match=r"shape \(2,\).*got shape \(1,\)"):
        np.sum(x).backward()


@pytest.mark.parametrize("given", [np.array([1j, 0.0]), np.array(["a", "b"])])
def test_a_hook_must_keep_the_kind_of_numbers(given):
    y = ad.tensor([1.0, 2.0], requires_grad=True) * 2
    y.register_hook(lambda g: given)
    with pytest.raises(ad.DTypeError, match=rf"dtype float64; got {given.dtype}"):
        np.sum(y).backward()


def test_refused_where_nothing_would_be_seen():
    constant = ad.tensor(1.0)
    for register in (constant.register_hook, constant.register_post_accumulate_grad_hook):
        with pytest.raises(ad.GradientError, match="requires no gradient"):
            register(print)
    y = leaf() * 2
    with pytest.raises(ad.GradientError, match="for leaves"):
        y.register_post_accumulate_grad_hook(print)
    y.clear_graph()
    with pytest.raises(ad.GraphFreedError, match="register_hook"):
        y.register_hook(print)


def test_after_a_gradient_was_added():
    x, seen = leaf(), []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t, t.grad.numpy().copy())))
    np.sum(x * 2).backward()
    np.sum(x * 2).backward()
    assert [t is x for t, _ in seen] == [True, True]
    np.testing.assert_array_equal([g for _, g in seen], [[2.0, 2.0], [4.0, 4.0]])
    handle.remove()
    np.sum(x).backward()
    assert len(seen) == 2


def test_a_step_within_the_hook():
    """An optimiser's step as soon as a gradient is there, and its memory given back at once."""
    x = leaf()

    def step(t):
        with ad.no_grad():
            t -= 0.5 * t.grad.numpy()
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        np.sum(x * x).backward()
    np.testing.assert_array_equal(x.numpy(), [0.0, 0.0])
    assert x.grad is None


def test_in_transforms_and_of_higher_order():
    def f(x):
        y = np.sin(x)
        y.register_hook(lambda g: 2 * g)
        return np.sum(y * y)

    point = np.array([0.3, 0.7])
    np.testing.assert_allclose(ad.grad(f)(point), 2 * np.sin(2 * point))
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(ad.grad(f)(x)))(point), 4 * np.cos(2 * point))

    x = ad.tensor(point, requires_grad=True)
    x.register_hook(lambda g: g * g)
    np.sum(x**3).backward(create_graph=True)
    g, x.grad = x.grad, None
    np.testing.assert_allclose(g.numpy(), 9 * point**4)
    x.node.saved = ()
    np.sum(g).backward()
    np.testing.assert_allclose(x.grad.numpy(), 36 * point**3)


def test_a_hook_on_one_of_several_results():
    a = ad.tensor(np.diag([1.0, 2.0]), requires_grad=True)
    values, _ = np.linalg.eigh(a)
    values.register_hook(lambda g: 10 * g)
    np.sum(values).backward()
    np.testing.assert_allclose(a.grad.numpy(), 10 * np.eye(2))


def test_hooks_make_no_cycles():
    gc.disable()
    try:
        x = leaf()
        y = x * 2
        y.retain_grad()
        y.register_hook(print)
        node, fate = weakref.ref(x.node), weakref.ref(x)  # y's node holds that of x
        x.register_post_accumulate_grad_hook(print)
        del x, y
        assert node() is None
        assert fate() is None
    finally:
        gc.enable()
