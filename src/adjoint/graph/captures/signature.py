"""What a captured program takes and gives: trees, whose leaves are its inputs and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

import numpy as np

from adjoint.arrays.promotion import is_python
from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, LeavesGraphError, NotSupportedError
from adjoint.core.objects.trees import flatten, paths
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.captures.record import RECORD
from adjoint.graph.node import Node, NumberName, constant, placeholder
from adjoint.graph.symbol import Symbol, symbol_of
from adjoint.tape.node import Leaf, leaf
from adjoint.tape.tensor import Tensor, wrap


def symbol_of_input(value: Array, node: Node) -> Symbol:
    """The symbol of an input of the program that is recorded."""
    if (record := RECORD.get()) is not None:
        record.values[node] = value
    return symbol_of(value, node)


class CaptureArguments:
    """The arguments of a capture, with symbols for those that may have any value of their shape and dtype.

    In a program that is all in `double` precision, Python's numbers may go on as NumPy's, which raise no errors.

    Attributes:
        names: of the leaves.
        boxed: the leaves, symbols among them.
        inputs: their nodes.
        tensors: identities of the tensors among the leaves.
    """

    def __init__(self, f: Value, examples: tuple[Value, ...], named: dict[str, Value], double: bool = False) -> None:
        self.names = leaf_names(f, examples, named)
        leaves, self._rebuild = flatten((examples, named))
        self._slots: list[Value] = []
        self.boxed: list[Value] = []
        for x, name in zip(leaves, self.names, strict=True):
            if _varies(x):
                data = x.held if isinstance(x, Tensor) else x
                node = placeholder(name, np.shape(data), dtype_of(data), number=type(data) in (float, complex))
                self._slots.append(node)
                value = np.asarray(data)[()] if double and is_python(data) else data
                self.boxed.append(_like(x, symbol_of(value, node)))
            else:
                self._slots.append(x)
                self.boxed.append(Drawing(x) if isinstance(x, np.random.Generator) else x)
        self.tensors = {id(x) for x in leaves if isinstance(x, Tensor)}
        self.inputs = [slot for slot in self._slots if isinstance(slot, Node)]

    def arguments(self, stand_in: Callable[[Value], Value] = lambda x: x) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The arguments put together again, in new containers, with the stand-in of each leaf."""
        args, kwargs = self._rebuild([stand_in(x) for x in self.boxed])
        return args, kwargs

    def takes(self, *args: object, **kwargs: object) -> list[Value]:
        """One value an input, from a call's arguments."""
        leaves, again = flatten((args, kwargs))
        if again.__self__ != self._rebuild.__self__:  # type: ignore[attr-defined]  # both are methods of optree's
            raise ArgumentError(
                f"the graph was captured for arguments with other leaves: {', '.join(self.names) or 'none'}; "
                f"got {', '.join(leaf_names(None, args, kwargs)) or 'none'}"
            )
        values = []
        for x, slot, name in zip(leaves, self._slots, self.names, strict=True):
            if isinstance(slot, Node):
                values.append(_like_captured(x, slot, name))
            elif type(x) is not type(slot) or x != slot:
                raise ArgumentError(
                    f"{name} was {slot!r} when the graph was captured, and is part of the program; got {x!r}. Capture "
                    f"the function once more"
                )
        return values


def _varies(x: object) -> bool:
    """Whether a leaf of the arguments stands for any value of its shape and dtype."""
    data = x.held if isinstance(x, Tensor) else x
    if isinstance(data, Box):
        if isinstance(raw(data), Symbol):
            raise NotSupportedError(
                "capture inside a function that is being captured: call that function itself, which becomes part of "
                "the same graph; or capture it before, and call its graph"
            )
        raise NotSupportedError(
            f"capture takes arrays, numbers and tensors as examples; got a {type(data).__name__} of a transform. "
            f"Capture the function before, and call its graph, which takes arrays of every kind"
        )
    return isinstance(x, np.ndarray | np.generic | Tensor) or type(x) in (float, complex)


def is_changed(tensor: Tensor) -> bool:
    """Whether a leaf has got data of another kind since it was made: its gradient is of the kind that it had."""
    made = tensor.node
    return isinstance(made, Leaf) and (made.shape, made.dtype) != (tensor.shape, tensor.dtype)


def _like(x: Array, symbol: Symbol) -> Array:
    """`symbol` as an argument like `x`: as a tensor, if that is one. Those of transforms are theirs to make."""
    if not isinstance(x, Tensor) or x.level > 0:
        return symbol
    if is_changed(x):
        raise NotSupportedError(
            f"an argument of capture is a leaf that has got data of another kind since it was made, {x.shape} of "
            f"{x.dtype}: make a new one, ad.tensor(x.data, requires_grad=True)"
        )
    return wrap(symbol, None if x.node is None else leaf(x.shape, x.dtype), x.level)


def leaf_names(f: Value, examples: tuple[object, ...], named: dict[str, object]) -> list[str]:
    """A name for each leaf of the arguments: its parameter's, and the way to it."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for i, example in enumerate(examples):
        own = i < len(parameters) and parameters[i].kind not in (inspect.Parameter.VAR_POSITIONAL,)
        name = parameters[i].name if own else f"x{i}"
        names += [name + path for path in paths(example)] if flatten(example)[0] else []
    for name in sorted(named):
        names += [name + path for path in paths(named[name])] if flatten(named[name])[0] else []
    return names


def results(value: object) -> tuple[list[Node], Callable[[Sequence[Value]], Value]]:
    """The nodes of a function's value, and what makes such a value of their results.

    Raises:
        ArgumentError: if something in it is no array.
    """
    leaves, rebuild = flatten(value)
    forms = [_form(x) for x in leaves]

    def gives(results: Sequence[Array]) -> Value:
        return rebuild([x if isinstance(x, Box) else _FORMS[form](x) for x, form in zip(results, forms, strict=True)])

    return [node_of(x) for x in leaves], gives


def _form(x: Value) -> str:
    """The kind of a result: a tensor, a number, an array without axes, or another array."""
    if isinstance(x, Tensor):
        return "number" if x.is_python else "tensor"
    value = x.value if isinstance(x, Symbol) else x
    return "" if np.ndim(value) else "array" if isinstance(value, np.ndarray) else "number"


_FORMS: dict[str, Callable[[Value], Value]] = {
    "": lambda x: x,
    "tensor": lambda x: wrap(x, None, 0),
    "number": lambda x: x[()] if isinstance(x, np.ndarray) else x,
    "array": np.asarray,
}


def node_of(x: object) -> Node:
    """The node of a result; a constant, if it does not depend on anything."""
    if isinstance(x, Tensor):
        x = x.held
    if isinstance(x, Symbol):
        return x.node
    if isinstance(x, Box):
        raise LeavesGraphError(f"the captured function returned a {type(x).__name__} of a transform that is over")
    if not isinstance(x, np.ndarray | np.generic | float | int | complex):
        raise ArgumentError(f"the captured function must return arrays or trees of arrays; it returned "
                            f"{type(x).__name__}")  # fmt: skip
    return constant(x)


def _like_captured(x: Array, node: Node, name: str) -> Array:
    """`x` as the graph takes it: a tensor that needs no gradient as its values, a number as that of its kind."""
    if isinstance(x, Tensor) and x.node is None and x.level == 0:
        x = x.held
    if isinstance(x, Box):
        return x
    kind = type(x)
    if isinstance(node.value, NumberName):
        if node.dtype.kind == "f" and kind is not float and isinstance(x, int | np.integer | np.floating):
            x = float(x)
        elif node.dtype.kind == "c" and kind is not complex and isinstance(x, int | float | np.number):
            x = complex(x)
    elif kind is int or kind is float or kind is complex:
        x = np.asarray(x)[()]
    if dtype_of(x) != node.dtype:
        raise ArgumentError(
            f"{name} was captured with dtype {node.dtype}; got {dtype_of(x)}. Convert it, "
            f"{name}.astype({str(node.dtype)!r}), or capture the function once more for this dtype"
        )
    return x
