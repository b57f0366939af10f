"""`adjoint.xp` has what the standard asks for, with its signatures, and NumPy's values."""

from __future__ import annotations

import inspect

import array_api_strict as strict
import numpy as np
import pytest

import adjoint as ad
from adjoint import xp

NOT_OF_THE_STANDARD = {
    *("get_array_api_strict_flags", "reset_array_api_strict_flags", "set_array_api_strict_flags"),
    *("ArrayAPIStrictFlagsWarning", "ArrayAPIStrictFlags", "Device", "__version__"),
}
# What array-api-strict asks to be given, and the standard does not.
WITH_DEFAULTS = {"expand_dims"}


def functions_of(module):
    """The names of the functions that the standard has in `module`."""
    names = vars(module) if module is strict else module.__all__
    return [n for n in sorted(names) if inspect.isfunction(getattr(module, n)) and n not in NOT_OF_THE_STANDARD]


TABLE = [
    pytest.param(theirs, ours, name, id=f"{theirs.__name__}.{name}")
    for theirs, ours in ((strict, xp), (strict.linalg, xp.linalg), (strict.fft, xp.fft))
    for name in functions_of(theirs)
]


@pytest.mark.parametrize(("theirs", "ours", "name"), TABLE)
def test_signature(theirs, ours, name):
    expected = inspect.signature(getattr(theirs, name)).parameters.values()
    got = inspect.signature(getattr(ours, name)).parameters.values()
    assert [(p.name, p.kind) for p in got] == [(p.name, p.kind) for p in expected]
    for mine, other in zip(got, expected, strict=True):
        undefined = getattr(type(other.default), "__name__", "") == "Undef" or name in WITH_DEFAULTS
        assert undefined or mine.default == other.default, mine.name
    assert getattr(ours, name).__name__ == name


def test_nothing_is_missing():
    missing = set(strict.__all__) - set(dir(xp)) - NOT_OF_THE_STANDARD
    assert not missing
    assert len(TABLE) > 170


def array(*shape, dtype=float):
    return ad.tensor(np.random.default_rng(3).normal(size=shape)).astype(dtype)


DEPENDS = [
    lambda n, x: n.concat([x, x], axis=None),
    lambda n, x: n.sort(x, axis=0, descending=True),
    lambda n, x: n.std(x, axis=1, correction=1.0),
    lambda n, x: n.clip(x, -0.5, None),
    lambda n, x: n.clip(x),
    lambda n, x: n.linalg.vector_norm(x, axis=1, ord=3.0),
    lambda n, x: n.linalg.svd(x, full_matrices=False).S,
    lambda n, x: n.linalg.slogdet(n.matmul(x.mT, x) + n.eye(3)).logabsdet,
    lambda n, x: n.linalg.qr(x).R[0, 0] ** 2,
    lambda n, x: n.linalg.eigh(n.matmul(x.T, x)).eigenvalues,
    lambda n, x: n.abs(n.fft.rfft(x, axis=0)) ** 2,
    lambda n, x: n.cumulative_sum(x, axis=0, include_initial=True),
    lambda n, x: n.diff(x, axis=0, prepend=x[:1, ...]),
    lambda n, x: n.take(x, n.asarray([2, 0, 0]), axis=1),
    lambda n, x: n.take_along_axis(x, n.argsort(x, axis=1), axis=1),
    lambda n, x: n.where(x > 0, x, 0.0),
    lambda n, x: n.unique_all(x).values,
    lambda n, x: n.unique_inverse(x).values,
    lambda n, x: n.unique_counts(x).values,
    lambda n, x: n.unique_values(x),
    lambda n, x: n.repeat(x, n.asarray([1, 0, 2]), axis=1),
    lambda n, x: n.unstack(x, axis=1)[1],
    lambda n, x: n.broadcast_arrays(x, n.ones((2, 4, 3)))[0],
    lambda n, x: n.meshgrid(x[0, :], x[1, :], indexing="ij")[1],
    lambda n, x: n.astype(x, n.float32),
    lambda n, x: n.real(n.astype(x, n.complex128) * 1j * 1j),
    lambda n, x: n.vecdot(x, x, axis=-2),
    lambda n, x: n.tensordot(x, x, axes=((0,), (0,))),
    lambda n, x: n.linalg.pinv(x, rtol=1e-6),
    lambda n, x: n.linalg.trace(x, offset=1),
    lambda n, x: n.tril(x, k=-1),
    lambda n, x: n.asarray(x, copy=True),
]


@pytest.mark.parametrize("program", DEPENDS)
def test_values_are_the_strict_ones_and_gradients_flow(program):
    values = array(4, 3).numpy()
    x = ad.tensor(values, requires_grad=True)
    out = program(xp, x)
    expected = np.asarray(program(strict, strict.asarray(values)))
    assert isinstance(out, ad.Tensor)
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6, atol=1e-12)
    direction, step = np.random.default_rng(4).normal(size=values.shape), 1e-6
    if out.dtype == np.float64:
        slope = sum(s * np.sum(program(xp, ad.tensor(values + s * step * direction)).numpy()) for s in (1, -1)) / (
            2 * step
        )
        xp.sum(out).backward()
        np.testing.assert_allclose(np.sum(x.grad.numpy() * direction), slope, rtol=1e-5, atol=1e-8)
    else:
        assert out.requires_grad


CONSTANTS = [
    lambda n, x: n.isnan(x),
    lambda n, x: n.isfinite(x),
    lambda n, x: n.signbit(x),
    lambda n, x: n.argmax(x, axis=1, keepdims=True),
    lambda n, x: n.argsort(x, axis=1, descending=True),
    lambda n, x: n.argsort(n.sign(x), axis=0, descending=True),
    lambda n, x: n.argsort(n.sign(x), axis=0),
    lambda n, x: n.any(x > 1, axis=0),
    lambda n, x: n.all(n.less(x, 9.0)),
    lambda n, x: n.count_nonzero(x, axis=0),
    lambda n, x: n.nonzero(x > 0)[1],
    lambda n, x: n.searchsorted(n.sort(x[:, 0]), x[:, 1], side="right"),
    lambda n, x: n.unique_all(x).inverse_indices,
    lambda n, x: n.unique_counts(x).counts,
    lambda n, x: n.linalg.matrix_rank(x),
    lambda n, x: n.astype(x * 10, n.int32),
    lambda n, x: (x > 0) & ~(x > 1) | (x == 2.0) ^ (x != 1.0),
    lambda n, x: n.zeros_like(x),
    lambda n, x: n.full_like(x, 2.0),
    lambda n, x: n.linspace(0.0, 1.0, 4, endpoint=False),
    lambda n, x: n.arange(1, 7, 2),
    lambda n, x: n.eye(2, 3, k=1),
    lambda n, x: n.fft.fftfreq(5, d=0.5),
    lambda n, x: n.bitwise_left_shift(n.asarray([1, 2]), 2),
    lambda n, x: n.asarray([1, 2]) << n.asarray([3, 4]),
]


@pytest.mark.parametrize("program", CONSTANTS)
def test_constants_are_tensors(program):
    values = array(4, 3).numpy()
    out = program(xp, ad.tensor(values, requires_grad=True))
    expected = np.asarray(program(strict, strict.asarray(values)))
    assert isinstance(out, ad.Tensor)
    assert not out.requires_grad
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out.numpy(), expected)


class TestAsarray:
    def test_a_tensor_is_itself(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        assert xp.asarray(t) is t
        assert xp.asarray(t, dtype=xp.float64, copy=False) is t

    def test_a_copy_passes_gradients_on(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        (xp.asarray(t, copy=True) * 3).sum().backward()
        assert t.grad.tolist() == [3.0, 3.0]

    def test_sequences_of_tensors_are_joined(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        joined = xp.asarray([[t[0], 1.0], [0, t[1]]])
        assert joined.tolist() == [[1.0, 1.0], [0.0, 2.0]]
        xp.sum(joined * joined).backward()
        assert t.grad.tolist() == [2.0, 4.0]

    def test_arrays_are_shared_or_copied(self):
        a = np.zeros(2)
        assert np.shares_memory(xp.asarray(a).numpy(), a)
        assert not np.shares_memory(xp.asarray(a, copy=True).numpy(), a)

    def test_copies_are_refused_where_they_must_be_made(self):
        t = ad.tensor([1.0])
        for what, options in ((t, {"dtype": xp.float32}), ([t], {})):
            with pytest.raises(ad.ArgumentError, match="copy=False"):
                xp.asarray(what, copy=False, **options)
        with pytest.raises(ValueError, match="copy"):
            xp.asarray([1.0], copy=False)

    def test_other_devices_are_refused(self):
        with pytest.raises(ad.ArgumentError, match="cpu"):
            xp.asarray([1.0], device="gpu")
        assert xp.zeros(2, device="cpu").device == "cpu"


def test_creation_from_tensors_passes_gradients():
    t = ad.tensor(2.0, requires_grad=True)
    (xp.sum(xp.full((2, 2), t)) + xp.sum(xp.full_like(xp.ones(3), t)) + xp.sum(xp.linspace(0.0, t, 3))).backward()
    assert t.grad.item() == 4 + 3 + 1.5


def test_arange_refuses_a_bound_with_a_gradient():
    assert xp.arange(ad.tensor(3)).tolist() == [0, 1, 2]
    with pytest.raises(ad.LeavesGraphError):
        xp.arange(ad.tensor(3.0, requires_grad=True))


def test_the_namespace_of_a_tensor():
    t = ad.tensor([[1.0, 2.0]], requires_grad=True)
    assert t.__array_namespace__() is xp
    assert t.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ad.ArgumentError, match=r"2024\.12"):
        t.__array_namespace__(api_version="2099.1")
    assert t.to_device("cpu") is t
    with pytest.raises(ad.ArgumentError):
        t.to_device("gpu")
    assert t.mT.shape == t.T.shape == (2, 1)


def test_what_the_namespace_says_of_itself():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"]
    assert info.default_dtypes()["real floating"] == xp.float64
    assert list(info.devices()) == ["cpu"]  # a tuple from NumPy 2.5 on
    assert info.dtypes(kind="complex floating") == {"complex64": xp.complex64, "complex128": xp.complex128}


def test_questions_about_dtypes():
    t = ad.tensor([1.0], dtype=np.float32, requires_grad=True)
    assert xp.finfo(t).eps == xp.finfo(xp.float32).eps == np.finfo(np.float32).eps
    assert xp.iinfo(xp.int8).max == 127
    assert xp.isdtype(t.dtype, "real floating")
    assert not xp.isdtype(t.dtype, ("integral", xp.float64))
    assert xp.result_type(t, xp.complex64, 1.0) == xp.complex64
    assert xp.can_cast(t, xp.float64)
    assert not xp.can_cast(xp.float64, xp.int64)
    assert xp.astype(t, xp.float32, copy=False) is t


def test_numpys_further_functions_are_there():
    t = ad.tensor([1.0, 2.0], requires_grad=True)
    assert xp.pad(t, 1).requires_grad
    assert isinstance(xp.isclose(t, t), ad.Tensor)
    with pytest.raises(AttributeError, match="fromfile"):
        _ = xp.fromfile
    with pytest.raises(AttributeError, match="no_such"):
        _ = xp.special.no_such


def test_special_functions():
    t = ad.tensor([1.5, 2.5], requires_grad=True)
    xp.sum(xp.special.gammaln(t)).backward()
    np.testing.assert_allclose(t.grad.numpy(), xp.special.digamma(t.detach()).numpy())
