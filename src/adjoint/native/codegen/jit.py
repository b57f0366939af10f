"""Text in, addresses out: LLVM compiles code for this processor, once for equal code, and frees it when told."""

from __future__ import annotations

import hashlib
import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from adjoint.core import version
from adjoint.core.threads.locks import COMPILING
from adjoint.core.threads.weak import WeakValues
from adjoint.core.types import Value
from adjoint.native.codegen import disk_cache as disk

# Of LLVM's code generation. Its passes over the code before that are left out: code comes as vectors, and without
# common subexpressions; measured on programs of 12 operations, they took as long again and gained nothing.
LEVEL = 1
# With this as its first line, code goes through them: it comes as numbers, of which they make vectors.
PASSES = "; passes\n"
# Addresses in full, for what code calls may lie anywhere.
RELOC, MODEL = "default", "jitdefault"


@cache
def machine() -> Value:
    """LLVM's picture of this processor."""
    name, features = _processor()
    return _target().create_target_machine(
        cpu=name, features=features, opt=LEVEL, reloc=RELOC, codemodel=MODEL, jit=True
    )


@cache
def _target() -> Value:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _processor() -> tuple[str, str]:
    """Its name, and what it can."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def circumstances() -> str:
    """Everything besides its text that decides how code is compiled."""
    settings = (disk.FORMAT, version.VERSION, llvmlite.__version__, llvm.llvm_version_info, LEVEL, RELOC, MODEL)
    return repr((*settings, _target().triple, *_processor()))


def external(name: str, address: int) -> str:
    """The name under which code finds what lies at `address`: addresses in a text would be another process's."""
    with COMPILING:
        llvm.add_symbol(f"adjoint.{name}", address)
    return f"@adjoint.{name}"


class NativeModule:
    """Compiled code, which goes when nothing refers to this any more.

    Attributes:
        text: what LLVM compiles; empty, where only its code is known.
        code: what comes of it, ready to be loaded.
        key: the name under which that lies on disk.
        calls: the names of outside functions that it calls; `external` gives their addresses.
        fresh: whether it was compiled just now.
    """

    def __init__(self, text: str, code: bytes | None = None, key: str = "", calls: Sequence[str] = ()) -> None:
        with COMPILING:
            _free()
            self.text, self.code, self.fresh = text, code or _object(text), code is None
            self.key, self.calls = key or _key(text), calls or sorted(set(_OUTSIDE.findall(text)))
            nothing = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(nothing, _target().create_target_machine(jit=True))
            self._engine.remove_module(nothing)  # it would be compiled, too, which takes longer than all else here
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(self.code))
            self._engine.finalize_object()
            _live[weakref.ref(self, _gone.append)] = self._engine

    def address(self, name: str) -> int:
        """Where the function called `name` begins."""
        with COMPILING:
            return int(self._engine.get_function_address(name))


def assembly_of(text: str) -> str:
    """The processor's instructions for it, as text."""
    with COMPILING:
        return str(machine().emit_assembly(_parsed(text)))


_OUTSIDE = re.compile(r'@"?(adjoint\.[\w.]+)')
# The engines of modules. A module may die at any moment, in any thread: the next compilation closes its engine.
_live: dict[weakref.ref[NativeModule], Value] = {}
_gone: list[weakref.ref[NativeModule]] = []


def _free() -> None:
    while _gone:
        engine = _live.pop(_gone[0], None)
        if engine is not None:
            engine.close()
        del _gone[0]  # last, so that an interrupt leaves nothing behind


def _object(text: str) -> bytes:
    return bytes(machine().emit_object(_parsed(text)))


def _parsed(text: str) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.verify()
    if text.startswith(PASSES):
        options = llvm.create_pipeline_tuning_options(2)
        options.slp_vectorization = True
        builder = llvm.create_pass_builder(machine(), options)
        builder.getModulePassManager().run(module, builder)
    return module


def module(text: str) -> NativeModule:
    """The code for `text`: from disk, if it was compiled before."""
    with COMPILING:
        key, kept = _key(text), disk.store()
        made = NativeModule(text, kept.load([key]).get(key), key)
        kept.save({key: made.code} if made.fresh else {})
        return made


# Functions that the kernels of any program may call, by their name: each is a module, which stays.
_shared: dict[str, NativeModule] = {}


def shared(name: str, text: Callable[[], str]) -> str:
    """What code calls the function `name`, which `text` defines."""
    with COMPILING:
        if name not in _shared:
            _shared[name] = module(text())
        return external(name, _shared[name].address(name))


def homes(modules: Iterable[NativeModule]) -> dict[str, str]:
    """The outside names that `modules` call, each with the key of its code if it is a shared function."""
    names = sorted({name.removeprefix("adjoint.") for made in modules for name in made.calls})
    return {name: _shared[name].key if name in _shared else "" for name in names}


class Kernel:
    """One function's address, which keeps the code there."""

    __slots__ = ("__weakref__", "address", "module", "name")

    def __init__(self, module: NativeModule, name: str) -> None:
        self.module, self.name, self.address = module, name, module.address(name)


_known: WeakValues[str, Kernel] = WeakValues()


def compiled(functions: Sequence[FunctionText]) -> list[Kernel]:
    """The kernels for `functions`; those that are not yet there are compiled together."""
    with COMPILING:
        found = {f.key: _known.get(f.key) for f in functions}
        missing = {f.key: f for f in functions if found[f.key] is None}
        for module, group in _modules(list(missing.values())):
            for function in group:
                _known[function.key] = kernel = Kernel(module, function.name)
                found[function.key] = kernel
    return [found[f.key] for f in functions]  # type: ignore[misc]  # none is missing any more


def _modules(functions: Sequence[FunctionText]) -> list[tuple[NativeModule, list[FunctionText]]]:
    """Code for `functions`: from disk in the company in which they were compiled, the rest compiled together.

    On disk lies, by its text, each module; and by the text of each function, the key of the module that has it, and
    what that calls of ours. So a function is found whatever else the process that looks for it has compiled by then.
    """
    kept, keys = disk.store(), {f: _key("in", module_text([f])) for f in functions}
    found: dict[str, tuple[str, list[str]]] = {}
    for key, words in kept.load(keys.values()).items():
        home, *called = words.decode().split()
        if all(map(_has_address, called)):
            found[key] = home, called
    codes = kept.load({home for home, _ in found.values()})
    groups: dict[tuple[str, bool], list[FunctionText]] = {}
    calls: dict[str, list[str]] = {}
    for function, key in keys.items():
        home, called = found.get(key, ("", []))
        groups.setdefault((home, False) if home in codes else ("", function.passes), []).append(function)
        calls[home] = called
    made = [(NativeModule(module_text(group), codes.get(home), home, calls.get(home, ())), group)
            for (home, _), group in groups.items()]  # fmt: skip
    for module, group in made:
        if module.fresh:
            words = " ".join([module.key, *module.calls]).encode()
            kept.save({module.key: module.code, **{keys[f]: words for f in group}})
    return made


def _has_address(name: str) -> bool:
    """Whether LLVM knows where a name is. Without, it would load what calls it all the same, and crash."""
    return bool(llvm.address_of_symbol(name))


def loaded(
    modules: Mapping[str, Sequence[str]], names: Mapping[str, str], provide: Callable[[str], object]
) -> dict[str, Kernel] | None:
    """The kernels of a program that another process has made, by their keys; None, if something is not there.

    Args:
        modules: the keys of its modules, each with those of its functions.
        names: what these call outside; see `homes`.
        provide: called with such a name that has no address yet, and is no shared function's.
    """
    with COMPILING:
        found = {key: kernel for keys in modules.values() for key in keys if (kernel := _known.get(key)) is not None}
        missing = [home for home, keys in modules.items() if not all(key in found for key in keys)]
        own = {name: key for name, key in names.items() if not _has_address(f"adjoint.{name}")}
        codes = disk.store().load({*missing, *filter(None, own.values())})
        for name, key in own.items():
            if key in codes:
                _shared[name] = NativeModule("", codes[key], key)
                external(name, _shared[name].address(name))
            elif not key:
                provide(name)
        called = [f"adjoint.{name}" for name in names]
        if not all(map(_has_address, called)) or not all(home in codes for home in missing):
            return None
        for home in missing:
            made = NativeModule("", codes[home], home, called)
            for key in modules[home]:
                _known[key] = found[key] = Kernel(made, f"k{key}")
        return found


def _key(*parts: str) -> str:
    return disk.key_of(circumstances(), *parts)


class FunctionText:
    """The text of one function, whose name is a digest of its body.

    Args:
        head: ``define void @{name}(…)``, the name left open.
        lines: its body.

    Attributes:
        key: equal for equal functions.
        name: what LLVM calls it.
        text: its definition.
        declared: functions of LLVM's that it calls: their declarations by name.
        helpers: functions of ours that it calls: their definitions by name.
        passes: whether LLVM looks for vectors in it.
    """

    __slots__ = ("declared", "helpers", "key", "name", "passes", "text")

    def __init__(
        self, head: str, lines: Sequence[str], declared: dict[str, str], helpers: dict[str, str] | None = None,
        passes: bool = False,
    ) -> None:  # fmt: skip
        body = "\n".join(lines)
        self.passes = passes
        self.key = hashlib.blake2b(f"{head}\n{body}{PASSES * passes}".encode(), digest_size=12).hexdigest()
        self.name = f"k{self.key}"
        self.text = f"{head.format(name=self.name)} {{\n{body}\n}}\n"
        self.declared, self.helpers = declared, helpers or {}


def module_text(functions: Sequence[FunctionText]) -> str:
    """One module with all `functions`."""
    declared: dict[str, str] = {}
    helpers: dict[str, str] = {}
    for function in functions:
        declared |= function.declared
        helpers |= function.helpers
    text = "\n".join([*declared.values(), *helpers.values(), *(f.text for f in functions)])
    return PASSES + text if any(function.passes for function in functions) else text
