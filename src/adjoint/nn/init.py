"""Initial values by name: ``init.get("kaiming_uniform")((out, in), rng=0)``.

Shapes are (out, in, ...): `fan_in` is everything behind the first axis, `fan_out` the first axis times
everything behind the second. Every initialiser takes ``(shape, rng=None, dtype=float64, **its own)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.types import Array, DType, Function, Value
from adjoint.tape.writes import mutations

Shape = tuple[int, ...]
Rng = np.random.Generator | int | None
Initializer = Callable[..., np.ndarray]

GAINS = dict.fromkeys(("linear", "sigmoid"), 1.0)
GAINS |= {"tanh": 5 / 3, "relu": math.sqrt(2), "leaky_relu": math.sqrt(2 / 1.0001), "selu": 0.75}
GAINS |= dict.fromkeys((f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)), 1.0)


def get(name: str | Initializer) -> Initializer:
    """The initialiser called `name`; a function is given back as it is.

    Raises:
        ArgumentError: if there is none of that name; the message lists them.

    Example:
        >>> from adjoint import nn
        >>> nn.init.get("ones")((2, 3)).sum()
        np.float64(6.0)
    """
    if callable(name):
        return name
    if name not in INITIALIZERS:
        raise ArgumentError(f"no initialiser is called {name!r}; there are: {', '.join(INITIALIZERS)}")
    return INITIALIZERS[name]


def gain(nonlinearity: str) -> float:
    """The factor that keeps the variance through `nonlinearity`.

    Raises:
        ArgumentError: if it is not in the table `GAINS`.
    """
    if nonlinearity not in GAINS:
        raise ArgumentError(f"no gain is known for {nonlinearity!r}; there are: {', '.join(GAINS)}")
    return GAINS[nonlinearity]


def fans(shape: Shape) -> tuple[int, int]:
    """`fan_in` and `fan_out` of a weight of `shape`."""
    if len(shape) < 2:
        raise ShapeError(f"fan_in and fan_out need a weight of two axes or more, (out, in, ...); got shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def zeros(shape: Shape, rng: Rng = None, dtype: DType = np.float64) -> np.ndarray:
    """All 0."""
    return np.zeros(shape, dtype)


def ones(shape: Shape, rng: Rng = None, dtype: DType = np.float64) -> np.ndarray:
    """All 1."""
    return np.ones(shape, dtype)


def uniform(
    shape: Shape, rng: Rng = None, dtype: DType = np.float64, low: float = 0.0, high: float = 1.0
) -> np.ndarray:
    """Evenly from `low` to `high`."""
    return np.asarray(np.random.default_rng(rng).uniform(low, high, shape), dtype)


def normal(shape: Shape, rng: Rng = None, dtype: DType = np.float64, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    """From the normal distribution."""
    return np.asarray(np.random.default_rng(rng).normal(mean, std, shape), dtype)


def truncated_normal(
    shape: Shape, rng: Rng = None, dtype: DType = np.float64, mean: float = 0.0, std: float = 1.0, bound: float = 2.0
) -> np.ndarray:
    """From the normal distribution, drawn again where farther than `bound` standard deviations from the mean."""
    rng = np.random.default_rng(rng)
    values = rng.standard_normal(shape)
    while (far := np.abs(values) > bound).any():
        values[far] = rng.standard_normal(np.count_nonzero(far))
    return np.asarray(mean + std * values, dtype)


def _even(shape: Shape, rng: Rng, dtype: DType, std: float) -> np.ndarray:
    return uniform(shape, rng, dtype, -math.sqrt(3) * std, math.sqrt(3) * std)


def xavier_uniform(shape: Shape, rng: Rng = None, dtype: DType = np.float64, gain: float = 1.0) -> np.ndarray:
    """Even, with variance ``gain**2 * 2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    return _even(shape, rng, dtype, gain * math.sqrt(2 / sum(fans(shape))))


def xavier_normal(shape: Shape, rng: Rng = None, dtype: DType = np.float64, gain: float = 1.0) -> np.ndarray:
    """Normal, with variance ``gain**2 * 2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    return normal(shape, rng, dtype, std=gain * math.sqrt(2 / sum(fans(shape))))


def kaiming_uniform(
    shape: Shape, rng: Rng = None, dtype: DType = np.float64, nonlinearity: str = "relu", mode: str = "fan_in"
) -> np.ndarray:
    """Even, with variance ``gain**2 / fan`` (He et al., Delving Deep into Rectifiers, 2015)."""
    return _even(shape, rng, dtype, _kaiming(shape, nonlinearity, mode))


def kaiming_normal(
    shape: Shape, rng: Rng = None, dtype: DType = np.float64, nonlinearity: str = "relu", mode: str = "fan_in"
) -> np.ndarray:
    """Normal, with variance ``gain**2 / fan`` (He et al., Delving Deep into Rectifiers, 2015)."""
    return normal(shape, rng, dtype, std=_kaiming(shape, nonlinearity, mode))


def _kaiming(shape: Shape, nonlinearity: str, mode: str, slope: float | None = None) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f'mode is "fan_in" or "fan_out"; got {mode!r}')
    factor = gain(nonlinearity) if slope is None else _leaky(nonlinearity, slope)
    return factor / math.sqrt(fans(shape)[mode == "fan_out"])


def _leaky(nonlinearity: str, slope: float) -> float:
    return math.sqrt(2 / (1 + slope**2)) if nonlinearity == "leaky_relu" else gain(nonlinearity)


def orthogonal(shape: Shape, rng: Rng = None, dtype: DType = np.float64, gain: float = 1.0) -> np.ndarray:
    """Rows (or columns, if they are fewer) at right angles and of length `gain` (Saxe et al., 2013)."""
    fans(shape)
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(np.random.default_rng(rng).standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)  # else the signs would follow QR's habits, not chance
    return np.asarray(gain * (q if rows >= columns else q.T).reshape(shape), dtype)


INITIALIZERS: dict[str, Initializer] = {
    f.__name__: f
    for f in (
        zeros,
        ones,
        uniform,
        normal,
        truncated_normal,
        xavier_uniform,
        xavier_normal,
        kaiming_uniform,
        kaiming_normal,
        orthogonal,
    )
}


def _written(parameter: Value, values: np.ndarray) -> Array:
    """`parameter` with other `values`, written into its memory."""
    array = parameter if isinstance(parameter, np.ndarray) else parameter.held
    array[...] = values
    mutations.note(array)
    return parameter


def _in_place(initializer: Initializer) -> Function:
    def write(parameter: Value, *args: object, rng: Rng = None, **settings: Value) -> Array:
        names = list(signature(initializer).parameters)[3:]
        rng = settings.pop("generator", rng)
        settings = {_WORDS.get(name, name): x for name, x in settings.items()}
        given = {**dict(zip(names, args, strict=False)), **settings}
        return _written(parameter, initializer(parameter.shape, rng, parameter.dtype, **given))

    write.__name__ = write.__qualname__ = f"{initializer.__name__}_"
    write.__doc__ = f"Write `{initializer.__name__}` values into a parameter, which is given back."
    return write


_WORDS = {"a": "low", "b": "high"}  # PyTorch's for the ends of an interval
zeros_, ones_, orthogonal_ = _in_place(zeros), _in_place(ones), _in_place(orthogonal)
uniform_, normal_, trunc_normal_ = _in_place(uniform), _in_place(normal), _in_place(truncated_normal)
xavier_uniform_, xavier_normal_ = _in_place(xavier_uniform), _in_place(xavier_normal)


def kaiming_uniform_(
    tensor: Value,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Rng = None,
    *,
    rng: Rng = None,
) -> Array:
    """Write values of He et al. into a parameter, which is given back; `a` is the slope of a leaky ReLU."""
    std = _kaiming(tensor.shape, nonlinearity, mode, a)
    return _written(tensor, _even(tensor.shape, generator if rng is None else rng, tensor.dtype, std))


def kaiming_normal_(
    tensor: Value,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Rng = None,
    *,
    rng: Rng = None,
) -> Array:
    """Write normally distributed values of He et al. into a parameter; see `kaiming_uniform_`."""
    std = _kaiming(tensor.shape, nonlinearity, mode, a)
    return _written(tensor, normal(tensor.shape, generator if rng is None else rng, tensor.dtype, std=std))


def constant_(tensor: Value, val: float) -> Array:
    """Write `val` everywhere into a parameter, which is given back."""
    return _written(tensor, np.full(tensor.shape, val, tensor.dtype))


def eye_(tensor: Value) -> Array:
    """Write the identity into a parameter of two axes, which is given back."""
    return _written(tensor, np.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor: Value, groups: int = 1) -> Array:
    """Write the weights (out, in, …) of a convolution that returns its input into a parameter; give the parameter back.

    Raises:
        ArgumentError: if the parameter has fewer than three axes, or its outputs are no multiple of `groups`.
    """
    shape = tensor.shape
    if len(shape) not in (3, 4, 5) or shape[0] % groups:
        raise ArgumentError(f"dirac_ takes the weight of a convolution, its outputs a multiple of groups={groups}; got "
                            f"shape {shape}")  # fmt: skip
    values, part = np.zeros(shape, tensor.dtype), shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for g in range(groups):
        for i in range(min(part, shape[1])):
            values[(g * part + i, i, *middle)] = 1
    return _written(tensor, values)


def sparse_(tensor: Value, sparsity: float, std: float = 0.01, generator: Rng = None, *, rng: Rng = None) -> Array:
    """Write normal values into a parameter of two axes, and 0 into a share of each column (Martens, 2010)."""
    draw = np.random.default_rng(generator if rng is None else rng)
    values = normal(tensor.shape, draw, tensor.dtype, std=std)
    zeros = math.ceil(sparsity * tensor.shape[0])
    for column in values.T:
        column[draw.permutation(len(column))[:zeros]] = 0
    return _written(tensor, values)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """`gain`; `param` is the slope of a leaky ReLU."""
    return _leaky(nonlinearity, 0.01 if param is None else param)


if not TYPE_CHECKING:  # else every misspelt name would be one of any kind

    def __getattr__(name: str) -> Value:
        raise looked_up("nn.init", name)
