"""Fourier transforms as steps: code of ours for powers of 2, else the loops of NumPy's own universal functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.types import DType, Settings
from adjoint.graph.node import Node, call, constant
from adjoint.native.codegen.jit import FunctionText, external
from adjoint.native.codegen.layout import StructLayout
from adjoint.native.codegen.llvm_text import Code, float_text, key_of
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.routines import transforms
from adjoint.native.plan.layout.indexing import never
from adjoint.native.plan.memory.arena import StepUse

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

# For each operation, whether it takes pairs, and whether it gives them.
KINDS = {"fourier": (True, True), "inverse_fourier": (True, True), "half_spectrum": (False, True),
         "from_half_spectrum": (True, False)}  # fmt: skip
FOURIER = Op("fourier_transform", never, ("a",), settings={"loop": "", "axis": 0, "lengths": (), "scale": 1.0})
# The head of NumPy's universal functions; see its header ufuncobject.h.
_UFUNC = StructLayout("ufunc", {"nin": "i32", "nout": "i32", "nargs": "i32", "identity": "i32", "functions": "ptr",
                          "data": "ptr", "ntypes": "i32", "reserved": "i32", "name": "ptr"},
                object.__basicsize__)  # fmt: skip
_PER_NUMBER = 4.0  # floating-point operations a point and a power of 2, about


class UfuncLoop(NamedTuple):
    """A loop of a universal function of NumPy's: its address, and its further arguments."""

    address: int
    data: int


@cache
def _loops() -> dict[str, UfuncLoop]:
    """NumPy's loops by name and dtype; none if its functions look otherwise."""
    try:
        module = import_module("numpy.fft._pocketfft_umath")
    except ImportError:
        return {}
    found: dict[str, UfuncLoop] = {}
    for name in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft"):
        ufunc = getattr(module, name, None)
        if not isinstance(ufunc, np.ufunc) or ufunc.nin != 2 or ufunc.signature is None:
            return {}
        head = _UFUNC.at(id(ufunc))
        same = (head.nin, head.nout, head.nargs, head.ntypes) == (2, 1, 3, len(ufunc.types))
        if not same or ctypes.string_at(head.name) != ufunc.__name__.encode():
            return {}
        pointers = ctypes.c_size_t * head.ntypes
        functions = pointers.from_address(head.functions)
        data = pointers.from_address(head.data) if head.data else [0] * head.ntypes
        for i, kind in enumerate(ufunc.types):
            found[f"{name}.{kind[1]}"] = UfuncLoop(functions[i], data[i])
    return found


def fits(node: Node, dtype: DType) -> bool:
    """Whether a transform has such a loop, in this precision."""
    (arg,) = node.args
    return f"fft.{dtype.char}" in _loops() and bool(arg.shape) and 0 not in (*arg.shape, *node.shape)


@cache
def _roots(points: int, kind: str) -> Node:
    """The constant that all such transforms read."""
    return constant(transforms.roots(points, kind))


def provide(name: str) -> None:
    """Tell LLVM where a loop begins, or what it is called with."""
    _, word, loop = name.split(".", 2)
    if loop in _loops():
        external(name, getattr(_loops()[loop], word))


def called(node: Node, given: Node, shape: tuple[int, ...], dtype: DType, also: Settings) -> Node:
    """The node for the transform of `given`, whose axes are those of the argument of `node`, and one of pairs."""
    assert node.op is not None
    name, (arg,) = node.op.name, node.args
    axis = node.settings["axis"] % len(arg.shape)
    before, after = arg.shape[axis], node.shape[axis]
    points = after if name == "from_half_spectrum" else before
    forward = name in ("fourier", "half_spectrum")
    norm = node.settings["norm"] or "backward"
    own = {"fourier": "fft", "inverse_fourier": "ifft", "from_half_spectrum": "irfft"}.get(name)
    loop = own or ("rfft_n_odd" if points % 2 else "rfft_n_even")
    scale = 1.0
    if norm == "ortho":
        scale = np.reciprocal(np.sqrt(points, dtype=dtype))
    elif (norm == "forward") == forward:
        scale = np.reciprocal(points, dtype=dtype)
    settings = {"loop": f"{loop}.{dtype.char}", "axis": axis, "lengths": arg.shape, "scale": float(scale), **also}
    kind = key_of(dtype)
    if own in ("fft", "ifft") and before == after and axis == len(arg.shape) - 1 and transforms.table_of(points, kind):
        return call(FOURIER, (given, _roots(points, kind)), settings, shape, dtype, lambda: node.place)
    return call(FOURIER, (given,), settings, shape, dtype, lambda: node.place)


def step(planner: Planner, node: Node) -> None:
    """Add the step that computes a transform."""
    (arg, *factors), settings, size = node.args, node.settings, node.dtype.itemsize
    lengths, axis = settings["lengths"], settings["axis"]
    base, offset = planner.whole(arg)
    wide = [size * (1 + (len(shape) > len(lengths))) for shape in (arg.shape, node.shape)]  # pairs have one more axis
    stacks, points, beside = prod(lengths[:axis]), lengths[axis], prod(lengths[axis + 1 :])
    after = node.shape[axis]
    work = int(_PER_NUMBER * prod(lengths) * max(points.bit_length(), 1))
    if factors:
        at, further = planner.whole(factors[0])
        line = points * wide[0]
        key: Hashable = "transforms", points, settings["loop"], settings["scale"]
        if key not in planner.known:
            planner.known[key] = _of_lines(points, settings["loop"], settings["scale"], key_of(node.dtype))
        use = StepUse((base, at), (node,), {})
        operands = [(base, offset), (node, 0), (at, further)]
        planner.multiplied(planner.known[key], operands, [0, stacks, line, line], (node,), use, "kernel", (work,))
        return
    outer, stacks = (stacks, 1) if beside == 1 else (beside, stacks)
    steps = [points * wide[0], after * wide[1]] if beside == 1 else wide
    steps += [beside * w for w in wide]
    numbers = [0, stacks, outer, points, after, *steps, points * beside * wide[0], after * beside * wide[1]]
    key = "fourier", settings["loop"], settings["scale"]
    if key not in planner.known:
        planner.known[key] = write(settings["loop"], settings["scale"], key_of(node.dtype))
    use = StepUse((base,), (node,), {})
    planner.multiplied(planner.known[key], [(base, offset), (node, 0)], numbers, (node,), use, "kernel", (work,))


def _of_lines(points: int, loop: str, scale: float, dtype: str) -> FunctionText:
    """The code for lines of a power of 2 points, in which NumPy's loop computes what is not finite."""
    found = _loops()[loop]
    routine = external(f"pocketfft.address.{loop}", found.address)
    data = external(f"pocketfft.data.{loop}", found.data) if found.data else "null"
    pair = 2 * int(dtype[1])

    def otherwise(code: Code) -> Callable[[str, str], None]:
        kind = "float" if dtype == "f4" else "double"
        code.declared[routine] = f"declare void {routine}(ptr, ptr, ptr, ptr)"
        if found.data:
            code.declared[data] = f"{data} = external global i8"
        factor = code.name(f"alloca {kind}")
        code.line(f"store {kind} {float_text(scale, dtype)}, ptr {factor}")
        tables = [_table(code, "i64", numbers) for numbers in ((1, points, points), (0, 0, 0, pair, pair))]
        places = code.name("alloca [3 x ptr]")

        def compute(start: str, end: str) -> None:
            for i, place in enumerate((start, factor, end)):
                code.line(f"store ptr {place}, ptr {code.name(f'getelementptr ptr, ptr {places}, i64 {i}')}")
            code.line(f"call void {routine}(ptr {places}, ptr {tables[0]}, ptr {tables[1]}, ptr {data})")

        return compute

    return transforms.write(points, dtype, loop.startswith("ifft"), scale, otherwise)


def _table(code: Code, kind: str, numbers: Sequence[int]) -> str:
    """Numbers on the stack."""
    table = code.name(f"alloca [{len(numbers)} x {kind}]")
    for i, number in enumerate(numbers):
        code.line(f"store {kind} {number}, ptr {code.name(f'getelementptr {kind}, ptr {table}, i64 {i}')}")
    return table


def write(loop: str, scale: float, dtype: str) -> FunctionText:
    """The code that calls a loop of NumPy's for each of several stacks of lines."""
    found = _loops()[loop]
    routine = external(f"pocketfft.address.{loop}", found.address)
    data = external(f"pocketfft.data.{loop}", found.data) if found.data else "null"
    code = Code()
    starts, lines = addresses(code, 2), code.lines
    kind = "float" if dtype == "f4" else "double"
    names = ["first", "stacks", "outer", "points", "after", "near.in", "near.out", "step.in", "step.out", "far.in",
             "far.out"]  # fmt: skip
    for i, word in enumerate(names):
        lines += [f"  %{word}.at = getelementptr i64, ptr %p, i64 {4 + i}", f"  %{word} = load i64, ptr %{word}.at"]
    lines += ["  %scale = alloca " + kind, f"  store {kind} {float_text(scale, dtype)}, ptr %scale"]
    lines += ["  %args = alloca [3 x ptr]", "  %dims = alloca [3 x i64]", "  %steps = alloca [5 x i64]"]
    stored = {"dims": ("outer", "points", "after"), "steps": ("near.in", "", "near.out", "step.in", "step.out")}
    for table, words in stored.items():
        for i, word in enumerate(words):
            lines += [f"  %{table}.{i} = getelementptr i64, ptr %{table}, i64 {i}",
                      f"  store i64 {f'%{word}' if word else 0}, ptr %{table}.{i}"]  # fmt: skip
    lines += [f"  %args.{i} = getelementptr ptr, ptr %args, i64 {i}" for i in range(3)]
    lines += ["  store ptr %scale, ptr %args.1", "  br label %entry.done", "entry.done:", "  br label %head", "head:",
              "  %i = phi i64 [ 0, %entry.done ], [ %j, %next ]",
              "  %in.far = mul i64 %i, %far.in", "  %out.far = mul i64 %i, %far.out",
              f"  %in = getelementptr i8, ptr {starts[0]}, i64 %in.far",
              f"  %out = getelementptr i8, ptr {starts[1]}, i64 %out.far",
              "  store ptr %in, ptr %args.0", "  store ptr %out, ptr %args.2",
              f"  call void {routine}(ptr %args, ptr %dims, ptr %steps, ptr {data})", "  br label %next", "next:",
              "  %j = add i64 %i, 1", "  %more = icmp ult i64 %j, %stacks", "  br i1 %more, label %head, label %done",
              "done:", "  ret void"]  # fmt: skip
    declared = {routine: f"declare void {routine}(ptr, ptr, ptr, ptr)"}
    declared |= {data: f"{data} = external global i8"} if found.data else {}
    return FunctionText("define void @{name}(ptr %b, ptr %p)", lines, declared)
