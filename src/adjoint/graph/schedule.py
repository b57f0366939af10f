"""`Schedule`: how a program runs. Its steps stand in order, and each value has a slot.

`Graph` makes a schedule of NumPy's operations, `adjoint.native` one of native segments and NumPy's operations. It runs
in two ways with the same results. `interpreted` goes step by step; it needs no preparation, and takes boxes.
`function` writes the steps as straight Python, which takes longer to make and less time to run.

For ``sum(sin(x) * y)`` the function reads ::

    def run(given):
        if len(given) != 2: refuse(given)
        v0, v1, = given
        v2 = f2(v0)
        v3 = f3(v2, v1)
        v2 = None
        v4 = f4(v3)
        return [v4]

A step that would warn raises TypeError instead (see `adjoint.core.messages.warned`). It is then called again, so that
the warning names the line of the user's function that the step was recorded from. The run goes on step by step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from adjoint.core.box import Box, apply
from adjoint.core.codegen import defined
from adjoint.core.errors import ArgumentError
from adjoint.core.messages.frames import place_in
from adjoint.core.messages.warned import REFUSES, is_refused, refusing, warned
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.types import Array, Function, Settings, Value
from adjoint.graph.node import Node
from adjoint.graph.python_numbers import CONVERSIONS
from adjoint.tape.observers.lines import UsersPlace

__warningregistry__ = REFUSES  # warnings name the user's line
# Beyond so many steps Python takes longer to compile the text than the text saves.
LONGEST = 20_000


class ScheduledCall(NamedTuple):
    """One call: a function, the slots of its arguments, and the slots of its results.

    Attributes:
        function: what is called.
        args: slots of its arguments.
        outs: the slot of its value. A tuple of slots: the function gives a list of so many values, or None, which ends
            the run. None: the function gives nothing to keep, but whether the run goes on.
        op, settings: the operation that it is, if it is one; values that are boxes are sent through it.
        place: the place in the user's code that it was recorded from, where that is known.
    """

    function: Function
    args: tuple[int, ...]
    outs: int | tuple[int, ...] | None
    op: Op | None = None
    settings: Settings = NO_SETTINGS
    place: UsersPlace | None = None


def numpy_step(node: Node, args: Sequence[int], out: int) -> ScheduledCall:
    """The step that computes `node` by NumPy."""
    if node.op is None:
        return ScheduledCall(itemgetter(node.value), tuple(args), out)
    if node.op in CONVERSIONS:
        return ScheduledCall(CONVERSIONS[node.op], tuple(args), out)
    forward = refusing(node.op.forward)
    function = partial(forward, **node.settings) if node.settings else forward
    return ScheduledCall(function, tuple(args), out, node.op, node.settings, node.place)


def _in_memory(value: Array) -> Array:
    """A constant as NumPy's operations see it: how it lies in memory decides how results do."""
    if not isinstance(value, np.ndarray) or value.size < 2 or any(value.strides):
        return value
    array = np.array(value)
    array.flags.writeable = False
    return array


class Schedule:
    """The steps of a run.

    Args:
        count: how many values a run is given; they lie in the first slots.
        constants: what lies in other slots from the beginning.
        steps: what is called, in order.
        outputs: the slots of what a run gives.
        name: what tracebacks call it.

    A value is dropped after its last use.
    """

    def __init__(
        self,
        count: int,
        constants: Mapping[int, Array],
        steps: Sequence[ScheduledCall],
        outputs: Sequence[int],
        name: str,
    ) -> None:
        read = {slot for step in steps if step.op is not None for slot in step.args}
        constants = {slot: _in_memory(value) if slot in read else value for slot, value in constants.items()}
        self.count, self.constants, self.steps, self.outputs, self.name = count, constants, steps, outputs, name
        self._drops: list[tuple[int, ...]] = [()] * len(steps)  # after each step, the slots that nobody uses again
        used = {*constants, *outputs}
        for k in range(len(steps) - 1, -1, -1):
            args, outs = steps[k].args, steps[k].outs
            for slot in (outs, *args) if isinstance(outs, int) else (*(outs or ()), *args):
                if slot not in used:
                    used.add(slot)
                    self._drops[k] += (slot,)
        self._slots = max((count - 1, *used)) + 1

    def interpreted(self, given: Sequence[Array]) -> list[Value] | None:
        """The outputs for `given`; None if a step ended the run."""
        if len(given) != self.count:
            _refuse(self.count, given)
        slots = [*given, *([None] * (self._slots - self.count))]
        for slot, value in self.constants.items():
            slots[slot] = value
        return self._run(slots, 0, plain=not any(isinstance(value, Box) for value in given))

    def _run(self, slots: list[Value], first: int, plain: bool) -> list[Value] | None:
        """The outputs, from step `first` on; `slots` are filled up to there."""
        for step, drop in zip(self.steps[first:], self._drops[first:], strict=True):
            function, places, outs, op, settings, place = step
            try:
                if op is not None and not plain:
                    value = apply(op, [slots[i] for i in places], settings)
                elif len(places) == 2:
                    value = function(slots[places[0]], slots[places[1]])
                elif len(places) == 1:
                    value = function(slots[places[0]])
                else:
                    value = function(*[slots[i] for i in places])
            except Exception as error:
                if not is_refused(error):
                    raise
                value = warned(error, function, [slots[i] for i in places], {}, place and place_in(*place))
            if isinstance(outs, int):
                slots[outs] = value
            elif outs is None:
                if not value:
                    return None
            elif value is None:
                return None
            else:
                for i, each in zip(outs, value, strict=True):
                    slots[i] = each
            for i in drop:
                slots[i] = None
        return [slots[i] for i in self.outputs]

    def function(self, spread: bool = False) -> Function:
        """The same as a function of a sequence, or of the values one by one if they come `spread`."""
        if len(self.steps) > LONGEST:
            return (lambda *given: self.interpreted(given)) if spread else self.interpreted
        scope: dict[str, Value] = {f"v{slot}": value for slot, value in self.constants.items()}
        scope["refuse"] = partial(_refuse, self.count)
        lines = [f"if len(given) != {self.count}: refuse(given)"]
        if self.count:
            lines.append(f"{_names(range(self.count))}= given")
        begins = list[int]()  # the line of each step
        for k, (step, drop) in enumerate(zip(self.steps, self._drops, strict=True)):
            begins.append(len(lines) + 3)
            scope[f"f{k}"] = step.function
            call = f"f{k}({_names(step.args)})"
            if isinstance(step.outs, int):
                lines.append(f"v{step.outs} = {call}")
            elif step.outs is None:
                lines.append(f"if not {call}: return None")
            else:
                lines += [f"found = {call}", "if found is None: return None"]
                lines += [f"{_names(step.outs)}= found", "found = None"] if step.outs else []
            if drop:
                lines.append(f"{' = '.join(f'v{slot}' for slot in drop)} = None")
        star = "*" if spread else ""
        text = "\n        ".join([f"def run({star}given):\n    try:", *lines, f"return [{_names(self.outputs)}]"])
        text += "\n    except Exception as error:\n        if not is_refused(error):\n            raise"
        text += "\n        return go_on(error.__traceback__.tb_lineno, locals())"
        scope |= {"is_refused": is_refused, "go_on": partial(self._go_on, begins), "__warningregistry__": REFUSES}
        run: Function = defined(text, self.name, scope, "run")
        return run

    def _go_on(self, begins: Sequence[int], line: int, values: Mapping[str, Value]) -> list[Value] | None:
        """The outputs of a run that stopped at `line` of the text, where a step refused to warn; that step runs again.

        `begins` are the lines of the steps, and `values` what the names in the text stand for.
        """
        slots = [values.get(f"v{i}", self.constants.get(i)) for i in range(self._slots)]
        return self._run(slots, bisect_right(begins, line) - 1, plain=True)


def _names(slots: Sequence[int]) -> str:
    return "".join(f"v{slot}, " for slot in slots)


def _refuse(count: int, given: Sequence[object]) -> None:
    raise ArgumentError(f"the program takes {count} arrays; got {len(given)}")
