"""What type checkers know of a derivative: which call it takes, and what it gives.

A gradient has the type of the first argument, so each class here keeps a function's first argument apart from its other
parameters. The first lines of each call are for functions that take numbers as well as arrays, and for those that take
all that NumPy takes: their derivatives have the type of what they are called with, which no declaration says.
"""

from collections.abc import Callable
from typing import Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

from adjoint.core.types import Value
from adjoint.tape.tensor import Tensor

#: The first argument. Its bound lets the body of a lambda do with it what it likes.
A = TypeVar("A", bound=Value)
#: The parameters after the first.
Q = ParamSpec("Q")
#: What the function gives.
R = TypeVar("R")
S = TypeVar("S", bound=np.generic)
A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

ArrayOf: TypeAlias = np.ndarray[tuple[Value, ...], np.dtype[S]]
_Numbers: TypeAlias = float | ArrayOf[np.float64]
#: A function of a first argument and others.
Of: TypeAlias = Callable[Concatenate[A, Q], R]

class _Convertible:
    """What only functions take that take all that NumPy takes."""

    def __array__(self) -> ArrayOf[np.int64]: ...

class Gradient(Generic[A_contra, Q]):
    """The gradient by the first argument."""

    @overload
    def __call__(self: Gradient[_Numbers, Q], x: Value, /, *args: Q.args, **kwargs: Q.kwargs) -> Value: ...
    @overload
    def __call__(self: Gradient[_Convertible, Q], x: Value, /, *args: Q.args, **kwargs: Q.kwargs) -> Value: ...
    @overload
    def __call__(self: Gradient[A, Q], x: A, /, *args: Q.args, **kwargs: Q.kwargs) -> A: ...

class GradientAndAux(Generic[A_contra, Q, R_co]):
    """The gradient by the first argument, and what the function gives beside its value."""

    @overload
    def __call__(
        self: GradientAndAux[_Numbers, Q, R], x: Value, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[Value, R]: ...
    @overload
    def __call__(
        self: GradientAndAux[_Convertible, Q, R], x: Value, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[Value, R]: ...
    @overload
    def __call__(self: GradientAndAux[A, Q, R], x: A, /, *args: Q.args, **kwargs: Q.kwargs) -> tuple[A, R]: ...

class ValueAndGradient(Generic[A_contra, Q, R_co]):
    """The value, and the gradient by the first argument."""

    @overload
    def __call__(
        self: ValueAndGradient[_Numbers, Q, R], x: Value, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[R, Value]: ...
    @overload
    def __call__(
        self: ValueAndGradient[_Convertible, Q, R], x: Value, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[R, Value]: ...
    @overload
    def __call__(self: ValueAndGradient[A, Q, R], x: A, /, *args: Q.args, **kwargs: Q.kwargs) -> tuple[R, A]: ...

class Jacobian(Generic[A_contra, Q, R_co]):
    """The Jacobian by the first argument: an array, a number or a tensor; of trees, any tree."""

    @overload
    def __call__(self: Jacobian[_Numbers, Q, Value], x: Value, /, *args: Q.args, **kwargs: Q.kwargs) -> Value: ...
    @overload
    def __call__(self: Jacobian[_Convertible, Q, Value], x: Value, /, *args: Q.args, **kwargs: Q.kwargs) -> Value: ...
    @overload
    def __call__(self: Jacobian[Tensor, Q, Tensor], x: Tensor, /, *args: Q.args, **kwargs: Q.kwargs) -> Tensor: ...
    @overload
    def __call__(
        self: Jacobian[ArrayOf[S], Q, float | ArrayOf[S]], x: ArrayOf[S], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> ArrayOf[S]: ...
    @overload
    def __call__(self: Jacobian[float, Q, float], x: float, /, *args: Q.args, **kwargs: Q.kwargs) -> float: ...
    @overload
    def __call__(
        self: Jacobian[float, Q, ArrayOf[S]], x: float, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> ArrayOf[S]: ...
    @overload
    def __call__(self: Jacobian[A, Q, Value], x: A, /, *args: Q.args, **kwargs: Q.kwargs) -> Value: ...
