"""Functions without a derivative: their results are constants, or tensors in a graph are refused."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import unwrap

import numpy as np

from adjoint.core.backend import alone
from adjoint.core.constructors import registered
from adjoint.core.errors import NotSupportedError
from adjoint.core.memory import NEW, NEW_K
from adjoint.core.objects.trees import flatten, map_tree
from adjoint.core.op import Op, Rule
from adjoint.core.protocol import in_graph
from adjoint.core.registry import Composite, register
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Function, Value


def constant(
    *functions: Function, flags: Sequence[str] = (), batch: Function | str | None = None, like: Function | None = None
) -> list[Op]:
    """Functions whose result does not vary with small changes of its input; they give plain arrays.

    With the flag ``creates`` the result is an array of the same kind as the argument, to be written into; with
    ``once`` it is the same for all samples of a batch. `batch` is as for `general`, or ``"elementwise"``. `like`
    has the parameters of functions that are written in C, of which Python cannot tell them.
    """
    made = []
    for function in functions:
        names = ("x", "y")[: function.nin] if isinstance(function, np.ufunc) else ("*xs",)
        name = f"{function.__name__}_of" if function in (np.ndim, np.shape, np.size) else function.__name__
        forward = function if isinstance(function, np.ufunc) else _on_values(function)
        made.append(
            registered(
                Op(
                    *(name, forward, names),
                    order=_order(like or unwrap(function)) if names[0] == "*xs" else (),
                    kind="constant",
                    flags=frozenset(flags),
                    memory=NEW_K if isinstance(function, np.ufunc) or "creates" in flags else NEW,
                    answers=(function,),
                    batch=batch,
                )
            )
        )
    return made


_COMPUTED_WITH = {"rtol", "atol"}  # though they have defaults


def _order(function: Function) -> tuple[str, ...]:
    """The names of a function's settings, each at its place; "" at those of arrays. None, if it takes any number."""
    code, defaults = getattr(function, "__code__", None), getattr(function, "__defaults__", None) or ()
    names = code.co_varnames[: code.co_argcount] if code else ()
    required = len(names) - len(defaults)
    return tuple(name if k >= required and name not in _COMPUTED_WITH else "" for k, name in enumerate(names))


def _on_values(function: Function) -> Function:
    """`function` of values alone: boxes in lists, and those that were given by name, are made plain."""

    def forward(*args: Value, **kwargs: Value) -> Value:
        if kwargs or any(isinstance(x, list | tuple) for x in args):
            args, kwargs = map_tree(_values, (args, kwargs))
        return function(*args, **kwargs)

    return forward


def _values(x: Array) -> Value:
    return alone(x)


def not_differentiable(function: Function, why: str) -> Op:
    """A function that works on constants, and refuses tensors in a graph with the reason."""
    names = ("x", "y", "z", "w", "v", "u")[: getattr(function, "nin", 1)]
    rules = tuple(Rule(NotDifferentiable(why)) for _ in names)
    outputs = getattr(function, "nout", 1)
    return registered(
        Op(function.__name__, function, names, rules, kind="elementwise", multiple=outputs > 1, answers=(function,))
    )


def not_supported(*functions: Function, use: str) -> None:
    """Functions that work on constants, and answer a tensor in a graph with the call to `use` instead."""
    for function in functions:
        _refuse(function, use)


def _refuse(function: Function, use: str) -> None:
    def refuse(*args: Array, **kwargs: object) -> object:
        leaves, rebuild = flatten((args, kwargs))
        if any(map(in_graph, leaves)):
            raise NotSupportedError(
                f"{function.__name__} of a tensor in a graph is not supported; use {use}, or take it out of the graph: "
                f"t.detach()"
            )
        args, kwargs = rebuild([_values(x) for x in leaves])
        return function(*args, **kwargs)

    register(Composite(function.__name__, refuse, (function,), flags=frozenset({"not_supported"}), note=use))
