"""`autograd.Function`: values, gradients and second gradients are PyTorch's."""

import numpy as np
import pytest

import adjoint as ad


def normal(*shape, seed=0):
    return ad.tensor(np.random.default_rng(seed).normal(size=shape))


class Exp(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result


class Linear(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        out = x.mm(weight.t())
        if bias is not None:
            out += bias.unsqueeze(0).expand_as(out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, weight, bias = ctx.saved_tensors
        by_bias = g.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
        return g.mm(weight), g.t().mm(x), by_bias


class Powers(ad.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x**k, x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, a, b):
        (x,) = ctx.saved_tensors
        return a * ctx.k * x ** (ctx.k - 1) + b * ctx.k, None


def test_results_saved_and_derivatives_of_three_orders():
    x = normal(3).requires_grad_()
    y = Exp.apply(x)
    assert (type(y), y.requires_grad) == (ad.Tensor, True)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, np.exp(x.numpy()))
    (first,) = ad.autograd.grad(Exp.apply(x).pow(2).sum(), x, create_graph=True)
    (second,) = ad.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = ad.autograd.grad(second.sum(), x)
    for k, found in enumerate((first, second, third), 1):
        np.testing.assert_allclose(found.detach(), 2**k * np.exp(2 * x.numpy()), rtol=1e-12)
    constant = Exp.apply(normal(2))
    assert (type(constant), constant.requires_grad) == (ad.Tensor, False)


def test_arguments_that_are_left_out_or_no_tensors():
    x, w, b = normal(4, 3), normal(2, 3, seed=1).requires_grad_(), normal(2, seed=2).requires_grad_()
    Linear.apply(x, w, b).pow(2).sum().backward()
    np.testing.assert_allclose(w.grad[0], [5.0453989086, 3.1893915387, -1.3690903177], rtol=1e-9)  # PyTorch's
    np.testing.assert_allclose(b.grad, [1.357713924, -5.2032718766], rtol=1e-9)
    w.grad = None
    for args in ((x, w), (x, w, None)):
        Linear.apply(*args).pow(2).sum().backward()
    np.testing.assert_allclose(w.grad[0], np.multiply(2, [4.943609198, 3.3194480661, -1.4974985692]), rtol=1e-9)


def test_several_results_and_a_context_that_is_set_up():
    x = normal(3).requires_grad_()
    p, q = Powers.apply(x, 3)
    (2 * p.sum() + q.sum()).backward()
    np.testing.assert_allclose(x.grad, 6 * x.numpy() ** 2 + 3)
    p, _ = Powers.apply(x, 3)
    (first,) = ad.autograd.grad(p.sum(), x, create_graph=True)
    (second,) = ad.autograd.grad((first * first).sum(), x)
    np.testing.assert_allclose(second, 36 * x.numpy() ** 3)


def test_the_rule_is_used_and_not_what_forward_does():
    class Straight(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.scale = scale
            return np.sign(x) * scale

        @staticmethod
        def backward(ctx, g):
            return g * ctx.scale, None

    x = normal(3).requires_grad_()
    (Straight.apply(x, 2.0) * np.arange(3)).sum().backward()
    np.testing.assert_array_equal(x.grad, [0, 2, 4])
    with pytest.raises(ad.NotSupportedError, match=r"x\.clone\(\)"):
        ad.autograd.function.Context().mark_dirty(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_every_mode(compiled):
    run = (lambda f, *args: ad.compile(f, wait=True)(*args)) if compiled else (lambda f, *args: f(*args))
    x = np.array([0.5, -1.0])
    total = lambda x: np.sum(Exp.apply(x))
    np.testing.assert_allclose(run(ad.grad(total), x), np.exp(x))
    np.testing.assert_allclose(run(ad.hessian(total), x), np.diag(np.exp(x)))
    np.testing.assert_allclose(run(ad.vmap(ad.grad(total)), np.stack([x, 2 * x])), np.exp([x, 2 * x]))
    np.testing.assert_allclose(run(lambda x: ad.jvp(Exp.apply, (x,), (x,))[1], x), x * np.exp(x))
    assert type(run(ad.vmap(ad.grad(total)), np.stack([x, x]))) is np.ndarray
    np.testing.assert_allclose(ad.grad(ad.grad(Exp.apply))(1.0), np.e)
