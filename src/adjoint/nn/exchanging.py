"""Modules called with other parameters than their own."""

from __future__ import annotations

from collections.abc import Mapping

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Value
from adjoint.nn.module import Module


def functional_call(
    module: Module, parameters: Mapping[str, Array], args: Array = (), kwargs: Mapping[str, Value] | None = None
) -> Value:
    """``module(*args, **kwargs)`` with other parameters or buffers; the module itself is left as it is.

    Args:
        module: what to call.
        parameters: arrays of any kind by dotted name, as ``dict(module.named_parameters())`` and `Module.state_dict`
            have them. A parameter with several names is exchanged under each; what is not named stays.
        args: the arguments, a tuple; or a single one.
        kwargs: keyword arguments.

    Raises:
        ArgumentError: if the module has no parameter or buffer of some name.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import nn
        >>> net = nn.Linear(2, 1, rng=0)
        >>> def loss(parameters, x, y):
        ...     return np.sum((nn.functional_call(net, parameters, x) - y) ** 2)
        >>> per_example = ad.vmap(ad.grad(loss), in_axes=(None, 0, 0))
        >>> found = per_example(net.state_dict(), np.ones((5, 2)), np.zeros((5, 1)))
        >>> found["weight"].shape, found["bias"].shape
        ((5, 1, 2), (5, 1))
    """
    own = module._state() | dict(module.named_buffers())
    unknown = [name for name in parameters if name not in own]
    if unknown:
        raise ArgumentError(
            f"functional_call: {type(module).__name__} has no parameter or buffer {unknown[0]!r}; it has "
            f"{', '.join(own)}"
        )
    twin = _exchanged(module, {id(own[name]): value for name, value in parameters.items()})
    return twin(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


def _exchanged(thing: Value, given: dict[int, Value]) -> Value:
    """`thing`, a module or a part of one, with other tensors; `given` has the replacement of each, by identity."""
    if id(thing) in given:
        return given[id(thing)]
    if isinstance(thing, Module):
        twin = given[id(thing)] = object.__new__(type(thing))
        vars(twin).update((name, _exchanged(value, given)) for name, value in vars(thing).items())
        return twin
    if type(thing) in (list, tuple):
        return type(thing)(_exchanged(item, given) for item in thing)
    return thing
