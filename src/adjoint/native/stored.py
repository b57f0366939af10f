"""Whole programs kept on disk: a process that records the same program as another one need not plan it again.

The key is a digest of the graph as it was recorded (`adjoint.graph.canonical`) and of everything else that decides the
plan: the library's source, versions, the processor, settings, the environment. A graph without a plain form, or one
that may not be found again, has no key, and is planned. The file holds recipes, NumPy's steps by the names of their
operations, and keys of object code, which lies beside it; `adjoint.native.codegen.disk_cache` says whom it trusts.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.objects.plain import NotPlainError, PlainData
from adjoint.core.threads.locks import COMPILING
from adjoint.core.types import Array, Value
from adjoint.core.version import LOADED, PACKAGE
from adjoint.graph.canonical import Canonical
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, placeholder
from adjoint.native.call import array_entry
from adjoint.native.call.driver import Driver, NativeStep, NumpyStep, Runnable
from adjoint.native.call.segment import Segment
from adjoint.native.codegen import disk_cache as disk
from adjoint.native.codegen import jit
from adjoint.native.codegen.loops.loop_nest import Split
from adjoint.native.lower.external import provide as provide_scipys
from adjoint.native.plan.pairs import fourier
from adjoint.native.plan.products import blas
from adjoint.native.plan.recipe import ArrayKind, NativeCall, Recipe

if TYPE_CHECKING:
    from adjoint.native.codegen.jit import Kernel, NativeModule
    from adjoint.native.program import Program
    from adjoint.native.report.listing import Listing

FORMAT = 3
MOST = 1 << 23  # bytes of a file
_SECOND = 1.0
# What else decides a plan: fastmath, memory, and the strides of arguments that do not lie in C order.
PlanSettings = tuple[bool, str, tuple[tuple[int, tuple[int, ...]], ...]]
# Variables of the environment that decide nothing of a plan.
_NOTHING = frozenset({"ADJOINT_CACHE", "ADJOINT_DEBUG", "ADJOINT_VERIFY", "ADJOINT_THREADS"})
_DECIDE = ("ADJOINT_", "NPY_", "OPENBLAS_", "MKL_", "BLIS_", "OMP_", "VECLIB_", "ATLAS_")


def program(
    graph: Graph, into: Mapping[int, int], settings: PlanSettings, make: Callable[[], Program]
) -> Program | Stored:
    """The program of `graph`: from disk, if there is one; else as `make` makes it, which is kept then."""
    canonical = Canonical()
    key = key_of(canonical, graph, into, settings)
    if key is None:
        return make()
    kept = disk.store()
    content = kept.load([key]).get(key)
    found = None
    if content is not None:
        with suppress(Exception):  # whatever is wrong with it, it is planned again
            found = _read(content, canonical, make)
    if found is not None:
        return found
    made = make()
    try:
        written = _written(made, canonical)
    except NotPlainError:
        return made
    if len(written) <= MOST:
        kept.save({key: written})
    return made


def key_of(canonical: Canonical, graph: Graph, into: Mapping[int, int], settings: PlanSettings) -> str | None:
    """The key of the program of `graph`; None if it has none."""
    sources = _sources()
    if not disk.store().folder or sources is None:
        return None
    try:
        data = (canonical.of(graph), tuple(sorted(into.items())), settings, array_entry.supported())
    except NotPlainError:
        return None
    digest = hashlib.blake2b(marshal.dumps(data, 2), digest_size=32).hexdigest()
    return disk.key_of("program", str(FORMAT), sources, jit.circumstances(), _surroundings(), digest)


def _surroundings() -> str:
    """What else decides a plan, and the constants that are computed while it is made."""
    given = {k: v for k, v in os.environ.items() if k.startswith(_DECIDE) and k not in _NOTHING}
    return repr((sys.version, sys.platform, np.__version__, _scipy(), _processor(), sorted(given.items())))


@cache
def _scipy() -> str:
    try:
        return version_of("scipy")
    except PackageNotFoundError:
        return ""


@cache
def _processor() -> list[str]:
    """What NumPy takes the processor to be able to do."""
    features: Value = np._core._multiarray_umath  # type: ignore[attr-defined]  # NumPy's own
    return sorted(name for name, has in features.__cpu_features__.items() if has)


@cache
def _sources() -> str | None:
    """A digest of the library's source; None where what runs may be another one, or there is no source."""
    digest = hashlib.blake2b(digest_size=32)
    files = sorted(Path(PACKAGE).rglob("*.py"))
    for file in files:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_ctime > LOADED - _SECOND:
                return None  # it may have been changed since it was loaded
            content = stream.read()
        name = str(file.relative_to(PACKAGE)).encode()
        digest.update(b"%d %d\n%s" % (len(name), len(content), name))
        digest.update(content)
    return digest.hexdigest() if files else None


class Stored(Runnable):
    """A program from disk. Its plan for reports is made when one is asked for.

    Attributes:
        made: the program, as it is planned.
        modules: its code.
    """

    def __init__(
        self, driver: Driver, into: Mapping[int, int], whole: bool, finite: bool, modules: list[NativeModule]
    ) -> None:  # fmt: skip
        super().__init__(driver, into, whole, finite)
        self.modules = modules
        self.make: Callable[[], Program]

    @cached_property
    def made(self) -> Program:
        with COMPILING:
            return self.make()

    @cached_property
    def otherwise(self) -> Runnable:
        """The program for values that are not finite, made when they come."""
        return self.made.otherwise

    @property
    def loops(self) -> list[str]:
        """Remarks on turns that repeat."""
        return self.made.loops

    def listing(self, *names: Value) -> Listing:
        """The plan; see `Program.listing`."""
        return self.made.listing(*names)

    @property
    def llvm(self) -> str:
        """The code that LLVM was given."""
        return self.made.llvm

    @property
    def assembly(self) -> str:
        """This processor's instructions for it."""
        return self.made.assembly


# -- Files ----------------------------------------------------------------------------------------------


def _written(made: Runnable, canonical: Canonical) -> bytes:
    """A program as bytes."""
    driver, plain = made.driver, PlainData(canonical.plain.objects)
    # Large constants of the graph are in the process that reads this: they are named by their place in the graph.
    known = {id(node.value): i for node, i in canonical.constants.items()}

    def value(x: Array) -> Value:
        return ("given", known[id(x)]) if id(x) in known else ("value", plain.data(x))

    def kinds(of: Value) -> tuple[Value, ...]:
        return tuple([(tuple(kind.shape), plain.data(kind.dtype), kind.label, kind.strides) for kind in of])

    def recipe(of: Recipe) -> tuple[object, ...]:
        return (kinds(of.inputs), kinds(of.outputs), _tuples(of.tasks), tuple(map(value, of.constants)),
                of.arena, of.targets, of.final)  # fmt: skip

    steps: list[Value] = []
    kernels: dict[str, Kernel] = {}
    for step in driver.steps:
        if isinstance(step, NativeStep):
            kernels.update(step.segment.kernels)
            steps.append(("native", recipe(step.segment.recipe), tuple(step.args), tuple(step.outs)))
        else:
            steps.append(("numpy", _node(step.node, plain), tuple(step.args), step.out, step.reason))
    modules = list(dict.fromkeys(kernel.module for kernel in kernels.values()))
    functions = tuple([(module.key, tuple([key for key, kernel in kernels.items() if kernel.module is module]))
                       for module in modules])  # fmt: skip
    data = (
        functions, tuple(jit.homes(modules).items()), kinds(driver.inputs), driver.slots, tuple(steps),
        tuple([(slot, value(x)) for slot, x in driver.constants.items()]),
        tuple([(slot, kinds([kind])[0]) for slot, kind in driver.gives]),
        tuple([(slot, plain.data(x)) for slot, x in driver.asked.items()]), driver.exact,
        tuple(made.into.items()), made.whole, made.finite,
    )  # fmt: skip
    return marshal.dumps(data, 2)


def _tuples(tasks: tuple[NativeCall, ...]) -> tuple[object, ...]:
    return tuple([(*task[:-2], task.split and tuple(task.split), task.turn and _tuples(task.turn)) for task in tasks])


def _tasks(tuples: tuple[Value, ...]) -> tuple[NativeCall, ...]:
    return tuple([NativeCall._make([*words, split and Split(*split), turn and _tasks(turn)])
                  for *words, split, turn in tuples])  # fmt: skip


def _node(node: Node, plain: PlainData) -> tuple[object, ...]:
    """What NumPy computes; its arguments are the step's."""
    settings = tuple([(name, plain.data(x)) for name, x in node.settings.items()])
    op = None if node.op is None else plain.data(node.op)
    return op, settings, len(node.args), plain.data(node.shape), plain.data(node.dtype), node.value


def _read(content: bytes, canonical: Canonical, make: Callable[[], Program]) -> Stored | None:
    """The program of `_written`; None if not all that it needs is there."""
    data = marshal.loads(content)
    functions, names, inputs, slots, told, constants, gives, asked, exact, into, whole, finite = data
    kernels = jit.loaded(dict(functions), dict(names), _provide)
    if kernels is None:
        return None
    plain, known = PlainData(canonical.plain.objects), list(canonical.constants)

    def value(of: tuple[str, Value]) -> Value:
        return known[of[1]].value if of[0] == "given" else plain.value(of[1])

    def kinds(of: Value) -> tuple[ArrayKind, ...]:
        return tuple([ArrayKind(shape, plain.value(dtype), *rest) for shape, dtype, *rest in of])

    def steps() -> Iterator[NativeStep | NumpyStep]:
        for kind, first, *rest in told:
            if kind == "native":
                takes, outputs, tasks, held, *numbers = first
                recipe = Recipe(kinds(takes), kinds(outputs), _tasks(tasks), tuple(map(value, held)), *numbers)
                yield NativeStep(Segment(recipe, kernels, exact), *rest)
            else:
                op, settings, count, shape, dtype, part = first
                args = tuple([placeholder("") for _ in range(count)])
                given = {name: plain.value(x) for name, x in settings}
                op = None if op is None else plain.value(op)
                yield NumpyStep(Node(op, args, given, plain.value(shape), plain.value(dtype), part, None), *rest)

    driver = Driver(
        kinds(inputs), slots, list(steps()), {slot: value(x) for slot, x in constants},
        [(slot, kinds([kind])[0]) for slot, kind in gives], {slot: plain.value(x) for slot, x in asked}, exact,
    )  # fmt: skip
    stored = Stored(
        driver, dict(into), whole, finite, list(dict.fromkeys(kernel.module for kernel in kernels.values()))
    )
    stored.make = make
    return stored


def _provide(name: str) -> None:
    """Tell LLVM where what a kernel calls begins: BLAS's routines, NumPy's transforms, and SciPy's functions."""
    if name.startswith("scipy."):
        provide_scipys()
    elif name.startswith("pocketfft."):
        fourier.provide(name)
    else:
        jit.external(name, blas.address(name))
