"""Gradient rules that would ask for values answer cautiously in the turns of a loop, and give what the plain ones give.

Also where a value is singular: all zeros, equal elements, a matrix without an inverse.
"""

import linecache

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SOURCE = """\
def f(x):
    y, s = x[:4] * 1.0, 0.0
    for t in range(40):
        m = np.reshape(np.outer(y, x[4:8]), (4, 4))[:3, :3] + np.eye(3) * x[8]
        s = s + {}
        y = np.tanh(y * 0.7 + x[4:8] * 0.3) * 0.9
    return np.sum(s)
"""
ASKING = [
    "np.prod(y)", "np.sum(np.cumprod(y))", "np.linalg.norm(y)", "np.linalg.norm(m, 2)", "np.max(m)", "np.median(y)",
    "np.std(y)", "np.sum(np.linalg.inv(m))", "np.linalg.det(m)", "np.linalg.slogdet(m)[1]", "np.linalg.cond(m)",
    "np.sum(np.linalg.det(np.stack([m, m + np.eye(3)])))", "np.sum(np.linalg.slogdet(np.stack([m, m * 2.0]))[1])",
    "np.sum(np.linalg.svd(m, compute_uv=False))", "np.sum(np.linalg.pinv(m))", "np.nanmax(y)",
    "np.sum(np.clip(y, 0.0, 0.5))", "np.sum(np.hypot(y, x[4:8]))", "np.sum(np.abs(y) ** x[8])",
]  # fmt: skip
RANDOM = np.random.default_rng(0).normal(size=(3, 9))
POINTS = {
    "other values": RANDOM[1],
    "zeros": np.zeros(9),
    "zeros at first": np.r_[np.zeros(4), RANDOM[2, 4:]],
    "singular": np.r_[RANDOM[2, :8], 0.0],
    "equal": np.ones(9),
}


def outcome(f, x):
    try:
        return f(x)
    except (np.linalg.LinAlgError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("expression", ASKING)
def test_gradients_are_those_of_the_function_as_it_is(expression):
    name, text, scope = f"<rules in turns: {expression}>", SOURCE.format(expression), {"np": np}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), scope)
    plain = ad.grad(scope["f"])
    compiled = ad.compile(plain, wait=True, backend="numpy")
    compiled(RANDOM[0])
    for x in (RANDOM[0], *POINTS.values()):
        expected, found = outcome(plain, x), outcome(compiled, x)
        if isinstance(expected, type):
            assert found is expected
            continue
        scale = np.max(np.abs(expected), initial=1e-12, where=np.isfinite(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * scale)
