"""Calls that mean something else in NumPy's and in PyTorch's order of arguments; figures are PyTorch's."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.data.numerals import plain

A = np.arange(1.0, 7.0).reshape(2, 3)


def test_norms_are_of_all_elements():
    t = ad.tensor(A, requires_grad=True)
    np.testing.assert_allclose(t.norm().item(), np.sqrt(91.0))
    np.testing.assert_allclose(t.norm(p=2, dim=(0, 1)).item(), np.sqrt(91.0))
    assert [t.norm(1).item(), t.norm(p=1).item(), ad.norm(t, p=1).item(), t.norm(float("inf")).item()] == [
        21,
        21,
        21,
        6,
    ]
    np.testing.assert_allclose(t.norm(2, 1, True).numpy(), np.sqrt([[14.0], [77.0]]))
    assert t.norm(ord=1).item() == 9.0  # NumPy's word: the matrix norm
    t.norm(1).backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.ones((2, 3)))


def test_sums_of_exponentials_keep_their_axis():
    s = ad.tensor(np.arange(9.0).reshape(3, 3))
    np.testing.assert_allclose((s - s.logsumexp(1, True)).exp().sum(dim=1).numpy(), np.ones(3))
    np.testing.assert_allclose(ad.logsumexp(s, 1, False).numpy(), np.log(np.exp(s.numpy()).sum(1)))


def test_slopes_are_of_channels():
    x, slopes = -np.ones((2, 3, 5, 3)), np.array([0.1, 0.5, 0.9])
    for found in (nn.functional.prelu(x, slopes), nn.functional.prelu(ad.tensor(x), ad.tensor(slopes)).numpy()):
        np.testing.assert_allclose(found[0, :, 0, 0], -slopes)


def test_the_order_of_an_optimisers_arguments():
    p = nn.Parameter(np.ones(2))
    sgd = optim.SGD([p], 0.1, 0.9, 0, 0.5)
    (p**2).sum().backward()
    sgd.step()
    np.testing.assert_allclose(p.numpy(), [0.75, 0.75])


def test_flattened_axes():
    t = ad.tensor(np.ones((2, 3, 4)))
    assert t.flatten(end_dim=1).shape == (6, 4)
    assert t.flatten("F").shape == (24,)


def test_chained_schedules_are_kept():
    sgd = optim.SGD([nn.Parameter(np.ones(3))], lr=0.1)
    schedules = optim.lr_scheduler

    def chained():
        return schedules.ChainedScheduler([schedules.ConstantLR(sgd, 0.1, 2), schedules.ExponentialLR(sgd, 0.9)])

    first = chained()
    first.step()
    second = chained()
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == first.state_dict()


def test_codes_are_no_numbers():
    assert [plain(cell) for cell in ("1_0", "10", " 1.5 ", "1e3")] == [None, 10.0, 1.5, 1000.0]


PAIRS = {
    "ad.max(t, 1)": lambda t: ad.max(t, 1),
    "t.max(1)": lambda t: t.max(1),
    "t.min(-1)": lambda t: t.min(-1),
    "ad.median(t, 1)": lambda t: ad.median(t, 1),
    "ad.sort(t, 1)": lambda t: ad.sort(t, 1),
}


@pytest.mark.parametrize("call", PAIRS)
def test_two_rows_that_are_unpacked_as_a_pair_are_not_silent(call):
    scope = {"ad": ad, "t": ad.tensor([[1.0, 5.0, 2.0], [3.0, 4.0, 9.0]])}
    with pytest.warns(UserWarning, match="dim=") as caught:
        exec(compile(f"_, found = {call}", "program.py", "exec"), scope)
    assert caught[0].filename == "program.py"
    np.testing.assert_array_equal(scope["found"], PAIRS[call](scope["t"])[1])


def test_the_warning_comes_in_transforms_and_not_for_numpys_calls():
    def pytorchs(t):
        largest, _ = ad.max(t, 1)
        return np.sum(largest)

    def numpys(t):
        (a, b), (c, d), (e, f) = np.max(t, 1), t.max(axis=1), np.sort(t, 1)
        values, _ = t.max(dim=1)
        rows = t.max(1)
        return a + b + c + d + np.sum(e * f) + np.sum(values) + np.sum(rows)

    x = np.array([[1.0, 5.0, 2.0], [3.0, 4.0, 9.0]])
    for transform in (ad.grad, ad.vmap):
        with pytest.warns(UserWarning, match="dim=1"):
            transform(pytorchs)(x if transform is ad.grad else x[None])
    assert np.isfinite(ad.grad(numpys)(x)).all()  # warnings are errors here


def test_the_warning_comes_at_recording_too():
    def pytorchs(t):
        largest, _ = ad.max(t, 1)
        return np.sum(largest)

    def numpys(t):
        a, b = ad.max(t, axis=1)
        c, d = t.max(1).T
        return a + b + c + d + np.sum(t.max(1))

    x = np.array([[1.0, 5.0, 2.0], [3.0, 4.0, 9.0]])
    for record in (ad.capture, lambda f, x: ad.compile(f, wait=True)(x)):
        with pytest.warns(UserWarning, match="dim=1") as caught:
            record(pytorchs, x)
        assert caught[0].filename == __file__
        record(numpys, x)  # warnings are errors here


def test_sums_take_a_factor_of_what_is_added():
    t, u = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 5.0], requires_grad=True)
    (t.add(u, alpha=2).sub(u, alpha=0.5) * np.array([1.0, 10.0])).sum().backward()
    np.testing.assert_allclose(u.grad.numpy(), [1.5, 15.0])
    average = ad.tensor([1.0, 2.0])
    average.mul_(0.9).add_(u.detach(), alpha=0.1).sub_(1, alpha=3)
    np.testing.assert_allclose(average.numpy(), [-1.8, -0.7])


def test_names_of_two_arrays_or_of_many_sizes_are_pytorchs():
    a, b = np.array([[1.0, 5.0], [3.0, 2.0]]), np.array([2.0, 4.0])
    for second in (b, ad.tensor(b), ad.tensor(b, requires_grad=True)):
        t = ad.tensor(a, requires_grad=True)
        ad.max(t, second).sum().backward()
        np.testing.assert_array_equal(t.grad.numpy(), a > b)
        np.testing.assert_array_equal(ad.min(t.detach(), second.detach() if second is not b else b), np.minimum(a, b))
    t = ad.tensor(a)
    np.testing.assert_array_equal(t.repeat(2, 1, 3), np.tile(a, (2, 1, 3)))
    np.testing.assert_array_equal(t.repeat(2, axis=1), np.repeat(a, 2, 1))
    np.testing.assert_array_equal(t.repeat(2, axis=0), np.repeat(a, 2, 0))
    np.testing.assert_array_equal(t.repeat([1, 2], axis=0), np.repeat(a, [1, 2], 0))
    hot = nn.functional.one_hot(t.argmax(dim=1), num_classes=3).float()
    np.testing.assert_array_equal(hot, [[0, 1, 0], [1, 0, 0]])


def test_clipped_gradients_are_pytorchs():
    w = nn.Parameter(np.zeros(2))
    w.grad = np.array([3.0, 4.0])
    assert nn.utils.clip_grad_norm_([w], 0.01) == 5.0
    np.testing.assert_allclose(w.grad, np.array([3.0, 4.0]) * (0.01 / (5 + 1e-6)), rtol=1e-12)


@pytest.mark.parametrize(
    "call", ["t.max(1)[1]", "t.max(-1)[0]", "ad.max(t.data, 1)[1]", "t.min(1)[0]", "ad.sort(t, 1)[1]"]
)
def test_a_row_that_is_taken_as_one_of_a_pair_is_not_silent(call):
    scope = {"ad": ad, "t": ad.tensor(np.arange(12.0).reshape(4, 3))}
    with pytest.warns(UserWarning, match=r"dim=.*axis=") as caught:
        exec(compile(f"found = {call}", "program.py", "exec"), scope)
    assert caught[0].filename == "program.py"


def test_rows_that_numpys_calls_give_are_taken_silently():
    t, x = ad.tensor(np.arange(12.0).reshape(4, 3)), np.arange(12.0).reshape(4, 3)
    k = 1
    found = [t.max(axis=1)[1], np.max(t, 1)[1], t.max(0)[1], t.max(1)[2], t.max(1)[k], t.max(dim=1)[0][1], x.max(1)[1]]
    assert [float(f) for f in found] == [5, 5, 10, 8, 5, 5, 5]  # warnings are errors here


SILENT_BEFORE = {
    "t.std()": "correction=1",
    "ad.std(t)": "correction=1",
    "t.var(0)": "correction=1",
    "t.repeat(2)": r"t\.tile",
    "t.repeat(2, 1)": r"t\.tile",
    "ad.split(v, 3)": "dim=0",
    "ad.meshgrid(v, v)": "indexing='ij'",
    "t.nonzero()": "as_tuple=False",
    "ad.nonzero(t)": "as_tuple=False",
    "ad.sort(v)": "dim=-1",
    "ad.median(t)": "axis=",
}


@pytest.mark.parametrize("call", SILENT_BEFORE)
def test_a_name_that_means_another_thing_in_pytorch_is_not_silent(call):
    scope = {"ad": ad, "t": ad.tensor(A), "v": ad.tensor(np.arange(6.0), requires_grad=True)}
    with pytest.warns(UserWarning, match=SILENT_BEFORE[call]) as caught:
        exec(compile(f"found = {call}", "program.py", "exec"), scope)
    assert [(each.filename, each.lineno) for each in caught] == [("program.py", 1)]


def test_words_numpys_calls_and_transforms_say_what_is_meant():
    t, v = ad.tensor(A), ad.tensor(np.arange(6.0))
    found = [t.std(axis=0), t.std(correction=1), t.var(ddof=1), np.std(t), t.repeat(2, axis=1), np.repeat(t, 2)]
    found += [ad.split(v, 3, axis=0), ad.split(v, 3, dim=0), np.split(v, 3), ad.split(ad.arange(9.0), 3), np.sort(v)]
    found += [ad.meshgrid(v, v, indexing="xy"), np.meshgrid(v, v), t.nonzero(as_tuple=True), np.nonzero(t)]
    found += [ad.sort(v, axis=-1), np.median(t), ad.median(t, axis=1), ad.median(ad.arange(5.0)), nn.LayerNorm(3)(t)]
    assert len(found) == 20  # warnings are errors here
    spread = lambda x: np.sum(x.std(0)) + np.sum(ad.sort(x.ravel())[:2]) + np.sum(x.repeat(2)) + np.sum(x.var())
    assert np.isfinite(ad.grad(spread)(A)).all()
    assert np.isfinite(ad.vmap(spread)(A[None])).all()


@pytest.mark.parametrize("call", ["ad.max(t, 1)", "t.max(1)", "ad.min(x, 0)"])
def test_any_number_of_rows_that_is_unpacked_as_a_pair_says_what_to_write(call):
    scope = {"ad": ad, "t": ad.tensor(np.ones((3, 2))), "x": np.ones((2, 3))}
    with pytest.warns(UserWarning, match="dim="), pytest.raises(ValueError, match="unpack"):
        exec(compile(f"_, found = {call}", "program.py", "exec"), scope)
