"""`Optimizer`: what all optimisers share. Groups of parameters with settings, and a state for each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import cast

import numpy as np

from adjoint.core.backend import Backend, backend_of, is_foreign
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, DeviceError, GradientError, ShapeError
from adjoint.core.messages.elsewhere import Elsewhere, answer_names
from adjoint.core.messages.keywords import Answering
from adjoint.core.threads.commit import whole
from adjoint.core.types import Array, Settings, Value
from adjoint.optim.pairs import as_pairs, from_pairs, is_complex
from adjoint.optim.preparing import Preparing
from adjoint.optim.pytorch_state import from_pytorch, is_of_pytorch
from adjoint.optim.states import as_begun, as_tensor, copied, plain
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations

_NOT_AS_THEY_ARE = "eFDG"  # dtypes of parameters that `update` sees in another form
ParamGroup = dict[str, Value]
#: What is kept for one parameter between steps.
ParamState = dict[str, Value]
#: Tensors, or groups of them: mappings with ``params`` and settings of their own.
Params = Iterable[Value]


class Optimizer(Preparing, Answering):
    """Writes new values into parameters, in place, from the gradients that they hold.

    A subclass gives the defaults of its settings, and `update` for one parameter; or, as in PyTorch, a `step` of its
    own that keeps what it needs in ``self.state[p]``.

    Args:
        params: tensors that require a gradient; or groups, ``{"params": [...], "lr": 0.1}``, whose settings
            go before the defaults.
        defaults: the settings.

    Attributes:
        param_groups: the groups; their settings may be changed at any time.
        state: what is kept for each parameter, ``state[p]``, by name.
        steps: how many steps were made.
        elementwise: whether `update` does to each element the same, whatever the shape. A class that defines `update`
            says so for itself; such updates are recorded once for many parameters.

    Raises:
        ArgumentError: if there are no parameters, one is there twice, or one is not a leaf with a gradient.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn, optim
        >>> class SignDescent(optim.Optimizer):
        ...     def __init__(self, params, lr=0.1):
        ...         super().__init__(params, {"lr": lr})
        ...     def update(self, data, grad, state, group, scratch):
        ...         data -= group["lr"] * np.sign(grad)
        >>> w = nn.Parameter([1.0, -2.0])
        >>> np.sum(w**2).backward()
        >>> SignDescent([w]).step()
        >>> w.tolist()
        [0.9, -1.9]
    """

    elementwise = False

    def __init__(self, params: Params, defaults: Mapping[str, object]) -> None:
        self.steps = 0
        self.param_groups: list[ParamGroup] = []
        self._state: dict[int, dict[str, np.ndarray]] = {}
        self._scratch: dict[int, np.ndarray] = {}
        self._buffers: dict[object, np.ndarray] = {}
        self._together = mutations.Together()
        self._prepared: dict[int, dict[str, Value]] = {}
        self._defaults = dict(defaults)
        if isinstance(params, Tensor) or hasattr(params, "parameters"):
            hint = "[tensor]" if isinstance(params, Tensor) else "model.parameters()"
            raise ArgumentError(f"{self._name} takes a list of parameters; pass {hint}")
        given = list(params)
        if not given:
            raise ArgumentError(f"{self._name} got an empty list of parameters; pass model.parameters()")
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    def __dir__(self) -> list[str]:
        """What it has: not the names that only say what to write instead."""
        return [name for name in super().__dir__() if not isinstance(vars(Optimizer).get(name), Elsewhere)]

    @property
    def defaults(self) -> ParamGroup:
        """The settings of parameter groups that have none of their own."""
        return self._defaults

    @property
    def state(self) -> KeptStates:
        """What is kept for each parameter between steps, a dictionary each: ``state[p]["momentum"]``."""
        return KeptStates(self)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def _stepping(self) -> Optimizer | None:
        """The optimiser that makes its steps; None if this process makes only a part of them."""
        return self

    def add_param_group(self, group: Mapping[str, Value]) -> None:
        """Take on more parameters: ``{"params": [...]}`` and settings of their own."""
        unknown = group.keys() - self._defaults.keys() - {"params"}
        if unknown or "params" not in group:
            known = ", ".join(self._defaults)
            raise ArgumentError(
                f"a group of {self._name} has `params`, and may set {known}; got {', '.join(map(str, group))}"
            )
        params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        if not params:
            raise ArgumentError(f"{self._name} got a group without parameters")
        known_ids = {id(p) for g in self.param_groups for p in g["params"]}
        for i, p in enumerate(params):
            held: Value = p.unnested().held if isinstance(p, Tensor) else None
            if held is None or not p.is_leaf or not (isinstance(held, np.ndarray) or is_foreign(held)):
                raise ArgumentError(f"{self._name} optimises leaf tensors; number {i} is {type(p).__name__}: {p!r}")
            if id(p) in known_ids:
                raise ArgumentError(f"{self._name} got a parameter of shape {p.shape} twice; each may be there once")
            known_ids.add(id(p))
        settings = {**self._defaults, **group, "params": params}
        self.check(settings)
        self.param_groups.append(settings)

    def check(self, settings: Settings) -> None:
        """Refuse settings that make no sense."""
        for name in ("lr", "weight_decay", "eps"):
            if name in settings and not settings[name] >= 0:
                raise ArgumentError(f"{self._name}: {name} must not be negative; got {settings[name]}")

    @property
    def lr(self) -> float:
        """The learning rate: of the first group; set, of all."""
        rate = self.param_groups[0]["lr"]
        return rate if isinstance(rate, Box) else float(rate)  # type: ignore[return-value]  # a box while a step is captured

    @lr.setter
    def lr(self, value: float) -> None:
        for group in self.param_groups:
            group["lr"] = value

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; with ``set_to_none=False``, write 0 into them."""
        for group in self.param_groups:
            for p in group["params"]:
                p.zero_grad()
                if not set_to_none:
                    p.grad = np.zeros_like(p.held)

    @whole
    def step(self) -> None:
        """Write each parameter that has a gradient; leave the others alone. Ctrl-C waits for the end of it."""
        self.steps += 1
        written: list[np.ndarray] = []
        try:
            for group in self.param_groups:
                for p in group["params"]:
                    if (grad := p.grad) is not None:
                        self._write(p, grad, group, written)
        finally:
            if written:
                self._together.note(written)

    def _write(self, p: Tensor, grad: Array, group: ParamGroup, written: list[np.ndarray]) -> None:
        """Write the parameter `p`; append its array to those that are noted as `written` when the step is over."""
        data, given = p.held, grad.held
        if type(data) is np.ndarray and type(given) is np.ndarray and grad.node is None and grad.level == p.level:
            self._write_plain(p, data, given, group, written)
            return
        if isinstance(data, Tensor):
            data = p.unnested().held
        if grad.requires_grad or grad.level != p.level:
            raise GradientError(
                f"{self._name} needs gradients that are plain arrays; this one is {type(grad.held).__name__}. "
                f"Step outside of grad, vjp and the like"
            )
        # A graph may have saved it, or a view that does not say whose it is.
        if not isinstance(data, np.ndarray | Box) and is_foreign(data):
            data = p.held = data.copy()
        if isinstance(data, np.ndarray) and type(grad.held) is not np.ndarray and is_foreign(grad.held):
            library = cast(Backend, backend_of(grad.held)).name
            raise DeviceError(
                f"{self._name} writes a parameter of NumPy's, and its gradient is an array of {library}. Fetch all "
                f"gradients at once before the step: for p, g in zip(params, dask.compute(*[p.grad.data for p in "
                f"params])): p.grad = g"
            )
        self._write_plain(p, data, grad.held, group, written)
        if isinstance(data, Box):
            mutations.note(data)

    def _write_plain(self, p: Tensor, data: Array, grad: Array, group: ParamGroup, written: list[np.ndarray]) -> None:
        """Write the memory `data` of `p`, which nothing speaks against."""
        state = self._state.get(id(p))
        if not state or (self._prepared and self._waits(p)):  # none yet, or none that a step has written
            state = self._begin_anew(p, data, group)
            self._prepared.pop(id(p), None)
        g = -grad if group.get("maximize") else grad
        if isinstance(data, np.ndarray):
            written.append(data)
        if data.dtype.char in _NOT_AS_THEY_ARE:
            (self._in_single if data.dtype.char == "e" else self._in_pairs)(data, g, state, group)
        else:
            scratch = self._scratch.get(id(p))
            if scratch is None or scratch.shape != data.shape or scratch.dtype != data.dtype:
                scratch = self._scratch_for(p, data)
            self.update(data, g, state, group, scratch)

    def _in_single(self, data: np.ndarray, grad: np.ndarray, state: dict[str, np.ndarray], group: ParamGroup) -> None:
        """`update` of half precision, computed in single: there squares overflow from 256 on, and 1e-8 is 0."""
        wide = {name: x.astype(np.float32) if x.dtype == np.float16 else x for name, x in state.items()}
        single = data.astype(np.float32)
        self.update(single, grad.astype(np.float32), wide, group, np.zeros_like(single))
        data[...] = single
        for name, x in wide.items():
            if name in state and state[name].dtype == np.float16:
                state[name][...] = x
            else:
                state[name] = x

    def _in_pairs(self, data: Array, grad: Array, state: dict[str, Array], group: ParamGroup) -> None:
        """`update` of complex numbers as pairs of real ones."""
        pairs = as_pairs(data)
        shown = {name: as_pairs(x) if is_complex(x.dtype) else x for name, x in state.items()}
        before = dict(shown)
        self.update(pairs, as_pairs(grad), shown, group, np.zeros_like(pairs))
        if not isinstance(data, np.ndarray):
            data[...] = from_pairs(pairs, data)
        for name, x in shown.items():
            of = state.get(name)
            if of is not None and is_complex(of.dtype) and not isinstance(of, np.ndarray):
                of[...] = from_pairs(x, of)
            elif x is not before.get(name):
                state[name] = from_pairs(x, data) if np.shape(x) == pairs.shape else x

    def begin(self, data: np.ndarray, group: ParamGroup) -> dict[str, np.ndarray]:
        """The state of a parameter before its first step; of a complex one, from its pairs."""
        if not is_complex(data.dtype):
            return self.start(data, group)
        pairs = as_pairs(data)
        begins = self.start(pairs, group)
        return {name: from_pairs(x, data) if np.shape(x) == pairs.shape else x for name, x in begins.items()}

    def start(self, data: np.ndarray, group: ParamGroup) -> dict[str, np.ndarray]:
        """The state of a parameter before its first step."""
        return {}

    def update(
        self, data: np.ndarray, grad: np.ndarray, state: dict[str, np.ndarray], group: ParamGroup, scratch: np.ndarray
    ) -> None:
        """Write `data`, using `grad` and `state`; `scratch` is of their shape and dtype, to be overwritten.

        A complex parameter, its gradient and its state come as real numbers with a last axis of length 2.
        """
        raise NotImplementedError

    def _scratch_for(self, p: Tensor, data: np.ndarray) -> np.ndarray:
        """A view of one buffer, as large as the largest parameter, that all parameters of a dtype share."""
        if not isinstance(data, np.ndarray):
            return np.zeros_like(data)
        buffer = self._buffers.get(p.dtype)
        if buffer is None or buffer.size < p.size:
            everything = [q for group in self.param_groups for q in group["params"] if q.dtype == p.dtype]
            buffer = self._buffers[p.dtype] = np.empty(max(q.size for q in everything), p.dtype)
        view: np.ndarray = buffer[: p.size].reshape(p.shape)
        self._scratch[id(p)] = view
        return view

    def __getstate__(self) -> dict[str, object]:
        """What a copy or pickle holds: states by the number of their parameter, since a copy has others."""
        order = [p for group in self.param_groups for p in group["params"]]
        kept = {i: self._state[id(p)] for i, p in enumerate(order) if id(p) in self._state and not self._waits(p)}
        fresh: dict[str, object] = {"_scratch": {}, "_buffers": {}, "_together": mutations.Together(), "_prepared": {}}
        return vars(self) | {"_state": kept} | fresh

    def __setstate__(self, state: dict[str, Value]) -> None:
        vars(self).update({"_prepared": {}} | state)
        order = [p for group in self.param_groups for p in group["params"]]
        self._state = {id(order[i]): kept for i, kept in state["_state"].items()}

    def state_dict(self) -> dict[str, Value]:
        """Copies of all state, and the settings; `adjoint.io.save` takes it.

        Parameters are known by their number, in the order in which they were given. One that took no step yet has the
        state with which it will begin.
        """
        order = [(p, group) for group in self.param_groups for p in group["params"]]
        begun = {id(p): self._state.get(id(p)) for p, _ in order if not self._waits(p)}
        states = [begun.get(id(p)) or self.begin(p.held, group) for p, group in order]
        return {
            "steps": self.steps,
            "state": {str(i): {name: copied(value) for name, value in kept.items()} for i, kept in enumerate(states)},
            "param_groups": [
                {name: value for name, value in group.items() if name != "params"} | {"count": len(group["params"])}
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state: Mapping[str, Value]) -> None:
        """Go on from what `state_dict` gave, or PyTorch's `state_dict`. Nothing is changed unless everything fits.

        Raises:
            ArgumentError: if the groups differ in number or size, or if PyTorch's state has other parts.
            ShapeError: if a state's shape is not its parameter's.
        """
        state = from_pytorch(self._name, state) if is_of_pytorch(state) else state
        groups = state["param_groups"]
        counts, own = [g["count"] for g in groups], [len(g["params"]) for g in self.param_groups]
        if counts != own:
            raise ArgumentError(f"load_state_dict: this {self._name} has groups of {own} parameters; got {counts}")
        order = [p for group in self.param_groups for p in group["params"]]
        loaded: dict[int, dict[str, np.ndarray]] = {}
        users = type(self).update is Optimizer.update  # a step of the user's, which keeps tensors and numbers
        groups_of = [group for group in self.param_groups for _ in group["params"]]
        for i, values in state["state"].items():
            p = order[int(i)]
            begins = self.begin(p.held, groups_of[int(i)])
            kind = as_tensor if users else partial(as_begun, p, begins)
            loaded[id(p)] = {name: kind(name, value) for name, value in values.items()}
            for name, value in loaded[id(p)].items():
                if not users and value.shape not in (p.shape, (), np.shape(begins.get(name, 0))):
                    raise ShapeError(
                        f"load_state_dict: {name} of parameter {i} is {value.shape}; the parameter {p.shape}"
                    )
        for group, settings in zip(self.param_groups, groups, strict=True):
            group |= {name: plain(value) for name, value in settings.items() if name in self._defaults}
        for group in self.param_groups:
            for p in group["params"]:
                if id(p) in self._state:  # compiled steps know this dictionary
                    kept, new = self._state[id(p)], loaded.get(id(p)) or self.begin(p.held, group)
                    kept.clear()
                    kept.update(new)
                elif id(p) in loaded:
                    self._state[id(p)] = loaded[id(p)]
        self.steps = int(state["steps"])


class KeptStates(Mapping[Tensor, ParamState]):
    """The states of an optimiser, by parameter; one that has none yet gets an empty one when it is asked for."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    def __getitem__(self, p: Tensor) -> ParamState:
        if not any(p is q for q in self._parameters()):
            raise KeyError(f"{self._optimizer._name} has no state of this tensor: it is none of its parameters")
        if self._optimizer._waits(p):
            self._optimizer._state[id(p)].clear()
        return self._optimizer._state.setdefault(id(p), {})

    def _parameters(self) -> Iterator[Tensor]:
        return (p for group in self._optimizer.param_groups for p in group["params"])

    def __iter__(self) -> Iterator[Tensor]:
        return (p for p in self._parameters() if id(p) in self._optimizer._state and not self._optimizer._waits(p))

    def __len__(self) -> int:
        return sum(1 for _ in self)


answer_names(Optimizer, "optimizer")
