"""Normalisation with weights and biases as one operation, by channel or by layer: of small arrays, calls take longest.

Ioffe and Szegedy, Batch Normalization, 2015; Ba et al., Layer Normalization, 2016. The gradient of the weights is taken
apart from that of `x`: both need one product, which costs less than what joins them. All bits are those of the separate
steps, which other kinds of arrays take.
"""

from __future__ import annotations

from math import prod

import numpy as np

from adjoint.core.backend import as_array
from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import added_up
from adjoint.core.types import Array
from adjoint.ops.neural.fused import Kept, standard, standard_cotangent
from adjoint.ops.neural.windows import Sizes


def _again(x: Array, axis: Sizes, eps: float, kept: Kept) -> tuple[Array, Array]:
    """The first two of these, which were kept where nothing has to be differentiated."""
    return kept if kept is not None and type(x) is np.ndarray else standard(x, axis, eps)[:2]


def _against(values: Array, axes: int, channel: bool) -> Array:
    """Values of channels against (n, channels, …); those of a layer lie along its last axes."""
    if not channel or axes == 2:
        return values
    shape = (*values.shape, *(1,) * (axes - 2))
    return values.reshape(shape) if type(values) is np.ndarray else np.reshape(values, shape)


def _beside(g: Array, axis: Sizes, channel: bool) -> Sizes:
    """The axes along which one weight, or bias, is used again and again."""
    return axis if channel else tuple(range(g.ndim - len(axis)))


def _cotangent(g: Array, x: Array, w: Array, axis: Sizes, eps: float, channel: bool, kept: Kept) -> Array:
    found, scale = _again(x, axis, eps, kept)
    w = _against(w, g.ndim, channel)
    return standard_cotangent(g * w, found, scale, axis)


def _weight_cotangent(g: Array, x: Array, axis: Sizes, eps: float, channel: bool, kept: Kept) -> Array:
    found, _ = _again(x, axis, eps, kept)
    return added_up(g * found, _beside(g, axis, channel))


def _bias_cotangent(g: Array, axis: Sizes, channel: bool) -> Array:
    return added_up(g, _beside(g, axis, channel))


@general(
    vjps=(_cotangent, _weight_cotangent, _bias_cotangent),
    samples=lambda r: [
        call(r(3, 4), r(4), r(4), axis=(0,), channel=True),
        call(r(2, 3, 4), r(3), r(3), axis=(0, 2), eps=0.1, channel=True),
        call(r(2, 3, 4), r(4), r(4), axis=(2,)),
        call(r(2, 3, 4), r(3, 4), r(3, 4), axis=(1, 2)),
    ],
    errors=lambda r: [call(r(3, 4), r(3), r(3), axis=(0,), channel=True), call(r(3, 4), r(3), r(3), axis=(1,))],
    flags=("real", "finite"),
)
def normalized(
    x: Array, w: Array, b: Array, /, axis: Sizes = (), eps: float = 1e-5, channel: bool = False, kept: Kept = None
) -> Array:
    """``(x - mean) / sqrt(var + eps) * w + b``, with mean and variance along `axis`, all not negative.

    `w` and `b` are (channels,) with `channel`: then `x` is (n, channels, …), and `axis` are all others. Else they are
    of the shape of `axis`, which are the last ones. `kept`: the first two values of `standard`, if these are known.
    """
    x = as_array(x)
    wanted = x.shape[1:2] if channel else x.shape[x.ndim - len(axis) :]
    if w.shape != wanted or b.shape != wanted or prod(wanted) == 0:
        raise ShapeError(
            f"normalized takes weights and biases of shape {wanted} for x of shape {x.shape}; got {w.shape}, {b.shape}"
        )
    found, _ = _again(x, axis, eps, kept)
    out = found * _against(w, x.ndim, channel)
    b = _against(b, x.ndim, channel)
    return np.add(out, b, out=out) if type(out) is type(b) is np.ndarray and out.dtype == b.dtype else out + b
