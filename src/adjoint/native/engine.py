"""Text in, addresses out: LLVM compiles code for this very processor, once for equal code, and forgets it when told."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cache
from time import perf_counter
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm

# Of LLVM's code generation. Its passes over the code before that are left out: code comes as vectors, and without
# common subexpressions; measured on programs of 12 operations, they took as long again and gained nothing.
LEVEL = 1


@cache
def machine() -> Any:
    """LLVM's picture of this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _machine()


def _machine() -> Any:
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=LEVEL, jit=True)


def external(name: str, address: int) -> str:
    """The name under which code finds what lies at `address`: addresses in a text would be another process's."""
    llvm.add_symbol(f"adjoint.{name}", address)
    return f"@adjoint.{name}"


class Module:
    """Compiled code, which goes when nothing refers to this any more."""

    def __init__(self, text: str) -> None:
        start = perf_counter()
        machine()
        self.text = text
        self._module = llvm.parse_assembly(text)
        self._module.verify()
        self._engine = llvm.create_mcjit_compiler(self._module, _machine())
        self._engine.finalize_object()
        self.seconds = perf_counter() - start

    def address(self, name: str) -> int:
        """Where the function called `name` begins."""
        return int(self._engine.get_function_address(name))

    @property
    def assembly(self) -> str:
        """The processor's instructions, as text."""
        return str(machine().emit_assembly(self._module))


class Kernel:
    """One function's address, which keeps the code there."""

    __slots__ = ("__weakref__", "address", "module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name, self.address = module, name, module.address(name)


_known: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_lock = threading.Lock()


def compiled(functions: Sequence[Function]) -> list[Kernel]:
    """The kernels for `functions`; those that are not yet there are compiled together."""
    with _lock:
        found = {f.key: _known.get(f.key) for f in functions}
    missing = {f.key: f for f in functions if found[f.key] is None}
    if missing:
        module = Module(module_text(list(missing.values())))
        with _lock:
            for key, function in missing.items():
                found[key] = _known[key] = Kernel(module, function.name)
    return [found[f.key] for f in functions]  # type: ignore[misc]  # none is missing any more


class Function:
    """The text of one function, which is called by what is in it.

    Attributes:
        head: ``define void @{name}(…)``, the name left open.
        lines: its body.
        declared: functions of LLVM's that it calls: their declarations by name.
        helpers: functions of ours that it calls: their definitions by name.
    """

    __slots__ = ("declared", "helpers", "key", "name", "text")

    def __init__(
        self, head: str, lines: Sequence[str], declared: dict[str, str], helpers: dict[str, str] | None = None
    ) -> None:
        body = "\n".join(lines)
        self.key = hashlib.blake2b(f"{head}\n{body}".encode(), digest_size=12).hexdigest()
        self.name = f"k{self.key}"
        self.text = f"{head.format(name=self.name)} {{\n{body}\n}}\n"
        self.declared, self.helpers = declared, helpers or {}


def module_text(functions: Sequence[Function]) -> str:
    """One module with all `functions`."""
    declared: dict[str, str] = {}
    helpers: dict[str, str] = {}
    for function in functions:
        declared |= function.declared
        helpers |= function.helpers
    return "\n".join([*declared.values(), *helpers.values(), *(f.text for f in functions)])
