"""What somebody else overwrites between forward and backward: an error, or no matter; never a wrong gradient."""

from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg, signal, sparse
from adjoint.tape.writes import foreign as watch
from adjoint.tape.writes.fingerprint import fingerprint

NUMBERS, MASK = np.array([0, 2, 2]), np.array([True, False, True, True])
FLOATS = np.array([1.5, 2.0, -3.0, 0.5])
TRIANGLE = 2 * np.eye(4) + np.tri(4)


def written(t, write):
    """A copy of `t`, into which something is written."""
    y = t * 1
    write(y)
    return y * t


PROGRAMS = {
    "product": (lambda t, c: t * c, FLOATS),
    "product with a list": (lambda t, c: t * c, FLOATS.tolist()),
    "index": (lambda t, c: t[c] ** 2, NUMBERS),
    "list as an index": (lambda t, c: t[c] ** 2, NUMBERS.tolist()),
    "mask": (lambda t, c: t[c] ** 2, MASK),
    "take": (lambda t, c: np.take(t, c) ** 2, NUMBERS),
    "take_along_axis": (lambda t, c: np.take_along_axis(t, c, 0) ** 2, NUMBERS),
    "repeat": (lambda t, c: np.repeat(t, c) ** 2, np.array([1, 0, 2, 1])),
    "bincount": (lambda t, c: np.bincount(c, t, minlength=3) ** 2, np.array([0, 2, 2, 1])),
    "choose": (lambda t, c: np.choose(c, [t, t**2]), np.array([0, 1, 1, 0])),
    "where": (lambda t, c: np.where(c, t, t**2), MASK),
    "sum where": (lambda t, c: np.sum(t**2, where=c), MASK),
    "add.at": (lambda t, c: written(t, lambda y: np.add.at(y, c, t[:3])), NUMBERS),
    "setitem": (lambda t, c: written(t, lambda y: y.__setitem__(c, t[:3])), NUMBERS),
    "put": (lambda t, c: written(t, lambda y: np.put(y, c, t[:3])), NUMBERS),
    "einsum": (lambda t, c: np.einsum("i,i,j->j", t, c, t), FLOATS),
    "two constants": (lambda t, c: ad.core.registry.operation("clamp")(t, c, c + 1), FLOATS - 1),
    "fftconvolve": (lambda t, c: signal.fftconvolve(t, c), FLOATS),
    "lfilter": (lambda t, c: signal.lfilter(c, [1.0, 0.3], t), FLOATS),
    "solve": (lambda t, c: np.linalg.solve(c, t), TRIANGLE),
    "solve_triangular": (lambda t, c: linalg.solve_triangular(c, t, lower=True), TRIANGLE),
    "cho_solve": (lambda t, c: linalg.cho_solve((c, True), t), TRIANGLE),
    "lstsq": (lambda t, c: np.linalg.lstsq(c, t)[0], TRIANGLE[:, :2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_constant_that_is_overwritten(name):
    program, constant = PROGRAMS[name]

    def gradient(overwrite):
        given = constant.copy()
        t = ad.tensor([0.5, 1.2, 0.8, 1.7], requires_grad=True)
        loss = np.sum(program(t, given))
        if overwrite:
            given[:] = constant[::-1] if isinstance(constant, list) else np.roll(constant, 1, axis=0)
        loss.backward()
        return t.grad.numpy()

    right = gradient(overwrite=False)
    with suppress(ad.InPlaceError):
        np.testing.assert_array_equal(gradient(overwrite=True), right)


def test_each_of_several_constants_is_watched():
    betainc = ad.core.registry.operation("betainc")
    for k in (0, 1):
        constants = [np.array([1.5, 2.5]), np.array([0.7, 1.1])]
        x = ad.tensor([0.3, 0.6], requires_grad=True)
        with ad.exact_checks():
            loss = np.sum(betainc(*constants, x))
        constants[k][0] = 4.0
        with pytest.raises(ad.InPlaceError, match=r"betainc saved at .*test_foreign\.py"):
            loss.backward()


SIZES = (1, 3, 100, 256, 257, 1000, 20_000, 100_000)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("copied", [0, watch.COPIED])
def test_one_element_of_many(size, copied, monkeypatch):
    monkeypatch.setattr(watch, "COPIED", copied)
    for k in {0, 1 % size, size // 2, size - 1}:
        t, x = ad.tensor(np.ones(size), requires_grad=True), np.linspace(1.0, 2.0, size)
        before = x.copy()
        loss = np.sum(t * x)
        x[k] = 5.0
        if copied:
            loss.backward()
            np.testing.assert_array_equal(t.grad.numpy(), before)
        else:
            with pytest.raises(ad.InPlaceError, match=r"multiply saved at .*test_foreign\.py"):
                loss.backward()


def changes(a):
    """Copies of `a` in which something differs, among them what sums of words take for the same."""
    n = a.size
    for i in (0, 1, n // 2, n - 2, n - 1):
        b = a.copy()
        b[i] = -b[i]
        yield b
    for i, j in ((0, 1), (0, n - 1), (n // 2, n // 2 + 1), (5, 4101), (7, 8199)):
        b = a.copy()
        b[[i, j]] = -b[[i, j]]
        yield b
        b = a.copy()
        b[[i, j]] = b[[j, i]]
        yield b
    yield from (-a, a * 2.0, a / 2.0, np.roll(a, 1), np.roll(a, 4096), a[::-1].copy(), np.sort(a), np.zeros_like(a))
    for size in (4096, 8192):
        b = a.copy()
        b[:size], b[size : 2 * size] = a[size : 2 * size], a[:size]
        yield b


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.complex128])
@pytest.mark.parametrize("size", [17_000, 40_961])
def test_a_fingerprint_changes_with_whatever_changes(dtype, size):
    rng = np.random.default_rng(0)
    for a in (rng.uniform(1, 9, size), rng.integers(1, 4, size), np.arange(1, size + 1)):
        a = a.astype(dtype)
        mark = fingerprint(a)
        assert mark == fingerprint(a.copy()) == fingerprint(np.stack([a, a], axis=-1)[:, 0])
        assert len(mark) < max(a.nbytes / 100, 34_000)
        for b in changes(a):
            assert (fingerprint(b.astype(dtype)) == mark) == np.array_equal(a, b.astype(dtype))


def test_a_constant_that_a_loop_uses_is_copied_once():
    matrix, y = np.eye(50) * 0.5, ad.tensor(np.ones(50), requires_grad=True)
    for _ in range(200):
        y = matrix @ y
    assert ad.saved(y).nbytes < 2 * matrix.nbytes
    copies = len(watch._copies)
    del y
    assert len(watch._copies) < copies


def test_a_copy_is_shared_only_while_the_array_is_what_it_was():
    a = np.arange(1000.0)
    t = ad.tensor(np.ones(1000), requires_grad=True)
    first = t * a
    a[999] = -1.0
    np.sum(first + t * a).backward()
    assert t.grad[999].item() == 999.0 - 1.0


def test_what_a_checkpoint_closes_over_counts_where_its_value_does_not_change():
    a, b = np.ones(3), np.full(3, 2.0)
    f = ad.checkpoint(lambda t: (t - a) * b)
    t = ad.tensor(np.ones(3), requires_grad=True)
    loss = np.sum(f(t))
    b[0] = 7.0
    with pytest.raises(ad.GradientError, match="did not give what it gave"):
        loss.backward()


def test_a_sparse_matrix_is_the_one_that_it_was_made_of():
    values, columns, starts = np.array([2.0, 4.0]), np.array([0, 1]), np.array([0, 1, 2])
    matrix = sparse.csr(values, columns, starts, (2, 2))
    b = ad.tensor([1.0, 1.0], requires_grad=True)
    loss = np.sum(sparse.spsolve(matrix, b) + matrix @ b)
    values[:], columns[:] = [1.0, 1.0], [1, 0]
    loss.backward()
    np.testing.assert_allclose(b.grad.numpy(), [2.5, 4.25])


def test_factors_of_a_sparse_matrix_follow_its_values():
    values = ad.tensor([2.0, 4.0], requires_grad=True)
    matrix = sparse.csr(values, [0, 1], [0, 1, 2], (2, 2))
    sparse.spsolve(matrix, np.ones(2))
    with ad.no_grad():
        values[0] = 8.0
    np.testing.assert_allclose(sparse.spsolve(matrix, np.ones(2)).numpy(), [0.125, 0.25])


@pytest.mark.parametrize("transform", ["grad", "vjp", "hessian", "vmap of grad", "jvp of grad", "grad of jvp"])
def test_an_argument_that_the_function_overwrites_by_another_name(transform):
    def gradient(overwrite):
        x = np.array([0.5, 1.5, 1.0])

        def f(t):
            y = np.sin(t) * t
            if overwrite:
                x[...] = 9.0
            return np.sum(y * y)

        return {
            "grad": lambda: ad.grad(f)(x),
            "vjp": lambda: ad.vjp(f, x)[1](1.0)[0],
            "hessian": lambda: ad.hessian(f)(x),
            "vmap of grad": lambda: ad.vmap(ad.grad(f))(x[None]),
            "jvp of grad": lambda: ad.jvp(ad.grad(f), (x,), (np.ones(3),))[1],
            "grad of jvp": lambda: ad.grad(lambda t: ad.jvp(f, (t,), (np.ones(3),))[1])(x),
        }[transform]()

    np.testing.assert_array_equal(gradient(overwrite=True), gradient(overwrite=False))


@pytest.mark.parametrize("size", [100, 3000, 40_000])
def test_memory_of_copies_is_used_again_by_no_two_at_once(size):
    a, b = np.arange(float(size)), np.arange(float(size))[::-1]
    t = ad.tensor(np.ones(size), requires_grad=True)
    np.sum(t * a).backward()  # leaves memory behind, with the numbers of `a`
    first, second = t * a, t * a
    a[-1] = -1.0
    third, fourth = t * b, t * a
    kept = [y.node.saved[0] for y in (first, second, third, fourth)]
    assert kept[0] is kept[1] or size < 300
    for x in kept[2:]:
        assert not np.shares_memory(kept[0], x)
    view = kept[3][::2]  # alive, where its graph is not
    del fourth, kept
    fifth = t * (a + 1.0)
    np.testing.assert_array_equal(view, a[::2])
    t.grad = None
    np.sum(first + second + third + fifth).backward()
    expected = 2 * np.arange(float(size)) + b + a + 1.0
    np.testing.assert_array_equal(t.grad.numpy(), expected)


def test_little_memory_of_copies_is_kept():
    t = ad.tensor(np.ones(1), requires_grad=True)
    for size in range(1_000_000, 1_500_000, 50_000):
        np.sum(t * np.ones(size)).backward(retain_graph=False)
    assert sum(n * len(entries) for n, entries in watch._spare.items()) <= 1 << 25
