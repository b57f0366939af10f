"""`scipy.fft` for tensors: cosine and sine transforms; Fourier transforms are NumPy's.

Each is linear, and its transpose is another one of the family, with other weights at the ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)  # fmt: skip
from scipy import fft as scipys

from adjoint.core.constructors import linear
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.op import Op, call
from adjoint.core.types import Array, Axis, Function, ShapeLike
from adjoint.ops.shape.padding import pad_zeros
from adjoint.scipy.arrays import array

__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idctn", "idst",
    "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]  # fmt: skip

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _ends(g: Array, axis: int, first: float, last: float) -> Array:
    """`g` with its ends along `axis` weighted."""
    n = np.shape(g)[axis]
    weights = np.ones(n, np.finfo(g.dtype).dtype)
    weights[0], weights[-1] = first * weights[0], last * weights[-1]
    return g * np.reshape(weights, (n, *(1,) * (np.ndim(g) - 1 - axis % np.ndim(g))))


def _cosine_transpose(g: Array, type: int, axis: int, ortho: bool) -> Array:
    if ortho:
        return cosine(g, type=_INVERSE[type], axis=axis, ortho=True)
    if type == 1:
        return _ends(cosine(_ends(g, axis, 2.0, 2.0), type=1, axis=axis), axis, 0.5, 0.5)
    if type == 2:
        return cosine(_ends(g, axis, 2.0, 1.0), type=3, axis=axis)
    return _ends(cosine(g, type=2, axis=axis), axis, 0.5, 1.0) if type == 3 else cosine(g, type=4, axis=axis)


def _sine_transpose(g: Array, type: int, axis: int, ortho: bool) -> Array:
    if ortho:
        return sine(g, type=_INVERSE[type], axis=axis, ortho=True)
    if type == 2:
        return sine(_ends(g, axis, 1.0, 2.0), type=3, axis=axis)
    return _ends(sine(g, type=2, axis=axis), axis, 1.0, 0.5) if type == 3 else sine(g, type=type, axis=axis)


_samples = lambda r: [  # noqa: E731 - a table of samples, shared by two functions
    *(call(r(4), type=kind) for kind in (1, 2, 3, 4)),
    *(call(r(3, 2), type=kind, axis=0, ortho=True) for kind in (1, 2, 3, 4)),
    *(call(r(3, 2), type=kind, axis=0) for kind in (1, 2, 3)),
]


@linear(transpose=_cosine_transpose, batch="axes", samples=_samples, flags=("host",))
def cosine(a: Array, /, type: int = 2, axis: int = -1, ortho: bool = False) -> Array:
    return scipys.dct(a, type, axis=axis, norm="ortho" if ortho else None)


@linear(transpose=_sine_transpose, batch="axes", samples=_samples, flags=("host",))
def sine(a: Array, /, type: int = 2, axis: int = -1, ortho: bool = False) -> Array:
    return scipys.dst(a, type, axis=axis, norm="ortho" if ortho else None)


def _transform(
    op: Op, x: Array, type: int, n: int | None, axis: int, norm: str | None, orthogonalize: bool | None
) -> Array:
    if type not in _INVERSE or norm not in _SWAPPED:
        raise ArgumentError(
            f"type is 1, 2, 3 or 4, and norm 'backward', 'ortho' or 'forward'; got {type!r} and {norm!r}"
        )
    x = array(x)
    have, axis = x.shape[axis], axis % x.ndim
    if n is not None and n < have:
        x = x[(*(slice(None),) * axis, slice(n))]
    elif n is not None and n > have:
        x = pad_zeros(x, widths=tuple((0, (n - have) * (i == axis)) for i in range(x.ndim)))
    ortho = norm == "ortho"
    if bool(ortho if orthogonalize is None else orthogonalize) != ortho:
        raise NotSupportedError("orthogonalize that is not as the norm has it (True for 'ortho') has no rule")
    out = op(x, type=type, axis=axis, ortho=ortho)
    if norm == "forward":
        out = out / (2 * (x.shape[axis] + (type == 1) * (-1 if op is cosine else 1)))
    return out


def dct(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.dct`: the cosine transform of type 1 to 4 along `axis`, of `x` cut or padded to `n`.

    Raises:
        ArgumentError: for another type or norm.
        NotSupportedError: for an `orthogonalize` that is not the norm's own.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.fft import dct
        >>> ad.grad(lambda x: dct(x)[0])(np.ones(3))
        array([2., 2., 2.])
    """
    return _transform(cosine, x, type, n, axis, norm, orthogonalize)


def idct(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.idct`: the inverse of `dct` of the same type and norm.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.idct(fft.dct(np.ones(3))).round(4)
        array([1., 1., 1.])
    """
    return _transform(cosine, x, _INVERSE.get(type, type), n, axis, _SWAPPED.get(norm, norm), orthogonalize)


def dst(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.dst`: the sine transform of type 1 to 4 along `axis`, of `x` cut or padded to `n`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.dst(np.ones(3)).round(4)
        array([4., 0., 2.])
    """
    return _transform(sine, x, type, n, axis, norm, orthogonalize)


def idst(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.idst`: the inverse of `dst` of the same type and norm.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.idst(fft.dst(np.ones(3))).round(4)
        array([1., 1., 1.])
    """
    return _transform(sine, x, _INVERSE.get(type, type), n, axis, _SWAPPED.get(norm, norm), orthogonalize)


def _along(
    one: Function, x: Array, type: int, s: ShapeLike, axes: Axis, norm: str | None, orthogonalize: bool | None
) -> Array:
    x = array(x)
    sizes: Sequence[int | None] | None = (s,) if isinstance(s, int) else s
    if axes is None:
        axes = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis, n in zip(axes, (None,) * len(axes) if sizes is None else sizes, strict=True):
        x = one(x, type, n, axis, norm, orthogonalize=orthogonalize)
    return x


def dctn(
    x: Array, type: int = 2, s: ShapeLike = None, axes: Axis = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.dctn`: `dct` along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.dctn(np.ones((2, 2))).round(4)
        array([[16.,  0.],
               [ 0.,  0.]])
    """
    return _along(dct, x, type, s, axes, norm, orthogonalize)


def idctn(
    x: Array, type: int = 2, s: ShapeLike = None, axes: Axis = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.idctn`: the inverse of `dctn`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.idctn(fft.dctn(np.ones((2, 2)))).round(4)
        array([[1., 1.],
               [1., 1.]])
    """
    return _along(idct, x, type, s, axes, norm, orthogonalize)


def dstn(
    x: Array, type: int = 2, s: ShapeLike = None, axes: Axis = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.dstn`: `dst` along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.dstn(np.ones((2, 2))).round(4)
        array([[8., 0.],
               [0., 0.]])
    """
    return _along(dst, x, type, s, axes, norm, orthogonalize)


def idstn(
    x: Array, type: int = 2, s: ShapeLike = None, axes: Axis = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Array:  # fmt: skip
    """`scipy.fft.idstn`: the inverse of `dstn`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fft
        >>> fft.idstn(fft.dstn(np.ones((2, 2)))).round(4)
        array([[1., 1.],
               [1., 1.]])
    """
    return _along(idst, x, type, s, axes, norm, orthogonalize)


def __dir__() -> list[str]:
    return __all__
