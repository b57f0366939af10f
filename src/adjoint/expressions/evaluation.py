"""Evaluating expressions: the forms that states come in, and the forms that results take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Self, cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ExprError, ShapeError
from adjoint.core.op import Op
from adjoint.core.types import Array, Function, Value
from adjoint.expressions import scalars, sweep
from adjoint.expressions.functions import VALUES, near
from adjoint.expressions.nodes import made, ordered
from adjoint.expressions.plan import Evaluator
from adjoint.expressions.postfix import Item
from adjoint.expressions.quantity import LEVEL
from adjoint.graph.node import Node, constant, variable


class Evaluated(Box):
    """What `Expr` is to a caller: values and derivatives at states. `Expr` says which forms states have."""

    roots: tuple[Node, ...]
    variables: tuple[str, ...]
    single: bool

    def __init__(
        self,
        roots: Sequence[Node],
        variables: Sequence[str],
        *,
        single: bool | None = None,
        items: list[Item] | None = None,
    ) -> None:
        self.roots, self.variables, self.level = tuple(roots), tuple(variables), LEVEL
        self.single = len(self.roots) == 1 if single is None else single
        self._items = items

    @cached_property
    def nodes(self) -> list[Node]:
        """The unique nodes, each after what it uses."""
        return ordered(self.roots)

    def __call__(self, /, *states: Array, **values: Array) -> Array:
        """The value; a tuple, where there are several results. See the class for the forms of states.

        Division by zero and the like give what NumPy gives, with its warnings.

        Raises:
            ExprError: if a variable has no value, or a value no variable.
        """
        return self._value(*states, **values)

    def gradient(self, /, *states: object, **values: object) -> Array:
        """The derivative by each variable, from one sweep: a dictionary, or an array of the states' shape.

        Example:
            >>> import adjoint as ad
            >>> ad.expr("(x+y) + x*(x+y)").gradient(x=2.0, y=1.0)
            {'x': 6.0, 'y': 3.0}
        """
        return self._ready("gradient")(*states, **values)

    def value_and_gradient(self, /, *states: object, **values: object) -> Value:
        """The value and the gradient, which share what they have in common."""
        return self._ready("value_and_gradient")(*states, **values)

    def hessian(self, /, *states: Array, **values: object) -> Array:
        """The second derivatives: an array (k, k), or (…, k, k) for many states, in the order of `variables`."""
        return self._general("hessian", states, values, {})

    def jacobian(self, /, *states: Array, **values: object) -> Array:
        """The derivative of each of m results by each of k variables: an array (m, k), or (…, m, k).

        Example:
            >>> import adjoint as ad
            >>> ad.expr("x*y; x + y").jacobian(x=2, y=3)
            array([[3., 2.],
                   [1., 1.]])
        """
        return self._general("jacobian", states, values, {})

    @cached_property
    def _value(self) -> Function:
        return self._compiled("value")

    def _ready(self, kind: str) -> Function:
        """The function for `kind`, which from now on stands in place of the method: nothing is called in between."""
        if kind not in self.__dict__:  # it is there if somebody has kept the method
            self.only_result(kind)
            self.__dict__[kind] = self._compiled(kind)
        function: Function = self.__dict__[kind]
        return function

    def _compiled(self, kind: str) -> Function:
        """For one state of floats, compiled; for anything else `_general`, to which that one turns."""

        def otherwise(states: tuple[object, ...], values: dict[str, Value], more: dict[str, Value]) -> Value:
            return self._general(kind, states, {n: x for n, x in values.items() if x is not None}, more)

        plan = self.plan(kind)
        if len(plan.nodes) > scalars.MAX_NODES or len(self.variables) > 250:
            return lambda *states, **values: self._general(kind, states, values, {})
        keys = None if kind == "value" else self.variables
        return cast(
            Callable[..., Value],
            scalars.function(plan.outputs, plan.variables, keys=keys, single=self.single, otherwise=otherwise),
        )

    def _general(
        self, kind: str, states: tuple[object, ...], values: dict[str, Value], more: dict[str, Value]
    ) -> object:
        values = {**values, **more}
        if "e" in values and self.has_euler:
            return self.with_e()._general(kind, states, values, {})
        self.known(values)
        given, rows = self._states(states, values)
        results = self.plan(kind)(given)
        count = len(self.variables)
        if kind == "value":
            if rows and not self.single:
                return np.stack(results, axis=-1)
            return results[0] if self.single else tuple(results)
        if kind in ("hessian", "jacobian"):
            height = count if kind == "hessian" else len(self.roots)
            if not results:
                return np.zeros((height, count))
            if all(type(x) is float for x in results):
                return np.array(results).reshape(height, count)
            table = np.stack([np.asarray(x) if isinstance(x, float) else x for x in results], axis=-1)
            return np.reshape(table, (*np.shape(table)[:-1], height, count))
        last = results[len(results) - count :]
        slopes: Value = np.stack(last, axis=-1) if rows else dict(zip(self.variables, last, strict=True))
        return slopes if kind == "gradient" else (results[0], slopes)

    def plan(self, kind: str) -> Evaluator:
        """The program for ``"value"``, ``"gradient"``, ``"value_and_gradient"``, ``"hessian"`` or ``"jacobian"``."""
        plans: dict[str, Evaluator] = self.__dict__.setdefault("_plans", {})
        if kind not in plans:
            plans[kind] = Evaluator(self._nodes_of(kind), [variable(name) for name in self.variables])
        return plans[kind]

    def _nodes_of(self, kind: str) -> Sequence[Node]:
        wanted = [variable(name) for name in self.variables]
        if kind == "value":
            return self.roots
        if kind == "jacobian":
            return [node for root in self.roots for node in sweep.gradient(root, wanted)]
        root = self.only_result(kind)
        if kind == "hessian":
            return sweep.hessian(root, wanted)
        return [*([root] if kind == "value_and_gradient" else ()), *sweep.gradient(root, wanted)]

    def only_result(self, what: str) -> Node:
        if len(self.roots) != 1:
            raise ExprError(f"{what} is that of one result; this expression has {len(self.roots)}: take f.jacobian(…), "
                            f"or one of f.outputs")  # fmt: skip
        return self.roots[0]

    def known(self, names: Iterable[str]) -> None:
        """Complain about the first of `names` that is no variable, with the nearest that are."""
        for name in names:
            if name not in self.variables:
                hint = near(name, lambda: self.variables)
                raise ExprError(f"{name!r} is no variable of this expression, which has {self.named()}"
                                f"{'; ' + hint if hint else ''}")  # fmt: skip

    @property
    def has_euler(self) -> bool:
        """Whether `e` is Euler's number here, so that it becomes a variable where another value is given for it."""
        return "e" not in self.variables and constant(VALUES["e"]) in self.nodes

    def named(self) -> str:
        return ", ".join(self.variables) if self.variables else "none"

    @cached_property
    def used(self) -> frozenset[str]:
        return frozenset(str(node.value) for node in self.nodes if node.kind == "input")

    def _states(self, states: tuple[Value, ...], values: dict[str, Value]) -> tuple[list[object], bool]:
        """One value a variable; and whether they came as the rows of one array."""
        count = len(self.variables)
        if len(states) == 1 and isinstance(states[0], Mapping):
            values = {**states[0], **values}
            states = ()
            self.known(values)
        if states:
            if values:
                raise ExprError("states come either in order or by name, not both: f(x=2, y=3), f(2, 3) or f(array)")
            if len(states) == 1 and np.ndim(states[0]) > (count == 1):
                return self._columns(states[0]), True
            if len(states) != count:
                raise ExprError(f"this expression has {count} variables ({self.named()}); got {len(states)}")
            return list(states), False
        missing = [name for name in self.variables if name not in values and name in self.used]
        if missing:
            calls = ", ".join(f"{name}=…" for name in missing)
            raise ExprError(f"no value for {', '.join(missing)}; the variables are {self.named()}: add {calls}")
        return [values.get(name, 0.0) for name in self.variables], False

    def _columns(self, rows: Array) -> list[Array]:
        rows = rows if isinstance(rows, Box) else np.asarray(rows)
        shape, count = np.shape(rows), len(self.variables)
        if not shape or shape[-1] != count:
            raise ShapeError(
                f"an array of states has a column for each of {count} variables ({self.named()}), so shape "
                f"(n, {count}); got {shape}"
            )
        return [rows[..., i] for i in range(count)]

    def with_e(self) -> Self:
        """The same with `e` as a variable, which was given another value than Euler's."""
        known = self.__dict__.setdefault("_freed", [])
        if not known:
            roots = self.mapped({constant(VALUES["e"]): variable("e")})
            names = [name for name in self.variables if name < "e"]
            sorted_ = list(self.variables) == sorted(self.variables)
            order = [*names, "e", *self.variables[len(names) :]] if sorted_ else [*self.variables, "e"]
            known.append(self.renewed(roots, order))
        return cast(Self, known[0])

    def renewed(self, roots: Sequence[Node], variables: Sequence[str]) -> Self:
        """Others in place of the results and the variables."""
        return type(self)(roots, variables, single=self.single)

    def mapped(self, images: dict[Node, Node], make: Callable[[Op, Sequence[Node]], Node] = made) -> list[Node]:
        images = dict(images)
        for node in self.nodes:
            if node in images:
                continue
            args = [images[arg] for arg in node.args]
            same = make is made and all(a is b for a, b in zip(args, node.args, strict=True))
            images[node] = node if node.op is None or same else make(node.op, args)
        return [images[root] for root in self.roots]
