"""PyTorch's public names and the arguments of its functions: into `tests/habits/torch_names.json`.

Needs the extra `bench`. ``python scripts/torch_names.py``
"""

import inspect
import json
from importlib import import_module
from pathlib import Path

import torch

OUT = Path(__file__).parents[1] / "tests/habits/torch_names.json"
MODULES = {
    "nn": "torch.nn",
    "nn.functional": "torch.nn.functional",
    "nn.init": "torch.nn.init",
    "nn.utils": "torch.nn.utils",
    "nn.utils.parametrizations": "torch.nn.utils.parametrizations",
    "nn.utils.parametrize": "torch.nn.utils.parametrize",
    "nn.utils.rnn": "torch.nn.utils.rnn",
    "optim": "torch.optim",
    "optim.lr_scheduler": "torch.optim.lr_scheduler",
    "data": "torch.utils.data",
}
OBJECTS = {"tensor": torch.ones(2, 2), "module": torch.nn.ReLU(), "optimizer": torch.optim.SGD([torch.ones(1)], lr=1.0)}


def own(module, name):
    """Whether a name of a module is PyTorch's, and neither a helper that it imports nor a text."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        return value.__name__.startswith(module.__name__ + ".")
    home = getattr(value, "__module__", None) or ""
    return callable(value) and (home.startswith(module.__name__) or home in ("torch._C._nn", "torch"))


def arguments(function):
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in given if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name[:1] != "_"]


def main():
    names, keywords = {}, {}
    for ours, theirs in MODULES.items():
        module = import_module(theirs)
        exported = getattr(module, "__all__", ())
        names[ours] = sorted(n for n in dir(module) if n[:1] != "_" and (n in exported or own(module, n)))
        for name in names[ours]:
            value = getattr(module, name)
            if found := arguments(value) if callable(value) else []:
                keywords[f"{ours}.{name}"] = found
    for kind, thing in OBJECTS.items():
        names[kind] = sorted(n for n in dir(thing) if n[:1] != "_")
    OUT.write_text(json.dumps({"names": names, "keywords": keywords}, indent=0) + "\n")
    print({place: len(found) for place, found in names.items()}, len(keywords), "by PyTorch", torch.__version__)


if __name__ == "__main__":
    main()
