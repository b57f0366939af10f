"""Every public name of PyTorch's, and every argument: it is here, or the error says what to write."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core.messages.keywords import KEYWORDS
from adjoint.core.messages.words import ARGUMENTS
from adjoint.core.op import Op

FOUND = json.loads((Path(__file__).parent / "torch_names.json").read_text())
OBJECTS = {"tensor": ad.tensor(np.ones((2, 2))), "module": nn.ReLU()}
OBJECTS["optimizer"] = optim.SGD([ad.tensor([1.0], requires_grad=True)], lr=1.0)
#: What type checkers and documentation of PyTorch's own need.
HELPERS = {"BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "assert_int_or_pair", "boolean_dispatch",
           "get_swap_module_params_on_conversion", "ModuleList", "PackedSequence_", "Tensor"}  # fmt: skip
#: By PyTorch in all these places; here something else goes before, or there is nothing to choose.
ELSEWHERE = {"size_average", "reduce", "batch_sizes", "data", "sorted_indices", "unsorted_indices", "device", "dtype",
             "inplace", "input", "modules", "out"}  # fmt: skip


def thing(place):
    found = OBJECTS.get(place)
    if found is None:
        found = ad
        for name in place.split("."):
            found = getattr(found, name)
    return found


@pytest.mark.parametrize("place", FOUND["names"])
def test_each_name_is_here_or_is_answered(place):
    silent = []
    for name in set(FOUND["names"][place]) - HELPERS:
        try:
            getattr(thing(place), name)
        except AttributeError as error:
            silent += [] if "Here it is" in str(error) else [name]
    assert not silent


@pytest.mark.parametrize("path", FOUND["keywords"])
def test_each_argument_is_here_or_is_answered(path):
    place, _, name = path.rpartition(".")
    try:
        function = getattr(thing(place), name)
    except AttributeError:
        return  # answered
    if isinstance(function, Op):
        names = {*function.inputs, *function.settings}
    else:
        names = inspect.signature(function).parameters
        if any(p.kind is p.VAR_KEYWORD for p in names.values()):
            return
    unknown = set(FOUND["keywords"][path]) - set(names) - KEYWORDS.keys() - ARGUMENTS.keys() - ELSEWHERE
    assert not unknown
