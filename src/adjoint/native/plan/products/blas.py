"""Products of matrices by BLAS: NumPy's own, or through the addresses that SciPy keeps for Cython."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import numpy as np

from adjoint.native.codegen.cpython import address_of, pointer_in
from adjoint.native.codegen.jit import FunctionText, external
from adjoint.native.codegen.llvm_text import Code
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.routines import matrix_vector
from adjoint.native.plan.layout.views import StridedView

# As libraries spell a routine: OpenBLAS in NumPy's wheels, OpenBLAS with 64-bit integers, and everybody else.
_SPELLINGS = ("scipy_{}_64_", "{}_64_", "scipy_{}_", "{}_")


@cache
def address(name: str) -> int:
    """Where BLAS's routine called `name` begins. Its integers may have 32 or 64 bits: it is given 64, little end first.

    NumPy's library is there already, with its threads; SciPy's, which can be asked for anywhere, takes long to load.
    """
    library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]  # NumPy's own
    for spelling in _SPELLINGS:
        routine = getattr(library, spelling.format(name), None)
        if routine is not None:
            return address_of(routine)
    return _of_scipy(name)


def _of_scipy(name: str) -> int:
    from scipy.linalg import cython_blas

    return pointer_in(cython_blas.__pyx_capi__[name])[0]


class Product(NamedTuple):
    """A stack of products: BLAS's routine, what is read, and the numbers that say how; `write` makes the code for it.

    With "along" and "across", code of ours computes it (`codegen/matrix_vector.py`): the matrix comes first, and then
    the vector.
    """

    routine: str
    operands: list[StridedView]
    numbers: list[int]


def product(x: StridedView, y: StridedView, out: tuple[int, ...]) -> Product | list[int]:
    """How BLAS computes ``x @ y``; if it cannot, which of the two must be copied into rows first."""
    left = _matrices(x, row=True)
    right = _matrices(y, row=False)
    stack = out[: max(len(x.shape), len(y.shape), 2) - 2]
    wrong = [i for i, m in enumerate((left, right)) if m is None or _batch(m, stack) is None]
    if wrong or left is None or right is None:
        return wrong
    (rows, inner), (_, columns) = left.shape[-2:], right.shape[-2:]
    (x_trans, x_lead), (y_trans, y_lead) = _layout(left), _layout(right)
    count, batches = 1, [0, 0]
    for n in stack:
        count *= n
    if count > 1:
        batches = [_batch(left, stack) or 0, _batch(right, stack) or 0]
    lines = batches[0] if rows == 1 else x_lead if columns == 1 and batches[0] == rows * x_lead else 0
    if count > 1 and x_trans == "N" and not batches[1] and lines >= inner:
        x_lead = lines  # one matrix, of all their rows
        rows, count = rows * count, 1
    if columns == 1:
        if inner > 1 and right.strides[-2] != 1:
            return [1]
        return _with_vector(left, right, x_trans == "N", x_lead, (rows, inner), count, batches)
    if rows == 1:
        if inner > 1 and left.strides[-1] != 1:
            return [0]
        return _with_vector(right, left, y_trans == "T", y_lead, (columns, inner), count, batches[::-1])
    numbers = [ord(x_trans), ord(y_trans), rows, columns, inner, x_lead, y_lead, max(columns, 1), count,
               *batches, rows * columns]  # fmt: skip
    return Product("gemm", [left, right], numbers)


def _with_vector(
    matrix: StridedView, vector: StridedView, along: bool, lead: int, sizes: tuple[int, int], count: int, far: list[int]
) -> Product:
    """The product of a matrix and a vector, whose sums run `along` rows of memory, or across them."""
    results, inner = sizes
    size = matrix.base.dtype.itemsize
    steps = [step * size for step in (*far, results)]
    numbers = [0, matrix_vector.units(along, results), results, inner, lead * size, count, *steps]
    return Product("along" if along else "across", [matrix, vector], numbers)


def _matrices(view: StridedView, row: bool) -> StridedView | None:
    """A view as matrices, one of whose last two axes goes from element to element; None if it is not so."""
    if len(view.shape) == 1:
        (n,), (s,) = view.shape, view.strides
        view = view._replace(shape=(1, n) if row else (n, 1), strides=(n * max(s, 1), s) if row else (s, 1))
    (rows, columns), (down, along) = view.shape[-2:], view.strides[-2:]
    by_rows = (along == 1 or columns == 1) and (down >= columns or rows == 1)
    by_columns = (down == 1 or rows == 1) and (along >= rows or columns == 1)
    return view if by_rows or by_columns else None


def _layout(view: StridedView) -> tuple[str, int]:
    """For BLAS, which counts columns first: how it sees the matrix, and how far its lines lie apart."""
    (rows, columns), (down, along) = view.shape[-2:], view.strides[-2:]
    if (along == 1 or columns == 1) and (down >= columns or rows == 1):
        return "N", max(down if rows > 1 else columns, columns, 1)
    return "T", max(along if columns > 1 else rows, rows, 1)


def _batch(view: StridedView, stack: tuple[int, ...]) -> int | None:
    """How far the matrices of a stack lie apart; None if that differs."""
    missing = len(stack) - (len(view.shape) - 2)
    shape, strides = (1,) * missing + view.shape[:-2], (0,) * missing + view.strides[:-2]
    step, size = None, 1
    for n, length, stride in zip(reversed(stack), reversed(shape), reversed(strides), strict=True):
        if n == 1:
            continue
        here = 0 if length == 1 else stride
        if step is None:
            step = here
        elif here != step * size:
            return None
        size *= n
    return step or 0


_ARGUMENTS = (
    "ty.at",
    "tx.at",
    "columns.at",
    "rows.at",
    "inner.at",
    "alpha",
    "p1",
    "ly.at",
    "p0",
    "lx.at",
    "beta",
    "p2",
    "lc.at",
)


def write(dtype: str) -> FunctionText:
    """The code that hands a product to BLAS. Row by row, C = A B is for BLAS the transposed C' = B' A'."""
    letter, kind, size = ("s", "float", 4) if dtype == "f4" else ("d", "double", 8)
    routine = external(f"{letter}gemm", address(f"{letter}gemm"))
    code = Code()
    starts, lines = addresses(code, 3), code.lines
    lines += ["  %alpha = alloca " + kind, "  %beta = alloca " + kind]
    lines += [f"  store {kind} 1.0, ptr %alpha", f"  store {kind} 0.0, ptr %beta"]
    names = ["tx", "ty", "rows", "columns", "inner", "lx", "ly", "lc"]
    lines += [f"  %{word}.at = getelementptr i64, ptr %p, i64 {6 + i}" for i, word in enumerate(names)]
    for i, word in enumerate(["count", "sx", "sy", "sc"]):
        lines += [f"  %{word}.at = getelementptr i64, ptr %p, i64 {14 + i}", f"  %{word} = load i64, ptr %{word}.at"]
    lines += ["  br label %head", "head:", "  %i = phi i64 [ 0, %0 ], [ %j, %next ]"]
    for i, word in enumerate(["sx", "sy", "sc"]):
        lines += [
            f"  %d{i} = mul i64 %i, %{word}",
            f"  %e{i} = mul i64 %d{i}, {size}",
            f"  %p{i} = getelementptr i8, ptr {starts[i]}, i64 %e{i}",
        ]
    arguments = [f"%{n}" for n in _ARGUMENTS]
    lines += [
        f"  call void {routine}({', '.join(f'ptr {a}' for a in arguments)})",
        "  br label %next",
        "next:",
        "  %j = add i64 %i, 1",
        "  %more = icmp ult i64 %j, %count",
        "  br i1 %more, label %head, label %done",
        "done:",
        "  ret void",
    ]
    declared = {routine: f"declare void {routine}({', '.join(['ptr'] * len(arguments))})"}
    return FunctionText("define void @{name}(ptr %b, ptr %p)", lines, declared)
