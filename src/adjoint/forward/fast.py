"""The fast path of forward mode: an elementwise function of one or two inputs, for real arrays.

It does the same as `Dual.processed`, for duals of one level together with plain arrays and numbers,
and without a loop over arguments. Any other call is passed on to `otherwise`.
"""

from __future__ import annotations

import numpy as np

from adjoint.arrays.fast_path import ARRAYS, PLAIN, FastPath
from adjoint.arrays.operators import is_objects
from adjoint.core.messages.warned import REFUSES, after_refusal
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.types import Array, Value
from adjoint.forward.push import build, shaped

__warningregistry__ = REFUSES  # the general path lets warnings name the user's line
_FLOATS = frozenset((np.dtype(np.float64), np.dtype(np.float32)))


def fast_path(op: Op, kind: Value, otherwise: FastPath) -> FastPath:
    """The fast path of `op` for the class `kind` of duals."""
    return (_of_one if len(op.inputs) == 1 else _of_two)(op, kind, otherwise)


def _of_one(op: Op, kind: Value, otherwise: FastPath) -> FastPath:
    forward, new, push = op.forward, object.__new__, build(op, (0,), True)

    def fast(x: Array) -> Array:
        if type(x) is not kind:
            return otherwise(x)
        p, t = x._layers if x._base is None else x.layers
        if (
            t is None or type(p) not in ARRAYS or p.dtype not in _FLOATS
        ):  # the absolute value of a complex number is real
            return otherwise(x)
        try:
            out = forward(p)
        except TypeError as error:
            return after_refusal(error, otherwise, x)
        if out.dtype not in _FLOATS:
            return otherwise(x)
        t = push((p,), out, NO_SETTINGS, t)
        if t.shape != out.shape or t.dtype != out.dtype:
            t = shaped(t, out)
        dual = new(kind)
        dual._layers, dual.level, dual._base = (out, t), x.level, None
        return dual

    return fast


def _of_two(op: Op, kind: Value, otherwise: FastPath) -> FastPath:
    forward, new = op.forward, object.__new__
    first, second, both = (build(op, wanted, True) for wanted in ((0,), (1,), (0, 1)))

    def fast(x: Array, y: Array) -> Array:
        p, q, t, u, level = x, y, None, None, 0
        if type(x) is kind:
            level = x.level
            p, t = x._layers if x._base is None else x.layers
            if t is None or type(p) not in ARRAYS:
                return otherwise(x, y)
        elif type(x) not in PLAIN or is_objects(x):
            return otherwise(x, y)
        if type(y) is kind:
            if t is not None and level != y.level:
                return otherwise(x, y)
            level = y.level
            q, u = y._layers if y._base is None else y.layers
            if u is None or type(q) not in ARRAYS:
                return otherwise(x, y)
        elif type(y) not in PLAIN or is_objects(y):
            return otherwise(x, y)
        try:
            out = forward(p, q)
        except TypeError as error:
            return after_refusal(error, otherwise, x, y)
        if out.dtype not in _FLOATS:
            return otherwise(x, y)
        if u is None:
            t = first((p, q), out, NO_SETTINGS, t)
        elif t is None:
            t = second((p, q), out, NO_SETTINGS, u)
        else:
            t = both((p, q), out, NO_SETTINGS, t, u)
        if t.shape != out.shape or t.dtype != out.dtype:
            t = shaped(t, out)
        dual = new(kind)
        dual._layers, dual.level, dual._base = (out, t), level, None
        return dual

    return fast
