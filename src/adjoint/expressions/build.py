"""Postfix to unique nodes: a stack machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import ExprError
from adjoint.core.registry import Composite, op_named
from adjoint.core.types import Value
from adjoint.expressions.functions import SUMS, VALUES, NamedFunction, near
from adjoint.expressions.nodes import ARITHMETIC, as_number, is_constant, made, number
from adjoint.expressions.postfix import Item
from adjoint.expressions.quantity import Quantity, node_of
from adjoint.expressions.tokens import complaint, shown
from adjoint.graph.node import Node, in_order, variable

MAX_STEPS = 300_000  # of sums and products, all terms together


class Built:
    """What a text means.

    Attributes:
        outputs: one node a result.
        variables: the free names, in the order in which the text has them.
    """

    def __init__(self, text: str, items: list[Item], declared: tuple[str, ...] | None) -> None:
        self.text, self.items = text, items
        self.outputs: list[Node] = []
        self.free: dict[str, Node] = {name: variable(name) for name in declared or ()}
        self.declared = declared
        self.bound: dict[str, Node] = {}
        self._loops: list[list[Value]] = []
        self._steps = 0
        self._numbers: dict[Node, float] = {}
        self._run()

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.free)

    def _run(self) -> None:
        items, stack = self.items, list[Node]()
        i, count, numbers = 0, len(items), dict[str, Node]()
        while i < count:
            kind, value, at, arity = items[i]
            i += 1
            if self._loops:
                self._steps += 1
                if self._steps > MAX_STEPS:
                    raise complaint(self.text, at, f"sums and products of more than {MAX_STEPS} steps")
            if kind == "number":
                node = numbers.get(value)
                if node is None:
                    node = numbers[value] = number(float(value))
                stack.append(node)
            elif kind == "name":
                stack.append(self._name(value, at))
            elif kind == "call":
                if arity == 2:
                    y = stack.pop()
                    stack[-1] = called(value, (stack[-1], y))
                else:
                    stack[-arity:] = [called(value, stack[-arity:])]
            elif kind == "let":
                self._let(value, at, stack.pop())
            elif kind == "result":
                self.outputs.append(stack.pop())
            elif kind == "loop":
                i = self._loop(value, at, stack, i)
            else:
                i = self._end(stack, i)

    def _name(self, name: str, at: int) -> Node:
        node = self.bound.get(name)
        if node is None:
            node = self.free.get(name)
        if node is None:
            if name in VALUES:
                return number(VALUES[name])
            if self.declared is not None:
                hint = near(name, lambda: [*self.free, *self.bound])
                given = ", ".join(self.declared) or "none"
                raise complaint(self.text, at, f"{shown(name[:40])} is none of the variables ({given})", hint=hint)
            node = self.free[name] = variable(name)
        return node

    def _let(self, name: str, at: int, node: Node) -> None:
        if name in self.bound or name in self.free:
            what = "has a value already" if name in self.bound else "is a variable, used before it is given a value"
            raise complaint(self.text, at, f"{shown(name[:40])} {what}", expected="another name")
        self.bound[name] = node

    def _loop(self, index: str, at: int, stack: list[Node], i: int) -> int:
        """Begin a sum. Its terms are the same steps, once for each value of the index."""
        last, first = self._whole(stack.pop(), at), self._whole(stack.pop(), at)
        shadowed = self.bound.get(index)
        self._loops.append([index, first, last, i, None, shadowed])
        if first > last:
            depth = 1
            while depth:
                kind = self.items[i].kind
                depth += (kind == "loop") - (kind == "end")
                i += 1
            return self._ended(self.items[i - 1].value, stack, i)
        self.bound[index] = number(first)
        return i

    def _end(self, stack: list[Node], i: int) -> int:
        total = self.items[i - 1].value
        loop = self._loops[-1]
        index, now, last, start, sum_, _ = loop
        term = as_number(stack.pop())
        loop[4] = term if sum_ is None else made(op_named(SUMS[total]), (sum_, term))
        if now == last:
            return self._ended(total, stack, i)
        loop[1] = now + 1
        self.bound[index] = number(now + 1)
        return int(start)

    def _ended(self, total: str, stack: list[Node], i: int) -> int:
        index, _, _, _, sum_, shadowed = self._loops.pop()
        if shadowed is None:
            self.bound.pop(index, None)
        else:
            self.bound[index] = shadowed
        stack.append(number(0.0 if total == "sum" else 1.0) if sum_ is None else sum_)
        return i

    def _whole(self, node: Node, at: int) -> int:
        """The bound of a sum: a whole number, known now."""
        value = self._value(node)
        if value is None or value != value // 1 or abs(value) > 1e15:
            got = "depends on variables" if value is None else f"is {value}"
            raise complaint(
                self.text, at, f"a bound {got}", expected="whole numbers for the bounds of a sum or product"
            )
        return int(value)

    def _value(self, node: Node) -> float | None:
        known = self._numbers
        if node not in known:
            for n in in_order((node,)):
                if n in known:
                    continue
                if n.op is None:
                    if not is_constant(n):
                        return None
                    known[n] = n.value
                else:
                    try:
                        with np.errstate(all="ignore"):
                            known[n] = float(n.op.forward(*(np.float64(known[arg]) for arg in n.args)))
                    except (ArithmeticError, ValueError, TypeError) as error:
                        raise ExprError(f"a bound of a sum cannot be computed: {error}") from None
        return known[node]


def called(function: NamedFunction, args: Sequence[Node]) -> Node:
    """The node of a function of the text, applied to `args`."""
    op = function.op
    if op in ARITHMETIC:
        return made(op, args)
    if isinstance(op, Composite):
        return node_of(op(*map(Quantity, args)))
    if len(args) > len(op.inputs):  # min and max of several
        node = args[0]
        for arg in args[1:]:
            node = made(op, (node, arg))
        return node
    return made(op, args)
