"""All steps of a recurrent layer as one operation: without a graph of each step, and with weights read once.

Units stand in panels, (panels, n, units), because products of narrow matrices need no copy of the weights (OpenBLAS
multiplies small ones as they lie). A layer with gates keeps them for the gradient, as (steps, panels of all gates, n,
units). One product gives the inputs' share of the gates of all steps, and one product each weight's cotangent.
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
from adjoint.ops.neural.activation import sigmoid
from adjoint.ops.neural.few_steps import of_one_dtype, rnn_rows

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

# PyTorch's order of gates is reset, update, new. Nothing but the results is kept: the gradient computes the gates of
# some steps again, all at once, because the state before each step is known by then.

_ROWS = 128  # of gates that are there at once, one a step and sequence


def _gru_factors(x: Array, before: Array, inputs: Array, weight: Array, biases: Sequence[Array]) -> tuple[Array, Array]:
    """What the cotangents of some steps' results are multiplied by, and the update gates.

    The products are the cotangents of the new values, of the reset and update gates, and of what the reset gate
    multiplies: (steps, n, 4, units). The first three take inputs, the last three the state.
    """
    n = weight.shape[-1]
    of_inputs, of_state = (
        np.reshape(np.matmul(np.reshape(rows, (-1, rows.shape[-1])), np.transpose(w)), (*rows.shape[:-1], 3 * n))
        for rows, w in ((x, inputs), (before, weight))
    )
    if biases:
        of_inputs, of_state = of_inputs + biases[0], of_state + biases[1]
    gates, product = of_inputs[..., : 2 * n] + of_state[..., : 2 * n], of_state[..., 2 * n :]
    both = 1 / (1 + np.exp(-gates)) if gates.dtype.kind == "c" else sigmoid(gates)  # the stable one is of real numbers
    reset, update = both[..., :n], both[..., n:]
    new = np.tanh(of_inputs[..., 2 * n :] + reset * product)
    slope = (1 - update) * (1 - new * new)
    found = [slope, slope * product * (reset * (1 - reset)), (before - new) * (update * (1 - update)), slope * reset]
    return np.stack(found, axis=-2), update


def _gru_cotangents(g: Array, arrays: Sequence[Array], out: Array, needs: Sequence[int]) -> list[Array | None]:
    """Back through time (Cho et al., 2014)."""
    x, h, inputs, weight, *biases = conjugated(arrays)
    (hs,), n = conjugated([out]), h.shape[-1]
    new_first = np.concatenate([inputs[2 * n :], inputs[: 2 * n]])
    plain = all(type(a) is np.ndarray for a in (g, hs, x, h, inputs, weight, *biases))
    sums: list[Array] = [np.zeros_like(a) for a in (inputs, weight, *biases)]
    dh, of_x, together = np.zeros_like(h), list[Array](), max(1, _ROWS // max(1, h.shape[0]))
    for stop in range(x.shape[0], 0, -together):
        start = max(stop - together, 0)
        xs, before = x[start:stop], hs[start - 1 : stop - 1] if start else np.concatenate([h[None], hs[: stop - 1]])
        factors, update = _gru_factors(xs, before, inputs, weight, biases)
        found = list[Array]()
        for t in reversed(range(stop - start)):
            dh = dh + g[start + t]
            d = np.multiply(dh[:, None], factors[t], **({"out": factors[t]} if plain else {}))
            dh = dh * update[t] + np.matmul(np.reshape(d, (-1, 4 * n))[:, n:], weight)
            found.append(d)
        d = np.reshape(factors if plain else np.stack(found[::-1]), (*xs.shape[:2], 4 * n))
        of_inputs, of_state = d[..., : 3 * n], d[..., n:]
        if 0 in needs:
            of_x.append(np.matmul(of_inputs, new_first))
        parts = [weights_of(of_inputs, xs), weights_of(of_state, before), biases_of(of_inputs), biases_of(of_state)]
        sums = [_plus(total, part) for total, part in zip(sums, parts, strict=False)]
    whole = np.concatenate(of_x[::-1]) if of_x else np.zeros_like(x)
    sums[::2] = map(_new_last, sums[::2])
    return [value if k in needs else None for k, value in enumerate((whole, dh, *sums))]


def _plus(total: Array, part: Array) -> Array:
    """The sum, in `total` where both are plain."""
    if type(total) is type(part) is np.ndarray:
        return np.add(total, part, out=total)
    return total + part


def _new_last(weight: Array) -> Array:
    """Weights of the gates in PyTorch's order, where those of new values come first."""
    n = weight.shape[0] // 3
    return np.concatenate([weight[n:], weight[:n]])


@general(
    vjp=_gru_cotangents,
    flags=("finite",),
    samples=lambda r: [
        call(r(3, 2, 3), r(2, 2), r(6, 3), r(6, 2), r(6), r(6)),
        call(r(2, 1, 2), r(1, 1), r(3, 2), r(3, 1)),
        call(r(9, 1, 1), r(1, 1), r(3, 1), r(3, 1), r(3), r(3)),
        call(r(5, 64, 1), r(64, 1), r(3, 1), r(3, 1), r(3), r(3)),
    ],
)
def gru_steps(*arrays: Array) -> Array:
    """The results of all steps of a GRU.

    `arrays`: inputs (steps, n, size), the state (n, hidden) before the first step, weights (3 * hidden, size) of inputs
    and (3 * hidden, hidden) of the state, and perhaps biases of both (3 * hidden,).
    """
    x, h, inputs, weight, *biases = checked("a GRU", 3, 1, arrays)
    (steps, n, _), p, of_inputs, of_state = x.shape, panels_of(h.shape[-1]), (2, ~0, ~1), (~0, ~1, 2)
    units = h.shape[-1] // p
    hs, together = np.empty((steps, n, p * units), x.dtype), max(1, _ROWS // max(1, n))
    gates = np.empty((together, 3 * p, n, units), x.dtype)
    first, weights = columns_of([inputs], of_inputs, 3, p), columns_of([weight], of_state, 3, p)
    shown, state = split(hs, p), split(h, p)
    added, between = np.empty((3 * p, n, units), x.dtype), np.empty((p, n, units), x.dtype)
    bias = [columns_of([b[:, None]], order, 3, p) for b, order in zip(biases, (of_inputs, of_state), strict=False)]
    with np.errstate(over="ignore"):  # the sigmoid is 0 there
        for t in range(steps):
            if t % together == 0:
                now = x[t : t + together, None]
                np.matmul(now, first, out=gates[: len(now)])
                if bias:
                    gates[: len(now)] += bias[0]
            each = gates[t % together]
            new, sigmoids, reset, update = each[:p], each[p:], each[p : 2 * p], each[2 * p :]
            np.matmul(h, weights, out=added)
            if bias:
                added += bias[1]
            sigmoids += added[: 2 * p]
            sigmoid_in_place(sigmoids, sigmoids)
            new += np.multiply(reset, added[2 * p :], out=between)
            np.tanh(new, out=new)
            np.subtract(state, new, out=between)
            between *= update
            np.add(between, new, out=shown[t])
            h, state = hs[t], shown[t]
    return hs


# -- One gate -----------------------------------------------------------------------------------------


def _plain_cotangents(
    g: Array, arrays: Sequence[Array], out: Array, needs: Sequence[int], activation: str
) -> list[Array | None]:
    """Back through time (Elman, 1990)."""
    x, h, inputs, weight = arrays[:4]
    p = panels_of(h.shape[-1])
    if p == 1 and activation == "tanh" and of_one_dtype(out, g, weight, h):
        d, dh = rnn_rows(g, weight, 1 - out * out)
    else:
        steps, dh = GateCotangents(out, 1, p), np.zeros_like(split(h, p))
        slopes = split(1 - out * out if activation == "tanh" else np.greater(out, 0), p)
        g, weights = split(g, p), rows_of(weight, p)
        for t in reversed(range(x.shape[0])):
            dh = before_step(weights, steps.add([(dh + g[t]) * slopes[t]]), p)
        d, dh = steps.rows(), joined(dh)
    return needed(
        needs,
        lambda: np.matmul(d, inputs),
        lambda: dh,
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
