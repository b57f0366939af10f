"""Cells of recurrent layers, plain, LSTM and GRU: one step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import Op
from adjoint.core.types import Array, DType, Value
from adjoint.nn import init
from adjoint.nn.init import Rng
from adjoint.nn.layers.settings import Drawn
from adjoint.nn.parameter import Parameter
from adjoint.ops.neural.activation import relu, sigmoid
from adjoint.ops.neural.cells import one_gru_step, one_lstm_step
from adjoint.ops.neural.fused import affine
from adjoint.ops.neural.lstm import lstm_steps
from adjoint.ops.neural.recurrence import gru_steps, rnn_steps
from adjoint.tape.creation import are_plain
from adjoint.tape.tensor import Tensor

CellState = tuple[Array, ...]


def product(x: Array, weight: Array, bias: Array) -> Array:
    return np.matmul(x, weight.T) if bias is None else affine(x, weight, bias)


def _rnn(activation: Callable[[Array], Array]) -> Callable[..., CellState]:
    def step(given: Array, state: CellState, weight: Array, bias: Array) -> CellState:
        return (activation(given + product(state[0], weight, bias)),)

    return step


def _lstm(given: Array, state: CellState, weight: Array, bias: Array) -> CellState:
    """Hochreiter and Schmidhuber, 1997; with forget gates (Gers et al., 2000)."""
    h, c = state
    gates = given + product(h, weight, bias)
    n = c.shape[-1]
    inside, forget, new, out = (gates[..., k * n : (k + 1) * n] for k in range(4))
    c = sigmoid(forget) * c + sigmoid(inside) * np.tanh(new)
    return sigmoid(out) * np.tanh(c), c


def _gru(given: Array, state: CellState, weight: Array, bias: Array) -> CellState:
    """Cho et al., 2014; the reset gate is applied behind the product."""
    (h,) = state
    n = h.shape[-1]
    kept = product(h, weight, bias)
    gates = sigmoid(given[..., : 2 * n] + kept[..., : 2 * n])
    reset, update = gates[..., :n], gates[..., n:]
    new = np.tanh(given[..., 2 * n :] + reset * kept[..., 2 * n :])
    return (new + update * (h - new),)


class Cells(Drawn):
    """What cells and layers share: how many states and gates there are, and one step."""

    states: ClassVar[int] = 1
    gates: ClassVar[int] = 1
    nonlinearity: str = "tanh"
    #: One step as one operation, whose last result is only kept for the gradient.
    at_once: ClassVar[Op | None] = None

    def _step(self) -> Callable[..., CellState]:
        raise NotImplementedError

    def _together(
        self, x: Array, state: CellState, inputs: Array, weight: Array, biases: list[Array]
    ) -> Sequence[Array]:
        """All steps of a layer as one operation: results, and the last states but the first, which is among these."""
        raise NotImplementedError

    def _weights(
        self,
        inputs: int,
        hidden: int,
        bias: bool,
        suffix: str,
        rng: np.random.Generator,
        dtype: DType,
        project: int = 0,
    ) -> None:
        bound = 1 / math.sqrt(hidden)
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (self.gates * hidden, inputs),
            "weight_hh": (self.gates * hidden, project or hidden),
        }
        if bias:
            shapes |= {"bias_ih": (self.gates * hidden,), "bias_hh": (self.gates * hidden,)}
        if project:
            shapes["weight_hr"] = (project, hidden)
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(init.uniform(shape, rng, dtype, -bound, bound)))

    def _checked(self, nonlinearity: str) -> str:
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f'{type(self).__name__}: nonlinearity is "tanh" or "relu"; got {nonlinearity!r}')
        return nonlinearity


def _summed(biases: list[Array]) -> list[Array]:
    return [] if biases[0] is None else [biases[0] + biases[1]]


class PlainCells(Cells):
    def _together(
        self, x: Array, state: CellState, inputs: Array, weight: Array, biases: list[Array]
    ) -> Sequence[Array]:
        return (rnn_steps(x, *state, inputs, weight, *_summed(biases), activation=self.nonlinearity),)

    def _step(self) -> Callable[..., CellState]:
        return _rnn(np.tanh if self.nonlinearity == "tanh" else relu)


class Lstm(Cells):
    states, gates, at_once = 2, 4, one_lstm_step

    def _together(
        self, x: Array, state: CellState, inputs: Array, weight: Array, biases: list[Array]
    ) -> Sequence[Array]:
        hs, cell, _ = lstm_steps(x, *state, inputs, weight, *_summed(biases))
        return hs, cell

    def _step(self) -> Callable[..., CellState]:
        return _lstm


class Gru(Cells):
    gates, at_once = 3, one_gru_step

    def _together(
        self, x: Array, state: CellState, inputs: Array, weight: Array, biases: list[Array]
    ) -> Sequence[Array]:
        return (gru_steps(x, *state, inputs, weight, *(b for b in biases if b is not None)),)

    def _step(self) -> Callable[..., CellState]:
        return _gru


# -- One step -----------------------------------------------------------------------------------------


class _RecurrentCell(Cells):
    """One step of a recurrent layer."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None = None
    bias_hh: Parameter | None = None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, rng: Rng = None, dtype: DType = np.float64
    ) -> None:
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._weights(input_size, hidden_size, bias, "", np.random.default_rng(rng), dtype)

    def forward(self, input: Array, hx: Array = None) -> Value:
        x = input if hasattr(input, "shape") else np.asarray(input)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__} takes (n, {self.input_size}) or ({self.input_size},); got {x.shape}"
            )
        if hx is None:
            zeros = np.zeros((*x.shape[:-1], self.hidden_size), x.dtype)
            hx = (zeros,) * self.states
        hx = hx if isinstance(hx, tuple) else (hx,)
        op, biases = type(self).at_once, (self.bias_ih, self.bias_hh) if self.bias_ih is not None else ()
        weights = (self.weight_ih, self.weight_hh, *biases)
        if op is not None and x.ndim == 2 and are_plain(x, *hx, *weights) and self._fits(x, hx):
            *found, _ = op(x, *hx, *weights)
            return tuple(found) if self.states > 1 else found[0]
        found = self._step()(product(x, self.weight_ih, self.bias_ih), hx, self.weight_hh, self.bias_hh)
        return found if self.states > 1 else found[0]

    def _fits(self, x: Array, state: CellState) -> bool:
        """Whether the state has the shape that broadcasts in no way."""
        return len(state) == self.states and all(h.shape == (len(x), self.hidden_size) for h in state)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias_ih is not None else ", bias=False")


class RNNCell(_RecurrentCell, PlainCells):
    """``h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)``.

    Args:
        input_size, hidden_size: `x` is (n, input_size), `h` (n, hidden_size), both also without n; zeros, if `h` is
            not given.
        bias: whether there are any.
        nonlinearity: "tanh" or "relu".
        rng: a seed or generator; all weights are uniform within ±1/sqrt(hidden_size).
        dtype: of these.

    Raises:
        ShapeError: if `x` has another shape.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.RNNCell(3, 4, rng=0)(np.ones((2, 3))).shape
        (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, rng=rng, dtype=dtype)
        self.nonlinearity = self._checked(nonlinearity)

    if TYPE_CHECKING:

        def forward(self, input: Array, hx: Array = None) -> Tensor: ...


class LSTMCell(_RecurrentCell, Lstm):
    """One step of an LSTM: ``h, c = cell(x, (h, c))``. Gates stand in the order input, forget, cell, output.

    Args:
        input_size, hidden_size, bias, rng, dtype: as in `RNNCell`; the weights have 4 * hidden_size rows.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> h, c = nn.LSTMCell(3, 4, rng=0)(np.ones((2, 3)))
        >>> h.shape, c.shape
        ((2, 4), (2, 4))
    """

    if TYPE_CHECKING:

        def forward(self, input: Array, hx: Array = None) -> tuple[Tensor, Tensor]: ...


class GRUCell(_RecurrentCell, Gru):
    """One step of a GRU: ``h = cell(x, h)``. Gates stand in the order reset, update, new.

    Args:
        input_size, hidden_size, bias, rng, dtype: as in `RNNCell`; the weights have 3 * hidden_size rows.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.GRUCell(3, 4, rng=0)(np.ones((2, 3)), np.zeros((2, 4))).shape
        (2, 4)
    """

    if TYPE_CHECKING:

        def forward(self, input: Array, hx: Array = None) -> Tensor: ...
