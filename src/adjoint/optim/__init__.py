"""Optimisers, which write parameters in place; the same as pure functions; schedules, averages, gradient clipping."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.public import public as _public
from adjoint.optim import functional as functional
from adjoint.optim import lr_scheduler as lr_scheduler
from adjoint.optim.adam import Adam as Adam
from adjoint.optim.adam import AdamW as AdamW
from adjoint.optim.adaptive import Adadelta as Adadelta
from adjoint.optim.adaptive import Adagrad as Adagrad
from adjoint.optim.adaptive import RMSprop as RMSprop
from adjoint.optim.classic import ASGD as ASGD
from adjoint.optim.classic import Adafactor as Adafactor
from adjoint.optim.classic import Rprop as Rprop
from adjoint.optim.clip import clip_grad_norm as clip_grad_norm
from adjoint.optim.clip import clip_grad_value as clip_grad_value
from adjoint.optim.directions import Lion as Lion
from adjoint.optim.directions import Muon as Muon
from adjoint.optim.lbfgs import LBFGS as LBFGS
from adjoint.optim.moments import Adamax as Adamax
from adjoint.optim.moments import NAdam as NAdam
from adjoint.optim.moments import RAdam as RAdam
from adjoint.optim.optimizer import Optimizer as Optimizer
from adjoint.optim.pytorch_state import to_pytorch as to_pytorch
from adjoint.optim.sgd import SGD as SGD

if not TYPE_CHECKING:  # else checkers would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name == "swa_utils":  # it loads networks
            return import_module("adjoint.optim.swa_utils")
        raise looked_up("optim", name)


def __dir__() -> list[str]:
    return _public(globals(), "functional", "lr_scheduler", "swa_utils")
