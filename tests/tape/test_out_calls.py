"""``out=`` by keyword, by position and of methods: what NumPy writes, and what it refuses."""

from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

# NumPy 2.5 deprecates both.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Implicit casting of output:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning"),
]

X = np.array([[0.5, 1.7, -2.0], [3.0, -0.25, 1.3]])
Y = np.arange(9.0).reshape(3, 3) / 7 - 0.4
WITH_DTYPE = "sum prod mean var std cumsum cumprod nansum nanprod nanmean nancumsum nancumprod"
CALLS = [
    *(f"np.{name}(x, 0, None, o)" for name in WITH_DTYPE.split()),
    *(f"np.{name}(x, 0, o)" for name in ("max", "min", "ptp", "nanmax", "nanmin", "median")),
    *(f"np.{name}(x, 0, out=o)" for name in f"{WITH_DTYPE} max min ptp nanmax nanmin nanvar nanstd median".split()),
    *(f"x.{name}(0, out=o)" for name in ("sum", "prod", "max", "min", "mean", "var", "std", "cumsum", "cumprod")),
    *("x.sum(0, None, o)", "x.mean(0, None, o)", "x.max(0, o)", "x.clip(-1, 1, out=o)", "np.clip(x, -1, 1, o)"),
    *("x.round(1, o)", "np.round(x, 1, out=o)", "np.fix(x, o)", "np.outer(x[0], x[0], o)", "x.trace(out=o)"),
    *("x.dot(y, o)", "x.dot(y, out=o)", "np.dot(x, y, o)", "np.dot(x, y, out=o)", "np.matmul(x, y, o)"),
    *("x.take([0, 1], 0, o)", "x.take([0, 1], 0, out=o)", "np.take(x, [0, 1], 0, o)", "np.take(x, [1], 0, out=o)"),
    *("x.compress([True, False], axis=0, out=o)", "np.compress([True, False], x, 0, o)", "np.sin(x, o)"),
    *("np.concatenate([x, x], 0, o)", "np.stack([x, x], 0, o)", "np.choose([0, 1, 0], [x[0], x[1]], o)"),
    *("np.einsum('ij->ji', x, out=o)", "np.add.reduce(x, 0, None, o)", "np.add.reduce(x, 0, out=o)"),
    *("np.add.accumulate(x, 0, out=o)", "np.add.reduceat(x, [0, 1], 0, out=o)", "np.maximum.reduce(x, 0, out=o)"),
]
OUTS = {
    "of the dtype": lambda shape, dtype: np.zeros(shape, dtype),
    "double": lambda shape, dtype: np.zeros(shape),
    "single": lambda shape, dtype: np.zeros(shape, np.float32),
    "whole": lambda shape, dtype: np.zeros(shape, int),
    "wider": lambda shape, dtype: np.zeros((2, *shape), dtype),
    "narrower": lambda shape, dtype: np.zeros((1,) * len(shape), dtype),
    "in columns": lambda shape, dtype: np.zeros(shape, dtype, order="F"),
}
ROUNDED_TWICE = 4  # units in the last place: NumPy's means divide what is already rounded into `out`


def called(text, x, y, out):
    """What is in `out` after the call, or that it was refused."""
    try:
        result = eval(text, {"np": np, "x": x, "y": y, "o": out})
    except (TypeError, ValueError):
        return None
    assert result is out
    return np.asarray(out.detach() if isinstance(out, ad.Tensor) else out)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("text", CALLS)
def test_out_is_numpys(text, dtype):
    x, y = X.astype(dtype), Y.astype(dtype)
    shape = np.shape(eval(text, {"np": np, "x": x, "y": y, "o": None}))
    for name, make in OUTS.items():
        wanted = called(text, x, y, make(shape, dtype))
        found = called(text, ad.tensor(x), ad.tensor(y), ad.tensor(make(shape, dtype)))
        assert (found is None) == (wanted is None), name
        if wanted is None:
            continue
        assert found.dtype == wanted.dtype
        far = any(word in text for word in ("var", "std", "median"))  # of single numbers, which NumPy adds up in double
        eps = np.finfo(dtype if far or wanted.dtype.kind != "f" else wanted.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=ROUNDED_TWICE * eps, atol=0, err_msg=name)


@pytest.mark.parametrize("text", ["x.take([1, 0], 0, o)", "x.dot(y, o)", "np.sum(x, 0, None, o)", "x.cumsum(0, out=o)"])
def test_gradients_go_through_out(text):
    def f(x):
        shape = np.shape(eval(text, {"np": np, "x": X, "y": Y, "o": None}))
        out = np.zeros_like(x, shape=shape)
        eval(text, {"np": np, "x": x, "y": Y, "o": out})
        return np.sum(out * np.cos(np.arange(out.size).reshape(out.shape)))

    check_grads(f, (X,))


WRITES = {
    "copyto": lambda v: np.copyto(v, 1.0, casting="unsafe"),
    "sort": lambda v: v.sort(kind="stable"),
    "nothing, for whole numbers": lambda v: np.add.reduce(v, 0, int, v[0, 0]),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("make", [np.exp, lambda t: np.fmin(t, t), lambda t: np.maximum(t, 0.0)])
def test_asking_numpy_whether_it_refuses_writes_nothing(make, name):
    """A rare argument is tried on NumPy first; what rules have saved has to stay."""
    t = ad.tensor([[3.0, 0.5, 2.0]], requires_grad=True)
    v = make(t)
    wanted = ad.grad(lambda t: np.sum(make(t) * np.array([1.0, 2.0, 3.0])))(t.detach().numpy())
    total = np.sum(v * np.array([1.0, 2.0, 3.0]))
    with suppress(TypeError, ValueError):
        WRITES[name](v)
    total.backward()
    np.testing.assert_allclose(t.grad, wanted, rtol=1e-12)


MODES = {
    "reverse": lambda f, x: ad.vjp(f, x)[0],
    "forward": lambda f, x: ad.jvp(f, (x,), (1.0,))[0],
    "samples": lambda f, x: ad.vmap(f)(np.array([x, x]))[1],
    "compiled": lambda f, x: [g(x) for g in [ad.compile(f, wait=True)] for _ in range(3)][-1],
}
OF_A_CONSTANT = {
    "mean": lambda o: X.mean(axis=0, out=o),
    "var": lambda o: X.var(axis=0, out=o),
    "std": lambda o: X.std(axis=0, ddof=1, out=o),
    "sum": lambda o: X.sum(axis=0, out=o),
    "cumsum": lambda o: X[0].cumsum(out=o),
    "round": lambda o: X[0].round(1, out=o),
    "clip": lambda o: X[0].clip(-1, 1, out=o),
    "take": lambda o: X.take([0, 2, 4], out=o),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OF_A_CONSTANT)
def test_methods_of_constants_fill_what_a_transform_follows(name, mode):
    fill = OF_A_CONSTANT[name]

    def f(x):
        buffer = np.zeros(3)
        fill(buffer)
        return buffer * x

    np.testing.assert_allclose(MODES[mode](f, 2.0), f(2.0), rtol=1e-12)


def test_without_a_transform_they_refuse_a_tensor():
    for name in ("mean", "var", "std"):
        with pytest.raises(ad.AdjointError, match=r"np\.mean\(array, out=t\)"):
            getattr(X, name)(axis=0, out=ad.tensor(np.zeros(3)))
