"""Saved values packed and unpacked: on disk, in fewer bits, or however one likes."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import adjoint as ad


def copying(log=None):
    """Hooks that keep a copy in a list, and note what they are given."""

    def pack(array):
        if log is not None:
            log.append(array)
        return [array.copy()]

    return ad.saved_tensors_hooks(pack, lambda kept: kept[0].copy())


def program(x, w):
    h = np.tanh(x @ w)
    h = np.concatenate([h, h * np.arange(1.0, 4.0)])
    h[0] = np.sin(h[1]) * 2
    h *= h
    return np.sum(np.where(h > 0.1, np.exp(h), h) / np.max(h)) + np.linalg.norm(h) + np.sum(h[:, 1])


def data(dtype=float):
    r = np.random.default_rng(0)
    return r.normal(size=(4, 5)).astype(dtype), r.normal(size=(5, 3)).astype(dtype)


@pytest.mark.parametrize("hooks", [copying, ad.save_on_disk, lambda: ad.save_on_disk(least=0)])
def test_gradients_are_bitwise_the_same(hooks):
    x, w = data()
    expected = ad.grad(program, (0, 1))(x, w)
    with hooks():
        got = ad.grad(program, (0, 1))(x, w)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_again_at_each_backward_pass():
    unpacked = []
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    with ad.saved_tensors_hooks(lambda a: a.copy(), lambda a: unpacked.append(a) or a):
        y = np.sum(np.sin(x))
    y.backward()
    y.backward()
    assert len(unpacked) == 2
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([1.0, 2.0]))


def test_only_arrays_are_packed_and_each_once():
    log = []
    x = ad.tensor(np.ones((2, 3)), requires_grad=True)
    with copying(log):
        y = np.exp(x)  # saves its result,
        z = np.sin(y) * y  # which both of these save too, and the sine
        np.sum(z[np.array([0, 1, 1])], axis=0)  # an index, shapes and an axis
    assert len(log) == 2
    assert all(type(a) is np.ndarray and a.shape == (2, 3) for a in log)


def test_leaves_may_be_passed_by():
    log = []
    w = ad.tensor(np.ones(3), requires_grad=True)
    with ad.saved_tensors_hooks(lambda a: log.append(a) or a, lambda a: a, leaves=False):
        y = np.sum(w * w * np.arange(3.0))
    assert [a.tolist() for a in log] == [[0.0, 1.0, 2.0]]
    y.backward()
    np.testing.assert_array_equal(w.grad.numpy(), [0.0, 2.0, 4.0])


def test_second_order_both_ways():
    def first(x):
        return np.sum(ad.grad(lambda u: np.sum(np.exp(np.sin(u)) * np.arange(2.0)))(x) ** 2)

    point = np.array([0.5, 1.0])
    expected = ad.grad(first)(point)
    with copying():
        np.testing.assert_array_equal(ad.grad(first)(point), expected)
        x = ad.tensor(point, requires_grad=True)
        y = np.sum(np.exp(np.sin(x)) * np.arange(2.0))
    y.backward(create_graph=True)
    g, x.grad = x.grad, None
    np.sum(g**2).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-14)


def test_the_innermost_counts_and_others_come_back():
    outer, inner = [], []
    x = ad.tensor([1.0], requires_grad=True)
    with copying(outer):
        with copying(inner):
            np.sin(x)
        with ad.no_grad(), ad.enable_grad():
            np.cos(x)
        with ad.no_grad():
            assert not np.cos(x).requires_grad
    np.tanh(x)
    assert len(inner) == len(outer) == 1


def test_a_context_may_be_entered_twice_and_an_error_leaves_it():
    log = []
    hooks, x = copying(log), ad.tensor([1.0], requires_grad=True)
    with pytest.raises(ZeroDivisionError), hooks, hooks:
        raise ZeroDivisionError
    np.sin(x)
    assert not log


def test_a_write_after_packing():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    for pack in (lambda a: (a,), lambda a: (a.copy(),)):
        with ad.saved_tensors_hooks(pack, lambda kept: kept[0]):
            y = x * 1.0
            z = y * y
            y[0] = 5.0
            z = z + y * y
        x.grad = None
        np.sum(z).backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 8.0])


def test_a_write_is_seen_though_nothing_else_holds_the_array():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    with ad.save_as(np.float32):
        y = x * 1.0
        z = y * y
        y[0] = 5.0
        z = z + y**2 * y[0]
    np.sum(z).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0 + 5 * 4.0])


def test_somebodys_array_is_still_watched_unless_it_was_copied():
    x, a = ad.tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0])
    with ad.exact_checks(), ad.saved_tensors_hooks(lambda a: (a,), lambda kept: kept[0]):
        kept = np.sum(x * a)
    with copying():
        copied = np.sum(x * a)
    with ad.save_as(np.float16):
        a[0] = 1 / 3
        smaller = np.sum(x * a)
    with pytest.raises(ad.InPlaceError, match="multiply saved"):
        kept.backward()
    copied.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])
    smaller.backward()
    np.testing.assert_allclose(x.grad.numpy(), [3 + 1 / 3, 8.0], rtol=1e-3)


def test_what_is_unpacked_is_checked():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    for wrong, said in ((lambda a: a[:1], r"shape \(1,\)"), (lambda a: a.astype("f4"), "float32"), (list, "list")):
        with ad.saved_tensors_hooks(lambda a: a, wrong):
            y = np.sum(np.sin(x))
        with pytest.raises(ad.RuleError, match=rf"sin saved one of shape \(2,\), float64; got .*{said}"):
            y.backward()
    with pytest.raises(ad.ArgumentError, match="unpack must be a function"):
        ad.saved_tensors_hooks(lambda a: a, None)


def test_files_go_with_the_graph(tmp_path):
    x = ad.tensor(np.ones(20_000), requires_grad=True)
    with ad.save_on_disk(tmp_path):
        y = np.sum(np.exp(np.sin(x * 2)))
    assert len(list(tmp_path.iterdir())) == 2  # x * 2 and exp(…)
    y.backward(retain_graph=False)
    assert not list(tmp_path.iterdir())
    np.testing.assert_allclose(x.grad.numpy()[0], np.exp(np.sin(2.0)) * np.cos(2.0) * 2)
    with ad.save_on_disk(tmp_path):
        y = np.sum(np.exp(x * 2))
    assert list(tmp_path.iterdir())
    del y
    assert not list(tmp_path.iterdir())


def test_the_temporary_folder_goes_too(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    x = ad.tensor(np.ones(20_000), requires_grad=True)
    with ad.save_on_disk():
        y = np.sum(np.exp(x * 2))
    assert len(list(tmp_path.iterdir())) == 1
    del y
    assert not list(tmp_path.iterdir())


def test_fewer_bits():
    x, w = data(np.float32)
    with ad.save_as(np.float16):
        t = ad.tensor(x, requires_grad=True)
        y = np.sum(np.tanh(t @ w))
    assert {h.packed[0].dtype for h in y.node.parents[0].saved if hasattr(h, "packed")} == {np.dtype("f2")}
    y.backward()
    expected = ad.grad(lambda x: np.sum(np.tanh(x @ w)))(x)
    assert t.grad.dtype == np.float32
    np.testing.assert_allclose(t.grad.numpy(), expected, atol=1e-2)
    assert np.any(t.grad.numpy() != expected)
    with pytest.raises(ad.DTypeError, match="int8"):
        ad.save_as(np.int8)


def test_threads_have_their_own():
    log = []
    x = ad.tensor([1.0], requires_grad=True)
    with copying(log), ThreadPoolExecutor(1) as pool:
        pool.submit(np.sin, x).result()
    assert not log
