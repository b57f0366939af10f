"""Peaks of a signal: where they are is a constant, how high and how wide they are has derivatives."""

from __future__ import annotations

import numpy as np
from scipy import signal

from adjoint.core.types import Array, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, plain
from adjoint.scipy.followed import assembled, like


@like(signal.find_peaks)
def find_peaks(given: dict[str, Value]) -> tuple[Array, dict[str, Array]]:
    """`scipy.signal.find_peaks`: indices, which are constant, and measures, which have derivatives by the signal.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import find_peaks
        >>> x = np.array([0.0, 1.0, 0.0, 3.0, 0.5])
        >>> ad.grad(lambda x: find_peaks(x, prominence=0.5)[1]["prominences"][1])(x)
        array([ 0.,  0.,  0.,  1., -1.])
    """
    x = array(assembled(given.pop("x")))
    peaks, measures = signal.find_peaks(plain(x), **{k: _numbers(v) for k, v in given.items()})
    top = read(x, peaks)
    if "peak_heights" in measures:
        measures["peak_heights"] = top
    if "left_thresholds" in measures:
        measures["left_thresholds"], measures["right_thresholds"] = (top - read(x, peaks + k) for k in (-1, 1))
    if "prominences" in measures:
        measures["prominences"] = top - np.maximum(*(read(x, measures[f"{side}_bases"]) for side in ("left", "right")))
    if "widths" in measures:
        relative = given.get("rel_height", 0.5)
        height = top - measures["prominences"] * relative
        left, right = (
            _crossed(x, height, measures[f"{side}_ips"], step) for side, step in (("left", 1), ("right", -1))
        )
        measures |= {"widths": right - left, "width_heights": height, "left_ips": left, "right_ips": right}
    return peaks, measures


def _numbers(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return tuple(map(_numbers, value))
    return None if value is None else plain(value)[()] if hasattr(value, "shape") else value


def _crossed(x: Array, height: Array, found: Array, step: int) -> Array:
    """Where a line between samples takes a `height`: near `found`, inwards by `step` from the lower sample."""
    outer = np.floor(found).astype(int) if step > 0 else np.ceil(found).astype(int)
    inner = np.clip(outer + step, 0, x.shape[0] - 1)
    rise = read(x, inner) - read(x, outer)
    crossing = found != outer
    share = (height - read(x, outer)) / np.where(crossing, rise, 1.0)
    return np.where(crossing, outer + step * share, found)
