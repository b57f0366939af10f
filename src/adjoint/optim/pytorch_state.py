"""States of optimisers in PyTorch's form, which knows parameters by whole numbers and calls the moments otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Value

_MOMENTS = {"exp_avg": "mean", "exp_avg_sq": "square", "max_exp_avg_sq": "most", "step": "step"}
_LEFT_OUT = ("step", "eta", "mu")  # where they follow from the number of steps

#: For each optimiser, PyTorch's name of each part of the state, and ours.
NAMES: dict[str, dict[str, str]] = {
    "SGD": {"momentum_buffer": "momentum"},
    "Muon": {"momentum_buffer": "mean"},
    "Adam": _MOMENTS,
    "AdamW": _MOMENTS,
    "RAdam": _MOMENTS,
    "NAdam": {**_MOMENTS, "mu_product": "product"},
    "Adamax": {"exp_avg": "mean", "exp_inf": "square", "step": "step"},
    "RMSprop": {"square_avg": "square", "momentum_buffer": "momentum", "grad_avg": "mean"},
    "Adagrad": {"sum": "sum", "step": "step"},
    "Adadelta": {"square_avg": "square", "acc_delta": "moved"},
    "Adafactor": {"row_var": "rows", "col_var": "columns", "variance": "square", "step": "step"},
    "ASGD": {"ax": "mean", "step": "step"},
    "Rprop": {"prev": "before", "step_size": "size"},
}


def is_of_pytorch(state: Mapping[str, Value]) -> bool:
    """Whether a state names the parameters of its groups, as PyTorch's does."""
    return all("params" in group for group in state["param_groups"])


def from_pytorch(name: str, state: Mapping[str, Value]) -> dict[str, Value]:
    """What `Optimizer.state_dict` of the optimiser `name` would have given, for what PyTorch's gave.

    Raises:
        ArgumentError: if the state has parts that this optimiser does not have.
    """
    ours, known = {}, NAMES.get(name)
    if known is None:
        raise ArgumentError(f"load_state_dict: {name} keeps another state than PyTorch's; begin with a new one")
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    steps = [0]
    for number, parts in state["state"].items():
        steps.append(int(parts.get("step", 1)))
        found = {part: value for part, value in parts.items() if value is not None}
        if unknown := found.keys() - known.keys() - set(_LEFT_OUT):
            raise ArgumentError(f"load_state_dict: the state of {name} has no {', '.join(sorted(unknown))}")
        ours[str(numbers.index(number))] = {
            known[part]: np.array(int(value), np.int64) if part == "step" else _array(value)
            for part, value in found.items()
            if part in known
        }
    groups = [
        {name: value for name, value in group.items() if name != "params"} | {"count": len(group["params"])}
        for group in state["param_groups"]
    ]
    return {"steps": max(steps), "state": ours, "param_groups": groups}


def _array(value: Array) -> np.ndarray:
    """A tensor of PyTorch's, or an array, as an array of its own."""
    return np.array(value.detach().cpu() if hasattr(value, "detach") else value)
