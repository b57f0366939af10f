"""Arrays with named fields that tensors are written into."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import LeavesGraphError, NotSupportedError

KIND = np.dtype([("r", float), ("k", int), ("name", "U3")])


def made(r):
    table = np.zeros(3, KIND)
    table["r"] = r
    table["k"] = [2, 1, 3]
    table["name"] = ["a", "b", "c"]
    return table


def of_fields(x, seen):
    """What uses an array as NumPy's does: its fields, rows, texts and questions."""
    t = made(x)
    seen.append((isinstance(t, np.ndarray), t.shape, np.shape(t), t.size, len(t), t.dtype == KIND, t.dtype.names))
    seen.append(([row["name"] for row in t], len(t[0]), hasattr(t, "r"), type(t[0]["k"])))
    try:
        t["q"]
    except ValueError as error:
        seen.append(str(error))
    r, k, _ = t[2]
    return r * k + t[t["k"] > 1]["r"][0] ** 2 + np.copy(t)["r"][1]


@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_fields(mode):
    x, plain, found = np.array([1.5, 2.0, 3.0]), [], []
    assert of_fields(x, plain) == 13.25
    if mode == "grad":
        np.testing.assert_allclose(ad.grad(of_fields)(x, found), [3.0, 1.0, 3.0], rtol=1e-12)
    else:
        assert ad.jvp(lambda x: of_fields(x, found), (x,), (np.ones(3),))[1] == pytest.approx(7.0, rel=1e-12)
    assert found == plain


def of_samples(x):
    t = made(x)
    t[1:]["r"] *= 2.0
    t[0] = t[2]
    return np.sum(t["r"] * t["k"]) + len(t["name"][1])


def test_samples():
    x = np.array([[1.5, 2.0, 3.0], [0.5, 1.0, -1.0]])
    np.testing.assert_allclose(ad.vmap(of_samples)(x), [of_samples(x[0]), of_samples(x[1])], rtol=1e-12)
    assert of_samples(x[0]) == 41.0


def test_the_text_is_numpys():
    found = []
    ad.grad(lambda x: found.append(f"{made(x)} {made(x)[1]!r}") or np.sum(x))(np.ones(3))
    assert found == [f"{made(np.ones(3))} {made(np.ones(3))[1:2].reshape(())!r}"]


REFUSED = {
    "np.sort": lambda t: np.sort(t, order="r")["r"],
    "np.concatenate": lambda t: np.concatenate([t, t])["r"],
    "==": lambda t: t == t.copy(),
    "view": lambda t: t.view(np.recarray).r,
    "NumPy's array": lambda t: np.array(t, copy=True)["r"],
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_one_array(what):
    """Refused if a field has a history; otherwise it gets the numbers."""
    plain = REFUSED[what](made([3.0, 1.0, 2.0]))

    def f(x):
        nonlocal found
        found = REFUSED[what](made([3.0, 1.0, 2.0]))
        return np.sum(x)

    found = None
    ad.grad(f)(np.ones(3))
    np.testing.assert_array_equal(found, plain)
    with pytest.raises(LeavesGraphError, match=r"Compute with its fields, a\['r'\]"):
        ad.grad(lambda x: np.sum(REFUSED[what](made(x))))(np.ones(3))


def test_a_write_that_would_be_lost_raises():
    def f(x):
        table = made([3.0, 1.0, 2.0])
        table.sort(order="r")
        return np.sum(x * table["r"])

    with pytest.raises(ValueError, match="read-only"):
        ad.grad(f)(np.ones(3))


RECORD = [("a", float), ("b", int), ("p", float, 3), ("s", "U2"), ("in", [("u", float), ("v", float)])]


def of_rows(x):
    first = (x[0], 2, (x[0], x[1], 1.0), "ab", (1.0, x[1]))
    r = np.array([first, (x[1], 3, [1, 2, 3], "c", (2.0, 3.0))], dtype=RECORD)
    r["in"]["u"][0] = x[0] ** 2
    r[1]["a"] *= 3
    return np.sum(r["a"] * r["b"]) + np.sum(r["p"] ** 2) + r["in"]["v"][0] ** 2 * r["in"]["u"][0] + len(r[0]["s"])


def of_one_record(x):
    r = np.array((x[0], x[1]), dtype=[("a", "f8"), ("b", "f8")])
    return r["a"] * r["b"] ** 2


def of_an_iterator(x):
    r = np.fromiter(((x[i] ** 2, i) for i in range(2)), dtype=[("a", "f8"), ("b", "i4")])
    return np.sum(r["a"] * (r["b"] + 1))


def of_its_own_rows(x):
    t = np.array([(x[0], 1.0)], dtype=[("a", "f8"), ("b", "f8")])
    r = np.asarray([t[0], (x[1], x[0])], dtype=t.dtype)
    r["b"][0] = x[1]
    return np.sum(r["a"] * r["b"] * np.array([1.0, 2.0]))


def of_complex_and_nested_lists(x):
    r = np.array([[(x[0] + 1j * x[1], 1)], [(x[1], 2)]], dtype=[("z", complex), ("n", int)])
    return np.sum(np.abs(r["z"]) ** 2 * r["n"]) + r.shape[0]


@pytest.mark.parametrize(
    "f",
    [of_rows, of_one_record, of_an_iterator, of_its_own_rows, of_complex_and_nested_lists],
    ids=lambda f: f.__name__,
)
def test_rows(f):
    x, step = np.array([1.2, 0.7]), 1e-5
    around = np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(2)])
    gradient = ad.grad(f)
    np.testing.assert_allclose(gradient(x), around, rtol=1e-8)
    np.testing.assert_allclose(ad.jvp(f, (x,), (np.array([1.0, -2.0]),))[1], around @ [1.0, -2.0], rtol=1e-8)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, 2 * x])), [f(x), f(2 * x)], rtol=1e-12)
    bent = np.array([(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(2)])
    np.testing.assert_allclose(ad.hessian(f)(x), bent, rtol=1e-8, atol=1e-9)
    fast = ad.compile(gradient)
    for p in (x, 2 * x, x):
        np.testing.assert_allclose(fast(p), gradient(p), rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.rec.fromarrays([x, x], names="a,b"),
        lambda x: np.rec.array([(x[0], 1.0)], dtype=[("a", float), ("b", float)]),
        lambda x: np.rec.fromrecords([(x[0], 1.0)], names="a,b"),
    ],
)
def test_record_arrays_say_what_to_write(make):
    assert make(np.ones(2)).a[0] == 1.0
    with pytest.raises(NotSupportedError, match=r"structured array.*\['x'\]"):
        ad.grad(lambda x: np.sum(make(x).a))(np.ones(2))
