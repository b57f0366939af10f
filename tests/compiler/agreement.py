"""What a compiled function gives, beside what the plain one gives."""

import numpy as np

import adjoint as ad


def outcome(f, *args):
    """What `f` returns, or the class of the error that it raises."""
    try:
        return f(*args)
    except (ValueError, UnboundLocalError, IndexError) as error:
        return type(error)


def assert_near(found, expected):
    """Equal shapes and dtypes; values equal to six digits of the largest, as some compute in single precision."""
    for x, y in zip(found, expected, strict=True):
        x, y = (np.asarray(v.numpy() if isinstance(v, ad.Tensor) else v) for v in (x, y))
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        scale = np.max(np.abs(y), initial=1e-30, where=np.isfinite(y))
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-6 * scale)


def random_points(seed, scales):
    """An array of ten normal numbers for each scale."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=10) * scale for scale in scales]


def assert_compiled_agrees(f, points, backend="numpy", assert_same=lambda x, y: assert_near([x], [y])):
    """At each of the points, `f` compiled gives, as `assert_same` asks, or raises what `f` does."""
    step = ad.compile(f, wait=True, backend=backend)
    for x in points:
        expected, found = outcome(f, x), outcome(step, x)
        if isinstance(expected, type):
            assert found is expected
        else:
            assert_same(found, expected)
