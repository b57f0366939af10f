"""Parameters that are computed from others each time they are read: ``W = f(original)``.

State names are PyTorch's: ``parametrizations.weight.original`` (or ``original0``, ``original1`` …), and
``parametrizations.weight.0`` for the state of the first function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.types import Array, Value
from adjoint.nn.layers.containers import ModuleDict
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tape.modes import no_grad
from adjoint.tape.tensor import Tensor


class ParametrizationList(Module):
    """The functions of one parameter, in order, and what the first of them takes."""

    def __init__(self, first: Module, original: Value) -> None:
        self._count = 0
        self._several = isinstance(original, tuple)
        if self._several:
            for i, value in enumerate(original):
                setattr(self, f"original{i}", _parameter(value))
        else:
            self.original = _parameter(original)
        self._inputs = len(original) if self._several else 1
        self.append(first)

    def append(self, function: Module) -> None:
        """Put `function` behind the others."""
        setattr(self, str(self._count), function)
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Module]:
        return (getattr(self, str(i)) for i in range(self._count))

    def __getitem__(self, index: int) -> Module:
        return list(self)[index]

    def forward(self) -> Value:
        first, *rest = self
        if self._several:
            value = first(*(getattr(self, f"original{i}") for i in range(self._inputs)))
        else:
            value = first(self.original)
        for function in rest:
            value = function(value)
        return value


def _parameter(value: Array) -> Parameter:
    return (
        value
        if isinstance(value, Parameter)
        else Parameter(value.detach().copy() if isinstance(value, Tensor) else value)
    )


def register_parametrization(module: Module, tensor_name: str, parametrization: Module) -> Module:
    """Compute ``module.tensor_name`` by `parametrization` from now on, whenever it is read.

    Args:
        module: has the parameter; its class becomes one of its own.
        tensor_name: the parameter's name.
        parametrization: a module of one argument, or of several if it has ``right_inverse(value)``, which gives
            the values to compute the parameter from; if that raises `NotImplementedError`, the parameter itself is one.
            Further ones are applied to the result of those before.

    Raises:
        ArgumentError: if there is no such parameter.
        ShapeError: if the function gives another shape.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return np.triu(x) + np.triu(x, 1).T
        >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3, rng=0), "weight", Symmetric())
        >>> bool(np.allclose(layer.weight, layer.weight.T))
        True
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'parametrizations.weight.original']
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)  # type: ignore[attr-defined]  # see is_parametrized
        return module
    own = vars(module).get(tensor_name)
    if not isinstance(own, Parameter):
        names = ", ".join(name for name, _ in module._members(Parameter))
        raise ArgumentError(
            f"{type(module).__name__} has no parameter {tensor_name!r} of its own to parametrise; it has {names}"
        )
    inverse = getattr(parametrization, "right_inverse", None)
    with no_grad():
        try:
            original = own if inverse is None else inverse(own)
        except NotImplementedError:
            original = own
        made = ParametrizationList(parametrization, original)
        shape = np.shape(made())
    if shape != own.shape:
        raise ShapeError(f"parametrisation of {tensor_name!r}: it has shape {own.shape}; the function gives {shape}")
    del vars(module)[tensor_name]
    if "parametrizations" not in vars(module):
        module.parametrizations = ModuleDict()  # type: ignore[attr-defined]  # modules take attributes
    module.parametrizations[tensor_name] = made  # type: ignore[attr-defined]  # as above
    module.__class__ = _computing(type(module), tensor_name)
    return module


def _computing(kind: type[Module], name: str) -> type[Module]:
    """A class like `kind`, in which `name` is computed."""

    def value(self: Value) -> Value:
        return self.parametrizations[name]()

    def reduce(self: Value, protocol: object) -> Value:  # the class has no place from which it can be imported
        return _blank, (_plain(type(self)), tuple(self.parametrizations)), vars(self)

    title = kind.__name__ if kind.__name__.startswith("Parametrized") else f"Parametrized{kind.__name__}"
    made = {"__module__": kind.__module__, name: property(value), "_parametrized": kind, "__reduce_ex__": reduce}
    return type(title, (kind,), made)


def _plain(kind: Value) -> type[Module]:
    """The class before anything was parametrised."""
    while hasattr(kind, "_parametrized"):
        kind = kind._parametrized
    plain: type[Module] = kind
    return plain


def _blank(kind: type[Module], names: tuple[str, ...]) -> Module:
    """A module without attributes, of a class in which `names` are computed."""
    for name in names:
        kind = _computing(kind, name)
    return kind.__new__(kind)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a parameter of `module`, or that of this name, is computed."""
    made = vars(module).get("parametrizations")
    return made is not None and (tensor_name is None or tensor_name in made)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make ``module.tensor_name`` a parameter again.

    Args:
        module: the module.
        tensor_name: the parameter's name.
        leave_parametrized: with the value that it has now; with False, what it was computed from.

    Raises:
        ArgumentError: if it is not parametrised.
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(f"{type(module).__name__} has no parametrisation of {tensor_name!r}")
    made = module.parametrizations  # type: ignore[attr-defined]  # see is_parametrized
    if not leave_parametrized and made[tensor_name]._several:
        raise ArgumentError("what is computed from several parameters is left as it is: leave_parametrized=True")
    value = getattr(module, tensor_name).detach().numpy().copy() if leave_parametrized else made[tensor_name].original
    del made[tensor_name]
    kind = _plain(type(module))
    names = list(made)
    for name in names:
        kind = _computing(kind, name)
    module.__class__ = kind
    if not names:
        del vars(module)["parametrizations"]
    setattr(module, tensor_name, value if isinstance(value, Parameter) else Parameter(value))
    return module


if not TYPE_CHECKING:  # else every misspelt name would be one of any kind

    def __getattr__(name: str) -> Value:
        raise looked_up("nn.utils.parametrize", name)
