"""ValuesAndIndices, orders and moments as PyTorch returns them: values with their positions."""

from __future__ import annotations

from functools import wraps
from typing import NamedTuple

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.box import Box
from adjoint.core.constructors import composite
from adjoint.core.messages.frames import place_of, users_frame, warn_at
from adjoint.core.messages.words import in_numpys_words
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, Function, Value


def in_words(function: Function) -> Function:
    """`function`, which takes PyTorch's words for its arguments too. It gives whole numbers, so it is no operation."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]

    @wraps(function)
    def taking(*args: object, **kwargs: object) -> Array:
        return function(*args, **in_numpys_words(kwargs, names, function.__name__))

    return taking


class ValuesAndIndices(NamedTuple):
    """Values along an axis, and where they were: whole numbers, which no gradient flows through."""

    values: Array
    indices: Array


def marked(a: Array, places: object) -> Array:
    """`places` as an array of the kind of `a`."""
    return a.constant(places) if isinstance(a, Box) else places  # type: ignore[attr-defined]  # of arrays


def along(a: Array, places: Value, axis: int, keepdims: bool = True) -> ValuesAndIndices:
    """The elements at `places` along an axis, and these."""
    values = np.take_along_axis(a, places, axis)
    if not keepdims:
        values, places = np.squeeze(values, axis), np.squeeze(places, axis)
    return ValuesAndIndices(values, marked(a, places))


def _descending(a: Array, axis: int) -> Array:
    """The order of elements from the largest on; equal ones stay in theirs."""
    order = np.flip(np.argsort(np.flip(a, axis), axis=axis, kind="stable"), axis)
    return np.shape(a)[axis] - 1 - order


def _order(a: Array, axis: int, descending: bool) -> Array:
    return _descending(a, axis) if descending else np.argsort(a, axis=axis, kind="stable")


@in_words
def max_along(a: Array, axis: int = -1, keepdims: bool = False) -> ValuesAndIndices:
    """PyTorch's ``t.max(dim)``: the largest elements along an axis, and where they are; of equal ones, the first."""
    return along(a, np.expand_dims(np.argmax(a, axis=axis), axis), axis, keepdims)


@in_words
def min_along(a: Array, axis: int = -1, keepdims: bool = False) -> ValuesAndIndices:
    """PyTorch's ``t.min(dim)``; see `max_along`."""
    return along(a, np.expand_dims(np.argmin(a, axis=axis), axis), axis, keepdims)


@in_words
def sort_along(a: Array, axis: int = -1, descending: bool = False, stable: bool = False) -> ValuesAndIndices:
    """PyTorch's ``t.sort(dim)``: the elements in order, and where each one was."""
    return along(a, _order(a, axis, descending), axis)


@in_words
def argsort_along(a: Array, axis: int = -1, descending: bool = False, stable: bool = False) -> Array:
    """PyTorch's ``t.argsort(dim)``."""
    return marked(a, _order(a, axis, descending))


@in_words
def topk(a: Array, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The `k` largest elements along an axis (with ``largest=False`` the smallest), in order, and where they are.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.topk(np.array([1.0, 4.0, 3.0]), 2)
        ValuesAndIndices(values=array([4., 3.]), indices=array([1, 2]))
    """
    return along(a, np.take(_order(a, axis, largest), range(k), axis), axis)


def _running(a: Array, axis: int, ufunc: np.ufunc) -> ValuesAndIndices:
    """The extreme up to each element, and where it was; of equal ones, the last."""
    extreme = ufunc.accumulate(plain(a), axis=axis)
    rest = (1,) * (np.ndim(a) - 1 - axis % np.ndim(a))
    places = beside(a, np.reshape(np.arange(np.shape(a)[axis]), (-1, *rest)))
    return along(a, np.maximum.accumulate(np.where(np.equal(plain(a), extreme), places, 0), axis=axis), axis)


def plain(a: Array) -> Array:
    """`a` without its history."""
    return a.detach() if isinstance(a, Box) else a  # type: ignore[attr-defined]  # every box of arrays has it


@in_words
def cummax(a: Array, axis: int = -1) -> ValuesAndIndices:
    """The largest element so far along an axis, and where it was.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.cummax(np.array([1.0, 3.0, 2.0])).values
        array([1., 3., 3.])
    """
    return _running(a, axis, np.maximum)


@in_words
def cummin(a: Array, axis: int = -1) -> ValuesAndIndices:
    """The smallest element so far along an axis, and where it was; see `cummax`."""
    return _running(a, axis, np.minimum)


def _divisor(name: str, unbiased: bool | None, correction: float | None) -> float:
    if unbiased is None and correction is None:
        text = (
            f"{name} with dim= divides by n - 1, as PyTorch's does; without it, and with axis=, by n, as NumPy's. Say "
            f"which is meant: correction=1 or correction=0"
        )
        warn_at(place_of(users_frame()), text, UserWarning)
    return float(unbiased is not False) if correction is None else correction


def _sampled(name: str, moment: Function) -> Function:
    """PyTorch's form of the NumPy function `moment`, which it calls `name`."""

    def sampled(
        a: Array,
        axis: Axis = None,
        unbiased: bool | None = None,
        keepdims: bool = False,
        correction: float | None = None,
        ddof: float | None = None,
    ) -> Array:
        divisor = _divisor(name, unbiased, correction if ddof is None else ddof)
        if dtype_of(a) == np.float16:  # in which squares overflow from 256 on
            return moment(a.astype(np.float32), axis=axis, keepdims=keepdims, ddof=divisor).astype(np.float16)
        return moment(a, axis=axis, keepdims=keepdims, ddof=divisor)

    sampled.__name__ = sampled.__qualname__ = f"sample_{name}"
    sampled.__doc__ = (
        f"PyTorch's ``t.{name}(dim)``, which divides by n - 1 unless `unbiased` or `correction` says otherwise."
    )
    return composite(samples=lambda r: [call(r(3, 4), 1, unbiased=False), call(r(3, 4), correction=1, keepdims=True)])(
        sampled
    )


sample_std, sample_var = _sampled("std", np.std), _sampled("var", np.var)
