"""Attention with one or several heads, and positions (Vaswani et al., Attention Is All You Need, 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, DType
from adjoint.nn import init
from adjoint.nn.init import Rng
from adjoint.nn.layers.basic import Linear, linear
from adjoint.nn.layers.basic import dropout as dropped
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.neural.activation import softmax
from adjoint.ops.neural.attention import attend, weights_of
from adjoint.ops.neural.fused import in_single
from adjoint.tape.creation import are_plain
from adjoint.tape.tensor import Tensor

LONG, BLOCKS = 1 << 22, 16  # weights that are not kept together, and into how many blocks of rows these are cut
SHORTEST = 64  # rows of a block
_FEW = 1 << 12  # elements for which operations take longer than what they compute


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rng: Rng = None,
) -> Array:
    """``softmax(query @ key.T * scale + mask) @ value``.

    Args:
        query: (…, m, d).
        key: (…, n, d).
        value: (…, n, e).
        attn_mask: broadcasts to (…, m, n): truth values, True where a key is seen, or numbers to be added.
        dropout_p: the share of weights that are dropped.
        is_causal: whether query i sees keys 0 to i alone.
        scale: 1 / sqrt(d), if it is None.
        enable_gqa: whether several query heads, on the third axis from the end, share one head of keys and values
            (Ainslie et al., GQA, 2023).
        rng: of dropout.

    Returns:
        (…, m, e). A query that sees no key gives 0.

    Raises:
        ShapeError: if shapes do not fit.
        ArgumentError: if there is a mask and `is_causal`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> x = np.eye(2)
        >>> nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        array([[1.        , 0.        ],
               [0.33023845, 0.66976155]])
    """
    shapes = [np.shape(x) for x in (query, key, value)]
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-1] or shapes[1][-2] != shapes[2][-2]:
        raise ShapeError(
            "attention takes query (…, m, d), key (…, n, d) and value (…, n, e); got " + ", ".join(map(str, shapes))
        )
    if is_causal and attn_mask is not None:
        raise ArgumentError("attention is causal or has a mask; got both")
    if (half := getattr(query, "dtype", None)) == np.float16:  # in which scores overflow
        query, key, value = in_single(query), in_single(key), in_single(value)
        mask = attn_mask if attn_mask is None else in_single(attn_mask)
        out = scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa, rng=rng)
        return out.astype(half)
    if enable_gqa:
        key, value = _shared(shapes[0], key), _shared(shapes[0], value)
    query = query * (1 / math.sqrt(shapes[0][-1]) if scale is None else scale)
    if not dropout_p and _is_long(query, key, value, attn_mask):
        return _attended_in_blocks(query, key, value, attn_mask, is_causal)
    mask = np.tri(shapes[0][-2], shapes[1][-2], dtype=bool) if is_causal else attn_mask
    weights = weights_of(np.matmul(query, np.swapaxes(key, -1, -2)), mask)
    weights = dropped(weights, dropout_p, rng=rng) if dropout_p else weights
    return np.matmul(weights, value)


def _is_long(query: Array, key: Array, value: Array, mask: Array) -> bool:
    """Whether there are so many weights that they are better computed again than kept."""
    (*lead, m, _), n = np.shape(query), np.shape(key)[-2]
    alike = np.shape(key)[:-2] == np.shape(value)[:-2] == tuple(lead) and query.dtype == key.dtype == value.dtype
    fits = mask is None or np.broadcast_shapes((*lead, m, n), np.shape(mask)) == (*lead, m, n)
    return alike and fits and m > SHORTEST and math.prod((*lead, m, n)) >= LONG and query.dtype.kind == "f"


def _attended_in_blocks(query: Array, key: Array, value: Array, mask: Array, causal: bool) -> Array:
    rows = max(SHORTEST, -(-np.shape(query)[-2] // BLOCKS))
    masks = () if mask is None else (mask,)
    return attend(query, key, value, *masks, causal=causal, rows=rows)


def _shared(query: tuple[int, ...], x: Array) -> Array:
    """The heads of keys or values, each as often as queries share it."""
    shape = np.shape(x)
    if min(len(query), len(shape)) < 3 or query[-3] % shape[-3]:
        raise ShapeError(
            f"attention with enable_gqa: the heads of queries are a multiple of those of keys; got {query} and {shape}"
        )
    return np.repeat(x, query[-3] // shape[-3], axis=-3)


class MultiheadAttention(Module):
    """Attention of several heads, each over its own part of projected queries, keys and values.

    Args:
        embed_dim: the width of queries and results, a multiple of `num_heads`.
        num_heads: how many heads there are.
        dropout: the share of weights that are dropped while training.
        bias: whether projections have one.
        add_bias_kv: whether a learned key and value stand behind those of each sequence.
        add_zero_attn: whether a key and value of zeros stand there.
        kdim, vdim: the widths of keys and values; `embed_dim`, if None.
        batch_first: arrays are (n, length, width), instead of (length, n, width).
        rng: a seed or generator for initial values and dropout.
        dtype: of the parameters.

    Attributes:
        in_proj_weight: (3 * embed_dim, embed_dim); with other widths q_proj_weight, k_proj_weight, v_proj_weight.
        in_proj_bias: (3 * embed_dim,), or None.
        bias_k, bias_v: (1, 1, embed_dim), or None.
        out_proj: a `Linear`.

    Calling it: ``out, weights = attention(query, key, value, key_padding_mask, need_weights, attn_mask,
    average_attn_weights, is_causal)``. In both masks True means *not* seen, as in PyTorch's layer; numbers are added.
    Weights are None, unless they are needed, and averaged over heads, unless that is switched off.

    Raises:
        ArgumentError: if a setting makes no sense.
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> x = np.ones((2, 5, 8))
        >>> out, weights = nn.MultiheadAttention(8, 2, batch_first=True, rng=0)(x, x, x)
        >>> out.shape, weights.shape
        ((2, 5, 8), (2, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        if num_heads < 1 or embed_dim % num_heads:
            raise ArgumentError(
                f"MultiheadAttention: embed_dim is a multiple of num_heads; got {embed_dim}, {num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim, self.kdim, self.vdim = embed_dim // num_heads, kdim or embed_dim, vdim or embed_dim
        self.rng = np.random.default_rng(rng)
        widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        self._widths = widths
        if set(widths) == {embed_dim}:
            self.in_proj_weight = Parameter(init.xavier_uniform((3 * embed_dim, embed_dim), self.rng, dtype))
        else:
            for name, width in zip("qkv", widths, strict=True):
                made = init.xavier_uniform((embed_dim, width), self.rng, dtype)
                setattr(self, f"{name}_proj_weight", Parameter(made))
        self.in_proj_bias = Parameter(np.zeros(3 * embed_dim, dtype)) if bias else None
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            for name in ("bias_k", "bias_v"):
                made = init.xavier_normal((1, 1, embed_dim), self.rng, dtype)
                setattr(self, name, Parameter(made))
        self.add_zero_attn = add_zero_attn
        self.out_proj = Linear(embed_dim, embed_dim, bias, rng=self.rng, dtype=dtype)
        if self.out_proj.bias is not None:
            self.out_proj.bias.held[...] = 0.0

    def _projected(self, arrays: list[Array]) -> list[Array]:
        d = self.embed_dim
        found = []
        for k, x in enumerate(arrays):
            together = set(self._widths) == {d}
            w = self.in_proj_weight[k * d : (k + 1) * d] if together else getattr(self, f"{'qkv'[k]}_proj_weight")
            found.append(linear(x, w, None if self.in_proj_bias is None else self.in_proj_bias[k * d : (k + 1) * d]))
        return found

    def forward(
        self,
        query: Array,
        key: Array,
        value: Array,
        key_padding_mask: Array = None,
        need_weights: bool = True,
        attn_mask: Array = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        one = query is key is value
        arrays = [x if hasattr(x, "shape") else np.asarray(x) for x in (query, key, value)][: 1 if one else 3]
        alone = arrays[0].ndim == 2
        if alone:
            arrays = [x[None] for x in arrays]
        elif not self.batch_first:
            arrays = [np.swapaxes(x, 0, 1) for x in arrays]
        arrays = arrays * 3 if one else arrays
        for x, name, width in zip(arrays, ("query", "key", "value"), self._widths, strict=True):
            if x.ndim != 3 or x.shape[-1] != width:
                raise ShapeError(f"MultiheadAttention: {name} is (…, {width}) of two or three axes; got {x.shape}")
        n, m, _ = arrays[0].shape
        size = arrays[1].shape[1]
        q, k, v = self._of_heads(arrays, one)
        mask = self._mask(attn_mask, key_padding_mask, is_causal, (n, m, size), arrays[0].dtype)
        if mask is not None and k.shape[2] > size:
            seen = np.zeros((*mask.shape[:-1], k.shape[2] - size), mask.dtype)
            mask = np.concatenate([mask, seen], axis=-1)
        if (half := q.dtype) == np.float16:  # in which scores overflow
            q, k, v = (in_single(x) for x in (q, k, v))
        q = q * (1 / math.sqrt(q.shape[-1]))
        if not need_weights and not (self.dropout and self.training) and _is_long(q, k, v, mask):
            out = _attended_in_blocks(q, k, v, mask, False)
        else:
            scores = np.matmul(q, np.swapaxes(k, -1, -2))
            weights = softmax(scores if mask is None else scores + mask)
            weights = dropped(weights, self.dropout, self.training, rng=self.rng) if self.dropout else weights
            out = np.matmul(weights, v)
            weights = weights if weights.dtype == half else weights.astype(half)
        out = out if out.dtype == half else out.astype(half)
        out = self.out_proj(np.reshape(np.swapaxes(out, 1, 2), (n, m, self.embed_dim)))
        shown: Array = None
        if need_weights:
            shown = np.mean(weights, axis=1) if average_attn_weights else weights
            shown = shown[0] if alone else shown
        result: Array = out[0] if alone else out if self.batch_first else np.swapaxes(out, 0, 1)
        return result, shown

    def _of_heads(self, arrays: list[Array], one: bool) -> Sequence[Array]:
        """Queries, keys and values of all heads: (n, heads, length, width of a head)."""
        heads, longer = self.num_heads, self.bias_k is not None or self.add_zero_attn
        if one and not longer and self.in_proj_bias is not None and set(self._widths) == {self.embed_dim}:
            x, weight, bias = arrays[0], self.in_proj_weight, self.in_proj_bias
            if x.size <= _FEW and are_plain(x, weight, bias):  # one product for all three
                every = np.reshape(linear(x, weight, bias), (*x.shape[:2], 3, heads, self.head_dim))
                apart = np.transpose(every, (2, 0, 3, 1, 4))
                return apart[0], apart[1], apart[2]
        q, k, v = self._projected(arrays)
        found = q, self._longer(k, self.bias_k), self._longer(v, self.bias_v)
        return [np.swapaxes(np.reshape(x, (*x.shape[:2], heads, x.shape[2] // heads)), 1, 2) for x in found]

    def _longer(self, x: Array, learned: Array) -> Array:
        """Projected keys or values with those that stand behind all sequences."""
        shape = (x.shape[0], 1, x.shape[2])
        more = [] if learned is None else [np.broadcast_to(learned, shape)]
        more = [*more, np.zeros(shape, x.dtype)] if self.add_zero_attn else more
        return np.concatenate([x, *more], axis=1) if more else x

    def _mask(self, attn_mask: Array, padding: Array, causal: bool, sizes: tuple[int, int, int], dtype: DType) -> Array:
        """The bias that is added to scores of shape (n, heads, m, size)."""
        n, m, size = sizes
        mask: Array = None
        if attn_mask is not None:
            mask = _added(attn_mask, dtype)
            if mask.shape not in ((m, size), (n * self.num_heads, m, size)):
                raise ShapeError(
                    f"MultiheadAttention: attn_mask is {(m, size)} or {(n * self.num_heads, m, size)}; got {mask.shape}"
                )
            mask = mask if mask.ndim == 2 else np.reshape(mask, (n, self.num_heads, m, size))
        elif causal:
            mask = _added(~np.tri(m, size, dtype=bool), dtype)
        if padding is not None:
            there = _added(padding, dtype)
            there = there[None] if there.ndim == 1 else there
            if there.shape != (n, size):
                raise ShapeError(f"MultiheadAttention: key_padding_mask is {(n, size)}; got {there.shape}")
            mask = there[:, None, None] if mask is None else mask + there[:, None, None]
        return mask

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, dropout={self.dropout}, batch_first={self.batch_first}"


def _added(mask: Array, dtype: DType) -> Array:
    """A mask as numbers to be added: -inf where it is True."""
    mask = mask if hasattr(mask, "dtype") else np.asarray(mask)
    return np.where(mask, np.asarray(-np.inf, dtype), np.asarray(0.0, dtype)) if mask.dtype == bool else mask


# -- Positions ----------------------------------------------------------------------------------------


def sinusoidal_positions(length: int, width: int, dtype: DType = np.float64, base: float = 10000.0) -> np.ndarray:
    """Sines and cosines of positions, in turn, (length, width): ``sin(t / base**(2 i / width))``, then its cosine.

    Example:
        >>> from adjoint import nn
        >>> nn.functional.sinusoidal_positions(2, 2)
        array([[0.        , 1.        ],
               [0.84147098, 0.54030231]])
    """
    angles = np.arange(length)[:, None] / base ** (np.arange(0, width, 2) / width)
    out: np.ndarray = np.empty((length, width), dtype)
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)[:, : width // 2]
    return out


def rotary_positions(x: Array, base: float = 10000.0, start: int = 0) -> Array:
    """Turn pairs of numbers of each position by angles that grow with it (Su et al., RoFormer, 2021).

    Args:
        x: (…, length, width), width even; number k is paired with number k + width / 2.
        base: pair k of position t is turned by ``t / base**(2 k / width)``.
        start: the number of the first position.

    Raises:
        ShapeError: if the width is odd.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.rotary_positions(np.array([[1.0, 0.0], [1.0, 0.0]]))
        array([[1.        , 0.        ],
               [0.54030231, 0.84147098]])
    """
    *_, length, width = np.shape(x)
    if width % 2:
        raise ShapeError(f"rotary_positions turns pairs; the width must be even, got {np.shape(x)}")
    half = width // 2
    angles = (start + np.arange(length))[:, None] / base ** (np.arange(half) * 2 / width)
    cos, sin = (np.asarray(f(angles), getattr(x, "dtype", float)) for f in (np.cos, np.sin))
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
