"""Index arrays in native code: what they name, where what they name is added up, and numbers that are outside."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native, nn, optim
from adjoint.native.plan.layout.indexing import affine, apart, terms

R = np.random.default_rng(0)
X = R.normal(size=(6, 5, 4))
ROWS, COLUMNS = np.array([0, -1, 3, 3, 2]), np.array([4, 1, -5, 0, 4])
MASK = R.random(6) < 0.5


def natively(f, *arrays, exact=True):
    """The results of `f`, computed by native code alone, which are those of NumPy."""
    graph = ad.capture(f, *arrays)
    program = native.build(graph.inputs, graph.outputs)
    assert all(row.by != "NumPy" for row in program.listing().rows), str(program.listing())
    found = program(*arrays)
    for got, expected in zip(found, graph.run(list(arrays)), strict=True):
        assert got.dtype == np.asarray(expected).dtype
        if exact:
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=4e-15, atol=1e-15)
    return found


INDICES = {
    "one": lambda i, j: i,
    "second axis": lambda i, j: (slice(None), i % 5),
    "last axis": lambda i, j: (..., i % 4),
    "pairs": lambda i, j: (i, j),
    "table": lambda i, j: (i[:, None], j),
    "apart": lambda i, j: (i, slice(None), i % 4),
    "with a number": lambda i, j: (i, 1),
    "a number apart": lambda i, j: (2, slice(1, 4), i % 4),
    "after a new axis": lambda i, j: (None, i),
    "around a new axis": lambda i, j: (i, None, j),
    "with slices": lambda i, j: (slice(None, None, -2), j, slice(3, 0, -1)),
    "of two axes": lambda i, j: i.reshape(5, 1, 1),
    "none": lambda i, j: np.zeros((), int) + i[0],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("name", INDICES)
def test_elements_are_numpys(name, dtype):
    x, index = (X * 10).astype(dtype), INDICES[name]
    natively(lambda x: x[index(ROWS, COLUMNS)], x)
    natively(lambda x, i, j: x[index(i, j)], x, ROWS, COLUMNS)


@pytest.mark.parametrize("name", INDICES)
def test_gradients_add_up_in_numpys_order(name):
    index = INDICES[name]

    def weighted(x, i, j):
        picked = x[index(i, j)]
        return np.sum(picked * picked * np.arange(1.0, picked.size + 1).reshape(picked.shape))

    natively(ad.grad(weighted), X, ROWS, COLUMNS)
    natively(ad.grad(lambda x: weighted(x, ROWS, COLUMNS)), X)


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x[::-1],
        lambda x: np.swapaxes(x, 0, 2),
        lambda x: x[:, ::2, 1:],
        lambda x: np.broadcast_to(x[0, 0], (3, 4)),
        lambda x: np.reshape(np.swapaxes(x, 0, 1), (10, 12)),
        lambda x: np.abs(x) + 1,
        lambda x: np.sum(x, axis=1),
    ],
)
def test_of_any_layout(layout):
    i = np.array([[0, 2], [-1, 1]])
    exact = layout(X).shape != (6, 4)
    natively(lambda x: layout(x)[i], X, exact=exact)
    natively(lambda x, i: layout(x)[:, i] * 2.0, X, i, exact=exact)
    natively(ad.grad(lambda x, i: np.sum(np.square(layout(x)[i]))), X, i, exact=False)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_numbers_of_every_kind(dtype):
    natively(lambda x, i: (x[i], np.take(x, i, axis=1), x[:, i, i]), X, np.array([3, 0, 0, 2], dtype))


def test_functions_that_index():
    places, rows = np.argsort(X, axis=1), np.array([[0], [3], [1], [1], [0], [2]])
    natively(lambda x: (np.take_along_axis(x, places, 1), x[MASK], x[:, [True, False] * 2 + [True]]), X)
    natively(lambda x, k: np.take_along_axis(x, k, 1), X, places)
    natively(lambda x, k: np.take_along_axis(np.max(x, axis=1), k, axis=-1), X, rows)
    natively(lambda x, i: (np.take(x, i), np.take(x, i, mode="wrap"), np.take(x, i, mode="clip")), X, ROWS)
    natively(lambda x, i: np.bincount(i, x, minlength=7), X[0, :, 0], np.abs(ROWS))
    natively(lambda x, c: np.choose(c, [x, -x, x * 2]), X[0, 0], np.array([0, 2, 1, 1]))


def test_what_lies_regularly_is_a_view():
    x = R.normal(size=(5, 7))
    for f in (np.diagonal, np.diag, lambda x: x[np.arange(3), np.arange(3) + 2], lambda x: x[[4, 2, 0]], np.trace):
        (got,) = natively(f, x, exact=f is not np.trace)
        assert "take" not in native.build(*_ends(f, x)).listing().rows[0].writes[0].formula, got
    natively(lambda v: (np.diag(v), np.diag(v, -2)), x[0])
    natively(ad.grad(lambda x: np.trace(x @ x.T)), x, exact=False)
    natively(lambda x: x[[2, 2, 2]], x)
    natively(ad.grad(lambda x: np.sum(x[[2, 2, 2]] ** 2)), x)


def _ends(f, *arrays):
    graph = ad.capture(f, *arrays)
    return graph.inputs, graph.outputs


def test_assignment_leaves_the_last_of_several():
    i = np.array([1, 3, 1, -1])

    def written(x, v):
        y = x * 1.0
        y[i] = v
        y[MASK, 0] = 7.0
        return y

    natively(written, X[:, 0], R.normal(size=(4, 4)))
    natively(ad.grad(lambda x, v: np.sum(written(x, v) ** 2)), X[:, 0], R.normal(size=(4, 4)))
    natively(ad.grad(lambda v, x: np.sum(written(x + v[:1], v) ** 2)), R.normal(size=(4, 4)), X[:, 0])


def test_assignment_at_numbers_that_vary_is_a_few_operations():
    def written(x, i, v):
        y = x * 1.0
        y[i] = v
        y[i % 3, 2] += 1.0
        y.T[1, i] *= 2.0
        return y

    x, v, i = R.normal(size=(9, 4)), R.normal(size=(60, 4)), R.integers(-9, 9, 60)
    natively(written, x, i, v)
    natively(ad.grad(lambda x, i, v: np.sum(written(x, i, v) ** 2), argnums=(0, 2)), x, i, v, exact=False)
    graph = ad.capture(written, x, i, v)
    assert len(graph) < 100
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        native.build(graph.inputs, graph.outputs)(x, np.full(60, 9), v)


@pytest.mark.parametrize("bad", [6, -7, 1 << 40, -(1 << 62)])
def test_numbers_outside_are_numpys_error(bad):
    graph = ad.capture(lambda x, i: np.sum(x[i] * 2.0), X, ROWS)
    program = native.build(graph.inputs, graph.outputs)
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 6"):
        program(X, np.array([0, 1, bad, 2, 3]))
    np.testing.assert_allclose(program(X, ROWS)[0], np.sum(X[ROWS] * 2.0))
    empty = np.array([5, -6, 0, 0, 0])  # the outermost that there are
    np.testing.assert_allclose(program(X, empty)[0], np.sum(X[empty] * 2.0))


def test_positions_are_computed_once_for_both_ways():
    graph = ad.capture(ad.value_and_grad(lambda x, i: np.sum(np.tanh(x[i]))), X, ROWS)
    rows = native.build(graph.inputs, graph.outputs).listing().rows
    assert sum("minimum(" in str(write.formula) for row in rows for write in row.writes) == 1


def _classifier():
    table = nn.Parameter(np.random.default_rng(1).normal(size=(50, 8)))
    linear = nn.Linear(8, 7, rng=0)
    adam = optim.Adam([table, *linear.parameters()], lr=0.05)

    def step(words, labels):
        adam.zero_grad()
        scores = linear(np.mean(table[words], axis=1))
        losses = np.log(np.sum(np.exp(scores), axis=-1)) - scores[np.arange(len(words)), labels]
        loss = np.mean(losses)
        loss.backward(retain_graph=False)
        adam.step()
        return loss

    return step, table


def test_a_training_step_with_a_lookup_and_a_cross_entropy():
    words, labels = R.integers(-50, 50, (32, 9)), R.integers(0, 7, 32)
    (eager, own), (f, table) = _classifier(), _classifier()
    compiled = ad.compile(f, wait=True)
    losses = []
    for _ in range(15):
        losses.append(compiled(words, labels).item())
        assert losses[-1] == pytest.approx(eager(words, labels).item(), rel=1e-6)
    assert losses[-1] < losses[0] / 2
    np.testing.assert_allclose(table.numpy(), own.numpy(), rtol=1e-6, atol=1e-9)
    assert "NumPy" not in compiled.explain().replace("by NumPy:", "NumPy")

    before = table.numpy().copy()
    for wrong in (np.where(words == words[3, 3], 50, words), np.where(words == words[0, 0], -51, words)):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 50"):
            compiled(wrong, labels)
    with pytest.raises(IndexError, match="out of bounds for axis 1 with size 7"):
        compiled(words, labels + 1)
    np.testing.assert_array_equal(table.numpy(), before)  # nothing was written
    assert compiled(words, labels).item() == pytest.approx(eager(words, labels).item(), rel=1e-6)


def test_state_that_is_read_at_positions_while_it_is_written():
    order, state = np.array([3, 0, 2, 1]), ad.tensor(np.arange(4.0))

    @ad.compile(wait=True)
    def shuffle(order):
        state.data = state.data[order] * 2.0
        return np.sum(state)

    expected = np.arange(4.0)
    for _ in range(5):
        shuffle(order)
        expected = expected[order] * 2.0
        np.testing.assert_array_equal(state.numpy(), expected)


@pytest.mark.parametrize(
    "index",
    [5, (1, ROWS), (slice(1, None), ROWS % 4), (ROWS, slice(None), COLUMNS % 4), (None, ROWS, 2), (..., ROWS % 4),
     np.array([5, 3, 1]), (np.array([[0], [2]]), np.array([1, 3])), (np.array([0, 1]), ..., np.array([3, 1])), MASK],
)  # fmt: skip
def test_terms_say_where_elements_lie(index):
    found = terms(X.shape, (20, 4, 1), index)
    numbers = np.arange(X.size).reshape(X.shape)[index]
    assert found.shape == numbers.shape
    regular = affine(found)
    if regular is not None:
        strides, offset = regular
        counted = np.arange(X.size)
        shown = np.lib.stride_tricks.as_strided(counted[offset:], found.shape, np.multiply(strides, counted.itemsize))
        np.testing.assert_array_equal(shown, numbers)
        assert apart(found.shape, strides) == (len(np.unique(numbers)) == numbers.size)
