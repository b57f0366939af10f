"""The libraries that are compared, which of them are here, and how each is held to one thread."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

# What a column is called, and the module that it needs.
PEERS = {
    "adjoint": "adjoint",
    "compiled": "adjoint",
    "NumPy": "numpy",
    "PyTorch": "torch",
    "JAX jit": "jax",
    "JAX": "jax",
    "MyGrad": "mygrad",
    "autograd": "autograd",
    "SymPy": "sympy",
    "CasADi": "casadi",
}

# The function of a workload that makes a peer's program.
_MAKERS = {
    "adjoint": "with_adjoint",
    "compiled": "with_compile",
    "NumPy": "by_hand",
    "PyTorch": "with_torch",
    "JAX jit": "with_jit",
    "JAX": "with_jax",
    "MyGrad": "with_mygrad",
    "autograd": "with_autograd",
}

_THREADS = ("OMP", "OPENBLAS", "MKL", "VECLIB", "NUMEXPR")


def one_thread() -> None:
    """Hold every library to one thread. To be called before any of them is imported."""
    for name in _THREADS:
        os.environ[f"{name}_NUM_THREADS" if name != "VECLIB" else "VECLIB_MAXIMUM_THREADS"] = "1"
    os.environ["ADJOINT_THREADS"] = "1"
    os.environ["NPROC"] = "1"  # the size of XLA's thread pool
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    os.environ["JAX_PLATFORMS"] = "cpu"


def installed(peer: str) -> bool:
    """Whether the module of `peer` is here; it is not imported."""
    return find_spec(PEERS[peer]) is not None


def everyone(workload: Mapping[str, Any]) -> dict[str, Any]:
    """The programs of a workload by peer, from the names of its module: ``everyone(globals())``."""
    return {peer: workload[maker] for peer, maker in _MAKERS.items() if maker in workload}


@cache
def load(module: str) -> Any:
    """Import a peer's module, and make it ready to be compared: one thread, double precision allowed."""
    loaded = import_module(module)
    if module == "torch":
        loaded.set_num_threads(1)
    if module == "jax":
        loaded.config.update("jax_enable_x64", True)
    return loaded


def versions(names: Iterable[str]) -> dict[str, str]:
    """The version of each module of `names` that is installed."""
    return {name: version(name) for name in names if find_spec(name) is not None}
