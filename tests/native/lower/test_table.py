"""Every lowering against NumPy: bit for bit where that is exact, on random and on special values of every dtype."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.core.registry import ENTRIES, operation
from adjoint.graph.graph import Graph
from adjoint.graph.node import call, placeholder
from adjoint.native.codegen.llvm_text import REGISTER
from adjoint.native.lower import maths
from adjoint.native.lower.table import COMPOSED, TABLE, lowered

operation("erf")  # SciPy's functions are registered when the first is asked for
ROUNDED = {*maths.NAMES, *COMPOSED, "deg2rad", "rad2deg", "radians", "degrees"}  # the last: NumPy's factor is rounded
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -1e-30, 2.5, -2.5, 1e5]


def values(dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.random(40) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        chosen = [info.min, info.max, 0, 1, 2, 3, *([-1, -2] if info.min else [])]
        return np.concatenate([rng.integers(info.min, info.max, 32, dtype), np.array(chosen, dtype)])
    size = {8: 9, 4: 5, 2: 3}[dtype.itemsize]
    with np.errstate(over="ignore"):
        return np.concatenate([SPECIAL, rng.normal(size=30) * 3, np.exp(rng.normal(size=30) * size)]).astype(dtype)


def cases():
    for name, entry in sorted(TABLE.items()):
        if name in ENTRIES:
            for dtype in dict.fromkeys((*entry.dtypes, *(["f2"] if "f4" in entry.dtypes else []))):
                yield pytest.param(name, np.dtype(dtype), id=f"{name}-{dtype}")


@pytest.mark.parametrize(("name", "dtype"), list(cases()))
def test_every_lowering(name, dtype):
    op = operation(name)
    arrays = [values(dtype, k) for k in range(len(op.inputs))]
    if len(arrays) == 2:
        arrays = [np.ascontiguousarray(a) for a in np.broadcast_arrays(arrays[0][:, None], arrays[1])]
    with np.errstate(all="ignore"):
        try:
            expected = np.asarray(op.forward(*arrays))
        except TypeError:
            return  # NumPy has none either
    inputs = [placeholder(f"x{k}", a.shape, a.dtype) for k, a in enumerate(arrays)]
    node = call(op, tuple(inputs), op.settings, expected.shape, expected.dtype)
    if lowered(node).function is None:
        assert expected.dtype.str[1:] not in REGISTER or dtype.kind in "biu"
        return
    (got,) = native.build(inputs, [node])(*arrays)
    assert got.dtype == expected.dtype
    if name not in ROUNDED:
        np.testing.assert_array_equal(got, expected)
    else:
        eps, tiny = np.finfo(got.dtype).eps, np.finfo(got.dtype).tiny
        # SciPy's tails have fewer digits than ours, and NumPy's sums of opposite logarithms too.
        rtol = max(8 * eps, 1e-12 if name in ("erfc", "ndtr") else 0)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=eps if "logaddexp" in name else tiny)
    if got.dtype.kind == "f" and name not in ("maximum", "minimum", "fmax", "fmin"):  # of 0.0 and -0.0 either may come
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [1.0, 2, 3.0, 4, -1.0, -2, 0.5])
def test_constant_powers(p, dtype):
    x = values(np.dtype(dtype))
    with np.errstate(all="ignore"):
        graph = ad.capture(lambda x: np.power(x, p), x)
        expected = graph.run([x])[0]
    (got,) = native.build(graph.inputs, graph.outputs)(x)
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def test_promotion_is_numpys():
    x, i = np.ones(3, np.float32), np.arange(3, dtype=np.int32)
    graph = ad.capture(lambda x, i: (x * 2.5, i * 2, i / 2, x + i, np.sin(i), x > 1, -i), x, i)
    got = native.build(graph.inputs, graph.outputs)(x, i)
    assert [g.dtype for g in got] == [np.asarray(r).dtype for r in graph.run([x, i])]


def test_fast_maths_rounds_products_and_sums_once():
    x = np.random.default_rng(0).normal(size=1000)
    graph = ad.capture(lambda x, y: x * y + 0.1, x, x)
    exact = native.build(graph.inputs, graph.outputs)(x, x)[0]
    np.testing.assert_array_equal(exact, x * x + 0.1)
    fast = native.build(graph.inputs, graph.outputs, fastmath=True)
    np.testing.assert_allclose(fast(x, x)[0], exact, rtol=1e-15)
    assert "contract" in fast.llvm
    assert Graph(graph.inputs, graph.outputs).run([x, x])[0].tolist() == exact.tolist()
