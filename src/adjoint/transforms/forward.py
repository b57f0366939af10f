"""Forward-mode transforms: `jvp`, `hvp`, `linearize`, `jacfwd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from adjoint.arrays.layered import as_now, memories, own
from adjoint.arrays.python_number import passed_on
from adjoint.core.backend import is_foreign, refuse_mix, taken
from adjoint.core.box import Box, new_level, returned
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.leaks.notes import Reach, begin, over, plain
from adjoint.core.memory import copy_as_it_lies, lies
from adjoint.core.objects.trees import flatten, is_leaf, matched, paths
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Aux, Function, R, Tree, Value
from adjoint.forward.dual import Dual
from adjoint.forward.number import DualNumber
from adjoint.tape.modes import recording_floor
from adjoint.tape.zeros.selected import Selected, bare, has_nan, is_symbolic
from adjoint.transforms.arguments import number
from adjoint.transforms.results import arrays_of
from adjoint.transforms.reverse import grad, vjp
from adjoint.twin.follow import follow, in_classes
from adjoint.twin.subclasses.base import inside

if TYPE_CHECKING:
    from adjoint.transforms.signatures import A


@overload
def jvp(
    f: Callable[..., R], primals: Sequence[Array], tangents: Sequence[Array], has_aux: Literal[False] = ...
) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[..., tuple[R, Aux]], primals: Sequence[Array], tangents: Sequence[Array], has_aux: Literal[True]
) -> tuple[R, R, Aux]: ...
@overload
def jvp(f: Function, primals: Sequence[Array], tangents: Sequence[Array], has_aux: bool) -> tuple[Value, ...]: ...
def jvp(f: Function, primals: Sequence[Array], tangents: Sequence[Array], has_aux: bool = False) -> Value:
    """The value of `f` and its derivative in one direction, computed side by side.

    Args:
        f: takes arrays or trees of arrays (dicts, lists, tuples, dataclasses), gives the same.
        primals: where to evaluate: a tuple with one entry an argument.
        tangents: the direction, of the structure and shapes of `primals`. None stands for an argument, or a part
            of one, that does not vary, which may then be anything.
        has_aux: `f` gives ``(value, aux)``; `aux` is passed through.

    Returns:
        ``(value, tangent)``, or ``(value, tangent, aux)``; the tangent has the value's structure, shapes and dtypes.
        Where the value is a whole number or a truth value, the tangent is a real zero.

    Raises:
        ArgumentError: if primals and tangents are not of one structure.
        ShapeError: if a tangent has another shape than its primal.
        DTypeError: for a tangent of whole numbers, or a complex one of a real primal.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.jvp(np.sin, (0.0,), (2.0,))
        (np.float64(0.0), np.float64(2.0))
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise ArgumentError("jvp takes a tuple of primals and one of tangents, also for one argument: "
                            "ad.jvp(f, (x,), (v,))")  # fmt: skip
    if len(primals) != len(tangents):
        raise ArgumentError(f"jvp: {len(primals)} primals and {len(tangents)} tangents; there must be one each")
    given = [*primals, *tangents]
    if not all(map(is_leaf, given)):
        given = inside(flatten((tuple(primals), tuple(tangents)))[0])
    found = _pushed(f, primals, tangents, given, has_aux, any(map(is_symbolic, given)))
    if has_nan(flatten(found[1])[0]):  # of a selection, maybe: see adjoint.tape.selected
        found = _pushed(f, primals, tangents, given, has_aux, True)
    return found


def _pushed(
    f: Function, primals: Sequence[Array], tangents: Sequence[Array], given: list[Array], has_aux: bool, selected: bool
) -> Value:
    """What `jvp` gives, whose arguments have the leaves `given`; `selected` tangents know where they were taken."""
    level, knowing = new_level(), new_level() if selected else None
    pairs = enumerate(zip(primals, tangents, strict=True))
    args = [x if t is None else _carrying(x, t, level, i, knowing) for i, (x, t) in pairs]
    try:
        begin(level, recording_floor.get())
        value, aux = arrays_of(follow(f, args)(*in_classes(f, primals, args)), has_aux), None
    except BaseException:
        over(level)
        raise
    ledger = over(level)
    if has_aux:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ArgumentError(
                f"has_aux=True: the function must return (value, aux); it returned {type(value).__name__}"
            )
        value, aux = value
    if ledger is not None:
        varies = any(isinstance(x, Dual) and x.level == level and x.carries for x in flatten(value)[0])
        ledger.report(value, Reach(varies))
    value, tangent = _apart(value, level, given)
    return (value, tangent, _apart(aux, level, given)[0]) if has_aux else (value, tangent)


def _carrying(primal: Array, tangent: Array, level: int, i: int, knowing: int | None) -> Array | None:
    """The tree `primal` with each leaf that varies a dual of `level`, its tangent `knowing` where it was taken."""
    if type(primal) is type(tangent) is np.ndarray and primal.dtype == tangent.dtype == float and knowing is None:
        if primal.shape == tangent.shape:
            return Dual.of((copy_as_it_lies(primal), tangent.copy()), level)
    if type(primal) is type(tangent) is float and knowing is None:
        return DualNumber.of((np.float64(primal), np.float64(tangent)), level)
    leaves, rebuild = flatten(primal)
    found = [_own(t) for t in _directions("jvp", primal, tangent, f"argument {i}")]
    if knowing is not None:
        found = [None if t is None else Selected.of((t, None, True), knowing) for t in found]
    pairs = zip(leaves, found, strict=True)
    return rebuild([x if t is None else passed_on(Dual.of((_own(_array(x)), t), level), inside(x)) for x, t in pairs])


def _own(x: Array) -> Array:
    """`x`, in memory that the function which is differentiated cannot write by another name."""
    if is_foreign(x):
        return taken(x)
    return copy_as_it_lies(x) if type(x) is np.ndarray else as_now(x)


def _directions(name: str, primal: Array, tangent: Array, title: str) -> list[Array]:
    """The leaves of `tangent`, one for each of `primal`, of its shape and dtype; None for one that does not vary."""
    try:
        given = matched(tangent, primal)
    except ValueError as error:
        raise ArgumentError(f"{name}: {title} and its tangent are not of one structure: {error}") from None
    found: list[Value] = []
    named: list[str] = []  # made where one is needed
    for k, (x, t) in enumerate(zip(flatten(primal)[0], given, strict=True)):
        if t is None:
            found.append(None)
            continue
        x, t = _array(x), _array(t)
        if x.dtype == t.dtype and x.dtype.kind in "fc" and x.shape == t.shape:
            if is_foreign(x):
                refuse_mix(name, (x, t))
            found.append(t)
            continue
        named = named or paths(primal)
        where = f"{title}{named[k]}"
        if x.dtype.kind not in "fc":
            raise DTypeError(
                f"{name}: {where} has dtype {x.dtype}; only real and complex numbers vary. Pass floats, or None as its "
                f"tangent"
            )
        if t.dtype.kind not in "fciub" or (t.dtype.kind == "c" and x.dtype.kind == "f"):
            raise DTypeError(f"{name}: {where} has dtype {x.dtype}, its tangent {t.dtype}; convert one of them: "
                             f"t.astype({x.dtype})")  # fmt: skip
        if t.shape != x.shape:
            raise ShapeError(f"{name}: {where} has shape {x.shape}, its tangent {t.shape}; they must be equal")
        found.append(t if t.dtype == x.dtype else t.astype(x.dtype))
    return found


def _array(x: Array) -> Array:
    x = inside(x)
    if isinstance(x, Box):
        return x.as_array()
    return x if isinstance(x, np.ndarray | np.generic) or is_foreign(x) else number(x)


def _apart(tree: Tree, level: int, given: list[Array]) -> tuple[Value, Value]:
    """The primals and the tangents of a function's value."""
    leaves, rebuild = flatten(tree)
    memory = memories(given)
    primals, tangents = [], []
    for x in leaves:
        x = plain(returned(x, level))
        mine = isinstance(x, Dual) and x.level == level
        primal, tangent = x.layers if mine else (x, None)
        primals.append(own(primal, memory))
        tangents.append(_zeros(primal) if tangent is None else own(_number(bare(tangent)), memory))
    return rebuild(primals), rebuild(tangents)


def _number(x: Array) -> Value:
    return x[()] if isinstance(model := lies(x), np.ndarray) and model.ndim == 0 else x


def _zeros(x: Array) -> Array | None:
    kind = dtype_of(x).kind
    if kind not in "fciub":  # a text has no tangent
        return None
    return np.zeros_like(x, dtype=None if kind in "fc" else float)[()]


def hvp(f: Callable[[A], Value], x: A, v: A) -> A:
    """The Hessian of `f` at `x` times `v`, without the Hessian: forward mode over reverse mode.

    Args:
        f: gives one real number for an array or a tree of arrays.
        x: where to evaluate.
        v: of the structure and shapes of `x`.

    Returns:
        A tree like `x`. It costs about as much as two gradients.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([6., 0.])
    """
    return jvp(grad(f), (x,), (v,))[1]


def linearize(f: Callable[..., R], *primals: Array) -> tuple[R, Callable[..., R]]:
    """The value of `f`, and its derivative as a linear function that may be called for many directions.

    `f` runs once. What is kept is the derivative alone, as a program of linear operations: the transpose of the
    pullback, recorded once.

    Returns:
        ``(value, push)``; ``push(*tangents)`` gives what `jvp` gives as its tangent.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> value, push = ad.linearize(np.sin, np.array([0.0, np.pi]))
        >>> push(np.array([1.0, 1.0]))
        array([ 1., -1.])
    """
    value, pullback = vjp(f, *primals)
    outputs, rebuild_value = flatten(value)
    _, transpose = vjp(pullback, rebuild_value([_zeros(x) for x in outputs]))

    def push(*tangents: Array) -> Array:
        if len(tangents) != len(primals):
            raise ArgumentError(f"the linear map takes {len(primals)} tangents, one an argument; got {len(tangents)}")
        directions = []
        for i, (x, t) in enumerate(zip(primals, tangents, strict=True)):
            leaves, rebuild = flatten(x)
            found = _directions("the linear map", x, t, f"argument {i}")
            directions.append(rebuild([_zeros(y) if d is None else d for y, d in zip(leaves, found, strict=True)]))
        return transpose(tuple(directions))[0]

    return value, push
