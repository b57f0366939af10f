"""Functions on a model's parameters: clipping, all of them as one vector, parametrisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.nn.utils import parametrizations as parametrizations
from adjoint.nn.utils import parametrize as parametrize
from adjoint.nn.utils import rnn as rnn
from adjoint.nn.utils.vectors import clip_grad_norm_ as clip_grad_norm_
from adjoint.nn.utils.vectors import clip_grad_value_ as clip_grad_value_
from adjoint.nn.utils.vectors import clip_grads_with_norm_ as clip_grads_with_norm_
from adjoint.nn.utils.vectors import get_total_norm as get_total_norm
from adjoint.nn.utils.vectors import parameters_to_vector as parameters_to_vector
from adjoint.nn.utils.vectors import vector_to_parameters as vector_to_parameters

if not TYPE_CHECKING:  # else checkers would accept every misspelt name

    def __getattr__(name: str) -> object:
        raise looked_up("nn.utils", name)
