"""A kernel writes its results and nothing beside them, however the lanes of its last vector are held meanwhile."""

import ctypes
import itertools
import re

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen.jit import NativeModule

AFTER = 64  # elements behind each array, which must stay as they are
# Calls of functions between the loads and the stores: masks are kept in memory meanwhile.
KERNELS = {
    "a comparison": lambda x, y: (x > 50, np.arctan2(x, y), np.exp(x), np.sqrt(x)),
    "two comparisons": lambda x, y: (x > y, y > 0, np.sin(x), np.arctan2(x, y)),
    "bytes": lambda x, y: (x.astype("i1"), np.arctan2(x, y), np.exp(x), np.sqrt(x)),
    "unsigned bytes": lambda x, y: (np.abs(x * y).astype("u1"), np.tanh(x), np.sin(y)),
    "two bytes": lambda x, y: (x.astype("i2"), np.arctan2(x, y), np.exp(x), np.sqrt(x)),
    "four bytes": lambda x, y: (x.astype("f4"), x > 0, np.arctan2(x, y), np.exp(x)),
    "halves": lambda x, y: (x.astype("f2"), np.arctan2(x, y), np.exp(x)),
    "no call": lambda x, y: (x > y, x * y, x.astype("i1")),
}


def kernel(f, *arrays):
    """The one loop that `f` becomes, to be called with arrays and results: it takes their addresses, and a length."""
    graph = ad.capture(f, *arrays)
    text = native.build(graph.inputs, graph.outputs).llvm
    (name,) = re.findall(r"define void @(k\w+)\(", text)
    module = NativeModule(text)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(module.address(name))

    def call(given, length):
        bases = (ctypes.c_void_p * len(given))(*[a.ctypes.data for a in given])
        places = [v for i in range(len(given)) for v in (i, 0)]
        numbers = (ctypes.c_int64 * (len(places) + 1))(*places, length)
        run(ctypes.addressof(bases), ctypes.addressof(numbers))
        return module  # which must live as long as it runs

    return call


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_written_behind_results(name, dtype):
    f, rng = KERNELS[name], np.random.default_rng(0)
    run = kernel(f, *(rng.normal(size=33).astype(dtype) for _ in range(2)))
    for n, start in itertools.product((33, 41, 70), range(0, 256, 37)):
        memory = [rng.normal(size=start + n).astype(dtype) * 3 for _ in range(2)]
        arrays = [m[start:] for m in memory]  # at addresses whose bits differ
        with np.errstate(all="ignore"):
            wanted = [np.asarray(part) for part in f(*arrays)]
        results = [np.full(n + AFTER, 1, part.dtype) for part in wanted]
        run([*arrays, *results], n)
        for found, right in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(found[n:], np.ones(AFTER, found.dtype))
            np.testing.assert_allclose(found[:n], right, rtol=1e-5, err_msg=f"{n} {start}")
