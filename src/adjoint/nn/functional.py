"""The functions behind the layers, by PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.types import Value
from adjoint.nn.functions.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from adjoint.nn.functions.fractional import fractional_max_pool2d, fractional_max_pool3d
from adjoint.nn.functions.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from adjoint.nn.functions.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from adjoint.nn.functions.resizing import fold, interpolate, pad, pixel_shuffle, pixel_unshuffle, unfold
from adjoint.nn.functions.sampling import affine_grid, grid_sample
from adjoint.nn.functions.units import (
    celu,
    cosine_similarity,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    logsigmoid,
    mish,
    normalize,
    one_hot,
    pairwise_distance,
    pdist,
    selu,
    softplus,
    softshrink,
    tanhshrink,
    threshold,
)
from adjoint.nn.layers.activations import softmin
from adjoint.nn.layers.attention import rotary_positions, scaled_dot_product_attention, sinusoidal_positions
from adjoint.nn.layers.basic import (
    alpha_dropout,
    bilinear,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    linear,
)
from adjoint.nn.layers.channels import channel_shuffle, local_response_norm
from adjoint.nn.layers.embedding import embedding, embedding_bag
from adjoint.nn.layers.piecewise import prelu, rrelu
from adjoint.nn.losses.basic import binary_cross_entropy_with_logits, cross_entropy, huber_loss, l1_loss, mse_loss
from adjoint.nn.losses.ctc import ctc_loss
from adjoint.nn.losses.margins import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from adjoint.nn.losses.probabilities import (
    binary_cross_entropy,
    gaussian_nll_loss,
    kl_div,
    nll_loss,
    poisson_nll_loss,
    sigmoid_focal_loss,
    smooth_l1_loss,
)

if TYPE_CHECKING:
    from adjoint.ops.neural.signatures import (
        elu,
        gelu,
        hardtanh,
        leaky_relu,
        log_softmax,
        relu,
        relu6,
        sigmoid,
        silu,
        softmax,
        softsign,
    )
else:
    from adjoint.ops.neural.activation import (
        elu,
        gelu,
        hardtanh,
        leaky_relu,
        log_softmax,
        relu,
        relu6,
        sigmoid,
        silu,
        softmax,
        softsign,
    )

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d", "fractional_max_pool3d",
    "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "max_unpool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm", "rotary_positions", "rrelu",
    "scaled_dot_product_attention", "selu", "sigmoid", "sigmoid_focal_loss", "silu", "sinusoidal_positions",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanhshrink",
    "threshold", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
]  # fmt: skip

if not TYPE_CHECKING:  # else checkers would accept every misspelt name

    def __getattr__(name: str) -> Value:
        raise looked_up("nn.functional", name)
