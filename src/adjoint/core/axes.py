"""The argument ``axes=`` of products such as `np.matmul`: which axes of each operand are its own, and of the result."""

from __future__ import annotations

import operator

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function, Value

_NO_MATTER = (("order", "K"), ("subok", True))  # what NumPy does if nothing is said


def along_axes(ours: Function, ufunc: np.ufunc, inputs: tuple[Array, ...], kwargs: dict[str, Value]) -> Array:
    """``ours(*inputs)`` with the core axes of inputs and result where ``axes=`` says, if it is given.

    Raises:
        ArgumentError: if `axes` does not name as many axes as the product has.
    """
    axes = kwargs.pop("axes", None)
    kwargs = {name: value for name, value in kwargs.items() if (name, value) not in _NO_MATTER}
    if axes is None:
        return ours(*inputs, **kwargs)
    before, after = str(ufunc.signature).split("->")
    takes = [part.count(",") + 1 if part else 0 for part in before.strip("()").split("),(")]
    core = [min(n, np.ndim(x)) for n, x in zip(takes, inputs, strict=True)]
    left_out = sum(n - own for n, own in zip(takes, core, strict=True))  # of a vector that `np.matmul` takes
    gives = after.count(",") + 1 - left_out if after != "()" else 0
    needed = [*core, gives]
    given = [_listed(part) for part in axes] if isinstance(axes, list) else []
    if len(given) == len(inputs) and not gives:
        given.append(())
    if [len(part) for part in given] != needed:
        raise ArgumentError(
            f"np.{ufunc.__name__}: axes= is a list of tuples with {', '.join(map(str, core))} and {gives} axes, for "
            f"each operand and the result; got {axes!r}"
        )
    placed = [np.moveaxis(x, part, range(-len(part), 0)) for x, part in zip(inputs, given[:-1], strict=True)]
    result = ours(*placed, **kwargs)
    return np.moveaxis(result, range(-gives, 0), given[-1]) if gives else result


def _listed(part: Value) -> tuple[int, ...]:
    return tuple(map(operator.index, part)) if isinstance(part, tuple) else (operator.index(part),)
