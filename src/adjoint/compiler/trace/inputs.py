"""What a program reads and writes: arrays, tensors, numbers and optimisers from outside, and their symbols."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np

from adjoint.compiler.recording.arguments import SymbolicArguments, lost
from adjoint.compiler.trace.guards import Binding, Guards
from adjoint.compiler.trace.outside import MISSING, Refuse, root_of
from adjoint.compiler.trace.updates import Updates, is_elementwise, no_scratch, reader
from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.captures.signature import is_changed, symbol_of_input
from adjoint.graph.captures.state import DATA, GRAD, SLOT, Cell, Looked, State, Untouched, gradient_in, names_of
from adjoint.graph.node import Node, placeholder
from adjoint.graph.symbol import Symbol
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.node import Leaf, leaf
from adjoint.tape.observers.observing import RecordedWhole, Whole, hooks_of
from adjoint.tape.tensor import Tensor, View, wrap
from adjoint.tape.writes.mutations import Together

KINDS = "fciub"  # of numbers that a program computes with


class BindingCell(Cell):
    """An array that is found somewhere else than in a tensor or an optimiser."""

    __slots__ = ("place",)

    def __init__(self, place: Binding) -> None:
        super().__init__(place.name, place.holder, place.key)
        self.place = place

    def get(self) -> Array:
        return self.place.read()

    def writes(self, value: object) -> Iterator[Action]:
        yield self.place.writing(value)


class Inputs(State):
    """The arrays that a program reads besides its arguments, found one after the other while it is recorded.

    Attributes:
        numbers: places of numbers that are inputs of the program, each with its node.
        settings: of each group of an optimiser's parameters, with their symbols now and at first.
        steppers: the optimisers whose state it knows.
        replaced: tensors whose data are another array now; of others, what is written is written in place.
    """

    #: Whether functions with a cache may note a value while they are recorded.
    fills_caches = True

    def __init__(self, arguments: SymbolicArguments, guards: Guards) -> None:
        super().__init__()
        self.arguments, self.guards = arguments, guards
        self.numbers: list[tuple[Binding, Node]] = []
        self._number_at: dict[Value, Node] = {}
        self.replaced: set[int] = set()
        self._now: dict[Cell, Callable[[], Value]] = {}  # what the program has there
        self._symbols: dict[Cell, Value] = {}
        self._gradients: dict[Cell, tuple[Tensor, Tensor]] = {}  # of a tensor's stand-in, at first
        self._shadows: list[tuple[Tensor, Tensor]] = []
        self._shadow: dict[int, Tensor] = {}
        self._wholes: dict[int, Whole] = {}
        self.optimizers: dict[int, Optimizer] = {}
        self.steppers: list[Optimizer] = []
        self.settings: list[tuple[dict[str, Value], dict[str, Value], dict[str, Value]]] = []
        self._states: dict[int, list[set[str]]] = {}
        self.live: dict[int, Value] = {}  # of what stands for something: that, or the number of an argument's leaf
        self._kept: list[Value] = []
        self._first: dict[int, str | Binding] = {}
        self._memo: dict[int, Value] = {}
        for k, (x, box) in enumerate(zip(arguments.leaves, arguments.boxed, strict=True)):
            if isinstance(x, np.ndarray | Tensor | np.random.Generator):
                self._memo.setdefault(id(x), box)
                self.live.setdefault(id(box), k)

    def known_as(self, texts: list[str]) -> None:
        """How the leaves of the arguments are read."""
        for x, text in zip(self.arguments.leaves, texts, strict=True):
            if isinstance(x, np.ndarray | Tensor | np.random.Generator):
                self._first.setdefault(id(x), text)

    def met(self, thing: object, place: Binding) -> Value:
        """The stand-in that an array, tensor or generator has already; MISSING, if it has none."""
        found = self._memo.get(id(thing), MISSING)
        if found is not MISSING:
            first = self._first[id(thing)]
            if isinstance(first, str):
                self.guards.text(("given", place.identity, first), lambda name_of: f"{place.text(name_of)} is {first}")
            elif first.identity != place.identity:
                self.guards.alike(place, first)
            if isinstance(thing, Tensor | np.random.Generator) and not isinstance(first, str):
                self.guards.at(place, thing)
        return found

    def __contains__(self, thing: object) -> bool:
        """Whether a thing from outside has a stand-in."""
        return id(thing) in self._memo

    def _enter(self, cell: Cell, value: Array, now: Callable[[], Value] | None = None) -> Value:
        node = placeholder(
            cell.name, np.shape(value), np.asarray(value).dtype, number=not isinstance(value, np.ndarray)
        )
        symbol = symbol_of_input(value, node)
        self.cells.append(cell)
        self.inputs.append(node)
        self._all.append(cell)
        self._symbols[cell] = symbol
        self._now[cell] = now or (lambda: symbol)
        return symbol

    # -- Arrays, numbers and generators ---------------------------------------------------------------

    def array(self, array: np.ndarray, place: Binding) -> Array | None:
        """The stand-in of an array."""
        found = self.met(array, place)
        if found is not MISSING:
            return found
        if array.dtype.kind not in KINDS:
            raise Refuse(f"{place.name} is an array of {array.dtype}")
        symbol = self._enter(BindingCell(place), array)
        if array.ndim > 1:
            self.guards.text(
                ("lies", place.identity), lambda name_of: f"{place.text(name_of)}.strides == {array.strides}"
            )
        self.guards.kind(place, np.ndarray)
        self._keep(array, symbol, place)
        return symbol

    def stand_in_of(self, thing: Value) -> Value:
        """What stands for an array or tensor from outside; else the thing itself."""
        return self._memo.get(id(thing), thing)

    def wrote(self, arrays: Sequence[Array]) -> None:
        """The function tries to write into arrays that are no part of the program.

        Raises:
            Again: if one has to be.
        """

    def written_into(self, root: Value) -> None:
        """What may be an array from outside is written, perhaps with nothing: NumPy asks whether it may be."""
        found = self.live.get(id(root))
        if isinstance(found, np.ndarray | int):
            array = self.arguments.leaves[found] if isinstance(found, int) else found
            self.guards.writable(self._first[id(array)])

    def place_of(self, array: np.ndarray) -> Binding:
        """The place where an array from outside was found first."""
        first = self._first[id(array)]
        assert isinstance(first, Binding)
        return first

    def tensors(self) -> list[Tensor]:
        """The stand-ins of tensors."""
        return [*(box for box in self.arguments.boxed if isinstance(box, Tensor)), *self._shadow.values()]

    def gradients(self) -> dict[int, Tensor]:
        """By the id of a tensor that is another one's gradient: the stand-in of that one."""
        leaves = [(SLOT.__get__(box.node), box) for box in reversed(self.tensors()) if isinstance(box.node, Leaf)]
        return {id(gradient): box for gradient, box in leaves if gradient is not None}

    def _keep(self, thing: object, box: object, place: Binding) -> None:
        self._kept += [thing, box]
        self._memo[id(thing)], self.live[id(box)], self._first[id(thing)] = box, thing, place

    def number(self, value: Array, place: Binding) -> Value:
        """The stand-in of a number that changes between calls."""
        node = self._number_at.get(place.identity)
        if node is None:
            self.guards.kind(place, type(value))
            if type(value) is int:
                self.guards.small(place)
            plain = type(value) in (int, float, complex)
            node = self._number_at[place.identity] = placeholder(place.name, (), np.asarray(value).dtype, number=plain)
            self.numbers.append((place, node))
        return symbol_of_input(value, node)

    def generator(self, generator: np.random.Generator, place: Binding) -> object:
        """The stand-in of a generator of random numbers."""
        found = self.met(generator, place)
        if found is MISSING:
            self.guards.at(place, generator)
            found = Drawing(generator)
            self._keep(generator, found, place)
        return found

    # -- Tensors --------------------------------------------------------------------------------------

    def rename(self, things: Sequence[Value]) -> None:
        """Call the parameters of modules what these call them; the first of `things` are those around the others."""
        names: dict[int, str] = {}
        met: set[int] = set()
        for thing in things:
            own = getattr(type(thing), "named_parameters", None)
            if id(thing) not in met and own is not None and root_of(own) == "adjoint":
                met.update(map(id, thing.modules()))
                names = {**names_of([thing]), **names}
        for cell, node in zip(self.cells, self.inputs, strict=True):
            if isinstance(cell.holder, Tensor) and id(cell.holder) in names:
                cell.name = names[id(cell.holder)] + ".grad" * (cell.key is GRAD)
                node.value = type(node.value)(cell.name)

    def tensor(self, tensor: Tensor, place: Binding) -> Array:
        """The stand-in of a tensor: its data and gradient are values of the program."""
        found = self.met(tensor, place)
        if found is not MISSING:
            return found
        if isinstance(tensor, View) or tensor.level or not tensor.is_leaf or not isinstance(tensor.held, np.ndarray):
            raise Refuse(f"{place.name} is a tensor of a graph that is there already, or of a transform")
        hooks = None if tensor.node is None or not tensor.node.saved else tensor.node.saved[0]
        if hooks is not None and (hooks.whole is None or hooks.is_watched):
            raise Refuse(f"{place.name} has hooks")
        self.guards.at(place, tensor)
        name = place.name
        shadow: Tensor = object.__new__(type(tensor))
        shadow.level = 0
        shadow.held = self._enter(Cell(name, tensor, DATA), tensor.held, lambda: shadow.held)
        shadow.node = None
        if tensor.node is not None:
            if is_changed(tensor):
                raise Refuse(f"{place.name} has got data of another kind since it was made")
            shadow.node = leaf(tensor.shape, tensor.dtype)
            cell = self._gradient_cell(name, tensor)
            gradient = SLOT.__get__(tensor.node)
            if gradient is None and cell.stands_for_none is None:
                self._all.append(cell)
                self._now[cell] = lambda: gradient_in(shadow)
            elif gradient is None:
                shadow.node.grad = wrap(self._enter(cell, cell.read(), lambda: gradient_in(shadow)), None, 0)
            elif isinstance(gradient.held, np.ndarray) and gradient.node is None:
                symbol = self._enter(cell, gradient.held, lambda: gradient_in(shadow))
                self._gradients[cell] = shadow, wrap(symbol, None, 0)
                shadow.node.grad = self._gradients[cell][1]
            else:
                raise Refuse(f"the gradient of {name} has a graph of its own")
            shadow.node.__class__ = Untouched
            if hooks is not None:
                own = hooks_of(shadow, "whole")
                own.whole = self._wholes.setdefault(id(hooks.whole), RecordedWhole(hooks.whole, self.stand_in))
        self.needing.append((tensor, tensor.node is not None, hooks))
        self._shadows.append((tensor, shadow))
        self._shadow[id(tensor)] = shadow
        self._keep(tensor, shadow, place)
        return shadow

    def stand_in(self, tensor: Tensor) -> Tensor:
        """The stand-in of a tensor, which is made now if the program has not met it yet."""
        found = self._shadow.get(id(tensor))
        if found is None:
            raise Refuse("a parameter of a DataParallel is not used, or was replaced")
        return found

    def _gradient_cell(self, name: str, tensor: Tensor) -> Cell:
        return Cell(f"{name}.grad", tensor, GRAD)

    def _state_cell(self, name: str, holder: dict[str, object], key: str) -> Cell:
        return Cell(name, holder, key)

    # -- Optimisers -----------------------------------------------------------------------------------

    def optimizer(self, optimizer: Optimizer, take: Callable[[Value, Binding], Value]) -> Optimizer:
        """An optimiser of the same settings for the stand-ins of its parameters."""
        if id(optimizer) in self.optimizers:
            return self.optimizers[id(optimizer)]
        stepping = optimizer._stepping
        if stepping is None:
            raise Refuse("a ShardedOptimizer sends what its step has updated: compile the part before the step")
        if stepping is not optimizer:
            self.guards.at(Binding(vars(optimizer), "optimizer"), stepping)
            return self.optimizer(stepping, take)
        held_in = self.states_of(optimizer)
        shadow: Optimizer = object.__new__(type(optimizer))
        own = vars(optimizer)
        groups, held = optimizer.param_groups, []
        self.guards.at(Binding(own, "param_groups"), groups)
        self.guards.same_list(groups)
        state: dict[int, dict[str, Value]] = {}
        label, count = optimizer._name.lower(), 0
        for k, group in enumerate(groups):
            params = group["params"]
            self.guards.at(Binding(group, "params"), params)
            self.guards.same_list(params)
            mine = {**group, "params": [take(p, Binding(params, i)) for i, p in enumerate(params)]}
            for name in [name for name in group if name != "params"]:
                value = group[name]
                if type(value) is float:
                    self.guards.wide(Binding(group, name))
                    mine[name] = self._enter(Cell(f"group{k}.{name}", group, name), value)
                elif isinstance(value, np.floating):
                    mine[name] = self.number(value, Binding(group, name))
                elif isinstance(value, np.ndarray | Tensor):  # which can be written where it is
                    raise Refuse(f"the optimiser's {name} is an array")
                else:
                    self.guards.equal(Binding(group, name), value)
            for p, stand_in in zip(params, mine["params"], strict=True):
                holder, kept = held_in(p, group)
                state[id(stand_in)] = there = dict[str, Value]()
                for name, value in kept.items():
                    cell = self._state_cell(f"{label}[{count}].{name}", holder, name)
                    there[name] = self._enter(cell, value, reader(there, name))
                count += 1
            held.append(mine)
            self.settings.append((group, mine, dict(mine)))
        mine = vars(shadow)
        steps = self._enter(self.steps_of(optimizer), optimizer.steps, lambda: mine["steps"])
        mine |= {"steps": steps, "param_groups": held, "_state": state, "_defaults": optimizer._defaults}
        mine |= {"_scratch": {}, "_buffers": {}, "_together": Together(), "_prepared": {}}
        if is_elementwise(optimizer):
            mine |= {"update": Updates(shadow), "_scratch_for": no_scratch}
        self._kept.append(optimizer)
        self.steppers.append(optimizer)
        self._states[id(shadow)] = [set(there) for there in state.values()]
        self.optimizers[id(optimizer)] = shadow
        return shadow

    def steps_of(self, optimizer: Optimizer) -> Cell:
        """Where an optimiser counts its steps."""
        return Cell("steps", vars(optimizer), "steps")

    def states_of(self, optimizer: Optimizer) -> Callable[[Tensor, dict[str, Value]], tuple[Value, dict[str, Value]]]:
        """A function that finds the state of one parameter: where it is kept, and its value."""
        optimizer.prepare()  # zeros, as its first step makes them: a program for an empty state would hold for one call
        kept = optimizer._state
        return lambda p, _: (kept[id(p)], kept[id(p)])

    # -- At the end -----------------------------------------------------------------------------------

    def new(self) -> dict[int, Array]:
        """The new content of each cell that was written, by the cell's number: up to now, so it may be asked again."""
        self.cleared, self.in_place = [], set()
        for tensor, shadow in self._shadows:
            if (tensor.node is None) is not (shadow.node is None):
                raise Refuse("it changes which tensors require a gradient")
        for optimizer in self.optimizers.values():
            if [set(state) for state in optimizer._state.values()] != self._states[id(optimizer)]:
                raise Refuse("an optimiser begins to keep something new")
        read = dict(zip(self.cells, self.inputs, strict=True))
        written = {}
        for i, cell in enumerate(self._all):
            now, put = self._now[cell](), self._symbols.get(cell)
            held, first = self._gradients.get(cell, (None, None))
            stays = first is not None and held is not None and SLOT.__get__(held.node) is first
            kept = put if first is None else first.held  # what is in the memory that was there
            if cell.key in (DATA, GRAD) and now is not kept and kept is not None and kept.node is not read[cell]:
                raise lost(cell.key is GRAD)
            if isinstance(now, Symbol) and now.node is read.get(cell):
                continue
            if now is None:
                if cell in read or type(self._shadow[id(cell.holder)].node) is Leaf:
                    self.cleared.append(i)
                continue
            written[i] = now
            if isinstance(cell, BindingCell) and now is put:
                self.guards.writable(cell.place)
            if now is put or stays or (cell.key is DATA and id(cell.holder) not in self.replaced):
                self.in_place.add(i)
        return written

    def gone(self) -> dict[int, bool]:
        """The arrays and gradients from outside that their tensors have no more, by id; True for gradients."""
        found = {id(x): False for x in self.arguments.gone(self.replaced)}
        replaced = [cell for cell in self._symbols if cell.key is DATA and id(cell.holder) in self.replaced]
        found |= {id(put): False for cell in replaced if self._now[cell]() is not (put := self._symbols[cell])}
        for held, first in [*self._gradients.values(), *self.arguments.gradients()]:
            if held.node is None or SLOT.__get__(held.node) is not first:
                found |= {id(first): True, id(first.held): True}
        return found

    def prune_to(self, used: Container[Node]) -> None:
        """Leave out inputs of which the program reads at most the shape; note which gradients have to be there."""
        looked = {id(t) for t, shadow in self._shadows if type(shadow.node) is Looked}
        self.without = [c for c in self._all if c.key is GRAD and id(c.holder) in looked and c not in set(self.cells)]
        pairs = list(zip(self.cells, self.inputs, strict=True))
        kept = [(c, n) for c, n in pairs if n in used or (c.key is GRAD and id(c.holder) in looked)]
        reads = {cell for cell, _ in kept}
        self.shaped = [(c, n.shape, n.dtype) for c, n in pairs if c not in reads and isinstance(c.get(), np.ndarray)
                       and c.key is not GRAD]  # fmt: skip
        self.cells, self.inputs = [cell for cell, _ in kept], [node for _, node in kept]

    def forget(self) -> None:
        """Free what was needed for recording only."""
        kept = (self._now, self._number_at, self._symbols, self._gradients, self._shadows, self._shadow, self._wholes)
        for each in (*kept, self._kept, self._memo, self._first, self.live, self.optimizers):
            each.clear()
        self.arguments = SymbolicArguments((), ())

    def sources(self) -> list[tuple[Node, object]]:
        """The tensors that require a gradient: each input, with the leaf of the tensor's stand-in."""
        pairs = zip(self.cells, self.inputs, strict=True)
        found = [(node, self._shadow[id(cell.holder)].node) for cell, node in pairs if cell.key is DATA]
        return [(node, leaf) for node, leaf in found if leaf is not None]
