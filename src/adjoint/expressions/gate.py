"""An expression as one operation on tensors and all other arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import ArgumentError
from adjoint.core.op import NO_SETTINGS, Op, Rule
from adjoint.core.types import Array, Function, Value

if TYPE_CHECKING:
    from adjoint.expressions.expr import Expr


def gate(e: Expr) -> Function:
    """A function of one array a variable of `e`; see `Expr.to_tensor_function`."""
    names, ops = e.variables, [_op(part) for part in e.outputs]

    def function(*arrays: Array, **named: object) -> Value:
        if len(arrays) > len(names) or named.keys() != set(names[len(arrays) :]):
            got = ", ".join((*("…" for _ in arrays), *(f"{name}=…" for name in named)))
            raise ArgumentError(f"this function takes ({', '.join(names)}); got ({got})")
        given = [*arrays, *(named[name] for name in names[len(arrays) :])]
        results = [apply(op, given, NO_SETTINGS) for op in ops]
        return results[0] if len(results) == 1 else tuple(results)

    function.__name__, function.__doc__ = "expression", str(e)
    return function


def _op(e: Expr) -> Op:
    value, slopes = e.plan("value"), e.plan("gradient")
    inputs = tuple(f"x{i}" for i in range(len(e.variables))) or ("*none",)

    def forward(*xs: Value) -> Value:
        (result,) = value(xs)
        return np.asarray(result)[()]

    def cotangents(g: Array, needs: Value, *xs: Array) -> list[Array]:
        found = slopes(xs)
        return [g * found[i] if i in needs else None for i in range(len(xs))]

    def tangent(ts: Value, *xs: Array) -> Array:
        terms = [t * slope for t, slope in zip(ts, slopes(xs), strict=True) if t is not None]
        return sum(terms[1:], start=terms[0])

    return Op(
        name="expression",
        forward=forward,
        inputs=inputs,
        rules=(Rule(cotangents, ("g", "needs", *inputs)),) if e.variables else (),
        jvps=(Rule(tangent, ("t", *inputs)),) if e.variables else (),
        kind="elementwise",
        joint=True,
        doc=str(e),
    )
