"""Averaging weights over a training, by PyTorch's names."""

from adjoint.nn.averages import AveragedModel as AveragedModel
from adjoint.nn.averages import get_ema_avg_fn as get_ema_avg_fn
from adjoint.nn.averages import get_ema_multi_avg_fn as get_ema_multi_avg_fn
from adjoint.nn.averages import get_swa_avg_fn as get_swa_avg_fn
from adjoint.nn.averages import get_swa_multi_avg_fn as get_swa_multi_avg_fn
from adjoint.nn.averages import update_bn as update_bn
from adjoint.optim.lr_scheduler.annealing import SWALR as SWALR
