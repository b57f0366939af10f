"""Arrays that are filled, added up and read region by region: native code gives what NumPy gives."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.plan.layout import assembly
from adjoint.native.plan.layout.piecewise import ASSEMBLE
from adjoint.native.plan.layout.regions import meeting, region_of, tiles


def same(f, *arrays):
    """Native code gives NumPy's numbers; how many bytes the program moves."""
    graph = ad.capture(f, *arrays)
    program = native.build(graph.inputs, graph.outputs)
    for got, value in zip(program(*arrays), graph.run(list(arrays)), strict=True):
        np.testing.assert_array_equal(got, value)
        assert (got.dtype, got.shape) == (np.asarray(value).dtype, np.shape(value))
    return sum(kernel.read + kernel.written for kernel in program.kernels)


def whole(rng, dtype, *shape):
    """Small whole numbers, whose sums and products are exact in any order."""
    return rng.integers(-2, 3, shape).astype(dtype)


def random_index(rng, shape):
    """An index of numbers and slices, some of them empty, backwards or in steps."""
    parts = []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        kind = rng.integers(6)
        low, high = sorted(rng.integers(0, n + 1, 2).tolist())
        parts.append(
            int(rng.integers(-n, n)) if kind < 2 else
            slice(None) if kind == 2 else
            slice(low, high) if kind == 3 else
            slice(None, None, int(rng.choice([-2, -1, 2]))) if kind == 4 else
            slice(max(low - 1, 0), low + 1)
        )  # fmt: skip
    if rng.random() < 0.2:
        parts.insert(int(rng.integers(len(parts) + 1)), None)
    if rng.random() < 0.2:
        parts.append(...)
    return tuple(parts)


def random_program(rng, shape, dtype):
    """A function of two arrays that fills buffers, adds, joins, pads and reads."""
    kinds = ["fill", "add", "number", "place", "stack", "join", "pad", "whole", "sum"]
    steps = [
        (rng.choice(kinds), int(rng.integers(99)), random_index(rng, shape), int(rng.integers(shape[0] + 1)))
        for _ in range(rng.integers(3, 14))
    ]
    weights = [whole(rng, dtype, *shape) for _ in range(20)]

    def f(x, y):
        buffer, arrays = 0 * x, [x, y, x + y]
        for kind, which, index, cut in steps:
            a = arrays[which % len(arrays)]
            if kind == "fill":
                buffer[index] = a[index]
            elif kind == "add":
                buffer[index] += a[index]
            elif kind == "number":
                buffer[index] = 2
            elif kind == "place":
                made = np.zeros_like(x)
                made[index] = a[index] * y[index]
                arrays.append(made)
            elif kind == "stack":
                arrays.append(np.stack([a[i] * (i + 1) for i in range(shape[0])]))
            elif kind == "join":
                arrays.append(np.concatenate([a[cut:] * 2, a[:cut]]))
            elif kind == "pad":
                starts = (0, 2, 1)
                arrays.append(np.pad(a, 1)[tuple([slice(k, k + n) for k, n in zip(starts, shape, strict=False)])])
            else:
                arrays.append(buffer * 1 if kind == "whole" else buffer + a)
        total = np.sum(buffer * weights[0])
        for a, weight in zip(arrays, weights[1:], strict=False):
            total = total + np.sum(a * weight)
        return total

    return f


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("shape", [(4, 3), (5,), (2, 3, 2)])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, shape, dtype, monkeypatch):
    monkeypatch.setattr(assembly, "TILED", 1 if seed % 2 else assembly.TILED)
    rng = np.random.default_rng(seed)
    x, y = whole(rng, dtype, *shape), whole(rng, dtype, *shape)
    f = random_program(rng, shape, dtype)
    slopes = ad.grad(lambda *a: np.real(f(*a)), (0, 1))
    same(lambda x, y: (f(x, y), *slopes(x, y)), x, y)


def test_a_loop_over_rows_moves_bytes_in_proportion_to_the_rows():
    def over_rows(x):
        h = x[0]
        for row in x:
            h = h * row + row[::-1]
        return np.sum(h)

    few, many = (same(ad.grad(over_rows), np.ones((n, 8))) for n in (20, 80))
    assert many < 5 * few


def test_a_loop_that_fills_an_array_and_reads_it_moves_bytes_in_proportion_to_the_rows():
    def filling(x):
        out = np.zeros((len(x) + 1, 8))
        for i in range(len(x)):
            out[i + 1] = out[i] * x[i] + 1
        return np.sum(out * out)

    few, many = (same(ad.grad(filling), np.ones((n, 8))) for n in (20, 80))
    assert many < 5 * few


def test_what_was_written_is_read_without_the_array():
    def f(x):
        state = np.array([x[0], x[1]])
        for _ in range(5):
            state = np.array([state[1], state[0] * state[1]])
        return state[0] + state[1]

    graph = ad.capture(f, np.ones(2))
    program = native.build(graph.inputs, graph.outputs)
    assert len(program.kernels) == 1
    same(f, np.array([3.0, 2.0]))


def test_a_state_of_which_an_earlier_form_is_kept():
    def f(x):
        out = np.zeros((3, 2))
        kept = []
        for i in range(3):
            out[i] = x[i] * 2
            kept.append(out * 1)
            out[0] += x[i]
        return (*kept, out[0], out)

    same(f, np.arange(6.0).reshape(3, 2))


def test_writes_through_views_are_seen():
    def f(x):
        out = np.zeros((3, 4))
        out.T[1] = x[0, :3]
        out[1:][::-1, 1:3] += x[:2, :2]
        out[1][2:] = 7
        return out[1], out[:, 1], out

    same(f, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize(
    ("indices", "earlier", "covered"),
    [
        ([0, 1, 2, 3], [False] * 4, True),
        ([slice(0, 2), slice(1, 4)], [False, True], False),
        ([slice(0, 2), slice(2, 4), slice(1, 3)], [False, False, True], True),
        ([slice(None, None, 2), slice(1, None, 2)], [False, True], False),
        ([(slice(None), 0), (slice(None), slice(1, 3))], [False, False], True),
        ([slice(None, None, -1)], [False], False),
    ],
)
def test_meeting_of_regions(indices, earlier, covered):
    met = meeting((4, 3), [region_of((4, 3), index) for index in indices])
    assert met.earlier == earlier
    assert met.covered == covered


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_shifted_sums_are_made_box_by_box(dtype):
    def shifted(x):
        return [x[1:-1, 1:-1], x[:-2, 1:-1], x[2:, 1:-1], x[1:-1, :-2], x[1:-1, 2:]]

    rng = np.random.default_rng(0)
    if dtype is not np.int64:
        slope = ad.grad(lambda x: np.sum((sum(shifted(x)) * x[1:-1, 1:-1]).astype(np.float64)))
        assert same(slope, whole(rng, dtype, 70, 80)) < 12 * 70 * 80 * np.dtype(dtype).itemsize + 4 * 70 * 80 * 8
    x = whole(rng, dtype, 70, 80)
    same(lambda x: np.pad(x[1:], ((0, 1), (0, 0))) + np.pad(x[:-1], ((1, 0), (0, 0))) + x, x)


@pytest.mark.parametrize("seed", range(20))
def test_tiles_have_each_element_once(seed):
    rng = np.random.default_rng(seed)
    shape = (6, 5)
    found = [region_of(shape, random_index(rng, shape)) for _ in range(5)]
    regions = [r for r in found if r is not None and r.is_dense]
    count, named = np.zeros(shape, int), np.zeros((len(regions), *shape), int)
    for box, those in tiles(shape, regions):
        here = tuple(slice(low, high) for low, high in box.bounds)
        count[here] += 1
        for i in those:
            named[i][here] = 1
    assert (count == 1).all()
    for region, marked in zip(regions, named, strict=True):
        wanted = np.zeros(shape, int)
        wanted[tuple(slice(low, high) for low, high in region.bounds)] = 1
        np.testing.assert_array_equal(marked, wanted)


@pytest.mark.parametrize("seed", range(30))
def test_regions_know_what_they_share(seed):
    rng = np.random.default_rng(seed)
    numbers = np.arange(60).reshape(5, 4, 3)
    first, second = random_index(rng, numbers.shape), random_index(rng, numbers.shape)
    one, other = region_of(numbers.shape, first), region_of(numbers.shape, second)
    for region, index in ((one, first), (other, second)):
        assert (region is None) == (numbers[index].size == 0)
        assert region is None or region.shape == numbers[index].shape
    if one is None or other is None:
        return
    shared = np.intersect1d(numbers[first], numbers[second])
    assert not (one.misses(other) and shared.size)
    within = one.index_of(other)
    if within is not None:
        np.testing.assert_array_equal(np.ravel(numbers[first][within]), np.ravel(numbers[second]))


def test_sums_of_regions_are_one_step():
    graph = ad.capture(ad.grad(lambda x: np.sum(x[1:] * x[:-1] + x[2] * x[3])), np.ones(9))
    program = native.build(graph.inputs, graph.outputs)
    assert any(node.op is ASSEMBLE for kernel in program.kernels for node in kernel.nodes)
