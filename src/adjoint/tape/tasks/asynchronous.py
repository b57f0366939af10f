"""`asynchronous`: a block in which operations on large arrays are tasks, and tensors hold values that come later.

In the block the fast paths are not taken, as with observers. `record` asks for the operands in the form that tasks
need (`Operands.taken`). From there on values are arrays of one more kind, `Later`, forward and backward.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial

import numpy as np

from adjoint.arrays import later
from adjoint.arrays.later import Later
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.op import Op
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.threads.scheduler import Scheduler
from adjoint.core.threads.switches import Setting
from adjoint.core.types import Array, Value
from adjoint.tape.modes import Observing
from adjoint.tape.observers.lines import line_of, users_place
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations
from adjoint.tape.zeros.selected import RuleRun

MOST_THREADS = 64


class Operands:
    """Gives tasks memory that is not written: a copy, which for tensors holds until something is written."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Value, Later]] = {}
        self._moment: Value = None

    def __call__(self, node: object, values: Array, wanted: Value, out: Array) -> None:
        """It is no observer of nodes."""

    def around(self, run: RuleRun) -> RuleRun:
        """`run`, with rules of operations that are carried out at once carried out at once too."""

        def rule(node: Value, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Sequence[Value]:
            # NumPy multiplies complex numbers into memory that it finds free, and then in another order.
            is_real = all(getattr(getattr(x, "dtype", None), "kind", "") != "c" for x in (g, *saved))
            if is_real and (later.can_wait(pullback.op) or later.only_looks(pullback.op)):
                return run(node, pullback, g, saved)
            return run(node, pullback, _arrived(g), tuple(map(_arrived, saved)))

        return rule

    def taken(self, op: Op, values: list[Array], args: Sequence[Array]) -> list[Value]:
        """`values`, the operands of `op`, which came as `args`."""
        if not later.can_wait(op):
            return values
        if not any(type(x) is Later or (type(x) is np.ndarray and x.size >= later.LARGE) for x in values):
            return values
        given: list[Value] = [  # a copy of others would lie otherwise than they do, and they are not handed over
            self._taken(x, arg) if type(x) is np.ndarray and (x.flags.c_contiguous or op.name == "matmul") else x
            for x, arg in zip(values, args, strict=True)
        ]
        if op.name == "matmul" and _is_turned(*values):  # BLAS multiplies x @ x.T otherwise than other matrices
            given[1] = later.later(given[0].layers[0].mT)
        return given

    def _taken(self, array: np.ndarray, arg: Array) -> Later:
        if not (isinstance(arg, Tensor) and arg.node is not None):
            return later.later(np.array(array))
        moment = mutations.latest()
        if moment != self._moment:
            self._copies.clear()
            self._moment = moment
        if id(array) not in self._copies:
            self._copies[id(array)] = array, later.later(np.array(array))
        return self._copies[id(array)][1]


def _is_turned(x: Array, y: Array) -> bool:
    """Whether `y` is the transposed view of the matrix `x`."""
    return (
        type(x) is type(y) is np.ndarray
        and x.ndim == y.ndim == 2
        and (x.ctypes.data, x.shape, x.strides) == (y.ctypes.data, y.shape[::-1], y.strides[::-1])
    )


@cache
def _scheduler(threads: int) -> Scheduler:
    return Scheduler(_nothing, _nothing, threads, later.MOST_AHEAD, stops=False)


def _arrived(x: Array) -> object:
    """`x`, with the values of what was on its way."""
    if type(x) in (tuple, list):
        return type(x)(map(_arrived, x))
    return x.arrived() if isinstance(x, Box) else x


def _nothing(thing: object) -> None:
    """Do nothing: no other code can reach what these tasks write."""


def _place() -> Value:
    return partial(line_of, users_place())


@contextmanager
def asynchronous(threads: int | None = None) -> Iterator[None]:
    """A block in which operations on large arrays are handed over, and run on `threads` threads.

    They give tensors at once, whose values are on their way; so do backward passes. Asking for a value (``item``,
    ``numpy``, ``print``, ``if``) waits for just what that needs. The bits are those of the same program without the
    block. Handed over are elementwise functions, reductions and matrix products of 65,536 elements and more, and those
    that use what is on its way; others are carried out at once, and so are rules of complex numbers. The end of the
    block waits for what is left.

    An error is raised where a value is asked for, with the line of the operation.

    Args:
        threads: how many; by default one for each core that this process may use.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor(np.linspace(0, 1, 100_000), requires_grad=True)
        >>> with ad.asynchronous(threads=2):
        ...     loss = np.sum(np.sin(x)) + np.sum(np.exp(x))
        ...     loss.backward()
        >>> np.allclose(x.grad, np.cos(x.numpy()) + np.exp(x.numpy()))
        True
    """
    count = cores() if threads is None else threads
    if not isinstance(count, int) or not 0 < count <= MOST_THREADS:
        raise ArgumentError(f"asynchronous: threads is a number from 1 to {MOST_THREADS}; got {threads!r}")
    scheduler = _scheduler(count)
    with Setting(later.current, later.AsynchronousBlock(scheduler, _place)), Observing(asynchronous=Operands()):
        try:
            yield
        finally:
            scheduler.wait()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
