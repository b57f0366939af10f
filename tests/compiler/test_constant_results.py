"""Results that do not depend on the arguments: a compiled function in a transform gives them as the plain one does."""

import numpy as np
import pytest

import adjoint as ad

V = np.array([0.1, 0.2, 0.3])
K = ad.tensor(np.array([1.0, 2.0, 3.0]))

FUNCTIONS = {
    "what is stopped": lambda v: ad.stop_gradient(np.cumsum(v**2)) * 2.0,
    "ones": lambda v: np.ones(3),
    "zeros": np.zeros_like,
    "the argument": ad.stop_gradient,
    "beside one that does": lambda v: (ad.stop_gradient(v) * 1.5, v * 2),
    "one number": lambda v: np.sum(ad.stop_gradient(v)),
    "a tensor from outside": lambda v: K * 2.0,
    "rounded": np.round,
}


def summed(f):
    return lambda v: sum(map(np.sum, found)) if isinstance(found := f(v), tuple) else np.sum(found)


USES = {
    "linearize": lambda f, v: ad.linearize(f, v)[0],
    "push": lambda f, v: ad.linearize(f, v)[1](v),
    "vjp": lambda f, v: ad.vjp(f, v)[0],
    "pull": lambda f, v: ad.vjp(lambda v: f(v), v)[0],
    "jvp": lambda f, v: ad.jvp(f, (v,), (v,)),
    "value_and_grad": lambda f, v: ad.value_and_grad(summed(f))(v),
    "twice": lambda f, v: ad.value_and_grad(lambda v: ad.value_and_grad(summed(f))(v)[0])(v),
    "jacobian": lambda f, v: ad.jacobian(f)(v),
    "vmap": lambda f, v: ad.vmap(f)(np.stack([v, 2 * v])),
}


def described(found):
    """Of a tree of results: classes, dtypes, whether they have a history, and numbers."""
    if isinstance(found, tuple):
        return [part for each in found for part in described(each)]
    is_tensor = isinstance(found, ad.Tensor)
    value = found.detach().numpy() if is_tensor else found
    return [is_tensor, type(value), is_tensor and found.requires_grad, value]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_inside_of_transforms(f, use, backend):
    compiled = ad.compile(f, wait=True, backend=backend)
    for k in range(4):
        for a, b in zip(described(use(f, V + k)), described(use(compiled, V + k)), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12) if isinstance(a, np.ndarray | np.generic) else None
            assert isinstance(a, np.ndarray | np.generic) or a is b
