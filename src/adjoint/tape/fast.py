"""The fast path of an operation: a generated function, with no loop inside.

It does the same steps as `record`, written out, for an operation of up to three inputs and one result.
Tensors of one level, plain arrays and Python numbers take it; any other call takes `record`. The
text for ``x * y`` is about what one would write by hand: ``print(source_of(multiply))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from operator import add, mul, pow, sub, truediv
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.operators import OBJECTS
from adjoint.core.box import report_mix
from adjoint.core.codegen import defined
from adjoint.core.messages.warned import REFUSES, is_refused, refusing, warned
from adjoint.core.op import Op
from adjoint.core.registry import operation
from adjoint.core.rules.pullbacks import NotDifferentiable, Pullback, build, dtype_of, shape_of, where
from adjoint.core.types import Array, Value
from adjoint.tape.modes import NEVER, recording_floor
from adjoint.tape.node import TapeNode, as_array, next_order, pullback_for
from adjoint.tape.writes.foreign import private, protect

if TYPE_CHECKING:
    from adjoint.arrays.fast_path import FastPath

# An input is x, y or z; the data in it a, b or c; its node p, q or r.
_INPUTS, _DATA, _NODES = "xyz", "abc", "pqr"
_ARRAYS = frozenset((np.ndarray, np.float64, np.float32))
PLAIN = _ARRAYS | {float, int, bool}
_BY_SYMBOL = {"+": add, "-": sub, "*": mul, "/": truediv, "**": pow}
_REAL = frozenset((np.float64, float, int))


def eligible(op: Op) -> bool:
    """Whether `op` has a fast path."""
    return (
        isinstance(op, Op)
        and op.kind != "constant"
        and not (op.joint or op.multiple)
        and len(op.inputs) <= len(_INPUTS)
        and op.inputs[0][0] != "*"
        and "crosses" not in op.flags
    )


def source_of(op: Op, symbol: str | None = None, method: bool = False, slower: str = "") -> str:
    """The text of the fast path of `op`.

    `symbol` is its Python operator, if it has one; as a `method`, the first argument is known to be a tensor. Values
    for which `slower` is true, an expression, go to the slow path.
    """
    count = len(op.inputs)
    values = ", ".join(_DATA[:count])
    given = ", ".join((*_INPUTS[:count], *["settings"] * bool(op.settings)))
    slow = f"return otherwise({given})"
    body = [line for i in range(count) for line in _taken_apart(op, i, slow, method)]
    if not method and count > 1:
        body += ["if level is None:", f"    {slow}"]
    if slower:
        body += [f"if {slower}:", f"    {slow}"]
    forward = f"a {symbol} b" if symbol else f"forward({values}{', **settings' * bool(op.settings)})"
    computed = ["t = new(Tensor)", "t.level = level", "try:", f"    t.held = out = {forward}"]
    again = f"warned(error, {'operator' if symbol else 'forward'}, ({values},), {'settings' if op.settings else '{}'})"
    computed += ["except Exception as error:", "    if not is_refused(error):"]
    computed += [f"        report_mix(op.name, ({values},), error)", "        raise", f"    t.held = out = {again}"]
    if not _is_ufunc(op):
        computed += ["if type(out) not in arrays:", "    t.held = out = as_array(out)"]
    viewed = ["if out.base is not None or out is a:", "    return view(t, x, settings)"]
    viewed = viewed if count == 1 and not _is_ufunc(op) else []
    body += ["if level < (floor := recording_floor()):", "    if floor > NEVER:", f"        {slow}"]
    body += _indented([*computed, "t.node = None", *viewed, "return t"])
    body += computed
    for wanted in _choices(op):
        body += [
            f"{'elif' if len(wanted) < count else 'if'} {' and '.join(f'{_NODES[i]} is not None' for i in wanted)}:"
        ]
        body += _indented(_recorded(op, wanted, f"({values},)"))
    body += ["else:", "    t.node = None", *viewed, "return t"]
    return "\n".join([f"def fast({given}):", *_indented(body), ""])


def _taken_apart(op: Op, i: int, slow: str, method: bool) -> Iterator[str]:
    """Input number `i`: its data, its node, and its level, which must be that of the tensors before it."""
    x, a, p = _INPUTS[i], _DATA[i], _NODES[i]
    alone, known = len(op.inputs) == 1, method and i == 0
    if alone and not known:
        yield from (f"if not isinstance({x}, Tensor):", f"    {slow}")
    elif not known:
        yield f"if isinstance({x}, Tensor):"
    tensor = [f"level = {x}.level", f"{a} = {x}.held", f"{p} = {x}.node"]
    if i > 0 and method:
        tensor = [f"if level != {x}.level:", f"    {slow}", *tensor[1:]]
    elif i > 0:
        tensor = [f"if level is not None and level != {x}.level:", f"    {slow}", *tensor]
    if not _is_ufunc(op):  # its function is written for arrays, where a ufunc would hand boxes on
        tensor += [f"if type({a}) not in arrays:", f"    {slow}"]
    if alone or known:
        yield from tensor
        return
    unknown = f"type({a}) not in plain or type({a}) is ndarray and {a}.dtype is objects"
    constant = [f"{a} = {x}", f"{p} = None", f"if {unknown}:", f"    {slow}"]
    yield from (*_indented(tensor), "else:", *_indented(["level = None"] * (i == 0) + constant))


def _recorded(op: Op, wanted: tuple[int, ...], values: str) -> Iterator[str]:
    """The node of a call where the inputs numbered `wanted` are on the tape."""
    yield from ("node = t.node = TapeNode()", "node.order = next_order()")
    yield f"node.parents = ({''.join(f'{_NODES[i]}, ' for i in wanted)})"
    fits, chosen = _fits(op, wanted), f"pullback_for(op, {wanted}, {values}, out)"
    if op.kind == "elementwise":  # numbers of one kind, of shapes that differ: a bias, say
        chosen = f"broadcast[{wanted}] if {_fits(op, wanted, of_one_shape=False)} else {chosen}"
    constants = [i for i, name in enumerate(op.inputs) if i not in wanted and is_saved(op, name, wanted)]
    for i in constants:  # an array of the user's, which may be written
        yield f"given_{_DATA[i]} = {_DATA[i]}"
        yield f"if type({_DATA[i]}) is ndarray:"
        yield f"    {_DATA[i]} = private({_DATA[i]}, level)"
    if _is_ufunc(op) and not _refuses(op):
        yield from (f"if {fits}:", f"    node.pullback = pullback_{_marks(wanted)}")
        yield f"    node.saved = ({''.join(f'{_local(op, name)}, ' for name in build(op, wanted, False, False).names)})"
        yield from (
            "else:",
            f"    node.pullback = pullback = {chosen}",
            f"    node.saved = pullback.save({values}, out, settings)",
        )
    elif len(op.inputs) == 1 and not _refuses(op):
        yield from (f"if {fits}:", f"    node.pullback = fitting[{wanted}]", f"    node.saved = {_saved_of_one(op)}")
        yield from (
            "else:",
            f"    node.pullback = pullback = {chosen}",
            f"    node.saved = pullback.save({values}, out, settings)",
        )
    else:
        yield f"node.pullback = pullback = fitting[{wanted}] if {fits} else ({chosen})"
        yield f"node.saved = pullback.save({values}, out, settings)"
    for i in constants:
        yield f"if {_DATA[i]} is given_{_DATA[i]} and type({_DATA[i]}) is ndarray:"
        yield f"    protect(node, node.pullback.names.index({op.inputs[i]!r}), level)"


def _saved_of_one(op: Op) -> str:
    """The values that the pullback of `op`, which has one input, saves of a call whose cotangent fits."""
    places = [where(op, name).replace("args[0]", "a") for name in build(op, (0,), False, False).names]
    return f"({''.join(f'{place}, ' for place in places)})".replace("shape_of(a)", "a.shape")


def is_saved(op: Op, name: str, wanted: Sequence[int]) -> bool:
    """Whether the pullback of `op` for the inputs numbered `wanted` keeps the one called `name`."""
    return any(name in op.rules[k].names for k in wanted if op.rules)


def _fits(op: Op, wanted: tuple[int, ...], of_one_shape: bool = True) -> str:
    """The condition under which nothing is complex, and cotangents have their inputs' shapes and dtypes.

    `of_one_shape`: whether elementwise operations are to have the shapes.
    """
    first, *others = (_DATA[i] for i in wanted)
    terms = [f"((dtype := {first}.dtype) is float64 or dtype is float32)"]
    if len(wanted) < len(op.inputs) or not _keeps_floats(op.forward):
        others.append("out")
    for other in others:
        terms.append(f"dtype is {other}.dtype")
        if op.kind == "elementwise" and of_one_shape:
            terms.append(f"{first}.shape == {other}.shape")
    return " and ".join(terms)


def _keeps_floats(forward: Value) -> bool:
    """Whether inputs of one floating dtype and shape give a result of that dtype and shape."""
    return isinstance(forward, np.ufunc) and forward.signature is None and f"{'f' * forward.nin}->f" in forward.types


def _choices(op: Op) -> list[tuple[int, ...]]:
    """Which inputs may be on the tape, those with the most first."""
    numbers = range(len(op.inputs))
    return [wanted for count in reversed(numbers) for wanted in combinations(numbers, count + 1)]


def _refuses(op: Op) -> bool:
    return not op.rules or any(isinstance(rule.function, NotDifferentiable) for rule in op.rules)


def _marks(wanted: tuple[int, ...]) -> str:
    return "".join(_INPUTS[i] for i in wanted)


def _is_ufunc(op: Op) -> bool:
    return isinstance(op.forward, np.ufunc)


def _local(op: Op, name: str) -> str:
    """The variable that holds what a rule names."""
    return _DATA[op.inputs.index(name)] if name in op.inputs else "out"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _RealPullbacks(dict[tuple[int, ...], Pullback]):
    """The pullbacks of `op`, nothing complex, by the numbers of the inputs on the tape; made when needed.

    `fitted`: whether cotangents are to be brought to their inputs' shapes.
    """

    def __init__(self, op: Op, fitted: bool) -> None:
        self.op, self.fitted = op, fitted

    def __missing__(self, wanted: tuple[int, ...]) -> Pullback:
        pullback = self[wanted] = build(self.op, wanted, self.fitted, False)
        return pullback


def fast_path(
    op: Op,
    tensor: type,
    otherwise: FastPath,
    view: FastPath,
    symbol: str | None = None,
    method: bool = False,
    plain: frozenset[type] = PLAIN,
    slower: str = "",
) -> FastPath:
    """Compile the fast path of `op` for the class `tensor`.

    `otherwise` takes every other call, and `view(t, x, settings)` a result that shows some other memory. Constants are
    of the types `plain`. `slower`: see `source_of`.
    """
    scope: dict[str, Value] = {
        "Tensor": tensor,
        "TapeNode": TapeNode,
        "new": object.__new__,
        "op": op,
        "settings": op.settings,
        "forward": refusing(op.forward),
        "operator": _BY_SYMBOL.get(symbol or ""),
        "fitting": _RealPullbacks(op, fitted=False),
        "broadcast": _RealPullbacks(op, fitted=True),
        "pullback_for": pullback_for,
        "otherwise": otherwise,
        "view": view,
        "private": private,
        "protect": protect,
        "report_mix": report_mix,
        "is_refused": is_refused,
        "warned": warned,
        "__warningregistry__": REFUSES,
        "recording_floor": recording_floor.raw,
        "NEVER": NEVER,
        "next_order": next_order,
        "plain": plain,
        "real": _REAL,
        "arrays": _ARRAYS,
        "as_array": as_array,
        "shape_of": shape_of,
        "dtype_of": dtype_of,
        "ndarray": np.ndarray,
        "objects": OBJECTS,
        "float64": np.dtype("float64"),
        "float32": np.dtype("float32"),
        "__name__": __name__,
    }
    if _is_ufunc(op) and not _refuses(op):
        scope |= {f"pullback_{_marks(wanted)}": build(op, wanted, False, False) for wanted in _choices(op)}
    fast: FastPath = defined(source_of(op, symbol, method, slower), f"fast path of {op.name}", scope, "fast")
    fast.__name__ = fast.__qualname__ = op.name
    return fast


#: The operators that have a fast path, by the middle of their method's name.
OPERATORS = {
    "add": ("add", "+"),
    "sub": ("subtract", "-"),
    "mul": ("multiply", "*"),
    "truediv": ("divide", "/"),
    "pow": ("power", "**"),
    "matmul": ("matmul", None),
}


def install(tensor: type, path_of: Callable[[Op], FastPath]) -> None:
    """Give the class `tensor` its arithmetic. Each operator writes its fast path when it is first used.

    `path_of` gives the fast path of an operation as a function.
    """
    for name, (op, symbol) in OPERATORS.items():
        for method in (f"__{name}__", f"__r{name}__"):
            setattr(tensor, method, _first_use(tensor, method, op, symbol, path_of))


def _first_use(
    tensor: type, method: str, name: str, symbol: str | None, path_of: Callable[[Op], FastPath]
) -> Callable[[Value, Value], Value]:
    """An operator that stands aside for its fast path."""
    slow = getattr(tensor, method)

    def first(self: Array, other: Array) -> Value:
        op: Value = operation(name)
        if method.startswith("__r"):
            fast = path_of(op)

            def reflected(self: Array, other: Array) -> Array:
                return fast(other, self) if isinstance(other, float | int | np.ndarray) else slow(self, other)

            setattr(tensor, method, reflected)
        else:
            setattr(tensor, method, fast_path(op, tensor, slow, _no_view, symbol, method=True))
        return getattr(self, method)(other)

    return first


def number_path(op: Op, number: type, slow: FastPath, symbol: str | None, slower: str, method: bool = True) -> FastPath:
    """The fast path of an operator between Python's numbers, in boxes of the class `number` and as they are."""
    return fast_path(op, number, slow, _no_view, symbol, method, frozenset((float, int)), slower)


def _no_view(*_: object) -> object:
    """No operator of two inputs gives a view."""
    raise NotImplementedError
