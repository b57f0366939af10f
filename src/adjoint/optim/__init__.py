"""Optimisers, which write parameters in place; the same as pure functions; and gradient clipping."""

from __future__ import annotations

from adjoint.optim import functional as functional
from adjoint.optim.adam import Adam as Adam
from adjoint.optim.adam import AdamW as AdamW
from adjoint.optim.clip import clip_grad_norm as clip_grad_norm
from adjoint.optim.clip import clip_grad_value as clip_grad_value
from adjoint.optim.optimizer import Optimizer as Optimizer
from adjoint.optim.sgd import SGD as SGD
