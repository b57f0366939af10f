"""All steps of a recurrent layer as one operation: without a graph of each step, and with weights read once.

Units stand in panels, (panels, n, units), because products of narrow matrices need no copy of the weights (OpenBLAS
multiplies small ones as they lie). A layer with gates keeps them for the gradient, as (steps, panels of all gates, n,
units). One product gives what inputs add to the gates of all steps, and one what each weight's cotangent is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.backend import refuse_foreign, zeros
from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.memory import at_line
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import unused

_WIDTH = 64  # the most units in a panel, where they can be divided evenly


def panels_of(units: int) -> int:
    """How many panels the units of a layer are divided into."""
    return next((k for k in range(-(-units // _WIDTH), units // 32 + 1) if units % k == 0), 1)


def split(a: Array, panels: int) -> Array:
    """(…, n, units) in panels: (…, panels, n, units / panels)."""
    return np.swapaxes(np.reshape(a, (*a.shape[:-1], panels, a.shape[-1] // panels)), -2, -3)


def joined(a: Array) -> Array:
    """The inverse: (…, panels, n, units) as (…, n, all units)."""
    return np.reshape(np.swapaxes(a, -2, -3), (*a.shape[:-3], a.shape[-2], a.shape[-3] * a.shape[-1]))


def aligned(a: np.ndarray) -> np.ndarray:
    """A copy in C order that begins at a cache line: OpenBLAS multiplies small matrices up to 30 % faster there."""
    found = at_line(a.shape, a.dtype)
    found[...] = a
    return found


def columns_of(weights: Sequence[np.ndarray], gates: Sequence[int], count: int, panels: int) -> np.ndarray:
    """The weights of these of `count` gates, (panels, sizes, units); negative for ``~k``: those of a sigmoid.

    `weights`: (count * units of all panels, size) each, one below the other in the result.
    """
    each = np.reshape(np.concatenate(weights, axis=1), (count, -1, sum(weight.shape[1] for weight in weights)))
    parts = np.concatenate([each[k] if k >= 0 else -each[~k] for k in gates])
    return aligned(np.swapaxes(np.reshape(parts, (len(gates) * panels, -1, parts.shape[-1])), 1, 2))


def checked(name: str, gates: int, states: int, arrays: Sequence[Array]) -> list[np.ndarray]:
    """Arrays of one dtype, whose shapes fit."""
    refuse_foreign(arrays)
    dtype = np.result_type(*arrays)
    found = [np.asarray(a, dtype) for a in arrays]
    x, n = found[0], found[1].shape[-1]
    wanted = [(x.shape[1], n)] * states + [(gates * n, x.shape[2]), (gates * n, n)] + [(gates * n,)] * 2
    if [a.shape for a in found[1:]] != wanted[: len(found) - 1]:
        shapes = ", ".join(str(np.shape(a)) for a in arrays)
        raise ShapeError(
            f"{name} takes x (steps, n, size), {states} state(s) (n, hidden), weights ({gates} * hidden, size) and "
            f"({gates} * hidden, hidden), and biases ({gates} * hidden,); got {shapes}"
        )
    return found


def sigmoid_in_place(x: np.ndarray, out: np.ndarray) -> None:
    """The sigmoid of ``-x``; `x` is overwritten."""
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=out)


def conjugated(arrays: Sequence[Array]) -> Sequence[Array]:
    """What a holomorphic function is differentiated at."""
    return [np.conj(a) for a in arrays] if arrays[0].dtype.kind == "c" else arrays


class GateCotangents:
    """The cotangents of all steps' gates, last step first."""

    def __init__(self, like: Array, gates: int, panels: int) -> None:
        (steps, n, units), self.found = like.shape, list[Array]()
        self.whole, self.places = zeros(like, (steps, n, gates * units), like.dtype), None
        if type(like) is np.ndarray:
            self.places = split(self.whole, gates * panels)[::-1]

    def add(self, parts: list[Array]) -> Array:
        """Those of one step, one a gate; all in panels."""
        if self.places is not None and all(type(part) is np.ndarray for part in parts):
            self.found.append(np.concatenate(parts, out=self.places[len(self.found)]))
        else:
            self.found.append(np.concatenate(parts))
        return self.found[-1]

    def rows(self) -> Array:
        """(steps, n, all gates), steps in order."""
        if self.places is not None and all(type(d) is np.ndarray for d in self.found):
            return self.whole
        return np.stack([joined(d) for d in self.found[::-1]]) if self.found else self.whole


def rows_of(weight: Array, panels: int) -> Array:
    """The weights of each panel of gates, (panels of all gates, units, size)."""
    rows = np.reshape(weight, (-1, weight.shape[-1] // panels, weight.shape[-1]))
    return aligned(rows) if type(rows) is np.ndarray else rows


def before_step(weights: Array, d: Array, panels: int) -> Array:
    """What a step's gates give the state before it, in panels."""
    return split(np.sum(np.matmul(d, weights), axis=0), panels)


def weights_of(d: Array, x: Array) -> Array:
    """The sum over steps and sequences of ``d.T @ x``."""
    return np.matmul(np.transpose(np.reshape(d, (-1, d.shape[-1]))), np.reshape(x, (-1, x.shape[-1])))


def _state_weights(d: Array, h: Array, hs: Array) -> Array:
    """The same for the state before each step."""
    return weights_of(d[1:], hs[:-1]) + weights_of(d[:1], h) if d.shape[0] else weights_of(d, hs)


def needed(needs: Sequence[int], *cotangents: Callable[[], Array]) -> list[Array | None]:
    """The cotangents of the arrays with these numbers."""
    return [cotangent() if k in needs else None for k, cotangent in enumerate(cotangents)]


def biases_of(d: Array) -> Array:
    return np.matmul(np.ones_like(d[..., 0]).reshape(-1), np.reshape(d, (-1, d.shape[-1])))


# -- GRU ----------------------------------------------------------------------------------------------

# PyTorch's order of gates is reset, update, new. Kept are the new values, both sigmoids, and the product of the state
# that the reset gate multiplies: the first three take inputs, the last three the state.


def _gru_cotangents(
    g: Sequence[Array], arrays: Sequence[Array], out: Sequence[Array], needs: Sequence[int]
) -> list[Array | None]:
    """Back through time (Cho et al., 2014)."""
    (x, h, inputs, weight), (hs, kept), (g_h, g_kept) = conjugated(arrays)[:4], conjugated(out), g
    p, n = kept.shape[1] // 4, h.shape[-1]
    steps, inner = GateCotangents(hs, 4, p), None if unused(g_kept) else g_kept
    g_h, weights, shown, state = split(g_h, p), rows_of(weight, p), split(hs, p), split(h, p)
    dh = np.zeros_like(state)
    for t in reversed(range(x.shape[0])):
        new, reset, update, product = (kept[t, k * p : (k + 1) * p] for k in range(4))
        dh = dh + g_h[t]
        before = shown[t - 1] if t else state
        of = [0] * 4 if inner is None else [inner[t, k * p : (k + 1) * p] for k in range(4)]
        d_new = (dh * (1 - update) + of[0]) * (1 - new * new)
        d_reset = (d_new * product + of[1]) * (reset * (1 - reset))
        d_update = (dh * (before - new) + of[2]) * (update * (1 - update))
        d = steps.add([d_new, d_reset, d_update, d_new * reset + of[3]])
        dh = before_step(weights, d[p:], p) + dh * update
    d = steps.rows()
    of_state, of_inputs = d[..., n:], d[..., : 3 * n]
    return needed(
        needs,
        lambda: np.matmul(of_inputs, np.concatenate([inputs[2 * n :], inputs[: 2 * n]])),
        lambda: joined(dh),
        lambda: _new_last(weights_of(of_inputs, x)),
        lambda: _state_weights(of_state, h, hs),
        lambda: _new_last(biases_of(of_inputs)),
        lambda: biases_of(of_state),
    )


def _new_last(weight: Array) -> Array:
    """Weights of the gates in PyTorch's order, from that of `kept`."""
    n = weight.shape[0] // 3
    return np.concatenate([weight[n:], weight[:n]])


@general(
    vjp=_gru_cotangents,
    multiple=True,
    flags=("finite",),
    samples=lambda r: [
        call(r(3, 2, 3), r(2, 2), r(6, 3), r(6, 2), r(6), r(6)),
        call(r(2, 1, 2), r(1, 1), r(3, 2), r(3, 1)),
    ],
)
def gru_steps(*arrays: Array) -> Array:
    """The steps of a GRU: outputs, and the gates of each step.

    `arrays`: inputs (steps, n, size), the state (n, hidden) before the first step, weights (3 * hidden, size) of inputs
    and (3 * hidden, hidden) of the state, and perhaps biases of both (3 * hidden,).
    """
    x, h, inputs, weight, *biases = checked("a GRU", 3, 1, arrays)
    (steps, n, _), p, of_inputs, of_state = x.shape, panels_of(h.shape[-1]), (2, ~0, ~1), (~0, ~1, 2)
    units = h.shape[-1] // p
    kept, hs = np.empty((steps, 4 * p, n, units), x.dtype), np.empty((steps, n, p * units), x.dtype)
    np.matmul(x[:, None], columns_of([inputs], of_inputs, 3, p), out=kept[:, : 3 * p])
    kept[:, 3 * p :] = 0
    for b, order, k in zip(biases, (of_inputs, of_state), (0, p), strict=False):
        kept[:, k : k + 3 * p] += columns_of([b[:, None]], order, 3, p)
    weights, shown, state = columns_of([weight], of_state, 3, p), split(hs, p), split(h, p)
    added, between = np.empty((3 * p, n, units), x.dtype), np.empty((p, n, units), x.dtype)
    with np.errstate(over="ignore"):  # the sigmoid is 0 there
        for t in range(steps):
            new, update = kept[t, :p], kept[t, 2 * p : 3 * p]
            kept[t, p:] += np.matmul(h, weights, out=added)
            sigmoid_in_place(kept[t, p : 3 * p], kept[t, p : 3 * p])
            new += np.multiply(kept[t, p : 2 * p], kept[t, 3 * p :], out=between)
            np.tanh(new, out=new)
            np.subtract(state, new, out=between)
            between *= update
            np.add(between, new, out=shown[t])
            h, state = hs[t], shown[t]
    return hs, kept


# -- One gate -----------------------------------------------------------------------------------------


def _plain_cotangents(
    g: Array, arrays: Sequence[Array], out: Array, needs: Sequence[int], activation: str
) -> list[Array | None]:
    """Back through time (Elman, 1990)."""
    x, h, inputs, weight = arrays[:4]
    p = panels_of(h.shape[-1])
    steps, dh = GateCotangents(out, 1, p), np.zeros_like(split(h, p))
    slopes = split(1 - out * out if activation == "tanh" else np.greater(out, 0), p)
    g, weights = split(g, p), rows_of(weight, p)
    for t in reversed(range(x.shape[0])):
        dh = before_step(weights, steps.add([(dh + g[t]) * slopes[t]]), p)
    d = steps.rows()
    return needed(
        needs,
        lambda: np.matmul(d, inputs),
        lambda: joined(dh),
        lambda: weights_of(d, x),
        lambda: _state_weights(d, h, out),
        lambda: biases_of(d),
    )


@general(
    vjp=_plain_cotangents,
    flags=("finite", "real"),
    samples=lambda r: [
        call(r(3, 2, 3), r(2, 2), r(2, 3), r(2, 2), r(2)),
        call(r(2, 1, 2), r(1, 1), r(1, 2), r(1, 1), activation="relu"),
    ],
)
def rnn_steps(*arrays: Array, activation: str = "tanh") -> Array:
    """The outputs of all steps of a plain recurrent layer, ``h = tanh(x @ inputs.T + h @ weight.T + bias)``.

    `arrays`: inputs (steps, n, size), the state (n, hidden) before the first step, weights (hidden, size) and (hidden,
    hidden), and perhaps a bias (hidden,). `activation`: "tanh" or "relu".
    """
    x, h, inputs, weight, *bias = checked("an RNN", 1, 1, arrays)
    hs = np.matmul(x, inputs.T)
    for b in bias:
        hs += b
    p = panels_of(h.shape[-1])
    weights, shown = columns_of([weight], (0,), 1, p), split(hs, p)
    added = np.empty(shown.shape[1:], x.dtype)
    for t in range(x.shape[0]):
        shown[t] += np.matmul(h, weights, out=added)
        h = np.tanh(hs[t], out=hs[t]) if activation == "tanh" else np.maximum(hs[t], 0, out=hs[t])
    return hs
