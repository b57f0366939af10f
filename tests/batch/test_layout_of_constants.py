"""A constant array that gets values of samples lies for each sample as before: that says what is a view of it."""

import linecache

import numpy as np
import pytest

import adjoint as ad

MADE = {
    "backwards": "np.ones((2, 3))[::-1]",
    "rows backwards": "np.ones((2, 3))[:, ::-1]",
    "turned, backwards": "np.ones((3, 2)).T[::-1]",
    "with gaps": "np.ones((2, 6))[:, ::2]",
    "a part": "np.ones((4, 2, 3))[1]",
    "in columns": "np.ones((2, 3), order='F')",
}
WRITTEN = ["v[...] = b", "v[0, 1] = b", "np.copyto(v, b)", "v += b", "np.add(v, b, out=v)", "v[v > 0] = b"]
THEN = ["v.reshape(-1)", "v.ravel()", "v.ravel('F')", "v.ravel('K')", "np.ascontiguousarray(v)"]


def function(made, written, then):
    text = f"def f(b):\n    v = {made}\n    {written}\n    w = {then}\n    w[0] = 7.0\n    return v * 1.0\n"
    linecache.cache[text] = (len(text), None, text.splitlines(keepends=True), text)
    space = {"np": np, "__name__": __name__}
    exec(compile(text, text, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("name", MADE)
def test_a_later_write_reaches_what_it_does_in_numpy(name, written):
    b = np.array([0.25, 0.5])
    for then in THEN:
        f = function(MADE[name], written, then)
        wanted = np.stack([f(x) for x in b])
        np.testing.assert_array_equal(ad.vmap(f)(b), wanted, err_msg=then)
        inside = ad.vmap(lambda x, f=f: ad.jvp(f, (x,), (1.0,))[0])(b)
        np.testing.assert_array_equal(inside, wanted, err_msg=then)
        if name != "with gaps":  # of which an array with a derivative of its own has none
            np.testing.assert_array_equal(ad.vjp(ad.vmap(f), b)[0], wanted, err_msg=then)


def filled_like(model, fill, **settings):
    made = np.empty_like(model, **settings)
    made[...] = fill
    return made


LIKE = {
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "empty_like": lambda x, **settings: filled_like(x, 1.0, **settings),
    "full_like": lambda x, **settings: np.full_like(x, 2.0, **settings),
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("name", LIKE)
def test_arrays_like_others_lie_in_the_order_that_is_asked_for(name, order):
    xs = np.random.default_rng(0).normal(size=(3, 2, 3, 2))
    for axes, shape in [(a, s) for a in ((0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)) for s in ({}, (4, 3), (2, 2, 3))]:

        def f(x, axes=axes, given={"shape": shape} if shape else {}):
            made = LIKE[name](np.transpose(x, axes), order=order, **given)
            made.reshape(-1)[2] = x[0, 1, 1]
            made.ravel("K")[3] = x[0, 0, 1]
            return made

        np.testing.assert_array_equal(ad.vmap(f)(xs), np.stack([f(x) for x in xs]), err_msg=f"{axes} {shape}")
