"""Activations: rectifiers, sigmoids and their smooth relatives; and softmax.

SciPy is not imported until a function that needs it computes something.
"""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.backend import as_array, surely_all
from adjoint.core.constructors import composite, elementwise, general
from adjoint.core.errors import ArgumentError
from adjoint.core.often import OftenCalled
from adjoint.core.op import Op, call
from adjoint.core.registry import operation
from adjoint.core.rules.choosing import keep_positive, where_positive, where_true
from adjoint.core.rules.pullbacks import added_up
from adjoint.core.types import Array, Axis, Value

_MANY, _SHORT = 4096, 1024  # elements of an array, and at most of a row


def _gate(x: Array, y: Array) -> Array:
    """x where y is positive, 0 elsewhere: chosen, not multiplied, so that nothing infinite leaks through."""
    return where_positive(y, x)


gate: Op = elementwise(
    _gate, name="gate", partials=(lambda g, y: gate(g, y), 0), flags=("selects", "picks", "finite", "array")
)


def _within(g: np.ndarray, saved: tuple[Value, ...]) -> tuple[np.ndarray, ...]:
    """The rule of relu, which saves its result, written into `g`."""
    (out,) = saved
    alike = type(out) is np.ndarray and out.dtype is g.dtype and out.shape == g.shape and g.dtype.char in "fd"
    if alike and out.flags.c_contiguous and g.flags.c_contiguous:
        return (keep_positive(out, g),)
    return (gate(g, out),)


relu = elementwise(
    lambda x: np.maximum(x, 0),
    name="relu",
    vjp=lambda g, out: gate(g, out),
    flags=("idempotent", "real", "selects", "picks", "finite"),
    samples=lambda r: [call(r(3, 4)), call(r())],
    within=_within,
)
relu6 = elementwise(
    lambda x: np.minimum(np.maximum(x, 0), 6),
    name="relu6",
    vjp=lambda g, x: where_true(np.logical_and(np.greater(x, 0), np.less(x, 6)), g),
    domain=(-3, 9),
    flags=("idempotent", "real", "selects", "picks", "finite"),
)


def _sigmoid(x: Array) -> Array:
    return np.exp(np.minimum(x, 0.0)) / (1 + np.exp(0.0 - np.abs(x)))  # no exponential above 1: nothing overflows


sigmoid = elementwise(_sigmoid, name="sigmoid", partial=lambda out: out * (1 - out), flags=("real", "finite"))
softplus = elementwise(
    lambda x: np.logaddexp(x, 0), name="softplus", partial=lambda x: sigmoid(x), flags=("real", "finite")
)
silu = elementwise(
    lambda x: x * _sigmoid(x),
    name="silu",
    partial=lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    flags=("real", "finite"),
)
softsign = elementwise(
    lambda x: x / (1 + np.abs(x)),
    name="softsign",
    partial=lambda x: np.square(1 / (1 + np.abs(x))),  # half precision ends at 65504
    flags=("real", "finite"),
)


def _normal_cdf(x: Array) -> Array:
    from scipy.special import ndtr

    out = ndtr(x)
    return out.astype(x.dtype) if getattr(x, "dtype", None) == np.float16 else out  # x may be one of Python's numbers


gelu_exact = elementwise(
    lambda x: x * _normal_cdf(x),
    name="gelu_exact",
    partial=lambda x: _normal_cdf(x) + x * np.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)),
    flags=("real", "finite"),
)

_SCALE, _CUBIC = math.sqrt(2 / math.pi), 0.044715


def _gelu_tanh_slope(x: Array) -> Array:
    x = np.clip(x, -20, 20)  # the slope is 0 or 1 beyond, where a power may overflow
    t = np.tanh(_SCALE * (x + _CUBIC * x * x * x))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_SCALE * (1 + 3 * _CUBIC * x * x))


gelu_tanh = elementwise(
    lambda x: 0.5 * x * (1 + np.tanh(_SCALE * (x + _CUBIC * x * x * x))),
    name="gelu_tanh",
    partial=_gelu_tanh_slope,
    flags=("real", "finite"),
)


@composite(samples=lambda r: [call(r(3, 4)), call(r(3), approximate="tanh")], errors=lambda r: [call(r(3), "erf")])
def gelu(x: Array, approximate: str = "none") -> Array:
    """The Gaussian error linear unit, x times the normal distribution's cdf (Hendrycks and Gimpel, 2016).

    Args:
        x: real numbers of any shape.
        approximate: ``"none"`` for the exact one, ``"tanh"`` for the paper's approximation.

    Example:
        >>> import adjoint as ad
        >>> ad.grad(ad.gelu)(0.0)
        np.float64(0.5)
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(f'gelu: approximate is "none" or "tanh"; got {approximate!r}')
    return gelu_tanh(x) if approximate == "tanh" else gelu_exact(x)


# Slopes and bounds are arguments like any other: they may be learned.
prelu = elementwise(
    lambda x, slope: np.where(np.greater(x, 0), x, x * slope),
    name="prelu",
    inputs=("x", "slope"),
    partials=(
        lambda g, x, slope: np.where(np.greater(x, 0), g, g * slope),
        lambda g, x: np.where(np.greater(x, 0), 0.0, g * x),
    ),
    flags=("real", "selects", "finite", "array"),
)


@composite(samples=lambda r: [call(r(3, 4)), call(r(3), 0.2)])
def leaky_relu(x: Array, negative_slope: object = 0.01) -> Array:
    """x where it is positive, ``negative_slope * x`` elsewhere; the slope at 0 is `negative_slope`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.leaky_relu(np.array([-2.0, 3.0]), 0.5)
        array([-1.,  3.])
    """
    return prelu(x, negative_slope)


exponential_unit = elementwise(
    lambda x, alpha: np.where(np.greater(x, 0), x, alpha * np.expm1(np.minimum(x, 0))),
    name="exponential_unit",
    inputs=("x", "alpha"),
    partials=(
        lambda g, x, alpha: np.where(np.greater(x, 0), g, g * alpha * np.exp(np.minimum(x, 0))),
        lambda g, x: np.where(np.greater(x, 0), 0.0, g * np.expm1(np.minimum(x, 0))),
    ),
    domain=((-2, 2), (0.5, 2)),
    flags=("real", "selects", "finite", "array"),
)


@composite(samples=lambda r: [call(r(3, 4)), call(r(3), 0.5)])
def elu(x: Array, alpha: Array = 1.0) -> Array:
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al., 2015).

    Example:
        >>> import adjoint as ad
        >>> ad.grad(ad.elu)(0.0)
        np.float64(1.0)
    """
    return exponential_unit(x, alpha)


@composite(samples=lambda r: [call(r(3, 4)), call(r(3), -0.5, 0.7)], errors=lambda r: [call(r(3), 1.0, -1.0)])
def hardtanh(x: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """x, held between two bounds; the slope at both is 0 (`numpy.clip` passes gradients there).

    Raises:
        ArgumentError: if the bounds are not in order.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.hardtanh(np.array([-2.0, 0.5, 2.0]))
        array([-1. ,  0.5,  1. ])
    """
    if not min_val < max_val:
        raise ArgumentError(f"hardtanh: min_val must be below max_val; got {min_val!r} and {max_val!r}")
    return between(x, min_val, max_val)


between = elementwise(
    lambda x, low, high: np.minimum(np.maximum(x, low), high),
    name="between",
    inputs=("x", "low", "high"),
    partials=(
        lambda g, x, low, high: where_true(np.logical_and(np.less(low, x), np.less(x, high)), g),
        lambda g, x, low: where_true(np.less_equal(x, low), g),
        lambda g, x, high: where_true(np.greater_equal(x, high), g),
    ),
    domain=((-2, 2), (-1, -0.5), (0.5, 1)),
    flags=("real", "selects", "picks", "finite"),
)


def has_rows(a: Array, axis: Axis) -> bool:
    """Whether sums along `axis` are those of many short rows of a plain array, one behind the other."""
    if type(a) is not np.ndarray or a.size < _MANY or a.dtype.char not in "fd" or not a.flags.c_contiguous:
        return False
    axis = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
    return axis in (-1, a.ndim - 1) and a.shape[-1] <= _SHORT


def have_rows(a: Array, b: Array, axis: Axis) -> bool:
    """The same of both, whose elements are multiplied."""
    return has_rows(a, axis) and has_rows(b, axis) and a.shape == b.shape and a.dtype == b.dtype


def total(a: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The sum along `axis`; by the faster path for NumPy's arrays."""
    if has_rows(a, axis):
        sums = np.matmul(a, np.ones(a.shape[-1], a.dtype))
        return sums[..., None] if keepdims else sums
    return added_up(a, axis, keepdims)


def total_product(a: Array, b: Array, axis: Axis) -> Array:
    """The sum of ``a * b`` along `axis`, which stays."""
    if have_rows(a, b, axis):
        return np.vecdot(a, b)[..., None]
    return total(a * b, axis=axis, keepdims=True)


def _largest(a: Array, axis: Axis) -> Array:
    """The largest element along `axis`, which stays."""
    if not has_rows(a, axis):
        reduce: Value = np.maximum.reduce if type(a) is np.ndarray else np.max
        return reduce(a, axis=axis, keepdims=True)
    return _ROWS(a, axis=-1, keepdims=True)


def _by_places(a: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    """The largest element of each row, which NumPy finds sooner by its place than as a maximum."""
    places: np.ndarray = np.arange(0, a.size, a.shape[-1]) + a.argmax(axis=-1).ravel()
    return a.reshape(-1).take(places).reshape(*a.shape[:-1], 1)


_ROWS = OftenCalled(_by_places, lambda: operation("reduce_max"))


def shifted(a: Array, axis: Axis) -> Array:
    """`a` less its largest element along `axis`, so that no exponential overflows.

    An infinite element leaves 0 for itself and -inf for the rest: all of the probability is its own.
    A row of nothing but -inf has no largest element, and becomes nan.
    """
    a = a.astype(float) if a.dtype.kind in "iub" else a  # differences of whole numbers wrap
    if a.size == 0:
        return a
    top = _largest(a, axis)
    if surely_all(np.isfinite(top)):
        return a - top
    with np.errstate(invalid="ignore"):
        return np.where(np.equal(a, np.inf), 0, a - top)


@general(
    vjp=lambda g, out, axis: out * (g - total_product(g, out, axis)),
    jvp=lambda t, out, axis: out * (t - total_product(t, out, axis)),
    batch="axes",
    samples=lambda r: [call(r(5)), call(r(3, 4)), call(r(3, 4), axis=0), call(r(2, 3, 4), (0, 2))],
    errors=lambda r: [call(r(3), axis=1)],
    flags=("real", "finite"),
)
def softmax(a: Array, /, axis: Axis = -1) -> Array:
    """exp(a) / sum(exp(a)) along `axis`, for numbers of any size; the shape and dtype of `a`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.softmax(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    a = as_array(a)
    s = shifted(a, axis)
    if type(s) is np.ndarray and s is not a and s.dtype.kind == "f":  # an array of our own
        np.exp(s, out=s)
        s /= total(s, axis=axis, keepdims=True)
        return s
    e = np.exp(s)
    return e / total(e, axis=axis, keepdims=True)


@general(
    vjp=lambda g, out, axis: g - np.exp(out) * total(g, axis=axis, keepdims=True),
    jvp=lambda t, out, axis: t - total(np.exp(out) * t, axis=axis, keepdims=True),
    batch="axes",
    samples=lambda r: [call(r(5)), call(r(3, 4)), call(r(3, 4), axis=0), call(r(2, 3, 4), (0, 2))],
    errors=lambda r: [call(r(3), axis=1)],
    flags=("real", "finite"),
)
def log_softmax(a: Array, /, axis: Axis = -1) -> Array:
    """log(softmax(a)) along `axis`, without the loss of digits of the two steps.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.log_softmax(np.array([1000.0, 1000.0]))
        array([-0.69314718, -0.69314718])
    """
    s = shifted(as_array(a), axis)
    return s - np.log(total(np.exp(s), axis=axis, keepdims=True))


for _op, _says, _at in (
    (relu, "x where it is positive, 0 elsewhere; the slope at 0 is 0.", "relu"),
    (relu6, "x, held between 0 and 6; the slope at both is 0.", "relu6"),
    (sigmoid, "1 / (1 + exp(-x)); nothing overflows.", "sigmoid"),
    (softplus, "log(1 + exp(x)), for numbers of any size.", "softplus"),
    (silu, "``x * sigmoid(x)``, also called swish.", "silu"),
    (softsign, "``x / (1 + abs(x))``.", "softsign"),
):
    _op.doc = f"""{_says} Real numbers of any shape; the result has the shape and dtype of `x`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.{_at}(np.zeros((2, 3))).shape, ad.grad(ad.{_at})(2.0) > 0
        ((2, 3), np.True_)
    """
prelu.doc = """x where it is positive, ``slope * x`` elsewhere; differentiable by both, which broadcast.

    Example:
        >>> import adjoint as ad
        >>> ad.grad(ad.prelu, argnums=1)(-3.0, 0.1)
        np.float64(-3.0)
    """
