"""`capture`: run a Python function once on symbols, and keep what it did as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, LeavesGraphError
from adjoint.core.trees import flatten, paths
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, constant, placeholder
from adjoint.graph.state import State
from adjoint.graph.symbol import Symbol, recording, symbol_of
from adjoint.tape.node import leaf
from adjoint.tape.tensor import Tensor, wrap


def capture(f: Callable[..., Any], *examples: Any, **named: Any) -> Graph:
    """Run `f` once and keep what it did: a graph of unique nodes, which gives the same for other values.

    Through `grad`, `jvp`, `vmap`, `backward()` and an optimiser's step: what is kept is the whole program, derivatives
    included. Tensors and modules that `f` uses without being given them (parameters, an optimiser's state) are read
    afresh at each call of the graph and written back, as `f` would do; the capture itself leaves them as they are.

    Args:
        f: takes arrays, numbers, tensors or trees of these.
        examples, named: arguments. Arrays and Python floats stand for any of their shape and dtype; whole numbers,
            truth values, strings and None stay what they are.

    Returns:
        A `Graph`, to be called with arguments like the examples.

    Raises:
        LeavesGraphError: if `f` takes values out of the graph, as np.asarray(t) does.
        NotSupportedError: if `f` draws random numbers from a generator of NumPy's; pass them as an argument.

    Where `f` asks for a value (``if t > 0``, ``float(t)``), the graph holds for values that give the same answer;
    called with others it raises `GraphError`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> graph = ad.capture(lambda x, y: (x + y) + x * (x + y), 1.0, 2.0)
        >>> len(graph), graph(3.0, 4.0)
        (5, np.float64(28.0))
    """
    signature = _names(f, examples, named)
    leaves, rebuild = flatten((examples, named))
    inputs, symbols, fixed = [], [], {}
    for k, (x, name) in enumerate(zip(leaves, signature, strict=True)):
        if _varies(x):
            data = x.data if isinstance(x, Tensor) else x
            node = placeholder(name, np.shape(data), _dtype(data), number=type(data) in (float, complex))
            inputs.append(node)
            symbols.append(_like(x, symbol_of(data, node)))
        else:
            fixed[k] = x
            symbols.append(x)
    state = State(f, (examples, named))
    with recording() as record, state.symbolic(record) as cells:
        args, kwargs = rebuild(symbols)
        value = f(*args, **kwargs)
        found, gives = _value(value)
        outputs = [_node_of(x) for x in found]
        written = state.written(cells, _node_of)
    return Graph(
        [*inputs, *state.inputs],
        [*outputs, *written.values()],
        takes=_taker(f, len(leaves), fixed, signature),
        gives=gives,
        guards=record.guards,
        state=state if state.inputs else None,
        written=list(written),
        name=getattr(f, "__name__", "f"),
    )


def _varies(x: Any) -> bool:
    """Whether a leaf of the arguments stands for any value of its shape and dtype."""
    return isinstance(x, np.ndarray | np.generic | Tensor) or type(x) in (float, complex)


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _like(x: Any, symbol: Symbol) -> Any:
    """`symbol` as an argument like `x`: as a tensor, if that is one."""
    if not isinstance(x, Tensor):
        return symbol
    return wrap(symbol, None if x.node is None else leaf(x.shape, x.dtype), x.level)


def _names(f: Any, examples: tuple[Any, ...], named: dict[str, Any]) -> list[str]:
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
        return rebuild([wrap(x, None, 0) if t else x for x, t in zip(results, tensors, strict=True)])

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


def _taker(f: Any, count: int, fixed: dict[int, Any], names: list[str]) -> Callable[..., list[Any]]:
    def takes(*args: Any, **kwargs: Any) -> list[Any]:
        leaves, _ = flatten((args, kwargs))
        if len(leaves) != count:
            raise ArgumentError(f"the graph was captured for {count} arrays ({', '.join(names)}); got {len(leaves)}")
        for k, value in fixed.items():
            if leaves[k] != value:
                raise ArgumentError(
                    f"{names[k]} was {value!r} when the graph was captured, and is part of the program; got "
                    f"{leaves[k]!r}. Capture the function once more"
                )
        return [x.data if isinstance(x, Tensor) else x for k, x in enumerate(leaves) if k not in fixed]

    return takes
