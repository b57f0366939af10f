"""A function with a rule of its own that gives back a view of its argument: a write through it would be lost."""

import numpy as np
import pytest

import adjoint as ad
from tests.fuzz import own

A = np.arange(6.0).reshape(3, 2)
SHOWN = {"same": own.same, "turned": own.turned, "backwards": own.backwards}
MODES = {
    "reverse": lambda f: ad.vjp(f, A),
    "forward": lambda f: ad.jvp(f, (A,), (A,)),
    "samples": lambda f: ad.vmap(f)(np.stack([A, A])),
    "samples of gradients": lambda f: ad.vmap(ad.grad(lambda a: np.sum(f(a))))(np.stack([A, A])),
    "tensors": lambda f: f(ad.tensor(A, requires_grad=True)),
}
WRITES = {
    "item": lambda w: w.__setitem__(0, 7.0),
    "in place": lambda w: w.__iadd__(1.0),
    "out": lambda w: np.add(w, 1.0, out=w),
    "fill": lambda w: w.fill(1.0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SHOWN)
def test_it_is_read_only(name, mode, write):
    def f(a):
        w = SHOWN[name](a * 2)
        WRITES[write](w)
        return w * 1.0

    with pytest.raises(ad.AdjointError, match="read-only"):
        MODES[mode](f)


@pytest.mark.parametrize("name", SHOWN)
def test_a_copy_is_written(name):
    def f(a):
        w = SHOWN[name](a * 2).copy()
        w += a.T[:1, :1]
        return np.sum(w**2)

    wanted = ad.grad(lambda a: np.sum(({"same": a, "turned": a.T, "backwards": a[:, ::-1]}[name] * 2 + a[0, 0]) ** 2))(
        A
    )
    np.testing.assert_allclose(ad.grad(f)(A), wanted, rtol=1e-12)
