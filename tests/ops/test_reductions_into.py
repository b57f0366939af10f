"""Every reduction with ``out=`` of another dtype, ``initial=``, ``where=`` and ``dtype=``: in NumPy's steps."""

import itertools
import re

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads
from tests.fuzz.programs import made as function_of

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy's, of what overflows or loses an imaginary part

SUMS = "sum prod nansum nanprod"
MEANS = "mean var std nanmean nanvar nanstd"
EXTREMES = "max min nanmax nanmin"
STARTS = ("1.1", "3", "True", "np.float32(1.1)")
UFUNCS = "add multiply maximum minimum logaddexp"
FRACTIONS = ("0.3", "1", "[0.3, 0.6]", "np.float32(0.3)", "np.array([0.3])")
METHODS = ("linear", "hazen", "nearest", "averaged_inverted_cdf")
CALLS = [
    *(f"np.{f}(x, 0, out=o)" for f in f"{SUMS} {MEANS} {EXTREMES} cumsum cumprod nancumsum nancumprod ptp".split()),
    *(f"np.{f}(x, 0, out=o)" for f in ["median", "nanmedian", "any", "all", "argmax", "argmin"]),
    *(f"np.{f}(x, 0, out=o, initial={n})" for f in f"{SUMS} {EXTREMES}".split() for n in STARTS),
    *(f"np.{f}(x, 0, out=o, initial=1.1, where=m)" for f in f"{SUMS} max min".split()),
    *(f"np.{f}(x, 0, out=o, where=m)" for f in f"{SUMS} {MEANS}".split()),
    *(f"np.{f}(x, 0, np.{d}, o)" for f in f"{SUMS} {MEANS}".split() for d in ("float16", "float32", "float64")),
    *(f"np.{f}.reduce(x, 0, out=o)" for f in UFUNCS.split()),
    *(f"np.{f}.reduce(x, 0, out=o, initial=1.1)" for f in UFUNCS.split()),
    *(f"np.{f}.reduce(x, 0, np.float32, out=o, initial=1.1)" for f in UFUNCS.split()),
    *(f"np.{f}.accumulate(x, 0, out=o)" for f in UFUNCS.split()),
    *(f"np.{f}.reduceat(x, [0, 1], 0, out=o)" for f in ["add", "multiply", "maximum", "minimum"]),
    *(f"np.quantile(x, {q}, 0, o, method={m!r})" for q in FRACTIONS for m in METHODS),
    *(f"np.nanquantile(x, {q}, 0, o, method={m!r})" for q in FRACTIONS for m in METHODS),
    *(f"np.{f}(x, {q}, 0, o)" for q in FRACTIONS for f in ("percentile", "nanpercentile")),
    *(f"np.cumulative_{f}(x, axis=0, out=o)" for f in ("sum", "prod")),
    "np.trace(x[:4], out=o)",
]
GIVEN = ["float16", "float32", "float64", "complex64", "complex128", "int8", "int64", "uint8", "bool"]
WRITTEN = (None, *["float16", "float32", "float64", "complex64", "complex128", "int8", "int64"])
SHAPES = ((7, 4), (9,))
X = np.array([[0.5, 1.5, 0.25], [-0.75, 2.0, 1.25]])
SELDOM = re.compile(r"np\.float32\(|True|argm|initial=3|np\.array|hazen|\(x, 1|nan.*(nearest|0\.6)|float(16|64), o")
RECORDED = [text for text in CALLS if not SELDOM.search(text)]


def data(dtype, shape):
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 5, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def made(text, x, mask, out):
    try:
        return eval(text, {"np": np, "x": x, "m": mask, "o": out})
    except (TypeError, ValueError) as error:
        return error


def cells(text):
    """Arrays, masks, and what NumPy leaves in an array of each dtype, or the error that it raises."""
    for given, written, shape in itertools.product(GIVEN, WRITTEN, SHAPES):
        x, mask = data(given, shape), np.random.default_rng(1).random(shape) < 0.6
        if "trace" in text and len(shape) < 2:
            continue
        there = made(text, x.real.astype(float), mask, None)
        out = None if written is None else np.zeros(np.shape(there), written)
        if out is not None and x.dtype.kind == "c" and out.dtype.kind != "c":
            continue  # refused: an imaginary part is not dropped silently
        wanted = made(text, x, mask, out)
        if out is None or isinstance(wanted, Exception) or out is wanted:
            yield x, mask, written, np.shape(there), wanted


def same(found, wanted, text, x, inside=float):
    """Compare, with the rounding errors of the dtypes of all steps; native code rounds less often in half precision."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), (x.dtype, wanted.dtype)
    if wanted.dtype.kind not in "fc":
        close = 0 if wanted.dtype.kind == "b" else 1  # what is rounded may be cut off elsewhere
        assert np.all(np.abs(found.astype(int) - wanted.astype(int)) <= close), (x.dtype, wanted.dtype)
        return
    # Steps in between have the precision of the numbers, or that of `dtype=`.
    steps = [wanted.dtype, inside, *(np.dtype(d) for d in ("float16", "float32") if f"np.{d}" in text)]
    steps += (
        [x.dtype] if x.dtype.kind in "fc" and ("where" in text or x.dtype.kind == "c" or "logaddexp" in text) else []
    )
    eps = max(np.finfo(d).eps for d in steps)
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    tolerance = (8 if "logaddexp" in text or "reduceat" in text else 4) * eps * scale  # in other orders
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance, err_msg=f"{x.dtype} into {wanted.dtype}")


@pytest.mark.parametrize("text", CALLS)
def test_eager_results_are_numpys(text):
    for x, mask, written, shape, wanted in cells(text):
        found = made(text, ad.tensor(x), mask, None if written is None else ad.tensor(np.zeros(shape, written)))
        if isinstance(wanted, Exception):
            assert isinstance(found, Exception), (x.dtype, written, wanted)
        else:
            assert not isinstance(found, Exception), (x.dtype, written, found)
            same(found.detach() if isinstance(found, ad.Tensor) else found, wanted, text, x)


@pytest.mark.parametrize("text", RECORDED)
def test_recorded_results_are_numpys(text):
    """One program writes all cells of floating-point numbers that NumPy allows."""
    lines, arrays, wanted, given = ["def f(m, *xs):"], [], [], None
    for x, mask, written, shape, right in cells(text):
        if x.dtype.char in "efF" and written is not None and x.ndim > 1 and not isinstance(right, Exception):
            k = len(arrays)
            lines += [f"    x, o = xs[{k}], np.zeros({shape}, np.{written})", f"    {text}", f"    o{k} = o"]
            given = mask
            arrays.append(x)
            wanted.append(right)
    lines.append(f"    return {''.join(f'o{k}, ' for k in range(len(arrays)))}")
    f = function_of("\n".join(lines) + "\n")
    compiled = ad.compile(f, wait=True)
    calls = [ad.capture(f, given, *arrays), *[compiled] * 2]
    for call in calls:
        for x, found, right in zip(arrays, call(given, *arrays), wanted, strict=True):
            same(found, right, text, x, x.dtype if x.dtype == np.float16 else right.dtype)


@pytest.mark.parametrize(
    "text", ["np.sum(x, 0, initial=1.5)", "np.prod(x, 0, initial=-2.0)", "np.prod(x, initial=0.5)"]
)
def test_what_sums_begin_with_has_no_part_in_the_gradient(text):
    f = lambda x: eval(text, {"np": np, "x": x})
    x = np.where(X == 0.25, 0.0, X)
    check_grads(f, (x,))
    np.testing.assert_array_equal(ad.vmap(f)(np.stack([x, 2 * x])), np.stack([f(x), f(2 * x)]))


def test_sums_have_a_derivative_by_what_they_begin_with():
    def f(t):
        return np.sum(t * X, initial=t) + np.prod(X * (t / 2), initial=t)

    np.testing.assert_allclose(ad.grad(f)(2.0), np.sum(X) + 1.0 + 7 * np.prod(X))
    np.testing.assert_allclose(ad.jvp(f, (2.0,), (1.0,))[1], np.sum(X) + 1.0 + 7 * np.prod(X))


@pytest.mark.parametrize("name", ["mean", "sum", "prod", "var"])
def test_what_is_added_up_in_another_dtype_lies_as_numpys(name):
    def f(x):
        y = getattr(np, name)(x, axis=1, dtype=np.float64)
        y.ravel()[2] = 7.0
        return y

    x = np.broadcast_to(np.ones((3, 2), np.float32), (2, 3, 2))
    np.testing.assert_array_equal(ad.vjp(f, x)[0], f(x))
