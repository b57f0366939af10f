"""What a captured program finds outside of its arguments: values that are read anew, frozen, written, or refused."""

from __future__ import annotations

import types
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from operator import setitem

import numpy as np

from adjoint.compiler.recording.arguments import SymbolicArguments, shares_memory
from adjoint.compiler.trace.door.door import Door, FunctionFacts
from adjoint.compiler.trace.door.items.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.effects import form_of
from adjoint.compiler.trace.guards import PLAIN, AttributeBinding, Binding, CellBinding, Guards
from adjoint.compiler.trace.inputs import KINDS, BindingCell, Inputs
from adjoint.compiler.trace.outside import MISSING, Again, Outside, Refuse
from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.state import GRAD, Cell
from adjoint.graph.node import Node
from adjoint.graph.symbol import Symbol
from adjoint.optim.optimizer import Optimizer
from adjoint.optim.preparing import firsts
from adjoint.tape.tensor import Tensor, wrap


class CaptureFacts(FunctionFacts):
    """What the first traces of a capture found out for the last one.

    Attributes:
        afresh: identities of the arrays that are read afresh at each call, since the program writes them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sourceless = True
        self.afresh: set[int] = set()


class CellTarget(BindingCell):
    """A place that a program writes; `form` says what is put there."""

    __slots__ = ("form",)

    def __init__(self, place: Binding, form: str) -> None:
        super().__init__(place)
        self.form = form

    def get(self) -> Value:
        return None  # what is there is not read

    def writes(self, value: Value) -> Iterator[Action]:
        if self.form == "tensor":
            value = wrap(value, None, 0)
        elif self.form:
            value = value.item() if self.form == "python" else value[()]
        yield self.place.writing(value)


class EndBinding(Binding):
    """The end of a list, which grows by what is written there."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"the end of {self.key}"

    def writing(self, value: Array) -> Action:
        return self.holder.append, value


class StepState:
    """What an optimiser keeps for one parameter: as it starts, until the optimiser has made a step."""

    def __init__(self, optimizer: Optimizer, parameter: Tensor, group: dict[str, Value]) -> None:
        self._optimizer, self._parameter, self._group = optimizer, parameter, group
        self._start = optimizer.begin(parameter.held, group)
        self._made_of = firsts(self._start)

    def kept(self) -> dict[str, Value]:
        """The dictionary where it is."""
        optimizer, p = self._optimizer, self._parameter
        if optimizer._waits(p):  # for a first step: what holds now
            return optimizer._begin_anew(p, p.held, self._group)
        return optimizer._state.get(id(p), self._start)

    def attaching(self) -> Action:
        """What gives it to the optimiser, if that has none."""
        return self._optimizer._attach, self._parameter, self._start, self._made_of

    def __getitem__(self, name: str) -> Value:
        return self.kept()[name]


class StateCell(Cell):
    """An array that an optimiser keeps for one parameter."""

    __slots__ = ()

    def writes(self, value: Value) -> Iterator[Action]:
        yield setitem, self.holder.kept(), self.key, value


class StepCount(Cell):
    """The number of steps of an optimiser. A write of it means that a step was made."""

    __slots__ = ("states",)

    def __init__(self, optimizer: Optimizer, states: list[StepState]) -> None:
        super().__init__("steps", vars(optimizer), "steps")
        self.states = states

    def writes(self, value: Value) -> Iterator[Action]:
        yield from super().writes(value)
        for state in self.states:
            yield state.attaching()


class OutsideState(Inputs):
    """State that a program reads and writes besides its arguments, sorted by reads and writes."""

    fills_caches = False

    def __init__(self, known: CaptureFacts, given: Container[int]) -> None:
        super().__init__(SymbolicArguments((), ()), Guards())
        self._known, self._given = known, given
        self._states_of: dict[int, list[StepState]] = {}
        self._frozen: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    # -- As it is met -----------------------------------------------------------------------------------

    def array(self, array: np.ndarray, place: Binding) -> Value:
        """The stand-in of an array: a constant, unless the program writes it."""
        if id(array) in self._known.afresh or array.dtype.kind not in KINDS:
            return super().array(array, place)
        found = self.met(array, place)
        if found is MISSING:
            found = np.array(array)
            found.flags.writeable = False
            self.guards.kind(place, np.ndarray)
            self._frozen[id(array)] = array, found
            self._keep(array, found, place)
        return found

    def _gradient_cell(self, name: str, tensor: Tensor) -> Cell:
        """Zeros stand for a gradient that is not there: a program that adds to them holds for both."""
        return Cell(f"{name}.grad", tensor, GRAD, partial(np.zeros, tensor.shape, tensor.dtype))

    def _state_cell(self, name: str, holder: object, key: str) -> Cell:
        return StateCell(name, holder, key)

    def steps_of(self, optimizer: Optimizer) -> Cell:
        """Where an optimiser counts its steps, of which the first makes its state."""
        return StepCount(optimizer, self._states_of[id(optimizer)])

    def states_of(self, optimizer: Optimizer) -> Callable[[Tensor, dict[str, Value]], tuple[Value, dict[str, Value]]]:
        """What finds the state of one parameter; an optimiser that has made no step yet has none, and keeps none."""
        states = self._states_of[id(optimizer)] = list[StepState]()

        def held(p: Tensor, group: dict[str, Value]) -> tuple[Value, dict[str, Value]]:
            states.append(StepState(optimizer, p, group))
            return states[-1], states[-1].kept()

        return held

    def tensor(self, tensor: Tensor, place: Binding) -> Value:
        """The stand-in of a tensor from outside."""
        if id(tensor) in self._given:
            raise Refuse(f"{place.name} is an argument, and found outside of the arguments too; pass it in one way")
        return super().tensor(tensor, place)

    def wrote(self, arrays: Sequence[object]) -> None:
        """Begin again, if one of `arrays` shows memory of an array that was frozen."""
        shown = [array for array in arrays if isinstance(array, np.ndarray)]
        held = [(a, copy) for a, copy in self._frozen.values() if a.flags.writeable]
        self._thaw({id(a) for a, copy in held if any(np.may_share_memory(copy, array) for array in shown)})

    def _thaw(self, arrays: set[int]) -> None:
        """Begin again, if there are any: they are read afresh from now on."""
        if arrays:
            self._known.afresh |= arrays
            raise Again

    # -- When the trace is over ---------------------------------------------------------------------

    def written(self, door: Door, node_of: Function) -> dict[int, Node]:
        """The node of each cell that is written, by the cell's number.

        Raises:
            Again: if something that was frozen is written.
        """
        own = {i: node_of(x) for i, x in self.new().items()}
        targets = [cell.get() for i in own for cell in self.written_in_place(i)]
        self._thaw({id(a) for a, _ in self._frozen.values() if any(np.may_share_memory(a, b) for b in targets)})
        if shares_memory((), self, own, ()):
            raise Refuse("arrays that it uses share memory, in which it writes")
        for thing in [o for o in door.memo.values() if isinstance(o, Outside) and o.changed]:
            self._effects(door, thing, own, node_of)
        return own

    def _effects(self, door: Door, o: Outside, own: dict[int, Node], node_of: Function) -> None:
        """The writes to one thing."""
        name = self.guards.name(o.o)
        if o.content is not None:
            raise door.refuse(f"it takes elements out of {name}, a {o.what}; give back what is to be there")
        for key, value in o.over.items():
            place = self._place(o.o, key)
            if not self._is_there(place, value):
                self._settle(door, place)
                self._put(door, place, value, own, node_of)
        for value in o.added:
            if self.guards.about(o.o, MISSING) & {"len"}:
                raise door.refuse(f"it makes {name} longer, and asks for what is in it")
            self._put(door, EndBinding(o.o, name), value, own, node_of)

    def _is_there(self, place: Binding, value: Array) -> bool:
        """Whether the place has this very thing already, as after ``self.total += x`` of an array."""
        thing = value.o if isinstance(value, Outside) else self.live.get(id(value), MISSING)
        return thing is _held(place)

    def _place(self, holder: object, key: object) -> Binding:
        if isinstance(holder, types.CellType):
            return CellBinding(holder, next(self.guards.keys(holder), "a variable"))
        return Binding(holder, key) if isinstance(holder, (*MAPPINGS, *SEQUENCES)) else AttributeBinding(holder, key)

    def _settle(self, door: Door, place: Binding) -> None:
        """Make sure that a written place is no constant: it is read afresh, or the program holds for one call only."""
        about = self.guards.about(place.holder, place.key)
        now = _held(place)
        if now is _NOTHING:
            if about & {"has", "keys", "len"}:
                raise door.refuse(
                    f"it makes {place.name} where there is none, and asks whether there is: call it once before"
                )
            return
        if isinstance(now, np.ndarray) and id(now) in self._frozen:
            self._thaw({id(now)})
        if "equal" in about and place.identity not in self._known.varying and _is_number(now):
            self._known.varying.add(place.identity)
            raise Again
        if about & {"is", "plain", "equal"}:
            raise door.refuse(f"it reads {place.name}, and sets it to something else: pass it as an argument")

    def _put(self, door: Door, place: Binding, value: object, own: dict[int, Node], node_of: Function) -> None:
        """Let the program write `value`."""
        live = self.live.get(id(value))
        if self._is_view(value):
            raise door.refuse(f"it keeps a part of an array from outside in {place.name}, where both share memory")
        if isinstance(value, Tensor) and isinstance(live, Tensor):
            value = Outside(live)
        if isinstance(value, Symbol | Tensor | np.ndarray | np.generic) or type(value) in (float, complex):
            form = "tensor" if isinstance(value, Tensor) else form_of(value)
            own[len(self._all)] = node_of(value)
            self._all.append(CellTarget(place, form))
        elif (type(value) in PLAIN or isinstance(value, Outside)) and not isinstance(place, EndBinding):
            self.sets.append((place, value.o if isinstance(value, Outside) else value))
        else:
            what = type(value).__name__
            raise door.refuse(f"it keeps a {what} in {place.name}, which is no array; give it back instead")

    def _is_view(self, value: object) -> bool:
        """Whether a value shows memory of an array from outside, which is not it."""
        data = value.held if isinstance(value, Tensor) else value
        if isinstance(data, Symbol):
            roots = {id(symbol) for symbol in self._symbols.values()}
            return data.root is not data and id(data.root) in roots
        shown = data if isinstance(data, np.ndarray) else np.empty(0)
        return any(copy is not data and np.may_share_memory(copy, shown) for _, copy in self._frozen.values())

    def keep(self, used: set[Node]) -> None:
        """Leave out what the program does not read; numbers are cells like others."""
        self.cells += [BindingCell(place) for place, _ in self.numbers]
        self.inputs += [node for _, node in self.numbers]
        pairs = [(cell, node) for cell, node in zip(self.cells, self.inputs, strict=True) if node in used]
        self.cells, self.inputs = [cell for cell, _ in pairs], [node for _, node in pairs]
        self.numbers = []
        self.forget()
        self._frozen.clear()
        del self.guards, self._known


def _is_number(x: Array) -> bool:
    return type(x) in (int, float, complex) or (isinstance(x, np.generic) and x.dtype.kind in "fciu")


_NOTHING = object()


def _held(place: Binding) -> object:
    """The content of a place; `_NOTHING` if there is no such place."""
    try:
        return place.read()
    except (KeyError, AttributeError, ValueError, IndexError):
        return _NOTHING
