"""``where=``: what NumPy takes for a mask, in every mode; and what it refuses."""

import numpy as np
import pytest

import adjoint as ad

MASK = np.array([True, False, True])
WIDE = np.array([[True, False, True], [False, True, True]])


def written(write):
    def f(x):
        out = x * 10.0
        write(x, out)
        return out

    return f


def halves(function):
    def f(x):
        parts = np.zeros_like(x), np.ones_like(x)
        function(x, out=parts, where=MASK)
        return parts

    return f


RIGHT = {
    "copyto by numbers in a list": written(lambda x, out: np.copyto(out, x, where=[1, 0, 2])),
    "copyto by a number": written(lambda x, out: np.copyto(out, x, where=0)),
    "a list of comparisons": written(lambda x, out: np.sin(x, out=out, where=[1, 0, 0])),
    "sum by numbers in a list": lambda x: np.sum(x, where=[2, 0, 1]),
    "one truth value": lambda x: np.max(x, where=np.False_, initial=2.0),
    "two results": halves(np.modf),
    "two results of two arguments": halves(lambda x, **given: np.divmod(x, 2.0, **given)),
    "a mask as large as out": lambda x: np.sin(x, out=np.multiply.outer(np.ones(2), x), where=WIDE),
}
WRONG = {
    "sum": lambda x: np.sum(x, where=WIDE),
    "sum along an axis": lambda x: np.sum(x, axis=0, where=WIDE),
    "sum of a row": lambda x: np.sum(x[None], axis=0, where=WIDE),
    "mean": lambda x: np.mean(x, where=WIDE),
    "max": lambda x: np.max(x, where=WIDE, initial=0.0),
    "nanmean": lambda x: np.nanmean(x, where=WIDE),
    "reduce": lambda x: np.logaddexp.reduce(x, where=WIDE),
    "sum by numbers": lambda x: np.sum(x, where=np.array([1.0, 0.0, 2.0])),
    "ufunc": written(lambda x, out: np.sin(x, out=out, where=WIDE)),
    "ufunc by numbers": written(lambda x, out: np.sin(x, out=out, where=np.array([1, 0, 2]))),
    "copyto": written(lambda x, out: np.copyto(out, x, where=WIDE)),
    "copyto by numbers": written(lambda x, out: np.copyto(out, x, where=np.array([1, 0, 1]))),
}
MODES = {
    "reverse": lambda f, x: ad.vjp(f, x)[0],
    "forward": lambda f, x: ad.jvp(f, (x,), (x,))[0],
    "vmap": lambda f, x: [part[0] for part in as_tuple(ad.vmap(f)(x[None]))],
    "captured": lambda f, x: ad.capture(f, x + 1.0)(x),
    "compiled": lambda f, x: [compiled(x) for compiled in [ad.compile(f, wait=True)] for _ in range(2)][1],
}
X = np.array([-1.5, 2.25, 3.75])


def as_tuple(out):
    return out if isinstance(out, tuple | list) else (out,)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RIGHT)
def test_masks_are_taken_as_numpy_takes_them(name, mode):
    f = RIGHT[name]
    found, wanted = as_tuple(MODES[mode](f, X)), as_tuple(f(X))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WRONG)
def test_masks_that_do_not_fit_raise_as_in_numpy(name, mode):
    f = WRONG[name]
    with pytest.raises((TypeError, ValueError)) as of_numpy:
        f(X)
    with pytest.raises(of_numpy.type):
        MODES[mode](f, X)
