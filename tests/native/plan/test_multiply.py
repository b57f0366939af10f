"""Products of matrices by tiles of our own: every edge, layout, width of vectors, and what is computed after them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen import machine
from adjoint.native.plan.products import multiply

R = np.random.default_rng(0)
WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2, "SSE2": machine.SSE2, "NEON": machine.NEON}
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2),
    "steps": lambda x: np.repeat(np.repeat(x, 2, axis=-1), 3, axis=-2)[..., ::3, ::2],
    "reversed": lambda x: x[..., ::-1, ::-1],
}


@pytest.fixture(params=WIDTHS)
def vectors(request, monkeypatch):
    """Code for vectors of each width, whatever this processor has."""
    monkeypatch.setattr(machine, "vectors", lambda: WIDTHS[request.param])
    return WIDTHS[request.param]


@pytest.fixture(params=["as they are", "in panels", "cut"])
def how(request, monkeypatch):
    """Products of small matrices as those of large ones are computed."""
    multiply.cut.cache_clear()
    if request.param != "as they are":
        monkeypatch.setattr(multiply, "OFTEN", 0)
        monkeypatch.setattr(multiply, "SMALL", 0)
    if request.param == "cut":
        monkeypatch.setattr(multiply, "LONGEST", 7)
        monkeypatch.setattr(multiply, "CACHE", 500)
        monkeypatch.setattr(multiply, "PAGE", 8)
        monkeypatch.setattr(multiply, "UNIT", 100)
        monkeypatch.setattr(multiply, "FEW", 1)
    yield request.param
    multiply.cut.cache_clear()


def built(f, *arrays):
    graph = ad.capture(f, *arrays)
    program = native.build(graph.inputs, graph.outputs)
    assert all(row.by != "NumPy" for row in program.listing().rows)
    return program


def check(x, y, got):
    """A product within the error bound of its sums, whatever their order."""
    exact, sizes = np.longdouble(x) @ np.longdouble(y), np.longdouble(abs(x)) @ np.longdouble(abs(y))
    assert (got.dtype, got.shape) == (x.dtype, exact.shape)
    assert np.all(abs(got - exact) <= (x.shape[-1] + 1) * np.finfo(x.dtype).eps * sizes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [2, 5, 8, 21])
def test_every_edge(rows, dtype, vectors, how):
    width = vectors.bytes // dtype().itemsize
    for inner in (3, 30):
        wide = [2, width - 1, width, width + 1, 3 * width, 4 * width + 3, 7 * width - 1]
        xs = [R.normal(size=(rows, inner)).astype(dtype) for _ in wide]
        ys = [R.normal(size=(inner, n)).astype(dtype) for n in wide if n > 1]
        results = built(lambda xs, ys: [x @ y for x, y in zip(xs, ys, strict=False)], xs[: len(ys)], ys)(
            *xs[: len(ys)], *ys
        )
        for x, y, got in zip(xs, ys, results, strict=False):
            check(x, y, got)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("left", LAYOUTS)
def test_every_layout_and_stack(left, dtype, vectors, how):
    stacks = [((), ()), ((4,), (4,)), ((4,), ()), ((), (4,)), ((2, 1), (3,)), ((2, 3), (2, 3)), ((2, 3), ())]
    xs = [R.normal(size=(*a, 11, 13)).astype(dtype) for a, _ in stacks]
    ys = [R.normal(size=(*b, 13, 19)).astype(dtype) for _, b in stacks]

    def f(xs, ys):
        return [LAYOUTS[left](x) @ right(y) for x, y in zip(xs, ys, strict=True) for right in LAYOUTS.values()]

    results = iter(built(f, xs, ys)(*xs, *ys))
    for x, y in zip(xs, ys, strict=True):
        for right in LAYOUTS.values():
            check(LAYOUTS[left](x), right(y), next(results))


AFTER = {
    "bias": lambda m, x, y, z, v: m + v,
    "column": lambda m, x, y, z, v: m * z[..., :1] + 2,
    "relu": lambda m, x, y, z, v: np.maximum(m + v, 0),
    "residual": lambda m, x, y, z, v: z + 0.5 * m,
    "gate": lambda m, x, y, z, v: np.where(z > 0, m, 0),
    "tanh": lambda m, x, y, z, v: np.tanh(m) * z,
    "truth": lambda m, x, y, z, v: (m > z, m < 0),
    "both": lambda m, x, y, z, v: (m, m * m, np.sum(m - z, axis=-2)),
    "two products": lambda m, x, y, z, v: m + x @ (y + 1) + v,
    "itself": lambda m, x, y, z, v: m @ np.swapaxes(m, -1, -2) + (m @ np.swapaxes(m, -1, -2)).swapaxes(-1, -2),
    "turned": lambda m, x, y, z, v: m + np.swapaxes(np.swapaxes(z, -1, -2) * 2, -1, -2),
    "later": lambda m, x, y, z, v: m * np.sum(m) + np.max(m, axis=-1, keepdims=True),
}


@pytest.mark.parametrize("stack", [((), ()), ((3,), (3,)), ((3,), ())])
@pytest.mark.parametrize("after", AFTER)
def test_what_is_computed_after_it(after, stack, vectors, how):
    left, right = stack
    for dtype, rows, columns in ((np.float64, 10, 21), (np.float32, 17, 40)):
        shapes = (*left, rows, 12), (*right, 12, columns), (*left, rows, columns), (columns,)
        arrays = [R.normal(size=shape).astype(dtype) for shape in shapes]

        def f(x, y, z, v):
            return AFTER[after](x @ y, x, y, z, v)

        wanted = f(*arrays)
        for got, value in zip(
            built(f, *arrays)(*arrays), wanted if isinstance(wanted, tuple) else (wanted,), strict=True
        ):
            assert (got.dtype, got.shape) == (value.dtype, value.shape)
            np.testing.assert_allclose(got, value, rtol=0, atol=2000 * np.finfo(dtype).eps * (1 + abs(value).max()))


def test_what_follows_a_product_is_no_kernel_of_its_own():
    x, w, b = R.normal(size=(20, 30)), R.normal(size=(40, 30)), R.normal(size=40)
    listing = built(lambda x, w, b: np.maximum(x @ w.T + b, 0), x, w, b).listing()
    assert [row.by for row in listing.rows] == ["kernel", "product"]
    assert "out = maximum(" in str(listing)


def test_a_product_may_be_written_over_what_is_added_to_it():
    x, y, z = R.normal(size=(20, 30)), R.normal(size=(30, 20)), R.normal(size=(20, 20))
    rows = built(lambda x, y, z: np.exp(z @ z + x @ y) @ z, x, y, z).listing().rows
    assert any(value.instead for row in rows if row.by == "product" for value in row.writes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_element_is_the_same_in_every_matrix(dtype):
    x, y = R.normal(size=(40, 50)).astype(dtype), R.normal(size=(50, 70)).astype(dtype)
    (whole,) = built(lambda x, y: x @ y, x, y)(x, y)
    for rows, columns in ((7, 70), (40, 9), (3, 33)):
        (part,) = built(lambda x, y, r=rows, c=columns: x[:r] @ y[:, :c], x, y)(x, y)
        assert part.tobytes() == whole[:rows, :columns].tobytes()


def test_large_products_are_right():
    for shape in ((300, 2000, 130), (33, 1600, 50), (1000, 40, 1000)):
        m, k, n = shape
        x, y = R.normal(size=(m, k)).astype(np.float32), R.normal(size=(k, n)).astype(np.float32)
        check(x, y, built(lambda x, y: x @ y, x, y)(x, y)[0])
        check(x, y, built(lambda x, y: x @ y.T, x, y.T.copy())(x, y.T.copy())[0])


def test_infinities_and_nan_stay_where_they_are():
    x, y = R.normal(size=(20, 30)), R.normal(size=(30, 20))
    x[3, 4], y[7, 5] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(built(lambda x, y: x @ y, x, y)(x, y)[0], x @ y, rtol=1e-12)
