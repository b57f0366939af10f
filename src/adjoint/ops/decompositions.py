"""Matrix decompositions: Cholesky, eigenvectors, QR, singular values. Stacks of matrices throughout.

Where eigenvalues or singular values repeat, the vectors have no derivative, and a gradient through them is
nan; the values do have one. What a decomposition leaves free (a vector's sign or phase) must not matter
to the result, or its gradient means nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.core.backend import beside, maybe_all, surely_all
from adjoint.core.box import Box, goes_back, raw
from adjoint.core.constructors import composite, general
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.memory import NEW_C
from adjoint.core.op import call
from adjoint.core.protocol import detached, in_graph
from adjoint.core.types import Array
from adjoint.ops.factors import cholesky_cotangent, cholesky_tangent, hermitian, unused
from adjoint.ops.order import values_of
from adjoint.ops.phases import phase_cotangent, phase_tangent, real_in_eig, real_in_eigh


class EighResult(NamedTuple):
    """Eigenvalues in rising order, and the eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Left vectors as columns, singular values in falling order, right vectors as rows."""

    U: Any
    S: Any
    Vh: Any


def _positive(r: Array, *shape: int) -> Array:
    """A symmetric, positive definite matrix with eigenvalues apart."""
    half = r(*shape)
    return half @ half.swapaxes(-1, -2) / 4 + np.diag(np.arange(1.0, 1 + shape[-1]))


def _complex_positive(r: Array, n: int) -> Array:
    half = r(n, n) + 1j * r(n, n)
    return half @ half.conj().T / 8 + np.diag(np.arange(1.0, 1 + n))


def _symmetric(a: Array) -> Array:
    """The Hermitian part: what a decomposition of a Hermitian matrix is a function of."""
    return a if isinstance(a, np.ndarray) and np.array_equal(a, hermitian(a)) else (a + hermitian(a)) / 2


def _triangle(name: str, a: Array, uplo: str = "L") -> Array:
    """`a`; of a matrix that is far from Hermitian, the triangle that NumPy reads, and its mirror image."""
    if uplo.upper() not in ("L", "U"):
        raise ArgumentError(f"np.linalg.{name}: UPLO is 'L' or 'U'; got {uplo!r}")
    numbers = raw(_square(name, a))
    if 0 in np.shape(a) or (isinstance(numbers, np.ndarray) and np.array_equal(numbers, hermitian(numbers))):
        return a
    constant = detached(a)
    off, size = (np.max(np.abs(x), axis=(-2, -1), keepdims=True) for x in (constant - hermitian(constant), constant))
    strict = np.tril(a, -1) if uplo.upper() == "L" else np.triu(a, 1)
    return np.where(off > 0.01 * size, strict + hermitian(strict) + _diagonal(np.real(_on_diagonal(a))), a)


def _diagonal(x: Array) -> Array:
    """A matrix with `x` on its diagonal, for each row of a stack."""
    return x[..., None] * beside(x, np.eye(np.shape(x)[-1], dtype=x.dtype))


def _gaps(values: Array) -> Array:
    """values[j] - values[i], with nan where two are equal, and 1 on the diagonal."""
    n = np.shape(values)[-1]
    apart = values[..., None, :] - values[..., :, None]
    return np.where(beside(values, np.eye(n, dtype=bool)), 1.0, np.where(np.equal(apart, 0), np.nan, apart))


# -- Cholesky ---------------------------------------------------------------------------------------


@general(
    vjp=cholesky_cotangent,
    jvp=cholesky_tangent,
    batch="leading",
    samples=lambda r: [call(_positive(r, 3, 3)), call(_positive(r, 2, 3, 3))],
    flags=("raises",),
)
def cholesky_factor(a: Array, /) -> Array:
    return np.linalg.cholesky(_symmetric(a))


@composite(
    np.linalg.cholesky,
    memory=NEW_C,
    samples=lambda r: [
        call(_positive(r, 3, 3)),
        call(_positive(r, 2, 3, 3)),
        call(_positive(r, 3, 3), upper=True),
        call(_complex_positive(r, 3)),
    ],
    errors=lambda r: [call(np.array([[1.0, 2.0], [2.0, 1.0]])), call(r(2, 3))],
)
def cholesky(a: Array, /, *, upper: bool = False) -> Array:
    """The Cholesky factor of the Hermitian part of `a`, so that the gradient is Hermitian too."""
    factor = cholesky_factor(_triangle("cholesky", a, "U" if upper else "L"))
    return hermitian(factor) if upper else factor


def _square(name: str, a: Array) -> Array:
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"np.linalg.{name} takes square matrices, alone or in a stack; got shape {shape}")
    return a


# -- Eigenvalues ------------------------------------------------------------------------------------


def _eigh_cotangent(g: Array, out: Array, uplo: Any) -> Array:
    (gw, gv), (w, v) = g, out
    if unused(gv):
        return np.matmul(v * gw[..., None, :], hermitian(v))
    gv = phase_cotangent(gv, v, real_in_eigh(v, uplo))
    eye = beside(w, np.eye(np.shape(w)[-1], dtype=bool))
    inner = _diagonal(gw) + np.where(eye, 0.0, np.matmul(hermitian(v), gv)) / _gaps(w)
    return _symmetric(np.matmul(np.matmul(v, inner), hermitian(v)))


def _on_diagonal(x: Array) -> Array:
    return np.diagonal(x, axis1=-2, axis2=-1)


def _eigh_tangents(t: Array, out: Array, uplo: Any) -> tuple[Array, Array]:
    w, v = out
    inner = np.matmul(np.matmul(hermitian(v), _symmetric(t)), v)
    apart = np.where(beside(w, np.eye(np.shape(w)[-1], dtype=bool)), 0.0, inner) / _gaps(w)
    return np.real(_on_diagonal(inner)), phase_tangent(np.matmul(v, apart), v, real_in_eigh(v, uplo))


@general(
    vjp=_eigh_cotangent,
    jvp=_eigh_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [
        call(_positive(r, 3, 3)),
        call(_positive(r, 2, 3, 3)),
        call(_positive(r, 3, 3) + 0.3j * np.tril(r(3, 3), -1)),
        call(_positive(r, 3, 3) + 0.3j * np.triu(r(3, 3), 1), uplo="U"),
    ],
    flags=("raises",),
)
def symmetric_eigen(a: Array, /, uplo: Any = "L", scipys: Any = None) -> Array:
    w, v = np.linalg.eigh(_symmetric(a), uplo)
    return (w, v) if scipys is None else (w, _turned_as_scipys(v, a, uplo, scipys))


def _turned_as_scipys(v: Array, a: Array, uplo: str, subset: tuple[int, ...]) -> Array:
    """The eigenvectors `v` with the signs of SciPy's, whose routine is another one of LAPACK's; all, or a `subset`."""
    from scipy.linalg import eigh

    turned = np.array(v)
    first, last = subset or (0, np.shape(v)[-1] - 1)
    for k in np.ndindex(np.shape(v)[:-2]):
        theirs = eigh(a[k], lower=uplo == "L", subset_by_index=subset or None)[1]
        along = np.real(np.sum(np.conj(turned[k][:, first : last + 1]) * theirs, axis=0))
        turned[k][:, first : last + 1] *= np.where(along < 0, -1.0, 1.0)
    return turned


def _eigvalsh_cotangent(g: Array, a: Array) -> Array:
    _, v = symmetric_eigen(a)
    return np.matmul(v * g[..., None, :], hermitian(v))


def _eigvalsh_tangent(t: Array, a: Array) -> Array:
    _, v = symmetric_eigen(a)
    return np.real(np.sum(np.conj(v) * np.matmul(_symmetric(t), v), axis=-2))


@general(
    vjp=_eigvalsh_cotangent,
    jvp=_eigvalsh_tangent,
    batch="leading",
    samples=lambda r: [call(_positive(r, 3, 3)), call(_positive(r, 2, 3, 3))],
    flags=("raises",),
)
def symmetric_eigenvalues(a: Array, /, uplo: Any = "L") -> Array:
    return np.linalg.eigvalsh(_symmetric(a), uplo)


@composite(
    np.linalg.eigh,
    samples=lambda r: [call(_positive(r, 3, 3)), call(_positive(r, 2, 3, 3), "U")],
    errors=lambda r: [call(r(2, 3)), call(_positive(r, 2, 2), "X")],
)
def eigh(a: Array, UPLO: str = "L") -> EighResult:  # noqa: N803 - NumPy's name
    """Eigenvalues and eigenvectors of the Hermitian part of `a`, so that the gradient is Hermitian too."""
    return EighResult(*symmetric_eigen(_triangle("eigh", a, UPLO), uplo=UPLO))


@composite(
    np.linalg.eigvalsh,
    samples=lambda r: [call(_positive(r, 3, 3)), call(_positive(r, 2, 3, 3)), call(_complex_positive(r, 3))],
    errors=lambda r: [call(r(2, 3))],
)
def eigvalsh(a: Array, UPLO: str = "L") -> Array:  # noqa: N803 - NumPy's name
    """Eigenvalues of the Hermitian part of `a`; where some are equal, the gradient is still finite."""
    a = _triangle("eigvalsh", a, UPLO)
    # The gradient takes the vectors; they cost less now than later.
    return symmetric_eigen(a, uplo=UPLO)[0] if goes_back(a) else symmetric_eigenvalues(a, uplo=UPLO)


def _eig_cotangent(g: Array, out: Array) -> Array:
    """C. Boeddeker et al., On the computation of complex-valued gradients, 2017, section 4.3; columns have length 1."""
    (gw, gv), (w, v) = g, out
    vh = hermitian(v)
    inner = _diagonal(gw)
    if not unused(gv):
        n, gv = np.shape(w)[-1], phase_cotangent(gv, v, real_in_eig(v))
        along = np.real(np.sum(np.conj(v) * gv, axis=-2))
        turned = np.matmul(vh, gv) - np.matmul(vh, v) * along[..., None, :]
        gaps = np.conj(_gaps(w)) if w.dtype.kind == "c" else _gaps(w)
        inner = inner + np.where(beside(w, np.eye(n, dtype=bool)), 0.0, turned) / gaps
    return np.linalg.solve(vh, np.matmul(inner, vh))


def _eig_tangents(t: Array, out: Array) -> tuple[Array, Array]:
    w, v = out
    inner = np.linalg.solve(v, np.matmul(t, v))
    turned = np.matmul(v, np.where(beside(w, np.eye(np.shape(w)[-1], dtype=bool)), 0.0, inner) / _gaps(w))
    along = np.real(np.sum(np.conj(v) * turned, axis=-2, keepdims=True))  # the length stays 1
    return _on_diagonal(inner), phase_tangent(turned - v * along, v, real_in_eig(v))


@general(
    vjp=_eig_cotangent,
    jvp=_eig_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [
        call(r(3, 3) / 8 + np.diag([1.0, 2.0, 4.0])),
        call((r(3, 3) + 1j * r(3, 3)) / 8 + np.diag([1.0, 2.0, 4.0])),
    ],
    flags=("raises",),
)
def eigen(a: Array, /) -> Array:
    return tuple(np.linalg.eig(a))


@composite(
    np.linalg.eig,
    samples=lambda r: [call(r(3, 3) / 8 + np.diag([1.0, 2.0, 4.0]))],
    errors=lambda r: [call(r(2, 3))],
)
def eig(a: Array) -> EigResult:
    """`numpy.linalg.eig`. Each eigenvector has length 1, and its largest component is real."""
    return EigResult(*eigen(a))


@composite(np.linalg.eigvals, samples=lambda r: [call(r(3, 3)), call(r(2, 2, 2) + 1j * r(2, 2, 2))])
def eigvals(a: Array) -> Array:
    return eigen(a)[0]


# -- QR ---------------------------------------------------------------------------------------------


def _qr_cotangent(g: Array, out: Array) -> Array:
    """S. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010."""
    (gq, gr), (q, r) = g, out
    m = np.matmul(r, hermitian(gr)) - np.matmul(hermitian(gq), q)
    below = np.tril(m, -1)
    middle = below + hermitian(below) + _diagonal(np.real(np.diagonal(m, axis1=-2, axis2=-1)))
    independent = np.all(np.diagonal(r, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    r = np.where(independent, r, beside(r, np.eye(np.shape(r)[-1]).astype(r.dtype)))
    return np.where(independent, hermitian(np.linalg.solve(r, hermitian(gq + np.matmul(q, middle)))), np.nan)


def _qr_tangents(t: Array, out: Array) -> tuple[Array, Array]:
    q, r = out
    w = hermitian(np.linalg.solve(hermitian(r), hermitian(t)))
    m = np.matmul(hermitian(q), w)
    below = np.tril(m, -1)
    turn = below - hermitian(below)
    if m.dtype.kind == "c":  # the diagonal of r stays real
        turn = turn + _diagonal(1j * np.imag(_on_diagonal(m)))
    return w + np.matmul(q, turn - m), np.matmul(m - turn, r)


@general(
    vjp=_qr_cotangent,
    jvp=_qr_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [call(r(4, 3)), call(r(2, 3, 3))],
)
def tall_qr(a: Array, /) -> Array:
    return tuple(np.linalg.qr(a))


@composite(
    np.linalg.qr,
    samples=lambda r: [call(r(4, 3)), call(r(2, 4)), call(r(2, 3, 2)), call(r(3, 2), "r"), call(r(3, 3), "complete")],
    errors=lambda r: [call(r(3, 2), "complete"), call(r(3)), call(r(3, 2), "raw")],
)
def qr(a: Array, mode: str = "reduced") -> Array:
    """`numpy.linalg.qr`, where the first columns are independent."""
    if np.ndim(a) < 2:
        raise np.linalg.LinAlgError(f"np.linalg.qr takes matrices, alone or in a stack; got shape {np.shape(a)}")
    if isinstance(a, Box) and not in_graph(a):
        found: Any = np.linalg.qr(values_of(a), mode)  # type: ignore[call-overload]  # any str
        return QRResult(*map(a.constant, found)) if isinstance(found, tuple) else a.constant(found)  # type: ignore[attr-defined]  # every box has it
    m, n = np.shape(a)[-2:]
    if mode not in ("reduced", "r", "complete") or (mode == "complete" and m > n):
        raise NotSupportedError(
            f"np.linalg.qr(mode={mode!r}) of a tensor of shape {np.shape(a)} has columns or a form that its input does "
            f"not determine; use mode='reduced'"
        )
    q, r = tall_qr(a[..., :m] if m < n else a)
    if m < n:
        r = np.concatenate([r, np.matmul(hermitian(q), a[..., m:])], axis=-1)
    return r if mode == "r" else QRResult(q, r)


# -- Singular values --------------------------------------------------------------------------------


def svd_cotangent(g: Array, out: Array) -> Array:
    """J. Townsend, Differentiating the singular value decomposition, 2016; complex phases as they turn freely."""
    (gu, gs, gvh), (u, s, vh) = g, out
    uh, v = hermitian(u), hermitian(vh)
    if unused(gu) and unused(gvh):
        return np.matmul(u * gs[..., None, :], vh)
    inner = _diagonal(gs)
    total = 0.0
    gv = hermitian(gvh)
    gaps = _gaps(s) * (s[..., None, :] + s[..., :, None]) if np.shape(s)[-1] > 1 else np.ones_like(inner)
    gaps = np.where(beside(s, np.eye(np.shape(s)[-1], dtype=bool)), 1.0, gaps)
    ju, jv = np.matmul(uh, gu), np.matmul(vh, gv)
    ku, kv = (ju - hermitian(ju)) / gaps, (jv - hermitian(jv)) / gaps
    off = ku * s[..., None, :] + s[..., :, None] * kv
    off = np.where(beside(s, np.eye(np.shape(s)[-1], dtype=bool)), 0.0, off)
    inner = inner + off
    if u.dtype.kind == "c":
        inner = inner + _diagonal(1j * np.imag(np.diagonal(ju, axis1=-2, axis2=-1)) / s)
    m, n = np.shape(u)[-2], np.shape(vh)[-1]
    if m > np.shape(s)[-1]:
        total = total + np.matmul((gu - np.matmul(u, ju)) / s[..., None, :], vh)
    if n > np.shape(s)[-1]:
        total = total + np.matmul(u / s[..., None, :], hermitian(gv - np.matmul(v, jv)))
    return total + np.matmul(np.matmul(u, inner), vh)


def svd_tangents(t: Array, out: Array) -> tuple[Any, Any, Any]:
    u, s, vh = out
    uh, v, k = hermitian(u), hermitian(vh), np.shape(s)[-1]
    tv, thu = np.matmul(t, v), np.matmul(hermitian(t), u)
    inner = np.matmul(uh, tv)
    turned, eye = hermitian(inner), beside(s, np.eye(k, dtype=bool))
    gaps = np.where(eye, 1.0, _gaps(s) * (s[..., None, :] + s[..., :, None]))
    left = np.where(eye, 0.0, inner * s[..., None, :] + s[..., :, None] * turned) / gaps
    right = np.where(eye, 0.0, s[..., :, None] * inner + turned * s[..., None, :]) / gaps
    if u.dtype.kind == "c":
        left = left + _diagonal(1j * np.imag(_on_diagonal(inner)) / s)
    tu, tvs = np.matmul(u, left), np.matmul(v, right)
    if np.shape(u)[-2] > k:
        tu = tu + (tv - np.matmul(u, inner)) / s[..., None, :]
    if np.shape(vh)[-1] > k:
        tvs = tvs + (thu - np.matmul(v, turned)) / s[..., None, :]
    return tu, np.real(_on_diagonal(inner)), hermitian(tvs)


@general(
    vjp=svd_cotangent,
    jvp=svd_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [call(r(4, 2)), call(r(2, 2, 3)), call(r(3, 3))],
    flags=("raises",),
)
def thin_svd(a: Array, /) -> Array:
    if not maybe_all(np.isfinite(a)):  # which LAPACK may never return from
        raise np.linalg.LinAlgError("SVD did not converge: there are infinities or NaN in the matrix")
    return tuple(np.linalg.svd(a, full_matrices=False))


def _svdvals_cotangent(g: Array, a: Array) -> Array:
    finite = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)
    u, _, vh = thin_svd(np.where(finite, a, 0.0))
    return np.where(finite, np.matmul(u * g[..., None, :], vh), np.nan)


def _svdvals_tangent(t: Array, a: Array) -> Array:
    u, _, vh = thin_svd(a)
    return np.real(np.sum(np.conj(u) * np.matmul(t, hermitian(vh)), axis=-2))


@general(
    vjp=_svdvals_cotangent,
    jvp=_svdvals_tangent,
    batch="leading",
    samples=lambda r: [call(r(3, 3)), call(r(2, 4)), call(r(3, 2) + 1j * r(3, 2))],
    flags=("raises",),
)
def singular_values(a: Array, /) -> Array:
    return np.linalg.svd(a, compute_uv=False)


@composite(
    np.linalg.svdvals,
    samples=lambda r: [call(r(3, 3)), call(r(2, 4)), call(r(2, 3, 2)), call(r(3, 2) + 1j * r(3, 2))],
    errors=lambda r: [call(r(3))],
)
def svdvals(x: Array, /) -> Array:
    """`numpy.linalg.svdvals`; where some are equal, the gradient is still finite."""
    if np.ndim(x) < 2:
        raise np.linalg.LinAlgError(f"np.linalg.svdvals takes matrices, alone or in a stack; got shape {np.shape(x)}")
    return thin_svd(x)[1] if goes_back(x) and surely_all(np.isfinite(x)) else singular_values(x)


@composite(
    np.linalg.svd,
    samples=lambda r: [
        call(r(3, 3)),
        call(r(4, 2), full_matrices=False),
        call(r(2, 2, 3), False),
        call(r(4, 2), compute_uv=False),
    ],
    errors=lambda r: [call(r(4, 2)), call(r(3))],
)
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Array:
    if np.ndim(a) < 2:
        raise np.linalg.LinAlgError(f"np.linalg.svd takes matrices, alone or in a stack; got shape {np.shape(a)}")
    if not compute_uv:
        return np.linalg.svdvals(a)
    if full_matrices and isinstance(a, Box) and not in_graph(a):
        return SVDResult(*map(a.constant, np.linalg.svd(values_of(a))))  # type: ignore[attr-defined]  # every box has it
    if full_matrices and np.shape(a)[-1] != np.shape(a)[-2]:
        raise NotSupportedError(
            f"np.linalg.svd of a tensor of shape {np.shape(a)} with full_matrices=True has columns that its input does "
            f"not determine; write np.linalg.svd(a, full_matrices=False)"
        )
    return SVDResult(*thin_svd(a))
