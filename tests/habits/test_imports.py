"""Lines that import by PyTorch's paths, and the functions that stand there; values are PyTorch's."""

import importlib.util

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

LINES = """
import adjoint.nn.functional as F
from adjoint.nn.parameter import Parameter
from adjoint.nn.init import xavier_uniform_
from adjoint.nn.utils import clip_grad_norm_
from adjoint.nn.utils.rnn import pad_sequence, pack_padded_sequence
from adjoint.nn.utils.parametrizations import weight_norm
from adjoint.optim import Adam, lr_scheduler
from adjoint.optim.lr_scheduler import StepLR
from adjoint.optim.swa_utils import AveragedModel
from adjoint.utils.data import DataLoader, Dataset, TensorDataset, random_split
import adjoint.utils.data as data
from adjoint.utils import data
from adjoint.utils.data.sampler import RandomSampler
from adjoint.utils.data.dataloader import default_collate
from adjoint.utils.data.dataset import Dataset
from adjoint.utils.tensorboard import SummaryWriter
import adjoint.nn.modules.loss
from adjoint.nn.modules import Module
from adjoint.nn.modules.batchnorm import _BatchNorm
import adjoint.linalg as linalg
from adjoint.linalg import inv, solve_triangular
from adjoint.fft import rfft
from adjoint.special import expit
from adjoint.cuda import is_available
from adjoint.utils.checkpoint import checkpoint, checkpoint_sequential
import adjoint.autograd as autograd
from adjoint.autograd import grad, no_grad, enable_grad, set_grad_enabled, detect_anomaly
from adjoint.autograd.functional import jacobian, hessian, vjp, jvp, hvp, vhp
from adjoint.func import vmap, grad, grad_and_value, functional_call, jacrev, jacfwd, hessian, vjp, jvp, linearize
"""
X = np.array([1.0, 2.0, -0.5])


@pytest.mark.parametrize("line", LINES.split("\n")[1:-1])
def test_a_line_that_imports(line):
    scope = {}
    exec(line, scope)
    assert len(scope) > 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from adjoint.autograd import gradcheck", "check_grads"),
        ("from adjoint.nn.utils import weight_norm", "parametrizations.weight_norm"),
        ("from adjoint import randn", "rng"),
        ("from adjoint.utils import dlpack", "from_dlpack"),
    ],
)
def test_a_line_that_imports_what_is_elsewhere(line, said):
    with pytest.raises(ImportError, match=f"Here it is: .*{said}"):
        exec(line, {})
    assert not hasattr(ad.autograd, "gradcheck")


def test_data_is_one_module():
    assert importlib.import_module("adjoint.utils.data") is ad.data is ad.utils.data
    assert importlib.util.find_spec("adjoint.utils.data") is not None


def same(found, expected):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e)
    else:
        np.testing.assert_allclose(found.detach().numpy(), expected)


def test_derivatives_of_functions():
    x, one, zero, d = ad.tensor(X), np.ones(3), np.zeros(3), ad.autograd.functional
    two, cubes = (x, 2 * x), lambda x: (x**3).sum()
    same(d.jacobian(lambda x: x**2, x), np.diag(2 * X))
    same(d.jacobian(lambda x: x**2, x, vectorize=True, strategy="forward-mode"), np.diag(2 * X))
    same(d.jacobian(lambda x, y: (x * y, x.sum()), two, create_graph=True), ((np.diag(2 * X), np.diag(X)), (one, zero)))
    same(d.hessian(cubes, x), np.diag(6 * X))
    same(d.hessian(lambda x, y: (x * y).sum(), [*two]), ((np.zeros((3, 3)), np.eye(3)), (np.eye(3), np.zeros((3, 3)))))
    same(d.vjp(lambda x: x**2, x, ad.tensor(one)), (X**2, 2 * X))
    same(d.vjp(cubes, x), ((X**3).sum(), 3 * X**2))
    same(d.vjp(lambda x, y: x * y, two, ad.tensor(one)), (2 * X**2, (2 * X, X)))
    same(d.jvp(lambda x, y: x * y, two, (ad.tensor(one), ad.tensor(zero))), (2 * X**2, 2 * X))
    same(d.jvp(lambda x: x**2, x[:1]), (X[:1] ** 2, 2 * X[:1]))
    for product in (d.hvp, d.vhp):
        same(product(cubes, x, ad.tensor(one)), ((X**3).sum(), 6 * X))
    with pytest.raises(ad.ArgumentError, match="cotangent"):
        d.vjp(lambda x: x**2, x)
    with pytest.raises(ad.ArgumentError, match="direction"):
        d.hvp(cubes, x)


def test_functions_of_functions():
    x, func = ad.tensor(X), ad.func
    rows = ad.tensor(np.stack([X, 2 * X]))
    same(func.grad_and_value(lambda x: (x**2).sum())(x), (2 * X, (X**2).sum()))
    same(func.grad_and_value(lambda x: ((x**2).sum(), x), has_aux=True)(x), (2 * X, ((X**2).sum(), X)))
    same(func.vmap(lambda r, y: r @ y, in_dims=(0, None))(rows, x), np.stack([X @ X, 2 * X @ X]))
    same(func.vmap(lambda c: 2 * c, in_dims=1, out_dims=1)(rows), 2 * rows.numpy())
    net, given = nn.Linear(3, 1), {"weight": ad.ones(1, 3), "bias": ad.zeros(1)}
    loss = lambda p, r: func.functional_call(net, p, (r,)).sum() ** 2
    found = func.vmap(func.grad(loss), in_dims=(None, 0))(given, rows)
    np.testing.assert_allclose(found["weight"], 2 * rows.numpy().sum(1)[:, None, None] * rows.numpy()[:, None])


def test_what_is_computed_again():
    from adjoint.utils import checkpoint as again

    x = ad.tensor(X, requires_grad=True)
    again.checkpoint(lambda x, k: k * x**2, x, k=3, use_reentrant=False).sum().backward()
    again.checkpoint_sequential([np.sin, np.cos], 2, x, use_reentrant=True).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * X - np.sin(np.sin(X)) * np.cos(X))


def test_gradients_by_tensors_are_tensors_where_no_rule_reads_them():
    x = ad.ones(3)
    linear = lambda x: (2 * x).sum()
    for found in (ad.grad(linear)(x), ad.vjp(linear, x)[1](1.0)[0], ad.grad(lambda p: linear(p["x"]))({"x": x})["x"]):
        assert isinstance(found, ad.Tensor)
        assert not found.requires_grad
        np.testing.assert_array_equal(found.numpy(), [2.0, 2.0, 2.0])
    assert isinstance(ad.grad(linear)(np.ones(3)), np.ndarray)
    assert isinstance(ad.grad(lambda x: 3 * x)(ad.tensor(1.0)), ad.Tensor)
    assert type(ad.grad(ad.grad(lambda x: 3 * x))(1.0)) is np.float64
