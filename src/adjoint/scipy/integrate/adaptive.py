"""Integrals as sums over points, accurate for the integrand and for its derivatives.

An integral is linear in the integrand. So if a sum over points is accurate for the integrand, and for its derivatives,
then the sum itself has the right derivatives, of every kind. Intervals are halved where Gauss's and Kronrod's sums
(A. Kronrod, 1965; the 10 and 21 points of QUADPACK) differ, for the values or for the derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.core.box import Box
from adjoint.core.errors import GradientError
from adjoint.core.types import Array, DType, Function, Value
from adjoint.forward.dual import Dual
from adjoint.tape.edge import edge
from adjoint.tape.node import next_order
from adjoint.tape.tensor import Tensor

MOST = 400  # intervals
ROUNDING = 1e-14  # sums are not more exact than this, relative to the sum of sizes
WORST = 1e-4  # a derivative that is less exact is refused

_K_PLACES = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0,
])  # fmt: skip
_K_WEIGHTS = np.array([
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
])  # fmt: skip
_G_WEIGHTS = np.array([
    0.066671344308688137593568809893332, 0.149451349150580593145863396957658, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173815619188769,
])  # fmt: skip
PLACES = np.concatenate([-_K_PLACES, _K_PLACES[-2::-1]])
KRONROD = np.concatenate([_K_WEIGHTS, _K_WEIGHTS[-2::-1]])
GAUSS = np.zeros(21)
GAUSS[1:10:2] = _G_WEIGHTS
GAUSS[11:20:2] = _G_WEIGHTS[::-1]


class _Interval(NamedTuple):
    """One interval, the integrand at its places, and the sums for each thing that is watched."""

    low: float
    high: float
    values: list[Array]
    sums: dict[Value, Value]
    sizes: dict[Value, Value]
    errors: dict[Value, Value]


def summed(f: Function, intervals: list[tuple[float, float]], epsabs: float, epsrel: float) -> Array:
    """The integral of `f`, a function of plain numbers that uses tensors, over all of `intervals`.

    Raises:
        GradientError: if the derivatives could not be integrated.
    """
    parts = [_part(f, low, high) for low, high in intervals]
    while True:
        worst, where = _worst(parts, epsabs, epsrel)
        if worst <= 1.0:
            break
        low, high = parts[where].low, parts[where].high
        middle = 0.5 * (low + high)
        if len(parts) >= MOST or not low < middle < high:
            if _worst(parts, 0.0, WORST)[0] <= 1.0:
                break
            raise GradientError(
                f"the derivative of the integrand could not be integrated: its sums do not settle near x = {middle:g}. "
                f"Say where it is hard (points=), or integrate parts"
            )
        parts[where : where + 1] = [_part(f, low, middle), _part(f, middle, high)]
    weights = np.concatenate([0.5 * (part.high - part.low) * KRONROD for part in parts])
    values = np.stack([value for part in parts for value in part.values])
    return np.sum(values * weights.reshape(-1, *(1,) * (values.ndim - 1)), axis=0)


def _part(f: Function, low: float, high: float) -> _Interval:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    values, rows = [], []
    for place in PLACES:
        since = next_order()
        values.append(f(float(middle + half * place)))
        rows.append(_watched(values[-1], since))
    sums, sizes, errors = {}, {}, {}
    for key in {key for row in rows for key in row}:
        found = np.stack(np.broadcast_arrays(*(row.get(key, 0.0) for row in rows)))
        sums[key] = half * np.tensordot(KRONROD, found, 1)
        sizes[key] = half * np.tensordot(KRONROD, np.abs(found), 1)
        spread = half * np.tensordot(KRONROD, np.abs(found - sums[key] / (2.0 * half)), 1)
        gap = np.abs(sums[key] - half * np.tensordot(GAUSS, found, 1))
        share = np.minimum(1.0, (200.0 * gap / np.where(spread > 0.0, spread, 1.0)) ** 1.5)  # QUADPACK's estimate
        errors[key] = np.where(spread > 0.0, spread * share, gap)
    return _Interval(low, high, values, sums, sizes, errors)


def _worst(parts: list[_Interval], epsabs: float, epsrel: float) -> tuple[float, int]:
    """How far the worst sum is from what it may be off by, as a ratio; and the interval that has most of this."""
    worst, where = 0.0, 0
    for key in {key for part in parts for key in part.errors}:
        total, size, error = (
            sum(getattr(part, name).get(key, 0.0) for part in parts) for name in ("sums", "sizes", "errors")
        )
        allowed = np.maximum(epsrel * np.abs(total), ROUNDING * size)
        allowed = np.maximum(allowed, epsabs if not key else epsrel * size)
        ratio = float(np.max(np.where(error > allowed, error / np.where(allowed > 0.0, allowed, 1e-300), 0.0)))
        if ratio > worst:
            worst = ratio
            where = int(np.argmax([np.max(part.errors.get(key, 0.0)) for part in parts]))
    return worst, where


def _watched(x: Array, since: int) -> dict[Array, Array]:
    """The numbers of `x`, and of its derivatives by all that is older than `since`, by names; of these one of each."""
    if not isinstance(x, Box):
        return {(): np.asarray(x)}
    x = x.settled()
    if isinstance(x, Batched):
        data, _ = x.layers  # all samples at once
        return _watched(data, since)
    if isinstance(x, Dual):
        primal, tangent = x.layers
        found = _watched(primal, since)
        if tangent is not None:
            found |= {(x.level, *key): value for key, value in _watched(tangent, since).items()}
        return found
    if isinstance(x, Tensor):
        found = _watched(x.held, since)
        if x.node is not None:
            for node, c in edge(x.node, _mixture(np.shape(x.held), x.dtype), since).items():
                one = np.sum(c * _mixture(np.shape(c), np.float64))  # one number for all by which it is
                found |= {(node.order, *key): value for key, value in _watched(one, since).items()}
        return found
    return {}


def _mixture(shape: tuple[int, ...], dtype: DType) -> Array:
    """Weights for a sum that hides no number: 1 for a single one, and else no two alike."""
    return np.reshape(np.cos(np.arange(np.prod(shape, dtype=int))), shape).astype(dtype)
