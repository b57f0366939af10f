"""`capture`: run a Python function once on symbols, and keep what it did as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, LeavesGraphError, NotSupportedError
from adjoint.core.trees import flatten, paths
from adjoint.core.turns import alone
from adjoint.graph.graph import Graph, needed
from adjoint.graph.node import Node, NumberName, constant, in_order, placeholder
from adjoint.graph.state import State
from adjoint.graph.symbol import Symbol, recording, symbol_of
from adjoint.tape.node import leaf
from adjoint.tape.tensor import Tensor, wrap


@alone()
def capture(f: Callable[..., Any], *examples: Any, **named: Any) -> Graph:
    """Run `f` once and keep what it did: a graph of unique nodes, which gives the same for other values.

    Through `grad`, `jvp`, `vmap`, `backward()` and an optimiser's step: what is kept is the whole program, derivatives
    included. Tensors and modules that `f` uses without being given them (parameters, an optimiser's state) are read
    afresh at each call of the graph and written back, as `f` would do; the capture itself leaves them as they are.

    Args:
        f: takes arrays, numbers, tensors or trees of these. It runs once: what it prints or counts besides is done
            then, and plain arrays that it closes over are constants.
        examples, named: arguments. Arrays and Python floats stand for any of their shape and dtype; whole numbers,
            truth values, strings and None stay what they are.

    Returns:
        A `Graph`, to be called with arguments like the examples.

    Raises:
        LeavesGraphError: if `f` takes values out of the graph, as np.asarray(t) does.
        NotSupportedError: if `f` draws random numbers from a generator of NumPy's (layers such as `adjoint.nn.Dropout`
            may: they draw anew at each call of the graph), or if this is inside another capture.

    What `f` writes into its arguments is part of the program, but not written into the arguments of a call.

    Where `f` asks for a value (``if t > 0``, ``float(t)``), the graph holds for values that give the same answer;
    called with others it raises `GraphError`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> graph = ad.capture(lambda x, y: (x + y) + x * (x + y), 1.0, 2.0)
        >>> len(graph), graph(3.0, 4.0)
        (5, np.float64(28.0))
    """
    signature = leaf_names(f, examples, named)
    leaves, rebuild = flatten((examples, named))
    slots: list[Any] = []
    symbols = []
    for x, name in zip(leaves, signature, strict=True):
        if _varies(x):
            data = x.data if isinstance(x, Tensor) else x
            slots.append(placeholder(name, np.shape(data), _dtype(data), number=type(data) in (float, complex)))
            symbols.append(_like(x, symbol_of(data, slots[-1])))
        else:
            slots.append(x)
            symbols.append(x)
    state = State(f, (examples, named), gradients=True)
    with recording() as record, state.symbolic(record) as cells:
        args, kwargs = rebuild(symbols)
        value = f(*args, **kwargs)
        found, gives = _value(value)
        outputs = [_node_of(x) for x in found]
        written = state.written(cells, _node_of)
    outputs += written.values()
    guards = needed(record.guards, outputs)
    reached = in_order([*outputs, *(guard.node for guard in guards)])
    state.prune(set(reached))
    inputs = [*(slot for slot in slots if isinstance(slot, Node)), *state.inputs]
    _check_inputs(inputs, reached)
    return Graph(
        inputs,
        outputs,
        takes=_taker(slots, rebuild, signature),
        gives=gives,
        guards=guards,
        state=state if state.inputs or written or state.cleared else None,
        written=list(written),
        name=getattr(f, "__name__", "f"),
    )


def _varies(x: Any) -> bool:
    """Whether a leaf of the arguments stands for any value of its shape and dtype."""
    data = x.data if isinstance(x, Tensor) else x
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


def _check_inputs(inputs: list[Node], nodes: list[Node]) -> None:
    """Refuse what was kept from another capture."""
    known = set(inputs)
    for node in nodes:
        if node.kind == "input" and node not in known:
            raise LeavesGraphError(
                f"the function uses a symbol of another capture, which stands for {node.value} there: it was kept in a "
                f"global or an attribute. Return it from that function, and pass it as an argument"
            )


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _like(x: Any, symbol: Symbol) -> Any:
    """`symbol` as an argument like `x`: as a tensor, if that is one. Those of transforms are theirs to make."""
    if not isinstance(x, Tensor) or x.level > 0:
        return symbol
    return wrap(symbol, None if x.node is None else leaf(x.shape, x.dtype), x.level)


def leaf_names(f: Any, examples: tuple[Any, ...], named: dict[str, Any]) -> list[str]:
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


def _value(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    leaves, rebuild = flatten(value)
    tensors = [isinstance(x, Tensor) for x in leaves]

    def gives(results: list[Any]) -> Any:
        return rebuild(
            [wrap(x, None, 0) if t and not isinstance(x, Box) else x for x, t in zip(results, tensors, strict=True)]
        )

    return leaves, gives


def _node_of(x: Any) -> Node:
    """The node of a result; a constant, if it does not depend on anything."""
    if isinstance(x, Tensor):
        x = x.data
    if isinstance(x, Symbol):
        return x.node
    if isinstance(x, Box):
        raise LeavesGraphError(f"the captured function returned a {type(x).__name__} of a transform that is over")
    if not isinstance(x, np.ndarray | np.generic | float | int | complex):
        raise ArgumentError(f"the captured function must return arrays or trees of arrays; it returned "
                            f"{type(x).__name__}")  # fmt: skip
    return constant(x)


def _taker(slots: list[Any], rebuild: Any, names: list[str]) -> Callable[..., list[Any]]:
    """The function that makes of a call's arguments one value an input.

    Args:
        slots: for each leaf of the arguments its node, or its value if that is part of the program.
        rebuild: what `flatten` gave beside the leaves, for the examples.
        names: of the leaves.
    """

    def takes(*args: Any, **kwargs: Any) -> list[Any]:
        leaves, again = flatten((args, kwargs))
        if again.__self__ != rebuild.__self__:  # type: ignore[attr-defined]  # both are methods of optree's
            raise ArgumentError(
                f"the graph was captured for arguments with other leaves: {', '.join(names) or 'none'}; "
                f"got {', '.join(leaf_names(None, args, kwargs)) or 'none'}"
            )
        values = []
        for x, slot, name in zip(leaves, slots, names, strict=True):
            if isinstance(slot, Node):
                values.append(_like_captured(x, slot, name))
            elif type(x) is not type(slot) or x != slot:
                raise ArgumentError(
                    f"{name} was {slot!r} when the graph was captured, and is part of the program; got {x!r}. Capture "
                    f"the function once more"
                )
        return values

    return takes


def _like_captured(x: Any, node: Node, name: str) -> Any:
    """`x` as the graph takes it: a tensor that needs no gradient as its values, a number as that of its kind."""
    if isinstance(x, Tensor) and x.node is None and x.level == 0:
        x = x.data
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
    if _dtype(x) != node.dtype:
        raise ArgumentError(
            f"{name} was captured with dtype {node.dtype}; got {_dtype(x)}. Convert it, "
            f"{name}.astype({str(node.dtype)!r}), or capture the function once more for this dtype"
        )
    return x
