"""`Expr`: a formula as a graph of unique nodes, with its values, derivatives and forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ExprError
from adjoint.core.op import Op
from adjoint.core.protocol import array_function, array_ufunc
from adjoint.core.registry import op_named, operation
from adjoint.core.types import DType, Function, Settings, Value
from adjoint.expressions import sweep
from adjoint.expressions.build import Built
from adjoint.expressions.evaluation import Evaluated
from adjoint.expressions.nodes import made, number, reduced
from adjoint.expressions.postfix import postfix, words
from adjoint.expressions.quantity import Quantity, op_node
from adjoint.graph.node import Node, constant, variable

PlainNumber = int | float | np.integer | np.floating


def _operator(name: str, reflected: bool = False) -> Callable[[Value, Value], Value]:
    op = op_named(name)

    def method(self: Value, other: Value) -> Value:
        if not isinstance(other, Box | PlainNumber | np.ndarray):
            return NotImplemented
        return op(other, self) if reflected else op(self, other)

    return method


def expr(text: Value, variables: Sequence[str] | None = None) -> Expr:
    """Read an expression as a mathematician types it.

    Numbers, names (any letters, ``x_1``), ``+ - * / ^`` (``**`` too), comparisons, ``where(c, a, b)``, every
    function of each number by itself that adjoint has (sin, exp, erf, min, max, abs, sigmoid, …), ``pi`` and ``e``,
    ``sum(i, 1, 3, x^i)`` and ``prod``. ``-x^2`` is ``-(x^2)`` and ``2^3^2`` is ``2^(3^2)``. Lines, or parts between
    semicolons, may give names to values: ``s = x + y; s + x*s``. Several lines without a name are several results.
    Equal parts are one node. Nothing of the text is ever run as Python.

    Args:
        text: the expression; or an `Expr`, a number, a SymPy expression; or a list of these for several results.
        variables: the names that are variables, in order. Any name, in the order of the text, if not given.

    Returns:
        An `Expr`: call it, ask it for its gradient, calculate with it.

    Raises:
        ExprError: showing the place in the text and what was expected there.

    Example:
        >>> import adjoint as ad
        >>> f = ad.expr("3*x^2 + x*y + 5*y^2")
        >>> f(x=2, y=3), f.gradient(x=2, y=3)
        (63.0, {'x': 15.0, 'y': 32.0})
        >>> f.diff("x")
        expr('6*x + y')
    """
    if variables is not None:
        variables = tuple(variables.replace(",", " ").split()) if isinstance(variables, str) else tuple(variables)
        for i, name in enumerate(variables):
            if not isinstance(name, str) or not name.isidentifier() or name in variables[:i]:
                raise ExprError(f"variables are names, each once, as in ad.expr(text, 'x y'); got {name!r}")
    if isinstance(text, str):
        items = postfix(text)
        built = Built(text, items, cast(Value, variables))
        return Expr(built.outputs, built.variables, items=items)
    if isinstance(text, Expr):
        return text if variables is None else Expr(text.roots, _covering(text, variables))
    if isinstance(text, list | tuple):
        parts = [expr(part, variables) for part in text]
        if not parts:
            raise ExprError("an expression of several results needs at least one: ad.expr(['x*y', 'x + y'])")
        return Expr([root for part in parts for root in part.roots], variables or _union(parts), single=False)
    if isinstance(text, PlainNumber) and not isinstance(text, bool):
        return Expr([number(float(text))], tuple(variables or ()))
    if any(str(base.__module__).startswith("sympy") for base in type(text).__mro__):
        return expr(Expr.from_sympy(text), variables)
    raise ExprError(f"an expression is read from text, as in ad.expr('x^2 + y'); got {type(text).__name__}")


class Expr(Evaluated):
    """A formula, or several of the same variables. Made by `adjoint.expr`, by `diff`, and by calculating with others.

    Calls, `gradient`, `value_and_gradient`, `hessian` and `jacobian` take the state in one of these forms:

    - keywords, ``f(x=2, y=3)``: numbers, or arrays that broadcast against one another, one state an element;
      a gradient is then a dictionary. Tensors and other boxes work too, and keep their history.
    - one array of shape (n, k), a state a row, in the order of `variables`; a gradient is then one of shape (n, k).
    - one value a variable, in that order: ``f(2, 3)``.

    Two expressions are equal if they are the same nodes.

    Attributes:
        roots: the node of each result.
        variables: the names, in the order in which an array of states has them.

    Example:
        >>> import adjoint as ad
        >>> f = ad.expr("x^2 + x*y")
        >>> f(x=2, y=3), f.gradient(x=2, y=3)
        (10.0, {'x': 7.0, 'y': 2.0})
        >>> f.diff("x")
        expr('2*x + y')
    """

    __array_priority__ = 2000.0

    # -- Looking ------------------------------------------------------------------------------------

    @property
    def tree_size(self) -> int:
        """How many nodes the same formula has as a tree, where equal parts are repeated."""
        size: dict[Node, int] = {}
        for node in self.nodes:
            size[node] = 1 + sum(size[arg] for arg in node.args)
        return sum(size[root] for root in self.roots)

    @property
    def postfix(self) -> list[str]:
        """The formula in postfix order, from which the nodes were made.

        Example:
            >>> import adjoint as ad
            >>> ad.expr("A*B+C/D").postfix
            ['A', 'B', '*', 'C', 'D', '/', '+']
        """
        return words(self._items if self._items is not None else postfix(str(self)))

    @property
    def outputs(self) -> tuple[Expr, ...]:
        """Each result as an expression by itself."""
        return tuple(Expr([root], self.variables) for root in self.roots)

    def __str__(self) -> str:
        from adjoint.expressions.text import text

        return text(self.roots, self.variables)

    def __repr__(self) -> str:
        shown = str(self)
        return f"expr({shown if len(shown) <= 200 else shown[:197] + '...'!r})"

    @property
    def latex(self) -> str:
        """The formula in LaTeX.

        Example:
            >>> import adjoint as ad
            >>> print(ad.expr("x_1^2/sqrt(2*pi)").latex)
            \\frac{x_{1}^{2}}{\\sqrt{2 \\, \\pi}}
        """
        from adjoint.expressions.text import latex

        return latex(self.roots, self.variables)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.roots == other.roots

    def __hash__(self) -> int:
        return hash(self.roots)

    def __bool__(self) -> NoReturn:
        raise ExprError("an expression is neither true nor false; choose by np.where(condition, a, b)")

    def __float__(self) -> float:
        if self.used:
            raise ExprError(f"a formula of {', '.join(self.variables)} is no number; give values: f(x=2.0)")
        return float(self())

    # -- Changing -----------------------------------------------------------------------------------

    def diff(self, *names: str) -> Expr:
        """The derivative by the variables named, one after another, as an expression.

        Example:
            >>> import adjoint as ad
            >>> ad.expr("sin(x*y)").diff("x", "y")
            expr('cos(x*y) - y*sin(x*y)*x')
        """
        self.known(names)
        roots = list(self.roots)
        for name in names:
            roots = [sweep.gradient(root, [variable(name)])[0] for root in roots]
        return Expr(roots, self.variables, single=self.single)

    def gradients(self) -> dict[str, Expr]:
        """The derivative by each variable, as expressions that share their nodes."""
        root = self.only_result("a gradient")
        found = sweep.gradient(root, [variable(name) for name in self.variables])
        return {name: Expr([node], self.variables) for name, node in zip(self.variables, found, strict=True)}

    def cotangents(self) -> dict[Node, Expr]:
        """The derivative by each node on the way, its cotangent in a backward pass, as expressions."""
        root = self.only_result("a cotangent")
        found = sweep.cotangents(root, [variable(name) for name in self.variables])
        return {node: Expr([slope], self.variables) for node, slope in found.items()}

    def substitute(self, replacements: Mapping[str, Value] | None = None, /, **more: Value) -> Expr:
        """Other expressions, texts or numbers in place of variables, all at once.

        Example:
            >>> import adjoint as ad
            >>> ad.expr("x^2 + y").substitute(x="y + 1", y=3)
            expr('(y + 1)^2 + 3')
        """
        given = {name: expr(x) for name, x in {**(replacements or {}), **more}.items()}
        self.known(given)
        roots = self.mapped({variable(name): part.only_result("a replacement") for name, part in given.items()})
        names = [new for name in self.variables for new in (given[name].variables if name in given else (name,))]
        return Expr(roots, tuple(dict.fromkeys(names)), single=self.single)

    def simplify(self) -> Expr:
        """The same function with fewer nodes, by the rules `adjoint.graph.rewriting.formula_rules.FORMULAS`.

        Constants are folded, and what changes nothing goes. Every value stays as it is, nan and infinities included;
        so ``x - x`` stays, which is nan where x is infinite.

        Example:
            >>> import adjoint as ad
            >>> ad.expr("x + 1*x + x - --y*(2 + 3)").simplify()
            expr('3*x - 5*y')
        """
        return Expr(self.mapped({}, reduced), self.variables, single=self.single)

    # -- Calculating --------------------------------------------------------------------------------

    @property
    def held(self) -> Value:
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """(): an expression is a number, until states are given."""
        return ()

    @property
    def dtype(self) -> DType:
        return Quantity(self.only_result("a dtype")).dtype

    def process(self, op: Op, args: Sequence[Value], settings: Settings) -> Expr:
        if op.name in ("positive", "real", "conj") and isinstance(args[0], Expr):
            return args[0]
        node = op_node(op, [_quantity(arg) for arg in args], settings)
        return Expr([node], _union([arg for arg in args if isinstance(arg, Expr)]))

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", True)
    __mod__, __rmod__ = _operator("remainder"), _operator("remainder", True)
    __pow__, __rpow__ = _operator("power"), _operator("power", True)
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")

    def __neg__(self) -> Expr:
        return cast(Expr, op_named("negative")(self))

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return cast(Expr, op_named("absolute")(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value) -> Value:
        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Value, types: Value, args: tuple[Value, ...], kwargs: Mapping[str, Value]
    ) -> Value:
        parts: list[Expr] = []

        def inside(x: Value) -> Value:
            if isinstance(x, Expr):
                parts.append(x)
            return [inside(y) for y in x] if isinstance(x, list | tuple) else _quantity(x)

        out = array_function(function, tuple(map(inside, args)), {name: inside(x) for name, x in kwargs.items()})
        return Expr([out.node], _union(parts)) if isinstance(out, Quantity) else out

    def __reduce__(self) -> Value:
        place = {node: i for i, node in enumerate(self.nodes)}
        steps = [
            (None, (), str(node.value)) if node.kind == "input"
            else (node.op.name if node.op else None, tuple(place[arg] for arg in node.args), node.value)
            for node in self.nodes
        ]  # fmt: skip
        return _unpickled, (steps, [place[root] for root in self.roots], self.variables, self.single)

    # -- Elsewhere ----------------------------------------------------------------------------------

    def to_source(self, name: str = "f") -> str:
        """NumPy source of the formula and its adjoint: two functions, ``f`` and ``f_and_gradient``, to read and run."""
        from adjoint.expressions.source import source

        return source(self, name)

    def to_tensor_function(self) -> Function:
        """A function of arrays or tensors, one a variable in order or by name; on the tape it is one operation.

        Derivatives of any order and mode.
        """
        from adjoint.expressions.gate import gate

        return gate(self)

    def to_sympy(self) -> Value:
        """The formula in SymPy, of real symbols; a tuple, where there are several results."""
        from adjoint.expressions.sympy import to_sympy

        return to_sympy(self)

    @classmethod
    def from_sympy(cls, formula: Value) -> Expr:
        """The expression of a formula of SymPy's, variables in alphabetic order."""
        from adjoint.expressions.sympy import from_sympy

        nodes, names, single = from_sympy(formula)
        return cls(nodes, names, single=single)


def _covering(part: Expr, names: Sequence[str]) -> Sequence[str]:
    if missing := part.used - set(names):
        raise ExprError(f"{min(missing)!r} is used, but none of the variables ({', '.join(names)})")
    return names


def _union(parts: Sequence[Expr]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.variables))


def _quantity(x: Value) -> Value:
    return Quantity(x.only_result("an operand")) if isinstance(x, Expr) else x


def _unpickled(steps: list[Value], roots: list[int], variables: tuple[str, ...], single: bool) -> Expr:
    nodes: list[Node] = []
    for name, args, value in steps:
        if name is not None:
            nodes.append(made(cast(Op, operation(name)), [nodes[i] for i in args]))
        else:
            nodes.append(variable(value) if isinstance(value, str) else constant(value))
    return Expr([nodes[i] for i in roots], variables, single=single)
