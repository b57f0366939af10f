"""One step of an LSTM and of a GRU as one operation each: eager steps of small cells are mostly calls.

The rules compute in the order of the tape's rules for the separate steps, so that gradients have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.backend import refuse_foreign
from adjoint.core.constructors import general
from adjoint.core.errors import DTypeError, ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import unused
from adjoint.ops.neural.activation import sigmoid, total
from adjoint.ops.neural.recurrence import needed


def _products(name: str, gates: int, states: int, arrays: Sequence[Array]) -> tuple[np.ndarray, np.ndarray]:
    """What inputs and state give all gates, with their biases."""
    refuse_foreign(arrays)
    if any(a.dtype.kind == "c" for a in arrays):
        raise DTypeError(f"{name} is of real numbers; got complex ones")
    x, h, rest = arrays[0], arrays[1], arrays[1 + states :]
    n = h.shape[-1]
    wanted = [(len(x), n)] * states + [(gates * n, x.shape[-1]), (gates * n, n), (gates * n,), (gates * n,)]
    if x.ndim != 2 or [a.shape for a in arrays[1:]] != wanted[: len(arrays) - 1]:
        raise ShapeError(
            f"{name} takes x (n, size), {states} state(s) (n, hidden), weights ({gates} * hidden, size) and "
            f"({gates} * hidden, hidden), and biases ({gates} * hidden,); got {', '.join(str(a.shape) for a in arrays)}"
        )
    of_inputs, of_state = np.matmul(x, rest[0].T), np.matmul(h, rest[1].T)
    if len(rest) > 2:
        of_inputs, of_state = of_inputs + rest[2], of_state + rest[3]
    return of_inputs, of_state


def _weights(d: Array, x: Array) -> Callable[[], Array]:
    return lambda: np.matmul(d.T, x)


def _lstm_cotangents(
    g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array], needs: Sequence[int]
) -> list[Array | None]:
    (x, h, c, inputs, weight), (_, cell, kept), (g_h, g_c, g_kept) = arrays[:5], out, g
    n, tanh, none = c.shape[-1], np.tanh(cell), unused(g_kept)
    inside, forget, new, last = (kept[:, k * n : (k + 1) * n] for k in range(4))
    dc = g_c + g_h * last * (1 - tanh * tanh)
    parts = np.concatenate([dc * new, dc * c, dc * inside, g_h * tanh], axis=-1)
    slopes = kept * (1 - kept)
    slopes = np.concatenate([slopes[:, : 2 * n], 1 - new * new, slopes[:, 3 * n :]], axis=-1)
    d = (parts if none else parts + g_kept) * slopes
    of_bias = [lambda: total(d, axis=0)] * (len(arrays) - 5)
    return needed(
        needs,
        lambda: np.matmul(d, inputs),
        lambda: np.matmul(d, weight),
        lambda: dc * forget,
        _weights(d, x),
        _weights(d, h),
        *of_bias,
    )


@general(
    vjp=_lstm_cotangents,
    multiple=True,
    flags=("finite", "real"),
    samples=lambda r: [
        call(r(2, 3), r(2, 2), r(2, 2), r(8, 3), r(8, 2), r(8), r(8)),
        call(r(1, 2), r(1, 1), r(1, 1), r(4, 2), r(4, 1)),
    ],
)
def one_lstm_step(*arrays: Array) -> Array:
    """One step of an LSTM: the new h and c (n, hidden), and the four gates (n, 4 * hidden).

    `arrays`: inputs (n, size), h and c, weights (4 * hidden, size) of inputs and (4 * hidden, hidden) of h, and perhaps
    biases of both (4 * hidden,).
    """
    given, added = _products("an LSTM", 4, 2, arrays)
    c = arrays[2]
    gates, n = given + added, c.shape[-1]
    kept = sigmoid.forward(gates)
    np.tanh(gates[:, 2 * n : 3 * n], out=kept[:, 2 * n : 3 * n])
    inside, forget, new, last = (kept[:, k * n : (k + 1) * n] for k in range(4))
    cell = forget * c + inside * new
    return last * np.tanh(cell), cell, kept


def _gru_cotangents(
    g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array], needs: Sequence[int]
) -> list[Array | None]:
    (x, h, inputs, weight), kept, (g_h, g_kept) = arrays[:4], out[1], g
    n, none = h.shape[-1], unused(g_kept)
    gates, reset, update = kept[:, : 2 * n], kept[:, :n], kept[:, n : 2 * n]
    new, product = kept[:, 2 * n : 3 * n], kept[:, 3 * n :]
    of_difference = g_h * update
    of_new = g_h - of_difference
    before = (of_new if none else of_new + g_kept[:, 2 * n : 3 * n]) * (1 - new * new)
    parts = np.concatenate([before * product, g_h * (h - new)], axis=-1)
    of_gates = (parts if none else parts + g_kept[:, : 2 * n]) * (gates * (1 - gates))
    of_product = before * reset if none else before * reset + g_kept[:, 3 * n :]
    of_inputs = np.concatenate([of_gates, before], axis=-1)
    of_state = np.concatenate([of_gates, of_product], axis=-1)
    return needed(
        needs,
        lambda: np.matmul(of_inputs, inputs),
        lambda: of_difference + np.matmul(of_state, weight),
        _weights(of_inputs, x),
        _weights(of_state, h),
        *[lambda: total(of_inputs, axis=0), lambda: total(of_state, axis=0)][: len(arrays) - 4],
    )


@general(
    vjp=_gru_cotangents,
    multiple=True,
    flags=("finite", "real"),
    samples=lambda r: [call(r(2, 3), r(2, 2), r(6, 3), r(6, 2), r(6), r(6)), call(r(1, 2), r(1, 1), r(3, 2), r(3, 1))],
)
def one_gru_step(*arrays: Array) -> Array:
    """One step of a GRU: the new h (n, hidden), and its gates with what the reset gate multiplies (n, 4 * hidden).

    `arrays`: inputs (n, size), h, weights (3 * hidden, size) of inputs and (3 * hidden, hidden) of h, and perhaps
    biases of both (3 * hidden,).
    """
    given, added = _products("a GRU", 3, 1, arrays)
    h = arrays[1]
    n = h.shape[-1]
    gates, product = sigmoid.forward(given[:, : 2 * n] + added[:, : 2 * n]), added[:, 2 * n :]
    new = np.tanh(given[:, 2 * n :] + gates[:, :n] * product)
    return new + gates[:, n:] * (h - new), np.concatenate([gates, new, product], axis=-1)
