"""The fast path of batching: elementwise functions of stacks whose samples line up already."""

from __future__ import annotations

import numpy as np

from adjoint.arrays.fast_path import PLAIN, FastPath
from adjoint.arrays.operators import is_objects
from adjoint.core.messages.warned import REFUSES, after_refusal
from adjoint.core.op import Op
from adjoint.core.types import Array, Function, Value

__warningregistry__ = REFUSES  # the general path lets warnings name the user's line


def fast_path(op: Op, kind: Value, otherwise: FastPath) -> FastPath:
    """The fast path of `op` for the class `kind` of batched arrays."""
    return (_of_one if len(op.inputs) == 1 else _of_two)(op.forward, kind, otherwise)


def _of_one(forward: Function, kind: Value, otherwise: FastPath) -> FastPath:
    new = object.__new__

    def fast(x: Array) -> Array:
        if type(x) is not kind:
            return otherwise(x)
        p, stacked = x._layers if x._base is None else x.layers
        if not stacked or type(p) is not np.ndarray:
            return otherwise(x)
        try:
            found = forward(p)
        except TypeError as error:
            return after_refusal(error, otherwise, x)
        out = new(kind)
        out._layers, out.level, out._base = (found, True), x.level, None
        return out

    return fast


def _of_two(forward: Function, kind: Value, otherwise: FastPath) -> FastPath:
    new = object.__new__

    def fast(x: Array, y: Array) -> Array:
        p, q, rank, level = x, y, -1, 0
        if type(x) is kind:
            level = x.level
            p, stacked = x._layers if x._base is None else x.layers
            if not stacked or type(p) is not np.ndarray:
                return otherwise(x, y)
            rank = p.ndim
        elif type(x) not in PLAIN or is_objects(x):
            return otherwise(x, y)
        if type(y) is kind:
            q, stacked = y._layers if y._base is None else y.layers
            if not stacked or type(q) is not np.ndarray:
                return otherwise(x, y)
            # Of one level, both have an axis of samples; else a sample of the other must not reach up to it.
            if (rank != q.ndim or level != y.level) if rank >= 0 else np.ndim(p) >= q.ndim:
                return otherwise(x, y)
            level = y.level
        elif type(y) not in PLAIN or np.ndim(q) >= rank or is_objects(y):
            return otherwise(x, y)
        try:
            found = forward(p, q)
        except TypeError as error:
            return after_refusal(error, otherwise, x, y)
        out = new(kind)
        out._layers, out.level, out._base = (found, True), level, None
        return out

    return fast
