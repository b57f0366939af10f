"""Random programs over arrays with short axes, in native code and by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.graph.rewriting.rules import EXACT

LENGTHS = (1, 2, 3, 5, 12, 17, 40, 150)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)


def drawn(seed: int) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A program of a few arrays of at least 4096 places, and the arrays."""
    rng = np.random.default_rng(seed)
    while True:
        lengths = [int(rng.choice(LENGTHS)) for _ in range(int(rng.integers(2, 5)))]
        if 4096 <= np.prod(lengths) <= 1 << 17:
            break
    dtype = rng.choice([np.float64, np.float32])
    arrays = []
    for _ in range(3):
        shape = [n if rng.random() < 0.7 else 1 for n in lengths]
        x = rng.normal(size=shape).astype(dtype)
        for place in rng.integers(0, x.size, 2 if rng.random() < 0.5 else 0):
            x.flat[place] = rng.choice(SPECIAL)
        arrays.append(x)
    plan = [rng.integers(0, 1 << 30, 4).tolist() for _ in range(int(rng.integers(3, 10)))]

    def program(*given: Any) -> Any:
        pool, results = [np.broadcast_to(x, lengths) * 1.0 for x in given], []
        for which, first, second, third in plan:
            x, y = pool[first % len(pool)], pool[second % len(pool)]
            pool.append(_made(which % 14, x, y, third, lengths))
            if which % 5 == 0:
                results.append(np.sum(pool[-1], axis=third % len(lengths)))
        return (*results, pool[-1])

    return program, arrays


def _made(which: int, x: Any, y: Any, third: int, lengths: list[int]) -> Any:
    axis = third % len(lengths)
    small = np.asarray(0.25, x.dtype)
    if which < 3:
        return (x - y, x + y, x * y * small)[which]
    if which < 7:
        reduce = (np.sum, np.max, np.min, np.mean)[which - 3]
        return (x - reduce(y, axis=axis, keepdims=True)) * small
    if which == 7:
        return np.where(x > y, x, np.asarray(0.0, x.dtype))
    if which == 8:
        return np.flip(x, axis) - y
    if which == 9:  # through a join
        half = lengths[axis] // 2
        start = (slice(None),) * axis
        return np.concatenate([x[(*start, slice(half, None))], y[(*start, slice(None, half))]], axis=axis)
    if which == 10:  # through a pile
        return np.sum(np.stack([x, y, x * y * small], axis=axis), axis=axis) * small
    if which == 11:
        order = [*range(1, len(lengths)), 0]
        return np.transpose(np.transpose(x, order) * small, np.argsort(order)) + y
    if which == 12:
        return np.tanh(x) * np.sum(x * y, axis=axis, keepdims=True) * small * small
    return np.minimum(x, np.reshape(y, -1)[third % y.size])


def check(seed: int) -> None:
    program, arrays = drawn(seed)
    with np.errstate(all="ignore"):
        expected = program(*arrays)
        graph = ad.capture(program, *arrays).rewritten(EXACT)
    found = native.build(graph.inputs, graph.outputs)(*arrays)
    for f, e in zip(found, expected, strict=True):
        bound = 2000 * np.finfo(e.dtype).eps
        scale = np.max(np.abs(e), where=np.isfinite(e), initial=1.0)
        assert (f.shape, f.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(f, e, rtol=bound, atol=bound * scale, err_msg=f"seed {seed}")


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_programs_give_what_numpy_gives(start: int) -> None:
    for seed in range(start, start + 10):
        check(seed)
