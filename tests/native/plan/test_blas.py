"""Matrix products by BLAS: the routines of NumPy's library and of SciPy's, found and called."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.plan.products import blas


def product(address, x, y, dtype):
    """``x @ y`` by the routine there, which is given integers of 64 bits."""
    (rows, inner), columns = x.shape, y.shape[1]
    out = np.full((rows, columns), np.nan, dtype)
    words = {n: np.array([n], np.int64) for n in (ord("N"), rows, inner, columns)}
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    given = [words[ord("N")], words[ord("N")], words[columns], words[rows], words[inner], one, y, words[columns],
             x, words[inner], zero, out, words[columns]]  # fmt: skip
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)(*(a.ctypes.data for a in given))
    return out


@pytest.mark.parametrize("where", [blas.address, blas._of_scipy])
@pytest.mark.parametrize(("name", "dtype"), [("dgemm", np.float64), ("sgemm", np.float32)])
def test_either_librarys_routine_multiplies(where, name, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 5)).astype(dtype), rng.normal(size=(5, 4)).astype(dtype)
    np.testing.assert_allclose(product(where(name), x, y, dtype), x @ y, rtol=20 * np.finfo(dtype).eps)


def test_without_numpys_library_scipys_is_asked(monkeypatch):
    monkeypatch.setattr(blas, "_SPELLINGS", ("no_{}_such",))
    assert blas.address.__wrapped__("dgemm") == blas._of_scipy("dgemm")


PROGRAM = """
import sys
import numpy as np
import adjoint as ad
f = ad.compile(lambda x, v: np.tanh(x @ v), wait=True)
f(np.ones((90, 9)), np.ones((9, 2)))
assert "BLAS" in f.explain()
print("scipy.linalg" in sys.modules)
"""


def test_a_product_needs_no_scipy(tmp_path):
    file = tmp_path / "program.py"  # functions without a file are not recorded
    file.write_text(PROGRAM)
    found = blas.address("dgemm") != blas._of_scipy("dgemm")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(not found)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape", [(3, 5), (96, 97), (1023, 9), (1025, 10), (40, 2500), (9, 9300), (9300, 9), (1100, 1030)]
)
def test_products_with_vectors_in_parts(shape, dtype):
    rng = np.random.default_rng(0)
    a, x, y = (rng.normal(size=n).astype(dtype) for n in (shape, shape[1], shape[0]))
    wide = np.concatenate([a, a], axis=1)[:, : shape[1]]
    for matrix in (a, np.asfortranarray(a), wide):
        for f, v in ((lambda a, v: a @ v, x), (lambda a, v: v @ a, y), (lambda a, v: a.T @ v, y)):
            graph = ad.capture(f, matrix, v)
            (found,) = native.build(graph.inputs, graph.outputs)(matrix, v)
            exact = f(matrix.astype(np.longdouble), v.astype(np.longdouble))
            bound = f(np.abs(matrix), np.abs(v)) * (max(shape) + 2) * np.finfo(dtype).eps
            assert np.all(np.abs(found - exact) <= bound)
