"""The door of one trace: everything that the twins of the user's functions do goes through it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from adjoint.compiler.trace.door.matching import Matching
from adjoint.compiler.trace.inputs import Inputs
from adjoint.compiler.trace.loops.light import Light
from adjoint.compiler.trace.loops.numbers.reaches import Reaches
from adjoint.compiler.trace.loops.numbers.spans import Span, span_of
from adjoint.compiler.trace.loops.through import Through, through, through_call
from adjoint.compiler.trace.loops.turns import NoTurns, RunningLoop
from adjoint.compiler.trace.outside import Again, Outside, Refuse
from adjoint.compiler.trace.rebound import ReboundTensors
from adjoint.compiler.trace.repeats import RecordedAttributes
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.record import CaptureNotes
from adjoint.twin.follow import follow
from adjoint.twin.runtime.fresh import in_call
from adjoint.twin.syntax.names import SourceSpan

NO_KEYWORDS: Mapping[str, Value] = MappingProxyType({})


class Door(Matching):
    """What one trace knows.

    Attributes:
        notes: what the program asks of its values.
        source: what it has drawn.
        attributes: what it has written to attributes of objects from outside.
    """

    def __init__(self, inputs: Inputs, paths: Sequence[str], known: FunctionFacts, notes: CaptureNotes) -> None:
        self.guards, self.inputs = inputs.guards, inputs
        inputs.known_as(list(paths))
        self.leaf_of = {path: k for k, path in enumerate(paths)}
        self.memo, self.of_libraries, self.learned, self.notes = {}, {}, known, notes
        self.varying, self.places = known.varying, known.places
        self.rebound = ReboundTensors(inputs, self.varying)
        self.made_codes, self.made_objects = set(), {}
        self.tuples, self.taken, self.texts = {}, [], []
        self.begun, self._left = [], list[Value]()
        self.depth, self.dead, self.ours = 0, "", False
        self.sourceless = known.sourceless
        self.source, self.attributes = notes.source, RecordedAttributes(self)
        self.keywords: Sequence[str] = ()
        self.loops: Value = None
        self.reaches = Reaches()
        self.light: Light | None = None
        self.running: RunningLoop | None = None  # the innermost loop that runs
        self.iterators: list[tuple[object, Through]] = []  # those that only a loop's header has

    @property
    def fills(self) -> bool:
        return self.learned.fills

    def refuse(self, why: str) -> Refuse:
        self.dead = self.dead or why
        self._left = [g for g in (ref() for ref in self.begun) if g is not None]  # they end when we say so
        return Refuse(self.dead)

    def give_up(self) -> None:
        """End the generators that are left, what they do at their end is refused, and let go of everything."""
        for g in self._left:
            with suppress(Refuse, Again, ValueError):  # ValueError: it is running
                g.close()
        self.guards.forget()
        self.forget()

    def forget(self) -> None:
        """Free the wrappers of outside objects: twins and the door refer to each other."""
        self.inputs.forget()
        self.iterators.clear()
        for o in self.memo.values():
            if isinstance(o, Outside):
                o.read.clear()
        for known in (self.memo, self.of_libraries, self.made_objects, self.tuples):
            known.clear()
        for held in (self.taken, self.texts, self.begun, self._left):
            held.clear()

    def symbolic(self, array: Array, why: str) -> BaseException:
        """What to raise where an array that was made inside should have been part of the program."""
        self.inputs.wrote([array])
        if self.learned.fills:
            return self.refuse(why)
        self.learned.fills = True
        return Again()

    def raises(self) -> None:
        if self.notes.forced and self.light is not None:
            raise self.light.off("another path raises")

    def genuine(self, error: Value) -> Value:
        return self.notes.genuine(error)

    def run(self, f: Function, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """What the twin of `f` gives."""
        given = tuple(self.given(x, f"args[{i}]") for i, x in enumerate(args))
        named = {name: self.given(x, f"kwargs[{name!r}]") for name, x in kwargs.items()}
        self.keywords = tuple(kwargs)
        inside = self.inputs.arguments.inside_transform
        if not inside and follow(f, args) is not f:  # where a twin calls, the plain function would be one too
            self.guards.text("in call", lambda name_of: f"{name_of(in_call)}() is None")
        call = self.with_twin if inside else self.call
        result = self.ended(call(self.known_function(f), given, named))
        self.rebound.check()
        return result

    def turns(self, w: Value, parts: object, site: Value, *names: Value) -> RunningLoop | NoTurns:
        """A loop begins; of its `names` tells `adjoint.twin.recording.loops.loop_names`."""
        code = sys._getframe(1).f_code
        site = (code.co_filename, code.co_qualname, *site)
        if type(w) is Span:
            turns = RunningLoop(self, w.each(), len(w.numbers), (*site, "span"), names, w.numbers, w)
            if parts is None and turns.has_span:
                return turns
            w = self.native(range, (self.value(w.start), self.value(w.stop), w.numbers.step), {})
        each = self.iter(w, parts) if w is not None else None
        if self.loops is None:
            return NoTurns(each)
        found = through(w, self.iterators)
        length = len(w) if type(w) in (list, tuple) else found.length if found is not None else None
        return RunningLoop(self, each, length, site, names, w if type(w) is range else None, through=found)

    def span(self, f: Value, args: tuple[Value, ...] = (), kwargs: Mapping[str, Value] = NO_KEYWORDS) -> Value:
        """``f(*args, **kwargs)``, which a loop goes through, and nobody else has."""
        tried = self.loops is not None and self.loops.trial is not None
        if type(f) is Outside and f.o is range and not tried and not kwargs:
            found = span_of(self.light, args)
            if found is not None:
                return found
        return self.iterator(f, args, kwargs)

    def iterator(self, f: Value, args: tuple[Value, ...] = (), kwargs: Mapping[str, Value] = NO_KEYWORDS) -> Value:
        """``f(*args, **kwargs)`` in the header of a loop: if that gives an iterator, nobody else has it."""
        known, self.iterators = self.iterators, []  # what `f` does with an iterator is not known
        each = self.call(f, args, {**kwargs})
        found = through_call(f.o, args, kwargs, known) if type(f) is Outside else None
        self.iterators = [] if found is None else [(each, found)]
        return each

    def ended(self, found: object) -> Value:
        """What the function gave, since the call is over."""
        if self.dead:
            raise Refuse(self.dead)
        if self.light is not None:
            raise self.light.off("it is left in the midst of a turn")
        for group, now, first in self.inputs.settings:
            for name, value in now.items():
                if value is not first.get(name):
                    self.setitem(self.pinned(group), name, value)
        self.hold_changed_apart()
        return found

    def known_function(self, f: Value) -> object:
        """The function that is recorded: it stays the same one."""
        import types

        from adjoint.compiler.trace.outside import BoundMethod

        if isinstance(f, types.MethodType):
            return BoundMethod(self.known_function(f.__self__), self.pinned(f.__func__))
        return self.pinned(f)


class FunctionFacts:
    """What traces of one function found out for those that come after them."""

    def __init__(self) -> None:
        self.varying: set[Value] = set()
        self.fills = False
        self.places: set[tuple[str, SourceSpan]] = set()  # where functions made inside hold histories
        self.sourceless = False  # whether functions without source may run as they are, with stand-ins
