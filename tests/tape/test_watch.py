"""What somebody else overwrites between forward and backward: an error, or no matter; never a wrong gradient."""

from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg, signal

NUMBERS, MASK = np.array([0, 2, 2]), np.array([True, False, True, True])
FLOATS = np.array([1.5, 2.0, -3.0, 0.5])
TRIANGLE = 2 * np.eye(4) + np.tri(4)


def written(t, write):
    """A copy of `t`, into which something is written."""
    y = t * 1
    write(y)
    return y * t


PROGRAMS = {
    "product": (lambda t, c: t * c, FLOATS),
    "product with a list": (lambda t, c: t * c, FLOATS.tolist()),
    "index": (lambda t, c: t[c] ** 2, NUMBERS),
    "list as an index": (lambda t, c: t[c] ** 2, NUMBERS.tolist()),
    "mask": (lambda t, c: t[c] ** 2, MASK),
    "take": (lambda t, c: np.take(t, c) ** 2, NUMBERS),
    "take_along_axis": (lambda t, c: np.take_along_axis(t, c, 0) ** 2, NUMBERS),
    "repeat": (lambda t, c: np.repeat(t, c) ** 2, np.array([1, 0, 2, 1])),
    "bincount": (lambda t, c: np.bincount(c, t, minlength=3) ** 2, np.array([0, 2, 2, 1])),
    "choose": (lambda t, c: np.choose(c, [t, t**2]), np.array([0, 1, 1, 0])),
    "where": (lambda t, c: np.where(c, t, t**2), MASK),
    "sum where": (lambda t, c: np.sum(t**2, where=c), MASK),
    "add.at": (lambda t, c: written(t, lambda y: np.add.at(y, c, t[:3])), NUMBERS),
    "setitem": (lambda t, c: written(t, lambda y: y.__setitem__(c, t[:3])), NUMBERS),
    "put": (lambda t, c: written(t, lambda y: np.put(y, c, t[:3])), NUMBERS),
    "einsum": (lambda t, c: np.einsum("i,i,j->j", t, c, t), FLOATS),
    "two constants": (lambda t, c: ad.core.registry.operation("clamp")(t, c, c + 1), FLOATS - 1),
    "fftconvolve": (lambda t, c: signal.fftconvolve(t, c), FLOATS),
    "lfilter": (lambda t, c: signal.lfilter(c, [1.0, 0.3], t), FLOATS),
    "solve": (lambda t, c: np.linalg.solve(c, t), TRIANGLE),
    "solve_triangular": (lambda t, c: linalg.solve_triangular(c, t, lower=True), TRIANGLE),
    "cho_solve": (lambda t, c: linalg.cho_solve((c, True), t), TRIANGLE),
    "lstsq": (lambda t, c: np.linalg.lstsq(c, t)[0], TRIANGLE[:, :2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_constant_that_is_overwritten(name):
    program, constant = PROGRAMS[name]

    def gradient(overwrite):
        given = constant.copy()
        t = ad.tensor([0.5, 1.2, 0.8, 1.7], requires_grad=True)
        loss = np.sum(program(t, given))
        if overwrite:
            given[:] = constant[::-1] if isinstance(constant, list) else np.roll(constant, 1, axis=0)
        loss.backward()
        return t.grad.numpy()

    right = gradient(overwrite=False)
    with suppress(ad.InPlaceError):
        np.testing.assert_array_equal(gradient(overwrite=True), right)


def test_each_of_several_constants_is_watched():
    betainc = ad.core.registry.operation("betainc")
    for k in (0, 1):
        constants = [np.array([1.5, 2.5]), np.array([0.7, 1.1])]
        x = ad.tensor([0.3, 0.6], requires_grad=True)
        loss = np.sum(betainc(*constants, x))
        constants[k][0] = 4.0
        with pytest.raises(ad.InPlaceError, match=r"betainc saved at .*test_watch\.py"):
            loss.backward()
