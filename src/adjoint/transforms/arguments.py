"""The arguments that a transform differentiates with respect to, as arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from inspect import signature

import numpy as np

from adjoint.core.backend import converted, is_foreign
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array


def one_of(argnum: int, args: Sequence[object]) -> int:
    """The number `argnum` of one of `args`, from 0.

    Raises:
        ArgumentError: if there is no such argument.
    """
    try:
        k = operator.index(argnum)
    except TypeError:
        raise ArgumentError(f"argnums={argnum!r}: it is the number of an argument, or a tuple of numbers") from None
    if not -len(args) <= k < len(args):
        raise ArgumentError(f"argnums={k}: the call has {len(args)} positional argument(s)")
    return k % len(args)


def checked(argnums: object, f: object) -> None:
    """Refuse `argnums` that number no arguments of `f`.

    Raises:
        ArgumentError: it says how the transform is called.
    """
    given = argnums if isinstance(argnums, tuple | list) else (argnums,)
    if all(hasattr(k, "__index__") and not isinstance(k, np.ndarray) for k in given):
        return
    name = getattr(f, "__name__", "f")
    name = name if name.isidentifier() else "f"
    if all(isinstance(k, str) for k in given):
        names = list(signature(f).parameters) if callable(f) else []
        places = [names.index(k) for k in given if k in names]
        found = f": here argnums={places[0] if len(places) == 1 else tuple(places)}" if places else ""
        raise ArgumentError(f"argnums={argnums!r}: an argument is chosen by its number, from 0{found}")
    raise ArgumentError(
        f"ad.grad({name}, {argnums!r}): the second argument is argnums, the number of an argument of {name}. The "
        f"gradient is a function, which is called: ad.grad({name})({argnums!r})"
    )


def all_of(argnums: object, args: Sequence[object]) -> tuple[int, ...]:
    """The numbers of those of `args` that `argnums` names, each once; see `one_of`."""
    chosen = tuple(one_of(k, args) for k in (argnums if isinstance(argnums, tuple | list) else (argnums,)))
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"argnums={argnums}: an argument is named twice; name each once")
    return chosen


def number(x: Array) -> Array:
    """A number as NumPy's; what is none, as an array of objects, which has a dtype to speak of."""
    if is_foreign(x):
        return x
    array = converted(x)
    return array if array.dtype.kind == "O" else array[()]
