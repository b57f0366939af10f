"""PyTorch's words for arguments and functions that NumPy calls differently.

If a function has an argument of that name, it is used directly. Other words are looked up here, off every fast path.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from adjoint.core.types import Function, Settings

#: PyTorch's name of an argument, and NumPy's: the first of these that a function has.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "dim": ("axis", "axes"),
    "dims": ("axis", "axes"),
    "keepdim": ("keepdims",),
    "diagonal": ("k",),
    "offset": ("k",),
    "dim0": ("axis1",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "p": ("ord",),
    "steps": ("num",),
    "other": ("y", "b", "x2"),
    "exponent": ("y",),
    "shifts": ("shift",),
    "tensors": ("arrays", "tup"),
    "unbiased": (),
    "descending": (),
    "input": ("x", "a"),
    "inplace": (),  # the result is new in any case
    "alpha": (),
    "rounding_mode": (),
    "eps": (),
    "as_tuple": (),
    "start_dim": (),
    "end_dim": (),  # of functions in `MEANT`
}

#: PyTorch's name of a function, and the operation's; or, of what gives whole numbers too, the module of a function.
FUNCTIONS: dict[str, str] = {
    "abs": "absolute",
    "neg": "negative",
    "pow": "power",
    "sub": "subtract",
    "mul": "multiply",
    "true_divide": "divide",
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "sgn": "sign",
    "amax": "reduce_max",
    "amin": "reduce_min",
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
    "mm": "matmul",
    "bmm": "matmul",
    "mv": "matmul",
    "ger": "outer",
    "inverse": "inv",
    "clone": "copy",
    "row_stack": "vstack",
    "movedim": "moveaxis",
    "swapdims": "swapaxes",
    "permute": "transpose",
    "unsqueeze": "expand_dims",
    "clamp": "clip",
    "broadcast_tensors": "broadcast_arrays",
    "gather": "gathered",
    "scatter": "scattered",
    "scatter_add": "scattered_sum",
    "scatter_reduce": "scattered_reduction",
    "take_along_dim": "take_along_axis",
    "repeat_interleave": "repeat",
    "transpose": "transposed",
    "baddbmm": "addmm",
    "lgamma": "gammaln",
}

#: Operations that are another function when they are called with PyTorch's words; `adjoint.ops` fills it.
MEANT: dict[str, str] = {}


def has_words(kwargs: Settings) -> bool:
    """Whether an argument is named by a word of PyTorch's."""
    return not ARGUMENTS.keys().isdisjoint(kwargs)


def function_at(place: str) -> Function:
    """The function ``module:name``."""
    module, _, name = place.rpartition(":")
    found: Function = getattr(import_module(module), name)
    return found


def in_numpys_words(kwargs: Settings, names: Collection[str], function: str) -> dict[str, object]:
    """`kwargs` with NumPy's words for PyTorch's.

    Args:
        kwargs: what was given by name.
        names: the arguments that the function has.
        function: its name, for the message.

    Raises:
        TypeError: if the function has no such argument.
    """
    said: dict[str, object] = {}
    for word, value in kwargs.items():
        possible = (word,) if word in names else ARGUMENTS.get(word, ())
        if word == "inplace":
            continue
        found = next((name for name in possible if name in names and name not in said), None)
        if found is None:
            takes = f"it takes ({', '.join(names)})" if names else "it takes no arguments by name"
            raise TypeError(f"{function}() got an unexpected keyword argument {word!r}; {takes}")
        said[found] = tuple(value) if found in ("axis", "axes") and isinstance(value, list) else value
    return said


def shortened(text: str, most: int) -> str:
    """The beginning of `text`, with a sign that there is more of it, if it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
