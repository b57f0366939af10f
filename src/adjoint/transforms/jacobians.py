"""Whole derivatives: `jacobian` (by rows, `jacrev`; by columns, `jacfwd`) and `hessian`.

Rows or columns are computed all at once: the pullback, or the tangent, of a stack of unit vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from adjoint.arrays.layered import own
from adjoint.batch.batched import Batched
from adjoint.core.backend import backend_of, beside
from adjoint.core.box import Box, new_level, raw, settled, varies
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.objects.trees import flatten
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Function, P, Value
from adjoint.forward.structure import Diagonal
from adjoint.transforms.arguments import number, one_of
from adjoint.transforms.batch import vmap
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import grad, vjp
from adjoint.twin.follow import follow, in_classes

if TYPE_CHECKING:
    from adjoint.transforms.signatures import A, Gradient, Jacobian, Of, Q, R


@overload
def jacrev(  # type: ignore[overload-overlap]  # a ufunc is such a function too
    f: np.ufunc, argnums: int = ..., chunk_size: int | None = ...
) -> Function: ...
@overload
def jacrev(  # type: ignore[overload-overlap]  # 0 is a number of an argument too
    f: Of[A, Q, R], argnums: Literal[0] = ..., chunk_size: int | None = ...
) -> Jacobian[A, Q, R]: ...
@overload
def jacrev(f: Callable[P, Value], argnums: int, chunk_size: int | None = ...) -> Callable[P, Value]: ...
def jacrev(f: Function, argnums: int = 0, chunk_size: int | None = None) -> Function:
    """A function that gives all first derivatives of `f`, by reverse mode: for many inputs and few outputs.

    Args:
        f: takes arrays or trees of arrays, gives the same.
        argnums: the number of the argument to differentiate by.
        chunk_size: how many rows to compute at once, to bound memory; all of them if not given.

    Returns:
        A function with the arguments of `f`. For an array argument and an array value the Jacobian has shape
        ``value.shape + argument.shape``; for trees it is a tree like the value, of trees like the argument. By complex
        arguments it is the complex derivative, so `f` must have one there.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """

    @wraps(f)
    def wrapped(*args: object, **kwargs: object) -> Value:
        value, pullback = vjp(_of_one(f, argnums, args, kwargs), args[argnums])
        outputs, rebuild_value = flatten(value)
        leaves, rebuild = flatten(args[argnums])

        def pulled(*seeds: Array) -> list[Value]:
            return flatten(pullback(rebuild_value(list(seeds)))[0])[0]

        def turned(*seeds: Batched) -> list[Value]:
            return pulled(*(1j * s if s.dtype.kind == "c" else s for s in seeds))

        columns = _stacks(pulled, outputs, chunk_size)
        # Of a complex value by a real number, the pullback of 1 gives the real part only.
        imaginary = any(dtype_of(x).kind == "c" for x in outputs) and any(dtype_of(x).kind != "c" for x in leaves)
        others = _stacks(turned, outputs, chunk_size) if imaginary else columns
        blocks = []
        for out, part in zip(outputs, _parts(outputs), strict=True):
            rows = []
            for c, other in zip(columns, others, strict=True):
                if c.dtype.kind == "c":
                    rows.append(np.conj(c[part]))
                else:
                    rows.append(c[part] + 1j * other[part] if dtype_of(out).kind == "c" else c[part])
            blocks.append(
                rebuild([np.reshape(c, np.shape(out) + np.shape(x))[()] for c, x in zip(rows, leaves, strict=True)])
            )
        return rebuild_value(blocks)

    return wrapped


jacobian = jacrev


@overload
def jacfwd(  # type: ignore[overload-overlap]  # a ufunc is such a function too
    f: np.ufunc, argnums: int = ..., chunk_size: int | None = ...
) -> Function: ...
@overload
def jacfwd(  # type: ignore[overload-overlap]  # 0 is a number of an argument too
    f: Of[A, Q, R], argnums: Literal[0] = ..., chunk_size: int | None = ...
) -> Jacobian[A, Q, R]: ...
@overload
def jacfwd(f: Callable[P, Value], argnums: int, chunk_size: int | None = ...) -> Callable[P, Value]: ...
def jacfwd(f: Function, argnums: int = 0, chunk_size: int | None = None) -> Function:
    """A function that gives all first derivatives of `f`, by forward mode: for few inputs and many outputs.

    Args, result and errors are those of `jacrev`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.jacfwd(lambda t: np.stack([np.cos(t), np.sin(t)]))(0.0)
        array([-0.,  1.])
    """

    @wraps(f)
    def wrapped(*args: object, **kwargs: object) -> Value:
        inner = _of_one(f, argnums, args, kwargs)
        leaves, rebuild = flatten(args[argnums])
        leaves = [x if isinstance(x, Box | np.ndarray | float | complex) else number(x) for x in leaves]
        if any(x.dtype.kind == "O" for x in leaves if isinstance(x, np.ndarray)):
            raise DTypeError(f"a Jacobian is taken by arrays and numbers; argument {argnums} is {args[argnums]!r}")
        shape: list[Value] = []

        def pushed(*seeds: Array) -> list[Array]:
            _, tangent = jvp(inner, (rebuild(list(leaves)),), (rebuild(list(seeds)),))
            found, back = flatten(tangent)
            shape[:] = [back]
            return found

        columns = _stacks(pushed, leaves, chunk_size)
        blocks = []
        for column in columns:
            moved = [np.moveaxis(column[part], 0, -1) for part in _parts(leaves)]
            out = np.shape(column)[1:]
            blocks.append(rebuild([np.reshape(c, out + np.shape(x))[()] for c, x in zip(moved, leaves, strict=True)]))
        return shape[0](blocks)

    return wrapped


@overload
def hessian(f: np.ufunc, argnums: int = ..., chunk_size: int | None = ...) -> Function: ...
@overload
def hessian(f: Of[A, Q, Value], argnums: Literal[0] = ..., chunk_size: int | None = ...) -> Gradient[A, Q]: ...
@overload
def hessian(f: Callable[P, Value], argnums: int, chunk_size: int | None = ...) -> Callable[P, Value]: ...
def hessian(f: Function, argnums: int = 0, chunk_size: int | None = None) -> Function:
    """A function that gives all second derivatives of a function with one number as its value.

    Forward mode over reverse mode: the columns of the gradient's Jacobian, all at once. `no_grad` inside of `f` hides
    values from the gradient, and not from forward mode; ``jacrev(grad(f))`` hides them from both.

    Returns:
        A function with the arguments of `f`; for an array argument of shape s the Hessian has shape ``s + s``,
        for a tree it is a tree of trees.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
        array([[6., 4.],
               [4., 0.]])
    """
    return jacfwd(grad(f, argnums), argnums, chunk_size)


def _of_one(f: Function, argnum: int, args: tuple[object, ...], kwargs: dict[str, object]) -> Function:
    """`f` of its argument number `argnum` alone."""
    if not isinstance(argnum, int):
        raise ArgumentError(
            f"a Jacobian is taken by one argument, argnums=0 for example; got argnums={argnum!r}. Call it for each, or "
            f"make one tree of them: lambda both: f(*both), of ((x, y),)"
        )
    argnum = one_of(argnum, args)

    def inner(x: Array) -> Value:
        call = list(args)
        call[argnum] = x
        return follow(f, call)(*in_classes(f, args, call), **kwargs)

    return inner


def _stacks(f: Function, likes: list[Array], chunk: int | None) -> list[Array]:
    """What `f` gives for each unit vector of the space of `likes`, stacked."""
    if chunk is not None and chunk < 1:
        raise ArgumentError(f"chunk_size must be at least 1, or None for all at once; got {chunk}")
    total = sum(_size(x) for x in likes)
    if len(likes) == 1 and total > 1 and not chunk:
        return _from_diagonal(f, likes[0])
    chunks = []
    for start in range(0, total, chunk or max(total, 1)):
        count = min(chunk or total, total - start)
        chunks.append(vmap(f)(*_units(likes, start, count)))
    if not chunks:  # nothing varies: see what `f` would give
        return [np.zeros((0, *np.shape(x)), dtype_of(x)) for x in f(*likes)]
    return chunks[0] if len(chunks) == 1 else [np.concatenate(column) for column in zip(*chunks, strict=True)]


def _from_diagonal(f: Function, like: Array) -> list[Array]:
    """The same for one array: what stays diagonal on the way is not written out before the end."""
    level = new_level()
    results = []
    if backend_of(like) is None:
        ones = np.ones(np.shape(like), dtype_of(like))
    else:  # where it lies, in its chunks; of one sample, if it has many
        ones = np.ones_like(raw(like), shape=np.shape(like)) if varies(like) else np.ones_like(raw(like))
    for x in f(Diagonal.of((ones,), level)):
        x = settled(x, level)
        mine = isinstance(x, Batched) and x.level == level
        results.append(x.layers[0] if mine else np.broadcast_to(x, (_size(like), *np.shape(x))))
    return [own(x) for x in results]


def _units(likes: list[Array], start: int, count: int) -> Iterator[object]:
    """`count` unit vectors of the space of `likes` from number `start` on: one stack a leaf."""
    for x in likes:
        size = _size(x)
        yield beside(x, np.eye(count, size, start, dtype_of(x)).reshape(count, *np.shape(x)))
        start -= size


def _parts(likes: list[Array]) -> Iterator[slice]:
    """Where each leaf's elements lie among those of all."""
    start = 0
    for x in likes:
        yield slice(start, start + _size(x))
        start += _size(x)


def _size(x: Array) -> int:
    return int(math.prod(np.shape(x)))
