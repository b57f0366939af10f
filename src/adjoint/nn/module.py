"""`Module`: something with parameters, and a `forward`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.device import is_device, named, on_device
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.messages.elsewhere import Elsewhere, answer_names
from adjoint.core.messages.keywords import answering
from adjoint.core.types import Array, Device, DType, P, R, Value
from adjoint.nn.hooks import Hooked
from adjoint.nn.parameter import Parameter
from adjoint.nn.state import StateArray
from adjoint.tape.node import leaf
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations
from adjoint.twin.follow import follow

Result_co = TypeVar("Result_co", covariant=True)
_SETTINGS = (int, float, bool, str, type(None), dict, np.ndarray, np.random.Generator)  # hold no module


class Forward(Protocol[P, Result_co]):
    """What type checkers read off a module."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...


class Loaded(NamedTuple):
    """The names that `load_state_dict(strict=False)` left alone."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(Hooked):
    """A function with parameters: write `forward`, and set parameters and modules as attributes.

    What is found: attributes that are a `Parameter` or a `Module`, and lists or tuples of these; in the
    order in which they were set, a module's own before its children's.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> class Scale(nn.Module):
        ...     def __init__(self):
        ...         self.factor = nn.Parameter(np.array(2.0))
        ...     def forward(self, x):
        ...         return self.factor * x
        >>> Scale()(3.0).item()
        6.0
        >>> [name for name, _ in Scale().named_parameters()]
        ['factor']
    """

    training: bool = True

    def forward(self, *args: Value, **kwargs: Value) -> Value:
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward: define `def forward(self, x): ...`")

    def _call(self, *args: Array, **kwargs: Value) -> Value:
        forward, hooks = type(self).forward, self._hooks
        if hooks is not None:
            args, kwargs, passage = hooks.entered(self, args, kwargs)
        try:
            if (
                self._written_elsewhere
                and (twin := follow(forward, args)) is not forward
                and "forward" not in vars(self)
            ):
                result = twin(self, *args, **kwargs)
            else:
                result = self.forward(*args, **kwargs)
        except ShapeError as error:
            _located(error, self)
            raise
        return result if hooks is None else hooks.left(self, args, kwargs, result, passage)

    if TYPE_CHECKING:  # a module takes and gives what its `forward` does

        def __call__(self: Forward[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    else:
        __call__ = _call

    #: Whether a class is a user's, whose `forward` may need its twin.
    _written_elsewhere = False

    def __init_subclass__(cls, **options: Value) -> None:
        super().__init_subclass__(**options)
        cls._written_elsewhere = not cls.__module__.startswith("adjoint.")
        if not cls._written_elsewhere and "__init__" in vars(cls):
            cls.__init__ = answering(cls.__init__)  # type: ignore[method-assign]  # it takes more arguments

    # -- What it is made of -------------------------------------------------------------------------

    def _members(self, kind: type) -> Iterator[tuple[str, Value]]:
        """This module's own attributes of `kind`, lists and tuples looked into, and what is wrapped in others."""
        tensors = issubclass(kind, Tensor)
        for name, value in vars(self).items():
            if type(value) in _SETTINGS or (not tensors and issubclass(type(value), Tensor)):
                continue
            if isinstance(value, kind):
                yield name, value
            elif isinstance(value, list | tuple):
                for i, item in enumerate(value):
                    if isinstance(inner := item if isinstance(item, kind) else _wrapped(item), kind):
                        yield f"{name}.{i}", inner
            elif not issubclass(type(value), Module | Tensor) and isinstance(inner := _wrapped(value), kind):
                yield name, inner

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Modules directly below this one, with their attribute names."""
        return self._members(Module)

    def children(self) -> Iterator[Module]:
        """Modules directly below this one."""
        return (module for _, module in self._members(Module))

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names; each once."""
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            name, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            below = [(f"{name}.{child}".lstrip("."), m) for child, m in module.named_children()]
            stack += reversed(below)

    def modules(self) -> Iterator[Module]:
        """This module and all below it; each once."""
        return (module for _, module in self.named_modules())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """All parameters with dotted names; a shared one once, under its first name."""
        seen: set[int] = set()
        for path, module in self.named_modules():
            for name, parameter in module._members(Parameter):
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{name}".lstrip("."), parameter

    def parameters(self) -> Iterator[Parameter]:
        """All parameters; a shared one once."""
        return (parameter for _, parameter in self.named_parameters())

    def register_buffer(self, name: str, value: Array, persistent: bool = True) -> None:
        """Set ``self.name`` to values that belong to the module's state and are not learned.

        Args:
            name: an attribute name.
            value: a tensor without gradient; an array is wrapped, sharing its memory. None is one to be set later.
            persistent: whether `state_dict` has it.
        """
        value = value if isinstance(value, Tensor | None) else Tensor(value)
        if value is not None and value.requires_grad:
            raise ArgumentError(f"buffer {name!r} requires a gradient; use nn.Parameter, or value.detach()")
        vars(self).setdefault("_buffers", {})[name] = persistent
        setattr(self, name, value)

    def _own_buffers(self, persistent_only: bool = False) -> Iterator[tuple[str, Tensor]]:
        """Those that are there: one may be None, or deleted."""
        own = vars(self)
        for name, persistent in own.get("_buffers", {}).items():
            if (persistent or not persistent_only) and isinstance(own.get(name), Tensor):
                yield name, own[name]

    def named_buffers(self, persistent_only: bool = False) -> Iterator[tuple[str, Tensor]]:
        """All buffers with dotted names."""
        for path, module in self.named_modules():
            for name, buffer in module._own_buffers(persistent_only):
                yield f"{path}.{name}".lstrip("."), buffer

    def buffers(self) -> Iterator[Tensor]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers())

    def get_submodule(self, target: str) -> Module:
        """The module with this dotted name; "" is this one."""
        return self._at_path(target, Module)  # type: ignore[no-any-return]  # it is looked at

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with this dotted name."""
        return self._at_path(target, Parameter)  # type: ignore[no-any-return]  # as above

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with this dotted name."""
        return self._at_path(target, Tensor)  # type: ignore[no-any-return]  # as above

    def _at_path(self, target: str, kind: type) -> Value:
        found: Value = self
        for name in filter(None, target.split(".")):
            found = found[int(name)] if isinstance(found, list | tuple) else getattr(found, name)
        if not isinstance(found, kind):
            raise AttributeError(f"{type(self).__name__}: {target!r} is no {kind.__name__}, but {found!r}")
        return found

    # -- What it does to all of them ----------------------------------------------------------------

    def train(self: Self, mode: bool = True) -> Self:
        """Switch this module and all below it to training (dropout drops), or with False to evaluation."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: Self) -> Self:
        """Switch to evaluation: ``train(False)``."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; with ``set_to_none=False``, write 0 into them."""
        for parameter in self.parameters():
            parameter.zero_grad()
            if not set_to_none:
                parameter.grad = np.zeros_like(parameter.held)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Freeze (False) or thaw all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def apply(self: Self, function: Callable[[Module], Value]) -> Self:
        """Call `function` with every module below this one, then with this one."""
        for module in reversed(list(self.modules())):
            function(module)
        return self

    def astype(self: Self, dtype: DType) -> Self:
        """Convert all parameters and real buffers to `dtype`. Do so before making an optimiser.

        The parameters stay the same objects; their gradients are forgotten.
        """
        for tensor in (*self.parameters(), *self.buffers()):
            if tensor.dtype.kind in "fc":
                _refill(tensor, tensor.held.astype(dtype))
        return self

    def double(self: Self) -> Self:
        """``astype(np.float64)``."""
        return self.astype(np.float64)

    def float(self: Self) -> Self:
        """``astype(np.float32)``."""
        return self.astype(np.float32)

    def half(self: Self) -> Self:
        """``astype(np.float16)``."""
        return self.astype(np.float16)

    def cpu(self: Self) -> Self:
        """``to("cpu")``."""
        return self.to("cpu")

    def cuda(self: Self, device: Device = "cuda") -> Self:
        """``to("cuda")``."""
        return self.to(device=device)

    def to(self: Self, dtype: DType = None, *, device: Device = None) -> Self:
        """Give every parameter and buffer another dtype (as `astype`), or move it to a device, or both.

        The parameters stay the same objects; their gradients are forgotten. Make the optimiser afterwards: it keeps
        its values beside its parameters.

        Raises:
            ArgumentError: for an unknown device.
            DeviceError: for a device that this machine does not have.
        """
        if is_device(dtype):
            dtype, device = None, dtype
        if dtype is not None:
            self.astype(dtype)
        if device is not None:
            place, held = named(device), (*self.parameters(), *self.buffers())
            for tensor, moved in [(t, on_device(t.held, place)) for t in held]:  # all of them, or none
                if moved is not tensor.held:
                    _refill(tensor, moved)
        return self

    def add_module(self, name: str, module: Module | None) -> None:
        """``setattr(self, name, module)``."""
        setattr(self, name, module)

    register_module = add_module

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """``setattr(self, name, parameter)``."""
        setattr(self, name, parameter)

    # -- Its state ----------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        """Every name a parameter or persistent buffer has; a shared one has several."""
        state: dict[str, Tensor] = {}
        for path, module in self.named_modules():
            own = list(module._members(Parameter))
            own += module._own_buffers(persistent_only=True)
            state |= {f"{path}.{name}".lstrip("."): value for name, value in own}
        return state

    def _sized_by(self, state: Mapping[str, Value], prefix: str) -> None:
        """Get ready for the values of `state` below `prefix`; a `LazyLayer` learns its sizes."""

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all parameters and persistent buffers, by dotted name; for `adjoint.io.save`.

        The arrays are NumPy's, and answer to tensors' names too: ``value.clone()``, ``value.cpu()``, ``value.numel()``.
        """
        return {name: np.array(value.numpy()).view(StateArray) for name, value in self._state().items()}

    def load_state_dict(self, state: Mapping[str, Value], strict: bool = True) -> Loaded:
        """Write the values of `state` into the parameters and buffers of the same names.

        Nothing is written unless everything fits. Values are converted to each parameter's dtype.

        Args:
            state: arrays or tensors by dotted name, as `state_dict` gives them.
            strict: names must be the same on both sides.

        Raises:
            ArgumentError: if names are missing or unexpected, and `strict`.
            ShapeError: if a shape differs.
        """
        for path, module in list(self.named_modules()):
            module._sized_by(state, f"{path}.".lstrip("."))
        own = self._state()
        missing = [name for name in own if name not in state]
        unexpected = [name for name in state if name not in own]
        if strict and (missing or unexpected):
            lists = {"missing": missing, "unexpected": unexpected}
            found = "; ".join(f"{what}: {', '.join(map(repr, names))}" for what, names in lists.items() if names)
            raise ArgumentError(
                f"load_state_dict: the names do not match {type(self).__name__}'s: {found}. To load what fits, "
                f"load_state_dict(state, strict=False)"
            )
        values = {n: v.numpy() if isinstance(v, Tensor) else np.asarray(v) for n, v in state.items() if n in own}
        wrong = [f"{n!r} is {own[n].shape}, got {v.shape}" for n, v in values.items() if v.shape != own[n].shape]
        if wrong:
            raise ShapeError(f"load_state_dict: shapes differ: {'; '.join(wrong)}")
        for name, value in values.items():
            data = own[name].held
            if isinstance(data, np.generic):  # a buffer that arithmetic made a number
                _refill(own[name], data.dtype.type(value))
                continue
            data[...] = beside(data, value)
            mutations.note(data)
        return Loaded(missing, unexpected)

    # -- Looking at it ------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The settings to show between the parentheses of `repr`."""
        return ""

    def __dir__(self) -> list[str]:
        """What it has: not the names that only say what to write instead."""
        return [name for name in super().__dir__() if not isinstance(vars(Module).get(name), Elsewhere)]

    def __repr__(self) -> str:
        below = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self.named_children()]
        lines = ([self.extra_repr()] if self.extra_repr() else []) + below
        if not below:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"


def _located(error: ShapeError, module: Module) -> None:
    """Let `error`, which came from a module in `module`, name that by its path from here."""
    inner, message = getattr(error, "raised_in", None) or (module, error.args[0])
    path = next((name for name, m in module.named_modules() if m is inner), "")
    error.raised_in = inner, message  # type: ignore[attr-defined]  # for modules around this one
    error.args = (f"{message} (in layer {path!r} of {type(module).__name__}: {inner!r})" if path else message,)


def _refill(tensor: Tensor, data: Array) -> None:
    """Put other numbers into a tensor, whose gradient does not belong to them."""
    tensor.held = data
    tensor.node = leaf(tensor.shape, tensor.dtype) if tensor.node is not None else None


def _wrapped(value: Array) -> Array:
    """The module in a compiled one."""
    return getattr(value, "__wrapped__", None)


answer_names(Module, "module")
