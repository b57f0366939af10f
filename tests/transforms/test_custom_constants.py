"""Functions with rules of their own that give back a plain array, or an argument that is written outside the tape."""

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.0, 2.0, 3.0])
START = np.array([0.0, 1.0, 2.0])
GLOBAL = START.copy()


class Holder:
    """What a function may read an array from."""


def function(how, c, kind):
    holder = Holder()
    holder.c = c
    given = {
        "argument": lambda c: c,
        "view": lambda c: c[::-1],
        "closure": lambda _, c=c: c,
        "attribute": lambda _: holder.c,
        "view of an attribute": lambda _: holder.c[1:],
        "global": lambda _: GLOBAL,
    }[how]
    closed = c

    def both(x, c):
        return x * 2.0, closed if how == "closure" else given(c)

    if kind == "vjp":
        f = ad.custom_vjp(both)
        f.defvjp(lambda x, c: (both(x, c), None), lambda _, g: (g[0] * 2.0, None))
    else:
        f = ad.custom_jvp(both)
        f.defjvp(lambda primals, t: (both(*primals), (t[0] * 2.0, np.zeros_like(both(*primals)[1]))))
    return f


MODES = {
    "grad": lambda f: ad.grad(f)(X),
    "vmap": lambda f: ad.vmap(f)(np.stack([X, X])),
    "hessian": lambda f: ad.hessian(f)(X),
    "tensor": lambda f: f(ad.tensor(X, requires_grad=True)),
    "grad of grad": lambda f: ad.grad(lambda x: np.sum(ad.grad(f)(x * x)))(X),
}
HOW = ["argument", "view", "closure", "attribute", "view of an attribute", "global"]


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", HOW)
def test_a_plain_array_that_is_written_before_it_is_used_is_refused(how, mode, kind):
    c = GLOBAL if how == "global" else START.copy()
    f = function(how, c, kind)

    def program(x):
        c[...] = START
        a, b = f(x, c)
        c[1] = 7.0
        return np.sum(a[: len(b)] * b)

    with pytest.raises(ad.InPlaceError, match="copy"):
        MODES[mode](program)


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("how", ["argument", "view", "attribute", "view of an attribute"])
def test_the_gradient_of_what_came_before_a_write_is_of_the_values_of_that_time(how, kind):
    c = START.copy()
    f = function(how, c, kind)

    def program(x):
        c[...] = START
        a, b = f(x, c)
        total = np.sum(a[: len(b)] * b)
        if how.startswith("view of") or how == "attribute" or kind == "jvp":  # elsewhere `c` is what the rule reads
            c[1] = 7.0
        return total

    shown = {"view": START[::-1], "view of an attribute": START[1:]}.get(how, START)
    expected = 2.0 * np.append(shown, np.zeros(3 - len(shown)))
    try:
        np.testing.assert_allclose(ad.grad(program)(X), expected, rtol=1e-12)
    except ad.InPlaceError as error:
        assert "written since" in str(error)  # noqa: PT017  # either right or refused
    np.testing.assert_allclose(ad.jvp(program, (X,), (X,))[1], expected @ X, rtol=1e-12)


def test_a_constant_result_shows_what_is_written_later_and_keeps_what_was_saved():
    c, t = START.copy(), ad.tensor(np.ones(3), requires_grad=True)
    _, b = function("argument", c, "vjp")(ad.tensor(X), c)
    total = np.sum(t * b)
    c[1] = 7.0
    total.backward()
    assert t.grad.tolist() == START.tolist()
    assert b.tolist() == [0.0, 7.0, 2.0]
    with pytest.raises(ad.ReadOnlyError):
        b[0] = 1.0


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_an_argument_that_is_written_under_no_grad_shows_it(kind):
    if kind == "vjp":
        same = ad.custom_vjp(lambda x: x)
        same.defvjp(lambda x: (x, None), lambda _, g: (3.0 * g,))
    else:
        same = ad.custom_jvp(lambda x: x)
        same.defjvp(lambda primals, tangents: (primals[0], 3.0 * tangents[0]))

    def program(x, early=False):
        x = x * 1.0
        y = same(x)
        before = np.sum(y**2) if early else 0.0
        with ad.no_grad():
            x[0] = 10.0
        return np.sum(y * np.array([1.0, 2.0, 3.0])) + before

    assert program(ad.tensor(X, requires_grad=True)).item() == program(X) == 10.0 + 4.0 + 9.0
    assert ad.vjp(program, X)[0] == 23.0
    with pytest.raises(ad.InPlaceError):
        ad.grad(lambda x: program(x, True))(X)


def test_fresh_results_can_be_written_whatever_the_residual_keeps():
    def value(x):
        out = np.exp(x)
        return out[::-1], out

    def kept(x):
        out = np.exp(x)
        return (out[::-1], out), (out, {"part": [out[1:], out]})

    f = ad.custom_vjp(value)
    f.defvjp(kept, lambda residual, g: (residual[0] * (g[0][::-1] + g[1]),))

    def program(x):
        a, b = f(x)
        a[0] = 1.0
        return np.sum(a) + np.sum(b[:2])

    expected = np.exp(X) * np.array([2.0, 2.0, 0.0])
    np.testing.assert_allclose(ad.grad(program)(X), expected, rtol=1e-12)
