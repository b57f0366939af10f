"""Programs that random ones showed to be wrong or refused on a device: they give NumPy's values in every mode."""

import dask
import dask.array as da
import numpy as np
import pytest

import adjoint as ad
from tests.backends.strict import inside, strict, transfers

X = np.array([[0.3, 1.2, -0.7], [0.5, 0.1, 2.0]])


def written(go):
    def f(a):
        v = a * 1.0
        go(v, a)
        return v

    return f


PROGRAMS = {
    "numbers beside elements": lambda a: np.array([[1.3, a.mean()], [a.max(), 0.0]]),
    "a number before an array": lambda a: np.hstack([1.3, a[0]]),
    "a list behind an array": lambda a: np.append(a, [1.0, 2.0]),
    "a number as an end": lambda a: np.linspace(a.mean(), 1.5, 3),
    "a number as a choice": lambda a: np.choose((a > 0).astype(int), [a, -0.77]),
    "an element along an axis": lambda a: np.take_along_axis(a, np.argsort(a, axis=-1), axis=-1) * a,
    "a correlation": lambda a: np.correlate(a[0], a[1]),
    "a function of Python's numbers": lambda a: np.frompyfunc(lambda q: q * 2.0, 1, 1)(a).astype(float),
    "an order": lambda a: np.asfortranarray(a.T) * np.ascontiguousarray(a.T),
    "put": written(lambda v, a: np.put(v, np.argsort(a, axis=None), a * 2)),
    "put_along_axis": written(lambda v, a: np.put_along_axis(v, np.argmax(a, axis=-1, keepdims=True), a[:1, :1], -1)),
}
MODES = {
    "reverse": lambda f, x: ad.grad(lambda x: np.sum(np.sin(f(x))))(x),
    "forward": lambda f, x: ad.jvp(f, (x,), (x,))[1],
    "second order": lambda f, x: ad.hvp(lambda x: np.sum(f(x) ** 2), x, x),
    "samples": lambda f, x: ad.vmap(f)(np.stack([x, x * 0.9])),
    "gradients of samples": lambda f, x: ad.vmap(ad.grad(lambda x: np.sum(f(x) ** 2)))(np.stack([x, x * 0.9])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_on_a_device(program, mode):
    f, go = PROGRAMS[program], MODES[mode]
    if program.startswith("put") and "samples" in mode:  # places that differ between samples
        with pytest.raises(ad.DeviceError):
            go(f, strict(X))
        return
    before = transfers["out"]
    found = go(f, strict(X))
    assert transfers["out"] == before
    np.testing.assert_allclose(inside(found), go(f, X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "go",
    [
        lambda v: np.asfortranarray(v[0]),
        lambda v: np.ascontiguousarray(v[:, ::2]),
        lambda v: np.ascontiguousarray(v.T),
        lambda v: np.require(v[0], requirements="F"),
    ],
)
def test_a_write_through_another_order_of_a_sample_raises(go):
    """Whether it is a view depends on how a sample lies. It was written, or not, without a word."""

    def f(a):
        v = a * 1.0
        go(v)[0] = 5.0
        return v

    with pytest.raises(ad.NotSupportedError, match=r"np\.copy"):
        ad.vmap(f)(strict(np.stack([X, X])))


REPEATED = [np.eye(3), np.diag([2.0, 2.0, 1.0]), np.vstack([np.eye(2), np.eye(2)]), np.eye(2) * (1 + 0j)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", REPEATED, ids=range(4))
@pytest.mark.parametrize("where", [None, strict])
def test_singular_values_that_repeat(x, where):
    """Vectors that have no use have no part in the gradient, also where nobody looks; used ones are not determined."""
    move = where or np.array

    def values(a):
        return np.sum(np.abs(np.linalg.svd(a, full_matrices=False)[1]) ** 2)

    def eigenvalues(a):
        return np.sum(np.linalg.eigh(np.conj(a.T) @ a)[0])

    def whole(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(np.real((u * s) @ vh))

    np.testing.assert_allclose(inside(ad.grad(values)(move(x))), 2 * x, atol=1e-14)
    np.testing.assert_allclose(inside(ad.grad(eigenvalues)(move(x))), 2 * x, atol=1e-14)
    assert np.isnan(inside(ad.grad(whole)(move(x)))).any()


@pytest.mark.parametrize(
    "go",
    [
        lambda a: np.nanquantile(a, 0.4),
        lambda a: np.trim_zeros(a[0]),
        lambda a: np.roots(a[0]),
        lambda a: np.polyfit(a[0], a[1], 1),
        lambda a: np.linalg.lstsq(a.T, a[0])[0],
        lambda a: np.histogram(a, 3, weights=a)[0],
    ],
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_what_depends_on_values_is_refused_by_name(go, mode):
    """CuPy would wait for the device, unasked, and give the values."""
    before = transfers["out"]
    with pytest.raises(ad.NotSupportedError, match="Fetch the values first"):
        MODES[mode](lambda a: np.real(go(a)), strict(X))
    assert transfers["out"] == before


def test_python_numbers_of_a_lazy_array_compute_nothing():
    computed = []

    def get(*args, **kwargs):
        computed.append(1)
        return dask.get(*args, **kwargs)

    with dask.config.set(scheduler=get):
        x = da.from_array(X[0], chunks=2)
        found = ad.jvp(lambda a: np.frompyfunc(lambda q: q * 2.0, 1, 1)(a).astype(float), (x,), (x,))[1]
        assert not computed
        np.testing.assert_allclose(found.compute(), 2 * X[0])
