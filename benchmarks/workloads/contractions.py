"""Users' programs without long loops: sums of products, small systems of equations, Jacobians, large arrays once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import c_loops
from benchmarks.harness import Budget, Call, Case
from benchmarks.peers import installed, load

TITLE = "Users' programs: sums of products"
ABOUT = (
    "Compiled gradients and Jacobians, double precision unless said. `C` is the loop of the value alone, without a "
    "derivative, by this machine's C compiler (`cc -O2`)."
)


class Program(NamedTuple):
    """A program, and what it is differentiated by.

    Attributes:
        function: of the namespace and the arguments.
        args: the arguments; the derivative is by the first `count`.
        derivative: the transform's name, or one made of a library.
        count: see `args`.
        loop: a loop in C for the value; without, JAX is the peer.
        out: what the loop writes.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    derivative: str = "grad"
    count: int = 1
    loop: str = ""
    out: tuple[int, ...] = ()


def stencil(n: int) -> Program:
    def energy(xp: Any, u: Any) -> Any:
        x, y, z = u[1:] - u[:-1], u[:, 1:] - u[:, :-1], u[:, :, 1:] - u[:, :, :-1]
        return xp.sum(x**2) + xp.sum(y**2) + xp.sum(z**2)

    return Program(energy, (np.random.default_rng(0).normal(size=(n, n, n)).astype(np.float32),), "value_and_grad")


def kalman(steps: int) -> Program:
    """The likelihood of measurements of two of four states, by the matrix that moves these."""
    rng = np.random.default_rng(0)
    move = np.eye(4) + 0.1 * np.eye(4, k=2)
    seen, noise, jitter = np.eye(2, 4), 0.1 * np.eye(4), 0.5 * np.eye(2)

    def loss(xp: Any, move: Any, rows: Any) -> Any:
        x, p, total = xp.zeros(4), xp.eye(4), 0.0
        for row in rows:
            x, p = move @ x, move @ p @ move.T + noise
            s, r = seen @ p @ seen.T + jitter, row - seen @ x
            gain = xp.linalg.solve(s, seen @ p).T
            total = total + r @ xp.linalg.solve(s, r) + xp.linalg.slogdet(s)[1]
            x, p = x + gain @ r, p - gain @ seen @ p
        return total

    return Program(loss, (move, rng.normal(size=(steps, 2))))


def small_systems(count: int) -> Program:
    rng = np.random.default_rng(0)

    def end(xp: Any, a: Any, x: Any) -> Any:
        for _ in range(count):
            x = xp.linalg.solve(a + xp.diag(xp.sin(x)), x + 1.0)
        return xp.sum(x**2)

    return Program(end, (rng.normal(size=(3, 3)) + 4 * np.eye(3), rng.normal(size=3)), count=2)


def process(n: int) -> Program:
    """The likelihood of a Gaussian process by the scales of its kernel."""
    rng = np.random.default_rng(0)

    def loss(xp: Any, scales: Any, x: Any, y: Any) -> Any:
        k = scales[0] * xp.exp(-scales[1] * (x[:, None] - x[None]) ** 2) + 0.1 * xp.eye(n)
        return 0.5 * y @ xp.linalg.solve(k, y) + 0.5 * xp.linalg.slogdet(k)[1]

    return Program(loss, (np.array([1.3, 0.7]), rng.normal(size=n), rng.normal(size=n)))


def nearest(points: int, centres: int) -> Program:
    rng = np.random.default_rng(0)

    def cost(xp: Any, c: Any, x: Any) -> Any:
        return xp.sum(xp.min(xp.sum((x[:, None] - c[None]) ** 2, axis=-1), axis=1))

    sizes = f"#define POINTS {points}\n#define CENTRES {centres}\n"
    args = rng.normal(size=(centres, 3)), rng.normal(size=(points, 3))
    return Program(cost, args, loop=sizes + c_loops.NEAREST.replace("*x, const double *c", "*c, const double *x"))


def mixture(points: int, gaussians: int, d: int) -> Program:
    """By weights, means, and the factors of the inverse covariances: logarithms of their diagonals, and the rest."""
    rng = np.random.default_rng(0)

    def likelihood(xp: Any, a: Any, m: Any, q: Any, low: Any, x: Any) -> Any:
        apart = x[:, None] - m[None]
        moved = xp.exp(q) * apart + xp.einsum("kij,nkj->nki", xp.tril(low, -1), apart)
        part = a + xp.sum(q, axis=1) - 0.5 * xp.sum(moved**2, axis=2)
        top = xp.max(part, axis=1, keepdims=True)
        return xp.sum(xp.log(xp.sum(xp.exp(part - top), axis=1)) + top[:, 0])

    args = (rng.normal(size=gaussians), rng.normal(size=(gaussians, d)), 0.3 * rng.normal(size=(gaussians, d)),
            0.3 * rng.normal(size=(gaussians, d, d)), rng.normal(size=(points, d)))  # fmt: skip
    loop = c_loops.MIXTURE.replace("const double *x, ", "").replace("*l, double", "*l, const double *x, double")
    sizes = f"#define POINTS {points}\n#define GAUSSIANS {gaussians}\n#define D {d}\n"
    return Program(likelihood, args, count=4, loop=sizes + loop)


def residuals(xp: Any, p: Any, seen: Any) -> Any:
    """Where a camera with rotation, centre, focal length and distortion sees a point, beside where it was seen."""
    a, x = p[:3], p[9:12] - p[3:6]
    w = xp.sum(a**2) + 1e-12
    t = xp.sqrt(w)

    def cross(u: Any, v: Any) -> Any:
        return xp.stack([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])

    u = cross(a, x)
    moved = x + xp.sin(t) / t * u + (1.0 - xp.cos(t)) / w * cross(a, u)
    h = moved[:2] / moved[2]
    r = xp.sum(h**2)
    return p[6] * (1.0 + p[7] * r + p[8] * r**2) * h - seen


def blocks(count: int) -> Program:
    rng = np.random.default_rng(0)
    p = rng.normal(size=(count, 12)) * 0.3 + np.array([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4.0])
    return Program(residuals, (p, rng.normal(size=(count, 2))), "each", 1,
                   f"#define BLOCKS {count}\n" + c_loops.BLOCKS, (count, 2))  # fmt: skip


def chain(points: int, bones: int) -> Program:
    """Points that follow each of the bones of a chain with a weight."""
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(bones, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    turns = np.cross(np.eye(3)[None], axes[:, None])
    squares = turns @ turns

    def moved(xp: Any, angles: Any, axes: Any, offsets: Any, x: Any, weights: Any) -> Any:
        r, t, out = xp.eye(3), xp.zeros(3), 0.0
        for b in range(bones):
            t = t + r @ offsets[b]
            r = r @ (xp.eye(3) + xp.sin(angles[b]) * turns[b] + (1.0 - xp.cos(angles[b])) * squares[b])
            out = out + weights[b][:, None] * (x @ r.T + t)
        return out

    args = (rng.normal(size=bones), axes, rng.normal(size=(bones, 3)), rng.normal(size=(points, 3)),
            rng.random((bones, points)) / bones)  # fmt: skip
    sizes = f"#define POINTS {points}\n#define BONES {bones}\n"
    return Program(moved, args, "jacfwd", 1, sizes + c_loops.CHAIN, (points, 3))


def power(n: int, turns: int) -> Program:
    rng = np.random.default_rng(0)

    def value(xp: Any, a: Any, v: Any) -> Any:
        for _ in range(turns):
            v = a @ v
            v = v / xp.sqrt(xp.sum(v**2))
        return v @ (a @ v)

    a = rng.normal(size=(n, n))
    return Program(value, (a + a.T, rng.normal(size=n)))


def conjugate(n: int, turns: int) -> Program:
    """Steps of conjugate gradients; by the right side and the matrix."""
    rng = np.random.default_rng(0)

    def end(xp: Any, b: Any, a: Any) -> Any:
        x, r = xp.zeros(n), b
        p, s = b, b @ b
        for _ in range(turns):
            q = a @ p
            step = s / (p @ q)
            x, r = x + step * p, r - step * q
            s, before = r @ r, s
            p = r + s / before * p
        return xp.sum(x**2)

    a = rng.normal(size=(n, n))
    return Program(end, (rng.normal(size=n), a @ a.T / n + np.eye(n)))


def ours(program: Program, wait: bool = True) -> Call:
    """The derivative as compiled code, or by adjoint alone."""
    ad = load("adjoint")
    derivative = _derivative(ad, partial(program.function, np), program)
    run = ad.compile(derivative, wait=True) if wait else derivative
    return lambda: _leaves(run(*program.args))


def theirs(program: Program) -> Call:
    """The derivative by JAX."""
    jax = load("jax")
    run = jax.jit(_derivative(jax, partial(program.function, jax.numpy), program))
    args = tuple(map(jax.numpy.asarray, program.args))
    return lambda: _leaves(jax.block_until_ready(run(*args)))


def _derivative(library: Any, function: Any, program: Program) -> Any:
    by = tuple(range(program.count)) if program.count > 1 else 0
    if program.derivative == "each":
        return library.vmap(library.jacfwd(function))
    return getattr(library, program.derivative)(function, by)


def _leaves(found: Any) -> list[Any]:
    return [leaf for part in found for leaf in _leaves(part)] if isinstance(found, tuple) else [found]


def by_c(program: Program) -> Call:
    """The loop of the value, in C."""
    return c_loops.loop(program.loop, *program.args, out=np.zeros(program.out))


def _programs(program: Program) -> dict[str, Call]:
    made = {"adjoint": ours(program), "eager": ours(program, False)}
    if installed("JAX jit"):
        made["JAX jit"] = theirs(program)
    if program.loop and c_loops.compiler():
        made["C"] = by_c(program)
    return made


def cases(small: bool = False) -> Iterator[Case]:
    """One row a program."""
    points = 40 if small else 10_000
    n = 8 if small else 160
    rows = (
        (f"stencil, {n} cubed, float32", stencil(n), 0.5),
        ("Kalman filter, 50 steps", kalman(4 if small else 50), 1.0),
        ("solve 3 by 3, 20 times", small_systems(3 if small else 20), 1.0),
        ("slogdet and solve, 30", process(5 if small else 30), 1.0),
        ("nearest of 300 centres", nearest(points, 7 if small else 300), 1.5),
        ("Gaussian mixture, 10 in 3 dimensions", mixture(points, 3 if small else 10, 3), 1.0),
        ("Jacobians of small blocks", blocks(points), 2.5),
        ("kinematic chain, 26 angles", chain(points, 3 if small else 26), 8.0),
        ("power iteration, 200", power(6 if small else 200, 3 if small else 50), 1.0),
        ("conjugate gradients, 784", conjugate(6 if small else 784, 3 if small else 20), 1.0),
    )
    for name, program, limit in rows:
        peer = "C" if program.loop else "JAX jit"
        yield Case(name, partial(_programs, program), budgets=(Budget(peer, limit),))
