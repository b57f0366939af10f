"""Sorting, whole and in part. A gradient goes back to where its element came from."""

from __future__ import annotations

import numpy as np

from adjoint.core.constructors import composite, general
from adjoint.core.errors import ArgumentError
from adjoint.core.messages.meanings import note
from adjoint.core.messages.unpacked import alone
from adjoint.core.op import call
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.indexing.reading import scatter


def _placed(g: Array, order: Array, axis: int) -> Array:
    """`g` put where `order`, a permutation along `axis`, says."""
    places = np.indices(order.shape, sparse=True)
    index = tuple(order if i == axis % order.ndim else place for i, place in enumerate(places))
    return scatter(g, index, order.shape, repeats=False)


def _unpartitioned(g: Array, a: Array, out: Array, axis: int) -> Array:
    """Match `a` with its rearrangement `out`: sorted, they are one."""
    after = np.argsort(out, axis=axis)
    return _placed(np.take_along_axis(g, after, axis), np.argsort(a, axis=axis), axis)


@general(
    vjp=lambda g, a, axis, kind: _placed(g, np.argsort(a, axis=axis, kind=kind), axis),
    jvp=lambda t, a, axis, kind: np.take_along_axis(t, np.argsort(a, axis=axis, kind=kind), axis),
    batch="axes",
    flags=("finite",),
    samples=lambda r: [call(r(5)), call(r(3, 4), axis=0)],
)
def sort_along(a: Array, /, axis: int = -1, kind: Value = None) -> Array:
    return np.sort(a, axis=axis, kind=kind)


def _partitioned(t: Array, a: Array, out: Array, axis: int) -> Array:
    return _placed(np.take_along_axis(t, np.argsort(a, axis=axis), axis), np.argsort(out, axis=axis), axis)


@general(
    vjp=_unpartitioned,
    jvp=_partitioned,
    batch="axes",
    flags=("finite",),
    samples=lambda r: [call(r(5), kth=2), call(r(3, 4), kth=(0, 2), axis=0)],
)
def partition_along(a: Array, /, kth: Value = 0, axis: int = -1) -> Array:
    return np.partition(a, kth, axis=axis)


def _flat(a: Array, axis: int | None) -> tuple[Array, int]:
    return (np.ravel(a), 0) if axis is None else (a, axis)


def _no_fields(name: str, order: object) -> None:
    if order is not None:
        raise ArgumentError(
            f"np.{name}(order=...) is for arrays with named fields, which a tensor has not; leave it out"
        )


@composite(
    np.sort,
    samples=lambda r: [call(r(5)), call(r(3, 4), 0), call(r(3, 4), axis=None, kind="stable")],
    errors=lambda r: [call(r(3), axis=1)],
)
def sort(
    a: Array,
    axis: Axis = -1,
    kind: Value = None,
    order: object = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Array:
    """`numpy.sort`. Which of several equal elements gets which share of the gradient, `kind` decides."""
    _no_fields("sort", order)
    a, axis = _flat(a, axis)
    if descending:
        since_2_5: Value = {"descending": True}
        return np.take_along_axis(a, np.argsort(a, axis=axis, kind=kind, stable=stable, **since_2_5), axis)
    if axis == -1:
        note("sort", a)
    return alone("sort", axis, sort_along(a, axis=axis, kind="stable" if stable else kind))


@composite(np.sort_complex, samples=lambda r: [call(r(3, 4))])
def sort_complex(a: Array) -> Array:
    a = np.sort(a)
    return a if np.iscomplexobj(a) else a.astype(np.complex64 if a.dtype.char in "bhBH" else complex)


@composite(
    np.partition,
    samples=lambda r: [call(r(7), 3), call(r(3, 4), (1, -1), axis=0), call(r(2, 3), 2, axis=None)],
    errors=lambda r: [call(r(3), 3)],
)
def partition(a: Array, kth: object, axis: Axis = -1, kind: str = "introselect", order: object = None) -> Array:
    _no_fields("partition", order)
    a, axis = _flat(a, axis)
    return partition_along(a, kth=kth, axis=axis)
