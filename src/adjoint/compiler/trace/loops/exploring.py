"""Turns that are run once more, on a path that no turn has taken yet, so that a loop knows all the paths of its turns.

The user's code runs with another answer to one question, from the state in which the turn began. What it gives is
dropped; how it is computed is one more path. If the code raises, or leaves the loop, the recording begins again without
such turns. So nothing is assumed about answers that were not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.compiler.trace.loops.state.elements import Held
from adjoint.core.types import Value

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.counted import Counted

Answers = tuple[bool, ...]


class Exploring:
    """The turns of a loop that are run on other paths.

    Attributes:
        asked: the answers that the next turn gets, if it is one of these.
        forced: the answers that this turn got, if it is one of these.
    """

    def __init__(self, light: Counted) -> None:
        self.light = light
        self.asked: Answers = ()
        self.forced: Answers = ()
        self._begun: tuple[dict[str, Value], list[Held]] | None = None  # where the last turn began that counts
        self._ended: tuple[dict[str, Value], list[Held]] | None = None  # and where it ended
        self._free: dict[Answers, Answers] = {}  # for each path, which of its answers others could take the place of
        self._over = False

    def next(self, most: int) -> bool:
        """Whether the turn that has ended is run once more, on another path."""
        light = self.light
        self.asked = ()
        if self._over or self._begun is None or light.turns.site in light.door.loops.unexplored:
            return False
        asked = light.door.notes.guards[light.guards :]
        answers = tuple([bool(guard.answer) for guard in asked])
        if any(guard.question != "bool" for guard in asked) or answers[: len(self.forced)] != self.forced:
            self._over = True
            return False
        self._free[answers] = tuple([guard.node not in light.places.asked for guard in asked])
        known = {*light.paths, answers}
        self._over = len(known) >= most
        self.asked = () if self._over else self._missing(known)
        return bool(self.asked)

    def _missing(self, known: set[Answers]) -> Answers:
        """Answers with which no path begins that is known."""
        for path in sorted(known):
            for k, (answer, is_free) in enumerate(zip(path, self._free.get(path, ()), strict=False)):
                other = (*path[:k], not answer)
                if k and is_free and not any(each[: k + 1] == other for each in known):
                    return other
        return ()

    def before(self, space: dict[str, Value]) -> dict[str, Value]:
        """The names with which the next turn begins, and the arrays; it has ended with these in `space`."""
        light = self.light
        was, self.forced, self.asked = bool(self.forced), self.asked, ()
        if not was and self._begun is not None:
            names = [name for name in light.turns.names if name != light.target and name in space]
            self._ended = {name: space[name] for name in names}, light.held
        state = self._begun if self.forced else self._ended if was else None
        if state is not None:
            named, light.held = state
            space = {**space, **named}
        return space

    def begin(self, space: dict[str, Value], held: list[Held]) -> None:
        """A turn begins with these names and arrays."""
        notes, light = self.light.door.notes, self.light
        if not self.forced:
            self._begun = {name: space[name] for name in light.turns.names if name in space}, held
        notes.forced, notes.forced_from = self.forced, light.guards

    def end(self) -> None:
        """No answers are given any more."""
        self.light.door.notes.forced = ()
