"""Writing in place inside `vmap`: every form of assignment does for each sample what NumPy does for one."""

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(0)
XS, WS = RNG.standard_normal((4, 3, 5)), RNG.standard_normal((4, 5))
PLACES = RNG.integers(0, 3, (4, 2))


def basic(a, w, k):
    a[1] = w
    a[0, 1:4] = w[:3] * 2
    a[..., -1] = 7.0


def one_number(a, w, k):
    a[2, 2] = w[0]
    a[0][1] = w[1]


def through_views(a, w, k):
    v = a.T[1:]
    v[::2] = w[0]
    v[0] += 1.0
    a.reshape(-1)[3:5] *= w[:2]


def operators(a, w, k):
    a += w
    a *= 2.0
    a -= np.sin(a)
    a /= 3.0 + w**2
    a **= 2


def integers(a, w, k):
    a[[0, 2]] = w
    a[[1, 1]] += np.stack([w, 2 * w])
    a[np.array([0, 1]), np.array([3, 4])] = w[:2]


def integers_of_each_sample(a, w, k):
    a[k[0]] = w
    a[k, 1] = w[:2]
    a[0, k] += 1.0


def masks(a, w, k):
    a[a > 0.3] = w[0]
    a[np.array([True, False, True])] = w
    a[a < -0.5] = 0.0
    a[a[:, 0] > 0] = w[1]
    a[0][w > 0] = 1.0


def out(a, w, k):
    np.multiply(a, w, out=a)
    np.sin(a, out=a)
    np.add.reduce(a, axis=0, out=a[1])


def functions(a, w, k):
    np.copyto(a[0], w)
    np.copyto(a, 0.5 * a, where=np.array([True, False, False, True, True]))
    np.put(a, [0, 7], w[:2])
    np.put_along_axis(a, np.array([[4], [3], [0]]), w[:3, None], axis=1)
    np.fill_diagonal(a, w[:3])
    np.add.at(a, ([0, 0], [1, 1]), w[:2])
    np.place(a, np.eye(3, 5, dtype=bool), w[2:4])
    np.putmask(a, np.tri(3, 5, -1, dtype=bool), w)


def along_axis_of_each_sample(a, w, k):
    np.put_along_axis(a, np.stack([k, k[::-1], k], axis=0) + 1, w[:2], axis=1)


def methods(a, w, k):
    a[1].fill(w[2])
    a.sort(axis=0)
    a[0].partition(2)


def by_itself(a, w, k):
    a[1:] = a[:-1]
    a[:, ::-1] = a * 1.0


def elements_are_numbers(a, w, k):
    v = w * 1.0
    v[0], v[1] = v[1] * 2, v[0]
    first, second, *_ = v
    kept = a[1, 2]
    kept *= 3.0
    v[:] = 0.0
    a[1, 2] = 5.0
    a[0] = v + first * second + kept + a[0][1]


def views_of_one_element(a, w, k):
    v = a[1, 2, ...]
    v *= w[0]
    last = a[2:, -1:].reshape(())
    last += v[()]
    a[1, 2] += 1.0
    a[0] = v * w


FORMS = [basic, one_number, through_views, operators, integers, integers_of_each_sample, masks, out, functions,
         along_axis_of_each_sample, methods, by_itself, elements_are_numbers, views_of_one_element]  # fmt: skip


def run(form):
    def program(x, w, k):
        a = x * 1.0
        form(a, w, k)
        return np.cos(a) * a

    return program


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_every_form_is_a_loop(form):
    program = run(form)
    expected = np.stack([program(x, w, k) for x, w, k in zip(XS, WS, PLACES, strict=True)])
    np.testing.assert_allclose(ad.vmap(program)(XS, WS, PLACES), expected, rtol=1e-13)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_gradients_of_every_form_are_a_loop(form):
    gradient = ad.grad(lambda x, w, k: np.sum(run(form)(x, w, k)), (0, 1))
    each = [np.stack(column) for column in zip(*map(gradient, XS, WS, PLACES), strict=True)]
    inside = ad.vmap(gradient)(XS, WS, PLACES)
    outside = ad.grad(lambda x, w: np.sum(ad.vmap(run(form))(x, w, PLACES)), (0, 1))(XS, WS)
    for found in (inside, outside):
        for a, b in zip(found, each, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_an_array_of_ones_own_takes_values_of_samples():
    def program(x):
        a = np.zeros_like(x)
        a[0] = x[1]
        return a

    np.testing.assert_array_equal(ad.vmap(program)(XS)[:, 0], XS[:, 1])


def test_a_plain_array_refuses_them():
    target = np.zeros(5)

    def program(x):
        target[:] = x[0]
        return x

    with pytest.raises(ad.BatchedValueError, match=r"np.zeros_like\(t\)"):
        ad.vmap(program)(XS)


def test_masks_that_select_are_refused_with_the_call_to_make():
    with pytest.raises(ad.BatchedValueError, match=r"np.where"):
        ad.vmap(lambda x: np.sum(x[x > 0]))(XS)

    def program(x):
        a = x * 1.0
        a[a > 0] = a[a > 0] * 2

    with pytest.raises(ad.BatchedValueError, match=r"np.where"):
        ad.vmap(program)(XS)


def test_the_samples_of_the_caller_stay():
    before = XS.copy()
    ad.vmap(run(operators))(XS, WS, PLACES)
    ad.vmap(lambda x: x.__iadd__(1.0))(XS)
    np.testing.assert_array_equal(XS, before)


def test_a_row_that_differs_between_samples_of_an_array_that_does_not():
    def f(rows, c):
        rows = -rows
        row = rows[np.argmin(rows[0] * c)]
        row[0] = c
        return row**2, rows

    rows, c = np.random.default_rng(0).normal(size=(3, 3)), np.array([0.5, -0.7])
    wanted = [f(rows, x) for x in c]
    for g in (f, lambda rows, x: ad.vjp(f, rows, x)[0]):
        for found, each in zip(ad.vmap(g, in_axes=(None, 0))(rows, c), zip(*wanted, strict=True), strict=True):
            np.testing.assert_allclose(found, np.stack(each))
