"""``t.shape = (2, 3)`` and ``t.resize(8)``: in place, beside views, and what they refuse."""

import contextlib
import random

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import InPlaceError, LeavesGraphError

pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5's, of its own arrays

SHAPES = [(12,), (3, 4), (2, 6), (2, 3, 2), (-1, 2)]


def program(seed):
    """A function that sets shapes, makes views and writes, in an order by chance."""

    def f(t):
        draw = random.Random(seed)
        first = np.zeros(12)
        first[3], first[5] = t, t * t
        views = [first]
        for _ in range(8):
            kind, x = draw.randrange(7), draw.choice(views)
            if kind == 0:
                with contextlib.suppress(AttributeError, ValueError):
                    x.shape = draw.choice(SHAPES)
            elif kind == 1:
                x[...] = x * t + 1.0
            elif kind == 2 and len(x):
                x[0] = t * np.arange(1.0, 1.0 + x[0].size).reshape(x[0].shape)
            else:
                views.append((x[1:], x.T, x.reshape(-1), x[..., ::2])[kind - 3])
        return sum((np.sin(x) * np.arange(x.size).reshape(x.shape)).sum() * (1 + x.ndim) for x in views)

    return f


@pytest.mark.parametrize("seed", range(60))
def test_shapes_beside_views_and_writes(seed):
    f = program(seed)
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    found = ad.grad(f)(0.7), ad.jvp(f, (0.7,), (1.0,))[1], ad.vmap(ad.grad(f))(np.array([0.7, 0.8]))[0]
    assert np.allclose(found, slope, rtol=1e-5, atol=1e-4)
    assert np.allclose(ad.vmap(f)(np.array([0.7, 0.8])), [f(0.7), f(0.8)])


def test_a_leaf_keeps_its_shape():
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(InPlaceError, match=r"t.reshape\(shape\)"):
        w.shape = (2, 1)
    with pytest.raises(InPlaceError, match=r"t.reshape\(shape\)"):
        w.resize(3)


def test_history_stays_without_recording():
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    y = w * w
    with ad.no_grad():
        y.shape = (2, 1)
    y.resize(3)
    (y * np.array([1.0, 2.0, 3.0])).sum().backward()
    assert np.array_equal(w.grad, [2.0, 8.0])
    assert y.shape == (3,)


def test_what_numpy_refuses():
    y = ad.tensor(np.ones((2, 3)))
    with pytest.raises(AttributeError, match="Incompatible shape"):
        y.T.shape = (6,)
    with pytest.raises(ValueError, match="does not own its data"):
        y[0].resize(4)
    with pytest.raises(AttributeError, match="not writable"):
        y[0, 0].shape = (1,)


def test_arrays_of_objects_are_filled_with_tensors():
    t = ad.tensor([2.0, 3.0], requires_grad=True)
    o = np.empty(3, dtype=object)
    o[1:] = t
    o[0] = o[1] * o[2]
    assert np.array_equal(ad.grad(lambda x: np.asarray(x, dtype=object).prod())(np.array([2.0, 3.0])), [3.0, 2.0])
    o[0].backward()
    assert np.array_equal(t.grad, [3.0, 2.0])
    with pytest.raises(LeavesGraphError):
        np.zeros(2)[:] = [t[0], 1.0]
