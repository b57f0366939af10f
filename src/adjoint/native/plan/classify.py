"""What a node is for native code: a view, a kernel's value, a product, an assembled array, or NumPy's; and why."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from adjoint.core.types import DType, ShapeLike
from adjoint.graph.loops.elements import uses_elements
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node, in_order
from adjoint.native.codegen.llvm_text import IRValue, key_of
from adjoint.native.codegen.loops.loop_nest import Reduction
from adjoint.native.lower import table as lowering
from adjoint.native.plan.fusion import axes_reduced
from adjoint.native.plan.layout import assembly
from adjoint.native.plan.layout.assembly import ASSEMBLED
from adjoint.native.plan.layout.indexing import GATHER, PUT, SCATTER, SLIDE
from adjoint.native.plan.layout.piecewise import ASSEMBLE
from adjoint.native.plan.layout.views import PART, VIEWS, plain, through
from adjoint.native.plan.loops import body as loops
from adjoint.native.plan.loops import structured
from adjoint.native.plan.pairs.fourier import FOURIER
from adjoint.native.plan.pairs.splitting import BY_NUMPY, DRAWN, refusal_of
from adjoint.native.plan.rewriting import extremes
from adjoint.native.plan.rewriting.decompose import REDUCED
from adjoint.native.plan.systems import SYSTEMS
from adjoint.native.plan.windows.convolution import TAPS

_ZERO = float(np.add.reduce(np.array([-0.0])))  # some versions of NumPy begin sums with 0.0, some with -0.0


def kind_of(node: Node) -> tuple[str, str]:
    """What a node is to the planner, and why it is left to NumPy, if it is."""
    if node.op is None:
        if node.args and loops.is_loop(node.args[0]) and not not_native(node.args[0].settings["loop"]):
            return "result", ""
        return ("part" if node.args else node.kind), ""
    if loops.is_loop(node):
        why = not_native(node.settings["loop"])
        return ("numpy" if why else "loop"), why
    if isinstance(node.shape, tuple) and node.shape and isinstance(node.shape[0], tuple):
        return "numpy", "several results"
    if node.op.multiple:
        return "numpy", "several results"
    if node.op in (BY_NUMPY, DRAWN):
        return "numpy", refusal_of(node)
    everything = [node, *node.args]
    unfit = [reason for n in everything if (reason := _unfit(n.shape, n.dtype))]
    if unfit:
        return "numpy", min(unfit)[1]
    if node.op is FOURIER:
        return "fourier", ""
    if node.op in SYSTEMS:
        return "system", ""
    if node.op in (SLIDE, TAPS):
        return node.op.name, ""
    if node.op in (GATHER, SCATTER, PUT, ASSEMBLE):
        return ("gather" if node.op is GATHER else "assemble"), ""
    name = node.op.name
    if node.op is PART:
        return "view", ""
    if name in VIEWS:
        probe = through(node, plain(node.args[0]))
        if probe is None:
            return "numpy", "an index of arrays" if name == "getitem" else "an order of elements"
        return "view", ""
    if name in REDUCED:
        if reduction_of(node):
            return "reduce", ""
        some = node.settings.get("where", True) is not True
        refusal = "where=" if some else f"dtype {node.args[0].dtype}"
        return "numpy", refusal if len(node.args) == 1 else "an axis that is computed"
    if name in ASSEMBLED:
        refusal = assembly.refusal(node)
        return ("numpy", refusal) if refusal else ("assemble", "")
    if name == "matmul":
        if {key_of(n.dtype) for n in everything} in ({"f4"}, {"f8"}):
            return "matmul", ""
        return "numpy", "a product of these dtypes"
    if (
        node.op.kind == "elementwise"
        or isinstance(node.op.forward, np.ufunc)
        or name in lowering.TABLE
        or name == "astype"
    ):
        found = lowering.lowered(node)
        return ("elementwise", "") if found.function else ("numpy", found.reason)
    return "numpy", "no lowering"


@lru_cache(4096)
def _unfit(shape: ShapeLike, dtype: DType) -> tuple[int, str] | None:
    """Why no native code reads or writes such arrays, with the first of several reasons first."""
    if shape is None:
        return 0, "a shape that is not known"
    if 0 in shape:
        return 1, "an empty array"
    return None if key_of(dtype) in lowering.STORED else (2, f"dtype {dtype}")


def not_native(loop: Loop) -> str:
    """Why a loop has no native code; empty, if it has."""
    if loop.native is None and uses_elements(in_order(loop.body.outputs)):
        return structured.prepared(loop, kind_of)
    return loops.refusal(loop, kind_of)


def _largest(dtype: str, sign: int) -> float:
    if dtype[0] == "f":
        return sign * math.inf
    if dtype == "b1":
        return sign > 0
    info = np.iinfo(np.dtype(dtype))
    return info.max if sign > 0 else info.min


def reduction_of(node: Node) -> Reduction | None:
    """How a reduction's elements are taken together; None if they cannot be."""
    assert node.op is not None
    if node.settings.get("where", True) is not True:
        return None
    name, out = node.op.name, key_of(node.dtype)
    if name in extremes.NAMES:
        return extremes.place(node)
    if node.op in extremes.BESIDE_NAN:
        return extremes.beside_nan(node)
    wide = "f4" if out == "f2" else out

    def same(x: IRValue) -> IRValue:
        return x

    if name in ("any", "all"):
        word: Callable[[IRValue, IRValue], IRValue] = (lambda x, y: x | y) if name == "any" else (lambda x, y: x & y)
        return Reduction(word, name == "all", same, "b1", name)
    if name in ("reduce_max", "reduce_min"):
        extreme, sign = (lowering.maximum, -1) if name == "reduce_max" else (lowering.minimum, 1)
        if key_of(node.args[0].dtype) != out:
            return None
        return Reduction(lambda x, y: extreme(x.code, x, y), _largest(wide, sign), same, wide, name)
    if out == "b1" or (name == "reduce_mean" and out[0] != "f"):
        return None
    if name == "reduce_prod":
        return Reduction(lambda x, y: x * y, 1, same, wide, name)
    zero = _ZERO if out[0] == "f" else 0
    if name == "reduce_sum":
        return Reduction(lambda x, y: x + y, zero, same, wide, name)
    count = math.prod(node.args[0].shape[a] for a in axes_reduced(node))
    return Reduction(lambda x, y: x + y, zero, lambda x: x / float(count), wide, (name, count))
