"""Programs of single numbers: straight code without loops and without memory, called with Python's floats."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Function
from adjoint.graph.node import Node, in_order
from adjoint.native.call.scalar_entry import Form, builtin, supported
from adjoint.native.codegen.jit import FunctionText, assembly_of, compiled
from adjoint.native.codegen.llvm_text import Code, IRValue, key_of
from adjoint.native.lower.numbers import WRITTEN_OUT, number
from adjoint.native.lower.table import lowered
from adjoint.native.plan.classify import kind_of
from adjoint.native.plan.rewriting.decompose import primitive

# More values than this would not lie on the stack of every thread.
MOST = 10_000


class Numbers:
    """A compiled program of numbers.

    Args:
        inputs, outputs: nodes without axes, of float64 or truth values.
        otherwise: what a call goes to that has not one number for each input.
        form, keys: what a call gives, and the names of the last results where it gives a dictionary.

    Attributes:
        run: a built-in function, which takes a number for each input, all in order or all by name.

    Raises:
        NotSupportedError: if something has no native code, or this is another Python than we know.
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        otherwise: Function,
        form: Form = "tuple",
        keys: Sequence[str] = (),
        fastmath: bool = False,
    ) -> None:
        if not supported():
            raise NotSupportedError("numbers look otherwise in the memory of this Python")
        if len(inputs) + len(outputs) > MOST:
            raise NotSupportedError(f"{len(inputs) + len(outputs)} values at once; a native call takes {MOST}")
        (kernel,) = compiled([_written(inputs, outputs, fastmath)])
        self.module = kernel.module
        names, truths = [str(node.value) for node in inputs], [node.dtype == bool for node in outputs]
        self.run = builtin(kernel, names, truths, form, keys, otherwise)

    @property
    def llvm(self) -> str:
        """The code that LLVM was given."""
        return str(self.module.text)

    @property
    def assembly(self) -> str:
        """This processor's instructions for it."""
        return assembly_of(self.module.text)


def _written(inputs: Sequence[Node], outputs: Sequence[Node], fastmath: bool) -> FunctionText:
    """The code: reads from one row of doubles, and writes another."""
    code, values, helpers = Code(), dict[Node, IRValue](), dict[str, str]()
    for i, node in enumerate(inputs):
        at = code.name(f"getelementptr double, ptr %in, i64 {i}")
        values[node] = IRValue(code, code.name(f"load double, ptr {at}"), "f8")
    results = primitive(outputs)
    nodes = [node for node in in_order(results) if node not in values]
    whole = sum(kind_of(node)[0] == "elementwise" and not lowered(node).plain for node in nodes) <= WRITTEN_OUT
    for node in nodes:
        values[node] = _value(code, node, [values[arg] for arg in node.args], None if whole else helpers, fastmath)
    for i, node in enumerate(results):
        at = code.name(f"getelementptr double, ptr %out, i64 {i}")
        code.line(f"store double {values[node].to('f8').name}, ptr {at}")
    code.line("ret void")
    return FunctionText("define void @{name}(ptr %in, ptr %out) nounwind", code.lines, code.declared, helpers)


def _value(code: Code, node: Node, args: list[IRValue], helpers: dict[str, str] | None, fastmath: bool) -> IRValue:
    if node.kind == "constant":
        return code.constant(node.value, key_of(node.dtype))
    kind, reason = kind_of(node)
    if kind == "view":  # of one number: itself
        return args[0]
    if kind != "elementwise":
        raise NotSupportedError(f"{node.label} has no native code ({reason or kind})")
    return number(code, node, args, helpers, fastmath)
