"""What a plan says of itself: steps, formulas, bytes, and where and how long arrays lie in memory."""

import numpy as np

import adjoint as ad
from adjoint import native

R = np.random.default_rng(0)


def listing(f, *args, **names):
    graph = ad.capture(f, *args)
    return native.build(graph.inputs, graph.outputs).listing(**names)


def two_products(x, w):
    return np.tanh(np.tanh(x @ w) @ x)


def test_steps_say_what_is_computed_by_whom_and_where_to():
    found = listing(two_products, R.normal(size=(40, 20)), R.normal(size=20))
    assert [row.by for row in found.rows] == ["product", "kernel", "product", "kernel"]
    assert [value.formula for value in found.values] == ["x @ w", "tanh(v1)", "v2 @ x", "tanh(v3)"]
    assert [row.domain for row in found.rows] == [(40, 1, 20), (40,), (20, 1, 40), (20,)]
    first, second, third, result = found.values
    assert (first.home, first.first, first.last, first.size) == ("arena", 1, 2, 320)
    assert (second.instead, second.start) == (first.name, first.start)
    assert (second.last, third.start) == (3, 320)  # a product is not written over what it reads
    assert (result.name, result.home, result.last) == ("out", "result", 4)
    assert found.memory == (512, 800, 480)
    assert abs(found.memory.saved - 0.36) < 1e-12


def test_no_two_arrays_that_live_at_once_share_bytes():
    def deep(x, w):
        kept = [x]
        for k in range(12):
            kept.append(np.tanh(kept[-1] @ w) + kept[k // 2])
        return sum(np.sum(a) for a in kept)

    found = listing(ad.grad(deep, (0, 1)), R.normal(size=(6, 6)), R.normal(size=(6, 6)))
    kept = [value for value in found.values if value.home == "arena"]
    assert len(kept) > 20
    for i, a in enumerate(kept):
        assert a.start >= 0
        assert a.start + a.size <= found.memory.arena
        for b in kept[:i]:
            apart = a.start >= b.start + b.size or b.start >= a.start + a.size
            turns = a.first > b.last or b.first > a.last or a.instead == b.name or b.instead == a.name
            assert apart or turns, (a, b)
    assert found.memory.most <= found.memory.arena < found.memory.values


def test_arrays_between_native_code_and_numpy_are_new_ones():
    found = listing(lambda x: np.sum(np.partition(np.exp(x), 1) * 2.0), R.normal(size=9))
    assert [row.by for row in found.rows] == ["kernel", "NumPy", "kernel"]
    assert [value.home for value in found.values] == ["array", "array", "result"]
    (row,) = (row for row in found.rows if row.by == "NumPy")
    assert row.reason == "no lowering"
    assert row.lines[0].rpartition("/")[2].startswith("test_listing.py:")
    assert found.values[2].formula == "sum(v2 * 2)"
    assert "no arena is needed" in str(found)


def test_each_line_of_the_text_is_one_array():
    found = listing(two_products, R.normal(size=(40, 20)), R.normal(size=20), outputs=["answer"])
    head, *rows = str(found).splitlines()
    assert head.split() == ["by", "computes", "holds", "reads", "writes", "into", "line"]
    assert rows[1].split("test_listing")[0].startswith("2  kernel   v2 = tanh(v1)")
    assert "arena 0, over v1" in rows[1]
    assert rows[3].startswith("4  kernel   answer = tanh(v3)")
    assert rows[4] == "4 steps (2 kernels, 2 products), which read 13.8 kB and write 960 B"
    assert rows[5].startswith("an arena of 512 B for 800 B of values in between (36% saved")


def test_several_results_of_one_kernel_and_of_one_value():
    found = listing(lambda x: (np.exp(x), np.sum(np.exp(x)), x, x.T), R.normal(size=(3, 2)))
    assert [(value.name, value.formula) for value in found.values] == [
        ("out0", "exp(x)"), ("out1", "sum(out0)"), ("out2", "x"), ("out3", "x.T")
    ]  # fmt: skip
    assert [value.what for value in found.values] == ["elementwise", "reduction", "copy", "copy"]


def test_assembled_arrays_are_written_in_parts():
    found = listing(lambda x, y: np.concatenate([x, y]) * 2.0, R.normal(size=3), R.normal(size=4))
    assert found.values[0].what == "copy"
    assert found.rows[1].also == ["part of v1, from y"]


def test_long_formulas_are_cut_and_need_no_recursion():
    def many(x):
        for _ in range(3000):
            x = x * 0.5 - x
        return x

    found = listing(many, 1.0)
    assert all(len(value.formula) <= 300 for value in found.values)
    assert "…" in found.values[0].formula


def test_operators_bind_as_in_python():
    def f(x, y):
        return (x + y) * (x - (y - 1.0)) / -((x * y) ** 2.0) + np.where(x < y, x[0], y[1:2])

    (value,) = listing(f, np.ones(3), np.ones(3)).values
    assert value.formula == "(x + y) * (x - (y - 1)) / -(x * y) ** 2 + where(x < y, x[0], y[1:2])"


def test_what_is_written_over_arguments_and_what_is_checked():
    graph = ad.capture(lambda w, g, limit: (w - 0.1 * g, np.sum(g), np.sum(g) < limit), np.ones(3), np.ones(3), 5.0)
    new, total, small = graph.outputs
    program = native.build(graph.inputs, [new, total], into={0: 0}, checks=[(small, np.asarray(True))])
    found = program.listing(outputs=["total"])
    written, (check,) = {value.name: value for value in found.values}, [r for r in found.rows if r.by == "check"]
    assert (written["w'"].home, written["w'"].instead, written["w'"].formula) == ("argument", "w", "w - 0.1 * g")
    assert written["w'"].last == len(found.rows)
    assert written["total"].home == "result"
    assert check.also[0].endswith(" is True")
    assert check.also[0].startswith("stop unless ")
    assert check.number < written["w'"].first
    assert "1 check" in found.summary[0]
    w = np.ones(3)
    (total,) = program(w, np.ones(3), 5.0)
    assert (total, w.tolist()) == (3.0, [0.9] * 3)


def test_segments_hand_copies_on_by_their_own_names():
    found = listing(lambda x: np.partition(np.exp(x)[::2], 1), R.normal(size=6))
    assert [row.by for row in found.rows][-1] == "NumPy"
    assert found.values[-1].formula == f"partition({found.values[-2].name}, kth=1)"
    assert found.values[-2].home == "array"
    assert found.values[-2].last == len(found.rows)
