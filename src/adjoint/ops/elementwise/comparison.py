"""The larger and the smaller of two values, and all functions that return truth values or positions."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import surely_all
from adjoint.core.box import Box, raw, varies
from adjoint.core.constants import constant
from adjoint.core.constructors import composite, elementwise
from adjoint.core.op import call
from adjoint.core.rules.choosing import where_true
from adjoint.core.types import Array, Function, Value
from adjoint.ops.shape.reshaping import counted_from_one


def _share(g: Array, mine: Array, other: Array, out: Array) -> Array:
    """All where this argument is the result, an even half where both are, else nothing; nan follows nan."""
    won, lost = np.equal(mine, out), np.equal(other, out)
    if type(won) is type(lost) is np.ndarray and surely_all(np.logical_xor(won, lost)):  # neither ties nor nan
        return where_true(won, g)
    won, lost = won | (np.isnan(out) & np.isnan(mine)), lost | (np.isnan(out) & np.isnan(other))
    return np.where(won, np.where(lost, g * 0.5, g), 0.0)


_shares = (lambda g, x, y, out: _share(g, x, y, out), lambda g, x, y, out: _share(g, y, x, out))
_FLAGS = ("commutative", "idempotent", "selects", "finite")
_apart = ((-2.0, -0.2), (0.2, 2.0))

maximum = elementwise(np.maximum, partials=_shares, domain=_apart, flags=_FLAGS)
minimum = elementwise(np.minimum, partials=_shares, domain=_apart, flags=_FLAGS)
fmax = elementwise(np.fmax, partials=_shares, domain=_apart, flags=_FLAGS)
fmin = elementwise(np.fmin, partials=_shares, domain=_apart, flags=_FLAGS)


def each_element(function: Function, k: int) -> Function:
    """The batch rule of a `function` of each element of its argument number `k`, while the others are shared."""

    def batch(xs: Array, stacked: tuple[bool, ...], settings: Value) -> Array:
        alone = [i for i, yes in enumerate(stacked) if yes] == [k]
        return function(*xs, **settings) if alone else NotImplemented

    return batch


def _partitioned_each(xs: Array, stacked: tuple[bool, ...], settings: Value) -> Array:
    a, *rest = xs
    given = dict(zip(("kth",), rest, strict=False)) | settings
    axis = given.pop("axis", -1)
    if axis is None:
        a, axis = np.reshape(a, (a.shape[0], -1)), 0
    return np.argpartition(a, axis=counted_from_one(axis, np.ndim(a)), **given)


def order_by(keys: Array, axis: int = -1) -> Array:
    """The order in which `keys` rise, of which the last decides first."""
    return np.lexsort(keys, axis=axis)


(not_equal,) = constant(np.not_equal)
constant(np.equal, np.less, np.less_equal, np.greater, np.greater_equal)
constant(np.logical_and, np.logical_or, np.logical_not, np.logical_xor)
constant(np.isnan, np.isinf, np.isfinite, np.isnat)
constant(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift)
constant(np.bitwise_count)
constant(np.packbits, batch="axes", like=lambda a, axis=None, bitorder="big": None)
constant(np.unpackbits, batch="axes", like=lambda a, axis=None, count=None, bitorder="big": None)
constant(np.argmax, np.argmin, np.argsort, np.nanargmax, np.nanargmin, batch="axes")
constant(np.all, np.any, np.count_nonzero, batch="axes")
constant(np.argpartition, batch=_partitioned_each)
constant(np.searchsorted, batch=each_element(np.searchsorted, 1))
constant(np.digitize, batch=each_element(np.digitize, 0))
constant(np.argwhere, np.nonzero, np.flatnonzero)
(_order_by,) = constant(order_by)
constant(np.isclose, np.isposinf, np.isneginf, np.isreal, np.iscomplex, batch="elementwise")
constant(np.allclose, np.array_equal, np.array_equiv)
constant(np.shape, np.ndim, np.size, np.isrealobj, np.iscomplexobj, flags=("once",))
# Arrays to write into: of the same kind as their model, so that what is written may have a gradient.
constant(np.zeros_like, np.ones_like, flags=("creates",))
constant(
    np.empty_like, flags=("creates",), like=lambda a, dtype=None, order="K", subok=True, shape=None, device=None: None
)
constant(np.can_cast, flags=("once",), like=lambda x, to, casting="safe": None)
constant(np.einsum_path, np.result_type, np.shares_memory, np.may_share_memory, flags=("once",))


@composite(np.lexsort, samples=lambda r: [call(r(2, 5)), call([r(5), r(5)])], flags=("constant",))
def lexsort(keys: Array, axis: int = -1) -> Array:
    """`numpy.lexsort`; keys that are not known yet, or that differ between samples, as one array."""
    if isinstance(keys, list | tuple) and any(varies(key) or isinstance(raw(key), Box) for key in keys):
        known: list[Value] = [x if isinstance(x, Box) else np.unique(x, return_inverse=True)[1] for x in keys]
        keys = np.stack(known)
    return _order_by(keys, axis=axis)
