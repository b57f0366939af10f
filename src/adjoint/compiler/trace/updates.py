"""What an optimiser does to one parameter, recorded once for all parameters with which it does the same.

An elementwise optimiser (`Optimizer.elementwise`) does to each element of each parameter the same. So its update is
recorded for stand-ins with inputs of their own, and the operations that come of it are carried out for each parameter,
without the code of the update. They give the nodes that this code would give. Parameters that differ in more than
shapes have updates of their own. Where an update asks for values of a parameter, or does more than elementwise
operations, its code runs for each parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import ref

import numpy as np

from adjoint.core.box import apply
from adjoint.core.op import Op
from adjoint.core.rules.pullbacks import is_finite
from adjoint.core.types import Array, DType, Settings, Value
from adjoint.graph.captures.record import RECORD, CaptureNotes
from adjoint.graph.node import Node, call, frozen, in_order, placeholder
from adjoint.graph.python_numbers import ARRAYS, PYTHONS
from adjoint.graph.symbol import LEVEL, Symbol, symbol_of
from adjoint.ops.shape.copying import astype
from adjoint.optim.optimizer import Optimizer, ParamGroup, ParamState
from adjoint.tape.observers.lines import recorded_place
from adjoint.tape.tensor import Tensor

DATA, GRAD = ".held", ".grad"  # beside the names of a state
_PLAIN = (int, float, bool, str, tuple, type(None))
_SIMPLE = (int, float, bool, str, type(None), np.dtype)


class UpdateStep(NamedTuple):
    """One operation of an update.

    Attributes:
        places: the numbers of what it takes: of the parameter's arrays, of what is known, and of earlier steps, in
            this order.
        dtype: that of its result.
        is_finite: whether that is finite where what it takes is.
        unused: the numbers of the steps whose results nothing needs after it.
    """

    op: Op
    places: tuple[int, ...]
    settings: Settings
    dtype: DType
    is_finite: bool
    unused: tuple[int, ...]


class Operations(NamedTuple):
    """An update as operations.

    Attributes:
        known: values with their nodes that are the same for all parameters.
        steps: operations, see `UpdateStep`.
        written: what is written in place, by the number of what is written.
        replaced: what takes the place of another one, by the number of what does, and whether it is Python's number.
    """

    known: list[tuple[Value, Node]]
    steps: list[UpdateStep]
    written: dict[str, int]
    replaced: dict[str, tuple[int, bool]]

    def run(self, given: Mapping[str, Array], state: ParamState, record: CaptureNotes) -> None:
        """Do to a parameter's arrays what the code of the update does."""
        pairs = [each.layers for each in given.values()]
        values: list[Value] = [value for value, _ in pairs] + [value for value, _ in self.known]
        nodes: list[Node] = [node for _, node in pairs] + [node for _, node in self.known]
        place = recorded_place()  # of all of them
        for op, places, settings, dtype, is_known_finite, unused in self.steps:
            out = apply(op, [values[k] for k in places], settings)
            if type(out) is np.ndarray:
                shape = out.shape
            else:
                out = out if isinstance(out, ARRAYS) or op in PYTHONS else np.asarray(out)[()]
                shape = ()
            node = call(op, tuple([nodes[k] for k in places]), settings, shape, dtype, lambda: place)
            if not is_known_finite:
                record.values[node] = ref(out) if type(out) is np.ndarray else out
            values.append(out)
            nodes.append(node)
            for k in unused:  # its memory serves the operations that follow
                values[k] = None
        for name, k in self.written.items():
            given[name]._write(..., Symbol.of((values[k], nodes[k]), LEVEL))
        for name, (k, is_python) in self.replaced.items():
            state[name] = symbol_of(values[k].item() if is_python else values[k], nodes[k])


class Updates:
    """The updates of one optimiser of a recording: what is called in place of its `update`."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = ref(optimizer)
        self._known: dict[Value, Operations | None] = {}

    def __call__(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        record = RECORD.get()
        if record is not None and not record.placeless:  # the turns of loops have inputs of their own
            given = {DATA: data, GRAD: grad, **state}
            key = _key(given, group)
            if key is not None:
                if key not in self._known:
                    self._known[key] = self._recorded(given, state, group, record)
                operations = self._known[key]
                if operations is not None:
                    operations.run(given, state, record)
                    return
        self._run(data, grad, state, group)

    def _run(self, data: Array, grad: Array, state: ParamState, group: ParamGroup) -> None:
        optimizer = self._optimizer()
        assert optimizer is not None
        type(optimizer).update(optimizer, data, grad, state, group, np.zeros_like(data))

    def _recorded(
        self, given: dict[str, Array], state: ParamState, group: ParamGroup, record: CaptureNotes
    ) -> Operations | None:
        """The update of stand-ins as operations; None if it is more than these, or raises."""
        asked, seen = len(record.guards), len(record.values)
        own = {name: _stand_in(x) for name, x in given.items()}
        inputs = [each.node for each in own.values()]
        mine = {name: own[name] for name in state}
        try:
            self._run(own[DATA], own[GRAD], mine, group)
            found = _operations(inputs, own, mine, group)
        except Exception:  # which its code raises where it belongs
            found = None
        for node in list(record.values)[seen:]:
            del record.values[node]
        if found is None or not set(inputs).isdisjoint(in_order([guard.node for guard in record.guards[asked:]])):
            del record.guards[asked:]
            return None
        return found


def is_elementwise(optimizer: Optimizer) -> bool:
    """Whether it does to each element the same: whoever defines `update` says so."""
    by = next(kind for kind in type(optimizer).__mro__ if "update" in vars(kind))
    return bool(vars(by).get("elementwise", False))


def _key(given: Mapping[str, Array], group: ParamGroup) -> Value:
    """A key, equal for updates that are alike; None for an update of its own."""
    shape = given[DATA].shape
    if not shape or given[DATA].dtype.kind != "f" or len({id(x) for x in given.values()}) < len(given):
        return None
    forms: list[Value] = []
    for name, x in given.items():
        if not isinstance(x, Symbol) or x.level != LEVEL or x.root is not x or x.shape not in (shape, ()):
            if name is not GRAD or not isinstance(x, Symbol) or x.level != LEVEL or x.shape != shape:
                return None
        forms.append((name, type(x), type(x.value), x.dtype, x.shape == ()))
    settings: list[Value] = []
    for name, value in group.items():
        if name == "params":
            continue
        if isinstance(value, Symbol):
            settings.append((name, value.node, type(value)))
        elif type(value) in _PLAIN:
            settings.append((name, frozen(value)))
        else:
            return None
    return tuple(forms), tuple(settings)


def _stand_in(x: Array) -> Array:
    """A symbol of the same value, with an input of its own."""
    made = symbol_of(x.value, placeholder("stand-in", x.shape, x.dtype, number=x.is_python))
    return made.keep_array() if isinstance(x.value, np.ndarray) and not x.shape else made


def _operations(inputs: list[Node], own: dict[str, Array], mine: ParamState, group: ParamGroup) -> Operations | None:
    """An update of stand-ins, as operations on the real values; None if it does more than operations."""
    values = {x.node: x.value for x in group.values() if isinstance(x, Symbol)}
    ends: dict[str, Node] = {}
    replaced: dict[str, bool] = {}
    if own[GRAD].node is not inputs[1] or mine.keys() != own.keys() - {DATA, GRAD}:
        return None
    for (name, before), node in zip(own.items(), inputs, strict=True):
        now = mine.get(name, before)
        if not isinstance(now, Symbol) or now.level != LEVEL or now.root is not now or now.shape != before.shape:
            return None
        if now is not before:
            replaced[name] = now.is_python
        if now.node is not node:
            ends[name] = now.node
    known: list[tuple[Value, Node]] = []
    calls: list[Value] = []
    for node in _above(list(ends.values()), {*inputs, *values}):
        if node in values or node.kind == "constant":
            known.append((values.get(node, node.value), node))
        elif node.op is not None and _is_simple(node.op, node.settings):
            calls.append(node)
        elif node not in inputs:
            return None
    numbers = {node: k for k, node in enumerate([*inputs, *(node for _, node in known), *calls])}
    written = {name: numbers[node] for name, node in ends.items() if name not in replaced}
    instead = {name: (numbers[ends.get(name, own[name].node)], is_python) for name, is_python in replaced.items()}
    needed = {*range(len(inputs) + len(known)), *written.values(), *(k for k, _ in instead.values())}
    steps: list[UpdateStep] = []
    for node in reversed(calls):
        places = tuple(numbers[arg] for arg in node.args)
        unused = tuple({numbers[node], *places} - needed)
        needed.update(unused)
        finite = node.dtype.kind not in "fc" or is_finite(node.op)
        steps.append(UpdateStep(node.op, places, node.settings, node.dtype, finite, unused))
    return Operations(known, steps[::-1], written, instead)


def _above(ends: list[Node], leaves: set[Node]) -> list[Node]:
    """All nodes that lead to `ends`, each after what it uses, down to `leaves`."""
    seen, stack = set(ends), list(ends)
    while stack:
        node = stack.pop()
        for arg in () if node in leaves else node.args:
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return sorted(seen, key=lambda node: node.number)


def _is_simple(op: Op, settings: Settings) -> bool:
    """Whether `op` does the same for arrays of all shapes."""
    if op.kind != "elementwise" and op is not astype:
        return False
    return not op.flags & {"random", "collective", "raises", "creates", "once"} and all(
        isinstance(x, _SIMPLE) for x in settings.values()
    )


def no_scratch(p: Tensor, data: Array) -> None:
    """`Updates` make what they need."""


def reader(space: dict[str, Symbol], name: str) -> Callable[[], Value]:
    return lambda: space[name]
