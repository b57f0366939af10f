"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Index, Value
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tape.tensor import Tensor


class ModuleList(Module):
    """A list of modules, to be called in whatever way `forward` of its owner likes.

    Raises:
        ArgumentError: if something that is put in is not a `Module`.

    Example:
        >>> from adjoint import nn
        >>> layers = nn.ModuleList([nn.Linear(2, 3), nn.ReLU()])
        >>> _ = layers.append(nn.Linear(3, 1))
        >>> len(layers), [name for name, _ in layers.named_parameters()]
        (3, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    _keys: list[str]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        vars(self).setdefault("_keys", [])
        self.extend(modules or ())

    def __setattr__(self, name: str, value: Value) -> None:
        """A module that is set by name, as by `add_module`, stands behind the others."""
        if isinstance(value, Module) and name not in vars(self).setdefault("_keys", []):
            self._keys.append(name)
        super().__setattr__(name, value)

    def append(self, module: Module) -> Self:
        """Put `module` at the end."""
        setattr(self, str(len(self)), self._checked(module, len(self)))
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put `module` before number `index`."""
        held = self._pairs()
        held.insert(index, ("0", self._checked(module, index)))
        return self._hold(held)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Put all of `modules` at the end."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, index: int = -1) -> Module:
        """Take module number `index` out, and give it."""
        held = self._pairs()
        _, taken = held.pop(index)
        self._hold(held)
        return taken

    def _checked(self, module: Module, index: object) -> Module:
        if not isinstance(module, Module):
            raise ArgumentError(
                f"{type(self).__name__} holds modules; number {index} is {module!r}. "
                f"For a plain function there are nn.ReLU() and its like, or write a small Module"
            )
        return module

    def _pairs(self) -> list[tuple[str, Module]]:
        return [(name, getattr(self, name)) for name in self._keys]

    def _hold(self, named: Iterable[tuple[str, Module]]) -> Self:
        """Hold just these; those whose name is a number are numbered anew."""
        for name in self._keys:
            delattr(self, name)
        self._keys.clear()
        for i, (name, module) in enumerate(named):
            setattr(self, str(i) if name.isdecimal() else name, module)
        return self

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Module]:
        return (getattr(self, name) for name in self._keys)

    def __getitem__(self, index: Index) -> Value:
        if isinstance(index, slice):
            return self._made(self._pairs()[index])
        return getattr(self, self._keys[index])

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._keys[index], self._checked(module, index))

    def __delitem__(self, index: Index) -> None:
        held = self._pairs()
        del held[index]
        self._hold(held)

    def __add__(self, other: Iterable[Module]) -> Self:
        return self._made([*self._pairs(), *(("0", module) for module in other)])

    def _made(self, named: Iterable[tuple[str, Module]]) -> Self:
        """Another one with these modules."""
        made = type(self).__new__(type(self))
        vars(made)["_keys"] = []
        return made._hold(named)


class Sequential(ModuleList):
    """Modules one after the other: each takes what the one before gave.

    A dictionary names them: ``nn.Sequential({"first": nn.Linear(4, 3), "act": nn.ReLU()})``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> net = nn.Sequential(nn.Linear(4, 3, rng=0), nn.ReLU(), nn.Linear(3, 2, rng=1))
        >>> net(np.zeros((5, 4))).shape
        (5, 2)
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            super().__init__()
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            super().__init__(modules)  # type: ignore[arg-type]  # append tells of others

    def add_module(self, name: str, module: Module | None) -> None:
        """Put `module` at the end, under this name."""
        if not isinstance(module, Module):
            raise ArgumentError(f"Sequential holds modules; {name!r} is {module!r}")
        if hasattr(Module, name) or not name or "." in name:
            raise ArgumentError(f"Sequential: {name!r} is no name for a module: empty, with a dot, or a method's")
        setattr(self, name, module)

    def forward(self, x: Array) -> Tensor:
        for module in self:
            x = module(x)
        return x


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

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Put all of `modules` in."""
        for name, module in dict(modules).items():
            self[name] = module

    def pop(self, name: str) -> Value:
        """Take what has this name out, and give it."""
        taken = self[name]
        del self[name]
        return taken

    def get(self, name: str, default: Value = None) -> Value:
        """The module of this name; else `default`."""
        return getattr(self, name) if name in self._keys else default

    def clear(self) -> None:
        """Take everything out."""
        for name in list(self._keys):
            del self[name]

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

    def __init__(self, values: Iterable[Array] | None = None) -> None:
        self._count = 0
        for value in values or ():
            self.append(value)

    def append(self, value: Array) -> Self:
        """Put a parameter at the end."""
        setattr(self, str(self._count), value if isinstance(value, Parameter) else Parameter(value))
        self._count += 1
        return self

    def extend(self, values: Iterable[Array]) -> Self:
        """Put all of `values` at the end."""
        for value in values:
            self.append(value)
        return self

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

    def __init__(self, parameters: Mapping[str, Array] | None = None) -> None:
        super().__init__(parameters)

    def __setitem__(self, name: str, value: Array) -> None:
        if name not in self._keys:
            self._keys.append(name)
        setattr(self, name, value if isinstance(value, Parameter) else Parameter(value))
