"""Products of matrices, and sums over products of any indices."""

from __future__ import annotations

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from adjoint.core.box import Box, apply
from adjoint.core.constructors import composite, general
from adjoint.core.errors import ShapeError
from adjoint.core.memory import NEW, NEW_K, lies, ordered, settled_as
from adjoint.core.op import Op, call
from adjoint.core.protocol import promoting, put
from adjoint.core.rules.pullbacks import shape_of, unbroadcast
from adjoint.core.types import Array, Axis


def _as_matrix(x: Array, columns: int) -> Array:
    """All rows of a stack of matrices, one below the other; of empty ones too."""
    return np.reshape(x, (int(np.prod(np.shape(x)[:-1])), columns))


def _t(x: Array) -> Array:
    """Swap the last two axes, and conjugate: what a matrix becomes when it changes sides."""
    x = x.T if x.ndim == 2 else np.swapaxes(x, -1, -2)
    return np.conj(x) if x.dtype.kind == "c" else x


def _matmul_x(g: Array, x_shape: tuple[int, ...], y: Array) -> Array:
    if len(x_shape) == 2 == y.ndim:  # nearly every call
        return np.dot(g, _t(y))
    if np.ndim(y) == 1:
        c = g[..., None] * (np.conj(y) if y.dtype.kind == "c" else y)
    elif len(x_shape) == 1:
        c = np.squeeze(np.matmul(g[..., None, :], _t(y)), -2)
    else:
        c = np.matmul(g, _t(y))
    return c if c.shape == x_shape else unbroadcast(c, x_shape)


def _matmul_y(g: Array, x: Array, y_shape: tuple[int, ...]) -> Array:
    if len(y_shape) == 2 == x.ndim:
        return np.dot(_t(x), g)  # for one row, several times as fast as matmul
    if np.ndim(x) == 1:
        x = np.conj(x) if x.dtype.kind == "c" else x
        c = g[..., None] * x if len(y_shape) == 1 else x[:, None] * g[..., None, :]
    elif len(y_shape) == 1:
        c = np.squeeze(np.matmul(_t(x), g[..., None]), -1)
    elif len(y_shape) == 2 and np.ndim(x) > 2:
        # One large product instead of a batch of small ones that are then summed.
        c = np.matmul(_t(_as_matrix(x, np.shape(x)[-1])), _as_matrix(g, y_shape[-1]))
    else:
        c = np.matmul(_t(x), g)
    return c if c.shape == y_shape else unbroadcast(c, y_shape)


def _matmul_each(x: Array, y: Array, stacked: tuple[bool, ...]) -> Array:
    """One product for all samples: a vector is a matrix of one row or column, other axes are lined up."""
    rank_x, rank_y = np.ndim(x) - stacked[0], np.ndim(y) - stacked[1]
    if not (rank_x and rank_y):
        return NotImplemented  # a number, which NumPy refuses
    if stacked == (True, False) and rank_x == 1 and rank_y == 2:
        return np.matmul(x, y)
    if stacked == (False, True) and rank_y == 1 and rank_x == 2:
        return np.matmul(y, np.swapaxes(x, 0, 1))
    x = x[..., None, :] if rank_x == 1 else x
    y = y[..., None] if rank_y == 1 else y
    most = max(rank_x, rank_y, 2)
    x, y = (
        np.reshape(z, (z.shape[0], *(1,) * (most + 1 - z.ndim), *z.shape[1:])) if s else z
        for z, s in ((x, stacked[0]), (y, stacked[1]))
    )
    outer = x.shape[-1] == y.shape[-2] == 1  # NumPy multiplies faster than BLAS
    product = x * y if outer else np.matmul(x, y)
    if rank_y == 1:
        product = product[..., 0]
    return product if rank_x > 1 else product[..., 0] if rank_y == 1 else product[..., 0, :]


@general(
    np.matmul,
    batch=_matmul_each,
    flags=("multilinear",),
    vjps=(_matmul_x, _matmul_y),
    samples=lambda r: [
        call(r(3, 4), r(4, 2)),
        call(r(4), r(4)),
        call(r(3, 4), r(4)),
        call(r(4), r(4, 2)),
        call(r(2, 3, 4), r(4, 5)),
        call(r(3, 4), r(2, 4, 5)),
        call(r(2, 1, 3, 4), r(5, 4, 2)),
        call(r(2, 3, 4), r(4)),
        call(r(4), r(2, 4, 3)),
    ],
    errors=lambda r: [call(r(3, 4), r(3, 4)), call(r(), r(3))],
)
def matmul(x: Array, y: Array, /) -> Array:
    try:
        return np.matmul(x, y)
    except ValueError as error:
        raise ShapeError(
            f"matmul: shapes {np.shape(x)} and {np.shape(y)} do not fit: the last axis of the first must have "
            f"the length of the second-last axis of the second (of its only axis, if it has one)"
        ) from error


@composite(
    np.dot,
    samples=lambda r: [
        call(r(3), r(3)),
        call(r(2, 3), r(3, 4)),
        call(r(), r(3)),
        call(r(2, 3), r(3)),
        call(r(2, 3), r(4, 3, 2)),
    ],
)
def dot(a: Array, b: Array, out: Array = None) -> Array:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return put(_scaled(a, b), out, np.dot)
    if (np.ndim(b) <= 2 and np.ndim(a) <= 2) or np.ndim(b) == 1:
        late = np.ndim(a) == np.ndim(b) == 2 and any(isinstance(x, Box) and x.waits for x in (a, b))
        return put(apply(_late_dot, (a, b), {}) if late else np.matmul(a, b), out, np.dot)
    return put(np.tensordot(a, b, axes=(-1, -2)), out, np.dot)


#: Rules multiply matrices by `numpy.dot`; where these are on their way, so do tasks, as the last digits are others.
_late_dot = Op("dot", np.dot, ("a", "b"), kind="constant", memory=NEW)


def _scaled(a: Array, b: Array) -> Array:
    """An array by a number. NumPy's library of linear algebra adds it to zeros, in C order, so no zero is negative.

    By 0 it adds nothing, so infinities and nan do not show.
    """
    number, array = (promoting(a), promoting(b)) if np.ndim(a) == 0 else (promoting(b), promoting(a))
    dtype = np.result_type(number, array)
    if dtype.char not in "fdFD" or np.ndim(array) not in (1, 2) or np.size(array) == 1:
        return np.multiply(number, array)
    if not (isinstance(number, float | int | complex | np.generic) and number != 0):
        array = np.where((number != 0) | np.isfinite(array), array, 0)
    made = np.multiply(number, array)
    return (made if np.ndim(made) == 1 else ordered(made, "C")) + made.dtype.type(0)


@composite(np.vdot, samples=lambda r: [call(r(2, 3), r(2, 3))])
def vdot(a: Array, b: Array) -> Array:
    return np.matmul(np.ravel(np.conj(a) if np.iscomplexobj(a) else a), np.ravel(b))


@composite(
    np.vecdot,
    flags=("number",),
    samples=lambda r: [
        call(r(2, 3), r(3)),
        call(r(3, 2), r(3, 1), axis=0),
        call(r(3) + 1j * r(3), r(2, 3) - 2j),
        call(r(2, 3, 2), r(2, 3, 2), axis=0),
        call(r(3, 2, 2), r(2, 2), axis=-2),
    ],
)
def vecdot(x1: Array, x2: Array, /, axis: int = -1, keepdims: bool = False) -> Array:
    if keepdims:
        return np.expand_dims(vecdot(x1, x2, axis), axis)
    if not np.ndim(x1) or not np.ndim(x2):
        raise ShapeError(f"np.vecdot takes vectors, alone or in a stack; got shapes {np.shape(x1)} and {np.shape(x2)}")
    if shape_of(x1)[axis] != shape_of(x2)[axis]:
        raise ShapeError(f"np.vecdot takes vectors of one length; got shapes {np.shape(x1)} and {np.shape(x2)}")
    if axis >= 0:
        x1, x2, axis = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1), -1
    if np.result_type(x1, x2) == np.float16:  # NumPy adds in single precision
        return np.matmul(np.moveaxis(x1, axis, -1)[..., None, :], np.moveaxis(x2, axis, -1)[..., None])[..., 0, 0]
    products = np.conj(x1) * x2 if np.iscomplexobj(x1) else x1 * x2
    sums = np.sum(products, axis=axis, dtype=None if products.dtype.kind in "fc" else products.dtype)
    if np.ndim(sums) < 2 or not np.size(products):
        return sums
    stacks = [np.moveaxis(lies(x), axis, -1)[..., 0] for x in (x1, x2)]  # NumPy's result lies as these do
    return settled_as(NEW_K, sums, [np.add(*stacks)]) if all(isinstance(x, np.ndarray) for x in stacks) else sums


@composite(np.matvec, samples=lambda r: [call(r(2, 3, 4), r(4))])
def matvec(x1: Array, x2: Array, /) -> Array:
    return np.matmul(x1, x2[..., None])[..., 0]


@composite(np.vecmat, samples=lambda r: [call(r(3), r(2, 3, 4))])
def vecmat(x1: Array, x2: Array, /) -> Array:
    return np.matmul((np.conj(x1) if np.iscomplexobj(x1) else x1)[..., None, :], x2)[..., 0, :]


@composite(np.outer, samples=lambda r: [call(r(3), r(2)), call(r(2, 2), r(3))])
def outer(a: Array, b: Array, out: Array = None) -> Array:
    return put(np.ravel(a)[:, None] * np.ravel(b)[None, :], out, np.outer)


@composite(np.inner, flags=("number",), samples=lambda r: [call(r(3), r(3)), call(r(2, 3), r(4, 3)), call(r(), r(3))])
def inner(a: Array, b: Array) -> Array:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return _scaled(a, b)
    return np.tensordot(a, b, axes=(-1, -1))


@composite(np.kron, flags=("number",), samples=lambda r: [call(r(2, 3), r(3, 2)), call(r(3), r(2, 2))])
def kron(a: Array, b: Array) -> Array:
    n = max(np.ndim(a), np.ndim(b))
    p = (1,) * (n - np.ndim(a)) + np.shape(a)
    q = (1,) * (n - np.ndim(b)) + np.shape(b)
    left = np.reshape(a, tuple(k for m in p for k in (m, 1)))
    right = np.reshape(b, tuple(k for m in q for k in (1, m)))
    return np.reshape(left * right, tuple(i * j for i, j in zip(p, q, strict=True)))


@composite(
    np.tensordot,
    samples=lambda r: [
        call(r(2, 3), r(3, 4), axes=1),
        call(r(2, 3, 4), r(3, 4, 2), axes=((1, 2), (0, 1))),
        call(r(2, 3, 4), r(4, 3), axes=([2, 1], [0, 1])),
        call(r(2), r(3), 0),
    ],
    errors=lambda r: [call(r(2, 3), r(4, 5), axes=1)],
)
def tensordot(a: Array, b: Array, axes: Axis = 2) -> Array:
    na, nb = np.ndim(a), np.ndim(b)
    if isinstance(axes, int | np.integer):
        left, right = list(range(na - axes, na)), list(range(axes))
    else:
        left, right = ([x] if np.ndim(x) == 0 else list(x) for x in axes)
    pairs = ((left, na), (right, nb))
    left, right = (list(normalize_axis_tuple(axes, n, allow_duplicate=True)) for axes, n in pairs)
    sa, sb = np.shape(a), np.shape(b)
    if [sa[i] for i in left] != [sb[i] for i in right]:
        raise ShapeError(f"tensordot: axes {left} of shape {sa} and {right} of shape {sb} have different lengths")
    free_a = [i for i in range(na) if i not in left]
    free_b = [i for i in range(nb) if i not in right]
    k = int(np.prod([sa[i] for i in left]))
    rows, columns = [sa[i] for i in free_a], [sb[i] for i in free_b]
    first = np.reshape(np.transpose(a, free_a + left), (int(np.prod(rows)), k))
    second = np.reshape(np.transpose(b, right + free_b), (k, int(np.prod(columns))))
    return np.reshape(np.matmul(first, second), (*rows, *columns))


@composite(np.linalg.multi_dot, samples=lambda r: [call([r(2, 3), r(3, 4), r(4, 2)]), call([r(3), r(3, 2), r(2)])])
def multi_dot(arrays: Array, *, out: Array = None) -> Array:
    shapes = [np.shape(a) for a in arrays]
    if any(len(s) != 2 and not (len(s) == 1 and i in (0, len(shapes) - 1)) for i, s in enumerate(shapes)):
        raise np.linalg.LinAlgError(
            f"np.linalg.multi_dot takes matrices, and vectors at its ends; got shapes {', '.join(map(str, shapes))}"
        )
    sizes = [s[0] if len(s) == 2 else 1 if i == 0 else s[0] for i, s in enumerate(shapes)]
    sizes.append(shapes[-1][1] if len(shapes[-1]) == 2 else 1)
    return put(_chain(list(arrays), sizes), out, np.linalg.multi_dot)


def _chain(arrays: list[Array], sizes: list[int]) -> Array:
    """Multiply a chain of matrices in the cheapest order (Cormen et al., Introduction to Algorithms, 15.2)."""
    n = len(arrays)
    cost = [[0.0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], cut[i][j] = min(options)

    def product(i: int, j: int) -> Array:
        if i == j:
            return arrays[i]
        return np.matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    return product(0, n - 1)


@composite(np.cross, samples=lambda r: [call(r(3), r(3)), call(r(2, 3), r(3)), call(r(3, 4), r(3, 4), axis=0)])
def cross(a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    if axis is not None:
        axisa = axisb = axisc = axis
    if not np.ndim(a) or not np.ndim(b):
        raise ShapeError(f"np.cross takes vectors; got shapes {np.shape(a)} and {np.shape(b)}")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(
            f"cross takes vectors of 3 components; got {a.shape[-1]} and {b.shape[-1]} along the chosen axes"
        )
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    parts = (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)
    return np.moveaxis(ordered(np.stack(parts, axis=-1), "C"), -1, axisc)
