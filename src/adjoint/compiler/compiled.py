"""`Compiled`: a function with its traces, and the choice of one for each call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from itertools import starmap
from types import FunctionType
from typing import TYPE_CHECKING, Concatenate, Generic, overload

import numpy as np

from adjoint.arrays.named import NamedArray, with_arrays
from adjoint.compiler.backend import Options
from adjoint.compiler.call.argument_checks import MISS
from adjoint.compiler.call.fast_path import Direct, written_for
from adjoint.compiler.call.selecting import Select, Selector
from adjoint.compiler.call.signatures import LEAVES, signature_of
from adjoint.compiler.call.uncompiled import uncompiled
from adjoint.compiler.call.whole_numbers import WholeNumbers
from adjoint.compiler.explaining import CompiledReports
from adjoint.compiler.methods import Methods, methods_of
from adjoint.compiler.recording.arguments import FlatCall, Parameters
from adjoint.compiler.recording.recorder import record
from adjoint.compiler.recording.tracing import Trace
from adjoint.compiler.trace.door.door import FunctionFacts
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, SharedMemoryError, WrongCodeError
from adjoint.core.exchanges import exchanging
from adjoint.core.objects.trees import flatten
from adjoint.core.threads.locks import RECORDING
from adjoint.core.types import Array, C_co, Function, P, Q, R, T, Value
from adjoint.graph.captures.record import heeds_errors
from adjoint.graph.node import frozen
from adjoint.tape.checkpoints.sameness import note_compiled
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor
from adjoint.twin.follow import callee, follow

if TYPE_CHECKING:
    from adjoint.core.threads.scheduler import Future

MOST_SPECIALIZATIONS = 16  # of a function of one signature; beyond them it runs as it is
MOST_ANSWERS = 256  # to questions of traces without use, from the fourth of these on: further ones would have none
MOST_KINDS = 256  # kinds of arguments that are recorded; others run as they are
MOST_VALUES = 64  # of a whole number, among arguments that are otherwise alike: no counter goes on for ever
MOST_REBOUND = 32  # times that other values outside its arguments make it record anew; floats there become inputs
MOST_TRIES = 8  # of functions that raise while they are recorded
PATIENCE = 5.0  # seconds to wait for another thread that records
MOST_DIRECT = 4  # fast paths that are tried one after another: more are found by a look at the arguments
NOISE = "a question depends on how results are rounded, and native code rounds some differently"


def _of_function(name: str) -> Value:
    """An attribute that is the function's own, so that what is written there takes effect."""
    return property(lambda self: getattr(self.function, name), lambda self, value: setattr(self.function, name, value))


class Compiled(CompiledReports, Generic[C_co]):
    """A function that records itself. Made by `adjoint.compile`."""

    __defaults__, __kwdefaults__, __code__ = map(_of_function, ("__defaults__", "__kwdefaults__", "__code__"))

    def __init__(self, f: C_co, options: Options) -> None:
        update_wrapper(self, f, updated=("__dict__",) if isinstance(f, FunctionType) else ())
        self.function, self.options = f, options
        self._specializations: dict[Value, list[Trace]] = {}
        self._reasons: dict[Value, str] = {}
        self._methods: dict[int, Methods] = {}  # of instances that take no attributes
        self._fixed: dict[Value, Compiled[Function]] = {}
        self._signed: Parameters | None = None
        self._directs: tuple[Direct, ...] = ()
        self._uncompiled: dict[Value, Direct] = {}  # of signatures that run as they are
        self._selector = Selector()
        self._select: Callable[[Value, Value], tuple[Direct, ...]] | None = None  # where there are too many to try all
        self._numbers = WholeNumbers()
        self._others = ""  # why further kinds of arguments run as they are
        self._tries: dict[Value, int] = {}
        self._rebound: dict[Value, int] = {}  # how often traces were of no use any more
        self._known = FunctionFacts()  # what traces found out for later ones
        self._once: set[Value] = set()  # kinds of arguments that came once
        self.halves: dict[int, Value] = {}  # of traces, by their ids, for `submit`

    def __getattr__(self, name: str) -> object:
        """What a compiled module has besides: ``parameters()``, ``train()``, ``state_dict()``."""
        if name[:2] == "__" or "function" not in vars(self):
            raise AttributeError(name)
        return getattr(self.function, name)

    @overload
    def __get__(self, instance: None, owner: Value = ...) -> Compiled[C_co]: ...
    @overload
    def __get__(
        self: Compiled[Callable[Concatenate[T, Q], R]], instance: T, owner: Value = ...
    ) -> Compiled[Callable[Q, R]]: ...
    @overload  # of a static method
    def __get__(self, instance: object, owner: Value = ...) -> Compiled[C_co]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Value:
        """A method: each instance has traces of its own."""
        if instance is None:
            return self
        made: dict[Value, Value] = methods_of(instance, self._methods)
        if self not in made:
            made[self] = Compiled(self.function.__get__(instance, owner), self.options)
        return made[self]

    def __reduce__(self) -> str | tuple[object, ...]:
        """As functions are kept: by name, where it is found so; else its function, to be recorded anew."""
        found: Value = sys.modules.get(self.__module__)
        for name in getattr(self, "__qualname__", "?").split("."):
            found = getattr(found, name, None)
        return getattr(self, "__qualname__", "") if found is self else (Compiled, (self.function, self.options))

    if TYPE_CHECKING:
        __call__: C_co  # a call is one of the function itself, with its overloads
    else:

        def __call__(self, *args, **kwargs):
            for direct in self._directs:
                answer = direct(args, kwargs)
                if answer is not MISS:
                    return answer
            if self._select is not None:
                for direct in self._select(args, kwargs):
                    answer = direct(args, kwargs)
                    if answer is not MISS:
                        self._directs = (direct,) if self._directs else ()
                        return answer
            for direct in self._uncompiled.values():
                answer = direct(args, kwargs)
                if answer is not MISS:
                    return answer
            if any(isinstance(x, NamedArray) for x in (*args, *kwargs.values())):  # what ``t.data`` gives
                return with_arrays(self, args, kwargs)
            return (self._with_static if self.options.static else self._by_slow_path)(args, kwargs)

    def submit(self: Compiled[Callable[P, R]], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Hand a call over, and go on: its result comes as an `adjoint.Future`.

        Calls take effect in the order of the program: one that reads what another writes (parameters, gradients, the
        state of optimisers) waits for it, and so does code that looks at such a tensor. Calls that share nothing run at
        once, on several threads. The arrays that are given are copied, so they may be overwritten at once. At most
        eight calls are under way; to hand over a further one waits.

        What cannot run beside the program runs before this returns: the first calls, until there is native code;
        calls that draw random numbers, write other things than tensors and optimisers, go on in a graph, or give back
        an argument.

        Returns:
            The future. Its ``result()`` raises what the call raised. Calls that depend on one that failed are not run
            until its result was asked for: their futures raise `NotRunError`.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> from adjoint import nn, optim
            >>> model = nn.Linear(3, 1)
            >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
            >>> @ad.compile(wait=True)
            ... def step(x, y):
            ...     optimizer.zero_grad()
            ...     loss = ((model(x) - y) ** 2).mean()
            ...     loss.backward()
            ...     optimizer.step()
            ...     return loss.detach()
            >>> losses = [step.submit(np.ones((2, 3)), np.ones((2, 1))) for _ in range(20)]
            >>> losses[-1].result().item() < losses[0].result().item()
            True
        """
        from adjoint.compiler.call.submitting import submitted

        if self.options.static:
            fixed, given = self._fixed_for(args, kwargs)
            return submitted(fixed, (), given)
        return submitted(self, args, kwargs)

    def _by_slow_path(self, args: Value, kwargs: Value) -> Value:
        """The answer by a trace that holds; else the function's, which may be recorded."""
        note_compiled()
        # Modes that see each operation (detect_anomaly, trace_backward, hooks), or errors of numbers that are raised.
        if recording_floor.observers() or heeds_errors():
            return self.function(*args, **kwargs)
        function: Function = self.function
        if any(issubclass(type(x), Box) and x.level > 0 and not issubclass(type(x), Tensor) for x in args):  # jvp, vmap
            return follow(function, args)(*args, **kwargs)
        try:
            function, inside = callee(function, args, kwargs)
            leaves, rebuild = flatten((args, kwargs))
            hash(key := self._numbers.left_out(signature_of(leaves, rebuild), self._specializations))
            if function is not self.function and not inside:  # a twin calls, and the plain function would be one too
                key = None
        except Exception:  # containers within themselves, keys without hash, or whose own order or hash raises
            return function(*args, **kwargs)
        is_new = key not in self._specializations
        if key in self._reasons and function is self.function:
            self._stay_plain(key, FlatCall(args, kwargs, leaves, rebuild))
        if key is None or key in self._reasons or (is_new and (self._is_full(key) or self._is_first(key))):
            return function(*args, **kwargs)
        call = FlatCall(args, kwargs, leaves, rebuild)
        specializations = tuple(self._specializations.get(key, ()))
        with exchanging() as begin:
            try:
                answer = self._by(specializations, call, begin)
                if answer is MISS:
                    answer = self._recorded(key, specializations, call, begin)
            except SharedMemoryError:
                answer = MISS
            if answer is MISS:
                begin()
                answer = function(*args, **kwargs)
        return answer

    def _by(
        self,
        specializations: Sequence[Trace],
        call: FlatCall,
        begin: Callable[[], None],
        values: list[Array] | None = None,
        is_new: bool = False,
    ) -> object:
        """The result of the latest of `specializations` that holds; MISS, if none does. `values`: its outputs, if any.

        One that `is_new`, recorded with this very call, holds.
        """
        for trace in reversed(specializations):
            if is_new or trace.holds(call.args, call.kwargs):
                if values is None:
                    begin()
                try:
                    answer = trace(call.leaves, call.args, call.kwargs, values)
                except (WrongCodeError, SharedMemoryError):
                    raise
                except Exception:  # another specialization of the function, or an error that this says better itself
                    continue
                trace.used = trace.used or not is_new or not self._selector.known
                if trace.used:
                    self._shorten(trace, call)
                return answer
        return MISS

    def _is_first(self, key: object) -> bool:
        """Whether to wait for another call before recording: a function that is called once gains nothing."""
        if self.options.wait or self.options.backend == "numpy" or key in self._once or self._exchanges:
            return False
        if len(self._once) >= MOST_KINDS:
            self._once.clear()
        self._once.add(key)
        return True

    def _is_full(self, key: object) -> bool:
        """Whether there are so many traces that arguments of a new kind are not recorded."""
        if self._numbers.values_of(key) >= MOST_VALUES:
            self._others = f"its whole numbers had {MOST_VALUES} values: pass what varies as arrays or floats"
        elif len(self._specializations) >= MOST_KINDS:
            self._others = f"it was called with {MOST_KINDS} kinds of arguments"
        else:
            return False
        return True

    def _shorten(self, trace: Trace, call: FlatCall) -> None:
        """Use the fast path from the next call on, if there is one by now."""
        if trace.direct is None:
            trace.direct, trace.sight = written_for(trace, call.leaves, call.rebuild)
        if trace.direct is not None and trace.direct not in self._selector.known:
            self._selector.add(trace.direct, trace.sight)
            self._choose()

    def _stay_plain(self, key: Value, call: FlatCall) -> None:
        """Call the function itself for arguments like these, from the next call on, with few checks."""
        if key not in self._uncompiled and len(self._uncompiled) < MOST_DIRECT:
            direct = uncompiled(self.function, call, _varying(key, call.leaves))
            if direct is not None:
                self._uncompiled = {**self._uncompiled, key: direct}

    def _choose(self) -> None:
        """Which fast paths are tried: all in turn, or the latest one and those that are selected; of traces that live.

        Others keep what they read, which may be another model's by now.
        """
        selector = self._selector
        selector.keep({known.direct for each in self._specializations.values() for known in each})
        directs = tuple(selector.known)[::-1]
        many = len(directs) > MOST_DIRECT or selector.by_dtype
        self._select = selector.select if many else None
        self._directs = directs if not many else () if selector.by_dtype else directs[:1]
        if self._exchanges:
            select: Select = selector.select if many else lambda args, kwargs: directs
            self._directs, self._select = (partial(self._exchanging, select),), None

    @property
    def _exchanges(self) -> bool:
        """Whether the function exchanges with other processes. All of them change to native code at once."""
        return any(known.exchanges for each in self._specializations.values() for known in each)

    def _exchanging(self, select: Select, args: Value, kwargs: Value) -> Value:
        """A call of a function that exchanges with other processes: once, though several traces begin."""
        with exchanging() as begin:
            for direct in select(args, kwargs):
                begin()
                answer = direct(args, kwargs)
                if answer is not MISS:
                    return answer
            begin()
            return self._by_slow_path(args, kwargs)

    def _with_static(self, args: object, kwargs: object) -> Value:
        """The call, by the function of the other arguments."""
        fixed, given = self._fixed_for(args, kwargs)
        return fixed(**given)

    def _fixed_for(self, args: object, kwargs: object) -> tuple[Compiled[Function], dict[str, object]]:
        """The function of the other arguments, compiled for these values of the static ones; and these others."""
        if self._signed is None:
            self._signed = Parameters(self.function)
        given = self._signed.given(args, kwargs)
        missing = self.options.static - given.keys()
        if missing:
            raise ArgumentError(
                f"compile: static names {', '.join(sorted(missing))}, which is no argument of {self.function!r}; it "
                f"has {', '.join(given)}"
            )
        values = {name: given.pop(name) for name in sorted(self.options.static)}
        key = frozen(values)
        if key not in self._fixed:
            self._fixed[key] = Compiled(partial(self.function, **values), self.options._replace(static=frozenset()))
        return self._fixed[key], given

    def _recorded(self, key: object, tried: Sequence[Trace], call: FlatCall, begin: Callable[[], None]) -> object:
        """The answer of a new trace, since none that there are, `tried` among them, is for this call; or MISS."""
        taken: list[bool] = []
        try:
            taken.extend(starmap(RECORDING.acquire, ((True, PATIENCE),)))  # no signal comes between
            if True not in taken:
                return MISS
            others = [known for known in self._specializations.get(key, ()) if known not in tried]
            if others:  # another thread was faster
                answer = self._by(others, call, begin)
                if answer is not MISS:
                    return answer
            begin()
            made, values = self._record(key, tried, call)
        finally:
            if True in taken:
                RECORDING.release()
        if (self.options.wait or (made and made.exchanges)) and self.options.backend == "native":
            values = None  # native code gives them, as it will at later calls
        return MISS if made is None else self._by([made], call, begin, values, is_new=True)

    def _record(self, key: Value, tried: Sequence[Trace], call: FlatCall) -> tuple[Trace | None, list[object] | None]:
        """A new trace for this call, and what its outputs are, where known; None if there can be none."""
        varies = _varying(key, call.leaves)
        self.halves = {}
        if key not in self._specializations:
            self._numbers.count(key)
        specializations = self._specializations.setdefault(key, [])
        gone = [known for known in specializations if not known.guards.may_return(call.args, call.kwargs)]
        asked = [known for known in tried if known.graph.guards and known.holds(call.args, call.kwargs)]
        for known in gone:
            self._known.varying.update(known.guards.changed())
        trace, reason, again, values = record(
            self.function, call.args, call.kwargs, call.leaves, varies, self.options.runner, self._known
        )
        if self._numbers.asked_for(key, trace):
            del self._specializations[key]
            self._choose()
            return None, None
        specializations[:] = [
            known for known in specializations if known not in gone
        ]  # what is rebound does not come back
        self._rebound[key] = self._rebound.get(key, 0) + bool(gone)
        if trace is not None:
            for twin in [known for known in asked if known in specializations and known.outcomes() == trace.outcomes()]:
                trace.runner.stay(NOISE)  # where it was asked natively, the answer was another
                specializations.remove(twin)
            specializations.append(trace)
        self._choose()
        if again and self._tries.setdefault(key, 0) < MOST_TRIES:
            self._tries[key] += 1
        elif reason or len(specializations) > MOST_SPECIALIZATIONS or _in_vain(specializations):
            most = len(specializations) - 1
            self._reasons[key] = reason or f"it needs more than {most} specializations for one signature"
            specializations[:] = [known for known in specializations if known.used]  # others would be tried in vain
            self._choose()
        elif self._rebound[key] > MOST_REBOUND:
            self._reasons[key] = f"what it finds outside of its arguments was another {MOST_REBOUND} times"
        return trace, values


def _varying(key: Value, leaves: Sequence[Value]) -> list[bool]:
    """Which of the arguments' leaves are inputs of programs for this signature."""
    kinds = zip(leaves, key[LEAVES:], strict=True)
    return [isinstance(x, np.ndarray | np.generic | Tensor) or type(x) in (float, complex) or part is int
            for x, part in kinds]  # fmt: skip


def _in_vain(specializations: Sequence[Trace]) -> bool:
    """Whether so many answers were recorded without use that a later call will hardly get the same ones."""
    unused = [known for known in specializations if not known.used]
    return len(unused) > 3 and sum(len(known.graph.guards) for known in unused) > MOST_ANSWERS
