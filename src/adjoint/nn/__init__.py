"""Neural networks: parameters, modules, layers, losses and initial values, by PyTorch's names."""

from __future__ import annotations

from adjoint.nn import functional as functional
from adjoint.nn import init as init
from adjoint.nn.activations import ELU as ELU
from adjoint.nn.activations import GELU as GELU
from adjoint.nn.activations import LeakyReLU as LeakyReLU
from adjoint.nn.activations import ReLU as ReLU
from adjoint.nn.activations import Sigmoid as Sigmoid
from adjoint.nn.activations import SiLU as SiLU
from adjoint.nn.activations import Softmax as Softmax
from adjoint.nn.activations import Softplus as Softplus
from adjoint.nn.activations import Tanh as Tanh
from adjoint.nn.containers import ModuleList as ModuleList
from adjoint.nn.containers import Sequential as Sequential
from adjoint.nn.layers import Dropout as Dropout
from adjoint.nn.layers import Embedding as Embedding
from adjoint.nn.layers import Flatten as Flatten
from adjoint.nn.layers import LayerNorm as LayerNorm
from adjoint.nn.layers import Linear as Linear
from adjoint.nn.losses import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from adjoint.nn.losses import cross_entropy as cross_entropy
from adjoint.nn.losses import huber_loss as huber_loss
from adjoint.nn.losses import l1_loss as l1_loss
from adjoint.nn.losses import mse_loss as mse_loss
from adjoint.nn.module import Module as Module
from adjoint.nn.module import functional_call as functional_call
from adjoint.nn.parameter import Parameter as Parameter
from adjoint.ops.activation import gelu as gelu
from adjoint.ops.activation import log_softmax as log_softmax
from adjoint.ops.activation import relu as relu
from adjoint.ops.activation import sigmoid as sigmoid
from adjoint.ops.activation import softmax as softmax
