"""`CompiledExpr`: a formula that runs as native code: one program for numbers, others for arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adjoint.compiler.backend import compare, say
from adjoint.compiler.background import later
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.objects.trees import flatten
from adjoint.core.registry import op_named
from adjoint.core.threads.locks import COMPILING
from adjoint.core.types import Array, DType, Function, Value
from adjoint.expressions import Expr
from adjoint.expressions.plan import WEAK, Evaluator
from adjoint.graph.captures.record import recording
from adjoint.graph.node import Node, call, constant, in_order, placeholder
from adjoint.graph.rewriting.driver import converted
from adjoint.graph.symbol import Number, Symbol, symbol_of

# Programs for so many kinds of arrays are kept, the latest.
MOST_KINDS = 64
# More nodes than this LLVM would take long over, as one function.
MOST_NODES = 10_000
_NUMBERS = frozenset((int, float, np.float64))
_DTYPES = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
_ONE_STATE = "one state"


class CompileSettings(NamedTuple):
    """What was asked of `compile`."""

    wait: bool
    backend: str
    fastmath: bool
    memory: str


@dataclass
class PendingCode:
    """Native code, from the moment when it was asked for.

    Attributes:
        run: what to call; None while it is being made, and where it cannot be.
        program: the program with the code.
        reason: why there is none.
    """

    run: Function | None = None
    program: Value = None
    reason: str = ""


class CompiledExpr(Expr):
    """A formula that runs natively. Made by `adjoint.compile` of an expression; it does all that an `Expr` does.

    Values, gradients, Hessians and Jacobians of Python's numbers, and of float32 and float64 arrays, are native; for
    anything else they are what the expression gives. Native code raises no warnings: 1/0 is infinity, silently.
    """

    def __init__(self, e: Expr, settings: CompileSettings) -> None:
        super().__init__(e.roots, e.variables, single=e.single)
        self.settings = settings

    def renewed(self, roots: Sequence[Node], variables: Sequence[str]) -> CompiledExpr:
        return CompiledExpr(Expr(roots, variables, single=self.single), self.settings)

    def __reduce__(self) -> str | tuple[object, ...]:
        return CompiledExpr, (Expr(self.roots, self.variables, single=self.single), self.settings)

    def plan(self, kind: str) -> NativePlan:
        plans: dict[str, NativePlan] = self.__dict__.setdefault("_native", {})
        if kind not in plans:
            plans[kind] = NativePlan(super().plan(kind), self.settings, f"{kind} of {self!r}")
        return plans[kind]

    def _compiled(self, kind: str) -> Function:
        """Python's way for one state; as soon as there is native code, that is put in its place."""
        plain, plan, made = super()._compiled(kind), self.plan(kind), PendingCode()
        begun = False

        def make() -> None:
            form = {"gradient": "named", "value_and_gradient": "one and named"}.get(
                kind, "one" if self.single else "tuple"
            )
            plan.make_numbers(made, form, () if kind == "value" else self.variables, plain)
            self.__dict__["_value" if kind == "value" else kind] = made.run or plain

        def first(*states: Array, **values: object) -> Value:
            nonlocal begun
            if not begun and all(type(x) in _NUMBERS for x in (*states, *values.values())):
                begun, plan.made[kind] = True, made
                plan.begin(make)
            return (made.run or plain)(*states, **values)

        return first

    def explain(self) -> str:
        """Say what has been compiled, for which arguments, and why something has not."""
        lines = [repr(self)]
        for kind, plan in self.__dict__.get("_native", {}).items():
            for key, made in plan.made.items():
                given = _ONE_STATE if isinstance(key, str) else ", ".join(map(_shown, key))
                lines += [f"  {kind}, {given}: {'native' if made.run else 'by Python and NumPy'}"]
                lines += [f"    {line}" for line in made.reason.splitlines()]
                steps = getattr(made.program, "listing", None)
                lines += [f"    {line}" for line in str(steps()).splitlines()] if steps else []
        return "\n".join(lines if len(lines) > 1 else [*lines, "  has not been called yet"])

    @property
    def llvm(self) -> str:
        """The LLVM text of the program that was made last."""
        return self._latest.llvm  # type: ignore[no-any-return]  # a text

    @property
    def assembly(self) -> str:
        """The machine's instructions for the program that was made last."""
        return self._latest.assembly  # type: ignore[no-any-return]  # a text

    @property
    def _latest(self) -> Value:
        plans = self.__dict__.get("_native", {}).values()
        programs = [made.program for plan in plans for made in plan.made.values() if made.program]
        if not programs:
            raise ArgumentError(
                f"there is no native code, or not yet; compile with wait=True, and call it: {self.explain()}"
            )
        return programs[-1]


def _shown(part: Value) -> str:
    return "a number" if part is None else f"{part[1]} {part[0]}"


class NativePlan(Evaluator):
    """A plan that has native programs made of it, for each kind of arguments that comes.

    Attributes:
        made: the programs: those for one state by what they give, others by shapes and dtypes.
    """

    def __init__(self, plan: Evaluator, settings: CompileSettings, name: str) -> None:
        super().__init__(plan.outputs, plan.variables)
        self.settings, self.name = settings, name
        self.made: dict[Value, PendingCode] = {}

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        key = _kinds(values)
        if key is None:
            return super().__call__(values)
        made = self.made.get(key)
        if made is None:
            made = PendingCode()
            if len(self.made) > MOST_KINDS:
                self.made.pop(next(k for k in list(self.made) if not isinstance(k, str)), None)
            self.made[key] = made
            self.begin(lambda: self._make_arrays(made, key))
        return super().__call__(values) if made.run is None else made.run(values)

    def of_floats(self, values: list[float]) -> list[object]:
        made = self.made.get("numbers")
        if made is None:
            made = self.made["numbers"] = PendingCode()
            plain = super().of_floats
            self.begin(lambda: self.make_numbers(made, "tuple", (), lambda *xs: tuple(plain(list(xs)))))
        return super().of_floats(values) if made.run is None else list(made.run(*values))

    def begin(self, make: Callable[[], None]) -> None:
        """Have native code made: now, or in another thread. Neither way meets what goes on in this context."""
        if self.settings.wait or self.settings.backend == "numpy":
            Context().run(make)
        else:
            later(lambda: make)

    def make_numbers(self, made: PendingCode, form: Value, keys: Sequence[str], otherwise: Function) -> None:
        """The program for one state."""

        def make() -> None:
            from adjoint.native.call.scalar_program import Numbers

            if len(self.nodes) > MOST_NODES:
                raise NotSupportedError(f"it has {len(self.nodes)} nodes, and native code for one state {MOST_NODES}")
            inputs, outputs, _ = self._symbolic([1.0] * len(self.variables))
            made.program = Numbers(inputs, outputs, otherwise, form, keys, self.settings.fastmath)
            made.run = self._verified(made.program.run, otherwise)

        self._attempt(made, make)

    def _make_arrays(self, made: PendingCode, key: tuple[object, ...]) -> None:
        """The program for arrays of these shapes and dtypes, and numbers."""

        def make() -> None:
            from adjoint.native import build

            program = build(*self._of_arrays(key), fastmath=self.settings.fastmath, memory=self.settings.memory)
            run: Callable[..., list[Value]] = program.run

            def native(values: Sequence[Array]) -> list[Array]:
                return run(*[float(x) if type(x) is int else x for x in values])

            made.program, made.run = program, self._verified(native, super(NativePlan, self).__call__)

        self._attempt(made, make)

    def _attempt(self, made: PendingCode, make: Callable[[], None]) -> None:
        if self.settings.backend == "numpy":
            made.reason = 'backend="numpy" was asked for'
            return
        try:
            with COMPILING:
                make()
        except Exception as error:  # whatever went wrong, there is the plan itself
            made.reason = f"{type(error).__name__}: {error}"
            say(1, lambda: f"adjoint: {self.name} stays with NumPy: {made.reason}")
        else:
            say(1, lambda: f"adjoint: {self.name} is native")
            say(4, lambda: made.program.llvm)

    def _verified(self, native: Function, plain: Function) -> Function:
        """`native`, held against `plain` at each call if that was asked for."""
        if not os.environ.get("ADJOINT_VERIFY"):
            return native

        def both(*args: object, **named: object) -> object:
            found = native(*args, **named)
            for a, b in zip(flatten(plain(*args, **named))[0], flatten(found)[0], strict=True):
                compare(self.name, self, np.asarray(a), np.asarray(b))
            return found

        return both

    # -- Programs -----------------------------------------------------------------------------------

    def _of_arrays(self, key: tuple[Value, ...]) -> tuple[list[Node], list[Node]]:
        shapes = [() if part is None else part[0] for part in key]
        shape = np.broadcast_shapes(*shapes)
        # Arrays of one element tell the dtypes.
        examples = [1.0 if part is None else np.ones((1,) * len(part[0]), part[1]) for part in key]
        small, results, weak = self._symbolic(examples)
        put: dict[Node, Node] = {}
        for node, own, part in zip(small, shapes, key, strict=True):
            put[node] = placeholder(str(node.value), own, node.dtype, number=part is None)
        for node in in_order(results):
            if node not in put:
                args = tuple(put[arg] for arg in node.args)
                put[node] = (
                    node
                    if node.op is None
                    else call(
                        node.op, args, node.settings, np.broadcast_shapes(*(arg.shape for arg in args)), node.dtype
                    )
                )
        kind = np.result_type(0.0, *(part[1] for part in key if part is not None))
        return [put[node] for node in small], [
            _spread(put[node], shape, kind if is_weak else node.dtype)
            for node, is_weak in zip(results, weak, strict=True)
        ]

    def _symbolic(self, examples: Sequence[Value]) -> tuple[list[Node], list[Node], list[bool]]:
        """Inputs like these, the outputs as nodes of them, and which outputs are Python's numbers."""
        inputs = [
            placeholder(str(node.value), np.shape(x), np.asarray(x).dtype, number=type(x) is float)
            for node, x in zip(self.variables, examples, strict=True)
        ]
        with recording() as record, np.errstate(all="ignore"):
            given = [symbol_of(x, node) for x, node in zip(examples, inputs, strict=True)]
            found = self.of_any(given, settled=_settled)
        if record.guards:
            raise NotSupportedError(f"it asks for {record.guards[0].question}")
        nodes = [x.node if isinstance(x, Symbol) else constant(x) for x in found]
        return inputs, nodes, [_is_weak(x) for x in found]


def _kinds(values: Sequence[object]) -> tuple[Value, ...] | None:
    """Shapes and dtypes, None for Python's numbers; None if that is all there is, or if something else is."""
    parts: list[Value] = []
    for x in values:
        if type(x) is np.ndarray and x.dtype in _DTYPES and x.size:
            parts.append((x.shape, x.dtype))
        elif type(x) is float or type(x) is int:
            parts.append(None)
        else:
            return None
    return tuple(parts) if any(parts) else None


def _is_weak(x: Array) -> bool:
    truth = isinstance(x, Symbol) and x.dtype == bool and x.shape == ()
    return truth or isinstance(x, Number) or type(x) in WEAK


def _settled(result: Symbol, given: Sequence[Array]) -> Value:
    """Of Python's numbers comes one."""
    if isinstance(result, Symbol) and all(map(_is_weak, given)):
        return symbol_of(result.value.item(), result.node)
    return result


def _spread(node: Node, shape: tuple[int, ...], dtype: DType) -> Node:
    """`node` as an array of this shape and dtype."""
    node = node if node.dtype == bool else converted(node, dtype)
    if node.shape == shape:
        return node
    return call(op_named("broadcast_to"), (node,), {"shape": shape}, shape, node.dtype)


def compiled(e: Expr, *, wait: bool, backend: str, static: Sequence[str], fastmath: bool, memory: str) -> CompiledExpr:
    """The same formula as native code; see `adjoint.compile`."""
    if static:
        raise ArgumentError(
            f"compile: an expression has no static arguments; got static={list(static)!r}. Put values in place of "
            f"variables first: ad.compile(e.substitute(k=2))"
        )
    return CompiledExpr(e, CompileSettings(wait, backend, fastmath, memory))
