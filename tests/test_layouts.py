"""Results lie in memory as NumPy's do, whatever the order of the argument's axes, repeated ones included."""

import numpy as np
import pytest

import adjoint as ad
from tests.fuzz.programs import made

ALONG = """
np.sum(x, axis=k)
np.sum(x, axis=k, keepdims=True)
np.mean(x, axis=k)
np.max(x, axis=k)
np.var(x, axis=k)
np.prod(x, axis=k)
np.median(x, axis=k)
np.quantile(x, 0.3, axis=k)
np.percentile(x, [10, 30], axis=k)
np.ptp(x, axis=k)
np.linalg.norm(x, axis=k)
np.average(x, axis=k)
np.nansum(x, axis=k)
np.nanmean(x, axis=k)
np.nanmax(x, axis=k)
np.nanquantile(x, 0.2, axis=k)
np.argmax(x, axis=k)
np.argsort(x, axis=k)
np.any(x > 1.0, axis=k)
np.cumsum(x, axis=k)
np.nancumsum(x, axis=k)
np.cumulative_sum(x, axis=k)
np.maximum.accumulate(x, axis=k)
np.subtract.accumulate(x, axis=k)
np.add.reduceat(x, [1, 0], axis=k)
np.hypot.reduce(x, axis=k)
np.logaddexp.reduce(x, axis=k)
np.diff(x, axis=k)
np.sort(x, axis=k)
np.partition(x, 1, axis=k)
np.fft.fft(x, axis=k)
np.fft.irfft(x, axis=k)
np.trapezoid(x, axis=k)
np.gradient(x, axis=k)
np.roll(x, 1, k)
np.take(x, [0, 1], axis=k)
np.take_along_axis(x, np.argsort(x, axis=k), axis=k)
np.compress([True, False], x, axis=k)
np.repeat(x, 2, axis=k)
np.delete(x, 0, axis=k)
np.insert(x, 0, 1.0, axis=k)
np.concatenate([x, x], axis=k)
np.stack([x, x], axis=k)
np.array([x, x])
np.unwrap(x, axis=k)
np.apply_along_axis(np.cumsum, k, x)
np.apply_over_axes(np.sum, x, [k])
""".strip().splitlines()

WHOLE = """
np.sin(x)
np.clip(x, 0.6, 1.0)
np.where(x > 1.0, x, 2.0)
np.round(x, 1)
np.round(x)
np.nan_to_num(x)
np.interp(x, [0.0, 2.0], [1.0, 2.0])
np.piecewise(x, [x < 1.0], [np.sin, np.cos])
np.select([x < 1.0], [x], 3.0)
np.choose((x > 1.0) * 1, [x, 2.0 * x])
np.vectorize(lambda q: q * 2.0)(x)
np.frompyfunc(lambda q: q * 2.0, 1, 1)(x).astype(float)
np.zeros_like(x) + x
np.full_like(x, x[0, 0, 0])
np.copy(x)
np.polyval([1.0, 2.0], x)
np.i0(x)
np.sinc(x)
np.modf(x)[0]
np.divmod(x, 0.7)[1]
np.triu(x)
np.kron(x, x)
np.tile(x, 2)
np.pad(x, 1)
np.cross(np.moveaxis(x, 1, -1), [1.0, 2.0, 3.0])
np.inner(x[0], 2.0)
np.dot(0.5, x[..., 0])
np.einsum("ijk->kji", x) * 1.0
np.einsum("ijk,ijk->kj", x, x)
np.fft.fft2(x)
np.linspace(x, 2.0 * x, 3)
x.astype(np.float32)
x[[0, 1, 0]]
x[:, [0, 1]]
x[..., [0, 1]]
""".strip().splitlines()

LAYOUTS = {
    "C": lambda x: np.copy(x, order="C"),
    "F": np.asfortranarray,
    "first two axes exchanged": lambda x: np.copy(x.swapaxes(0, 1), order="C").swapaxes(0, 1),
    "last two axes exchanged": lambda x: np.copy(x.swapaxes(1, 2), order="C").swapaxes(1, 2),
    "turned": lambda x: np.copy(x.transpose(1, 2, 0), order="C").transpose(2, 0, 1),
    "backward": lambda x: np.copy(x[::-1], order="F")[::-1],
    "first axis repeated": lambda x: np.broadcast_to(x[:1], x.shape),
    "second axis repeated": lambda x: np.broadcast_to(x[:, :1], x.shape),
}
X = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3, 4))


def order(x):
    """Which axis goes in larger steps than which other."""
    x = np.asarray(x)
    axes = [i for i in range(x.ndim) if x.shape[i] > 1]
    return [(i, j) for i in axes for j in axes if abs(x.strides[i]) > abs(x.strides[j])]


def lying(f, run):
    """How what `f` gives inside `run` lies."""
    seen = []

    def watched(x):
        y = f(x)
        seen.append(order(y.lies() if hasattr(y, "lies") else y))
        return y

    run(watched)
    return seen[0]


@pytest.mark.parametrize("text", ALONG + WHOLE)
def test_results_lie_as_numpys(text):
    for k in range(3) if text in ALONG else [0]:
        f = made(f"def f(x, k={k}):\n    return {text}\n")
        for name, laid in LAYOUTS.items():
            x = laid(X)
            wanted = order(f(x))
            assert lying(f, lambda g, x=x: ad.vjp(g, x)) == wanted, (name, k)
            assert lying(f, lambda g, x=x: ad.jvp(g, (x,), (X,))) == wanted, (name, k)
            if "repeated" not in name:  # of stacks, each sample is one as NumPy makes it
                stack = np.stack([x, x])
                assert lying(f, lambda g, stack=stack: ad.vmap(g)(stack)) == order(f(stack[0])), (name, k)
                last = np.stack([x, x], axis=-1)
                at_end = lying(f, lambda g, last=last: ad.vmap(g, in_axes=-1)(last))
                assert at_end == order(f(last[..., 0])), (name, k)


@pytest.mark.parametrize("text", ["x.copy()", "np.ascontiguousarray(x)", "np.asarray(x, order='C')", "np.copy(x)"])
def test_compiled_copies_lie_as_numpys(text):
    f = made(f"def f(x):\n    return {text}\n")
    native = ad.compile(f, wait=True)
    for name, laid in LAYOUTS.items():
        for _ in range(3):
            assert order(native(laid(X))) == order(f(laid(X))), name
