"""`vmap`: a function of one sample becomes one of many."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import overload

import numpy as np

from adjoint.arrays.layered import as_now, memories, own
from adjoint.batch.batched import Batched
from adjoint.batch.memory import as_given
from adjoint.core.backend import converted, is_foreign, taken
from adjoint.core.box import Box, new_level, returned
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.leaks.notes import Reach, begin, over
from adjoint.core.objects.trees import flatten, is_leaf, paths
from adjoint.core.types import Array, Axis, Function, P, R, Tree, Value
from adjoint.transforms.results import arrays_of
from adjoint.twin.follow import follow, in_classes
from adjoint.twin.policy import of_samples
from adjoint.twin.subclasses.base import inside


@overload
def vmap(f: np.ufunc, in_axes: Tree = ..., out_axes: Tree = ..., axis_size: int | None = ...) -> Function: ...
@overload
def vmap(
    f: Callable[P, R], in_axes: Tree = ..., out_axes: Tree = ..., axis_size: int | None = ...
) -> Callable[P, R]: ...
def vmap(
    f: Callable[P, R], in_axes: Tree = 0, out_axes: Tree = 0, axis_size: int | None = None, **dims: Tree
) -> Callable[P, R]:
    """A function that does for a stack of samples what `f` does for one, all at once and not in a loop.

    Args:
        f: takes arrays or trees of arrays, gives the same. It sees one sample.
        in_axes: along which axis of each argument the samples lie: a number for all, or a tuple with one entry an
            argument: a number, None for an argument that all samples share, or a tree of these that is a prefix of
            the argument's. Keyword arguments are shared.
        out_axes: along which axis of the results to put the samples: a number, or a tree that is a prefix of the
            value's; None for a result that is the same for all samples.
        axis_size: how many samples there are, if no argument says it.
        dims: PyTorch's words: ``in_dims`` and ``out_dims``.

    Returns:
        A function with the arguments of `f`.

    Raises:
        ShapeError: if arguments disagree about the number of samples, or lack the axis.
        BatchedValueError: where `f` wants one number for what is one number a sample: ``float(t)``, or ``if`` on a
            condition that differs between samples.

    Random numbers that `f` draws from a generator are the same for all samples; pass samples' own as an argument.
    (`adjoint.nn.Dropout` draws them for each sample.)

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.vmap(np.dot)(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([1., 4.])
        >>> per_sample = ad.vmap(ad.grad(lambda w, x: np.dot(w, x) ** 2), in_axes=(None, 0))
        >>> per_sample(np.array([1.0, 1.0]), np.array([[1.0, 0.0], [2.0, 1.0]]))
        array([[ 2.,  0.],
               [12.,  6.]])
    """
    in_axes, out_axes = dims.pop("in_dims", in_axes), dims.pop("out_dims", out_axes)
    if dims:
        raise TypeError(f"vmap() got an unexpected keyword argument {next(iter(dims))!r}")

    @wraps(f)
    def wrapped(*args: object, **kwargs: object) -> Value:
        axes = tuple(in_axes) if isinstance(in_axes, tuple | list) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArgumentError(f"vmap: in_axes has {len(axes)} entries for {len(args)} arguments; give one each")
        level = new_level()
        sizes: dict[int, str] = {}
        boxed = []
        for i, (arg, axis) in enumerate(zip(args, axes, strict=True)):
            boxed.append(_boxed(arg, axis, level, f"argument {i}", sizes))
        if axis_size is not None:
            sizes.setdefault(axis_size, "axis_size")
        if len(sizes) > 1:
            said = ", ".join(f"{size} along {who}" for size, who in sizes.items())
            raise ShapeError(f"vmap: the arguments disagree about the number of samples: {said}")
        if not sizes:
            raise ArgumentError("vmap: no argument has an axis of samples, so their number is unknown; give in_axes, "
                                "or axis_size=n")  # fmt: skip
        (n,) = sizes
        try:
            begin(level, 0)
            with of_samples():
                value = arrays_of(follow(f, boxed)(*in_classes(f, args, boxed), **kwargs))
        except BaseException:
            over(level)
            raise
        ledger = over(level)
        if ledger is not None:
            varies = any(isinstance(x, Batched) and x.level == level and x.carries for x in flatten(value)[0])
            ledger.report(value, Reach(varies))
        return _unboxed(value, out_axes, level, n, list(args) if all(map(is_leaf, args)) else flatten(args)[0])

    return wrapped


def _boxed(tree: Tree, axes: Axis, level: int, name: str, sizes: dict[int, str]) -> object:
    """The tree with its arrays as batched ones, where they have an axis of samples."""
    leaves, rebuild = flatten(tree)
    if axes is None:
        return tree
    chosen = _spread(axes, tree, len(leaves), "in_axes", name)
    boxed = []
    for k, (leaf, axis) in enumerate(zip(leaves, chosen, strict=True)):
        x: Array = inside(leaf)
        if axis is not None:
            x = x if isinstance(x, Box) or is_foreign(x) else converted(x)
            if not isinstance(axis, int):
                raise ArgumentError(f"vmap: in_axes of {name} must be a number, None, or a tree of these; got {axis!r}")
            if not -x.ndim <= axis < x.ndim:
                raise ShapeError(f"vmap: axis {axis} of {name}{paths(tree)[k]} has no such axis: its shape is "
                                 f"{x.shape}. For an argument that all samples share, in_axes is None")  # fmt: skip
            if x.shape[axis] not in sizes:
                sizes[x.shape[axis]] = f"axis {axis} of {name}{paths(tree)[k]}"
            x = np.moveaxis(x, axis, 0) if axis else x
            # A copy: the caller may write into the argument while a gradient waits for it.
            x = Batched.of((taken(x) if is_foreign(x) else as_now(as_given(x)), True), level)
        boxed.append(x)
    return rebuild(boxed)


def _spread(axes: Axis, tree: Tree, count: int, what: str, name: str) -> list[int | None]:
    """One axis a leaf of `tree`, from the prefix of it that `axes` is."""
    if axes is None or isinstance(axes, int):
        return [axes] * count
    import optree

    flatten(tree)  # makes dataclasses known
    try:
        return optree.broadcast_prefix(axes, tree, none_is_leaf=True, namespace="adjoint")
    except ValueError as error:
        raise ArgumentError(f"vmap: {what} of {name} must be a number, None, or a tree of these that is a prefix of "
                            f"it; {error}") from error  # fmt: skip


def _unboxed(tree: Tree, axes: Axis, level: int, n: int, given: list[Array]) -> object:
    leaves, rebuild = flatten(tree)
    memory = memories(given)
    results = []
    for x, axis in zip(leaves, _spread(axes, tree, len(leaves), "out_axes", "the value"), strict=True):
        x = returned(x, level)
        data, stacked = x.layers if isinstance(x, Batched) and x.level == level else (x, False)
        if axis is None:
            if stacked:
                raise ArgumentError("vmap: out_axes is None for a result that differs between samples; give it an axis")
        else:
            if not stacked:
                data = np.broadcast_to(data, (n, *np.shape(data)))
                if data.dtype.kind not in "biufc":
                    raise ArgumentError(f"vmap: the function must give arrays or numbers; it gave {x!r}")
            data = own(data, memory)
            if not isinstance(axis, int) or not -np.ndim(data) <= axis < np.ndim(data):
                raise ShapeError(
                    f"vmap: out_axes={axis!r} for a result of shape {np.shape(data)[1:]}; with the axis of samples it "
                    f"has {np.ndim(data)}: give one from 0 to {np.ndim(data) - 1}"
                )
            data = data if axis == 0 else np.moveaxis(data, 0, axis)
        results.append(data)
    return rebuild(results)
