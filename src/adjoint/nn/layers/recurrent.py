"""Recurrent layers: several layers of cells, both directions, sequences of several lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, DType, Value
from adjoint.nn.init import Rng
from adjoint.nn.layers.basic import dropout
from adjoint.nn.layers.cells import Cells, CellState, Gru, Lstm, PlainCells, product
from adjoint.nn.precision import notice
from adjoint.nn.utils.rnn import PackedSequence
from adjoint.tape.creation import are_plain

if TYPE_CHECKING:
    from adjoint.tape.tensor import Tensor


class _Recurrent(Cells):
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
        proj_size: int = 0,
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
        if not 0 <= proj_size < hidden_size or (proj_size and not isinstance(self, Lstm)):
            raise ArgumentError(
                f"{name}: proj_size is of an LSTM, and less than hidden_size; got {proj_size} and {hidden_size}"
            )
        self.proj_size, self.rng = proj_size, np.random.default_rng(rng)
        for layer in range(num_layers):
            width = input_size if layer == 0 else (proj_size or hidden_size) * (1 + bidirectional)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                self._weights(width, hidden_size, bias, f"_l{layer}{suffix}", self.rng, dtype, proj_size)

    def forward(self, input: Array, hx: Array = None, *, lengths: Array = None) -> Value:
        if isinstance(input, PackedSequence):
            x, lengths = input
            x, finals = self.forward(np.swapaxes(x, 0, 1) if self.batch_first else x, hx, lengths=lengths)
            return PackedSequence(np.swapaxes(x, 0, 1) if self.batch_first else x, lengths), finals
        x = input if hasattr(input, "shape") else np.asarray(input)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            axes, size = "n, steps" if self.batch_first else "steps, n", self.input_size
            raise ShapeError(f"{type(self).__name__} takes ({axes}, {size}) or (steps, {size}); got {x.shape}")
        first = "weight_ih_l0"
        notice(x, getattr(self, first))
        alone = x.ndim == 2
        x = x[:, None] if alone else np.swapaxes(x, 0, 1) if self.batch_first else x
        begins = self._begins(x, hx, alone)
        here = None if lengths is None else self._here(lengths, x.shape[0], x.shape[1])
        ends: list[CellState] = []
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
        finals = tuple(_stacked([end[k] for end in ends]) for k in range(self.states))
        finals = tuple(h[:, 0] for h in finals) if alone else finals
        x = x[:, 0] if alone else np.swapaxes(x, 0, 1) if self.batch_first else x
        return x, finals if self.states > 1 else finals[0]

    def flatten_parameters(self) -> None:
        """Do nothing. In PyTorch this moves weights on a GPU together."""

    def _begins(self, x: Array, state: Array, alone: bool) -> list[CellState]:
        """The states before the first step, one a layer and direction."""
        count = self.num_layers * (1 + self.bidirectional)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        if state is None:
            return [tuple(np.zeros((x.shape[1], width), x.dtype) for width in widths)] * count
        given = state if isinstance(state, tuple | list) else (state,)
        wanted = [(count, width) if alone else (count, x.shape[1], width) for width in widths]
        found = [np.shape(h) for h in given]
        if found != wanted:
            shapes, got = (", ".join(map(str, some)) for some in (wanted, found))
            raise ShapeError(f"{type(self).__name__}: {self.states} state(s) are needed, of shape {shapes}; got {got}")
        return [tuple(h[k][None] if alone else h[k] for h in given) for k in range(count)]

    def _here(self, lengths: Array, steps: int, n: int) -> np.ndarray:
        """Whether each sequence goes on at each step: (steps, n, 1)."""
        lengths = np.asarray(lengths)
        if lengths.shape != (n,) or lengths.dtype.kind not in "iu" or lengths.min() < 1 or lengths.max() > steps:
            raise ArgumentError(f"lengths are {n} whole numbers from 1 to {steps}; got {lengths}")
        here: np.ndarray = np.arange(steps)[:, None, None] < lengths[:, None]
        return here

    def _over(
        self, x: Array, state: CellState, suffix: str, backward: bool, here: np.ndarray | None
    ) -> tuple[Array, CellState]:
        """One layer in one direction: all results, and the last state."""
        weight = getattr(self, "weight_hh" + suffix)
        biases = [getattr(self, name + suffix) if self.bias else None for name in ("bias_ih", "bias_hh")]
        inputs = getattr(self, "weight_ih" + suffix)
        if here is None and not self.proj_size and are_plain(x, *state, weight, inputs):
            hs, *last = self._together(x[::-1] if backward else x, state, inputs, weight, biases)
            return hs[::-1] if backward else hs, (hs[-1], *last)
        given = product(x, inputs, biases[0])
        step, found = self._step(), []
        order = range(x.shape[0])
        for t in reversed(order) if backward else order:
            new = step(given[t], state, weight, biases[1])
            if self.proj_size:
                new = (product(new[0], getattr(self, "weight_hr" + suffix), None), *new[1:])
            if here is not None:
                new = tuple(np.where(here[t], after, before) for after, before in zip(new, state, strict=True))
            state = new
            found.append(state[0] if here is None else np.where(here[t], state[0], 0.0))
        return np.stack(found[::-1] if backward else found), state

    def extra_repr(self) -> str:
        plain = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
                 "proj_size": 0}  # fmt: skip
        shown = [f"{name}={getattr(self, name)}" for name, value in plain.items() if getattr(self, name) != value]
        return ", ".join([str(self.input_size), str(self.hidden_size), *shown])


def _stacked(states: list[Array]) -> Array:
    """The last states of all layers, in memory of their own."""
    return np.copy(states[0])[None] if len(states) == 1 and are_plain(*states) else np.stack(states)


class RNN(_Recurrent, PlainCells):
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

    Calling it: ``out, h = rnn(x, h, lengths=…)``. `x` may be (steps, input_size), one sequence, or a `PackedSequence`.
    `h` is (layers * directions, n, hidden_size), or None for zeros. `lengths` says how many steps of each sequence
    count: behind these the state stays, and results are 0. `out` has the last layer's results, (steps, n, directions *
    hidden_size).

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

    if TYPE_CHECKING:

        def forward(self, input: Array, hx: Array = None, *, lengths: Array = None) -> tuple[Tensor, Tensor]: ...


class LSTM(_Recurrent, Lstm):
    """Layers of `LSTMCell` over sequences: ``out, (h, c) = lstm(x, (h, c), lengths=…)``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, rng, dtype: as in `RNN`.
        proj_size: the width of h and of results: ``h @ weight_hr.T`` (Sak et al., 2014); 0 leaves h as it is.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> out, (h, c) = nn.LSTM(3, 4, batch_first=True, bidirectional=True, rng=0)(np.ones((5, 7, 3)))
        >>> out.shape, h.shape, c.shape
        ((5, 7, 8), (2, 5, 4), (2, 5, 4))
    """

    if TYPE_CHECKING:

        def forward(
            self, input: Array, hx: Array = None, *, lengths: Array = None
        ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...


class GRU(_Recurrent, Gru):
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

    if TYPE_CHECKING:

        def forward(self, input: Array, hx: Array = None, *, lengths: Array = None) -> tuple[Tensor, Tensor]: ...
