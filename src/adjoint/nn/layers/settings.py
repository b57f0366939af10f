"""What layers share: settings that have names, and values that are drawn anew."""

from __future__ import annotations

from inspect import signature

from adjoint.core.types import Value
from adjoint.nn.init import Rng
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tape.writes import mutations


class Drawn(Module):
    """A layer whose parameters can be drawn anew; its attributes are the settings that it was made with."""

    def reset_parameters(self, *, rng: Rng = None) -> None:
        """Write new initial values into all parameters, and into running averages.

        Args:
            rng: a seed or generator for them.
        """
        kind: Value = type(self)
        own, given = self._state(), {"rng": rng, "dtype": next(p.dtype for p in self.parameters())}
        for name in signature(kind).parameters.keys() - given.keys():
            value = getattr(self, name)
            made = isinstance(value, Parameter) or (name == "bias" and value is None)
            given[name] = value is not None if made else value
        fresh = kind(**{name: given[name] for name in signature(kind).parameters})
        for name, value in fresh._state().items():
            own[name].held[...] = value.held
            mutations.note(own[name].held)


class WithSettings(Module):
    """A function of arrays and of settings that stay; `repr` shows these."""

    def __init__(self, **settings: Value) -> None:
        self._settings = settings

    def __getattr__(self, name: str) -> Value:
        """A setting by its name."""
        settings = vars(self).get("_settings", {})
        if name not in settings:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return settings[name]

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._settings.items() if value is not None)


class Rectifier(Module):
    """An activation without settings; `inplace` is PyTorch's: the result is a new array in any case."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
