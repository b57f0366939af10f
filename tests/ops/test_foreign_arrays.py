"""Arrays of classes that derive from NumPy's, beside arrays of ours: its answer or an error, never other numbers."""

import operator

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.foreign import ForeignArrayError
from adjoint.graph.captures.on_symbols import on_symbols

X = np.array([1.0, 2.0, 3.0])
SQUARE = np.array([[1.0, 2.0], [3.0, 4.0]])

# What NumPy's own classes are recognised by.
PROBED = [
    "_data",
    "_mask",
    "_fill_value",
    "_baseclass",
    "_basedict",
    "_hardmask",
    "_optinfo",
    "mask",
    "filled",
    "recordmask",
    "getA",
]
PROBED += [f"__array_{name}__" for name in ("interface", "struct", "wrap", "finalize", "prepare")]

MODES = {
    "tensor": lambda f, x: f(ad.tensor(x, requires_grad=True)),
    "view": lambda f, x: f((ad.tensor(x, requires_grad=True) * 1.0)[...]),
    "jvp": lambda f, x: ad.jvp(f, (x,), (np.ones_like(x),)),
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, x])),
    "grad of jvp": lambda f, x: ad.grad(lambda x: np.sum(ad.jvp(f, (x,), (np.ones_like(x),))[1]))(x),
    "vmap of grad": lambda f, x: ad.vmap(ad.grad(lambda x: np.sum(f(x))))(np.stack([x, x])),
    "capture": lambda f, x: (on_symbols(f, x)(x),),
}
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.mod,
    np.multiply,
    np.maximum,
]
BINARY += [np.hypot, operator.lt, operator.eq, np.arctan2]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("mode", MODES)
def test_no_array_of_ours_looks_like_one_of_numpys(mode):
    seen = []
    MODES[mode](lambda t: (seen.append(t), np.sum(t * t))[1], X)
    assert seen
    for box in seen:
        assert not [name for name in PROBED if hasattr(box, name)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_masks_are_never_dropped(mode, f):
    masked = np.ma.array(X, mask=[False, True, False])
    for call in (lambda t: f(t, masked), lambda t: f(masked, t), lambda t: f(t[1:], masked[1:])):
        with pytest.raises(ad.AdjointError):
            MODES[mode](call, X)


def written(t, value):
    y = t * 1.0
    y[...] = value
    return y


OTHERS = {
    "concatenate": lambda t, m: np.concatenate([t, m]),
    "stack": lambda t, m: np.stack([m, t]),
    "where": lambda t, m: np.where(m > 1.0, t, m),
    "assignment": written,
    "assignment of a part": lambda t, m: written(t[1:], m[1:]),
    "in place": lambda t, m: operator.imul(t * 1.0, m),
    "einsum": lambda t, m: np.einsum("...,...->...", t, m),
    "dot": lambda t, m: np.dot(m, t),
    "matmul": lambda t, m: t @ m,
    "outer": lambda t, m: np.multiply.outer(t, m),
    "clip": lambda t, m: np.clip(t, m, 10.0),
    "interp": lambda t, m: np.interp(t.ravel(), X, m.ravel()[:3]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OTHERS)
def test_other_doors(mode, name):
    masked = np.ma.array(X, mask=[False, True, False])
    with pytest.raises(ad.AdjointError):
        MODES[mode](lambda t: OTHERS[name](t, masked), X)


CALLS = [f for name in np.ma.__all__ if callable(f := getattr(np.ma, name)) and not isinstance(f, type)]
# These give whatever is in memory.
CALLS = [f for f in CALLS if f not in (np.ma.empty, np.ma.empty_like, np.ma.masked_all, np.ma.masked_all_like)]


@pytest.mark.parametrize("f", CALLS, ids=lambda f: getattr(f, "__name__", str(f)))
@pytest.mark.filterwarnings("ignore")
def test_no_function_of_masked_arrays_takes_the_numbers_out(f):
    masked, condition = np.ma.array(X, mask=[False, True, False]), X > 1.5

    def answers(scale):
        v = (ad.tensor(X * scale, requires_grad=True) * 1.0)[...]
        for args in (
            (v,),
            (v, v),
            (masked, v),
            (v, masked),
            (v, 2.0),
            (condition, v),
            (v, condition),
            ([v, v],),
            (2, v),
        ):
            try:
                found = f(*args)
            except Exception:  # any refusal will do
                found = None
            yield found

    for one, other in zip(answers(1.0), answers(1.7), strict=True):
        if not isinstance(one, ad.Tensor) and isinstance(one, np.ndarray | np.floating | float):
            np.testing.assert_array_equal(np.ma.getdata(one), np.ma.getdata(other))


def test_masks_of_what_has_no_gradient_are_numpys():
    found = np.ma.array(ad.tensor(X), mask=[False, True, False])
    np.testing.assert_array_equal(found.filled(0.0), [1.0, 0.0, 3.0])


MATRIX = {
    "M * t": lambda t, m: m * t,
    "t * M": lambda t, m: t * m,
    "M @ t": lambda t, m: m @ t,
    "t @ M": lambda t, m: t @ m,
    "M + t": lambda t, m: m + t,
    "t - M": lambda t, m: t - m,
    "t / M": lambda t, m: t / m,
    "t ** M": lambda t, m: t**m,
    "dot": lambda t, m: np.dot(m, t),
    "concatenate": lambda t, m: np.concatenate([m, t]),
    "solve": lambda t, m: np.linalg.solve(m, t),
    "assignment": written,
    "t *= M": lambda t, m: operator.imul(t * 1.0, m),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_refused(mode, name):
    with pytest.raises(ad.AdjointError, match=r"matrix products.*np.asarray|as another type"):
        MODES[mode](lambda t: MATRIX[name](t, np.matrix(SQUARE)), SQUARE)


class Named(np.ndarray):
    """As users derive: an attribute more, and NumPy's arithmetic."""

    def __array_finalize__(self, source):
        self.name = getattr(source, "name", "nobody's")


class Doubling(np.ndarray):
    """Arithmetic of its own, by an operator."""

    def __mul__(self, other):
        return 2.0 * np.multiply(self, other)

    __rmul__ = __mul__


class Quantity(np.ndarray):
    """Arithmetic of its own, by NumPy's protocols."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "answered"

    def __array_function__(self, function, types, args, kwargs):
        return "answered by function"


@pytest.mark.parametrize("mode", MODES)
def test_classes_without_arithmetic_of_their_own_are_arrays(mode, tmp_path):
    memory = np.memmap(tmp_path / "numbers", float, "w+", shape=3)
    memory[:] = X
    for foreign in (X.view(Named), memory, X.view(np.recarray)):
        for f in (lambda t, a: t * a, lambda t, a: a / t, lambda t, a: np.stack([a, t]), written):
            found, right = (MODES[mode](lambda t, a=a, f=f: f(t, a), X) for a in (foreign, X))
            for one, other in zip(found, right, strict=True):
                assert type(one) is type(other)
                np.testing.assert_array_equal(*(ad.stop_gradient(x) for x in (one, other)))


class Twice(np.ndarray):
    """Arithmetic of its own, by operators, in plain arrays."""

    def __mul__(self, other):
        return 2.0 * np.multiply(np.asarray(self), other)

    __rmul__ = __mul__


@pytest.mark.parametrize("mode", ["tensor", "view", "capture"])
def test_classes_with_an_operator_of_their_own(mode):
    for f in (operator.mul, operator.add, lambda t, a: a * t, np.multiply):
        with pytest.raises(ForeignArrayError, match="arithmetic of its own"):
            MODES[mode](lambda t, f=f: f(t, X.view(Doubling)), X)


@pytest.mark.parametrize("mode", ["jvp", "vmap", "grad of jvp", "vmap of grad"])
def test_transforms_follow_operators_of_classes(mode):
    for f, plain in (
        (operator.mul, lambda t: 2.0 * X * t),
        (lambda t, a: a * t, lambda t: 2.0 * X * t),
        (operator.add, lambda t: X + t),
        (np.multiply, lambda t: X * t),
    ):
        found, right = MODES[mode](lambda t, f=f: f(t, X.view(Twice)), X), MODES[mode](plain, X)
        np.testing.assert_allclose(np.asarray(found), np.asarray(right), rtol=1e-14)


def test_classes_that_answer_numpys_protocols_are_asked():
    quantity = X.view(Quantity)

    def asked(t):
        for f in (operator.mul, operator.truediv, np.add, np.arctan2):
            assert f(t, quantity) == "answered"
            assert f(quantity, t) == "answered"
        assert np.concatenate([t, quantity]) == "answered by function"
        return np.sum(t)

    for mode in ("tensor", "view", "jvp"):
        MODES[mode](asked, X)


class Length:
    """A number with a unit, which is no array: it answers NumPy's functions."""

    def __init__(self, metres):
        self.metres = metres

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        numbers = [x.metres if isinstance(x, Length) else x for x in inputs]
        return Length(getattr(ufunc, method)(*numbers, **kwargs))


MEETINGS = {
    "multiply": lambda x, a: np.multiply(x, a),
    "reflected": lambda x, a: np.hypot(a, x),
    "operator": lambda x, a: x * a,
    "operator with a number": lambda x, a: x[0] - a,
    "masked": lambda x, a: np.multiply(x, a, where=np.array([True, False, True]), out=np.zeros(3)),
}


@pytest.mark.parametrize("meet", MEETINGS.values(), ids=MEETINGS)
def test_objects_that_answer_numpys_functions_are_asked(meet):
    for held in (2.0, np.array([0.5, 2.0, 1.5])):
        f = lambda x, held=held: np.sum(meet(x, Length(held)).metres)
        both = lambda x, held=held: np.sum(meet(x, Length(x * held)).metres)
        for loss in (f, both):
            with np.errstate(all="ignore"):
                wanted = [(loss(X + 1e-6 * e) - loss(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
            np.testing.assert_allclose(ad.grad(loss)(X), wanted, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(ad.jvp(loss, (X,), (X,))[1], np.dot(wanted, X), rtol=1e-6)
            np.testing.assert_allclose(ad.vmap(loss)(np.stack([X, X + 1.0])), [loss(X), loss(X + 1.0)], rtol=1e-12)
            np.testing.assert_allclose(ad.compile(loss)(X), loss(X), rtol=1e-12)


def test_objects_that_answer_functions_meet_tensors_anywhere():
    t = ad.tensor(X, requires_grad=True)
    for meet in list(MEETINGS.values())[:4]:
        found = meet(t, Length(2.0))
        assert isinstance(found, Length)
        np.testing.assert_allclose(found.metres.numpy(), meet(X, Length(2.0)).metres)
        assert found.metres.requires_grad


def test_objects_that_answer_other_functions_alone_are_named():
    class Answering:
        def __array_function__(self, function, types, args, kwargs):
            return NotImplemented

    with pytest.raises((TypeError, ForeignArrayError), match="Answering"):
        np.multiply(ad.tensor(X), Answering())
