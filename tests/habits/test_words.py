"""PyTorch's words in every mode, names that are elsewhere, and the sentences of errors that beginners meet."""

import itertools
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core.messages.elsewhere import CLASSES
from adjoint.core.messages.elsewhere_modules import MODULES
from adjoint.core.messages.words import FUNCTIONS, MEANT
from adjoint.core.registry import placed

X = np.array([[3.0, 1.0, 2.0], [1.5, 4.0, -1.0]])

PAIRS = {
    "max": lambda x: x.max(dim=1).values,
    "min": lambda x: x.min(dim=0, keepdim=True)[0],
    "median": lambda x: ad.median(x, dim=1).values,
    "sort": lambda x: x.sort(dim=1, descending=True).values,
    "topk": lambda x: x.topk(2, dim=1).values,
    "cummax": lambda x: x.cummax(1).values,
    "cummin": lambda x: ad.cummin(x, dim=1).values,
    "std": lambda x: x.std(dim=1, correction=1),
    "sum": lambda x: x.sum(dim=1, keepdim=True) * x,
    "flatten": lambda x: x.flatten(start_dim=0) ** 2,
}


@pytest.mark.parametrize("name", PAIRS)
def test_words_in_every_mode(name):
    def f(x):
        y = PAIRS[name](ad.as_tensor(x))
        total = np.sum(y * np.cos(np.arange(y.numel())).reshape(y.shape))
        return total if ad.is_tensor(x) else total.item()

    ad.testing.check_grads(f, X)
    direction = np.sin(X)
    slope = np.sum(ad.grad(f)(X) * direction)
    np.testing.assert_allclose(ad.jvp(f, (X,), (direction,))[1], slope)
    many = np.stack([X, X[::-1], -X])
    np.testing.assert_allclose(ad.vmap(f)(many), [f(x) for x in many])
    np.testing.assert_allclose(ad.compile(ad.grad(f), wait=True)(X), ad.grad(f)(X))


@pytest.mark.parametrize("table", [FUNCTIONS, MEANT], ids=["functions", "meant"])
def test_what_tables_name_is_there(table):
    for name, place in table.items():
        assert callable(placed(place)), name
    assert all(callable(getattr(ad, name)) for name in FUNCTIONS)


def test_the_first_use_of_the_other_divisor_says_so():
    t = ad.tensor(X)
    with pytest.warns(UserWarning, match="n - 1"):
        found = t.std(dim=1)
    np.testing.assert_allclose(found.numpy(), X.std(axis=1, ddof=1))
    with warnings.catch_warnings(action="error"):
        t.std(axis=1), t.std(dim=1, correction=0), np.std(t, 1)


def test_a_transpose_that_changes_nothing_says_so():
    t = ad.tensor(X)
    with pytest.warns(UserWarning, match="t.T"):
        assert t.transpose(0, 1).shape == (2, 3)
    with warnings.catch_warnings(action="error"):
        assert t.transpose(1, 0).shape == np.transpose(t, (1, 0)).shape == (3, 2)
        assert t.transpose(dim0=0, dim1=1).shape == (3, 2)


def test_a_size_is_a_number_that_can_be_called():
    t = ad.tensor(X.astype(np.float32))
    assert t.size == 6
    assert t.size() == (2, 3)
    assert t.size(-1) == 3
    assert (t / t.size).dtype == (np.ones(2, np.float32) / t.size).dtype == np.float32
    assert type(t.size + 1) is int
    ad.grad(lambda x: np.sum(x / x.size))(X)


def test_indices_are_constants_of_the_same_kind():
    t = ad.tensor(X, requires_grad=True)
    indices = t.max(dim=1).indices
    assert isinstance(indices, ad.Tensor)
    assert not indices.requires_grad
    assert (t.argmax(dim=1) == indices).double().mean().item() == 1.0
    assert isinstance(t.argmax(axis=1), np.ndarray)


def test_several_that_go_to_one_place():
    index = np.array([[0, 2, 0], [1, 1, 1]])
    src, start = np.arange(1.0, 7).reshape(2, 3), np.full((2, 3), 10.0)
    assert ad.scatter_reduce(start, 1, index, src, "prod").tolist() == [[30.0, 10, 20], [10, 1200, 10]]
    assert ad.scatter_reduce(start, 1, index, src, "mean", include_self=False).tolist() == [[2.0, 10, 2], [10, 5, 10]]
    assert ad.scatter_reduce(start, 1, index, src, "amax", include_self=False).tolist() == [[3.0, 10, 2], [10, 6, 10]]
    assert ad.scatter(start, 1, index, src).tolist() == [[3.0, 10, 2], [10, 6, 10]]
    with pytest.raises(ad.ArgumentError, match="amin"):
        ad.scatter_reduce(start, 1, index, src, "median")


PLACES = {"adjoint": ad, "nn": nn, "nn.functional": nn.functional, "nn.utils": nn.utils, "optim": optim}
PLACES |= {"linalg": ad.linalg, "fft": ad.fft, "special": ad.special, "cuda": ad.cuda}
PLACES |= {"nn.init": nn.init, "nn.utils.rnn": nn.utils.rnn, "data": ad.data}
PLACES |= {"nn.utils.parametrize": nn.utils.parametrize, "nn.utils.parametrizations": nn.utils.parametrizations}
PLACES |= {"optimizer": optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)}
PLACES |= {"autograd": ad.autograd, "utils": ad.utils, "tensor": ad.tensor(X), "module": nn.ReLU()}
SENTENCES = MODULES | CLASSES
ELSEWHERE = [(place, name) for place, names in SENTENCES.items() for name in names]


@pytest.mark.parametrize("place", SENTENCES)
def test_names_that_are_elsewhere_say_what_to_write(place):
    for name, said in SENTENCES[place].items():
        with pytest.raises(AttributeError) as raised:
            getattr(PLACES[place], name)
        assert said in str(raised.value)
        assert name not in dir(PLACES[place])


def test_names_of_numpys_and_of_nobody():
    with pytest.raises(AttributeError, match=r"np\.fromfile"):
        _ = ad.fromfile
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_thing'$"):
        _ = ad.no_such_thing


def test_what_the_table_answers_it_names_rightly():
    """Each call of ours that a sentence names is there."""
    import re

    sentences = itertools.chain.from_iterable(names.values() for names in SENTENCES.values())
    paths = {path for said in sentences for path in re.findall(r"\b((?:ad|nn|optim)\.[\w.]*\w)", said)}
    assert len(paths) > 20
    for path in paths:
        thing = {"ad": ad, "nn": nn, "optim": optim}[path.split(".")[0]]
        for part in path.split(".")[1:]:
            assert hasattr(thing, part), path
            thing = getattr(thing, part)


def net():
    return nn.Sequential(nn.Linear(3, 4, rng=0), nn.ReLU(), nn.Sequential(nn.Linear(5, 1, rng=1)))


ERRORS = {
    "grad(f, 3.0)": (lambda: ad.grad(np.sin, 3.0), r"ad\.grad\(sin\)\(3\.0\)"),
    "argnums by name": (lambda: ad.grad(lambda x, y: x * y, argnums="y"), r"here argnums=1"),
    "no return": (lambda: ad.grad(lambda x: None)(1.0), "`return` missing"),
    "a tuple": (lambda: ad.grad(lambda x: (x, x))(1.0), "has_aux"),
    "a layer of another width": (lambda: net()(np.ones((2, 3))), r"in layer '2\.0' of Sequential: Linear"),
    "two arrays of no matrix": (lambda: ad.tensor(np.ones((2, 2, 2))).t(), "t.mT"),
    "a device": (lambda: ad.tensor(1.0).to("cuda:0"), "CPU"),
    "a device of new ones": (lambda: ad.zeros(2, device="cuda"), "CPU"),
    "a word of no argument": (lambda: ad.tensor(X).sum(dim=1, unbiased=True), "unbiased"),
    "a method without axis": (lambda: ad.tensor(X).ravel(dim=1), "dim"),
    "parts of no size": (lambda: ad.tensor(X).split(0), "at least one"),
    "sizes that do not fit": (lambda: ad.tensor(X).split([1, 4], dim=1), "are to make 3"),
    "no chunks": (lambda: ad.tensor(X).chunk(0), "at least one"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_sentences_of_errors(name):
    call, said = ERRORS[name]
    with pytest.raises((ad.AdjointError, TypeError), match=said):
        call()


@pytest.mark.parametrize("wrap", [np.asarray, ad.tensor])
def test_double_data_in_a_single_net_is_said(wrap):
    single = {"rng": 0, "dtype": np.float32}
    net = nn.Sequential(nn.Linear(3, 4, **single), nn.ReLU(), nn.Linear(4, 2, **single))
    with pytest.warns(UserWarning, match="float64 goes into a layer of float32") as said:
        net(wrap(X))
    assert len(said) == 1
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="float64 goes into a layer of float32") as said:
        ad.compile(lambda x: net(x), wait=True)(wrap(X))
    assert [w.filename for w in said] == [__file__]
    with warnings.catch_warnings(action="error"):
        net(wrap(X.astype(np.float32)))
        nn.Linear(3, 1, rng=0)(wrap(X))


def test_gradients_of_results():
    x, y = ad.tensor(3.0, requires_grad=True), ad.tensor(2.0, requires_grad=True)
    z = x * x
    w = z * y
    assert [g.item() for g in ad.autograd.grad(w, [x, y, z])] == [12.0, 9.0, 2.0]
    assert x.grad is None
    (slope,) = ad.autograd.grad(w, x, create_graph=True)
    assert ad.autograd.grad(slope, x)[0].item() == 4.0
    assert ad.autograd.grad(z, y, allow_unused=True) == (None,)
    with pytest.raises(ad.GradientError, match="allow_unused"):
        ad.autograd.grad(z, y)
    with pytest.raises(ad.GradientError, match="requires no gradient"):
        ad.autograd.grad(z, ad.tensor(1.0))
    with pytest.raises(ad.GradientError, match="without a graph"):
        ad.autograd.grad(ad.tensor(1.0), x)
    with pytest.raises(ad.ArgumentError, match=r"ad\.grad\(f\)"):
        ad.autograd.grad(np.sin, x)


def test_leaves_that_are_made_like_others():
    t = ad.tensor(np.arange(3.0, dtype=np.float32), requires_grad=True)
    for made, value in (
        (ad.zeros_like(t, requires_grad=True), 0),
        (ad.ones_like(input=t, requires_grad=True), 1),
        (ad.full_like(t, 2, requires_grad=True, device="cpu"), 2),
    ):
        assert made.is_leaf
        assert made.dtype == np.float32
        (made * t).sum().backward()
        np.testing.assert_array_equal(made.detach().numpy(), np.full(3, value))
        np.testing.assert_array_equal(made.grad.numpy(), t.detach().numpy())
    assert not ad.zeros_like(t).requires_grad
    assert ad.empty_like(t, dtype=np.int64).dtype == np.int64


def test_arguments_of_autograd_grad():
    a, b = ad.ones(2, requires_grad=True), ad.ones(3, requires_grad=True)
    (g,) = ad.autograd.grad((a * 2).sum(), a, only_inputs=True, is_grads_batched=False)
    np.testing.assert_array_equal(g.numpy(), [2.0, 2.0])
    g, zeros = ad.autograd.grad((a * 2).sum(), [a, b], materialize_grads=True)
    np.testing.assert_array_equal(zeros.numpy(), np.zeros(3))
    with pytest.raises(ad.ArgumentError, match=r"ad\.vmap"):
        ad.autograd.grad(a * 2, a, np.ones((4, 2)), is_grads_batched=True)


def test_modules_of_numpys_functions_have_these():
    np.fft.fft(ad.ones(4))
    assert ad.fft.fftfreq is np.fft.fftfreq
    assert ad.linalg.LinAlgError is np.linalg.LinAlgError
    assert {"fft", "ifft2"} <= set(dir(ad.fft))
    np.testing.assert_array_equal(ad.fft.fft(ad.ones(2)).numpy(), [2.0, 0.0])
