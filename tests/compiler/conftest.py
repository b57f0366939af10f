"""What the tests of compiled functions share."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim


def copies(*things):
    """All that can be seen of modules, tensors and optimisers."""
    for thing in things:
        if isinstance(thing, nn.Module):
            yield from copies(*thing.parameters(), *thing.buffers())
        elif isinstance(thing, optim.Optimizer):
            kept = thing.state_dict()
            yield kept["steps"]
            yield from (np.array(x) for state in kept["state"].values() for x in state.values())
        else:
            has = isinstance(thing, ad.Tensor) and thing.is_leaf and thing.requires_grad and thing.grad is not None
            yield np.array(thing.data)
            yield np.array(thing.grad.data) if has else None


@pytest.fixture(params=["numpy", "native"])
def both(request):
    """Runs a story, which yields what can be seen at each point, as it is and compiled; both see the same.

    Gives the functions that it compiled.
    """

    def run(story):
        made = []

        def compiled(f):
            made.append(ad.compile(f, wait=True, backend=request.param))
            return made[-1]

        for a, b in zip(story(lambda f: f), story(compiled), strict=True):
            a, b = list(copies(*a)), list(copies(*b))
            assert [x is None for x in a] == [x is None for x in b]
            for x, y in zip(a, b, strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-13) if x is not None else None
        return made

    return run
