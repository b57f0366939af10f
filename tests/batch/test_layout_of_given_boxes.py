"""Stacks whose samples have gaps in memory, made inside another transform: what writes through `ravel` reach."""

import numpy as np
import pytest

import adjoint as ad

SHAPE = (3, 4, 5)


def whole():
    return np.arange(60.0).reshape(SHAPE)


STACKS = {
    "Fortran": lambda: np.asfortranarray(whole()),
    "samples inside": lambda: np.ascontiguousarray(np.moveaxis(whole(), 0, 1)).swapaxes(0, 1)[:, ::2],
    "samples last": lambda: np.arange(60.0).reshape(5, 4, 3).transpose(2, 0, 1)[:, ::2],
    "backwards": lambda: np.asfortranarray(whole())[:, ::-1],
    "turned": lambda: np.asfortranarray(whole()).transpose(0, 2, 1),
    "a small part": lambda: np.arange(1920.0).reshape(6, 16, 20)[::2, ::4, ::4],
    "a small part, turned": lambda: np.arange(1920.0).reshape(6, 16, 20)[::2, ::4, ::-4].transpose(0, 2, 1),
}
PARTS = {"all": lambda c: c, "a row": lambda c: c[0], "a column": lambda c: c[:, 0], "turned": lambda c: c.T}
FLAT = {
    "ravel": lambda y: y.ravel(),
    "ravel K": lambda y: y.ravel("K"),
    "ravel F": lambda y: y.ravel("F"),
    "reshape": lambda y: y.reshape(-1),
}
TIMES = np.array([0.5, 1.5, -2.0])


@pytest.mark.parametrize("flat", FLAT)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("stack", STACKS)
def test_writes_reach_what_they_do_in_numpy(stack, part, flat):
    def one(c, t):
        y = PARTS[part](c)
        r = FLAT[flat](y)
        r[1] = t
        return np.sum(y * np.arange(1.0, 1 + y.size).reshape(y.shape)) * 7 + np.sum(r)

    def batched(t, filled=False):
        c = STACKS[stack]()
        if filled:
            c[0, 0, 0] += 0 * t[0]
        return ad.vmap(one)(c, t)

    def in_turn(t):
        c = STACKS[stack]()
        return np.array([one(c[i], t[i]) for i in range(3)])

    expected = in_turn(TIMES)
    slopes = in_turn(TIMES + 0.5) - in_turn(TIMES - 0.5)
    value, tangent = ad.jvp(batched, (TIMES,), (np.ones(3),))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(tangent, slopes, rtol=1e-9)
    for filled in (False, True):
        np.testing.assert_allclose(ad.grad(lambda t: np.sum(batched(t, filled)))(TIMES), slopes, rtol=1e-9)
