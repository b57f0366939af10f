"""Functions with rules of their own that give back an argument, or a view of it, which is written afterwards."""

import numpy as np
import pytest

import adjoint as ad


@ad.custom_vjp
def same(x):
    return x


same.defvjp(lambda x: (x, None), lambda _, g: (3.0 * g,))


@ad.custom_vjp
def rest(x):
    return x[1:]


rest.defvjp(lambda x: (x[1:], None), lambda _, g: (np.concatenate([[0.0], 3.0 * g]),))


@ad.custom_jvp
def pushed(x):
    return x


pushed.defjvp(lambda primals, tangents: (primals[0], 3.0 * tangents[0]))


FUNCTIONS = {"same": same, "rest": rest, "pushed": pushed}
GATES = {
    "of one": ad.op(lambda x: x, lambda g: 3.0 * g),
    "of two": ad.op(lambda x, y=None: x, lambda g: 3.0 * g),
    "of more": ad.op(lambda x, k: x, lambda g, k: (3.0 * g, 0.0 * k)),
}
X = np.array([1.0, 2.0, 3.0])


def by_index(a, y):
    a[1] = 7.0


def by_operator(a, y):
    a *= 2.0


def by_out(a, y):
    np.multiply(a, 2.0, out=a)


def by_view(a, y):
    a[1:][...] = 4.0


WRITES = [by_index, by_operator, by_out, by_view]
MODES = {
    "grad": lambda f: ad.grad(f)(X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "vmap": lambda f: ad.vmap(f)(np.stack([X, X])),
    "hessian": lambda f: ad.hessian(f)(X),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([X, X])),
    "tensor": lambda f: f(ad.tensor(X, requires_grad=True)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_that_the_argument_was_written_under_is_refused(name, write, mode):
    def program(x):
        a = x * 2.0
        y = FUNCTIONS[name](a)
        write(a, y)
        return np.sum(y**2)

    with pytest.raises(ad.InPlaceError, match="copy"):
        MODES[mode](program)


@pytest.mark.parametrize("mode", ["grad", "jvp", "vmap"])
def test_views_of_the_result_are_refused_too(mode):
    def program(x):
        a = x * 2.0
        part = same(a[:])[:2]
        a[0] = 5.0
        return np.sum(part**2)

    with pytest.raises(ad.InPlaceError, match="copy"):
        MODES[mode](program)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_writes_after_the_last_use_and_copies_are_right(name):
    def program(x):
        a = x * 2.0
        y = FUNCTIONS[name](a)
        kept = y.copy()
        total = np.sum(y[1:] ** 2)
        a[1] = 7.0
        return total + np.sum(kept[1:] ** 2) + a[0] + a[1]

    def plain(x):
        a = 2.0 * x
        return 2 * np.sum(a[-2:] ** 2) + a[0] + 7.0

    skipped = 1 if name == "rest" else 0
    expected = np.array([2.0, 0.0, 48.0 * 3.0])
    if not skipped:
        expected[1] = 3 * 2 * 2 * 2 * 2.0 * 2.0
    expected[2] = 3 * 2 * 2 * 2 * 2.0 * 3.0
    assert ad.value_and_grad(program)(X)[0] == pytest.approx(program(X), rel=1e-12)
    np.testing.assert_allclose(ad.grad(program)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(ad.jvp(program, (X,), (X,))[1], expected @ X, rtol=1e-12)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", GATES)
def test_a_gate_gives_an_array_of_its_own(name, write):
    def program(x):
        a = x * 2.0
        y = GATES[name](a, x[0]) if name == "of more" else GATES[name](a)
        before = y + 0.0
        write(a, y)
        return np.sum(y * y + before * y) + np.sum(a * 0.0)

    value, gradient = ad.value_and_grad(program)(X)
    np.testing.assert_allclose(gradient, 3.0 * 2 * 2.0 * 2.0 * 2.0 * X, rtol=1e-12)
    assert value == pytest.approx(program(X), rel=1e-12) == np.sum(2.0 * (2.0 * X) ** 2)
    np.testing.assert_allclose(ad.jvp(program, (X,), (X,)), [value, gradient @ X], rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(program)(np.stack([X, X])), [value, value], rtol=1e-12)
