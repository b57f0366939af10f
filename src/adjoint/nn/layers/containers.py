"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Index, Value
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter


class ModuleList(Module):
    """A list of modules, to be called in whatever way `forward` of its owner likes.

    Raises:
        ArgumentError: if something that is put in is not a `Module`.

    Example:
        >>> from adjoint import nn
        >>> layers = nn.ModuleList([nn.Linear(2, 3), nn.ReLU()])
        >>> layers.append(nn.Linear(3, 1))
        >>> len(layers), [name for name, _ in layers.named_parameters()]
        (3, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self._count = 0
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> None:
        """Put `module` at the end."""
        if not isinstance(module, Module):
            raise ArgumentError(
                f"{type(self).__name__} holds modules; number {self._count} is {module!r}. "
                f"For a plain function there are nn.ReLU() and its like, or write a small Module"
            )
        setattr(self, str(self._count), module)
        self._count += 1

    def extend(self, modules: Iterable[Module]) -> None:
        """Put all of `modules` at the end."""
        for module in modules:
            self.append(module)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Module]:
        return (getattr(self, str(i)) for i in range(self._count))

    def __getitem__(self, index: Index) -> Value:
        if isinstance(index, slice):
            return type(self)._of(list(self)[index])
        return getattr(self, str(range(self._count)[index]))

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(range(self._count)[index]), module)

    @classmethod
    def _of(cls, modules: list[Module]) -> ModuleList:
        return cls(modules)


class Sequential(ModuleList):
    """Modules one after the other: each takes what the one before gave.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> net = nn.Sequential(nn.Linear(4, 3, rng=0), nn.ReLU(), nn.Linear(3, 2, rng=1))
        >>> net(np.zeros((5, 4))).shape
        (5, 2)
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Array) -> Array:
        for module in self:
            x = module(x)
        return x

    @classmethod
    def _of(cls, modules: list[Module]) -> ModuleList:
        return cls(*modules)


class ModuleDict(Module):
    """A dictionary of modules.

    Raises:
        ArgumentError: if something that is put in is not a `Module`.

    Example:
        >>> from adjoint import nn
        >>> parts = nn.ModuleDict({"up": nn.Linear(2, 3), "down": nn.Linear(3, 2)})
        >>> [name for name, _ in parts.named_parameters()]
        ['up.weight', 'up.bias', 'down.weight', 'down.bias']
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        self._keys: list[str] = []
        self.update(modules or {})

    def __setitem__(self, name: str, module: Module) -> None:
        if not isinstance(module, Module):
            raise ArgumentError(f"ModuleDict holds modules; {name!r} is {module!r}")
        if hasattr(Module, name) or not name or "." in name:
            raise ArgumentError(f"ModuleDict: {name!r} is no name for a module: empty, with a dot, or a method's")
        if name not in self._keys:
            self._keys.append(name)
        setattr(self, name, module)

    def __getitem__(self, name: str) -> Value:
        if name not in self._keys:
            raise KeyError(name)
        return getattr(self, name)

    def __delitem__(self, name: str) -> None:
        self._keys.remove(name)
        delattr(self, name)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def update(self, modules: Mapping[str, Module]) -> None:
        """Put all of `modules` in."""
        for name, module in modules.items():
            self[name] = module

    def keys(self) -> Iterator[str]:
        """The names."""
        return iter(self._keys)

    def values(self) -> Iterator[Array]:
        """The modules."""
        return (getattr(self, name) for name in self._keys)

    def items(self) -> Iterator[tuple[str, Value]]:
        """Names and modules."""
        return ((name, getattr(self, name)) for name in self._keys)


class ParameterList(Module):
    """A list of parameters; arrays and tensors become parameters.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> weights = nn.ParameterList([np.ones(2), np.zeros(3)])
        >>> [name for name, _ in weights.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Array] = ()) -> None:
        self._count = 0
        for value in values:
            self.append(value)

    def append(self, value: Array) -> None:
        """Put a parameter at the end."""
        setattr(self, str(self._count), value if isinstance(value, Parameter) else Parameter(value))
        self._count += 1

    def extend(self, values: Iterable[Array]) -> None:
        """Put all of `values` at the end."""
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Parameter]:
        return (getattr(self, str(i)) for i in range(self._count))

    def __getitem__(self, index: int) -> Value:
        return getattr(self, str(range(self._count)[index]))

    def __setitem__(self, index: int, value: Array) -> None:
        setattr(self, str(range(self._count)[index]), value if isinstance(value, Parameter) else Parameter(value))


class ParameterDict(ModuleDict):
    """A dictionary of parameters; arrays and tensors become parameters.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> sorted(nn.ParameterDict({"a": np.ones(2), "b": np.zeros(3)}).state_dict())
        ['a', 'b']
    """

    def __setitem__(self, name: str, value: Array) -> None:
        if name not in self._keys:
            self._keys.append(name)
        setattr(self, name, value if isinstance(value, Parameter) else Parameter(value))
