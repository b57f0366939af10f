"""Neural networks: parameters, modules, layers, losses and initial values, by PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.public import public as _public
from adjoint.nn import functional as functional
from adjoint.nn import init as init
from adjoint.nn import utils as utils
from adjoint.nn.averages import AveragedModel as AveragedModel
from adjoint.nn.averages import update_bn as update_bn
from adjoint.nn.exchanging import functional_call as functional_call
from adjoint.nn.layers.activations import CELU as CELU
from adjoint.nn.layers.activations import ELU as ELU
from adjoint.nn.layers.activations import GELU as GELU
from adjoint.nn.layers.activations import GLU as GLU
from adjoint.nn.layers.activations import SELU as SELU
from adjoint.nn.layers.activations import LogSigmoid as LogSigmoid
from adjoint.nn.layers.activations import LogSoftmax as LogSoftmax
from adjoint.nn.layers.activations import Mish as Mish
from adjoint.nn.layers.activations import Sigmoid as Sigmoid
from adjoint.nn.layers.activations import SiLU as SiLU
from adjoint.nn.layers.activations import Softmax as Softmax
from adjoint.nn.layers.activations import Softmax2d as Softmax2d
from adjoint.nn.layers.activations import Softmin as Softmin
from adjoint.nn.layers.activations import Softplus as Softplus
from adjoint.nn.layers.activations import Softsign as Softsign
from adjoint.nn.layers.activations import Tanh as Tanh
from adjoint.nn.layers.activations import Tanhshrink as Tanhshrink
from adjoint.nn.layers.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from adjoint.nn.layers.attention import MultiheadAttention as MultiheadAttention
from adjoint.nn.layers.basic import AlphaDropout as AlphaDropout
from adjoint.nn.layers.basic import Bilinear as Bilinear
from adjoint.nn.layers.basic import Dropout as Dropout
from adjoint.nn.layers.basic import Dropout1d as Dropout1d
from adjoint.nn.layers.basic import Dropout2d as Dropout2d
from adjoint.nn.layers.basic import Dropout3d as Dropout3d
from adjoint.nn.layers.basic import FeatureAlphaDropout as FeatureAlphaDropout
from adjoint.nn.layers.basic import Flatten as Flatten
from adjoint.nn.layers.basic import Identity as Identity
from adjoint.nn.layers.basic import LayerNorm as LayerNorm
from adjoint.nn.layers.basic import Linear as Linear
from adjoint.nn.layers.basic import Unflatten as Unflatten
from adjoint.nn.layers.cells import GRUCell as GRUCell
from adjoint.nn.layers.cells import LSTMCell as LSTMCell
from adjoint.nn.layers.cells import RNNCell as RNNCell
from adjoint.nn.layers.channels import ChannelShuffle as ChannelShuffle
from adjoint.nn.layers.channels import LocalResponseNorm as LocalResponseNorm
from adjoint.nn.layers.containers import ModuleDict as ModuleDict
from adjoint.nn.layers.containers import ModuleList as ModuleList
from adjoint.nn.layers.containers import ParameterDict as ParameterDict
from adjoint.nn.layers.containers import ParameterList as ParameterList
from adjoint.nn.layers.containers import Sequential as Sequential
from adjoint.nn.layers.convolution import Conv1d as Conv1d
from adjoint.nn.layers.convolution import Conv2d as Conv2d
from adjoint.nn.layers.convolution import Conv3d as Conv3d
from adjoint.nn.layers.convolution import ConvTranspose1d as ConvTranspose1d
from adjoint.nn.layers.convolution import ConvTranspose2d as ConvTranspose2d
from adjoint.nn.layers.convolution import ConvTranspose3d as ConvTranspose3d
from adjoint.nn.layers.distances import CosineSimilarity as CosineSimilarity
from adjoint.nn.layers.distances import PairwiseDistance as PairwiseDistance
from adjoint.nn.layers.embedding import Embedding as Embedding
from adjoint.nn.layers.embedding import EmbeddingBag as EmbeddingBag
from adjoint.nn.layers.fractional import FractionalMaxPool2d as FractionalMaxPool2d
from adjoint.nn.layers.fractional import FractionalMaxPool3d as FractionalMaxPool3d
from adjoint.nn.layers.lazy import LazyBatchNorm1d as LazyBatchNorm1d
from adjoint.nn.layers.lazy import LazyBatchNorm2d as LazyBatchNorm2d
from adjoint.nn.layers.lazy import LazyBatchNorm3d as LazyBatchNorm3d
from adjoint.nn.layers.lazy import LazyConv1d as LazyConv1d
from adjoint.nn.layers.lazy import LazyConv2d as LazyConv2d
from adjoint.nn.layers.lazy import LazyConv3d as LazyConv3d
from adjoint.nn.layers.lazy import LazyConvTranspose1d as LazyConvTranspose1d
from adjoint.nn.layers.lazy import LazyConvTranspose2d as LazyConvTranspose2d
from adjoint.nn.layers.lazy import LazyConvTranspose3d as LazyConvTranspose3d
from adjoint.nn.layers.lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from adjoint.nn.layers.lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from adjoint.nn.layers.lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from adjoint.nn.layers.lazy import LazyLinear as LazyLinear
from adjoint.nn.layers.losses import BCELoss as BCELoss
from adjoint.nn.layers.losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from adjoint.nn.layers.losses import CosineEmbeddingLoss as CosineEmbeddingLoss
from adjoint.nn.layers.losses import CrossEntropyLoss as CrossEntropyLoss
from adjoint.nn.layers.losses import CTCLoss as CTCLoss
from adjoint.nn.layers.losses import GaussianNLLLoss as GaussianNLLLoss
from adjoint.nn.layers.losses import HingeEmbeddingLoss as HingeEmbeddingLoss
from adjoint.nn.layers.losses import HuberLoss as HuberLoss
from adjoint.nn.layers.losses import KLDivLoss as KLDivLoss
from adjoint.nn.layers.losses import L1Loss as L1Loss
from adjoint.nn.layers.losses import MarginRankingLoss as MarginRankingLoss
from adjoint.nn.layers.losses import MSELoss as MSELoss
from adjoint.nn.layers.losses import MultiLabelMarginLoss as MultiLabelMarginLoss
from adjoint.nn.layers.losses import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from adjoint.nn.layers.losses import MultiMarginLoss as MultiMarginLoss
from adjoint.nn.layers.losses import NLLLoss as NLLLoss
from adjoint.nn.layers.losses import PoissonNLLLoss as PoissonNLLLoss
from adjoint.nn.layers.losses import SmoothL1Loss as SmoothL1Loss
from adjoint.nn.layers.losses import SoftMarginLoss as SoftMarginLoss
from adjoint.nn.layers.losses import TripletMarginLoss as TripletMarginLoss
from adjoint.nn.layers.losses import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from adjoint.nn.layers.normalization import BatchNorm1d as BatchNorm1d
from adjoint.nn.layers.normalization import BatchNorm2d as BatchNorm2d
from adjoint.nn.layers.normalization import BatchNorm3d as BatchNorm3d
from adjoint.nn.layers.normalization import GroupNorm as GroupNorm
from adjoint.nn.layers.normalization import InstanceNorm1d as InstanceNorm1d
from adjoint.nn.layers.normalization import InstanceNorm2d as InstanceNorm2d
from adjoint.nn.layers.normalization import InstanceNorm3d as InstanceNorm3d
from adjoint.nn.layers.normalization import RMSNorm as RMSNorm
from adjoint.nn.layers.piecewise import Hardshrink as Hardshrink
from adjoint.nn.layers.piecewise import Hardsigmoid as Hardsigmoid
from adjoint.nn.layers.piecewise import Hardswish as Hardswish
from adjoint.nn.layers.piecewise import Hardtanh as Hardtanh
from adjoint.nn.layers.piecewise import LeakyReLU as LeakyReLU
from adjoint.nn.layers.piecewise import PReLU as PReLU
from adjoint.nn.layers.piecewise import ReLU as ReLU
from adjoint.nn.layers.piecewise import ReLU6 as ReLU6
from adjoint.nn.layers.piecewise import RReLU as RReLU
from adjoint.nn.layers.piecewise import Softshrink as Softshrink
from adjoint.nn.layers.piecewise import Threshold as Threshold
from adjoint.nn.layers.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from adjoint.nn.layers.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from adjoint.nn.layers.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from adjoint.nn.layers.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from adjoint.nn.layers.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from adjoint.nn.layers.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from adjoint.nn.layers.pooling import AvgPool1d as AvgPool1d
from adjoint.nn.layers.pooling import AvgPool2d as AvgPool2d
from adjoint.nn.layers.pooling import AvgPool3d as AvgPool3d
from adjoint.nn.layers.pooling import LPPool1d as LPPool1d
from adjoint.nn.layers.pooling import LPPool2d as LPPool2d
from adjoint.nn.layers.pooling import LPPool3d as LPPool3d
from adjoint.nn.layers.pooling import MaxPool1d as MaxPool1d
from adjoint.nn.layers.pooling import MaxPool2d as MaxPool2d
from adjoint.nn.layers.pooling import MaxPool3d as MaxPool3d
from adjoint.nn.layers.pooling import MaxUnpool1d as MaxUnpool1d
from adjoint.nn.layers.pooling import MaxUnpool2d as MaxUnpool2d
from adjoint.nn.layers.pooling import MaxUnpool3d as MaxUnpool3d
from adjoint.nn.layers.recurrent import GRU as GRU
from adjoint.nn.layers.recurrent import LSTM as LSTM
from adjoint.nn.layers.recurrent import RNN as RNN
from adjoint.nn.layers.resizing import CircularPad1d as CircularPad1d
from adjoint.nn.layers.resizing import CircularPad2d as CircularPad2d
from adjoint.nn.layers.resizing import CircularPad3d as CircularPad3d
from adjoint.nn.layers.resizing import ConstantPad1d as ConstantPad1d
from adjoint.nn.layers.resizing import ConstantPad2d as ConstantPad2d
from adjoint.nn.layers.resizing import ConstantPad3d as ConstantPad3d
from adjoint.nn.layers.resizing import Fold as Fold
from adjoint.nn.layers.resizing import PixelShuffle as PixelShuffle
from adjoint.nn.layers.resizing import PixelUnshuffle as PixelUnshuffle
from adjoint.nn.layers.resizing import ReflectionPad1d as ReflectionPad1d
from adjoint.nn.layers.resizing import ReflectionPad2d as ReflectionPad2d
from adjoint.nn.layers.resizing import ReflectionPad3d as ReflectionPad3d
from adjoint.nn.layers.resizing import ReplicationPad1d as ReplicationPad1d
from adjoint.nn.layers.resizing import ReplicationPad2d as ReplicationPad2d
from adjoint.nn.layers.resizing import ReplicationPad3d as ReplicationPad3d
from adjoint.nn.layers.resizing import Unfold as Unfold
from adjoint.nn.layers.resizing import Upsample as Upsample
from adjoint.nn.layers.resizing import UpsamplingBilinear2d as UpsamplingBilinear2d
from adjoint.nn.layers.resizing import UpsamplingNearest2d as UpsamplingNearest2d
from adjoint.nn.layers.resizing import ZeroPad1d as ZeroPad1d
from adjoint.nn.layers.resizing import ZeroPad2d as ZeroPad2d
from adjoint.nn.layers.resizing import ZeroPad3d as ZeroPad3d
from adjoint.nn.layers.transformer import Transformer as Transformer
from adjoint.nn.layers.transformer import TransformerDecoder as TransformerDecoder
from adjoint.nn.layers.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from adjoint.nn.layers.transformer import TransformerEncoder as TransformerEncoder
from adjoint.nn.layers.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from adjoint.nn.losses.basic import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from adjoint.nn.losses.basic import cross_entropy as cross_entropy
from adjoint.nn.losses.basic import huber_loss as huber_loss
from adjoint.nn.losses.basic import l1_loss as l1_loss
from adjoint.nn.losses.basic import mse_loss as mse_loss
from adjoint.nn.module import Module as Module
from adjoint.nn.parameter import Parameter as Parameter

if TYPE_CHECKING:
    from adjoint.ops.neural.signatures import gelu as gelu
    from adjoint.ops.neural.signatures import log_softmax as log_softmax
    from adjoint.ops.neural.signatures import relu as relu
    from adjoint.ops.neural.signatures import sigmoid as sigmoid
    from adjoint.ops.neural.signatures import softmax as softmax
else:
    from adjoint.ops.neural.activation import gelu as gelu
    from adjoint.ops.neural.activation import log_softmax as log_softmax
    from adjoint.ops.neural.activation import relu as relu
    from adjoint.ops.neural.activation import sigmoid as sigmoid
    from adjoint.ops.neural.activation import softmax as softmax

if not TYPE_CHECKING:  # else checkers would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name == "modules":
            from importlib import import_module

            return import_module("adjoint.nn.modules")
        raise looked_up("nn", name)


def __dir__() -> list[str]:
    return _public(globals(), "functional", "init", "utils")
