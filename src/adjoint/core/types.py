"""Names for annotations. A type checker mostly sees through them; a reader sees what is expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ParamSpec, TypeAlias, TypeVar

#: What NumPy takes as an array: an array, a number, or a box of one (a tensor, a dual, a batch, a symbol). Its
#: methods are found at run time, through NumPy's protocols, so that a checker cannot know them.
Array: TypeAlias = Any
#: What a user's program hands around: an array, a box, a number, or any other object. What is asked of it is what the
#: user's code asks. Where nothing is asked of a value, annotations say ``object``.
Value: TypeAlias = Any
#: Lists, tuples and dictionaries, nested at will, with arrays as leaves.
Tree: TypeAlias = Any
#: What stands between brackets: numbers, slices, ``None``, ``...``, arrays, and tuples of these.
Index: TypeAlias = Any
#: The lengths of axes, or of the only one.
ShapeLike: TypeAlias = Any
#: Numbers of axes; None for all of them.
Axis: TypeAlias = Any
#: The number of one axis, or of several.
Axes: TypeAlias = int | tuple[int, ...]
#: A NumPy dtype, or what names one: ``float``, ``"float32"``.
DType: TypeAlias = Any
#: Where arrays lie: a name such as ``"cpu"`` or ``"cuda:0"``, or another library's own object.
Device: TypeAlias = Any
#: One number for all axes, or one for each.
Size: TypeAlias = int | Sequence[int]
#: The arguments of an operation that are no arrays, by name.
Settings: TypeAlias = Mapping[str, Any]
Function: TypeAlias = Callable[..., Any]
#: The parameters of a function that is given; what is given back has the same.
P = ParamSpec("P")
#: The parameters of a method, after the instance.
Q = ParamSpec("Q")
#: The value of such a function, and the further value that it returns (`has_aux`).
R = TypeVar("R")
Aux = TypeVar("Aux")
#: A function as `def` makes it. What is given back for it has its type, with its overloads.
F = TypeVar("F", bound=FunctionType)
#: Any callable, given back as it is.
C = TypeVar("C", bound=Function)
C_co = TypeVar("C_co", bound=Function, covariant=True)
#: An array whose kind the result has: a tensor gives a tensor. Its bound lets functions do with it what they like.
A = TypeVar("A", bound=Value)
#: What a class makes.
T = TypeVar("T")
