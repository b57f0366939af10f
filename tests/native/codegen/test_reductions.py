"""Reductions that take several vectors at once give what NumPy gives, at every length and beside special values."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen.loops.kernels import _AT_ONCE

LENGTHS = [1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 257, 1030]
DTYPES = [np.float64, np.float32, np.float16, np.int8, np.int32, np.int64, np.bool_]


def compiled(f, *arrays):
    graph = ad.capture(f, *arrays)
    return native.build(graph.inputs, graph.outputs), graph


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n, dtype):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 2, (3, n)).astype(dtype)  # whose sums are exact
    x[:, n // 2] = 1

    def f(x):
        return [g(y, axis) for y in (x, np.transpose(x)) for g in (np.max, np.min, np.any, np.all) for axis in (0, 1)]

    program, graph = compiled(f, x)
    for got, wanted in zip(program(x), graph.run([x]), strict=True):
        np.testing.assert_array_equal(got, wanted)
    if dtype is not np.bool_:
        program, graph = compiled(lambda x: [np.sum(x * x, 0), np.sum(x, 1), np.sum(x), np.sum(x - x[:, :1])], x)
        for got, wanted in zip(program(x), graph.run([x]), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_special_values_at_every_place(dtype, value):
    n = 2 * _AT_ONCE * 16 + 5
    program, graph = compiled(lambda x: [np.max(x), np.min(x), np.max(x, 0), np.argmax(x)], np.zeros((n, 1), dtype))
    for k in range(n):
        x = np.linspace(-1, 1, n, dtype=dtype)[:, None].copy()
        x[k] = value
        for got, wanted in zip(program(x), graph.run([x]), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("shape", [(100_000,), (1000, 300), (5, 40_000)])
def test_long_sums_are_as_accurate_as_numpys(shape):
    x = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
    program, _ = compiled(lambda x: [np.sum(x), np.sum(x, 0), np.sum(x, -1)], x)
    for got, axis in zip(program(x), (None, 0, -1), strict=True):
        exact = np.sum(x.astype(np.float64), axis)
        np.testing.assert_allclose(got, exact, rtol=2e-6 if axis != 0 else 1e-5)


@pytest.mark.parametrize("dtype", [*DTYPES, np.uint8])
@pytest.mark.parametrize("n", [*LENGTHS, 4097])
def test_light_operations_take_several_vectors_at_once(n, dtype):
    room = np.random.default_rng(n).integers(0, 2, (3, 2 * n)).astype(dtype)
    functions = [np.copy, lambda x: x > 0, lambda x: np.maximum(x, x[0]), lambda x: np.where(x > 0, x, x[:1])]
    for f in functions + ([] if dtype == np.bool_ else [lambda x: x + x, np.absolute]):
        for x in (room[:, :n].copy(), room[:, ::2], room[:, :n]):
            program, _ = compiled(f, x)
            np.testing.assert_array_equal(program(x)[0], f(x))


def test_numbers_are_reduced_along_an_axis_that_they_do_not_have():
    for f in (lambda x: x.sum(axis=0), lambda x: x.max(axis=-1), lambda x: np.argmax(x, axis=0)):
        program, _ = compiled(f, np.array(3.0))
        assert program(np.array(3.0))[0] == f(np.array(3.0))


@pytest.mark.parametrize("kind", ["ties", "any", "nan", "lowest", "highest"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint32, np.int8])
def test_first_places_of_extremes_are_numpys(dtype, kind):
    rng, is_float = np.random.default_rng(1), np.dtype(dtype).kind == "f"
    ends = (-np.inf, np.inf) if is_float else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for shape in ((70, 100), (33, 257), (5000,), (6, 20, 64)):
        x = rng.integers(0, 4, shape).astype(dtype)
        if kind == "any":
            x = rng.standard_normal(shape).astype(dtype) if is_float else rng.integers(*ends, shape, dtype, True)
        elif kind == "nan" and is_float:
            x[rng.random(shape) < 0.01] = np.nan
        elif kind in ("lowest", "highest"):
            x[...] = ends[kind == "highest"]
            x[..., -1] = x[0] if x.ndim == 1 else x[..., 0]
        gaps = np.zeros([2 * n for n in shape], dtype)[tuple(slice(None, None, 2) for _ in shape)]
        gaps[...] = x
        axes = (None, *range(len(shape)))

        def places(x, axes=axes):
            return [f(x, axis) for f in (np.argmax, np.argmin) for axis in axes] + [
                np.argmax(np.maximum(x, x[:1]), axis=-1)
            ]

        for given in (x, np.asfortranarray(x), gaps):
            program, _ = compiled(places, given)
            for got, wanted in zip(program(given), places(given), strict=True):
                assert got.dtype == np.asarray(wanted).dtype
                np.testing.assert_array_equal(got, wanted)
