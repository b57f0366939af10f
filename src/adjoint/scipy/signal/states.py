"""States from which recursive filters start. SciPy's do not divide by an ``a[0]`` of 1, which loses a gradient."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array
from adjoint.scipy.arrays import array
from adjoint.scipy.signal.filters import lengthened


def lfilter_zi(b: Array, a: Array) -> Array:
    """`scipy.signal.lfilter_zi`: the state of the filter ``b / a`` after a long step of height 1.

    Args:
        b, a: coefficients, vectors.

    Returns:
        The state, of length ``max(len(a), len(b)) - 1``.

    Raises:
        ShapeError: if coefficients are not vectors.
        ArgumentError: if all of `a` is 0.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.signal import lfilter_zi
        >>> lfilter_zi(np.array([1.0, 1.0]), np.array([1.0, -0.5]))
        array([3.])
    """
    b, a = np.atleast_1d(array(b)), np.atleast_1d(array(a))
    if b.ndim != 1 or a.ndim != 1:
        raise ShapeError(f"lfilter_zi takes vectors b and a; got shapes {b.shape} and {a.shape}")
    first = _first(a)
    if first == a.shape[0]:
        raise ArgumentError("lfilter_zi: `a` needs a coefficient that is not 0")
    a = a[first:]
    # The step gives steady outputs: what later terms add to these is the same at each moment.
    gain = np.sum(b) / np.sum(a)
    n = max(a.shape[0], b.shape[0])
    terms = lengthened(b, n) - gain * lengthened(a, n)
    return np.flip(np.cumsum(np.flip(terms[1:]))) / a[0]


def lfiltic(b: Array, a: Array, y: Array, x: Array = None) -> Array:
    """`scipy.signal.lfiltic`: the state of the filter ``b / a`` after outputs `y` and inputs `x`, the latest first.

    Args:
        b, a: coefficients, vectors; ``a[0]`` is not 0.
        y, x: vectors; what is not given was 0.

    Returns:
        The state, of length ``max(len(a), len(b)) - 1``.

    Raises:
        ArgumentError: if ``a[0]`` is 0.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.signal import lfiltic
        >>> lfiltic(np.array([1.0, 0.5]), np.array([1.0, -0.5]), np.array([2.0]), np.array([1.0]))
        array([1.5])
    """
    b, a, y = (np.atleast_1d(array(v)) for v in (b, a, y))
    if _first(a):
        raise ArgumentError("lfiltic: a[0] is 0; take leading zeros away from `a`")
    order = max(a.shape[0], b.shape[0]) - 1
    state = np.zeros(order, np.result_type(b.dtype, a.dtype, y.dtype))
    for c, past in ((b, None if x is None else np.atleast_1d(array(x))), (-a, y)):
        if past is not None:
            for k in range(min(past.shape[0], c.shape[0] - 1)):
                state = state + lengthened(c[k + 1 :] * past[k], order)
    return state / a[0]


def _first(a: Array) -> int:
    """How many coefficients are 0 before the first one that is not, in any sample."""
    given = np.not_equal(raw(a).reshape(-1, a.shape[0]), 0).any(axis=0)  # a row a sample, inside vmap
    return int(np.argmax(given)) if given.any() else a.shape[0]
