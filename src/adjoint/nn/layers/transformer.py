"""The transformer's layers, and stacks of them (Vaswani et al., Attention Is All You Need, 2017)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, DType, Value
from adjoint.nn import init
from adjoint.nn.init import Rng
from adjoint.nn.layers.attention import MultiheadAttention
from adjoint.nn.layers.basic import Dropout, LayerNorm, Linear
from adjoint.nn.layers.containers import ModuleList
from adjoint.nn.module import Module
from adjoint.ops.neural.activation import gelu, relu
from adjoint.tape.tensor import Tensor

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": relu, "gelu": gelu}


class _TransformerBlock(Module):
    """What encoder and decoder layers share."""

    attentions: ClassVar[tuple[str, ...]] = ("self_attn",)
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Array], Array] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        rng = np.random.default_rng(rng)
        options: dict[str, Value] = {"bias": bias, "rng": rng, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **options))
        if not callable(activation) and activation not in ACTIVATIONS:
            raise ArgumentError(f'activation is "relu", "gelu" or a function; got {activation!r}')
        self.activation: Callable[[Array], Array] = (
            ACTIVATIONS[activation] if isinstance(activation, str) else activation
        )
        self.norm_first = norm_first
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout, rng=rng)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        parts = range(1, len(self.attentions) + 2)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout, rng=rng))

    def _feed_forward(self, x: Array, last: Dropout) -> Array:
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_TransformerBlock):
    """Self-attention and two linear layers, each added to what goes in and normalised.

    Args:
        d_model: the width.
        nhead: the number of heads.
        dim_feedforward: the width between the two linear layers.
        dropout: while training.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: of the normalisations.
        batch_first: arrays are (n, length, width), instead of (length, n, width).
        norm_first: normalise what goes into each part, instead of what comes out.
        bias: whether linear layers have one.
        rng, dtype: as in `Linear`.

    Calling it: ``layer(src, src_mask, src_key_padding_mask, is_causal)``, with masks as in `MultiheadAttention`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, rng=0).eval()(np.ones((2, 5, 8))).shape
        (2, 5, 8)
    """

    def forward(
        self, src: Array, src_mask: Array = None, src_key_padding_mask: Array = None, is_causal: bool = False
    ) -> Tensor:
        def attend(x: Array) -> Array:
            out, _ = self.self_attn(
                x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal
            )
            return self.dropout1(out)

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + self._feed_forward(self.norm2(src), self.dropout2)
        src = self.norm1(src + attend(src))
        return self.norm2(src + self._feed_forward(src, self.dropout2))


class TransformerDecoderLayer(_TransformerBlock):
    """Self-attention, attention over what an encoder gave, and two linear layers.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, rng, dtype:
            as in `TransformerEncoderLayer`.

    Calling it: ``layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
    tgt_is_causal, memory_is_causal)``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, rng=0).eval()
        >>> layer(np.ones((2, 5, 8)), np.ones((2, 3, 8))).shape
        (2, 5, 8)
    """

    attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Array,
        memory: Array,
        tgt_mask: Array = None,
        memory_mask: Array = None,
        tgt_key_padding_mask: Array = None,
        memory_key_padding_mask: Array = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Array) -> Array:
            out, _ = self.self_attn(
                x, x, x, tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask, is_causal=tgt_is_causal
            )
            return self.dropout1(out)

        def look(x: Array) -> Array:
            out, _ = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, need_weights=False, attn_mask=memory_mask,
                is_causal=memory_is_causal,
            )  # fmt: skip
            return self.dropout2(out)

        if self.norm_first:
            tgt = tgt + attend(self.norm1(tgt))
            tgt = tgt + look(self.norm2(tgt))
            return tgt + self._feed_forward(self.norm3(tgt), self.dropout3)
        tgt = self.norm1(tgt + attend(tgt))
        tgt = self.norm2(tgt + look(tgt))
        return self.norm3(tgt + self._feed_forward(tgt, self.dropout3))


class TransformerEncoder(Module):
    """Several encoder layers, one behind the other.

    Args:
        encoder_layer: is copied `num_layers` times, initial values included, as in PyTorch.
        num_layers: how many.
        norm: is applied to the result, if it is not None.

    Calling it: ``encoder(src, mask, src_key_padding_mask, is_causal)``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, rng=0)
        >>> nn.TransformerEncoder(layer, 2).eval()(np.ones((2, 5, 8))).shape
        (2, 5, 8)
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self.layers, self.norm = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)]), norm

    def forward(
        self, src: Array, mask: Array = None, src_key_padding_mask: Array = None, is_causal: bool = False
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Several decoder layers, one behind the other; arguments as `TransformerEncoder`.

    Calling it: ``decoder(tgt, memory, …)``, the rest as `TransformerDecoderLayer`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, rng=0)
        >>> nn.TransformerDecoder(layer, 2).eval()(np.ones((2, 5, 8)), np.ones((2, 3, 8))).shape
        (2, 5, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self.layers, self.norm = ModuleList([deepcopy(decoder_layer) for _ in range(num_layers)]), norm

    def forward(self, tgt: Array, memory: Array, *masks: Array, **named: Array) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to its output.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, rng, dtype:
            as in `TransformerEncoderLayer`; each weight matrix is drawn by Glorot's rule.
        num_encoder_layers, num_decoder_layers: how many layers each has.
        custom_encoder, custom_decoder: take the place of the encoder and the decoder.

    Calling it: ``transformer(src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask,
    memory_key_padding_mask, src_is_causal, tgt_is_causal, memory_is_causal)``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> net = nn.Transformer(8, 2, 1, 1, 16, batch_first=True, rng=0).eval()
        >>> net(np.ones((2, 5, 8)), np.ones((2, 3, 8))).shape
        (2, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Array], Array] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        rng = np.random.default_rng(rng)
        settings: dict[str, Value] = {
            "dim_feedforward": dim_feedforward, "dropout": dropout, "activation": activation,
            "layer_norm_eps": layer_norm_eps, "batch_first": batch_first, "norm_first": norm_first, "bias": bias,
            "rng": rng, "dtype": dtype,
        }  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        first = TransformerEncoderLayer(d_model, nhead, **settings)
        self.encoder = custom_encoder or TransformerEncoder(first, num_encoder_layers, norm())
        last = TransformerDecoderLayer(d_model, nhead, **settings)
        self.decoder = custom_decoder or TransformerDecoder(last, num_decoder_layers, norm())
        for p in self.parameters():
            if p.ndim > 1:
                p.held[...] = init.xavier_uniform(p.shape, rng, p.dtype)

    def forward(
        self,
        src: Array,
        tgt: Array,
        src_mask: Array = None,
        tgt_mask: Array = None,
        memory_mask: Array = None,
        src_key_padding_mask: Array = None,
        tgt_key_padding_mask: Array = None,
        memory_key_padding_mask: Array = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, dtype: DType = np.float64) -> np.ndarray:
        """The mask (sz, sz) under which place i sees places 0 to i: 0 there, -inf elsewhere."""
        mask: np.ndarray = np.where(np.tri(sz, dtype=bool), 0.0, -np.inf).astype(dtype)
        return mask
