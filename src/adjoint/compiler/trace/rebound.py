"""Tensors that are other ones at each call: ``self.average = 0.9 * self.average + 0.1 * loss.detach()``.

A tensor from outside is known by its identity, which a guard compares. Where it was another one at a later call, and
for results of one number, which programs keep in this way, only its data are read, by the place where it stands. It
must have no history. If the program keeps it, gives it back, or changes more than its numbers, an array is known by its
identity after all, and the recording begins again; a number is refused.
"""

from __future__ import annotations

import numpy as np

from adjoint.compiler.trace.guards import Binding, NameOf, is_alone
from adjoint.compiler.trace.inputs import Inputs
from adjoint.compiler.trace.outside import MISSING, Again, Refuse
from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Value
from adjoint.tape.tensor import Tensor, wrap


class HeldBinding(Binding):
    """The data of the tensor that stands at a place."""

    __slots__ = ("place",)

    def __init__(self, place: Binding) -> None:
        super().__init__(place.holder, place.key)
        self.place = place

    @property
    def identity(self) -> object:
        return "held", self.place.identity

    @property
    def name(self) -> str:
        return self.place.name

    def read(self) -> Value:
        return self.place.read().held

    def text(self, name_of: NameOf) -> str:
        return f"{self.place.text(name_of)}.held"

    def writing(self, value: Value) -> Action:
        raise Refuse(f"it gives {self.name} other data")


class ReboundTensors:
    """The stand-ins of tensors that are known by their places.

    Args:
        inputs: what the trace reads from outside. A captured graph has another kind, which keeps the tensors.
        varying: the identities of places where something else is at each call.
    """

    def __init__(self, inputs: Inputs, varying: set[Value]) -> None:
        self._inputs, self._varying = inputs, varying
        self._at: dict[Value, Tensor] = {}
        self._made: dict[int, tuple[Tensor, Value, HeldBinding]] = {}

    def __contains__(self, x: object) -> bool:
        return id(x) in self._made

    def take(self, tensor: Tensor, place: Binding) -> Tensor | None:
        """The stand-in of the tensor at `place`; None, if it is known by its identity."""
        known = self._at.get(place.identity)
        if known is not None:
            return known
        held = tensor.held
        moves = place.identity in self._varying and _fixed(place) not in self._varying
        if not (isinstance(held, np.generic) or (moves and type(held) is np.ndarray)):
            return None
        if type(self._inputs) is not Inputs or not is_alone(tensor) or tensor in self._inputs:
            return None
        guards, data = self._inputs.guards, HeldBinding(place)
        guards.kind(place, Tensor)
        guards.text(
            ("rebound", place.identity),
            lambda name_of: f"{place.text(name_of)}.node is None and {place.text(name_of)}.level == 0",
        )
        value = self._value(held, data)
        made = self._at[place.identity] = wrap(value, None, 0)
        self._made[id(made)] = made, value, data
        return made

    def _value(self, held: Value, data: HeldBinding) -> Array:
        if isinstance(held, np.ndarray):
            return self._inputs.array(held, data)
        if held.dtype.kind not in "fciub":
            raise Refuse(f"{data.name} holds a {type(held).__name__}")
        return self._inputs.number(held, data)

    def live(self, x: Value) -> Value:
        """What a value that is kept or given back stands for; MISSING, if the function made it."""
        self.asked_for(x)
        return self._inputs.live.get(id(x), MISSING)

    def asked_for(self, x: Value) -> None:
        """More than the data of `x` is asked for: from now on it is known by its identity, if it is one of these."""
        if x in self:
            self._fix(self._made[id(x)][2])

    def check(self) -> None:
        """The same of those that the program has changed otherwise than by writing into their arrays."""
        for tensor, value, data in self._made.values():
            if tensor.held is not value or tensor.node is not None:
                self._fix(data)

    def _fix(self, data: HeldBinding) -> None:
        if isinstance(data.read(), np.generic):
            raise Refuse(f"it keeps or changes {data.name}, a tensor of one number that is another one at each call")
        self._varying.add(_fixed(data.place))
        raise Again


def _fixed(place: Binding) -> Value:
    return "fixed", place.identity
