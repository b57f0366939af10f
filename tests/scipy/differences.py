"""A function of SciPy's inside transforms against itself outside: values, and derivatives against differences."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import adjoint as ad


def slope(f, x, change, h=1e-4):
    """The derivative of `f` along `change`, by differences of fourth order."""
    return (8 * (f(x + h * change) - f(x - h * change)) - (f(x + 2 * h * change) - f(x - 2 * h * change))) / (12 * h)


def agrees(f, x, rtol=1e-6, second=True, samples=True, value=1e-10, h=1e-4):
    """Hold `f` of an array at `x`: forward, backward, twice, for samples, compiled; and its values.

    Args:
        f: gives an array of real numbers.
        x: an array of float64.
        rtol: by which derivatives may differ, relative to the largest.
        second: whether there is a second derivative to compare.
        samples: whether `vmap` takes it.
        value: by which values may differ.
        h: the step of the differences.
    """
    plain = np.asarray(f(x))
    weights = np.cos(np.arange(plain.size) + 0.3).reshape(plain.shape)
    change = np.sin(np.arange(np.size(x)) + 1.0).reshape(np.shape(x))
    wanted = slope(lambda x: np.asarray(f(x)), x, change, h)
    size = np.max(np.abs(wanted), initial=1e-3)
    found, tangent = ad.jvp(f, (x,), (change,))
    assert_allclose(found, plain, rtol=value, atol=value)
    assert_allclose(tangent, wanted, rtol=0, atol=rtol * size)
    gradient = ad.grad(lambda x: np.sum(f(x) * weights))
    assert_allclose(np.sum(gradient(x) * change), np.sum(wanted * weights), rtol=0, atol=rtol * plain.size * size)
    if second:
        twice = slope(gradient, x, change, h)
        large = max(np.max(np.abs(twice)), size)
        assert_allclose(ad.jvp(gradient, (x,), (change,))[1], twice, rtol=0, atol=rtol * 10 * large)
    if samples:
        many = np.stack([x, x * (1 + 1e-6)])
        assert_allclose(ad.vmap(f)(many), np.stack([f(q) for q in many]), rtol=value, atol=value)
        assert_allclose(ad.vmap(gradient)(many), np.stack([gradient(q) for q in many]), rtol=1e-7, atol=1e-7 * size)
    compiled = ad.compile(gradient)
    for _ in range(2):
        assert_allclose(compiled(x), gradient(x), rtol=1e-8, atol=1e-8 * size)
    assert_allclose(ad.compile(f)(x), plain, rtol=value, atol=value)
