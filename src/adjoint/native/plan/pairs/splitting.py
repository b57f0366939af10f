"""A program in which each complex value is two real ones.

An array of complex numbers lies in memory as an array of real ones with one more axis, of length 2. Where one enters or
leaves native code, or a step of NumPy's, one node of that shape represents it: its settings say so (`PAIRED`). Kernels
read its parts as views, and write theirs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import DType, Settings, Value
from adjoint.graph.loops.loop import LOOP
from adjoint.graph.node import InTurn, Name, Node, call, constant, in_order, part
from adjoint.graph.python_numbers import is_number
from adjoint.graph.rewriting.driver import converted, with_args
from adjoint.native.plan.layout.indexing import never
from adjoint.native.plan.layout.piecewise import ASSEMBLE
from adjoint.native.plan.layout.regions import Region
from adjoint.native.plan.layout.views import PART, VIEWS
from adjoint.native.plan.pairs import fourier
from adjoint.native.plan.pairs.arithmetic import RULES, ComplexPair, Real, is_true, multiply, weights
from adjoint.native.plan.pairs.parts import REAL_OF, in_dtype, parts_of, shaped, together, unsigned, untransposed

PAIRED = "paired"  # in settings: whether a node of real numbers stands for complex ones; a tuple for several results
COMPLEX_OF: dict[DType, DType] = {real: whole for whole, real in REAL_OF.items()}
BY_NUMPY = Op("by_numpy", never, ("*values",))  # what NumPy computes of complex numbers
DRAWN = Op("by_numpy", never, ("*values",), flags=frozenset({"random"}))
# Operations that do the same to both parts, with how many of their first arguments hold values; -1: all of them.
ALIKE: Mapping[str, int] = {
    **dict.fromkeys(VIEWS - {"real", "copy"}, 1),
    **dict.fromkeys(("pad_zeros", "scatter_add", "overlap_add", "running_sum", "reduce_sum", "reduce_mean", "pick",
                     "place_at"), 1),
    "overwrite": 2, "join": -1, "pile": -1,
}  # fmt: skip

Rebuild = Callable[[Node, tuple[Node, ...]], Node]


class RealProgram(NamedTuple):
    """A program in real numbers.

    Attributes:
        outputs: nodes that stand for the program's, whether complex or not.
        inputs: for each complex input the node that stands for it.
    """

    outputs: list[Node]
    inputs: dict[Node, Node]


def split(outputs: Sequence[Node], inputs: Sequence[Node], again: Rebuild, turned: bool = False) -> RealProgram:
    """The same program in real numbers. `again` makes an operation's node anew, by primitive operations.

    If inputs lie with their axes in another order (`turned`), values whose axes are turned are written as computed.
    """
    nodes = in_order((*outputs, *inputs))
    if not any(map(_has_pairs, nodes)):
        return RealProgram(list(outputs), {})
    splitting = _Splitting(again, turned)
    for node in nodes:
        splitting.take(node)
    found = [node if node.kind == "constant" else splitting.whole(node) for node in outputs]
    return RealProgram(found, {node: splitting.done[node] for node in inputs if is_pair(node)})


def is_pair(node: Node) -> bool:
    """Whether the value of a node is taken as pairs of real numbers."""
    return node.shape is not None and node.dtype in REAL_OF and 0 not in node.shape


def _has_pairs(node: Node) -> bool:
    if isinstance(node.dtype, tuple):
        return any(dtype in REAL_OF for dtype in node.dtype)
    return node.dtype in REAL_OF


def stands_for(node: Node) -> bool:
    """Whether a node of real numbers stands for complex ones, as arrays of which its values come and go."""
    if node.op is not None:
        return node.settings.get(PAIRED) is True
    if node.args:
        told = node.args[0].settings.get(PAIRED)
        return isinstance(told, tuple) and bool(told[node.value])
    return isinstance(node.value, _PairName)


def for_numpy(node: Node) -> Node:
    """The node that NumPy computes where `node` stands: what it does, and what its value is."""
    settings = node.settings
    if node.op is LOOP and PAIRED in settings:
        return Node(LOOP, node.args, {"loop": settings["loop"]}, node.shape, node.dtype, None, node.place)
    if node.op not in (BY_NUMPY, DRAWN):
        return node
    return Node(settings["op"], node.args, settings["settings"], settings["shape"], settings["dtype"], None, node.place)


def refusal_of(node: Node) -> str:
    """Why NumPy computes what `for_numpy` gives."""
    dtype = node.settings["dtype"]
    if isinstance(dtype, tuple):
        return "several results"
    if any(0 in n.shape for n in (for_numpy(node), *node.args) if n.shape is not None):
        return "an empty array"
    kinds = [COMPLEX_OF[x.dtype] if stands_for(x) else x.dtype for x in node.args]
    return f"dtype {dtype if dtype is not None and dtype.kind == 'c' else next(d for d in kinds if d.kind == 'c')}"


def as_floats(array: np.ndarray) -> np.ndarray:
    """An array of complex numbers as the real ones that lie there; another one as it is."""
    if array.dtype not in REAL_OF:
        return array
    flat = np.ascontiguousarray(array).reshape(-1).view(REAL_OF[array.dtype])
    return flat.reshape(*array.shape, 2)


class _PairName(Name):
    """The name of an input of complex numbers."""

    __slots__ = ()


class _Splitting:
    def __init__(self, again: Rebuild, turned: bool) -> None:
        self.again, self.turned, self.order = again, turned, InTurn()
        self.done: dict[Node, Node] = {}  # by the old node: what stands for all of it
        self.pairs: dict[Node, tuple[Node, Node]] = {}  # by the old node: its parts, of its shape or numbers

    def take(self, node: Node) -> None:
        """Make the next node of the program anew."""
        if node.kind == "input" and is_pair(node):
            shape, dtype = (*node.shape, 2), REAL_OF[node.dtype]
            self.keep(node, Node(None, (), {}, shape, dtype, _PairName(node.value), node.place))
        elif node.kind == "part":
            made = part(self.done[node.args[0]], node.value)
            self.keep(node, made)
        elif node.op is None:
            if is_pair(node):
                self.pairs[node] = parts_of(node)
            self.done[node] = node
        elif not _has_pairs(node) and not any(map(_has_pairs, node.args)):
            made = with_args(node, tuple(self.done[arg] for arg in node.args))
            self.done[node] = self.order.in_turn(node, made)
        else:
            self.compute(node)

    def keep(self, node: Node, made: Node) -> None:
        """`made` stands for all of `node`; its parts are views of it."""
        self.done[node] = made
        if stands_for(made):
            self.pairs[node] = tuple(  # type: ignore[assignment]  # two
                call(PART, (made,), {"number": k}, made.shape[:-1], made.dtype, lambda: node.place) for k in (0, 1)
            )

    def compute(self, node: Node) -> None:
        """Make an operation with complex arguments, or a complex result, anew."""
        found = self.by_parts(node) if _all_fit(node) else None
        if found is None:
            self.keep(node, self.order.in_turn(node, self.by_numpy(node)))
        elif isinstance(found, Node):
            self.keep(node, found)
        else:
            self.pairs[node] = found

    def by_parts(self, node: Node) -> Node | tuple[Node, Node] | None:
        """The parts of a complex result, or a real one; None if NumPy computes it."""
        assert node.op is not None
        name, args = node.op.name, node.args
        if name in fourier.KINDS:
            return self.transformed(node)
        if name == "overwrite" and any(op.name in ("real", "imag") for op, _ in node.settings["path"]):
            return self.part_written(node)
        if name in ALIKE:
            count = len(args) if ALIKE[name] < 0 else ALIKE[name]
            return self.alike(node, count) if is_pair(node) else None
        if name == "matmul":
            return self.product(node)
        if name == "weighted_half":
            chosen, factor = weights(node.settings, node.shape)
            x, place = self.pair(args[0], node), constant(chosen)
            more, condition = multiply(x, self.number(factor, node)), x.re.beside(place)
            return self.made(ComplexPair(*(condition.where(b, a) for a, b in zip(x, more, strict=True))), node)
        if name == "astype":
            return self.cast(node)
        if name == "choose_either":
            x, y = (self.pair(arg, node) for arg in args[1:])
            condition = x.re.beside(self.done[args[0]])
            return self.made(ComplexPair(condition.where(x.re, y.re), condition.where(x.im, y.im)), node)
        rule = RULES.get(name)
        found = rule and rule(*(self.pair(arg, node) for arg in args))
        return None if found is None else self.made(found, node)

    def made(self, found: ComplexPair | Real, node: Node) -> Node | tuple[Node, Node]:
        """The result of a rule; a real value gets the shape of its node."""
        if isinstance(found, ComplexPair):
            return found.re.node, found.im.node
        return shaped(found.node, node.shape)

    def number(self, value: float, node: Node) -> ComplexPair:
        dtype = REAL_OF[node.dtype]
        return ComplexPair(*(Real(constant(dtype.type(x)), dtype, node.place) for x in (value, 0.0)))

    def pair(self, arg: Node, node: Node) -> ComplexPair:
        """An argument as a pair, in the precision in which `node` is computed."""
        dtype = _precision(node)
        parts = self.pairs[arg] if arg in self.pairs else (self.done[arg], constant(dtype.type(0)))
        return ComplexPair(*(Real(in_dtype(x, dtype), dtype, node.place) for x in parts))

    def parts(self, arg: Node, dtype: DType) -> tuple[Node, Node]:
        """An argument as two arrays of its shape."""
        pair = self.pairs.get(arg) or (self.done[arg], constant(dtype.type(0)))
        re, im = (shaped(in_dtype(x, dtype), arg.shape) for x in pair)
        return re, im

    def whole(self, node: Node) -> Node:
        """The node that stands for the whole of a value, as one array."""
        if node not in self.done:
            value, axes = untransposed(node) if self.turned else (node, tuple(range(len(node.shape))))
            if value is not node and (there := self.done.get(value)) is not None and there.op in (BY_NUMPY, DRAWN):
                self.done[node] = self.shown(node, there, axes)
                return self.done[node]
            parts = together([shaped(x, value.shape) for x in self.pairs[value]])
            shape, rank = (*node.shape, 2), len(node.shape)
            regions = tuple(Region((0,) * rank + (k,), (*node.shape, 1), (1,) * (rank + 1), axes) for k in (0, 1))
            settings = {"below": False, "regions": regions, "adds": (False, False), PAIRED: True}
            self.done[node] = call(ASSEMBLE, tuple(parts), settings, shape, parts[0].dtype, lambda: node.place)
        return self.done[node]

    def shown(self, node: Node, base: Node, places: tuple[int, ...]) -> Node:
        """What NumPy computed, shown with its axes at other places, as a view."""
        axes = tuple(sorted(range(len(places)), key=places.__getitem__))
        settings = {"op": op_named("transpose"), "settings": {"axes": axes}, "shape": node.shape, "dtype": node.dtype}
        return call(BY_NUMPY, (base,), {**settings, PAIRED: True}, (*node.shape, 2), base.dtype, lambda: node.place)

    def alike(self, node: Node, count: int) -> tuple[Node, Node]:
        """The same operation on both parts of its first arguments."""
        assert node.op is not None
        dtype, others = REAL_OF[node.dtype], tuple(self.done[arg] for arg in node.args[count:])
        each = [self.parts(arg, dtype) for arg in node.args[:count]]
        re, im = (
            self.remade(node, tuple(x[k] for x in each) + others, node.settings, node.shape, dtype) for k in (0, 1)
        )
        return re, im

    def part_written(self, node: Node) -> tuple[Node, Node]:
        """A write through a view of one part: the other one stays."""
        dtype, (value, array, *rest) = REAL_OF[node.dtype], node.args
        path = tuple(step for step in node.settings["path"] if step[0].name not in ("real", "imag"))
        part = int(next(op.name for op, _ in node.settings["path"] if op.name in ("real", "imag")) == "imag")
        (new, _), parts = self.parts(value, dtype), list(self.parts(array, dtype))
        args = (new, parts.pop(part), *(self.done[arg] for arg in rest))
        parts.insert(part, self.remade(node, args, {**node.settings, "path": path}, node.shape, dtype))
        return parts[0], parts[1]

    def remade(self, node: Node, args: tuple[Node, ...], settings: Settings, shape: Value, dtype: DType) -> Node:
        assert node.op is not None
        return self.again(call(node.op, args, settings, shape, dtype, lambda: node.place), args)

    def product(self, node: Node) -> tuple[Node, Node]:
        """A product of matrices: four products of their parts."""
        dtype = REAL_OF[node.dtype]
        (a, b), (c, d) = (self.parts(arg, dtype) for arg in node.args)

        def times(x: Node, y: Node) -> Real:
            return Real(self.remade(node, (x, y), node.settings, node.shape, dtype), dtype, node.place)

        if (other := unsigned(b)) is not None:  # a conjugate's sign is the sum's
            return (times(a, c) + times(other, d)).node, (times(a, d) - times(other, c)).node
        if (other := unsigned(d)) is not None:
            return (times(a, c) + times(b, other)).node, (times(b, c) - times(a, other)).node
        return (times(a, c) - times(b, d)).node, (times(a, d) + times(b, c)).node

    def cast(self, node: Node) -> Node | tuple[Node, Node]:
        """A conversion from or to complex numbers."""
        (arg,), wanted = node.args, node.dtype
        if wanted in REAL_OF:
            return self.parts(arg, REAL_OF[wanted])
        x = self.pairs[arg]
        if wanted.kind == "b":
            return self.made(is_true(ComplexPair(*(Real(p, p.dtype, node.place) for p in x))), node)
        return converted(shaped(x[0], node.shape), wanted, node.place)

    def transformed(self, node: Node) -> Node | None:
        """A Fourier transform, by the code that NumPy has for it."""
        (arg,) = node.args
        takes_pairs, gives_pairs = fourier.KINDS[node.op.name]  # type: ignore[union-attr]  # it has one
        dtype = REAL_OF.get(node.dtype, node.dtype)
        if not fourier.fits(node, dtype):
            return None
        given = self.whole_of(arg, dtype, node) if takes_pairs else converted(self.done[arg], dtype, node.place)
        shape = (*node.shape, 2) if gives_pairs else node.shape
        return fourier.called(node, given, shape, dtype, {PAIRED: gives_pairs})

    def whole_of(self, arg: Node, dtype: DType, node: Node) -> Node:
        """All of an argument as pairs of this precision, side by side."""
        if arg in self.done and stands_for(self.done[arg]) and self.done[arg].dtype == dtype:
            return self.done[arg]
        if arg in self.pairs and self.pairs[arg][0].dtype == dtype and is_pair(arg) and arg.kind != "constant":
            return self.whole(arg)
        wide = converted(arg, COMPLEX_OF[dtype], node.place)
        if wide is not arg and wide not in self.pairs:
            self.pairs[wide] = self.parts(arg, dtype)
        if arg.kind == "constant" and wide is arg:
            return constant(as_floats(np.asarray(arg.value)))
        return self.whole(wide)

    def by_numpy(self, node: Node) -> Node:
        """A node that stands for what NumPy computes of complex arrays."""
        assert node.op is not None
        args = tuple(arg if arg.kind == "constant" else self.whole(arg) for arg in node.args)
        several = isinstance(node.dtype, tuple)
        if several:
            kinds = [_paired(s, d) for s, d in zip(node.shape, node.dtype, strict=True)]
            shape, dtype = tuple(k[0] for k in kinds), tuple(k[1] for k in kinds)
            told: Value = tuple(k[2] for k in kinds)
        else:
            shape, dtype, told = _paired(node.shape, node.dtype)
        if node.op is LOOP:
            return call(LOOP, args, {**node.settings, PAIRED: told}, shape, dtype, lambda: node.place)
        settings = {"op": node.op, "settings": node.settings, "shape": node.shape, "dtype": node.dtype, PAIRED: told}
        op = DRAWN if node.op.ordered else BY_NUMPY
        return call(op, args, settings, shape, dtype, lambda: node.place)


def _paired(shape: Value, dtype: DType) -> tuple[Value, DType, bool]:
    """Shape and dtype of what stands for a value, and whether it does."""
    if shape is not None and dtype in REAL_OF and 0 not in shape:
        return (*shape, 2), REAL_OF[dtype], True
    return shape, dtype, False


def _all_fit(node: Node) -> bool:
    """Whether an operation can be computed by parts: no array is empty, or has numbers of more precision."""
    nodes = (node, *node.args)
    if node.op is None or node.op is LOOP or any(n.shape is None or isinstance(n.dtype, tuple) for n in nodes):
        return False
    return all(0 not in n.shape and (n.dtype.kind in "biuf" or n.dtype in REAL_OF) for n in nodes)


def _precision(node: Node) -> DType:
    """In which dtype an operation on complex numbers computes their parts."""
    if node.dtype in REAL_OF:
        return REAL_OF[node.dtype]
    kinds = [{"f": 0.0, "i": 0, "c": 0j, "b": 0}[a.dtype.kind] if is_number(a) else a.dtype for a in node.args]
    return REAL_OF[np.dtype(np.result_type(*kinds))]
