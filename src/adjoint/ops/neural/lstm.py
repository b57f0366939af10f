"""All steps of an LSTM as one operation; see `recurrence`, which has what recurrent layers share.

PyTorch's order of gates is input, forget, new, output. Kept are the three sigmoids, the new values and the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from adjoint.core.constructors import general
from adjoint.core.late import service
from adjoint.core.often import LEAST, Often
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import unused
from adjoint.ops.neural.few_steps import lstm_rows, of_one_dtype
from adjoint.ops.neural.recurrence import (
    GateCotangents,
    before_step,
    biases_of,
    checked,
    columns_of,
    conjugated,
    joined,
    needed,
    panels_of,
    rows_of,
    sigmoid_in_place,
    split,
    weights_of,
)


def _reordered(weight: Array) -> Array:
    """Weights of the gates with the last two exchanged: from PyTorch's order into that of `kept`, or back."""
    k = weight.shape[0] // 4
    return np.concatenate([weight[: 2 * k], weight[3 * k :], weight[2 * k : 3 * k]])


def _lstm_recorded(
    g_h: Array, g_c: Array, inner: Array | None, weight: Array, h: Array, c: Array, hs: Array, kept: Array
) -> tuple[Array, Array, Array]:
    """The cotangents of all gates as rows, and of the state before the first step: of any arrays."""
    p = kept.shape[1] // 5
    steps = GateCotangents(hs, 4, p)
    g_h, weights = split(g_h, p), rows_of(weight, p)
    dh, dc = np.zeros_like(split(h, p)), split(g_c, p)
    for t in reversed(range(kept.shape[0])):
        inside, forget, last, new, cell = (kept[t, k * p : (k + 1) * p] for k in range(5))
        sigmoids, tanh = kept[t, : 3 * p], np.tanh(cell)
        slopes = sigmoids * (1 - sigmoids)
        dh = dh + g_h[t]
        dc = dc + (1 - tanh * tanh) * last * dh
        before = kept[t - 1, 4 * p :] if t else split(c, p)
        if inner is None:
            parts = [dc * new, dc * before, dh * tanh, dc * inside]
        else:
            of = [inner[t, k * p : (k + 1) * p] for k in range(5)]
            dc = dc + of[4]
            parts = [dc * new + of[0], dc * before + of[1], dh * tanh + of[2], dc * inside + of[3]]
        d = [parts[k] * slopes[k * p : (k + 1) * p] for k in range(3)]
        dh = before_step(weights, steps.add([*d, parts[3] * (1 - new * new)]), p)
        dc = dc * forget
    return steps.rows(), dh, dc


def _of_step(gates: Array, tanh: Array, before: Array, g_h: Array, dh: Array, dc: Array) -> tuple[Array, Array]:
    """The cotangents of a step's gates, and of the cell before it, by operations in the order of `_lstm_swept`."""
    inside, forget, last, new = gates[0], gates[1], gates[2], gates[3]
    part = split(dh + g_h, gates.shape[1]) * last
    to_last = part * tanh
    dc = dc + part - to_last * tanh
    part, slopes = dc * inside, 1 - gates[:3]
    to_input, dc = part * new, dc * forget
    return np.stack([to_input * slopes[0], dc * before * slopes[1], to_last * slopes[2], part - to_input * new]), dc


_STEP = Often(lambda *arrays: service("native function")(_of_step, arrays))


def _lstm_swept(
    g_h: np.ndarray, g_c: np.ndarray, weights: np.ndarray, c: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of plain arrays, in panels, without a new array for each value."""
    (steps, panels, n, units), dtype, start = kept.shape, kept.dtype, perf_counter()
    p = panels // 5
    rows, gates = np.empty((steps, n, 4 * p * units), dtype), np.reshape(kept, (steps, 5, p, n, units))
    places, cells = split(rows, 4 * p), gates[:, 4]
    g_h, dc = np.ascontiguousarray(g_h, dtype), np.array(g_c, dtype, order="C")
    sums, total = np.empty((4 * p, n, p * units), dtype), np.zeros((n, p * units), dtype)
    tanh, c = np.empty_like(dc), np.ascontiguousarray(c)
    kind = (p, n, units, dtype) if dtype.char in "fd" and "raise" not in np.geterr().values() else None
    native = _STEP.found(kind)
    d, slopes, part = np.empty((4, p, n, units), dtype), np.empty((3, p, n, units), dtype), np.empty_like(dc)
    to_input, to_forget, to_last, to_new = d
    dh, shown, panelled = split(total, p), split(g_h, p), np.reshape(d, (4 * p, n, units))
    for t in reversed(range(steps)):
        inside, forget, last, new, cell = gates[t]
        before = cells[t - 1] if t else c
        np.tanh(cell, out=tanh)
        if native is not None:
            d, dc = native(gates[t], tanh, before, g_h[t], total, dc)
            panelled = d.reshape(4 * p, n, units)
        else:
            dh += shown[t]
            np.multiply(dh, last, out=part)
            dc += part
            np.multiply(part, tanh, out=to_last)  # times the slope of its sigmoid, below, as the next two
            dc -= np.multiply(to_last, tanh, out=part)
            np.multiply(dc, inside, out=part)
            np.multiply(part, new, out=to_input)
            np.subtract(part, np.multiply(to_input, new, out=to_new), out=to_new)
            dc *= forget
            np.multiply(dc, before, out=to_forget)
            d[:3] *= np.subtract(1, gates[t, :3], out=slopes)
        places[t] = panelled
        np.add.reduce(np.matmul(panelled, weights, out=sums), axis=0, out=total)
    if native is None and kind is not None and steps and kept.nbytes >= LEAST:
        _STEP.took(kind, perf_counter() - start, gates[0], tanh, c, g_h[0], total, dc)
    return rows, dh, dc


def _is_short(kept: np.ndarray) -> bool:
    """Whether calls take longer than the numbers; these are never computed natively."""
    return 0 < kept.nbytes < LEAST


def _of_rows(
    arrays: Sequence[np.ndarray], hs: np.ndarray, d: np.ndarray, dh: np.ndarray, dc: np.ndarray, needs: Sequence[int]
) -> list[Array | None]:
    """All cotangents from those of the gates in PyTorch's order, and of the states."""
    x, h, _, inputs, _ = arrays[:5]
    both: Array = None
    if 3 in needs or 4 in needs:  # one product for both weights
        rows = np.concatenate([x, np.concatenate([h[None], hs[:-1]])], axis=-1)
        both = np.matmul(d.reshape(-1, d.shape[-1]).T, rows.reshape(-1, rows.shape[-1]))
    return needed(
        needs,
        lambda: np.matmul(d, inputs),
        lambda: dh,
        lambda: dc,
        lambda: both[:, : x.shape[-1]],
        lambda: both[:, x.shape[-1] :],
        lambda: biases_of(d),
    )


def _lstm_cotangents(
    g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array], needs: Sequence[int]
) -> list[Array | None]:
    """Back through time (Hochreiter and Schmidhuber, 1997)."""
    (x, h, c, inputs, weight), (hs, _, kept), (g_h, g_c, g_kept) = conjugated(arrays)[:5], conjugated(out), g
    p, inner = kept.shape[1] // 5, None if unused(g_kept) else g_kept
    if inner is None and p == 1 and of_one_dtype(kept, g_h, g_c, weight, c) and _is_short(kept):
        return _of_rows(arrays, hs, *lstm_rows(g_h, g_c, weight, c, kept), needs)
    weight = _reordered(weight)
    if inner is None and all(type(a) is np.ndarray for a in (g_h, g_c, weight, h, c, kept)):
        d, dh, dc = _lstm_swept(g_h, split(g_c, p), rows_of(weight, p), split(c, p), kept)
    else:
        d, dh, dc = _lstm_recorded(g_h, g_c, inner, weight, h, c, hs, kept)
    both: Array = None
    if 3 in needs or 4 in needs:  # one product for both weights
        before = np.concatenate([h[None], hs[:-1]])[: x.shape[0]]
        both = _reordered(weights_of(d, np.concatenate([x, before], axis=-1)))
    return needed(
        needs,
        lambda: np.matmul(d, _reordered(inputs)),
        lambda: joined(dh),
        lambda: joined(dc),
        lambda: both[:, : x.shape[-1]],
        lambda: both[:, x.shape[-1] :],
        lambda: _reordered(biases_of(d)),
    )


@general(
    vjp=_lstm_cotangents,
    multiple=True,
    flags=("finite",),
    samples=lambda r: [
        call(r(3, 2, 3), r(2, 2), r(2, 2), r(8, 3), r(8, 2), r(8)),
        call(r(2, 1, 2), r(1, 1), r(1, 1), r(4, 2), r(4, 1)),
        call(r(1, 1, 1), r(1, 66), r(1, 66), r(264, 1), r(264, 66)),
    ],
)
def lstm_steps(*arrays: Array) -> Array:
    """The steps of an LSTM: outputs, the last cells, and the gates and cells of each step.

    `arrays`: inputs (steps, n, size), the state h and c (n, hidden) before the first step, weights (4 * hidden, size)
    of inputs and (4 * hidden, hidden) of h, and perhaps a bias (4 * hidden,).
    """
    x, h, c, inputs, weight, *bias = checked("an LSTM", 4, 2, arrays)
    (steps, n, size), hidden, order = x.shape, h.shape[-1], (~0, ~1, ~3, 2)
    p = panels_of(hidden)
    units = hidden // p
    kept, hs = np.empty((steps, 5 * p, n, units), x.dtype), np.empty((steps, n, hidden), x.dtype)
    weights = columns_of([weight, inputs, *(b[:, None] for b in bias)], order, 4, p)
    # The state beside the inputs, and 1 for the bias: one product.
    both, cell = np.ones((n, weights.shape[1]), x.dtype), split(c, p)
    both[:, :hidden] = h
    shown = split(both[:, :hidden], p)
    gates, product = np.empty((4 * p, n, units), x.dtype), np.empty((p, n, units), x.dtype)
    with np.errstate(over="ignore"):  # the sigmoid is 0 there
        for t in range(steps):
            both[:, hidden : hidden + size] = x[t]
            np.matmul(both, weights, out=gates)
            sigmoids, new, before = kept[t, : 3 * p], kept[t, 3 * p : 4 * p], cell
            cell = kept[t, 4 * p :]
            sigmoid_in_place(gates[: 3 * p], sigmoids)
            np.tanh(gates[3 * p :], out=new)
            np.multiply(sigmoids[p : 2 * p], before, out=cell)
            cell += np.multiply(sigmoids[:p], new, out=product)
            np.tanh(cell, out=product)
            np.multiply(product, sigmoids[2 * p :], out=shown)
            hs[t] = both[:, :hidden]
    return hs, joined(np.array(cell)), kept
