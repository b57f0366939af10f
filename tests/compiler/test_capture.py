"""`capture`: the graph of a function gives what the function gives, for other arguments too."""

import math
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import capture
from adjoint.graph.captures.on_symbols import on_symbols

A = np.array([0.5, -1.5, 2.0])
B = np.array([1.25, 0.75, -0.5])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.8


def same(found, expected):
    """Equal in shape, dtype and every bit; trees too."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            same(found[key], value)
    elif isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            same(x, y)
    else:
        assert isinstance(found, ad.Tensor) == isinstance(expected, ad.Tensor)
        found, expected = (np.asarray(x.detach() if isinstance(x, ad.Tensor) else x) for x in (found, expected))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes(), (found, expected)


def check(f, first, *others):
    """The graph of `f` captured at `first` is in order, and holds there and at `others`; rewritten too."""
    graph = capture(f, *first)
    graph.verify()
    simpler = graph.rewritten()
    simpler.verify()
    for args in (first, *others):
        expected = f(*args)
        same(graph(*args), expected)
        same(simpler(*args), expected)
    return graph


# -- What goes in and comes out -----------------------------------------------------------------------


@dataclass
class Pair:
    left: Any
    right: Any


def test_trees_go_in_and_come_out():
    def f(p, scale):
        return {"sum": p["w"] + p["b"][0], "both": (p["w"] * scale, [p["b"][1]])}

    check(f, ({"w": A, "b": [B, 1.0]}, 2.0), ({"w": B, "b": [A, -3.0]}, 0.5))


def test_dataclasses_and_keywords():
    graph = capture(lambda pair, *, by: pair.left * by - pair.right, Pair(A, B), by=2.0)
    same(graph(Pair(B, A), by=3.0), B * 3.0 - A)
    assert [str(node.value) for node in graph.inputs] == ["pair['left']", "pair['right']", "by"]


def test_a_tree_of_another_structure_is_refused():
    graph = capture(lambda p: p["a"] - p["b"], {"a": A, "b": B})
    same(graph({"b": B, "a": A}), A - B)
    with pytest.raises(ad.ArgumentError, match="captured for"):
        graph({"a": A, "c": B})
    with pytest.raises(ad.ArgumentError, match="captured for"):
        graph({"a": A})
    with pytest.raises(ad.ArgumentError, match="captured for"):
        graph([A, B])


def test_static_leaves_are_part_of_the_program():
    graph = capture(lambda x, n, how: np.sum(x**n) if how == "sum" else x, A, 3, "sum")
    same(graph(B, 3, "sum"), np.sum(B**3))
    with pytest.raises(ad.ArgumentError, match="n was 3 when the graph was captured"):
        graph(B, 2, "sum")
    with pytest.raises(ad.ArgumentError, match="how was 'sum'"):
        graph(B, 3, "mean")


def test_a_truth_value_is_not_the_number_one():
    graph = capture(lambda x, flag: x * 2 if flag else x, A, True)
    with pytest.raises(ad.ArgumentError, match="flag was True"):
        graph(A, 1)


def test_tensors_as_arguments_give_tensors():
    x = ad.tensor(A, requires_grad=True)
    graph = capture(lambda t: t * 2.0, x)
    out = graph(ad.tensor(B))
    assert isinstance(out, ad.Tensor)
    same(out, ad.tensor(B * 2.0))


def test_backward_into_an_argument():
    def f(x):
        t = ad.tensor(x, requires_grad=True)
        np.sum(np.sin(t) * t).backward()
        return t.grad

    check(f, (A,), (B,))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 0.1,
        lambda x: x * (0.1 + 1.0 / 3.0) - 2.0**0.5,
        lambda x, c: x * (1 - c * 0.5) / (c + 1) + (-c) ** 2,
        lambda x, c: (c // 0.3) * x + c % 0.3,
        lambda x, c: (2 - c) * x,
        lambda x, c: x + np.sqrt(c),
        lambda x, c: x + abs(c),
    ],
)
def test_python_floats_stay_weak(f):
    x = A.astype(np.float32)
    more = (0.7,) if f.__code__.co_argcount == 2 else ()
    check(f, (x, *more), (B.astype(np.float32), *(0.3 for _ in more)))


def test_python_floats_in_place_stay_numbers():
    def f(x, c):
        c *= 0.5
        c += 1.0
        return x * c

    check(f, (A.astype(np.float32), 0.7), (B.astype(np.float32), -0.2))


def test_numpy_numbers_stay_strong():
    check(lambda x, c: x * c, (A.astype(np.float32), np.float64(0.7)), (A.astype(np.float32), np.float64(0.1)))


def test_outputs_that_are_inputs_or_constants():
    kept = np.array([1.0, 2.0])
    graph = check(lambda x, y: (x, y * 1.0, kept, 3.0), (A, B), (B, A))
    out = graph(A, B)
    out[2][0] = 9.0  # results are the caller's
    same(graph(A, B)[2], kept)
    out[0][0] = 9.0
    assert A[0] == 0.5


def test_outputs_that_are_nothing_computed():
    graph = capture(lambda x: np.arange(3.0), A)
    same(graph(B), np.arange(3.0))
    assert len(graph) == 1


def test_what_is_no_array_cannot_come_out():
    with pytest.raises(ad.ArgumentError, match="it returned str"):
        capture(lambda x: "text", A)


def test_shapes_that_differ_are_refused():
    graph = capture(lambda x: x * 2, A)
    with pytest.raises(ad.ArgumentError, match=r"captured with shape \(3,\); got \(4,\)"):
        graph(np.ones(4))


def test_another_dtype_is_refused():
    graph = capture(lambda x: x * 2, A)
    with pytest.raises(ad.ArgumentError, match="captured with dtype float64; got float32"):
        graph(A.astype(np.float32))
    with pytest.raises(ad.ArgumentError, match="captured with dtype float64; got int64"):
        graph(np.arange(3))


def test_whole_numbers_for_a_python_float():
    graph = capture(lambda x, c: x * c, A, 2.0)
    same(graph(A, 3), A * 3.0)
    same(graph(A, np.float64(3)), A * 3.0)


# -- Transforms inside --------------------------------------------------------------------------------


def quartic(x):
    return np.sum(np.sin(x) * x**3)


@pytest.mark.parametrize(
    "f",
    [
        ad.grad(quartic),
        ad.value_and_grad(quartic),
        ad.hessian(quartic),
        ad.jacobian(lambda x: np.outer(x, np.exp(x))),
        ad.grad(lambda x: np.sum(ad.grad(quartic)(x) ** 2)),
        lambda x: ad.jvp(ad.grad(quartic), (x,), (np.ones(3),)),
        lambda x: ad.hvp(quartic, x, np.cos(x)),
        ad.vmap(lambda a: a * np.sin(a)),
        ad.vmap(ad.grad(lambda a: np.sin(a) * a)),
        lambda x: ad.vmap(lambda a, b: a @ b, in_axes=(0, None))(np.outer(x, x), x),
        ad.grad(lambda x: np.sum(ad.checkpoint(np.tanh)(x * x))),
        ad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x * x))),
        ad.grad(lambda x: np.sum(np.sort(x) * np.arange(3.0)) + np.max(x) + np.median(x)),
        ad.grad(lambda x: np.linalg.norm(np.outer(x, x) + np.eye(3))),
        ad.grad(lambda x: np.sum(np.einsum("i,j,k->ijk", x, x, x) ** 2)),
        ad.grad(lambda x: np.sum(np.fft.rfft(x).real ** 2)),
    ],
)
def test_transforms_inside(f):
    check(f, (A,), (B,), (A - 2 * B,))


def test_capture_inside_a_transform():

    def f(x):
        return capture(lambda y: y * np.sin(y), x)(x)

    same(ad.grad(lambda x: np.sum(f(x)))(A), np.sin(A) + A * np.cos(A))


def test_capture_inside_capture_is_refused():
    with pytest.raises(ad.NotSupportedError, match="inside a function that is being captured"):
        capture(lambda x: capture(lambda y: y * 2, x)(x), A)


def test_a_graph_called_inside_capture():
    inner = capture(lambda y: y * np.sin(y), A)
    check(lambda x: inner(x) + 1, (A,), (B,))


# -- A graph is a function of arrays of any kind ------------------------------------------------------


def test_derivatives_of_a_graph():
    graph = capture(quartic, A)
    same(ad.grad(graph)(B), ad.grad(quartic)(B))
    same(ad.hessian(graph)(B), ad.hessian(quartic)(B))
    same(ad.jvp(graph, (B,), (A,)), ad.jvp(quartic, (B,), (A,)))


def test_vmap_of_a_graph():
    graph = capture(quartic, A)
    np.testing.assert_allclose(ad.vmap(graph)(np.stack([A, B])), [quartic(A), quartic(B)], rtol=1e-14)


def test_tensors_through_a_graph():
    graph = capture(lambda x, y: x * y, A, B)
    x = ad.tensor(A, requires_grad=True)
    np.sum(graph(x, B)).backward()
    same(x.grad, ad.tensor(B))


def test_grad_by_a_python_float_of_a_graph():
    graph = capture(lambda c: (c * 2.0 + 1.0) ** 2, 1.0)
    same(ad.grad(graph)(3.0), ad.grad(lambda c: (c * 2.0 + 1.0) ** 2)(3.0))


def test_grad_by_a_python_float_inside():
    x = A.astype(np.float32)
    check(lambda c: ad.grad(lambda c: np.sum(x * (c * 2.0)))(c), (1.5,), (0.25,))


# -- Writing and indexing -----------------------------------------------------------------------------


def written(x):
    y = x * 1.0
    y[1:] += x[:-1]
    view = y[::2]
    view *= 2.0
    np.exp(y, out=y)
    y[0] = x[2]
    return y, view


def filled(x):
    out = np.zeros_like(x)
    for i in range(3):
        out[i] = x[i] ** i
    return out


def swapped(x):
    x = np.copy(x)
    x[[0, 2]] = x[[2, 0]]
    return x


@pytest.mark.parametrize("f", [written, filled, swapped, ad.grad(lambda x: np.sum(written(x)[0] * written(x)[1][0]))])
def test_writing_in_place(f):
    check(f, (A,), (B,))


def test_the_argument_is_not_written_by_capture():
    def f(x):
        x[0] = 7.0
        return x * 2

    given = A.copy()
    graph = capture(f, given)
    same(given, A)
    same(graph(B), f(B.copy()))


def test_places_as_inputs():
    check(lambda x, at: x[at] * 2, (A, np.array([2, 0])), (B, np.array([1, 1])))
    check(ad.grad(lambda x, at: np.sum(x[at] ** 2)), (A, np.array([2, 0])), (B, np.array([1, 1])))
    check(lambda x, i: np.take_along_axis(x, i, 0), (A, np.array([2, 0, 1])), (B, np.array([1, 1, 0])))
    check(lambda x: x[np.argmax(x)], (A,), (B,))
    check(lambda x: x[np.argsort(x)], (A,), (B,))


def test_masks_hold_for_their_truth_values():
    graph = capture(lambda x: np.sum(x[x > 0]), A)
    same(graph(A * 3), np.sum((A * 3)[A > 0]))
    with pytest.raises(ad.GraphError, match="asked at"):
        graph(B)
    check(lambda x: np.where(x > 0, x, 0.0), (A,), (B,))


def test_shapes_that_depend_on_values_hold_for_these_shapes():
    graph = capture(lambda x: np.mean(x[np.nonzero(x > 0)[0]]), A)
    same(graph(np.array([-1.0, 3.0, 5.0])), np.float64(4.0))
    with pytest.raises(ad.GraphError, match=r"nonzero at .*test_capture.py:\d+ gave \(2,\) .* gives \(1,\)"):
        graph(np.array([-1.0, -3.0, 5.0]))
    graph = capture(lambda x: np.unique(x) * 2, A)
    same(graph(B), np.unique(B) * 2)
    with pytest.raises(ad.GraphError, match="unique"):
        graph(np.ones(3))


# -- What the program asks of values ------------------------------------------------------------------


def test_a_branch_holds_for_its_side():
    def f(x):
        if np.sum(x) > 0:
            return x * 2
        return x - 1

    graph = capture(f, A)
    same(graph(B), f(B))
    with pytest.raises(ad.GraphError, match=r"asked at .*test_capture.py:\d+ for the bool .* went on with True"):
        graph(-A)


def test_a_float_is_one_of_the_programs_numbers():
    check(lambda x: x * float(x[0]), (A,), (B,))
    check(lambda x: np.ones(1) * float(x), (np.float64(0.0),), (np.float64(-0.0),))


def test_an_int_holds_for_its_value():
    graph = capture(lambda x: x * int(x[0]), A * 4)
    same(graph(np.array([2.5, 1.0, 1.0])), np.array([5.0, 2.0, 2.0]))
    with pytest.raises(ad.GraphError, match=r"int of a value, and went on with 2; it is 1 now"):
        graph(B)


def test_questions_to_arguments_are_guards():
    graph = capture(lambda x, c: x if c > 1.0 else -x, A, 2.0)
    same(graph(B, 3.0), B)
    with pytest.raises(ad.GraphError, match="bool"):
        graph(B, 0.5)
    graph = capture(lambda x: x * x.item(0), A)
    with pytest.raises(ad.GraphError, match="values"):
        graph(B)


def test_nan_is_the_same_answer_as_nan():
    graph = capture(lambda x: x * float(x[0]), np.array([np.nan, 1.0]))
    same(graph(np.array([np.nan, 2.0])), np.array([np.nan, np.nan]))


def test_minus_zero_is_another_answer_than_zero():
    graph = capture(lambda x: np.ones(1) * math.copysign(1.0, x), np.float64(0.0))
    with pytest.raises(ad.GraphError, match=r"it is -0\.0 now"):
        graph(np.float64(-0.0))


def test_a_loop_until_convergence_holds_for_its_number_of_steps():
    def root(a):
        x = a
        while abs(x * x - a) > 1e-10:
            x = 0.5 * (x + a / x)
        return x

    graph = check(root, (np.float64(2.0),), (np.float64(2.1),))
    with pytest.raises(ad.GraphError, match="bool"):
        graph(np.float64(2000.0))


def test_equal_questions_are_asked_once():
    def f(x):
        for _ in range(5):
            assert x[0] > 0
        return x

    assert len(capture(f, A).guards) == 1


# -- What must not leak -------------------------------------------------------------------------------


def test_a_symbol_kept_from_our_own_functions_says_so():
    kept = []
    on_symbols(lambda x: kept.append(x * 2) or x, A)
    with pytest.raises(ad.LeavesGraphError, match="outside the capture"):
        float(kept[0][0])
    with pytest.raises(ad.LeavesGraphError):
        np.asarray(kept[0])


def test_plain_arrays_that_are_made_and_written():
    def f(x):
        out = np.zeros(3)
        out[0] = x[0]
        return out

    check(f, (A,), (B,))


def test_an_error_inside_leaves_everything_as_it_was():
    w = ad.tensor(A, requires_grad=True)
    memory = w.held

    def f(x):
        np.sum(w * x).backward()
        w.data[...] = 0.0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        capture(f, B)
    assert w.held is memory
    assert w.grad is None
    same(w.data, A)


def test_each_thread_captures_for_itself():
    graphs: list[Any] = [None] * 8
    start = threading.Barrier(8)

    def work(k):
        start.wait()
        for _ in range(20):
            graphs[k] = capture(ad.grad(lambda x: np.sum(np.sin(x) * k) if x[0] > -9 else x), A)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, graph in enumerate(graphs):
        assert len(graph.guards) == 1
        same(graph(B), ad.grad(lambda x, k=k: np.sum(np.sin(x) * k))(B))


def test_lines_of_the_users_code_are_kept():
    graph = capture(lambda x: np.sin(x) * 2, A)
    assert str(graph).count("test_capture.py:") == 2


def test_what_is_differentiated_by_is_an_array():
    def f(a, x):
        return np.sum(a * x)

    x = np.ones(3, np.float32)
    for g in (ad.value_and_grad(f), ad.value_and_grad(f, 1), lambda a, x: ad.jvp(f, (a, x), (1.0, x))):
        plain, captured = g(1.5, x), ad.capture(g, 1.5, x)(1.5, x)
        assert [a.dtype for a in plain] == [a.dtype for a in captured]
        for a, b in zip(plain, captured, strict=True):
            np.testing.assert_array_equal(a, b)


def test_each_of_many_questions_is_asked_of_its_own_value():
    def f(x):
        total = 0.0
        for i in range(6):
            total = total + (x[i] * 2.0 if x[i] > i else x[i] * 3.0)
        return total

    x = np.array([1.0, 0.0, 3.0, 0.0, 5.0, 0.0])
    graph = ad.capture(f, x)
    assert graph(x + 0.25) == f(x + 0.25)
    for i in range(6):
        other = x.copy()
        other[i] = -1.0 if x[i] else 9.0
        with pytest.raises(ad.GraphError, match="bool"):
            graph(other)


def test_places_to_delete_are_no_inputs():
    with pytest.raises(ad.NotSupportedError, match="how many elements stay depends on their values"):
        ad.capture(lambda x, i: np.delete(x, i), np.arange(4.0), np.array([1]))
    assert ad.capture(lambda x: np.delete(x, [1]), np.arange(4.0))(np.arange(4.0)).tolist() == [0.0, 2.0, 3.0]
