"""NumPy code over Dask's arrays: lazy gradients, nothing fetched unasked, what Dask lacks refused by name."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.testing import walk
from adjoint.testing.walk_backend import check

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60).astype(float), RNG.normal(size=3)


class FetchedError(BaseException):
    """A chunk was computed: no error that the library may take for another one."""


def never(*_, **__):
    raise FetchedError


def lazily(go):
    """What `go` gives where no chunk may be computed, and its values after that."""
    with dask.config.set(scheduler=never):
        found = go()
    parts = found if isinstance(found, tuple) else (found,)
    assert all(isinstance(part, da.Array) for part in parts)
    with dask.config.set(scheduler="synchronous"):
        values = dask.compute(*parts)
    return values if isinstance(found, tuple) else values[0]


def logistic(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def mixture(parameters, x):
    apart = x[:, None, :] - parameters["means"]
    weights = parameters["weights"]
    logs = weights - np.log(np.sum(np.exp(weights))) - 0.5 * np.sum(apart**2, axis=-1)
    top = np.max(logs, axis=1, keepdims=True)
    return np.sum(weights**2) - np.mean(np.log(np.sum(np.exp(logs - top), axis=1)) + top[:, 0])


def chunked(a, n=20):
    return da.from_array(a, chunks=(n, *a.shape[1:]))


def test_numpy_parameters_with_dask_data_have_lazy_gradients():
    x, y = chunked(X), chunked(Y)
    same = np.testing.assert_allclose
    same(lazily(lambda: ad.grad(logistic)(W, x, y)), ad.grad(logistic)(W, X, Y), rtol=1e-12)
    value, gradient = lazily(lambda: ad.value_and_grad(logistic)(W, x, y))
    same(value, logistic(W, X, Y), rtol=1e-12)
    same(gradient, ad.grad(logistic)(W, X, Y), rtol=1e-12)
    pushed = lazily(lambda: ad.jvp(lambda w: logistic(w, x, y), (W,), (W,)))
    same(pushed[1], ad.jvp(lambda w: logistic(w, X, Y), (W,), (W,))[1], rtol=1e-12)
    product = lazily(lambda: ad.hvp(lambda w: logistic(w, x, y), W, W))
    same(product, ad.hvp(lambda w: logistic(w, X, Y), W, W), rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.tanh(x) ** 2),
        lambda x: np.mean(np.where(x > 0, np.sqrt(np.abs(x)), x)),
        lambda x: np.sum(np.max(x, axis=1) * np.min(x, axis=0)[0]),
        lambda x: np.sum(np.exp(x - np.log(np.sum(np.exp(x), axis=1, keepdims=True)))[:, 0]),
        lambda x: np.sum(x[1:] * x[:-1]) + np.std(x),
        lambda x: np.sum(np.concatenate([x, 2 * x], axis=1).reshape(-1) ** 3),
        lambda x: np.sum(np.cumsum(x, axis=0) * x) + np.sum(x.T @ x),
        lambda x: np.sum(np.full_like(x, 2.5) * x),
    ],
)
def test_gradients_by_dask_arrays(f):
    found = lazily(lambda: ad.grad(f)(chunked(X)))
    np.testing.assert_allclose(found, ad.grad(f)(X), rtol=1e-10, atol=1e-12)


def test_tensors():
    t = ad.tensor(chunked(X), requires_grad=True)

    def go():
        np.sum(np.sin(t)).backward()
        return t.grad.data

    np.testing.assert_allclose(lazily(go), np.cos(X))


def test_what_the_owner_overwrites_changes_no_gradient():
    a = chunked(X)
    t = ad.tensor(np.ones((60, 3)), requires_grad=True)
    loss = np.sum(t * a)
    a[...] = 100.0
    loss.backward()
    np.testing.assert_array_equal(t.grad.data.compute(scheduler="synchronous"), X)


@pytest.mark.parametrize(
    "f", [np.sort, np.median, lambda x: np.linalg.eigvalsh(x.T @ x), lambda x: np.linalg.slogdet(x.T @ x)[1]]
)
def test_what_dask_lacks_is_refused_by_name(f):
    with dask.config.set(scheduler=never), pytest.raises(ad.NotSupportedError, match=r"numpy\.\w+.*Dask does not"):
        ad.grad(lambda x: np.sum(f(x)))(chunked(X))


def test_dask_answers_others_as_before():
    ad.grad(lambda x: np.sum(x))(chunked(X))
    with pytest.warns(FutureWarning, match="not implemented by Dask"):
        np.testing.assert_array_equal(np.sort(chunked(X)), np.sort(X))


@pytest.mark.parametrize("go", [lambda x: ad.grad(np.sum)(x), ad.tensor, lambda x: ad.jvp(np.sum, (x,), (x,))])
def test_unknown_chunk_sizes_are_refused(go):
    x = chunked(X[:, 0])
    with pytest.raises(ad.ShapeError, match="compute_chunk_sizes"):
        go(x[x > 0])


def test_nothing_is_fetched_by_asking_for_an_array():
    with dask.config.set(scheduler=never), pytest.raises(ad.DeviceError, match=r"t\.numpy\(\)"):
        np.asarray(ad.tensor(chunked(X)))


@pytest.mark.parametrize(
    ("f", "start"),
    [
        (lambda w, x: logistic(w, x, YS[type(x)]), np.zeros(3)),
        (mixture, {"means": np.array([[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0]]), "weights": np.zeros(2)}),
    ],
    ids=["logistic", "mixture"],
)
def test_fits_equal_those_in_memory_and_submit_each_evaluation_once(f, start):
    from adjoint.scipy.optimize import minimize

    submitted = []

    def counting(graph, keys, **options):
        submitted.append(keys)
        return dask.local.get_sync(graph, keys, **options)

    options = {"method": "L-BFGS-B", "tol": 1e-13, "options": {"maxiter": 300, "ftol": 1e-15, "gtol": 1e-10}}
    here = minimize(f, start, (X,), **options)
    with dask.config.set(scheduler=counting):
        there = minimize(f, start, (chunked(X),), **options)
    assert len(submitted) == there.nfev
    for a, b in zip(leaves(there.x), leaves(here.x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


YS = {np.ndarray: Y, da.Array: chunked(Y)}


def leaves(tree):
    return list(tree.values()) if isinstance(tree, dict) else [tree]


def test_data_larger_than_the_memory_that_is_used():
    """Chunks come and go: 64 MB of generated data, in chunks of 0.8 MB."""
    import tracemalloc

    x = da.random.default_rng(0).normal(size=(8_000_000,), chunks=100_000)
    gradient = ad.grad(lambda w: np.mean(np.tanh(w * x) ** 2))(0.5)
    assert isinstance(gradient, da.Array)
    tracemalloc.start()
    try:
        value = gradient.compute(scheduler="synchronous")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.1 < value < 1.0
    assert peak < x.nbytes / 4


@pytest.mark.parametrize("entry", [e for e in walk() if "host" in e.flags], ids=lambda e: e.name)
def test_what_only_reads_numpys_arrays_is_refused_before_anything_is_fetched(entry):
    """SciPy's code would ask Dask for an array of NumPy's, and get all values without a word."""
    with dask.config.set(scheduler=never), pytest.raises((ad.NotSupportedError, ad.ShapeError), match="Dask"):
        check(entry, "value", da.asarray)


def test_counts_of_a_length_that_nobody_knows_are_refused():
    """Their gradient was right, and they themselves were longer than NumPy's."""
    places = da.from_array(np.array([0, 2, 2, 1]), chunks=2)
    with pytest.raises(ad.ShapeError, match="unknown chunk sizes"):
        ad.grad(lambda w: np.sum(np.bincount(places, w) ** 2))(da.from_array(np.arange(4.0), chunks=2))


def test_samples_are_reshaped_in_either_order():
    x = np.arange(24.0).reshape(4, 2, 3)
    for order in "CF":
        found = ad.vmap(lambda a: np.reshape(a, 6, order=order) * 2)(da.from_array(x, chunks=(2, 1, 2)))
        np.testing.assert_array_equal(found.compute(), [np.reshape(a, 6, order=order) * 2 for a in x])


PLACES = np.array([0, 2, 2, 4])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x[PLACES] ** 2),
        lambda x: np.sum(x[:, None, :] * x[None]),
        lambda x: np.sum(np.concatenate([x, x[:0], x[2:]]) ** 2) + np.sum(x[:0]),
        lambda x: np.sum(np.matrix_transpose(x) @ x),
    ],
)
@pytest.mark.filterwarnings("ignore:Increasing number of chunks")
@pytest.mark.parametrize("chunks", [(1, 1), (20, 3), ((7, 53), (1, 2))])
def test_indices_in_any_chunks(f, chunks):
    found = lazily(lambda: ad.grad(f)(da.from_array(X, chunks=chunks)))
    np.testing.assert_allclose(found, ad.grad(f)(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"weight": np.array([1.0, 2.0, 0.5])}, {"ignore_index": 1}])
def test_losses_of_labels_are_lazy(settings):
    labels, w = np.arange(60) % 3, RNG.normal(size=(3, 3))
    x, y = chunked(X), chunked(labels)
    found = lazily(lambda: ad.grad(lambda w: nn.cross_entropy(x @ w, y, **settings))(w))
    np.testing.assert_allclose(found, ad.grad(lambda w: nn.cross_entropy(X @ w, labels, **settings))(w), rtol=1e-10)
    wrong = lazily(lambda: ad.grad(lambda w: nn.cross_entropy(x @ w, y + 1))(w))
    assert np.isnan(wrong).all() or not np.isfinite(lazily(lambda: nn.cross_entropy(x @ w, y + 1)))


def test_an_optimiser_says_how_to_fetch_all_gradients_at_once():
    net = nn.Linear(3, 1, rng=0)
    np.mean(net(chunked(X)) ** 2).backward()
    adam = optim.Adam(net.parameters())
    with pytest.raises(ad.DeviceError, match=r"dask\.compute\("):
        adam.step()
    params = list(net.parameters())
    for p, g in zip(params, dask.compute(*[p.grad.data for p in params], scheduler="synchronous"), strict=True):
        p.grad = g
    adam.step()
    assert type(net.weight.held) is np.ndarray


def test_places_are_not_fetched():
    places = da.from_array(PLACES, chunks=2)
    with dask.config.set(scheduler=never), pytest.raises(ad.DeviceError, match=r"dask\.array\.asarray"):
        ad.grad(lambda x: np.sum(x[places]))(X)


def test_what_a_mask_chose_has_no_shape():
    with pytest.raises(ad.ShapeError, match=r"np\.where\(mask"):
        ad.grad(lambda x: np.sum(x[x > 0]))(chunked(X))


def test_errors_of_the_users_own_calls_stay_dasks():
    x = chunked(X)
    with pytest.raises(ValueError, match="single chunk") as caught:
        ad.grad(lambda w: np.sum(w * np.abs(da.fft.fft(x, axis=0))))(W)
    assert not isinstance(caught.value, ad.AdjointError)
    with pytest.raises(ad.NotSupportedError, match=r"fft of an array of Dask.*x\.compute\(\)"):
        ad.grad(lambda x: np.sum(np.abs(np.fft.fft(x, axis=0))))(x)
