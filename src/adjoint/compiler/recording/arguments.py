"""The arguments of a recorded run: the symbols that replace them, and what the function wrote into them."""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterable, Iterator, Sequence
from inspect import Parameter
from operator import setitem
from typing import NamedTuple

import numpy as np

from adjoint.compiler.trace.outside import Refuse
from adjoint.core.errors import NotSupportedError
from adjoint.core.memory import overlap
from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.captures.signature import symbol_of_input
from adjoint.graph.captures.state import State
from adjoint.graph.node import Node, placeholder
from adjoint.graph.symbol import Symbol
from adjoint.tape.node import leaf
from adjoint.tape.tensor import Tensor, View, wrap
from adjoint.tape.writes.mutations import noting


class ArrayLeaf(NamedTuple):
    """One array of the arguments: the number of a leaf, and whether it is that tensor's data, or its gradient's."""

    number: int
    tensor: bool
    gradient: bool = False

    def read(self, leaves: Sequence[Value]) -> Value:
        """The array, in these arguments."""
        x = leaves[self.number]
        return x.node.grad.held if self.gradient else x.held if self.tensor else x


class ArgumentTarget(NamedTuple):
    """A write into an argument: into its array, or to the gradient that it holds."""

    number: int
    gradient: bool = False
    in_place: bool = True

    def writes(self, leaves: Sequence[Value], value: Value) -> Iterator[Action]:
        """The writes that put `value` in: over the existing array, or as a new gradient."""
        x = leaves[self.number]
        if self.in_place:
            array = ArrayLeaf(self.number, isinstance(x, Tensor), self.gradient).read(leaves)
            yield setitem, array, Ellipsis, np.array(value)
            yield from noting([array])
        elif self.gradient:
            yield setattr, x.node, "grad", wrap(np.array(value), None, 0)
        else:
            yield setattr, x, "held", np.array(value)


class SymbolicArguments:
    """Leaves of arguments, and the same with symbols for what varies.

    Attributes:
        chosen: the arrays that are inputs of the program.
        inputs: a node for each.
        boxed: all leaves, symbols among them.
    """

    def __init__(self, leaves: Sequence[Array], varies: Sequence[bool]) -> None:
        self.leaves, self.boxed = leaves, list(leaves)
        self.chosen: list[ArrayLeaf] = []
        self.inputs: list[Node] = []
        self._symbols: list[Symbol] = []
        self._gradients: dict[int, Tensor] = {}  # of tensors' stand-ins, at first
        firsts: dict[int, int] = {}
        drawings: dict[int, Drawing] = {}
        for k, x in enumerate(leaves):
            if not varies[k]:
                is_generator = isinstance(x, np.random.Generator)
                self.boxed[k] = drawings.setdefault(id(x), Drawing(x)) if is_generator else x
                continue
            first = firsts.setdefault(id(x), k) if isinstance(x, np.ndarray | Tensor) else k  # numbers are no objects
            symbol = self._input(
                ArrayLeaf(k, isinstance(x, Tensor)), f"x{k}", None if first == k else self.boxed[first]
            )
            if first != k:
                self.boxed[k] = self.boxed[first]
            elif isinstance(x, Tensor):
                node = None if x.node is None else leaf(x.shape, x.dtype)
                self.boxed[k] = shadow = wrap(symbol, node, 0)
                if type(x) not in (Tensor, View):
                    vars(object)["__class__"].__set__(shadow, type(x))  # a module's parameter stays one
                if node is not None and is_own(x) and x.grad is not None:
                    self._gradients[k] = wrap(self._input(ArrayLeaf(k, True, True), f"x{k}.grad", None), None, 0)
                    node.grad = self._gradients[k]
            else:
                self.boxed[k] = symbol

    def _input(self, place: ArrayLeaf, name: str, same: Symbol | None) -> Symbol:
        data = place.read(self.leaves)
        node = placeholder(name, np.shape(data), np.asarray(data).dtype, number=not hasattr(data, "dtype"))
        known: Value = same.held if isinstance(same, Tensor) else same
        symbol: Symbol = symbol_of_input(data, node) if known is None else known
        self.chosen.append(place)
        self.inputs.append(node)
        self._symbols.append(symbol)
        return symbol

    def targets(self, replaced: Container[int] = ()) -> Iterator[tuple[ArgumentTarget, Value]]:
        """What was written, each with its symbol (or array) at the end; None for a gradient that was taken away.

        Tensors whose numbers are in `replaced` have got other arrays.
        """
        done: set[int] = set()
        for chosen, node, symbol in zip(self.chosen, self.inputs, self._symbols, strict=True):
            if chosen.gradient or id(symbol) in done:
                continue
            done.add(id(symbol))
            now = self.boxed[chosen.number].held if chosen.tensor else symbol
            if now is not symbol and symbol.node is not node:
                raise lost()
            if now is not symbol or symbol.node is not node:
                yield ArgumentTarget(chosen.number, False, now is symbol or chosen.number not in replaced), now
        firsts = {id(x): k for k, x in reversed(list(enumerate(self.boxed)))}
        before = {c.number: s for c, s in zip(self.chosen, self._symbols, strict=True) if c.gradient}
        nodes = {c.number: n for c, n in zip(self.chosen, self.inputs, strict=True) if c.gradient}
        for chosen in self.chosen:
            if not chosen.tensor or chosen.gradient or self.boxed[chosen.number].node is None:
                continue
            first = firsts[id(self.boxed[chosen.number])]
            grad, old = self.boxed[first].node.grad, before.get(first)
            if first != chosen.number or (grad is None and old is None):
                continue
            held = self._gradients.get(first)
            stays = held is not None and grad is held
            if not is_own(self.leaves[first]):
                raise NotSupportedError("it goes backward to an argument that is not a leaf, which holds no gradient")
            now = None if grad is None else grad.held
            if held is not None and not stays and held.held.node is not nodes[first]:
                raise lost(True)
            if now is None or (now is not old and not stays) or now.node is not nodes[first]:
                yield ArgumentTarget(first, True, stays or (now is not None and now is old)), now

    def gone(self, replaced: Container[int]) -> Iterator[Symbol]:
        """The arrays that tensors have no more."""
        for chosen, symbol in zip(self.chosen, self._symbols, strict=True):
            if chosen.number in replaced and not chosen.gradient and self.boxed[chosen.number].held is not symbol:
                yield symbol

    def gradients(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The stand-ins of tensors that had gradients at first, and of these."""
        return ((self.boxed[k], gradient) for k, gradient in self._gradients.items())

    def arrays(self, targets: Iterable[ArgumentTarget]) -> list[int]:
        """The numbers of those that are arrays, written where they lie."""
        return [t.number for t in targets if t.in_place and isinstance(self.leaves[t.number], np.ndarray)]

    @property
    def inside_transform(self) -> bool:
        """Whether tensors among them belong to a transform, such as grad, which differentiates by nothing else."""
        return any(isinstance(x, Tensor) and x.node is not None and x.level > 0 for x in self.leaves)

    def sources(self) -> Iterator[tuple[Node, Value]]:
        """The inputs that a gradient may come back to, each with the leaf of its tensor."""
        met: set[int] = set()
        for chosen, node in zip(self.chosen, self.inputs, strict=True):
            tensor = self.boxed[chosen.number]
            if chosen.tensor and not chosen.gradient and tensor.node is not None and id(tensor) not in met:
                met.add(id(tensor))
                yield node, tensor.node

    def returned(self, found: Sequence[object]) -> dict[int, int]:
        """Which of the results are arguments themselves: their numbers."""
        numbers = {id(x): k for k, x in reversed(list(enumerate(self.boxed))) if isinstance(x, Symbol | Tensor)}
        return {i: numbers[id(x)] for i, x in enumerate(found) if id(x) in numbers and not _is_number(x)}


def lost(gradient: bool = False) -> BaseException:
    """What to raise where an array is written, or given back, that its tensor has no more: others may have it."""
    if gradient:  # there may be none at the next call
        return NotSupportedError("it uses a gradient that its tensor then has no more")
    return Refuse("it uses the array of a tensor that then gets another one")


def is_own(tensor: Tensor) -> bool:
    """Whether a tensor is a leaf of the user's, and not what a transform or an operation made."""
    return tensor.is_leaf and tensor.level == 0


def _is_number(x: Value) -> bool:
    return not isinstance(x, Tensor) and not isinstance(x.value, np.ndarray)


def shares_memory(given: Sequence[Array], state: State, written: Iterable[int], overwritten: Sequence[Array]) -> bool:
    """Whether what a program writes in place, of its state or of arguments, shares memory with something it reads.

    One array may be there twice as an argument: it is one symbol.
    """
    targets = [cell.get() for i in written for cell in state.written_in_place(i)]
    arguments = {id(x.held if isinstance(x, Tensor) else x) for x in overwritten}
    if not targets and not arguments:
        return False
    each = [(x, id(x) in arguments) for x in {id(x): x for x in given}.values()] + [(x, True) for x in targets]
    each += [(x, False) for x in state.read_only(written)]
    return overlap(each)


class FlatCall(NamedTuple):
    """One call: its arguments, and their leaves."""

    args: Value
    kwargs: Value
    leaves: Sequence[Value]
    rebuild: Value


class Parameters:
    """A function's parameters: their names, their defaults, and whether all can be given by name."""

    def __init__(self, function: Function) -> None:
        self.function = function
        found = inspect.signature(function).parameters
        self.names = dict.fromkeys(found)
        self.defaults = {name: p.default for name, p in found.items() if p.default is not Parameter.empty}
        by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        self.plain = all(parameter.kind in by_name for parameter in found.values())

    def given(self, args: Value, kwargs: Value) -> dict[str, Value]:
        """All arguments of a call by name, with the defaults of those that are not given."""
        given: dict[str, Value] = dict(zip(self.names, args, strict=False)) | kwargs
        if not self.plain or len(given) < len(args) + len(kwargs) or not given.keys() <= self.names.keys():
            bound = inspect.signature(self.function).bind(*args, **kwargs)  # which says what is wrong
            bound.apply_defaults()
            return dict(bound.arguments)
        return self.defaults | given
