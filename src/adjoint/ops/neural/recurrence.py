"""All steps of a recurrent layer as one operation: without a graph of each step, and with weights read once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import unused

# Weights have PyTorch's order of gates: input, forget, new, output. The gates that are kept have the three sigmoids
# first, and the tanh of the new values behind them: one call then computes all three.


_COLUMNS = 512  # columns of cotangents that are multiplied at once


def _turn(weight: np.ndarray, out: np.ndarray) -> None:
    """Write a weight in the order of the gates that are kept, and negative for the sigmoids."""
    n = len(weight) // 4
    np.negative(weight[: 2 * n], out=out[: 2 * n])
    np.negative(weight[3 * n :], out=out[2 * n : 3 * n])
    out[3 * n :] = weight[2 * n : 3 * n]


def _lstm_cotangents(g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array]) -> Sequence[Array]:
    """Back through time."""
    if out[0].dtype.kind == "c":  # all of it is holomorphic
        arrays, out = [np.conj(a) for a in arrays], [np.conj(a) for a in out]
    plain = all(type(a) is np.ndarray for a in (*g, *arrays, *out))
    return (_back_in_place if plain else _back)(g, arrays, out)


def _blocks(steps: int, count: int) -> int:
    """How many steps' cotangents are multiplied at once."""
    return max(1, min(steps, _COLUMNS // max(count, 1)))


def _behind(x: Array, h: Array, hs: Array) -> Array:
    """What each step is computed from: its inputs, and the state before it."""
    return np.concatenate([x, np.concatenate([h[None], hs])[:-1]], axis=-1)


def _back(g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array]) -> list[Array]:
    """All cotangents. A step has the gates of all units in rows, and one sequence a column."""
    (x, h, c, inputs, weight), hs = arrays[:5], out[0]
    cs, gates, g_h, g_c, g_gates = (np.swapaxes(a, 1, 2) for a in (*out[1:], *g))
    steps, n, count, size = hs.shape[0], weight.shape[1], hs.shape[1], inputs.shape[1]
    both = np.concatenate([np.transpose(inputs), np.transpose(weight)])
    behind, block, parts, dx = _behind(x, h, hs), _blocks(steps, count), [], []
    dh, dc = np.zeros_like(np.transpose(c)), np.zeros_like(np.transpose(c))
    weights: Array = 0
    biases: Array = 0
    for t in reversed(range(steps)):
        inside, forget, last, new = (gates[t, k * n : (k + 1) * n] for k in range(4))
        of = [g_gates[t, k * n : (k + 1) * n] for k in range(4)]
        tanh, before = np.tanh(cs[t]), cs[t - 1] if t else np.transpose(c)
        dh = dh + g_h[t]
        dc = dc + (1 - np.square(tanh)) * last * dh + g_c[t]
        d_inside = (dc * new + of[0]) * ((1 - inside) * inside)
        d_forget = (dc * before + of[1]) * ((1 - forget) * forget)
        d_last = (dh * tanh + of[2]) * ((1 - last) * last)
        d_new = (dc * inside + of[3]) * (1 - np.square(new))
        parts.append(np.concatenate([d_inside, d_forget, d_new, d_last]))
        found = np.matmul(both, parts[-1])
        dx.append(found[:size])
        dh, dc = found[size:], dc * forget
        if t % block == 0:
            rows = np.reshape(np.stack(parts[::-1], axis=1), (4 * n, len(parts) * count))
            weights = weights + np.matmul(rows, np.reshape(behind[t : t + len(parts)], (rows.shape[1], both.shape[0])))
            biases, parts = biases + np.sum(rows, axis=1), []
    cotangents = [np.swapaxes(np.stack(dx[::-1]), 1, 2), np.transpose(dh), np.transpose(dc), weights[:, :size],
                  weights[:, size:]]  # fmt: skip
    return cotangents if len(arrays) == 5 else [*cotangents, biases]


def _back_in_place(g: Sequence[Array], arrays: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same of plain arrays, to the same bits, in buffers that are used again."""
    (g_h, g_c, g_gates), (hs, cs, gates) = g, (out[0], *(np.swapaxes(a, 1, 2) for a in out[1:]))
    x, h, c, inputs, weight = arrays[:5]
    (steps, count, n), size, wide = hs.shape, inputs.shape[1], 3 * hs.shape[2]
    g_c, g_gates = (None if unused(a) else np.swapaxes(a, 1, 2) for a in (g_c, g_gates))
    # One product gives the cotangents of a step's inputs and of the state before it.
    both = np.concatenate([inputs.T, weight.T])
    block = _blocks(steps, count)
    total, dx = np.empty((4 * n, block, count), hs.dtype), np.empty((steps, size, count), hs.dtype)
    behind = _behind(x, h, hs)
    weights, biases = np.zeros((4 * n, len(both)), hs.dtype), np.zeros(4 * n, hs.dtype)
    d, slope = np.empty((4 * n, count), hs.dtype), np.empty((4 * n, count), hs.dtype)
    found = np.zeros((len(both), count), hs.dtype)
    dh, dc, tanh, one = found[size:], *(np.zeros((n, count), hs.dtype) for _ in range(3))
    for t in reversed(range(steps)):
        gate, before = gates[t], cs[t - 1] if t else c.T
        np.tanh(cs[t], out=tanh)
        dh += g_h[t].T
        np.multiply(tanh, tanh, out=one)
        np.subtract(1, one, out=one)
        one *= gate[2 * n : wide]
        one *= dh
        dc += one
        if g_c is not None:
            dc += g_c[t]
        np.multiply(dc, gate[wide:], out=d[:n])
        np.multiply(dc, before, out=d[n : 2 * n])
        np.multiply(dc, gate[:n], out=d[2 * n : wide])
        np.multiply(dh, tanh, out=d[wide:])
        if g_gates is not None:
            d[: 2 * n] += g_gates[t, : 2 * n]
            d[2 * n : wide] += g_gates[t, wide:]
            d[wide:] += g_gates[t, 2 * n : wide]
        np.subtract(1, gate[:wide], out=slope[:wide])
        slope[:wide] *= gate[:wide]
        np.multiply(gate[wide:], gate[wide:], out=slope[wide:])
        np.subtract(1, slope[wide:], out=slope[wide:])
        d[: 2 * n] *= slope[: 2 * n]
        d[2 * n : wide] *= slope[wide:]
        d[wide:] *= slope[2 * n : wide]
        total[:, t % block] = d
        if t % block == 0:
            some = min(block, steps - t)
            rows = total[:, :some].reshape(4 * n, some * count)
            weights += np.matmul(rows, behind[t : t + some].reshape(some * count, len(both)))
            biases += np.sum(rows, axis=1)
        np.matmul(both, d, out=found)
        dx[t] = found[:size]
        dc *= gate[n : 2 * n]
    cotangents = [np.swapaxes(dx, 1, 2), dh.T, dc.T, weights[:, :size], weights[:, size:]]
    return cotangents if len(arrays) == 5 else [*cotangents, biases]


@general(
    vjp=_lstm_cotangents,
    multiple=True,
    flags=("finite",),
    samples=lambda r: [
        call(r(3, 2, 3), r(2, 2), r(2, 2), r(8, 3), r(8, 2), r(8)),
        call(r(2, 1, 2), r(1, 1), r(1, 1), r(4, 2), r(4, 1)),
    ],
)
def lstm_steps(*arrays: Array) -> Array:
    """The steps of an LSTM: outputs, cells and gates of each.

    `arrays`: inputs (steps, n, size), the state h and c (n, hidden) before the first step, weights (4 * hidden, size)
    of inputs and (4 * hidden, hidden) of h, and perhaps a bias (4 * hidden,).
    """
    dtype = np.result_type(*arrays)
    x, h, c, inputs, weight, *bias = (np.asarray(a, dtype) for a in arrays)
    (steps, count, size), n = x.shape, c.shape[-1]
    wanted = [(count, n), (count, n), (4 * n, size), (4 * n, n)]
    if [array.shape for array in (h, c, inputs, weight)] != wanted:
        shapes = ", ".join(str(np.shape(array)) for array in arrays)
        raise ShapeError(f"an LSTM takes x (steps, n, size), h and c (n, hidden), weights (4 * hidden, size) and "
                         f"(4 * hidden, hidden); got {shapes}")  # fmt: skip
    # One product a step: of all weights and biases, and of inputs, the state before, and a one, in columns.
    weights = np.empty((4 * n, size + n + len(bias)), dtype)
    for k, part in enumerate((inputs, weight, *(b[:, None] for b in bias))):
        begin = (0, size, size + n)[k]
        _turn(part, weights[:, begin : begin + part.shape[1]])
    column = np.ones((weights.shape[1], count), dtype)
    column[size : size + n] = h.T
    gates, cs = np.empty((steps, 4 * n, count), dtype), np.empty((steps, n, count), dtype)
    hs, last = np.empty((steps, count, n), dtype), np.ascontiguousarray(c.T)
    first, state = column[:size], column[size : size + n]
    with np.errstate(over="ignore"):  # the sigmoid is 0 there
        for t in range(steps):
            gate, c = gates[t], cs[t]
            sigmoids, new = gate[: 3 * n], gate[3 * n :]
            first[...] = x[t].T
            np.matmul(weights, column, out=gate)
            np.exp(sigmoids, out=sigmoids)
            sigmoids += 1
            np.reciprocal(sigmoids, out=sigmoids)
            np.tanh(new, out=new)
            np.multiply(gate[n : 2 * n], last, out=c)
            np.multiply(gate[:n], new, out=state)
            c += state
            np.tanh(c, out=state)
            state *= gate[2 * n : 3 * n]
            hs[t], last = state.T, c
    return hs, np.swapaxes(cs, 1, 2), np.swapaxes(gates, 1, 2)
