"""Learned vectors for symbols, and sums of bags of them."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import Box, raw, varies
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.types import Array, DType, Value
from adjoint.nn import init
from adjoint.nn.init import Rng
from adjoint.nn.layers.settings import Drawn
from adjoint.nn.losses.basic import out_of_range
from adjoint.nn.parameter import Parameter
from adjoint.ops.indexing.reading import take
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations


def _checked(x: Array, count: int) -> Array:
    """The numbers of symbols."""
    numbers: Array = raw(x)
    numbers = numbers if isinstance(numbers, Box) else np.asarray(numbers)  # a box, while it is captured
    if numbers.dtype.kind not in "iu":
        raise DTypeError(f"Embedding takes whole numbers; got {numbers.dtype}. Convert: x.astype(int)")
    if type(numbers) is np.ndarray:
        wrong = out_of_range(numbers, count)
    else:
        wrong = numbers.size and not (numbers.min() >= 0 and numbers.max() < count)
    if wrong:
        raise ArgumentError(
            f"Embedding has symbols 0 … {count - 1}; got numbers from {numbers.min()} to {numbers.max()}"
        )
    return numbers


def embedding(
    input: Array,
    weight: Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Array:
    """The rows of `weight` (symbols, width) at whole numbers `input` (…): (…, width).

    Args:
        input: whole numbers from 0.
        weight: a row for each symbol.
        padding_idx: a symbol whose row gets no gradient from here.
        max_norm: rows that are used and longer are shortened first, in place, in the norm `norm_type`.
        scale_grad_by_freq: whether the gradient of a row is divided by how often it is used here.

    Raises:
        DTypeError: if `input` is no whole numbers.
        ArgumentError: if one of them is no symbol.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.embedding(np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[3., 4.],
               [1., 2.]])
    """
    numbers = _checked(input, np.shape(weight)[0])
    if max_norm is not None:
        _shorten(weight, numbers, max_norm, norm_type)
    out = take(weight, input, axis=0) if varies(input) else weight[numbers]
    found: Array = out
    if scale_grad_by_freq and isinstance(out, Box):
        share = _shares(numbers, np.shape(weight)[0], found.dtype)
        found = found * share + found.detach() * (1 - share)
    if padding_idx is None or not isinstance(out, Box):
        return found
    learned = np.not_equal(input if varies(input) else numbers, padding_idx % np.shape(weight)[0])
    return np.where(np.expand_dims(learned, -1), found, found.detach())


def _shares(numbers: Array, count: int, dtype: DType) -> Array:
    """For each symbol, 1 divided by how often it is used: (…, 1)."""
    used = np.bincount(np.ravel(numbers), minlength=count)
    return np.expand_dims((1 / np.maximum(used, 1))[numbers].astype(dtype), -1)


def _shorten(weight: Array, numbers: Array, most: float, norm_type: float) -> None:
    data = weight.held if isinstance(weight, Parameter) else weight
    rows = np.unique(numbers)
    norms = np.linalg.norm(data[rows], ord=norm_type, axis=1)
    long = norms > most
    if np.any(long):
        data[rows[long]] *= (most / (norms[long] + 1e-7))[:, None]
        mutations.note(data)


def _dense(name: str, sparse: bool) -> None:
    if sparse:
        raise ArgumentError(f"{name}: gradients are dense here; leave sparse=False")


def _vectors(name: str, embeddings: Array) -> np.ndarray:
    values = np.array(raw(embeddings))
    if values.ndim != 2:
        raise ShapeError(f"{name}.from_pretrained takes (symbols, width); got {values.shape}")
    return values


def _filled(layer: Value, values: np.ndarray, freeze: bool) -> Value:
    layer.weight.held[...] = values
    layer.weight.requires_grad = not freeze
    return layer


class Embedding(Drawn):
    """A learned vector for each of `num_embeddings` symbols.

    Args:
        num_embeddings, embedding_dim: the shape of `weight`, drawn from the standard normal distribution.
        padding_idx: a symbol whose vector is 0, and stays as it is.
        max_norm: vectors that are used and longer are shortened first, in place.
        norm_type: the norm of `max_norm`.
        scale_grad_by_freq: whether the gradient of a vector is divided by how often it is used in a call.
        sparse: False; gradients are dense.
        rng, dtype: as in `Linear`.

    Raises:
        DTypeError: if it is called with anything but whole numbers.
        ArgumentError: if one of them is not in ``0 … num_embeddings - 1``.

    Example:
        >>> from adjoint import nn
        >>> nn.Embedding(10, 4, rng=0)([[1, 2], [3, 9]]).shape
        (2, 2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        _dense("Embedding", sparse)
        self.num_embeddings, self.embedding_dim, self.sparse = num_embeddings, embedding_dim, sparse
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError(f"Embedding has symbols 0 … {num_embeddings - 1}; got padding_idx={padding_idx}")
        self.weight = Parameter(init.normal((num_embeddings, embedding_dim), rng, dtype))
        if padding_idx is not None:
            self.weight.held[padding_idx] = 0.0

    def forward(self, x: Array) -> Tensor:
        return embedding(x, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Array,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer with the vectors `embeddings` (symbols, width), which are not trained if they are frozen.

        Example:
            >>> import numpy as np
            >>> from adjoint import nn
            >>> nn.Embedding.from_pretrained(np.eye(2))([1]).numpy()
            array([[0., 1.]])
        """
        values = _vectors(cls.__name__, embeddings)
        symbols, width = values.shape
        layer = cls(symbols, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, dtype=values.dtype)
        return _filled(layer, values, freeze)

    def extra_repr(self) -> str:
        more = {"padding_idx": self.padding_idx, "max_norm": self.max_norm}
        return ", ".join([*map(str, self.weight.shape), *(f"{k}={v}" for k, v in more.items() if v is not None)])


def embedding_bag(
    input: Array,
    weight: Array,
    offsets: Array = None,
    mode: str = "mean",
    per_sample_weights: Array = None,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    include_last_offset: bool = False,
) -> Array:
    """Sums, means or maxima of rows of `weight` (symbols, width) over bags of symbols: (bags, width).

    Args:
        input: whole numbers (bags, length); or (total,) with `offsets`.
        offsets: where each bag begins.
        mode: "sum", "mean" or "max". An empty bag gives 0.
        per_sample_weights: factors of the shape of `input`, for "sum".
        padding_idx: a symbol that does not count.
        max_norm, norm_type, scale_grad_by_freq: as in `embedding`.
        include_last_offset: whether the last of `offsets` is where the last bag ends.

    Raises:
        ShapeError: if shapes do not fit.
        ArgumentError: if the mode is unknown, or a number is no symbol.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> w = np.array([[1.0], [2.0], [4.0]])
        >>> nn.functional.embedding_bag(np.array([0, 1, 2]), w, offsets=np.array([0, 2]), mode="sum")
        array([[3.],
               [4.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f'embedding_bag: mode is "sum", "mean" or "max"; got {mode!r}')
    if per_sample_weights is not None and mode != "sum":
        raise ArgumentError(f'embedding_bag: per_sample_weights are for mode="sum"; got {mode!r}')
    numbers = _checked(input, np.shape(weight)[0])
    if (numbers.ndim == 1) != (offsets is not None) or numbers.ndim > 2:
        raise ShapeError(f"embedding_bag takes (bags, length), or (total,) with offsets; got {numbers.shape}")
    there: Value = np.ones(numbers.shape, bool)
    factors = per_sample_weights
    given = numbers
    if offsets is not None:
        begins = np.asarray(raw(offsets))
        begins, ends = (
            (begins[:-1], begins[1:]) if include_last_offset else (begins, np.append(begins[1:], len(numbers)))
        )
        longest = int((ends - begins).max(initial=0))
        where = begins[:, None] + np.arange(longest)
        there = where < ends[:, None]
        where = np.where(there, where, 0)
        numbers = numbers[where] if len(numbers) else np.zeros(where.shape, int)
        factors = None if factors is None else factors[where]
    if padding_idx is not None:
        there = there & (numbers != padding_idx % np.shape(weight)[0])
    if scale_grad_by_freq and offsets is not None and len(given):  # what fills up the bags is not counted
        rows = embedding(given, weight, None, max_norm, norm_type, True)[where]
    else:
        rows = embedding(numbers, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if mode == "max":
        top = np.max(np.where(there[..., None], rows, -np.inf), axis=1, initial=-np.inf)
        return np.where(there.any(axis=1)[:, None], top, 0.0)
    rows = rows if factors is None else rows * factors[..., None]
    total = np.sum(np.where(there[..., None], rows, 0.0), axis=1)
    return total if mode == "sum" else total / np.maximum(there.sum(axis=1), 1)[:, None].astype(total.dtype)


class EmbeddingBag(Drawn):
    """`nn.functional.embedding_bag` with learned vectors.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, rng, dtype: as in `Embedding`.
        mode: "sum", "mean" or "max".
        include_last_offset: whether the last offset is where the last bag ends.
        sparse: False; gradients are dense.
        padding_idx: a symbol that does not count.

    Calling it: ``bag(input, offsets, per_sample_weights)``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.EmbeddingBag(10, 3, rng=0)(np.array([[1, 2, 4], [4, 3, 9]])).shape
        (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        self.num_embeddings, self.embedding_dim, self.sparse = num_embeddings, embedding_dim, sparse
        self.mode, self.padding_idx, self.include_last_offset = mode, padding_idx, include_last_offset
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        _dense("EmbeddingBag", sparse)
        self.weight = Parameter(init.normal((num_embeddings, embedding_dim), rng, dtype))
        if padding_idx is not None:
            self.weight.held[padding_idx] = 0.0

    def forward(self, input: Array, offsets: Array = None, per_sample_weights: Array = None) -> Tensor:
        return embedding_bag(
            input, self.weight, offsets, self.mode, per_sample_weights, self.padding_idx, self.max_norm,
            self.norm_type, self.scale_grad_by_freq, self.include_last_offset,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Array,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer with the vectors `embeddings` (symbols, width), which are not trained if they are frozen.

        Example:
            >>> import numpy as np
            >>> from adjoint import nn
            >>> nn.EmbeddingBag.from_pretrained(np.eye(2), mode="sum")(np.array([[0, 1]])).numpy()
            array([[1., 1.]])
        """
        values = _vectors(cls.__name__, embeddings)
        symbols, width = values.shape
        layer = cls(symbols, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset,
                    padding_idx, dtype=values.dtype)  # fmt: skip
        return _filled(layer, values, freeze)

    def extra_repr(self) -> str:
        return f"{', '.join(map(str, self.weight.shape))}, mode={self.mode!r}"
