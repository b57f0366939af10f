"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.core.errors import ArgumentError
from adjoint.nn.module import Module


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

    def __getitem__(self, index: Any) -> Any:
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

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x

    @classmethod
    def _of(cls, modules: list[Module]) -> ModuleList:
        return cls(*modules)
