"""Functions that see, and may change, what goes into a module, what comes out of it, and the cotangents of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.core.box import Box, apply
from adjoint.core.errors import ArgumentError, GradientError
from adjoint.core.memory import AS_MADE
from adjoint.core.op import Op, Rule
from adjoint.core.types import Array, Value
from adjoint.tape.observers.observing import Hook, HookHandle
from adjoint.tape.tensor import Tensor, wrap


def _seen(g: Sequence[Array], call: Callable[[Sequence[Array]], Sequence[Array]]) -> Sequence[Array]:
    return call(g)


#: The values as they are; `call` takes the cotangents of all of them, and gives those that go on.
_gate = Op("hooks of a module", lambda *values, call: values, ("*values",), rules=(Rule(_seen, ("g", "call")),),
           jvps=(Rule(lambda t: t, ("t",)),), settings={"call": None}, joint=True, multiple=True,
           memory=AS_MADE)  # fmt: skip


class ModuleHooks:
    """The hooks of one module: functions by number, in the order in which they are called."""

    def __init__(self) -> None:
        self.before = dict[int, Hook]()
        self.after = dict[int, Hook]()
        self.cotangents_before = dict[int, Hook]()
        self.cotangents = dict[int, Hook]()

    def entered(
        self, module: Value, args: tuple[Value, ...], kwargs: Value
    ) -> tuple[tuple[Value, ...], Value, Passage | None]:
        """The arguments that `forward` gets, and the passage that its results are to go through."""
        for hook in tuple(self.before.values()):
            args, kwargs = hook(module, args, kwargs)
        if not (self.cotangents or self.cotangents_before):
            return args, kwargs, None
        passage = Passage(module, self, len(args))
        return passage.entered(args), kwargs, passage

    def left(
        self, module: Value, args: tuple[Value, ...], kwargs: Value, result: Value, passage: Passage | None
    ) -> Value:
        """The result that the caller gets."""
        for hook in tuple(self.after.values()):
            result = hook(module, args, kwargs, result)
        return result if passage is None else passage.left(result)


class Passage:
    """The way of cotangents through one call of a module: from its results to its arguments."""

    def __init__(self, module: Value, hooks: ModuleHooks, count: int) -> None:
        self.module, self.hooks, self.count = module, hooks, count
        self.given: list[int] = []
        self.results: tuple[Value, ...] = ()

    def entered(self, args: tuple[Value, ...]) -> tuple[Value, ...]:
        self.given, args = _through(args, self._come_out)
        return args

    def left(self, result: Value) -> Value:
        several = isinstance(result, tuple | list)
        results = tuple(result) if several else (result,)

        def come_in(g: Sequence[Array]) -> Sequence[Array]:
            return self._come_in(g, found, len(results))

        found, results = _through(results, come_in)
        if type(result) is list:
            return list(results)
        if several:
            return type(result)(*results) if hasattr(result, "_fields") else results
        return results[0]

    def _come_in(self, g: Sequence[Array], places: list[int], count: int) -> Sequence[Array]:
        shown = _spread(g, places, count)
        for hook in tuple(self.hooks.cotangents_before.values()):
            shown = _taken(hook(self.module, shown), shown, "full_backward_pre_hook")
        self.results = shown
        if not self.given:  # no argument has a gradient, so nothing comes out at the other end
            self._call((None,) * self.count)
        return [_plain(shown[k], of) for k, of in zip(places, g, strict=True)]

    def _come_out(self, g: Sequence[Array]) -> Sequence[Array]:
        shown = self._call(_spread(g, self.given, self.count))
        return [_plain(shown[k], of) for k, of in zip(self.given, g, strict=True)]

    def _call(self, shown: tuple[Value, ...]) -> tuple[Value, ...]:
        for hook in tuple(self.hooks.cotangents.values()):
            shown = _taken(hook(self.module, shown, self.results), shown, "full_backward_hook")
        return shown


def _through(values: tuple[Value, ...], call: Callable[[Sequence[Array]], Sequence[Array]]) -> Value:
    """Which of `values` have a gradient, and all of them, these with cotangents that `call` sees."""
    tensors = [x for x in values if isinstance(x, Tensor) and x.requires_grad]
    if len(tensors) < len(values):
        for x in values:
            _refuse_hidden(x)
    if not tensors:
        return [], values
    level = max(x.level for x in tensors)  # the innermost derivative, whose cotangents these are
    places = [k for k, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad and x.level == level]
    gates = apply(_gate, [wrap(_bare(values[k].held), values[k].node, level) for k in places], {"call": call})
    passed = {k: wrap(values[k].held, gate.node, level) for k, gate in zip(places, gates, strict=True)}
    return places, tuple(passed.get(k, x) for k, x in enumerate(values))


def _bare(held: Array) -> Array:
    """Values without the histories that derivatives further out have of them: these do not go through the hooks."""
    while isinstance(held, Tensor):
        held = held.held
    return held


def _refuse_hidden(value: Value) -> None:
    """Refuse a tensor with a history inside samples or tangents, whose cotangents no hook would see."""
    inner = value
    while isinstance(inner, Layered):
        inner = inner.layers[0]
        if isinstance(inner, Tensor) and inner.requires_grad:
            way = "ad.vmap(ad.grad(f))" if value.per_sample else "ad.jvp(ad.grad(f), …)"
            raise GradientError(
                f"a module with backward hooks was called inside of ad.vmap or ad.jvp, and is differentiated outside, "
                f"where its hooks see no cotangents. Differentiate inside, {way}, or take the hooks away: "
                f"handle.remove()"
            )


def _spread(g: Sequence[Array], places: list[int], count: int) -> tuple[Value, ...]:
    """Cotangents as tensors, None elsewhere."""
    found = dict(zip(places, g, strict=True))
    shown = {k: c if isinstance(c, Box) else Tensor(np.array(c)) for k, c in found.items()}
    return tuple(shown.get(k) for k in range(count))


def _taken(given: Value, shown: tuple[Value, ...], what: str) -> tuple[Value, ...]:
    """A hook's result, in place of its argument."""
    if given is None:
        return shown
    taken: tuple[Value, ...] = tuple(given) if isinstance(given, tuple | list) else (given,)
    wanted = [None if x is None else np.shape(x) for x in shown]
    if len(taken) != len(shown) or any(s != np.shape(x) for s, x in zip(wanted, taken, strict=True) if s is not None):
        raise ArgumentError(
            f"a {what} gives None, or a tuple with a cotangent in place of each: of shapes {wanted}; got {given!r}"
        )
    return taken


def _plain(given: Value, like: Array) -> Array:
    """A cotangent as the pass has it."""
    if not isinstance(like, Box) and isinstance(given, Tensor) and given.node is None:
        given = given.held
    return given if hasattr(given, "dtype") else np.asarray(given, like.dtype)


class _ModuleHandle(HookHandle):
    """With the last hook, a module's `ModuleHooks` go: it is then as fast as before, and can be compiled."""

    def __init__(self, module: Hooked, kind: str, hook: Hook) -> None:
        self._module, self._of = module, cast(ModuleHooks, module._hooks)
        super().__init__(getattr(self._of, kind), hook)

    def remove(self) -> None:
        super().remove()
        if not any(vars(self._of).values()) and self._module._hooks is self._of:
            self._module._hooks = None


class Hooked:
    """The methods of a module that set hooks. Each gives a handle: ``handle.remove()`` takes the hook away."""

    _hooks: ModuleHooks | None = None

    def _hooked(self, kind: str, hook: Hook, prepend: bool) -> HookHandle:
        if self._hooks is None:
            self._hooks = ModuleHooks()
        hooks = getattr(self._hooks, kind)
        earlier = list(hooks) if prepend else []
        handle = _ModuleHandle(self, kind, hook)
        for number in earlier:  # behind the new one
            hooks[number] = hooks.pop(number)
        return handle

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Call ``hook(module, args)`` before each call of the module; what it gives takes the arguments' place.

        Args:
            hook: gives None, the arguments as a tuple, or the only one.
            prepend: call it before the hooks that are there.
            with_kwargs: call ``hook(module, args, kwargs)``; it gives None or ``(args, kwargs)``.

        Example:
            >>> import numpy as np
            >>> from adjoint import nn
            >>> layer = nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] + 1.0)
            >>> layer(np.array([-3.0, 1.0]))
            array([0., 2.])
        """

        def run(module: Value, args: tuple[Value, ...], kwargs: Value) -> tuple[tuple[Value, ...], Value]:
            if with_kwargs:
                given = hook(module, args, kwargs)
                if given is None:
                    return args, kwargs
                if not isinstance(given, tuple) or len(given) != 2:
                    raise ArgumentError(
                        f"a forward_pre_hook with with_kwargs=True gives None or (args, kwargs); got {given!r}"
                    )
                return given
            given = hook(module, args)
            return args if given is None else given if isinstance(given, tuple) else (given,), kwargs

        return self._hooked("before", run, prepend)

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Call ``hook(module, args, result)`` after each call of the module; what it gives takes the result's place.

        Args:
            hook: gives None to leave the result as it is.
            prepend: call it before the hooks that are there.
            with_kwargs: call ``hook(module, args, kwargs, result)``.

        Example:
            >>> import numpy as np
            >>> from adjoint import nn
            >>> model, shapes = nn.Sequential(nn.Linear(3, 4, rng=0), nn.ReLU()), []
            >>> handle = model[0].register_forward_hook(lambda module, args, out: shapes.append(out.shape))
            >>> _ = model(np.ones((2, 3)))
            >>> handle.remove()
            >>> shapes
            [(2, 4)]
        """

        def run(module: Value, args: tuple[Value, ...], kwargs: Value, result: Value) -> Value:
            given = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            return result if given is None else given

        return self._hooked("after", run, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the backward pass comes out of the module.

        Args:
            hook: takes the cotangents of the positional arguments and those of the results, as tuples; None stands
                for what has no gradient. It gives None, or a tuple in place of the first.
            prepend: call it before the hooks that are there.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> from adjoint import nn
            >>> layer = nn.Tanh()
            >>> handle = layer.register_full_backward_hook(lambda module, gi, go: (np.clip(gi[0], -0.1, 0.1),))
            >>> x = ad.tensor([0.0, 9.0], requires_grad=True)
            >>> layer(x).sum().backward()
            >>> x.grad.round(3)
            tensor([0.1, 0. ])
        """
        return self._hooked("cotangents", hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Call ``hook(module, grad_output)`` when the backward pass comes to the module.

        Args:
            hook: takes the cotangents of the results, as a tuple; gives None, or a tuple in place of it.
            prepend: call it before the hooks that are there.
        """
        return self._hooked("cotangents_before", hook, prepend)
