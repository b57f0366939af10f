"""`Node`: one value of a program. Equal values are one node.

A node is identified by its operation, its inputs, its settings, shape and dtype. A call that would make an
equal node gets the existing one. The table of nodes holds weak references: a node
lives as long as something uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from math import prod
from operator import attrgetter
from weakref import ref

import numpy as np

from adjoint.core.box import Box
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.rules.pullbacks import is_finite
from adjoint.core.threads.locks import NODES
from adjoint.core.types import Array, DType, Settings, ShapeLike, Value
from adjoint.tape.observers.lines import UsersPlace

_next_number = count().__next__


# By key, references to nodes, which go when these do. What takes them out is C's: an interrupt in a callback of
# Python's would be printed, and lost.
_table: dict[Value, Value] = {}
# Constants of more bytes are known by a digest.
_FEW = 1 << 12


class Node:
    """A value: an input, a constant, what an operation makes of other nodes, or one of several results.

    Attributes:
        number: grows with each node, so that inputs come before what uses them.
        op: the operation; None for an input, a constant and a part.
        args: the nodes that it uses.
        settings: the operation's settings.
        shape, dtype: of the value. None for an input that may be anything, as in expressions, and what is made of it;
            for an operation with several results, a tuple of them.
        value: of a constant, the array or number; of an input, its name; of a part, which result of its only
            argument it is.
        place: the place in the user's code that made it, or None; see `adjoint.tape.observers.lines`.
    """

    __slots__ = ("__weakref__", "args", "dtype", "number", "op", "place", "settings", "shape", "value")
    op: Op | None
    args: tuple[Node, ...]
    settings: Settings
    shape: ShapeLike
    dtype: DType
    value: Value
    place: UsersPlace | None
    number: int

    def __init__(
        self,
        op: Op | None,
        args: tuple[Node, ...],
        settings: Settings,
        shape: ShapeLike,
        dtype: DType,
        value: Value,
        place: UsersPlace | None,
    ) -> None:
        self.op = op
        self.args = args
        self.settings = settings
        self.shape = shape
        self.dtype = dtype
        self.value = value
        self.place = place
        self.number = _next_number()

    @property
    def kind(self) -> str:
        """``"input"``, ``"constant"``, ``"part"`` or ``"call"``."""
        if self.op is not None:
            return "call"
        if self.args:
            return "part"
        return "input" if isinstance(self.value, Name) else "constant"

    @property
    def label(self) -> str:
        """What pictures call it: the operation, the name of an input, or the constant's value."""
        if self.op is not None:
            return str(self.op.name)
        return f"[{self.value}]" if self.args else str(self.value)

    def __repr__(self) -> str:
        return f"<node {self.number}: {self.label}{'' if self.shape is None else f' {self.shape}'}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError(
            "a node is one of its process, and so is a graph of them; keep the program as text, graph.to_source(), or "
            "pickle an expression (ad.expr), which is read again"
        )


class Name(str):
    """The name of an input."""

    __slots__ = ()


class NumberName(Name):
    """The name of an input that is one of Python's numbers, which promotes less than NumPy's."""

    __slots__ = ()


def call(
    op: Op,
    args: tuple[Node, ...],
    settings: Settings = NO_SETTINGS,
    shape: ShapeLike = None,
    dtype: DType = None,
    place: Callable[[], UsersPlace | None] | None = None,
) -> Node:
    """The node of `op` applied to `args`. Random draws and messages are never one, even where they look alike."""
    if op.flags and op.ordered:
        return Node(op, args, settings, shape, dtype, None, place() if place else None)
    if op.name == "getitem" and not shape and _is_taken_out(args[0], settings["index"]):
        return args[0]
    # Numbers in place of nodes: a key that holds no objects is nothing to the garbage collector.
    key: Value
    if len(args) == 2:
        key = (id(op), args[0].number, args[1].number, shape, dtype)
    else:
        key = (id(op), *[arg.number for arg in args], shape, dtype)
    if settings:
        key = (key, frozen(settings))
    entry = _table.get(key)
    if entry is not None:
        node: Node | None = entry()
        if node is not None:
            return node
    made = Node(op, args, settings, shape, dtype, None, place() if place else None)
    entry = ref(made, partial(_table.pop, key))
    return made if _table.setdefault(key, entry) is entry else _entered(key, entry, made)


def _is_taken_out(node: Node, index: Value) -> bool:
    """Whether ``node[index]`` takes a number out of an array without axes, where a ufunc has given a number already."""
    made = node.op is not None and isinstance(node.op.forward, np.ufunc)
    return made and not node.shape and type(index) is tuple and not index


def _entered(key: Value, entry: object, node: Node) -> Node:
    """`node`, now in the table; or the equal one that is there already, perhaps from another thread."""
    with NODES:
        other = _table.get(key)
        found: Node | None = None if other is None else other()
        if found is None:
            _table[key] = entry
            return node
    return found


def part(node: Node, i: int) -> Node:
    """Result number `i` of an operation that has several."""
    return _known(
        ("part", node, i), lambda: Node(None, (node,), NO_SETTINGS, node.shape[i], node.dtype[i], i, node.place)
    )


def constant(value: Array) -> Node:
    """The node of a constant: known by its value, bit for bit, its dtype and shape.

    Python's numbers stay what they are, because NumPy promotes them less than its own.
    """
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return _known(
            (type(value), bits_of(value)), lambda: Node(None, (), NO_SETTINGS, (), np.asarray(value).dtype, value, None)
        )
    array = np.asarray(value)
    one = _repeated(array) if array.nbytes > _FEW else None
    bits = _bits(array) if one is None else ("all", one.tobytes())
    key = ("constant", array.dtype.str, array.shape, bits, isinstance(value, np.generic))

    def make() -> Node:
        kept = _kept(value) if one is None else np.broadcast_to(np.array(one), array.shape)
        return Node(None, (), NO_SETTINGS, array.shape, array.dtype, kept, None)

    return _known(key, make)


def is_repeated(node: Node) -> bool:
    """Whether `node` is a constant of one element in memory, which is repeated along every axis."""
    return isinstance(node.value, np.ndarray) and node.value.size > 1 and not any(node.value.strides)


def _repeated(array: np.ndarray) -> Array | None:
    """The element that `array` repeats everywhere, bit for bit; None if there is none."""
    if array.dtype.hasobject or not (array.flags.c_contiguous or not any(array.strides)):
        return None
    one = array[(slice(0, 1),) * array.ndim].reshape(())
    if any(array.strides):
        word = np.dtype(f"u{array.itemsize}" if array.itemsize <= 8 else np.uint64)
        words = array.reshape(-1).view(word).reshape(array.size, -1)
        if (words[0] != words[-1]).any() or (words[0] != words).any():
            return None
    return one


def _bits(array: np.ndarray) -> bytes:
    """A key that distinguishes `array` from others of its shape and dtype: its bytes, or a digest of many."""
    if array.nbytes <= _FEW or array.dtype.hasobject:
        return array.tobytes()
    from hashlib import sha256  # needed for large constants only

    return sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).digest()


def _kept(value: Array) -> Value:
    """A read-only copy."""
    if isinstance(value, np.generic):
        return value
    array: np.ndarray = np.array(value)
    array.flags.writeable = False
    return array


def placeholder(name: str, shape: ShapeLike = None, dtype: DType = None, number: bool = False) -> Node:
    """A new input, perhaps a `number` of Python's; two inputs of one name are two."""
    return Node(None, (), NO_SETTINGS, shape, dtype, NumberName(name) if number else Name(name), None)


def variable(name: str) -> Node:
    """The input called `name` of expressions, in which it may be anything: there is one of each name."""
    return _known(("variable", name), lambda: Node(None, (), NO_SETTINGS, None, None, Name(name), None))


def _known(key: Value, make: Callable[[], Node]) -> Node:
    entry = _table.get(key)
    node: Node | None = entry() if entry is not None else None
    if node is not None:
        return node
    made = make()
    entry = ref(made, partial(_table.pop, key))
    return _entered(key, entry, made)


def bits_of(number: object) -> object:
    """Something that tells numbers apart that are equal for Python, such as 0.0 and -0.0, and finds nan again."""
    if isinstance(number, float):
        return number.hex()
    return (number.real.hex(), number.imag.hex()) if isinstance(number, complex) else number


_SEQUENCES, _OF_NUMPY = (tuple, list), (np.ndarray, np.generic)


def frozen(x: Value) -> Value:
    """Settings as something that can be looked up: equal for equal settings, and only for these."""
    kind = type(x)
    if kind is int or kind is bool:
        return kind, x
    if kind is str or x is None or kind is np.dtype:
        return x
    if kind is float or kind is complex:
        return kind, bits_of(x)
    if kind is dict:
        return tuple([(name, frozen(x[name])) for name in sorted(x)])
    if kind is slice:
        return slice, frozen(x.start), frozen(x.stop), frozen(x.step)
    if isinstance(x, _SEQUENCES):
        return (kind, *map(frozen, x))
    if isinstance(x, _OF_NUMPY):
        return kind, x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, Mapping):  # which takes a while to ask
        return tuple([(name, frozen(x[name])) for name in sorted(x)])
    # A box would be asked for its value: by another program, when the node goes.
    return kind, id(x) if kind.__hash__ is None or isinstance(x, Box) else x


def in_order(outputs: Iterable[Node]) -> list[Node]:
    """All nodes that lead to `outputs`, each after what it uses."""
    seen = set(outputs)
    stack = list(seen)
    while stack:
        for arg in stack.pop().args:
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return sorted(seen, key=attrgetter("number"))


def is_ordered(node: Node) -> bool:
    """Whether a node is a random draw or a message: see `Op.ordered`."""
    return node.op is not None and node.op.ordered


class InTurn:
    """Keeps random draws, and messages to other processes, in order while a program is made anew, node by node.

    The nodes of a program are in the order of their numbers. One that is made anew comes later than it did, so those
    after it have to be made anew too.
    """

    def __init__(self) -> None:
        self._moved = False

    def in_turn(self, old: Node, new: Node) -> Node:
        """The node that replaces `old`, for which `new` was made."""
        if not is_ordered(new):
            return new
        if self._moved and new is old:
            return Node(new.op, new.args, new.settings, new.shape, new.dtype, None, new.place)
        self._moved = self._moved or new is not old
        return new


def uses(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """The users of each of `nodes`, once for every use."""
    users: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for arg in node.args:
            users[arg].append(node)
    return users


def may_be_infinite(node: Node) -> bool:
    """Whether the value of `node` may be infinite or nan: an input as it is, or what an operation makes of finite ones.

    What is computed of inputs by operations that keep finite what is (`is_finite`) is taken to be finite; of a long
    computation, anything may be.
    """
    stack, seen, direct = [node], {node}, {node}
    while stack:
        node = stack.pop()
        if node.kind == "input" and node in direct and node.dtype is not None and node.dtype.kind in "fc":
            return True
        if node.kind == "constant" and not np.isfinite(node.value).all():
            return True
        op = node.op
        if op is None or op.kind == "constant":
            continue
        if len(seen) > 64 or not is_finite(op):
            return True
        moved = node in direct and ("moves" in op.flags or op.name == "choose_either")
        for arg in node.args:
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
                if moved:
                    direct.add(arg)
    return False


def finite_if(node: Node, known: set[Node]) -> list[Node]:
    """The nodes that have to be finite for `node` to be: inputs, and results of operations that may be infinite.

    Nodes in `known` are left out; nodes that were met are added to it. Sums and products of finite numbers are taken to
    be finite. A product of matrices stands for its sides, if it is smaller: it is finite only if they are.
    """
    found, stack = [], [node]
    while stack:
        node = stack.pop()
        if node in known:
            continue
        known.add(node)
        op = node.op
        if node.dtype is None or (op is not None and (op.kind == "constant" or op.ordered)):
            continue
        if multiplies(node) and node.dtype.kind in "fc" and 0 < size_of(node) < sum(map(size_of, node.args)):
            known.update(node.args)
            found.append(node)
        elif op is not None and is_finite(op) and op.name != "choose_either":
            stack.extend(node.args)
        elif node.kind == "part" or node.dtype.kind in "fc":
            found.append(node)
    return found


def is_asked(node: Node) -> bool:
    """Whether `finite_if` may name this result of an operation with one result."""
    assert node.op is not None
    return node.dtype.kind in "fc" and (not is_finite(node.op) or multiplies(node))


def multiplies(node: Node) -> bool:
    """Whether it is a product of matrices."""
    return node.op is not None and node.op.name in ("matmul", "affine")


def size_of(node: Node) -> int:
    """How many numbers a node has; 0 if that is not known, or it has several results."""
    shape = node.shape
    return prod(shape) if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape) else 0
