"""States of optimisers in PyTorch's form, which knows parameters by whole numbers and calls the moments otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

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
    for group in state["param_groups"]:
        for number in group["params"] if name == "Rprop" or group.get("dampening") else ():
            kept = ours.get(str(numbers.index(number)), {})
            if moved := kept.keys() & {"momentum", "before"}:  # there is none before the first gradient
                kept["begun"] = np.ones((), kept[moved.pop()].real.dtype)
    groups = [
        {name: value for name, value in group.items() if name != "params"} | {"count": len(group["params"])}
        for group in state["param_groups"]
    ]
    return {"steps": max(steps), "state": ours, "param_groups": groups}


def _array(value: Array) -> np.ndarray:
    """A tensor of PyTorch's, or an array, as an array of its own."""
    return np.array(value.detach().cpu() if hasattr(value, "detach") else value)


def to_pytorch(optimizer: Value, theirs: Value) -> None:
    """Load the state of `optimizer` into PyTorch's of the same kind, which goes on from there.

    Args:
        optimizer: an optimiser of this library.
        theirs: PyTorch's, with the same groups; its parameters have these values already.

    Raises:
        ArgumentError: for an optimiser that keeps another state than PyTorch's, or other groups.

    Example:
        >>> import torch  # doctest: +SKIP
        >>> from adjoint import nn, optim
        >>> ours = optim.Adam(nn.Linear(2, 1).parameters(), lr=0.1)
        >>> optim.to_pytorch(ours, torch.optim.Adam(torch.nn.Linear(2, 1).parameters()))  # doctest: +SKIP
    """
    name = type(optimizer).__name__
    if name not in NAMES or name in ("Adafactor", "Muon") or type(theirs).__name__ != name:
        raise ArgumentError(f"to_pytorch takes PyTorch's {name}, and one whose state is the same there; "
                            f"got {type(theirs).__name__}")  # fmt: skip
    torch: Value = import_module("torch")
    ours, state = optimizer.state_dict(), theirs.state_dict()
    counts, own = ([len(g["params"]) for g in o.param_groups] for o in (optimizer, theirs))
    if counts != own:
        raise ArgumentError(f"to_pytorch: this {name} has groups of {counts} parameters; PyTorch's, of {own}")
    groups = [group for group, count in zip(ours["param_groups"], counts, strict=True) for _ in range(count)]
    for number, kept in ours["state"].items() if optimizer.steps else ():
        parts = {t: torch.from_numpy(np.array(kept[o])) for t, o in NAMES[name].items() if o in kept and t != "step"}
        if not np.any(kept.get("begun", 1)):
            continue  # its first gradient is not dampened
        step = int(kept.get("step", optimizer.steps))
        if name != "SGD":
            parts["step"] = torch.tensor(float(step))
        if name == "ASGD":
            group = groups[int(number)]
            parts["eta"] = torch.tensor(group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"])
            parts["mu"] = torch.tensor(1 / max(1.0, step - group["t0"]))
        state["state"][int(number)] = parts
    for group, settings in zip(state["param_groups"], ours["param_groups"], strict=True):
        group |= {key: value for key, value in settings.items() if key in group}
    theirs.load_state_dict(state)
