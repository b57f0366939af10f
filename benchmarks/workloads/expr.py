"""Expressions: gradients at one state and at a million, against the tree form, and how fast they are read."""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples
from benchmarks.peers import installed, load

TITLE = "Expressions"
ABOUT = (
    "The gradient of a formula in x, y, z, as it is and compiled. By hand: a Python function of floats, or NumPy. "
    "SymPy: `lambdify` with `cse=True` of the same gradient. CasADi: its fastest call, which "
    "reads and writes buffers. Tree: the formula where equal parts are repeated, as objects that go forward and "
    "backward; its memory is that of our nodes, with none shared."
)
QUADRATIC = "3*x^2 + x*y + 5*y^2"
STAGED = "(x + sigmoid(y)) / (sigmoid(x) + (x + y)^2)"
WAVES = "sin(x*y)*exp(-x^2) + log(x + y^3)/(1 + z^2) + sqrt(x*y*z)"
STATE = {"x": 0.7, "y": 1.3, "z": 0.4}


def quadratic(m: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """The gradient, by hand; `m` has the functions, of floats or of arrays."""
    return 6 * x + y, x + 10 * y


def staged(m: Any, x: Any, y: Any) -> tuple[Any, ...]:
    a, b, c = 1 / (1 + m.exp(-y)), 1 / (1 + m.exp(-x)), x + y
    over = 1 / (b + c * c)
    below = -(x + a) * over * over
    through = 2 * c * below
    return over + through + below * b * (1 - b), through + over * a * (1 - a)


def waves(m: Any, x: Any, y: Any, z: Any) -> tuple[Any, ...]:
    p, q, r, s = x * y, m.exp(-x * x), x + y * y * y, 1 + z * z
    wave, slope, root = m.sin(p) * q, m.cos(p) * q, 0.5 / m.sqrt(x * y * z)
    inner = 1 / (r * s)
    return (
        y * slope - 2 * x * wave + inner + root * y * z,
        x * slope + 3 * y * y * inner + root * x * z,
        -2 * z * m.log(r) / (s * s) + root * p,
    )


FORMULAS: dict[str, tuple[str, Callable[..., Any]]] = {
    "quadratic": (QUADRATIC, quadratic),
    "staged sigmoids": (STAGED, staged),
    "sin, exp, log, sqrt": (WAVES, waves),
}


def _names(text: str) -> list[str]:
    return [name for name in "xyz" if name in text.replace("exp", "")]


def _symbolic(xp: Any, text: str, symbols: dict[str, Any]) -> Any:
    """The formula in the peer's own symbols."""
    scope = {name: getattr(xp, name) for name in ("sin", "exp", "log", "sqrt")} | symbols
    scope["sigmoid"] = lambda t: 1 / (1 + xp.exp(-t))
    return eval(text.replace("^", "**"), scope)


def with_adjoint(text: str, states: Any, compiled: bool = False) -> Call:
    e = load("adjoint").expr(text)
    if compiled:
        e = load("adjoint").compile(e, wait=True)
        e.gradient(**states)
    gradient = e.gradient
    return lambda: list(gradient(**states).values())


def by_hand(function: Callable[..., Any], states: Any) -> Call:
    m = np if isinstance(states["x"], np.ndarray) else math
    return lambda: list(function(m, **states))


def with_sympy(text: str, states: Any) -> Call:
    sp = load("sympy")
    symbols = {name: sp.Symbol(name, real=True) for name in states}
    formula = _symbolic(sp, text, symbols)
    kind = "numpy" if isinstance(states["x"], np.ndarray) else "math"
    f = sp.lambdify(list(symbols.values()), [sp.diff(formula, s) for s in symbols.values()], modules=kind, cse=True)
    return lambda: f(**states)


def with_casadi(text: str, states: Any) -> Call:
    ca = load("casadi")
    symbols = {name: ca.SX.sym(name) for name in states}
    formula = _symbolic(ca, text, symbols)
    f = ca.Function("f", list(symbols.values()), [ca.gradient(formula, s) for s in symbols.values()])
    given, found = [np.array(x) for x in states.values()], [np.empty(1) for _ in states]
    buffer, evaluate = f.buffer()
    for i, (x, out) in enumerate(zip(given, found, strict=True)):
        buffer.set_arg(i, x.data)
        buffer.set_res(i, out.data)

    # The default keeps the buffer, which evaluating does not.
    def run(_: Any = buffer) -> Any:
        for x, value in zip(given, states.values(), strict=True):
            x[...] = value
        evaluate()
        return [out.item() for out in found]

    return run


def gradients(key: str, states: Any, compiled: bool = False) -> dict[str, Call]:
    """The programs of everyone who is here, for one formula; of CasADi for one state, for which it is made."""
    text, function = FORMULAS[key]
    states = {name: states[name] for name in _names(text)}
    makers = {"SymPy": with_sympy} | ({} if isinstance(states["x"], np.ndarray) else {"CasADi": with_casadi})
    calls = {"adjoint": with_adjoint(text, states, compiled), "NumPy": by_hand(function, states)}
    return calls | {peer: make(text, states) for peer, make in makers.items() if installed(peer)}


class Tree:
    """A formula as a tree: each part goes forward and backward as often as it is written."""

    __slots__ = ("grad", "left", "name", "op", "right", "value")

    def __init__(self, op: str, left: Any = None, right: Any = None, name: str = "") -> None:
        self.op, self.left, self.right, self.name, self.value, self.grad = op, left, right, name, 0.0, 0.0

    def forward(self, state: dict[str, float]) -> float:
        if not self.op:
            self.value = state[self.name]
        else:
            x, y = self.left.forward(state), self.right.forward(state)
            self.value = x + y if self.op == "+" else x * y
        return self.value

    def backward(self, g: float, found: dict[str, float]) -> None:
        self.grad = g
        if not self.op:
            found[self.name] += g
        elif self.op == "+":
            self.left.backward(g, found)
            self.right.backward(g, found)
        else:
            self.left.backward(g * self.right.value, found)
            self.right.backward(g * self.left.value, found)


def tree_of(levels: int) -> Tree:
    """``(x+y) + x*(x+y)``, with itself in place of x, `levels` deep."""
    if not levels:
        return Tree("", name="x")

    def s() -> Tree:
        return Tree("+", tree_of(levels - 1), Tree("", name="y"))

    return Tree("+", s(), Tree("*", tree_of(levels - 1), s()))


def unique_of(levels: int) -> Any:
    ad = load("adjoint")
    x, y = ad.expr("x"), ad.expr("y")
    for _ in range(levels):
        s = x + y
        x = s + x * s
    return x


def forms(levels: int) -> dict[str, Call]:
    """A repeated gradient of unique nodes, and of the tree."""
    e, tree, state = unique_of(levels), tree_of(levels), {"x": 0.1, "y": 0.2}

    def of_tree() -> Any:
        found = dict.fromkeys(state, 0.0)
        tree.forward(state)
        tree.backward(1.0, found)
        return list(found.values())

    return {"adjoint": lambda: list(e.gradient(**state).values()), "tree": of_tree}


def memory(levels: int) -> Callable[[int], Samples]:
    """What the nodes take, and those of the tree."""

    from adjoint.core.op import NO_SETTINGS
    from adjoint.core.registry import operation
    from adjoint.graph.node import Name, Node

    ad = load("adjoint")
    fresh = iter(range(10**9))

    def unique() -> Any:
        k = next(fresh)  # names that no other expression has, whose nodes would be there already
        return unique_of(levels).substitute(x=f"x{k}", y=f"y{k}").roots

    def repeated() -> Any:
        def node(op: Any, *args: Any) -> Any:
            return Node(op, args, NO_SETTINGS, None, None, None if op else Name("x"), None)

        def build(tree: Tree) -> Any:
            if not tree.op:
                return node(None)
            return node(operation("add" if tree.op == "+" else "multiply"), build(tree.left), build(tree.right))

        return build(tree)

    def taken(make: Callable[[], Any]) -> float:
        make()
        gc.collect()
        tracemalloc.start()
        kept = [make() for _ in range(100)]
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del kept
        return size / 100

    tree = tree_of(levels)
    ad.expr("x")
    return lambda rounds: {"adjoint": [taken(unique)] * rounds, "tree": [taken(repeated)] * rounds}


def reading(count: int) -> dict[str, Call]:
    """A long sum of products, read."""
    text = "+".join(f"{k}.5*x*sin(y+{k})" for k in range(count))
    return {"adjoint": lambda: [load("adjoint").expr(text)]}


def building(count: int) -> dict[str, Call]:
    """A chain of unique nodes: one call of the table each."""
    from adjoint.core.registry import operation
    from adjoint.graph.node import call, variable

    add: Any = operation("add")

    def build() -> Any:
        y = node = variable("x")
        for _ in range(count):
            node = call(add, (node, y))
        return [node]

    return {"adjoint": build}


def cases(small: bool) -> Iterator[Case]:
    """One state, many states, the tree form, and reading."""
    n = 1000 if small else 1_000_000
    rng = np.random.default_rng(0)
    states = {name: rng.uniform(0.5, 2.0, n) for name in "xyz"}
    for key in FORMULAS:
        yield Case(f"{key}, one state", partial(gradients, key, STATE), budgets=(Budget("NumPy", 2.0),))
        budgets = (Budget("CasADi", 2.0), Budget("NumPy", 1.0))
        yield Case(f"{key}, one state, compiled", partial(gradients, key, STATE, True), budgets=budgets)
    for key in FORMULAS:
        name = f"{key}, {n:,} states"
        yield Case(f"{name}, per state", partial(gradients, key, states), n, (Budget("SymPy", 1.0),))
        yield Case(f"{name}, compiled, per state", partial(gradients, key, states, True), n, (Budget("SymPy", 0.2),))
    for levels in (1, 2) if small else (1, 2, 5):
        nodes = f"{len(unique_of(levels).nodes)} unique nodes for {unique_of(levels).tree_size}"
        yield Case(f"gradient, {nodes}", partial(forms, levels), budgets=(Budget("tree", 0.5),))
        if levels > 1:
            yield Case(f"memory, {nodes}", measure=memory(levels), budgets=(Budget("tree", 0.5),), unit="B")
    count = 500 if small else 2_000
    yield Case(f"read {count} products, per node", partial(reading, count), per=7 * count)
    yield Case("a chain of nodes, per node", partial(building, 20 * count), per=20 * count)
