"""What a graph keeps, counted; and that it goes as soon as it has been used."""

import gc
import weakref

import numpy as np
import pytest

import adjoint as ad


def test_each_piece_of_memory_once():
    x = ad.tensor(np.ones(1000), requires_grad=True)
    y = np.exp(x)  # saves its result,
    z = np.sum(y * y) + np.sum(y[10:20] ** 2)  # as these do, or part of it
    table = ad.saved(z)
    assert [(r.op, r.kind, r.nbytes) for r in table] == [("exp", "value", 8000)]
    assert (table.nbytes, table.leaf_bytes) == (8000, 0)


def test_leaves_apart_and_constants():
    r = np.random.default_rng(0)
    w, c = ad.tensor(r.normal(size=(30, 20)), requires_grad=True), r.normal(size=(10, 20))
    h = c @ w.T
    table = ad.saved(np.sum(h @ w), np.sum(np.sin(w)))
    assert table.leaf_bytes == w.numpy().nbytes
    assert {(r.name, r.kind) for r in table} == {("x", "value"), ("x", "constant"), ("y", "leaf")}
    assert table.nbytes == c.nbytes + h.numpy().nbytes


def test_what_was_packed_counts_with_what_is_left(tmp_path):
    def graph():
        x = ad.tensor(np.ones(100_000), requires_grad=True)
        return np.sum(np.exp(x) ** 2)

    assert ad.saved(graph()).nbytes == 800_000
    with ad.save_as(np.float16):
        table = ad.saved(graph())
    assert [(r.nbytes, r.dtype, r.packed) for r in table] == [(200_000, np.float64, True)]
    with ad.save_on_disk(tmp_path):
        assert ad.saved(graph()).nbytes == 0


def test_by_operation_and_line():
    x = ad.tensor(np.ones(1000), requires_grad=True)
    with ad.source_lines():
        y = x
        for _ in range(3):
            y = np.tanh(y)
        z = np.sum(np.sin(y))
    table = ad.saved(z)
    (first, most), *_ = table.by_operation().items()
    assert (first[0], most) == ("tanh", (3, 24_000))
    assert "test_saved.py" in first[1]
    assert len({r.line for r in table}) == 1  # the sine keeps what the last tanh keeps already
    head, row, total = str(table).splitlines()
    assert head.split() == ["operation", "arrays", "bytes", "line"]
    assert row.split()[:4] == ["tanh", "3", "24", "kB"]
    assert total == "24 kB in all; leaves' own data: 0 B"


def test_without_lines_it_says_how_to_have_them():
    x = ad.tensor(np.ones(10), requires_grad=True)
    assert "ad.source_lines()" in str(ad.saved(np.sum(np.exp(x))))
    with pytest.raises(ad.GradientError, match="without a graph"):
        ad.saved(ad.tensor(1.0))


def test_many_arguments_numbers_and_freed_graphs():
    x = ad.tensor(np.ones((5, 5)), requires_grad=True)
    y = (
        np.sum(np.concatenate([x, np.exp(x)]) ** 3)
        + np.max(np.maximum(x, np.eye(5)))
        + np.linalg.det(x + np.eye(5)) * 2.0
    )
    table = ad.saved(y)
    assert {r.op for r in table} >= {"power", "maximum"}
    assert {(r.name, r.kind) for r in table if r.op == "maximum"} >= {("x", "leaf"), ("y", "constant")}
    y.clear_graph()
    assert len(ad.saved(y)) == 0


def test_saved_values_and_cotangents_go_as_the_pass_goes():
    """When the rule of the first operation runs, nothing of the later ones is left but what it is given."""
    gc.disable()
    try:
        alive, values, cotangents = [], [], []

        @ad.op
        def marked(x):
            return x * 1.0

        @marked.backward
        def marked_backward(g):
            alive.append((sum(r() is not None for r in values), sum(r() is not None for r in cotangents)))
            share = g * 1.0
            cotangents.append(weakref.ref(share))
            return share

        x = ad.tensor(np.ones(1000), requires_grad=True)
        y = x
        for _ in range(6):
            y = np.exp(marked(y) * 0.1)
            values.append(weakref.ref(y.held))
        loss = np.sum(y)
        del y
        loss.backward(retain_graph=False)
        # Each rule finds the values that earlier operations saved, and no cotangent but its own.
        assert alive == [(5, 0), (4, 0), (3, 0), (2, 0), (1, 0), (0, 0)]
    finally:
        gc.enable()
