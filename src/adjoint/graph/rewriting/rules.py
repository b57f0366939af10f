"""The rewrites. Those in `EXACT` keep every bit of the values that they replace, for nan, infinities and -0.0 too.

If a rewrite changes how a value lies in memory (a view instead of a copy), a later sum may add in another order.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.box import apply
from adjoint.core.registry import operation
from adjoint.core.types import Axis, Value
from adjoint.graph.node import Node, constant
from adjoint.graph.python_numbers import is_number
from adjoint.graph.rewriting.driver import Rewrite, made_call, on

FOLDED = 65_536  # a constant of more elements is computed when it is needed


def called(name: str, *args: Node, **settings: Value) -> Node:
    op: Value = operation(name)
    return made_call(op, args, {**op.settings, **settings})


@on(
    examples=[lambda x: x * np.exp(np.ones_like(x))],
    wants=lambda heads: bool(heads) and all(isinstance(head, Node) for head in heads),
)
def _constants(node: Node) -> Node | None:
    """What depends on constants alone is one."""
    assert node.op is not None
    if node.op.multiple or node.op.ordered:
        return None
    if node.shape is not None and np.prod(node.shape) > FOLDED:
        return None
    with np.errstate(all="ignore"):
        if node.shape is None:  # of a formula, whose numbers are Python's; 1/0 stays as it is written
            out = node.op.forward(*(np.float64(x.value) if type(x.value) is float else x.value for x in node.args))
            return constant(out if type(out) is bool else out.item()) if np.all(np.isfinite(out)) else None
        out = apply(node.op, [arg.value for arg in node.args], node.settings)
    return constant(out if isinstance(out, np.ndarray) or is_number(node) else np.asarray(out)[()])


def _order(axes: Axis, ndim: int) -> tuple[int, ...]:
    return tuple(reversed(range(ndim))) if axes is None else tuple(a % ndim for a in axes)


@on(
    "transpose",
    examples=[lambda x: np.transpose(np.transpose(x, (1, 2, 0)), (0, 2, 1)), lambda x: np.transpose(x, (0, 1, -1))],
)
def _transposes(node: Node) -> Node | None:
    """Two transposes are one, and one that moves nothing is none."""
    (x,) = node.args
    if x.shape is None:
        return None
    order = _order(node.settings["axes"], len(x.shape))
    if order == tuple(range(len(x.shape))):
        return x
    if x.op is node.op:
        inner = _order(x.settings["axes"], len(x.shape))
        return called("transpose", x.args[0], axes=tuple(inner[i] for i in order))
    return None


@on(
    "swapaxes",
    "moveaxis",
    "matrix_transpose",
    examples=[lambda x: np.swapaxes(x, 0, -1), lambda x: np.moveaxis(x, 0, 1), lambda x: np.matrix_transpose(x)],
)
def _other_transposes(node: Node) -> Node | None:
    """Every way of moving axes is a transpose."""
    (x,) = node.args
    if x.shape is None or node.op is None:
        return None
    numbers = np.empty(tuple(range(2, 2 + len(x.shape))), bool)  # each axis has a length of its own
    moved = apply(node.op, [numbers], node.settings).shape if numbers.size < 10**6 else None
    return None if moved is None else called("transpose", x, axes=tuple(n - 2 for n in moved))


@on("reshape", examples=[lambda x: np.reshape(np.reshape(x, -1), (-1, 2)), lambda x: np.reshape(x, np.shape(x))])
def _reshapes(node: Node) -> Node | None:
    """Two reshapes are one, and one to the same shape is none."""
    (x,) = node.args
    if x.shape is None or node.settings.get("order") != "C":
        return None
    if x.shape == node.shape:
        return x
    if x.op is node.op and x.settings.get("order") == "C":
        return called("reshape", x.args[0], shape=node.shape)
    return None


@on("expand_dims", "squeeze", examples=[lambda x: np.expand_dims(x, 1), lambda x: np.squeeze(x[:, None], 1)])
def _reshapes_by_other_names(node: Node) -> Node | None:
    """Adding and dropping axes of length 1 is a reshape."""
    return None if node.shape is None else called("reshape", node.args[0], shape=node.shape)


@on(
    "broadcast_to",
    examples=[
        lambda x: np.broadcast_to(np.broadcast_to(x, (1, *np.shape(x))), (2, *np.shape(x))),
        lambda x: np.broadcast_to(x, np.shape(x)),
    ],
)
def _broadcasts(node: Node) -> Node | None:
    """Two broadcasts are one, and one to the same shape is none."""
    (x,) = node.args
    if x.shape == node.shape:
        return x
    return called("broadcast_to", x.args[0], shape=node.shape) if x.op is node.op else None


@on(
    examples=[lambda x, y: np.hypot(np.broadcast_to(x, (2, *np.shape(x))), y)],
    wants=lambda heads: operation("broadcast_to") in heads,
)
def _broadcasts_go_outwards(node: Node) -> Node | None:
    """An elementwise operation comes before its argument is repeated, not after."""
    assert node.op is not None
    if node.op.kind != "elementwise" or node.op.multiple or node.shape is None:
        return None
    spread = operation("broadcast_to")
    args = tuple(arg.args[0] if arg.op is spread else arg for arg in node.args)
    inner = made_call(node.op, args, node.settings)
    if inner.dtype != node.dtype:
        return None
    return inner if inner.shape == node.shape else called("broadcast_to", inner, shape=node.shape)


@on("astype", examples=[lambda x: x.astype(x.dtype), lambda x: x.astype(np.float64).astype(np.float32)])
def _conversions(node: Node) -> Node | None:
    """To the dtype that it has; or to a wider one and back."""
    (x,) = node.args
    if x.dtype is None or x.dtype == node.dtype:
        return x if x.dtype is not None else None
    if x.op is node.op and x.args[0].dtype == node.dtype and _holds(x.dtype, node.dtype):
        return x.args[0]
    return None


def _holds(wide: Value, narrow: Value) -> bool:
    """Whether every value of one dtype is one of the other's. For NumPy, float64 holds int64, which it does not."""
    if narrow.kind in "iu" and wide.kind in "fc":
        return bool(narrow.itemsize * 8 <= np.finfo(wide).nmant + 1)
    return np.can_cast(narrow, wide, "safe")


@on("copy", "positive", examples=[lambda x: np.copy(x), lambda x: +x])
def _copies(node: Node) -> Node | None:
    """Values are never written, so a copy is the value itself."""
    return node.args[0]


@on("not_equal", examples=[lambda x: np.not_equal(np.greater(x, 0), 0)])
def _truth_of_a_truth_value(node: Node) -> Node | None:
    """A truth value is unequal to 0 where it is true."""
    x, zero = node.args
    if (
        x.dtype is None
        or x.dtype.kind != "b"
        or zero.kind != "constant"
        or np.ndim(zero.value)
        or x.shape != node.shape
    ):
        return None
    return x if zero.value == 0 else None


@on(
    "choose_either",
    examples=[
        lambda x, y: np.where(np.greater(y, 0), x, x),
        lambda x, y: np.where(np.ones(np.shape(x), bool), x, y),
        lambda x, y: np.where(np.zeros(np.shape(x), bool), x, y),
    ],
)
def _choices(node: Node) -> Node | None:
    """Between equal things, or by a condition that is always the same."""
    condition, x, y = node.args
    if x is y:
        return x
    if condition.kind != "constant":
        return None
    if np.all(condition.value):
        return _as_large(x, node)
    return None if np.any(condition.value) else _as_large(y, node)


def _as_large(x: Node, node: Node) -> Node | None:
    if node.shape is None or x.shape == node.shape:
        return x
    return None if x.dtype != node.dtype else called("broadcast_to", x, shape=node.shape)


@on(
    "multiply",
    examples=[lambda x, y: (-x) * y, lambda x, y: x * (-y)],
    wants=lambda heads: operation("negative") in heads,
)
def _negative_factor(node: Node) -> Node | None:
    """The sign of a factor is that of the product; complex products have other zeros."""
    x, y = node.args
    minus = operation("negative")
    if x.op is minus:
        x = x.args[0]
    elif y.op is minus:
        y = y.args[0]
    else:
        return None
    known = node.dtype is None or (node.dtype.kind in "fiu" and x.dtype == y.dtype == node.dtype)
    return called("negative", called("multiply", x, y)) if known else None


@on("power", examples=[lambda x: np.sum(x) ** 0], wants=lambda heads: isinstance(heads[1], Node))
def _power_zero(node: Node) -> Node | None:
    """Any number to the power of 0 is 1, nan too."""
    zero = node.args[1]
    if node.shape or zero.kind != "constant" or np.any(zero.value):
        return None
    return constant(1.0) if node.dtype is None else constant(node.dtype.type(1))


@on(
    "logical_and",
    "logical_or",
    examples=[lambda x: np.logical_and(np.sum(x) > 0, np.True_), lambda x: np.logical_or(np.True_, np.sum(x) > 0)],
)
def _certain(node: Node) -> Node | None:
    """Of true and another truth value, `and` is the other, and `or` is true."""
    for certain, other in (node.args, node.args[::-1]):
        if certain.kind == "constant" and not node.shape and (node.dtype is None or other.dtype == bool):
            return other if bool(certain.value) == (node.label == "logical_and") else certain
    return None


@on("getitem", examples=[lambda x: x[...], lambda x: x[:, :], lambda x: x[()]])
def _whole_arrays(node: Node) -> Node | None:
    """An index that takes everything."""
    index = node.settings["index"]
    parts = index if isinstance(index, tuple) else (index,)
    everything = all(part is Ellipsis or (isinstance(part, slice) and part == slice(None)) for part in parts)
    return node.args[0] if everything and node.args[0].shape == node.shape else None


def _rules() -> list[Rewrite]:
    """Where complex numbers are left out, their products and quotients have other zeros, or nan beside infinities."""
    of, real = Rewrite.of, "fiub"
    return [
        of("times one", lambda x: x * 1, lambda x: x, kinds=real),
        of("by one", lambda x: x / 1, lambda x: x, kinds=real),
        of("less zero", lambda x: x - 0, lambda x: x),
        of("plus minus zero", lambda x: x + -0.0, lambda x: x, kinds=real),
        of("power one", lambda x: x**1, lambda x: x, kinds=real),
        of("times minus one", lambda x: x * -1, lambda x: -x, kinds="fi"),
        of("by minus one", lambda x: x / -1, lambda x: -x, kinds=real),
        of("minus minus", lambda x: np.negative(-x), lambda x: x),
        of("minus a negative", lambda x, y: x - (-y), lambda x, y: x + y),
        of("plus a negative", lambda x, y: x + (-y), lambda x, y: x - y),
        of("product of negatives", lambda x, y: (-x) * (-y), lambda x, y: x * y),
        of("quotient of negatives", lambda x, y: (-x) / (-y), lambda x, y: x / y, kinds=real),
        of("negative numerator", lambda x, y: (-x) / y, lambda x, y: -(x / y), kinds=real),
        of("negative denominator", lambda x, y: x / (-y), lambda x, y: -(x / y), kinds=real),
        of("absolute of a negative", lambda x: np.abs(-x), lambda x: np.abs(x), kinds="fi"),
        of("absolute twice", lambda x: np.abs(np.abs(x)), lambda x: np.abs(x)),
        of("square of a negative", lambda x: np.square(-x), lambda x: np.square(x)),
        of("cosine of a negative", lambda x: np.cos(-x), lambda x: np.cos(x), kinds=real),
        of("conjugate twice", lambda x: np.conj(np.conj(x)), lambda x: x),
        of("larger of one", lambda x: np.maximum(x, x), lambda x: x),
        of("smaller of one", lambda x: np.minimum(x, x), lambda x: x),
    ]


def _unsafe_rules() -> list[Rewrite]:
    of = Rewrite.of
    return [
        of("plus zero", lambda x: x + 0, lambda x: x, "-0.0 + 0 is 0.0"),
        of("zero less", lambda x: 0 - x, lambda x: -x, "0 - 0.0 is 0.0, not -0.0"),
        of("negative difference", lambda x, y: -(x - y), lambda x, y: y - x, "the sign of 0"),
        of("difference of equals", lambda x: x - x, lambda x: x * 0, "x * 0 is -0.0 for a negative x"),
        of("quotient of equals", lambda x: x / x, lambda x: x**0, "0 / 0, inf / inf and nan / nan are nan"),
        of("by and times", lambda x, y: x / y * y, lambda x, y: x, "rounding, 0, infinities"),
        of("times and by", lambda x, y: x * y / y, lambda x, y: x, "rounding, overflow, 0, infinities"),
        of("exponential of logarithm", lambda x: np.exp(np.log(x)), lambda x: x, "rounding, negative numbers"),
        of("logarithm of exponential", lambda x: np.log(np.exp(x)), lambda x: x, "rounding, overflow"),
        of("root of a square", lambda x: np.sqrt(np.square(x)), lambda x: np.abs(x), "overflow, underflow"),
        of("common factor", lambda x, y, z: x * y + x * z, lambda x, y, z: x * (y + z), "rounding, overflow"),
        of(
            "sum of equals",
            lambda x: x + x,
            lambda x: 2.0 * x,
            "the operation; for complex numbers, nan beside infinities",
        ),
        of("product of equals", lambda x: x * x, lambda x: np.square(x), "nothing but the operation"),
    ]


@on(
    "add",
    "multiply",
    why="(x + a) + b as x + (a + b): rounding, overflow",
    examples=[lambda x: (0.1 + x) + 0.2, lambda x: 0.3 * (x * 0.7)],
)
def _constants_together(node: Node) -> Node | None:
    op: Value = node.op
    for x, c in (node.args, node.args[::-1]):
        if c.kind == "constant" and x.op == op:
            for y, d in (x.args, x.args[::-1]):
                if d.kind == "constant":
                    with np.errstate(all="ignore"):
                        both = constant(apply(op, [d.value, c.value], node.settings))
                    return made_call(op, (y, both), node.settings)
    return None


@on("multiply", why="0 * inf and 0 * nan are nan, 0 * -1 is -0.0", examples=[lambda x: x * 0])
def _times_zero(node: Node) -> Node | None:
    for arg in node.args:
        if arg.kind == "constant" and not np.any(arg.value):
            return constant(np.zeros(node.shape or (), node.dtype)[()])
    return None


def _log_of_softmax(x: Value) -> object:
    softmax: Value = operation("softmax")
    return np.log(softmax(x))


@on("log", why="more accurate, and right where the softmax is 0", examples=[_log_of_softmax])
def _logarithm_of_softmax(node: Node) -> Node | None:
    (x,) = node.args
    if x.op is not operation("softmax"):
        return None
    return called("log_softmax", x.args[0], axis=x.settings["axis"])


@on(
    why="sums and products of two, the older first: the same value, but for the payload of nan",
    examples=[lambda x, y: y * x],
)
def _commutative_order(node: Node) -> Node | None:
    assert node.op is not None
    if "commutative" not in node.op.flags or len(node.args) != 2 or node.args[0].number <= node.args[1].number:
        return None
    return made_call(node.op, node.args[::-1], node.settings)


#: Every bit stays as it is.
EXACT: list[Rewrite] = [
    *_constants,
    *_transposes,
    *_other_transposes,
    *_reshapes,
    *_reshapes_by_other_names,
    *_broadcasts,
    *_broadcasts_go_outwards,
    *_conversions,
    *_copies,
    *_truth_of_a_truth_value,
    *_choices,
    *_negative_factor,
    *_power_zero,
    *_certain,
    *_whole_arrays,
    *_rules(),
]
#: More accurate than what they replace.
STABLE: list[Rewrite] = _logarithm_of_softmax
#: On by default.
SAFE: list[Rewrite] = EXACT + STABLE
#: Equal for real numbers, not for floating-point ones: each says what changes.
UNSAFE: list[Rewrite] = _unsafe_rules() + _constants_together + _times_zero
#: One order for the two arguments of a sum or product, so that x + y and y + x are one node.
COMMUTATIVE: list[Rewrite] = _commutative_order
