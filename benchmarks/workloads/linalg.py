"""Linear algebra, Fourier transforms and SciPy's functions: what a gradient costs beside the plain call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case
from benchmarks.peers import load

TITLE = "Gradient beside the plain call"
ABOUT = (
    "NumPy's or SciPy's own call on arrays, beside the call on tensors and the way back to every argument, from a "
    "cotangent that is given. Rows without a budget: a "
    "solution for one `vector` only reads its matrix, whose gradient is to be written; a determinant's gradient is an "
    "inverse, twice the work of the factors; that of expm is a Fréchet derivative."
)
EVERYONE = {"adjoint": None, "NumPy": None}

Row = tuple[str, Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...], bool]


def cases(small: bool = False) -> Iterator[Case]:
    """One row a function. Those that `rows` gives no bound have no budget: they are written larger or computed anew."""
    for name, plain, ours, arrays, bound in rows(8 if small else 300):
        budgets = (Budget("NumPy", 3.0),) if bound else ()
        yield Case(name, lambda p=plain, o=ours, a=arrays: programs(p, o, a), budgets=budgets)


def programs(plain: Callable[..., Any], ours: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> dict[str, Call]:
    """The plain call, and the gradient by every argument for a cotangent of ones."""
    ad, cotangents = load("adjoint"), [np.ones_like(y) for y in listed(plain(*arrays))]

    def gradient() -> list[Any]:
        leaves = [ad.Tensor(a, requires_grad=True) for a in arrays]
        found = listed(ours(*leaves))
        if len(found) == 1:
            found[0].backward(cotangents[0], retain_graph=False)
        else:
            sum(np.sum(y) for y in found).backward(retain_graph=False)
        return [leaf.grad for leaf in leaves]

    return {"adjoint": gradient, "NumPy": lambda: listed(plain(*arrays))}


def listed(value: Any) -> list[Any]:
    """A function's value, one array or several, as a list."""
    return list(value) if isinstance(value, tuple) else [value]


def rows(n: int) -> Iterator[Row]:
    """Name, plain call, call on tensors, arguments, and whether three times the plain call is enough."""
    r = np.random.default_rng(0)
    square, b, vector = r.standard_normal((n, n)), r.standard_normal((n, n)), r.standard_normal(n)
    a, tall = square + 2 * np.sqrt(n) * np.eye(n), r.standard_normal((2 * n, n))
    positive = square @ square.T / n + np.eye(n)
    yield from _numpys(a, b, vector, tall, positive)
    yield from _transforms(r, 8 if n < 100 else 256)
    yield from _scipys(a, b, vector, tall, positive)
    yield from _signals(r, 64 if n < 100 else 2**16)


def _same(name: str, f: Callable[..., Any], *arrays: np.ndarray, bound: bool = True) -> Row:
    return name, f, f, arrays, bound


def _numpys(a: Any, b: Any, vector: Any, tall: Any, positive: Any) -> Iterator[Row]:
    la = np.linalg
    scaled = a / (2 * np.sqrt(len(a)))
    yield _same("solve, vector", la.solve, a, vector)
    yield _same("solve, matrix", la.solve, a, b)
    yield _same("inv", la.inv, a)
    yield _same("det", la.det, scaled, bound=False)
    yield _same("slogdet", lambda x: la.slogdet(x)[1], a, bound=False)
    yield _same("cholesky", la.cholesky, positive)
    yield _same("qr", lambda x: tuple(la.qr(x)), tall)
    yield _same("eigh", lambda x: tuple(la.eigh(x)), positive)
    yield _same("eigvalsh", la.eigvalsh, positive)
    yield _same("svd", lambda x: tuple(la.svd(x, full_matrices=False)), tall)
    yield _same("svdvals", la.svdvals, tall)
    yield _same("norm, nuclear", lambda x: la.norm(x, "nuc"), a)
    yield _same("cond", la.cond, a)
    yield _same("pinv", la.pinv, tall)
    yield _same("lstsq", lambda x, y: la.lstsq(x, y)[0], tall, np.ascontiguousarray(tall[:, 0] + 1))


def _transforms(r: np.random.Generator, n: int) -> Iterator[Row]:
    image = r.standard_normal((n, n))
    spectrum = image + 1j * r.standard_normal((n, n))
    for name in ("fft", "ifft", "fft2", "irfft2"):
        yield _same(f"fft.{name}", getattr(np.fft, name), spectrum)
    for name in ("rfft", "rfft2"):
        yield _same(f"fft.{name}", getattr(np.fft, name), image)


def _scipys(a: Any, b: Any, vector: Any, tall: Any, positive: Any) -> Iterator[Row]:
    theirs, ours = load("scipy.linalg"), load("adjoint.scipy.linalg")
    lower, (lu, pivots) = np.linalg.cholesky(positive), theirs.lu_factor(a)

    def row(name: str, f: Callable[[Any], Callable[..., Any]], *arrays: np.ndarray, bound: bool = True) -> Row:
        return f"scipy.linalg: {name}", f(theirs), f(ours), arrays, bound

    yield row("solve_triangular, matrix", lambda m: lambda x, y: m.solve_triangular(x, y, lower=True), lower, b)
    yield row("solve_triangular, vector", lambda m: lambda x, y: m.solve_triangular(x, y, lower=True), lower, vector,
              bound=False)  # fmt: skip
    yield row("cho_solve, matrix", lambda m: lambda c, y: m.cho_solve((c, True), y), lower, b)
    yield row("cho_solve, vector", lambda m: lambda c, y: m.cho_solve((c, True), y), lower, vector, bound=False)
    yield row("cho_factor", lambda m: lambda x: m.cholesky(x), positive)
    yield row("lu_solve, matrix", lambda m: lambda f, y: m.lu_solve((f, pivots), y), lu, b)
    yield row("lu_solve, vector", lambda m: lambda f, y: m.lu_solve((f, pivots), y), lu, vector, bound=False)
    yield row("lu_factor", lambda m: lambda x: m.lu_factor(x)[0], a)
    yield row("polar", lambda m: m.polar, tall)
    yield row("solve_sylvester", lambda m: m.solve_sylvester, a, positive, b)
    yield row("solve_continuous_lyapunov", lambda m: m.solve_continuous_lyapunov, a, b)
    yield row("sqrtm", lambda m: m.sqrtm, positive)
    yield row("expm", lambda m: m.expm, a / 20, bound=False)


def _signals(r: np.random.Generator, n: int) -> Iterator[Row]:
    theirs, ours = load("scipy.signal"), load("adjoint.scipy.signal")
    b, a = theirs.butter(4, 0.2)
    signal, kernel = r.standard_normal(n), r.standard_normal(n // 300 + 3)

    def row(name: str, f: Callable[[Any], Callable[..., Any]], *arrays: np.ndarray, bound: bool = True) -> Row:
        return f"scipy.signal: {name}", f(theirs), f(ours), arrays, bound

    yield row("lfilter, by the signal", lambda m: lambda x: m.lfilter(b, a, x), signal)
    yield row("lfilter, by everything", lambda m: m.lfilter, b, a, signal)
    yield row("fftconvolve", lambda m: m.fftconvolve, signal, kernel)
    yield row("convolve", lambda m: m.convolve, signal, kernel)
