"""Recurrent layers: plain, LSTM and GRU; their cells, several layers, both directions, sequences of several lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, DType, Function
from adjoint.nn import init
from adjoint.nn.init import Rng
from adjoint.nn.layers.basic import dropout
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.nn.precision import notice
from adjoint.ops.neural.activation import relu, sigmoid
from adjoint.ops.neural.fused import affine
from adjoint.ops.neural.recurrence import lstm_steps
from adjoint.tape.tensor import Tensor

State = tuple[Any, ...]


def _product(x: Array, weight: Array, bias: Array) -> Array:
    return np.matmul(x, weight.T) if bias is None else affine(x, weight, bias)


def _are_plain(*xs: Array) -> bool:
    """Whether all are arrays of one dtype, or tensors of these: then their steps need no graph each."""
    held = [x.data if isinstance(x, Tensor) else x for x in xs]
    return all(type(x) is np.ndarray for x in held) and len({x.dtype for x in held}) == 1


def _rnn(activation: Callable[[Any], Any]) -> Callable[..., State]:
    def step(given: Any, state: State, weight: Array, bias: Array) -> State:
        return (activation(given + _product(state[0], weight, bias)),)

    return step


def _lstm(given: Any, state: State, weight: Array, bias: Array) -> State:
    """Hochreiter and Schmidhuber, 1997; with forget gates (Gers et al., 2000)."""
    h, c = state
    gates = given + _product(h, weight, bias)
    n = c.shape[-1]
    inside, forget, new, out = (gates[..., k * n : (k + 1) * n] for k in range(4))
    c = sigmoid(forget) * c + sigmoid(inside) * np.tanh(new)
    return sigmoid(out) * np.tanh(c), c


def _gru(given: Any, state: State, weight: Array, bias: Array) -> State:
    """Cho et al., 2014; the reset gate is applied behind the product."""
    (h,) = state
    n = h.shape[-1]
    kept = _product(h, weight, bias)
    gates = sigmoid(given[..., : 2 * n] + kept[..., : 2 * n])
    reset, update = gates[..., :n], gates[..., n:]
    new = np.tanh(given[..., 2 * n :] + reset * kept[..., 2 * n :])
    return (new + update * (h - new),)


class _Cells(Module):
    """What cells and layers share: how many states and gates there are, and one step."""

    states: ClassVar[int] = 1
    gates: ClassVar[int] = 1
    nonlinearity: str = "tanh"
    #: All steps of a layer as one operation, if there is one.
    together: ClassVar[Function | None] = None

    def _step(self) -> Callable[..., State]:
        raise NotImplementedError

    def _weights(
        self, inputs: int, hidden: int, bias: bool, suffix: str, rng: np.random.Generator, dtype: DType
    ) -> None:
        bound = 1 / math.sqrt(hidden)
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (self.gates * hidden, inputs),
            "weight_hh": (self.gates * hidden, hidden),
        }
        if bias:
            shapes |= {"bias_ih": (self.gates * hidden,), "bias_hh": (self.gates * hidden,)}
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(init.uniform(shape, rng, dtype, -bound, bound)))

    def _checked(self, nonlinearity: str) -> str:
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f'{type(self).__name__}: nonlinearity is "tanh" or "relu"; got {nonlinearity!r}')
        return nonlinearity


class _Plain(_Cells):
    def _step(self) -> Callable[..., State]:
        return _rnn(np.tanh if self.nonlinearity == "tanh" else relu)


class _Lstm(_Cells):
    states, gates, together = 2, 4, lstm_steps

    def _step(self) -> Callable[..., State]:
        return _lstm


class _Gru(_Cells):
    gates = 3

    def _step(self) -> Callable[..., State]:
        return _gru


# -- One step -----------------------------------------------------------------------------------------


class _Cell(_Cells):
    """One step of a recurrent layer."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None = None
    bias_hh: Parameter | None = None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, rng: Rng = None, dtype: DType = np.float64
    ) -> None:
        self.input_size, self.hidden_size = input_size, hidden_size
        self._weights(input_size, hidden_size, bias, "", np.random.default_rng(rng), dtype)

    def forward(self, x: Array, state: Array = None) -> Array:
        x = x if hasattr(x, "shape") else np.asarray(x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__} takes (n, {self.input_size}) or ({self.input_size},); got {x.shape}"
            )
        if state is None:
            zeros = np.zeros((*x.shape[:-1], self.hidden_size), x.dtype)
            state = (zeros,) * self.states
        state = state if isinstance(state, tuple) else (state,)
        found = self._step()(_product(x, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh)
        return found if self.states > 1 else found[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias_ih is not None else ", bias=False")


class RNNCell(_Cell, _Plain):
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
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", *, rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, rng=rng, dtype=dtype)
        self.nonlinearity = self._checked(nonlinearity)


class LSTMCell(_Cell, _Lstm):
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


class GRUCell(_Cell, _Gru):
    """One step of a GRU: ``h = cell(x, h)``. Gates stand in the order reset, update, new.

    Args:
        input_size, hidden_size, bias, rng, dtype: as in `RNNCell`; the weights have 3 * hidden_size rows.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.GRUCell(3, 4, rng=0)(np.ones((2, 3)), np.zeros((2, 4))).shape
        (2, 4)
    """


# -- Sequences ----------------------------------------------------------------------------------------


class _Recurrent(_Cells):
    """Layers over sequences."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        name = type(self).__name__
        if min(input_size, hidden_size, num_layers) < 1:
            raise ArgumentError(
                f"{name}: sizes and the number of layers are at least 1; got {input_size}, {hidden_size}, {num_layers}"
            )
        if not 0 <= dropout < 1:
            raise ArgumentError(f"{name}: dropout is a probability below 1; got {dropout}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        self.rng = np.random.default_rng(rng)
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                self._weights(width, hidden_size, bias, f"_l{layer}{suffix}", self.rng, dtype)

    def forward(self, x: Array, state: Array = None, *, lengths: Any = None) -> Array:
        x = x if hasattr(x, "shape") else np.asarray(x)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            axes, size = "n, steps" if self.batch_first else "steps, n", self.input_size
            raise ShapeError(f"{type(self).__name__} takes ({axes}, {size}) or (steps, {size}); got {x.shape}")
        first = "weight_ih_l0"
        notice(x, getattr(self, first))
        alone = x.ndim == 2
        x = x[:, None] if alone else np.swapaxes(x, 0, 1) if self.batch_first else x
        begins = self._begins(x, state, alone)
        here = None if lengths is None else self._here(lengths, x.shape[0], x.shape[1])
        ends: list[State] = []
        for layer in range(self.num_layers):
            sides = []
            for backward in range(1 + self.bidirectional):
                suffix = f"_l{layer}" + "_reverse" * backward
                out, end = self._over(x, begins[len(ends)], suffix, bool(backward), here)
                sides.append(out)
                ends.append(end)
            x = sides[0] if len(sides) == 1 else np.concatenate(sides, axis=-1)
            if self.dropout and layer < self.num_layers - 1:
                x = dropout(x, self.dropout, self.training, rng=self.rng)
        finals = tuple(np.stack([end[k] for end in ends]) for k in range(self.states))
        finals = tuple(h[:, 0] for h in finals) if alone else finals
        x = x[:, 0] if alone else np.swapaxes(x, 0, 1) if self.batch_first else x
        return x, finals if self.states > 1 else finals[0]

    def _begins(self, x: Array, state: Array, alone: bool) -> list[State]:
        """The states before the first step, one a layer and direction."""
        count = self.num_layers * (1 + self.bidirectional)
        if state is None:
            return [(np.zeros((x.shape[1], self.hidden_size), x.dtype),) * self.states] * count
        given = state if isinstance(state, tuple | list) else (state,)
        wanted = (count, self.hidden_size) if alone else (count, x.shape[1], self.hidden_size)
        if len(given) != self.states or any(np.shape(h) != wanted for h in given):
            found = ", ".join(str(np.shape(h)) for h in given)
            raise ShapeError(f"{type(self).__name__}: {self.states} state(s) of shape {wanted} are needed; got {found}")
        return [tuple(h[k][None] if alone else h[k] for h in given) for k in range(count)]

    def _here(self, lengths: Any, steps: int, n: int) -> np.ndarray:
        """Whether each sequence goes on at each step: (steps, n, 1)."""
        lengths = np.asarray(lengths)
        if lengths.shape != (n,) or lengths.dtype.kind not in "iu" or lengths.min() < 1 or lengths.max() > steps:
            raise ArgumentError(f"lengths are {n} whole numbers from 1 to {steps}; got {lengths}")
        here: np.ndarray = np.arange(steps)[:, None, None] < lengths[:, None]
        return here

    def _over(self, x: Array, state: State, suffix: str, backward: bool, here: np.ndarray | None) -> tuple[Any, State]:
        """One layer in one direction: all results, and the last state."""
        weight = getattr(self, "weight_hh" + suffix)
        biases = [getattr(self, name + suffix) if self.bias else None for name in ("bias_ih", "bias_hh")]
        inputs = getattr(self, "weight_ih" + suffix)
        if here is None and self.together is not None and _are_plain(x, *state, weight, inputs):
            bias = [] if biases[0] is None else [biases[0] + biases[1]]
            hs, cs, _ = type(self).together(x[::-1] if backward else x, *state, inputs, weight, *bias)  # type: ignore[misc]  # not None
            return hs[::-1] if backward else hs, (hs[-1], cs[-1])
        given = _product(x, inputs, biases[0])
        step, found = self._step(), []
        order = range(x.shape[0])
        for t in reversed(order) if backward else order:
            new = step(given[t], state, weight, biases[1])
            if here is not None:
                new = tuple(np.where(here[t], after, before) for after, before in zip(new, state, strict=True))
            state = new
            found.append(state[0] if here is None else np.where(here[t], state[0], 0.0))
        return np.stack(found[::-1] if backward else found), state

    def extra_repr(self) -> str:
        plain = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        shown = [f"{name}={getattr(self, name)}" for name, value in plain.items() if getattr(self, name) != value]
        return ", ".join([str(self.input_size), str(self.hidden_size), *shown])


class RNN(_Recurrent, _Plain):
    """Layers of ``h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`` over sequences.

    Args:
        input_size, hidden_size: of one step.
        num_layers: each takes what the one before gives.
        nonlinearity: "tanh" or "relu".
        bias: whether there are any.
        batch_first: sequences are (n, steps, input_size), instead of (steps, n, input_size).
        dropout: between layers, while training.
        bidirectional: whether each layer also goes from the end to the beginning.
        rng: a seed or generator; all weights are uniform within ±1/sqrt(hidden_size).
        dtype: of these.

    Calling it: ``out, h = rnn(x, h, lengths=…)``. `x` may be (steps, input_size), one sequence. `h` is (layers *
    directions, n, hidden_size), or None for zeros. `lengths` says how many steps of each sequence count: behind these
    the state stays, and results are 0. `out` has the last layer's results, (steps, n, directions * hidden_size).

    Raises:
        ShapeError: if shapes do not fit.
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> out, h = nn.RNN(3, 4, num_layers=2, rng=0)(np.ones((7, 5, 3)))
        >>> out.shape, h.shape
        ((7, 5, 4), (2, 5, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, rng=rng, dtype=dtype
        )
        self.nonlinearity = self._checked(nonlinearity)


class LSTM(_Recurrent, _Lstm):
    """Layers of `LSTMCell` over sequences: ``out, (h, c) = lstm(x, (h, c), lengths=…)``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, rng, dtype: as in `RNN`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> out, (h, c) = nn.LSTM(3, 4, batch_first=True, bidirectional=True, rng=0)(np.ones((5, 7, 3)))
        >>> out.shape, h.shape, c.shape
        ((5, 7, 8), (2, 5, 4), (2, 5, 4))
    """


class GRU(_Recurrent, _Gru):
    """Layers of `GRUCell` over sequences: ``out, h = gru(x, h, lengths=…)``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, rng, dtype: as in `RNN`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> out, h = nn.GRU(3, 4, rng=0)(np.ones((7, 5, 3)), lengths=np.array([7, 1, 2, 3, 4]))
        >>> out.shape, h.shape
        ((7, 5, 4), (1, 5, 4))
    """
