"""Elementwise operations on single numbers, as straight code."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.graph.node import Node
from adjoint.native.codegen.llvm_text import Code, IRValue, key_of
from adjoint.native.lower.table import applied, lowered

# Long code, such as that of a sine, is written out so often; beyond that it stands there once, and is called.
WRITTEN_OUT = 16


def number(
    code: Code, node: Node, args: Sequence[IRValue], helpers: dict[str, str] | None, fastmath: bool = False
) -> IRValue:
    """What the elementwise operation `node` makes of one number each; long code goes to `helpers`, if given."""
    found, dtype = lowered(node), key_of(node.dtype)
    write = applied(found, dtype, fastmath)
    if found.plain or helpers is None:
        return write(code, *args)
    name = f"{node.label}.{'.'.join(arg.dtype for arg in args)}.{dtype}"
    if name not in helpers:
        inner = Code()
        given = [IRValue(inner, f"%x{i}", arg.dtype) for i, arg in enumerate(args)]
        value = write(inner, *given)
        head = f"define internal {value.type} @{name}({', '.join(f'{x.type} {x.name}' for x in given)}) nounwind"
        helpers[name] = "\n".join([f"{head} {{", *inner.lines, f"  ret {value.type} {value.name}", "}"])
        code.declared |= inner.declared
    given_text = ", ".join(f"{arg.type} {arg.name}" for arg in args)
    return code.put(f"call {code.type_of(dtype)} @{name}({given_text})", dtype)
