"""Back through few steps of small recurrent layers: what no step waits for is computed for all steps at once."""

from __future__ import annotations

import numpy as np

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def of_one_dtype(*arrays: object) -> bool:
    """Whether all are plain arrays of one real dtype."""
    first = arrays[0]
    if type(first) is not np.ndarray or first.dtype not in _FLOATS:
        return False
    return all(type(a) is np.ndarray and a.dtype is first.dtype for a in arrays)


def rnn_rows(g: np.ndarray, weight: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of what goes into the activation, (steps, n, units), and of the state before the first step."""
    rows, dh = np.empty_like(slopes), np.zeros(slopes.shape[1:], slopes.dtype)
    for t in range(len(slopes) - 1, -1, -1):
        dh += g[t]
        np.multiply(dh, slopes[t], out=rows[t])
        np.matmul(rows[t], weight, out=dh)
    return rows, dh


def lstm_rows(
    g_h: np.ndarray, g_c: np.ndarray, weight: np.ndarray, c: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cotangents of all gates in PyTorch's order, (steps, n, 4 * units), and of both states before the first step.

    `kept`: the gates and cells of each step, see `lstm_steps`, of one panel.
    """
    steps, _, n, units = kept.shape
    sigmoids, new, tanh = kept[:, :3], kept[:, 3], np.tanh(kept[:, 4])
    slopes = sigmoids * (1 - sigmoids)
    factors = np.empty((steps, 4, n, units), kept.dtype)
    np.multiply(slopes[:, 0], new, out=factors[:, 0])
    np.multiply(slopes[:, 1], np.concatenate([c[None], kept[:-1, 4]]), out=factors[:, 1])
    np.multiply(1 - new * new, sigmoids[:, 0], out=factors[:, 2])
    np.multiply(slopes[:, 2], tanh, out=factors[:, 3])
    to_cell = (1 - tanh * tanh) * sigmoids[:, 2]
    rows = np.empty((steps, n, 4 * units), kept.dtype)
    places = rows.reshape(steps, n, 4, units).swapaxes(1, 2)
    dh, dc, part = np.zeros((n, units), kept.dtype), g_c.copy(), np.empty((n, units), kept.dtype)
    for t in range(steps - 1, -1, -1):
        dh += g_h[t]
        dc += np.multiply(dh, to_cell[t], out=part)
        np.multiply(factors[t, :3], dc, out=places[t, :3])
        np.multiply(factors[t, 3], dh, out=places[t, 3])
        dc *= sigmoids[t, 1]
        np.matmul(rows[t], weight, out=dh)
    return rows, dh, dc
