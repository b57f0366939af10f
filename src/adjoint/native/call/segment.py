"""A segment: the tasks of a recipe that run in one native call, with the memory that they use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, SharedMemoryError
from adjoint.core.memory import overlap
from adjoint.core.types import Array, Function, Value
from adjoint.native.call import array_entry as entry
from adjoint.native.call import pool
from adjoint.native.codegen import cpython
from adjoint.native.codegen.jit import Kernel
from adjoint.native.codegen.loops.loop_nest import Split
from adjoint.native.plan.recipe import ArrayKind, NativeCall, Recipe

Kernels = Mapping[str, Kernel]
# Steps that move more bytes than this, or multiply as long, are interrupted between: 10 to 50 ms.
PATIENCE = 1 << 27
LONG = 1 << 20  # so many in all take longer than it takes to let other threads run meanwhile


class Segment:
    """Arrays in, a list of new arrays out, and some of the arrays written; None if a check failed.

    Args:
        recipe: what is done, and with which arrays.
        kernels: the code of the tasks, by the key of its function.
        exact: refuse arrays of another dtype, instead of converting them.

    `run` is the built-in function, and `held` the same with a list before the arrays, which gets the results too,
    where there is one; what does not fit it comes back to `_slow`. If it is `long`,
    other threads run meanwhile.
    """

    def __init__(self, recipe: Recipe, kernels: Kernels, exact: bool = False) -> None:
        self.recipe, self.kernels, self.exact = recipe, kernels, exact
        endless = any(task.unfinished is not None for task in recipe.tasks)  # nobody knows how long it takes
        self.long = endless or sum(task.work for task in recipe.tasks) > LONG
        self._instances = [_Instance(self, self._slow)]
        self.run: Function = self._instances[0].run
        self.held: Function | None = entry.held(self._instances[0].words) if entry.supported() else None

    def _slow(self, *args: Array) -> tuple[Function, tuple[np.ndarray, ...]]:
        """The function to call for arguments that do not fit the native function, and while that one is busy.

        Nothing of Python's comes after what is written, so the native function itself calls it.
        """
        inputs, targets = self.recipe.inputs, self.recipe.targets
        arrays = fitted(inputs, args, self.exact)
        for i in targets:
            if arrays[i] is not args[i] or not args[i].flags.writeable:
                raise SharedMemoryError(
                    f"{inputs[i].label} is to be written; got an array that is read-only, or lies otherwise: pass "
                    f"a copy of it"
                )
        if targets and overlap((x, i in targets) for i, x in enumerate(args)):
            raise SharedMemoryError("an array that is to be written shares memory with another argument: pass a copy")
        free = next((known for known in self._instances if not known.words[entry.PROGRAM.number("busy")]), None)
        if free is None:
            free = _Instance(self, self._slow)
            self._instances.append(free)
        free.trust(arrays)
        return free.run, tuple(arrays)

    def instance(self) -> _Instance:
        """A native function with memory that only it uses."""
        return _Instance(self, self._slow)


class _Instance:
    """A native function with an arena of its own."""

    def __init__(self, segment: Segment, slow: Function) -> None:
        recipe = segment.recipe
        inputs, outputs, constants = recipe.inputs, recipe.outputs, recipe.constants
        count = len(inputs) + len(outputs)
        arena = np.empty(recipe.arena // 8 + 8, np.int64)
        start = -(-arena.ctypes.data // 64) * 64
        flag = np.zeros(1, np.int64)
        block = np.array([0] * count + [c.ctypes.data for c in constants] + [start, flag.ctypes.data], np.int64)
        params = _params(recipe.tasks, segment.kernels)
        steps = np.array([*_calls(recipe, segment.kernels, params, start), 0], np.int64)
        if any(p.parts is not None for p in params):
            pool.ready()
        dims = [np.array([*kind.shape, 0], np.int64) for kind in (*inputs, *outputs)]
        self.kinds = np.zeros((len(inputs) + 1, entry.KIND.size // 8), np.int64)
        self.targets = recipe.targets
        strides = [np.array(kind.strides or (), np.int64) for kind in inputs]
        for i, (kind, d) in enumerate(zip(inputs, dims, strict=False)):
            number = 0 if kind.shape else id(kind.dtype.type)
            flags = (entry.ALIGNED if kind.strides else entry.GOOD) | entry.WRITEABLE * (i in self.targets)
            self.kinds[i] = entry.KIND.words(
                dtype=id(kind.dtype), rank=len(kind.shape), dims=d.ctypes.data, plain=number, flags=flags,
                trusted=i in self.targets, bytes=kind.reach,  # trusted nowhere: no array is at 1
                strides=strides[i].ctypes.data if kind.strides else 0,
            )  # fmt: skip
        self.spans = np.zeros((len(self.targets) + 1, entry.SPAN.size // 8), np.int64)
        outs: list[int] = []
        for kind, d in zip(outputs, dims[len(inputs) :], strict=True):
            outs += entry.RESULT.words(dtype=id(kind.dtype), rank=len(kind.shape), dims=d.ctypes.data)
        table = np.array(outs or [0], np.int64)
        others = (arena, constants, block, params, steps, dims, strides, self.kinds, self.spans, table, flag,
                  segment.kernels)  # fmt: skip
        self.words = cpython.table(
            entry.PROGRAM.words(
                count=len(inputs), outs=len(outputs), steps=len(steps) // 2, block=block.ctypes.data,
                table=steps.ctypes.data, kinds=self.kinds.ctypes.data, results=table.ctypes.data, slow=id(slow), busy=0,
                releases=int(segment.long), targets=len(self.targets), spans=self.spans.ctypes.data,
                flag=flag.ctypes.data,
            ),
            entry.TableOwners(slow, inputs, outputs, others),
        )  # fmt: skip
        make = entry.builtin if entry.supported() else entry.by_ctypes
        self.run = make(self.words)

    def trust(self, arrays: Sequence[np.ndarray]) -> None:
        """Note where the arrays lie that are written: they are known to share no memory with others there."""
        for k, i in enumerate(self.targets):
            address = arrays[i].ctypes.data
            self.kinds[i, entry.KIND.number("trusted")] = address
            self.spans[k] = entry.SPAN.words(low=address, high=address + arrays[i].nbytes)


class CodeArguments(NamedTuple):
    """The arguments of a step's code: the places of its operands, and numbers; for a loop, also the table of a turn.

    For a step in parts, `parts` are the arguments of each, and `words` say where these are.
    """

    words: np.ndarray
    inside: tuple[np.ndarray, list[CodeArguments]] | None
    parts: Value = None


def _params(tasks: Sequence[NativeCall], kernels: Kernels, nested: bool = False) -> list[CodeArguments]:
    """For each task, its numbers. A nested loop runs all its turns in one call."""
    made = []
    for task in tasks:
        words = [word for operand in task.operands for word in operand]
        numbers, inside = list(task.numbers), None
        if task.turn is not None:
            params = _params(task.turn, kernels, True)
            each = zip(task.turn, params, strict=True)
            table = np.array([w for t, p in each for w in _called(t, p, kernels)] or [0], np.int64)
            inside = table, params
            numbers = [numbers[nested], numbers[1], table.ctypes.data, *numbers[3:]]
        parts = [] if nested or task.split is None else list(_parts(task.split, words, numbers))
        if len(parts) > 1 and pool.supported():
            job, kept = pool.job(kernels[task.kernel].address, parts)
            made.append(CodeArguments(job, inside, kept))
        else:
            made.append(CodeArguments(np.array([*words, *numbers, 0], np.int64), inside))
    return made


def _parts(split: Split, words: Sequence[int], numbers: Sequence[int]) -> Iterator[np.ndarray]:
    """The arguments of each part of a step. The number of parts depends on the step, not on the number of threads."""
    count = min(pool.PARTS, int(split.time // pool.PART), split.length // split.quantum)
    if split.time < pool.LEAST or count < 2:
        return
    each = -(-split.length // (count * split.quantum)) * split.quantum
    for start in range(0, split.length, each):
        stop = min(start + each, split.length)
        own, told = list(words), list(numbers)
        for k, shift in enumerate(split.shifts):
            own[2 * k + 1] += shift * start
        first = split.at[0]
        for at in split.at:
            told[at] = stop - start
        if not split.shifts:
            told[first : first + 2] = numbers[first] + start, numbers[first] + stop
        yield np.array([*own, *told, 0], np.int64)


def _called(task: NativeCall, params: CodeArguments, kernels: Kernels) -> list[int]:
    """The addresses of a task's code and of its numbers; of one in parts, of what runs these."""
    code = kernels[task.kernel].address if params.parts is None else pool.spread()
    return entry.STEP.words(kernel=code, numbers=params.words.ctypes.data)


def _calls(recipe: Recipe, kernels: Kernels, params: Sequence[CodeArguments], arena: int) -> list[int]:
    """Addresses of code and of its numbers, in turn; zeros where it is asked whether the user wants to stop.

    In place of the second zero there may be the address of a word: if that is not 0, the step before is called again.
    """
    calls: list[int] = []
    cost = 0
    for i, (task, numbers) in enumerate(zip(recipe.tasks, params, strict=True)):
        if cost and cost + task.work > PATIENCE and i <= recipe.final:
            calls += entry.STEP.words(kernel=0, numbers=0)
            cost = 0
        cost += task.work
        if task.unfinished is not None:
            calls += _called(task, numbers, kernels)
            calls += entry.STEP.words(kernel=0, numbers=arena + task.unfinished)
            continue
        times = 1 if task.turn is None else -(-task.numbers[1] // task.numbers[0])
        for k in range(times):
            calls += entry.STEP.words(kernel=0, numbers=0) if k and i <= recipe.final else ()
            calls += _called(task, numbers, kernels)
    return calls


def fitted(inputs: Sequence[ArrayKind], args: Sequence[Array], exact: bool = False) -> list[np.ndarray]:
    """Arguments as arrays of the inputs' dtypes and shapes, which lie as the inputs do."""
    if len(args) != len(inputs):
        raise ArgumentError(f"the program takes {len(inputs)} arrays; got {len(args)}")
    arrays = []
    for node, arg in zip(inputs, args, strict=True):
        if exact and (isinstance(arg, Box) or (isinstance(arg, np.ndarray) and arg.dtype != node.dtype)):
            got = type(arg).__name__ if isinstance(arg, Box) else arg.dtype
            raise ArgumentError(f"the program was built for dtype {node.dtype} of {node.label}; got {got}")
        array: np.ndarray = np.require(arg, node.dtype, ["C", "A", "E"] if node.strides is None else ["A", "E"])
        array = array.reshape(()) if not node.shape and array.shape == (1,) and np.ndim(arg) == 0 else array
        if array.dtype is not node.dtype:  # an equal dtype, but another object
            array = array.astype(node.dtype).view(node.dtype)
        if array.shape != node.shape:
            raise ArgumentError(f"the program was built for shape {node.shape} of {node.label}; got {array.shape}")
        arrays.append(array if node.strides in (None, array.strides) else _laid(array, node))
    return arrays


def _laid(array: np.ndarray, kind: ArrayKind) -> np.ndarray:
    """A copy that lies as an argument of this kind has to."""
    copy: np.ndarray = np.ndarray(kind.shape, kind.dtype, np.empty(kind.reach, np.uint8).data, 0, kind.strides)
    copy[...] = array
    return copy
