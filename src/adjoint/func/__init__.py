"""PyTorch's `torch.func`: functions of functions, with PyTorch's names, arguments and order of results."""

from __future__ import annotations

from functools import wraps

from adjoint.core.types import Array, Function, Value
from adjoint.nn.exchanging import functional_call as functional_call
from adjoint.transforms import batch, reverse
from adjoint.transforms.forward import jvp as jvp
from adjoint.transforms.forward import linearize as linearize
from adjoint.transforms.jacobians import hessian as hessian
from adjoint.transforms.jacobians import jacfwd as jacfwd
from adjoint.transforms.jacobians import jacrev as jacrev
from adjoint.transforms.reverse import grad as grad
from adjoint.transforms.reverse import vjp as vjp


def vmap(
    func: Function, in_dims: Value = 0, out_dims: Value = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Function:
    """`adjoint.vmap`: many samples at once, along `in_dims` of the arguments and `out_dims` of the results.

    Example:
        >>> import adjoint as ad
        >>> ad.func.vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))(ad.ones(2, 3), ad.arange(3.0))
        tensor([3., 3.])
    """
    made: Function = batch.vmap(func, in_dims, out_dims)
    return made


def grad_and_value(func: Function, argnums: Value = 0, has_aux: bool = False) -> Function:
    """A function that gives ``(gradient, value)``, or with `has_aux` ``(gradient, (value, aux))``.

    Example:
        >>> import adjoint as ad
        >>> ad.func.grad_and_value(lambda x: x**2)(ad.tensor(3.0))
        (tensor(6.), tensor(9.))
    """
    both = reverse.value_and_grad(func, argnums, has_aux)

    @wraps(func)
    def gradient_and_value(*args: Array, **kwargs: Array) -> tuple[Value, Value]:
        value, gradient = both(*args, **kwargs)
        return gradient, value

    return gradient_and_value
