"""PyTorch's `torch.autograd.functional`: derivatives of a function at one array, or at a tuple of them.

Each takes ``create_graph`` and ``strict``, and what PyTorch chooses its way by; results are the same without them.
"""

from __future__ import annotations

from adjoint.core.errors import ArgumentError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.tape.tensor import Tensor
from adjoint.transforms import forward, jacobians, reverse


def _of_tree(func: Function) -> Function:
    return lambda inputs: func(*inputs) if isinstance(inputs, tuple) else func(inputs)


def _point(inputs: Tree) -> Tree:
    return tuple(inputs) if isinstance(inputs, list) else inputs


def _as_tensors(result: Value, inputs: Tree) -> Value:
    """`result` with tensors for plain arrays, which constant derivatives are, if inputs are tensors."""
    if not any(isinstance(x, Tensor) for x in flatten(inputs)[0]):
        return result
    leaves, rebuild = flatten(result)
    return rebuild([x if isinstance(x, Tensor) else Tensor(x) for x in leaves])


def jacobian(
    func: Function,
    inputs: Tree,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Value:
    """The derivative of each element of the result by each element of `inputs`; for tuples, tuples of these.

    Example:
        >>> import adjoint as ad
        >>> ad.autograd.functional.jacobian(lambda x: x**2, ad.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    made = jacobians.jacfwd if strategy == "forward-mode" else jacobians.jacrev
    return _as_tensors(made(_of_tree(func))(_point(inputs)), inputs)


def hessian(
    func: Function,
    inputs: Tree,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Value:
    """The second derivatives of a function that gives one number.

    Example:
        >>> import adjoint as ad
        >>> ad.autograd.functional.hessian(lambda x: (x**3).sum(), ad.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return _as_tensors(jacobians.hessian(_of_tree(func))(_point(inputs)), inputs)


def vjp(func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False) -> Value:
    """The result, and `v` times the Jacobian; `v` is 1 for a result of one element.

    Example:
        >>> import adjoint as ad
        >>> ad.autograd.functional.vjp(lambda x: x**2, ad.tensor([1.0, 2.0]), ad.ones(2))[1]
        tensor([2., 4.])
    """
    value, cotangents = reverse.vjp(_of_tree(func), _point(inputs))
    if v is None:
        if value.size != 1:
            raise ArgumentError(f"vjp: the result has shape {value.shape}; say v, a cotangent of this shape")
        v = value * 0 + 1
    return _as_tensors((value, cotangents(v)[0]), inputs)


def jvp(func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False) -> Value:
    """The result, and the Jacobian times `v`; `v` is 1 for an input of one element.

    Example:
        >>> import adjoint as ad
        >>> ad.autograd.functional.jvp(lambda x: x**2, ad.tensor([1.0, 2.0]), ad.ones(2))[1]
        tensor([2., 4.])
    """
    direction = _direction("jvp", inputs, v)
    return _as_tensors(forward.jvp(_of_tree(func), (_point(inputs),), (direction,)), inputs)


def hvp(func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False) -> Value:
    """The result, which is one number, and the Hessian times `v`.

    Example:
        >>> import adjoint as ad
        >>> ad.autograd.functional.hvp(lambda x: (x**3).sum(), ad.tensor([1.0, 2.0]), ad.ones(2))[1]
        tensor([ 6., 12.])
    """
    of_tree, point = _of_tree(func), _point(inputs)
    return _as_tensors((of_tree(point), forward.hvp(of_tree, point, _direction("hvp", inputs, v))), inputs)


vhp = hvp  # a Hessian is symmetric


def _direction(name: str, inputs: Tree, v: Tree) -> Tree:
    if v is not None:
        return _point(v)
    only: Array = inputs
    if isinstance(inputs, tuple | list) or only.size != 1:
        raise ArgumentError(f"{name}: say v, a direction of the shapes of the inputs")
    return only * 0 + 1
