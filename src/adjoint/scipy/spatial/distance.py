"""`scipy.spatial.distance` for tensors: distances of two vectors, of all pairs, and how these are stored.

Where two vectors are equal and the distance has a kink, the derivative is 0, the smallest subgradient.
Without tensors these are SciPy's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import numpy as np
from scipy.spatial import distance
from scipy.special import rel_entr

from adjoint.core.box import Box
from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.followed import assembled, like


def _boxed(x: Array) -> bool:
    if isinstance(x, Box):
        return True
    return isinstance(x, list | tuple | dict) and any(map(_boxed, x.values() if isinstance(x, dict) else x))


def _root(x: Array) -> Array:
    """The square root, with the slope 0 at 0."""
    positive = np.greater(x, 0.0)
    return np.where(positive, np.sqrt(np.where(positive, x, 1.0)), 0.0)


def _sum(x: Array, w: Array) -> Array:
    return np.sum(x if w is None else x * w, axis=-1)


def _sqeuclidean(u: Array, v: Array, w: Array = None) -> Array:
    return _sum((u - v) ** 2, w)


def _euclidean(u: Array, v: Array, w: Array = None) -> Array:
    return _root(_sqeuclidean(u, v, w))


def _cityblock(u: Array, v: Array, w: Array = None) -> Array:
    return _sum(np.abs(u - v), w)


def _chebyshev(u: Array, v: Array, w: Array = None) -> Array:
    gap = np.abs(u - v)
    return np.max(gap if w is None else np.where(np.greater(w, 0.0), gap, 0.0), axis=-1)  # SciPy only leaves out


def _minkowski(u: Array, v: Array, p: Array = 2, w: Array = None) -> Array:
    if np.isinf(p):
        return _chebyshev(u, v, w)
    total = _sum(np.abs(u - v) ** p, w)
    positive = np.greater(total, 0.0)
    return np.where(positive, np.where(positive, total, 1.0) ** (1.0 / p), 0.0)


def minkowski_of(gap: Array, p: float) -> Array:
    """The length of gaps (..., m) by the norm of order `p`; at 0 its derivative is 0."""
    return _euclidean(gap, 0.0) if p == 2 else _minkowski(gap, 0.0, p)


def _cosine(u: Array, v: Array, w: Array = None) -> Array:
    return 1.0 - _sum(u * v, w) / np.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _correlation(u: Array, v: Array, w: Array = None, centered: bool = True) -> Array:
    if not centered:
        return _cosine(u, v, w)
    total = u.shape[-1] if w is None else np.sum(w)
    return _cosine(u - (_sum(u, w) / total)[..., None], v - (_sum(v, w) / total)[..., None], w)


def _canberra(u: Array, v: Array, w: Array = None) -> Array:
    sizes = np.abs(u) + np.abs(v)
    some = np.greater(sizes, 0.0)
    return _sum(np.where(some, np.abs(u - v) / np.where(some, sizes, 1.0), 0.0), w)


def _braycurtis(u: Array, v: Array, w: Array = None) -> Array:
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


def _seuclidean(u: Array, v: Array, V: object) -> Array:  # noqa: N803 - SciPy's name
    return _root(np.sum((u - v) ** 2 / assembled(V), axis=-1))


def _mahalanobis(u: Array, v: Array, VI: Array) -> Array:  # noqa: N803 - SciPy's name
    gap = u - v
    return _root(np.sum(np.matmul(gap, assembled(VI)) * gap, axis=-1))


def _jensenshannon(u: Array, v: Array, base: Value = None) -> Array:
    u, v = u / np.sum(u, axis=-1, keepdims=True), v / np.sum(v, axis=-1, keepdims=True)
    middle = 0.5 * (u + v)
    total = np.sum(rel_entr(u, middle), axis=-1) + np.sum(rel_entr(v, middle), axis=-1)
    return _root(0.5 * (total if base is None else total / np.log(base)))


_KERNELS: dict[str, Callable[..., Array]] = {
    "sqeuclidean": _sqeuclidean,
    "euclidean": _euclidean,
    "cityblock": _cityblock,
    "chebyshev": _chebyshev,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": _braycurtis,
    "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis,
    "jensenshannon": _jensenshannon,
}
_OTHER_NAMES = {
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("cblock", "cb", "c"), "cityblock"),
    **dict.fromkeys(("chebychev", "cheby", "cheb", "ch"), "chebyshev"),
    **dict.fromkeys(("mi", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("cos",), "cosine"),
    **dict.fromkeys(("co",), "correlation"),
    **dict.fromkeys(("se", "s"), "seuclidean"),
    **dict.fromkeys(("mahal", "mah"), "mahalanobis"),
    **dict.fromkeys(("js",), "jensenshannon"),
}


def _of_two(name: str) -> Function:
    theirs, kernel = getattr(distance, name), _KERNELS[name]

    def ours(given: dict[str, Array]) -> Array:
        if not _boxed(given):
            return theirs(**given)
        u, v, *_ = (assembled(given.pop(key)) for key in ("u", "v"))
        if u.ndim != 1 or v.shape != u.shape:
            raise ShapeError(f"{name} takes two vectors of one length; got shapes {u.shape} and {v.shape}")
        return kernel(u, v, **{k: x if k in ("p", "centered") or x is None else assembled(x) for k, x in given.items()})

    ours.__name__ = ours.__qualname__ = name
    ours.__doc__ = f"`scipy.spatial.distance.{name}` of two vectors, which may be tensors, as all else may."
    return like(theirs)(ours)


sqeuclidean = _of_two("sqeuclidean")
euclidean = _of_two("euclidean")
cityblock = _of_two("cityblock")
chebyshev = _of_two("chebyshev")
minkowski = _of_two("minkowski")
cosine = _of_two("cosine")
correlation = _of_two("correlation")
canberra = _of_two("canberra")
braycurtis = _of_two("braycurtis")
seuclidean = _of_two("seuclidean")
mahalanobis = _of_two("mahalanobis")


@like(distance.jensenshannon)
def jensenshannon(given: dict[str, Value]) -> Array:
    """`scipy.spatial.distance.jensenshannon`: of two distributions, along `axis`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial.distance import jensenshannon
        >>> ad.grad(lambda p: jensenshannon(p, np.array([0.5, 0.5])))(np.array([0.2, 0.8])).round(3)
        array([-0.682,  0.17 ])
    """
    if not _boxed(given):
        return distance.jensenshannon(**given)
    axis = given.get("axis", 0)
    p, q = (np.moveaxis(assembled(given[key]), axis, -1) for key in ("p", "q"))
    found = _jensenshannon(p, q, given.get("base"))
    return np.expand_dims(found, axis) if given.get("keepdims") else found


def _between(
    name: str, metric: object, u: Array, v: Array, points: tuple[Array, ...], given: dict[str, Array]
) -> Array:
    """The distances of rows that lie against each other; `points` are all of them."""
    if given.pop("out", None) is not None:
        raise NotSupportedError(f"{name} of tensors takes no out=; use what it gives")
    if callable(metric):
        shape = np.broadcast_shapes(u.shape, v.shape)
        u, v = (np.reshape(np.broadcast_to(x, shape), (-1, shape[-1])) for x in (u, v))
        found = np.stack([assembled(metric(u[i], v[i], **given)) for i in range(u.shape[0])])
        return np.reshape(found, shape[:-1])
    chosen = _OTHER_NAMES.get(str(metric).lower(), str(metric).lower())
    if chosen not in _KERNELS:
        raise NotSupportedError(f"{name} of tensors has no metric {metric!r}; it has {', '.join(_KERNELS)}")
    if chosen == "seuclidean" and given.get("V") is None:
        given["V"] = np.var(np.concatenate(points), axis=0, ddof=1)
    if chosen == "mahalanobis" and given.get("VI") is None:
        given["VI"] = np.linalg.inv(np.cov(np.concatenate(points).T)).T
    if given.get("w") is not None:
        given["w"] = assembled(given["w"])
    unknown = set(given) - set(signature(_KERNELS[chosen]).parameters)
    if unknown:
        raise TypeError(f"{name}: the metric {chosen!r} takes no {', '.join(sorted(unknown))}")
    return _KERNELS[chosen](u, v, **given)


def _rows(name: str, x: Array) -> Array:
    x = assembled(x)
    if x.ndim != 2:
        raise ShapeError(f"{name} takes vectors as rows, (m, n); got shape {x.shape}")
    return x


@like(distance.cdist)
def cdist(given: dict[str, object]) -> Array:
    """`scipy.spatial.distance.cdist`: the distances of each row of `XA` from each of `XB`.

    Args:
        XA, XB: (m, n) and (k, n).
        metric: "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra",
            "braycurtis", "seuclidean", "mahalanobis", "jensenshannon"; or a function of two vectors.

    Returns:
        (m, k).

    Raises:
        NotSupportedError: for another metric, or `out`, with tensors.
        ShapeError: for what are no rows of one length.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial.distance import cdist
        >>> ad.grad(lambda a: np.sum(cdist(a, np.zeros((1, 2)))))(np.array([[3.0, 4.0], [0.0, 0.0]]))
        array([[0.6, 0.8],
               [0. , 0. ]])
    """
    if not _boxed(given):
        return distance.cdist(**given)
    a, b = (_rows("cdist", given.pop(name)) for name in ("XA", "XB"))
    if a.shape[1] != b.shape[1]:
        raise ShapeError(f"cdist: rows of one length are needed; got {a.shape} and {b.shape}")
    return _between("cdist", given.pop("metric", "euclidean"), a[:, None, :], b[None, :, :], (a, b), given)


@like(distance.pdist)
def pdist(given: dict[str, object]) -> Array:
    """`scipy.spatial.distance.pdist`: the distances of all pairs of rows, in `squareform`'s order; as `cdist`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial.distance import pdist
        >>> ad.grad(lambda a: np.sum(pdist(a)))(np.array([[0.0], [1.0], [3.0]]))
        array([[-2.],
               [ 0.],
               [ 2.]])
    """
    if not _boxed(given):
        return distance.pdist(**given)
    x = _rows("pdist", given.pop("X"))
    first, second = np.triu_indices(x.shape[0], 1)
    return _between("pdist", given.pop("metric", "euclidean"), x[first], x[second], (x,), given)


@like(distance.squareform)
def squareform(given: dict[str, object]) -> Array:
    """`scipy.spatial.distance.squareform`: distances of pairs as a symmetric matrix, and back.

    Raises:
        ShapeError: for a vector of another length than m (m - 1) / 2, or a matrix that is not square.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial.distance import squareform
        >>> squareform(ad.tensor([1.0, 2.0, 3.0])).shape
        (3, 3)
    """
    if not _boxed(given):
        return distance.squareform(**given)
    x, force = assembled(given["X"]), str(given.get("force", "no")).lower()
    to_matrix = force == "tomatrix" or (force == "no" and x.ndim == 1)
    n = round((1.0 + (1.0 + 8.0 * x.size) ** 0.5) / 2.0) if to_matrix else x.shape[0]
    if (x.shape != (n * (n - 1) // 2,)) if to_matrix else (x.shape != (n, n)):
        raise ShapeError(f"squareform takes m (m - 1) / 2 distances, or a square matrix; got shape {x.shape}")
    first, second = np.triu_indices(n, 1)
    if not to_matrix:
        return x[first, second]
    if x.size == 0:
        return np.zeros((1, 1))
    places = np.zeros((n, n), int)
    places[first, second] = places[second, first] = np.arange(first.size)
    return np.where(np.eye(n, dtype=bool), 0.0, x[places])
