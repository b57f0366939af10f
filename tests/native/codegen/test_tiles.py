"""Copies that turn axes go tile by tile: the same elements, at every length and for every dtype."""

from itertools import permutations

import numpy as np
import pytest

import adjoint as ad
from adjoint import native

SHAPES = [(16, 64), (33, 47), (65, 100), (5, 37, 41), (41, 5, 37), (64, 3, 20), (3, 20, 2, 30)]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "b1", "c8", "c16"]


def copied(x, axes):
    def f(x):
        return np.transpose(x, axes).copy()

    graph = ad.capture(f, x)
    return native.build(graph.inputs, graph.outputs)(x)[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_order_of_axes(shape, dtype):
    x = (np.arange(np.prod(shape)) * 7 % 251).reshape(shape).astype(dtype)
    for axes in permutations(range(len(shape))):
        found = copied(x, axes)
        np.testing.assert_array_equal(found, np.transpose(x, axes))
        assert found.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["c8", "c16", "f8"])
def test_parts_and_every_other_element(dtype):
    room = np.arange(80 * 140).reshape(80, 140).astype(dtype) * (1 + 2j if dtype[0] == "c" else 1)
    for x in (room[::2, ::2], room[3:40, 5:70], room[:, 7:27]):
        np.testing.assert_array_equal(copied(x, (1, 0)), x.T)


def test_large_copies_in_tiles_are_the_same_for_any_number_of_threads():
    x = np.random.default_rng(0).normal(size=(1003, 1501)).astype(np.float32)
    try:
        for count in (1, 2, 3):
            ad.set_threads(count)
            np.testing.assert_array_equal(copied(x, (1, 0)), x.T)
    finally:
        ad.set_threads(None)


def test_nothing_is_written_beside_the_result():
    room = np.full((40, 64), -1.0)
    x = np.random.default_rng(1).normal(size=(33, 35))
    f = ad.compile(lambda room, x: room.__setitem__((slice(2, 37), slice(5, 38)), x.T), wait=True)
    for _ in range(3):
        room[...] = -1.0
        f(room, x)
        np.testing.assert_array_equal(room[2:37, 5:38], x.T)
        assert np.count_nonzero(room == -1.0) == room.size - x.size


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.concatenate([x.T, x.T * 2]),
        lambda x: np.roll(x.T, 3, axis=1),
        lambda x: np.roll(x.T, 20, axis=0),
        lambda x: (np.concatenate([x.T, x.T], axis=1), x.sum(axis=0)),
        lambda x: np.stack([x.T, x.T], axis=1),
        lambda x: (y := np.concatenate([x.T, x.T]), y.sum(axis=0)),
    ],
)
def test_joins_of_arrays_in_fortran_order_lie_so_too(f):
    compiled = ad.compile(f, wait=True)
    x = np.random.default_rng(2).normal(size=(70, 90))
    for _ in range(3):
        wanted, found = f(x), compiled(x)
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (wanted, found)), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-13)
            assert b.strides == a.strides
