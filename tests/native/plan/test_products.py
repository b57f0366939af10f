"""Products of every form: tiny ones by kernels, those with a vector row by row, others by tiles."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native

R = np.random.default_rng(0)


def natively(f, *arrays):
    """Native code's results, which are NumPy's within rounding; and its steps in words."""
    graph = ad.capture(f, *arrays)
    program = native.build(graph.inputs, graph.outputs)
    for got, value in zip(program(*arrays), graph.run(list(arrays)), strict=True):
        assert (got.dtype, got.shape) == (np.asarray(value).dtype, np.shape(value))
        np.testing.assert_allclose(got, value, rtol=0, atol=200 * np.finfo(got.dtype).eps * 30)
    assert all(row.by != "NumPy" for row in program.listing().rows)
    return str(program.listing())


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2),
    "steps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1],
}
SIZES = [
    (1, 1, 1),
    (1, 9, 1),
    (3, 1, 4),
    (3, 3, 3),
    (8, 8, 1),
    (1, 8, 8),
    (9, 20, 1),
    (1, 20, 9),
    (9, 20, 7),
    (2, 30, 2),
]
STACKS = [((), ()), ((4,), (4,)), ((4,), ()), ((), (4,)), ((2, 1), (3,)), ((2, 3), (2, 3))]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_all_forms(dtype, size, layout):
    rows, inner, columns = size
    moved = LAYOUTS[layout]
    sides = [((*left, rows, inner), (*right, inner, columns)) for left, right in STACKS]
    arrays = [R.normal(size=shape).astype(dtype) for pair in sides for shape in pair]
    natively(lambda *xs: tuple([moved(x) @ moved(y) for x, y in zip(xs[::2], xs[1::2], strict=True)]), *arrays)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("stack", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_products_with_vectors(n, stack, dtype):
    matrix, vector = R.normal(size=(*stack, n, n)).astype(dtype), R.normal(size=n).astype(dtype)
    natively(lambda a, v: (a @ v, v @ a, v @ v), matrix, vector)
    natively(lambda a, v: (a[..., ::2, :] @ v, v[::2] @ a[..., ::2, :], a @ v[::-1]), matrix, vector)


def test_their_derivatives():
    matrix, vector = R.normal(size=(12, 12)), R.normal(size=12)
    natively(ad.grad(lambda a, v: np.sum((a @ (a @ v)) ** 2), (0, 1)), matrix, vector)
    stack = R.normal(size=(20, 3, 3))
    natively(ad.grad(lambda a: np.sum((a @ a) ** 2)), stack)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_stay_where_they_are():
    x = np.array([[1.0, np.inf], [np.nan, 2.0]])
    natively(lambda x: (x @ x, x @ x[0], x[:, :1] @ x[:1]), x)


@pytest.mark.parametrize(
    ("shapes", "by"),
    [
        (((3, 3), (3, 3)), "kernel"),
        (((50, 3, 3), (50, 3, 3)), "kernel"),
        (((30,), (30,)), "kernel"),
        (((30, 1), (1, 30)), "kernel"),
        (((30, 30), (30,)), "product"),
        (((30, 30), (30, 30)), "product"),
        (((200, 30), (30, 3)), "BLAS"),
    ],
)
def test_who_computes_them(shapes, by):
    assert f" {by} " in natively(lambda x, y: x @ y, *(R.normal(size=shape) for shape in shapes))


def test_rows_of_a_stack_are_one_product_with_a_vector():
    graph = ad.capture(lambda x, v: x @ v, np.ones((5, 6, 30)), np.ones(30))
    (step,) = native.build(graph.inputs, graph.outputs).plans[0].steps
    assert step.numbers[2:4] == [30, 30]
    assert step.numbers[5] == 1


@pytest.mark.parametrize("seed", range(6))
def test_many_points_moved_in_several_ways(seed):
    rng = np.random.default_rng(seed)
    ways, points, inner, columns = (int(rng.integers(2, n)) for n in (7, 900, 5, 5))
    x, m = rng.normal(size=(points + 100, inner)), rng.normal(size=(ways, columns, inner))

    def f(x, m):
        moved = x @ m.transpose(0, 2, 1)
        return moved, np.sin(moved) * x[:, :1], np.sum(moved**2, axis=-1), x[None] @ m.swapaxes(1, 2) + moved

    for g in (f, lambda x, m: ad.grad(lambda x, m: np.sum(f(x, m)[1] ** 2) + np.sum(f(x, m)[3]), (0, 1))(x, m)):
        graph = ad.capture(g, x, m)
        for found, expected in zip(native.build(graph.inputs, graph.outputs)(x, m), graph.run([x, m]), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
