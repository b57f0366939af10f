"""PyTorch's `torch.autograd`: gradients of results that exist already, and in `functional` those of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.tape.autograd import backward as backward
from adjoint.tape.autograd import grad as grad
from adjoint.tape.modes import enable_grad as enable_grad
from adjoint.tape.modes import no_grad as no_grad
from adjoint.tape.modes import set_grad_enabled as set_grad_enabled
from adjoint.tape.observers.anomaly import detect_anomaly as detect_anomaly

if TYPE_CHECKING:
    from adjoint.autograd import functional as functional
    from adjoint.autograd.function import AutogradFunction

    Function = AutogradFunction


def __getattr__(name: str) -> object:
    if name == "functional":
        from importlib import import_module

        return import_module("adjoint.autograd.functional")
    if name == "Function":
        from adjoint.autograd.function import AutogradFunction

        return AutogradFunction
    raise looked_up("autograd", name)
