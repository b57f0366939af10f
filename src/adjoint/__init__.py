"""adjoint: differentiate NumPy programs."""

from __future__ import annotations

import sys as _sys
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as _numpy

from adjoint.core.guests import expect_guests as _expect_guests
from adjoint.core.late import provide as _provide
from adjoint.core.version import VERSION as _VERSION

if TYPE_CHECKING:
    from adjoint import autograd as autograd
    from adjoint import cuda as cuda
    from adjoint import data as data
    from adjoint import distributed as distributed
    from adjoint import fft as fft
    from adjoint import func as func
    from adjoint import linalg as linalg
    from adjoint import nn as nn
    from adjoint import optim as optim
    from adjoint import scipy as scipy
    from adjoint import special as special
    from adjoint import testing as testing
    from adjoint import train as train
    from adjoint import utils as utils
    from adjoint import xp as xp
    from adjoint.compiler.capture import capture as capture
    from adjoint.compiler.facade import compile as compile
    from adjoint.core.constructors import composite as composite
    from adjoint.core.constructors import elementwise as elementwise
    from adjoint.core.constructors import general as general
    from adjoint.core.constructors import linear as linear
    from adjoint.core.constructors import reduction as reduction
    from adjoint.core.errors import AdjointError as AdjointError
    from adjoint.core.errors import AnomalyError as AnomalyError
    from adjoint.core.errors import ArgumentError as ArgumentError
    from adjoint.core.errors import BatchedValueError as BatchedValueError
    from adjoint.core.errors import DataError as DataError
    from adjoint.core.errors import DeviceError as DeviceError
    from adjoint.core.errors import DivergedError as DivergedError
    from adjoint.core.errors import DTypeError as DTypeError
    from adjoint.core.errors import ExprError as ExprError
    from adjoint.core.errors import GradientError as GradientError
    from adjoint.core.errors import GradientMismatchError as GradientMismatchError
    from adjoint.core.errors import GraphError as GraphError
    from adjoint.core.errors import GraphFreedError as GraphFreedError
    from adjoint.core.errors import InPlaceError as InPlaceError
    from adjoint.core.errors import LeakWarning as LeakWarning
    from adjoint.core.errors import LeavesGraphError as LeavesGraphError
    from adjoint.core.errors import NotDifferentiableError as NotDifferentiableError
    from adjoint.core.errors import NotRunError as NotRunError
    from adjoint.core.errors import NotSupportedError as NotSupportedError
    from adjoint.core.errors import ReadOnlyError as ReadOnlyError
    from adjoint.core.errors import RuleError as RuleError
    from adjoint.core.errors import ShapeError as ShapeError
    from adjoint.core.leaks.notes import leaks as leaks
    from adjoint.core.op import call as call
    from adjoint.core.rules.pullbacks import NotDifferentiable as NotDifferentiable
    from adjoint.core.threads.scheduler import Future as Future
    from adjoint.expressions import Expr as Expr
    from adjoint.expressions import expr as expr
    from adjoint.graph import Graph as Graph
    from adjoint.io.pytorch_names import load as load
    from adjoint.io.pytorch_names import save as save
    from adjoint.native.call.pool import set_threads as set_threads
    from adjoint.ops.neural.signatures import elu as elu
    from adjoint.ops.neural.signatures import gelu as gelu
    from adjoint.ops.neural.signatures import hardtanh as hardtanh
    from adjoint.ops.neural.signatures import leaky_relu as leaky_relu
    from adjoint.ops.neural.signatures import log_softmax as log_softmax
    from adjoint.ops.neural.signatures import logsumexp as logsumexp
    from adjoint.ops.neural.signatures import name as name
    from adjoint.ops.neural.signatures import prelu as prelu
    from adjoint.ops.neural.signatures import relu as relu
    from adjoint.ops.neural.signatures import relu6 as relu6
    from adjoint.ops.neural.signatures import sigmoid as sigmoid
    from adjoint.ops.neural.signatures import silu as silu
    from adjoint.ops.neural.signatures import softmax as softmax
    from adjoint.ops.neural.signatures import softplus as softplus
    from adjoint.ops.neural.signatures import softsign as softsign
    from adjoint.pictures.adjoint_program import adjoint_source as adjoint_source
    from adjoint.pictures.picture import show as show
    from adjoint.tape.checkpoints.checkpoint import checkpoint as checkpoint
    from adjoint.tape.checkpoints.checkpoint import checkpoint_sequential as checkpoint_sequential
    from adjoint.tape.checkpoints.policies import save_everything as save_everything
    from adjoint.tape.checkpoints.policies import save_matmuls as save_matmuls
    from adjoint.tape.checkpoints.policies import save_nothing as save_nothing
    from adjoint.tape.checkpoints.policies import save_only_names as save_only_names
    from adjoint.tape.checkpoints.scan import checkpoint_scan as checkpoint_scan
    from adjoint.tape.creation import arange as arange
    from adjoint.tape.creation import as_tensor as as_tensor
    from adjoint.tape.creation import device as device
    from adjoint.tape.creation import empty as empty
    from adjoint.tape.creation import empty_like as empty_like
    from adjoint.tape.creation import eye as eye
    from adjoint.tape.creation import from_numpy as from_numpy
    from adjoint.tape.creation import full as full
    from adjoint.tape.creation import full_like as full_like
    from adjoint.tape.creation import is_tensor as is_tensor
    from adjoint.tape.creation import linspace as linspace
    from adjoint.tape.creation import ones as ones
    from adjoint.tape.creation import ones_like as ones_like
    from adjoint.tape.creation import zeros as zeros
    from adjoint.tape.creation import zeros_like as zeros_like
    from adjoint.tape.custom import op as op
    from adjoint.tape.modes import enable_grad as enable_grad
    from adjoint.tape.modes import inference_mode as inference_mode
    from adjoint.tape.modes import is_grad_enabled as is_grad_enabled
    from adjoint.tape.modes import no_grad as no_grad
    from adjoint.tape.modes import set_grad_enabled as set_grad_enabled
    from adjoint.tape.observers.anomaly import detect_anomaly as detect_anomaly
    from adjoint.tape.observers.hooks import save_as as save_as
    from adjoint.tape.observers.hooks import save_on_disk as save_on_disk
    from adjoint.tape.observers.hooks import saved_tensors_hooks as saved_tensors_hooks
    from adjoint.tape.observers.lines import source_lines as source_lines
    from adjoint.tape.observers.saved import saved as saved
    from adjoint.tape.observers.trace import trace_backward as trace_backward
    from adjoint.tape.tasks.asynchronous import asynchronous as asynchronous
    from adjoint.tape.tensor import Tensor as Tensor
    from adjoint.tape.tensor import tensor as tensor
    from adjoint.tape.writes.foreign import exact_checks as exact_checks
    from adjoint.transforms.batch import vmap as vmap
    from adjoint.transforms.custom import custom_jvp as custom_jvp
    from adjoint.transforms.custom import custom_vjp as custom_vjp
    from adjoint.transforms.custom import stop_gradient as stop_gradient
    from adjoint.transforms.forward import hvp as hvp
    from adjoint.transforms.forward import jvp as jvp
    from adjoint.transforms.forward import linearize as linearize
    from adjoint.transforms.implicit import fixed_point as fixed_point
    from adjoint.transforms.implicit import implicit_root as implicit_root
    from adjoint.transforms.jacobians import hessian as hessian
    from adjoint.transforms.jacobians import jacfwd as jacfwd
    from adjoint.transforms.jacobians import jacobian as jacobian
    from adjoint.transforms.jacobians import jacrev as jacrev
    from adjoint.transforms.linear_solve import custom_linear_solve as custom_linear_solve
    from adjoint.transforms.reverse import grad as grad
    from adjoint.transforms.reverse import value_and_grad as value_and_grad
    from adjoint.transforms.reverse import vjp as vjp
    from adjoint.transforms.sparse import sparse_hessian as sparse_hessian
    from adjoint.transforms.sparse import sparse_jacobian as sparse_jacobian
    from adjoint.transforms.sparse import sparsity as sparsity
    from adjoint.twin.follow import differentiable as differentiable
    from adjoint.twin.policy import through as through
    from adjoint.xp import from_dlpack as from_dlpack

__version__ = _VERSION
_ROOMS = frozenset(
    {"autograd", "cuda", "data", "distributed", "fft", "func", "io", "linalg", "nn", "optim", "scipy", "special"}
    | {"testing", "train", "utils", "xp"}
)
_FUNCTIONS = frozenset(
    {"elu", "gelu", "hardtanh", "leaky_relu", "log_softmax", "logsumexp", "name", "prelu", "relu", "relu6"}
    | {"sigmoid", "silu", "softmax", "softplus", "softsign"}
)
# The names that load when they are first asked for, by their modules.
_NAMES = {
    "adjoint.compiler.capture": "capture",
    "adjoint.compiler.facade": "compile",
    "adjoint.core.constructors": "composite elementwise general linear reduction",
    "adjoint.core.errors": (
        "AdjointError AnomalyError ArgumentError BatchedValueError DataError DeviceError DivergedError DTypeError "
        "ExprError GradientError GradientMismatchError GraphError GraphFreedError InPlaceError LeakWarning "
        "LeavesGraphError NotDifferentiableError NotRunError NotSupportedError ReadOnlyError RuleError ShapeError"
    ),
    "adjoint.core.leaks.notes": "leaks",
    "adjoint.core.op": "call",
    "adjoint.core.rules.pullbacks": "NotDifferentiable",
    "adjoint.core.threads.scheduler": "Future",
    "adjoint.expressions": "Expr expr",
    "adjoint.graph": "Graph",
    "adjoint.io.pytorch_names": "load save",
    "adjoint.native.call.pool": "set_threads",
    "adjoint.pictures.adjoint_program": "adjoint_source",
    "adjoint.pictures.picture": "show",
    "adjoint.tape.checkpoints.checkpoint": "checkpoint checkpoint_sequential",
    "adjoint.tape.checkpoints.policies": "save_everything save_matmuls save_nothing save_only_names",
    "adjoint.tape.checkpoints.scan": "checkpoint_scan",
    "adjoint.tape.creation": (
        "arange as_tensor device empty empty_like eye from_numpy full full_like is_tensor linspace ones ones_like "
        "zeros zeros_like"
    ),
    "adjoint.tape.custom": "op",
    "adjoint.tape.modes": "enable_grad inference_mode is_grad_enabled no_grad set_grad_enabled",
    "adjoint.tape.observers.anomaly": "detect_anomaly",
    "adjoint.tape.observers.hooks": "save_as save_on_disk saved_tensors_hooks",
    "adjoint.tape.observers.lines": "source_lines",
    "adjoint.tape.observers.saved": "saved",
    "adjoint.tape.observers.trace": "trace_backward",
    "adjoint.tape.tasks.asynchronous": "asynchronous",
    "adjoint.tape.tensor": "Tensor tensor",
    "adjoint.tape.writes.foreign": "exact_checks",
    "adjoint.transforms.batch": "vmap",
    "adjoint.transforms.custom": "custom_jvp custom_vjp stop_gradient",
    "adjoint.transforms.forward": "hvp jvp linearize",
    "adjoint.transforms.implicit": "fixed_point implicit_root",
    "adjoint.transforms.jacobians": "hessian jacfwd jacobian jacrev",
    "adjoint.transforms.linear_solve": "custom_linear_solve",
    "adjoint.transforms.reverse": "grad value_and_grad vjp",
    "adjoint.transforms.sparse": "sparse_hessian sparse_jacobian sparsity",
    "adjoint.twin.follow": "differentiable",
    "adjoint.twin.policy": "through",
    "adjoint.xp": "from_dlpack",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_NUMPYS = frozenset(
    {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128"}
    | {"pi", "e", "inf", "nan", "newaxis", "finfo", "iinfo", "dtype"}
)
_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
_provide(
    {
        "array namespace": "adjoint.xp",
        "clipping by norm": "adjoint.optim.clip:scaled_to_norm",
        "clipping by value": "adjoint.optim.clip:clip_grad_value",
        "tensors": "adjoint.tape.tensor:Tensor",
        "arrays of cupy": "adjoint.arrays.cupy:BACKEND",
        "arrays of dask": "adjoint.arrays.dask:BACKEND",
        "native function": "adjoint.compiler.plain:native_function",
        "native operation": "adjoint.native.operations:native_operation",
        "compiled page": "adjoint.pictures:compiled_page",
        "operations": "adjoint.ops",
        "page": "adjoint.pictures:page",
        "reading": "adjoint.twin.syntax.reading:only_reads",
        "scipy": "adjoint.scipy",
        "sentences": "adjoint.core.messages.elsewhere_modules:MODULES",
        "warn at each call": "adjoint.graph.captures.record:warn_at_each_call",
    }
)


def _load_first() -> None:
    """Load operations and tensors, which whatever is asked of the library needs."""
    from adjoint.core.threads.collector import all_stays

    with all_stays():
        import_module("adjoint.ops")
        import_module("adjoint.tape.tensor")


if not TYPE_CHECKING:  # else checkers would accept every misspelt name

    def __getattr__(name: str) -> object:
        """Everything loads on first use; every operation is also ``ad.<name>``."""
        if name == "__all__":
            return sorted(_HOMES)
        if name[:2] != "__" and "adjoint.tape.tensor" not in _sys.modules:
            _load_first()
        if name in _ROOMS:
            return import_module(f"adjoint.{name}")
        if (home := _HOMES.get(name)) is not None:
            globals()[name] = found = getattr(import_module(home), name)
            return found
        from adjoint.core.registry import by_any_name

        if name in _NUMPYS:  # before operations: ``ad.fft.fft(t)``
            return getattr(_numpy, name)
        if not name.startswith("_"):
            if f"adjoint.{name}" in _sys.modules:  # a room that has just been loaded
                return _sys.modules[f"adjoint.{name}"]
            try:
                return by_any_name(name)
            except KeyError:
                pass
        if name in _DTYPES:
            return getattr(_numpy, _DTYPES[name])
        if name == "Size":  # what shapes are
            return tuple
        from adjoint.core.messages.elsewhere import looked_up

        raise looked_up("adjoint", name)


def __dir__() -> list[str]:
    """What users use: no rooms that only adjoint uses, and no operations that NumPy has under the same name."""
    own = {name for name in globals() if name[:2] == "__"}
    return sorted(own | {*_HOMES, *_ROOMS, *_FUNCTIONS})


_expect_guests({"einops._backends": "adjoint.xp.einops"})
