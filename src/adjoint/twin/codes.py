"""The codes of functions, rewritten for one policy: each once, and kept as long as the original lives."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from types import CellType, CodeType, FunctionType

from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Value
from adjoint.twin.policy import has_module
from adjoint.twin.syntax.facts import Facts
from adjoint.twin.syntax.known import Standing
from adjoint.twin.syntax.names import PREFIX, SourceSpan
from adjoint.twin.syntax.rewrite import Rewriter
from adjoint.twin.syntax.source import NoTwinError, build, deeply, file_of, find

#: Names that decided, with where they are looked up, and what they were.
Depends = tuple[tuple[Mapping[str, Value], str, Value], ...]
#: Codes that were made here, with those inside of them: never to be rewritten again.
OURS: WeakIds[CodeType, None] = WeakIds()
# How many codes are kept of functions whose globals are no module's: what they depend on holds these globals.
_PASSING = 256


@dataclass
class Rewritten:
    """What rewriting a code gave: the new one, or None where the function is as good as its twin.

    `always` is False where it is as good but for arguments that are lists of tensors.
    """

    new: CodeType | None = None
    always: bool = True
    constants: Mapping[str, object] = field(default_factory=dict)
    stored: frozenset[SourceSpan] = frozenset()
    depends: Depends = ()
    why: str | None = None
    #: For each free variable the number of the function's own cell, or the cell that all its twins have.
    cells: Sequence[int | CellType] | None = None
    #: Whether the code alone says what is called: no function of this code has a stand-in.
    alone: bool = False


class Codes:
    """What the codes of functions were rewritten to.

    Attributes:
        asked: the codes that are being rewritten: each is met in the one before.
    """

    def __init__(self, facts: Facts, standing: Standing) -> None:
        self.lock = RLock()
        self.asked: list[CodeType] = []
        self._facts, self._standing = facts, standing
        self._known: WeakIds[CodeType, Rewritten] = WeakIds()
        self._passing: deque[CodeType] = deque()

    def clear(self) -> None:
        self._known.clear()
        self._passing.clear()

    def known(self, f: object) -> Rewritten | None:
        """What the code of `f` was rewritten to, if it was."""
        return self._known.get(getattr(f, "__code__", None))  # type: ignore[arg-type]  # None has no entry

    def of(self, f: FunctionType) -> Rewritten:
        """What the code of `f` is rewritten to."""
        code = f.__code__
        known = self._known.get(code)
        if known is None:
            with self.lock:
                depth = len(self.asked)
                try:
                    self.asked.append(code)
                    known = deeply(lambda: self._rewritten(f))
                except NoTwinError as error:
                    known = Rewritten(why=str(error))
                finally:
                    del self.asked[depth:]
                self._known[code] = known
                if known.depends and not has_module(f):
                    self._passing.append(code)
                    while len(self._passing) > _PASSING:
                        self._known.drop(self._passing.popleft())
        return known

    def _rewritten(self, f: FunctionType) -> Rewritten:
        self._facts.see_file(file_of(f))
        found = find(f)
        work = Rewriter(found, f.__globals__, self._facts, self._standing)
        work.rewritten()
        depends = list(work.depends.values())
        for *_, value in work.depends.values():
            if isinstance(value, FunctionType) and (known := self.known(value)) is not None:
                depends += known.depends
        if not work.needs and not work.needs_for_lists:
            return Rewritten(depends=tuple(depends))
        new = build(found, sorted({*(f"{PREFIX}{name}" for name in work.hooks), *work.constants}))
        todo = [new]
        while todo:
            inner = todo.pop()
            OURS[inner] = None
            todo += [below for below in inner.co_consts if isinstance(below, CodeType)]
        return Rewritten(new, work.needs, work.constants, frozenset(work.stored), tuple(depends))
