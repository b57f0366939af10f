"""A constant of one number that is repeated is held as that number, however large it is."""

import gc
import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.graph.node import constant

N = 1 << 20
PROGRAMS = {
    "mean": ad.grad(lambda x: np.mean(x)),
    "mean of squares": ad.grad(lambda x: np.mean(x * x)),
    "sum": ad.grad(lambda x: np.sum(x)),
    "mean of rows": ad.grad(lambda x: np.sum(np.mean(x.reshape(8, -1), axis=0))),
    "broadcast": lambda x: np.broadcast_to(2.0, x.shape) * x,
    "ones": lambda x: np.ones_like(x) * 2.0 + x,
    "zeros": lambda x: np.zeros(x.shape) + x,
    "float32": lambda x: np.full(x.shape, 3.0, np.float32) * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_holds_one_number(name):
    f, x = PROGRAMS[name], np.linspace(1.0, 2.0, N)
    ad.capture(f, x)  # what is made once
    gc.collect()
    tracemalloc.start()
    try:
        graph = ad.capture(f, x)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 1 << 18
    np.testing.assert_array_equal(graph(x), f(x))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, float, complex, ">f8"])
def test_equal_constants_are_one_node(dtype):
    shape = (40, 300)
    one, other = constant(np.full(shape, 1, dtype)), constant(np.full(shape, 1, dtype))
    assert one is other
    assert constant(np.broadcast_to(np.array(1, dtype), shape)) is one
    assert constant(np.full(shape, 0, dtype)) is not one
    assert constant(np.full((300, 40), 1, dtype)) is not one
    np.testing.assert_array_equal(one.value, np.full(shape, 1, dtype))
    assert one.value.dtype == np.dtype(dtype)
    for place in (0, 777, 11_999):
        changed = np.full(shape, 1, dtype)
        changed.flat[place] = 0
        node = constant(changed)
        assert node is not one
        assert constant(changed.copy()) is node
        np.testing.assert_array_equal(node.value, changed)
        assert not node.value.flags.writeable
        changed.flat[place] = 1
        assert constant(changed) is one


def test_zeros_of_either_sign_and_nans_are_told_apart():
    x = np.zeros(1000)
    x[500] = -0.0
    assert constant(x) is not constant(np.zeros(1000))
    np.testing.assert_array_equal(np.signbit(constant(x).value), np.signbit(x))
    assert constant(np.full(1000, np.nan)) is constant(np.full(1000, np.nan))


def test_nobody_can_write_into_a_constant():
    for size in (4, 1000):
        number = np.array(1.0)
        node = constant(np.broadcast_to(number, (size,)))
        number[...] = 5.0
        np.testing.assert_array_equal(node.value, np.ones(size))
        assert not node.value.flags.writeable


LAID = {
    "sum": lambda x: np.full(x.shape, 2.0) + x,
    "transposed": lambda x: np.full(x.shape, 2.0).T * x.T,
    "reshaped": lambda x: np.full(x.shape, 2.0).reshape(-1)[5:900] + x.reshape(-1)[5:900],
    "result": lambda x: (np.full(x.shape, 2.0), np.full(x.shape, 3.0).T + 0.0 * x.T),
    "product": lambda x: np.full(x.shape, 2.0) @ x.T + np.full(x.shape, 0.5) @ np.full(x.shape, 0.5).T,
    "parts": lambda x: np.concatenate([np.full(x.shape, 2.0), x])[20:],
    "reduced": lambda x: np.sum(np.full(x.shape, 2.0) * x, axis=0) + np.sum(np.full(x.shape, 2.0), axis=0),
    "chosen": lambda x: np.where(x > 0.5, np.full(x.shape, 2.0), x),
    "grad": ad.grad(lambda x: np.mean(np.sin(x)) + np.mean(x)),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", LAID)
def test_programs_give_what_they_gave_and_where(name, order):
    x = np.asarray(np.random.default_rng(0).random((60, 30)), order=order)
    right = LAID[name](x)
    for run in (ad.capture(LAID[name], x), ad.compile(LAID[name])):
        for _ in range(2):
            found = run(x)
            pairs = zip(found, right, strict=True) if isinstance(right, tuple) else [(found, right)]
            for a, b in pairs:
                np.testing.assert_allclose(a, b, rtol=1e-14)
                assert a.strides == b.strides
                assert a.flags.writeable
