"""What a transform takes as the value of a function: arrays and numbers, also where other objects hold them."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import Box
from adjoint.core.objects.trees import flatten, is_leaf
from adjoint.core.types import Tree, Value
from adjoint.twin.subclasses.base import inside, of_class


def arrays_of(value: Tree, has_aux: bool = False) -> Tree:
    """`value`, with the arrays of boxes that labelled arrays such as xarray's and pandas' hold in place of these.

    Otherwise they would be constants, and the derivative 0. With `has_aux`, only the first of a pair is the value.
    It is asked before the transform is over: afterwards boxes hand out their numbers.

    Raises:
        LeavesGraphError: for other objects that NumPy takes as arrays, if they hold a box.
    """
    if is_leaf(value) or value is None:
        return value
    if has_aux:
        return (arrays_of(value[0]), value[1]) if isinstance(value, tuple) and len(value) == 2 else value
    leaves, rebuild = flatten(value)
    if not any(map(_is_labelled, leaves)):
        return value
    return rebuild([_array_of(x) if _is_labelled(x) else x for x in leaves])


def _is_labelled(x: Value) -> bool:
    """Whether `x` is an object of another kind that NumPy takes as an array."""
    return not is_leaf(x) and hasattr(type(x), "__array__")


def _array_of(x: Value) -> Value:
    from adjoint.twin.standins.of_numpy.joining import joined

    held = inside(x) if of_class(x) else getattr(x, "data", None)
    if isinstance(held, Box):
        return held
    found = np.asarray(x)  # of an object that hands a box to NumPy, it raises
    return joined(found) if found.dtype == object else x
