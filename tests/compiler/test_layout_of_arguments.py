"""Compiled functions read their arguments where these lie, in whatever order."""

import numpy as np
import pytest

import adjoint as ad

ROOM = np.arange(1.0, 1.0 + 40 * 6 * 10).reshape(40, 6, 10) / 7

LAYOUTS = {
    "C": ROOM.copy(),
    "Fortran": np.asfortranarray(ROOM),
    "transposed": ROOM.transpose(2, 0, 1),
    "gaps": ROOM[:, ::2, 1::3],
    "Fortran with gaps": np.asfortranarray(ROOM)[::2],
    "backward": ROOM[::-1],
    "repeated": np.broadcast_to(ROOM[:, :1], ROOM.shape),
    "an axis of one": np.asfortranarray(ROOM)[:, 2:3],
    "a column": ROOM[:, 3, 4],
    "not aligned to elements": np.ndarray((5, 6), np.float32, bytes(12 * 40), 0, (12 * 6, 12))[::2],
}
FUNCTIONS = {
    "elementwise": lambda x: x * 2 + 1,
    "two": lambda x: (x * 2, x + x),
    "transposed": lambda x: (x * 2).T,
    "with others": lambda x: x / np.ones(x.shape[-1:]),
    "reshaped": lambda x: x.reshape(-1) * 3,
    "a part": lambda x: x[1:, ...] - x[:-1, ...],
    "a maximum": lambda x: x.max(axis=0),
}


def strides(array):
    return [step for n, step in zip(array.shape, array.strides, strict=True) if n > 1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_their_layouts_are_numpys(name, layout):
    f, x = FUNCTIONS[name], LAYOUTS[layout]
    compiled, expected = ad.compile(f, wait=True), f(x)
    for _ in range(4):
        found = compiled(x)
        for got, wanted in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
            np.testing.assert_array_equal(got, wanted)
            assert strides(got) == strides(wanted)


def test_products_and_gradients_of_arguments_in_fortran_order():
    x, w = np.asfortranarray(ROOM[:, 0]), np.asfortranarray(ROOM[0].T)
    f = ad.compile(ad.grad(lambda x, w: np.sum(np.tanh(x @ w / 100) ** 2)), wait=True)
    wanted = f(x.copy(order="C"), w.copy(order="C"))
    for _ in range(4):
        np.testing.assert_allclose(f(x, w), wanted, rtol=1e-12)


def test_an_argument_that_is_written_lies_as_it_did():
    def f(x, y):
        x += y
        return x.sum()

    compiled = ad.compile(f, wait=True)
    for _ in range(4):
        x = np.asfortranarray(ROOM[0])
        assert compiled(x, x.copy(order="F")) == pytest.approx(2 * ROOM[0].sum())
        np.testing.assert_array_equal(x, 2 * ROOM[0])
        assert x.flags.f_contiguous


def test_arrays_that_lie_otherwise_have_their_own_results():
    f = ad.compile(lambda x: x - 1, wait=True)
    for _ in range(3):
        for x in LAYOUTS.values():
            np.testing.assert_array_equal(f(x), x - 1)


def test_a_global_that_is_replaced_by_one_that_lies_otherwise():
    table = {"w": np.asfortranarray(ROOM[0])}
    f = ad.compile(lambda x: x * table["w"], wait=True)
    for w in (table["w"], np.asfortranarray(ROOM[1]), ROOM[2].copy(), np.asfortranarray(ROOM[3])):
        table["w"] = w
        for _ in range(3):
            np.testing.assert_array_equal(f(2.0), 2 * w)
