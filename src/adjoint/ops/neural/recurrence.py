"""All steps of a recurrent layer as one operation: without a graph of each step, and with weights read once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import unused
from adjoint.ops.shape.reshaping import merged

# Weights have PyTorch's order of gates: input, forget, new, output. The gates that are kept have the three sigmoids
# first, and the tanh of the new values behind them: one call then computes all three.


def _turned(weight: np.ndarray) -> np.ndarray:
    """A weight as (inputs, gates), in the order of the gates that are kept, and negative for the sigmoids."""
    n = weight.shape[0] // 4
    made: np.ndarray = np.empty((*weight.shape[1:], 4 * n), weight.dtype)
    np.negative(weight[: 2 * n].T, out=made[..., : 2 * n])
    np.negative(weight[3 * n :].T, out=made[..., 2 * n : 3 * n])
    made[..., 3 * n :] = weight[2 * n : 3 * n].T
    return made


def _lstm_cotangents(g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array]) -> Sequence[Array]:
    """Back through time."""
    if out[0].dtype.kind == "c":  # all of it is holomorphic
        arrays, out = [np.conj(a) for a in arrays], [np.conj(a) for a in out]
    x, h, c, inputs, weight = arrays[:5]
    hs = out[0]
    if all(type(a) is np.ndarray for a in (*g, *arrays, *out)):
        total, dh, dc = _back_in_place(g, c, weight, out)
    else:
        total, dh, dc = _back(g, c, weight, out)
    rows = merged(total, 0, total.ndim - 1)
    behind = np.concatenate([h[None], hs[:-1]])
    behind = merged(behind, 0, behind.ndim - 1)
    dx = np.reshape(np.matmul(rows, inputs), x.shape)
    found = [dx, dh, dc, np.matmul(rows.T, merged(x, 0, x.ndim - 1)), np.matmul(rows.T, behind)]
    return found if len(arrays) == 5 else [*found, np.sum(rows, axis=0)]


def _back(g: Sequence[Array], c: Array, weight: Array, out: Sequence[Array]) -> tuple[Array, Array, Array]:
    """The cotangents of what goes into the gates of all steps, and of the state before the first."""
    (g_h, g_c, g_gates), (hs, cs, gates) = g, out
    n, parts = c.shape[-1], []
    dh, dc = np.zeros_like(c), np.zeros_like(c)
    for t in reversed(range(hs.shape[0])):
        inside, forget, last, new = (gates[t, :, k * n : (k + 1) * n] for k in range(4))
        of = [g_gates[t, :, k * n : (k + 1) * n] for k in range(4)]
        tanh, before = np.tanh(cs[t]), cs[t - 1] if t else c
        dh = g_h[t] + dh
        dc = dc + (1 - np.square(tanh)) * last * dh + g_c[t]
        d_inside = (dc * new + of[0]) * ((1 - inside) * inside)
        d_forget = (dc * before + of[1]) * ((1 - forget) * forget)
        d_last = (dh * tanh + of[2]) * ((1 - last) * last)
        d_new = (dc * inside + of[3]) * (1 - np.square(new))
        parts.append(np.concatenate([d_inside, d_forget, d_new, d_last], axis=-1))
        dh, dc = np.matmul(parts[-1], weight), dc * forget
    return np.stack(parts[::-1]), dh, dc


def _back_in_place(
    g: Sequence[Array], c: np.ndarray, weight: np.ndarray, out: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of plain arrays, to the same bits, in buffers that are used again."""
    (g_h, g_c, g_gates), (hs, cs, gates) = g, out
    n, wide = c.shape[-1], 3 * c.shape[-1]
    g_c, g_gates = None if unused(g_c) else g_c, None if unused(g_gates) else g_gates
    total = np.empty(gates.shape, gates.dtype)
    dh, dc, slope = np.zeros_like(hs[0]), np.zeros_like(hs[0]), np.empty_like(gates[0])
    tanh, one = np.empty_like(dh), np.empty_like(dh)
    for t in reversed(range(hs.shape[0])):
        gate, d = gates[t], total[t]
        np.tanh(cs[t], out=tanh)
        dh += g_h[t]
        np.multiply(tanh, tanh, out=one)
        np.subtract(1, one, out=one)
        one *= gate[:, 2 * n : wide]
        one *= dh
        dc += one
        if g_c is not None:
            dc += g_c[t]
        np.multiply(dc, gate[:, wide:], out=d[:, :n])
        np.multiply(dc, cs[t - 1] if t else c, out=d[:, n : 2 * n])
        np.multiply(dc, gate[:, :n], out=d[:, 2 * n : wide])
        np.multiply(dh, tanh, out=d[:, wide:])
        if g_gates is not None:
            d[:, : 2 * n] += g_gates[t, :, : 2 * n]
            d[:, 2 * n : wide] += g_gates[t, :, wide:]
            d[:, wide:] += g_gates[t, :, 2 * n : wide]
        np.subtract(1, gate[:, :wide], out=slope[:, :wide])
        slope[:, :wide] *= gate[:, :wide]
        np.multiply(gate[:, wide:], gate[:, wide:], out=slope[:, wide:])
        np.subtract(1, slope[:, wide:], out=slope[:, wide:])
        d[:, : 2 * n] *= slope[:, : 2 * n]
        d[:, 2 * n : wide] *= slope[:, wide:]
        d[:, wide:] *= slope[:, 2 * n : wide]
        np.matmul(d, weight, out=dh)
        dc *= gate[:, n : 2 * n]
    return total, dh, dc


@general(
    vjp=_lstm_cotangents,
    multiple=True,
    flags=("finite", "host"),
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
    steps, n = x.shape[0], c.shape[-1]
    gates: np.ndarray = np.empty((*x.shape[:2], 4 * n), dtype)
    np.matmul(merged(x, 0), _turned(inputs), out=merged(gates, 0))
    turned, offsets = _turned(weight), _turned(bias[0]) if bias else None
    hs, cs, kept = np.empty((steps, *c.shape), dtype), np.empty((steps, *c.shape), dtype), np.empty_like(gates[0])
    with np.errstate(over="ignore"):  # the sigmoid is 0 there
        for t in range(steps):
            gate, sigmoids, new = gates[t], gates[t, :, : 3 * n], gates[t, :, 3 * n :]
            np.matmul(h, turned, out=kept)
            gate += kept
            if offsets is not None:
                gate += offsets
            np.exp(sigmoids, out=sigmoids)
            sigmoids += 1
            np.reciprocal(sigmoids, out=sigmoids)
            np.tanh(new, out=new)
            np.multiply(gate[:, n : 2 * n], c, out=cs[t])
            c, h = cs[t], hs[t]
            np.multiply(gate[:, :n], new, out=h)
            c += h
            np.tanh(c, out=h)
            h *= gate[:, 2 * n : 3 * n]
    return hs, cs, gates
