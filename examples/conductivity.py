"""A physics inverse problem: the conductivity of a plate from its temperatures, by Newton with sparse Jacobians."""

import numpy as np
from scipy.sparse import block_array, eye_array
from scipy.sparse.linalg import spsolve

import adjoint as ad

HEAT = 0.4  # how much better the material conducts when it is warmer by 1


def imbalance(u, log_k, source):
    """What flows into each cell of an n by n plate of temperatures `u`, less what flows out; zero at rest.

    Finite volumes for div(k (1 + HEAT u) grad u) + source = 0, with the edges kept at 0. `log_k` is per cell.
    """
    n = source.shape[0]
    u = np.pad(np.reshape(u, (n, n)), 1)
    k = np.pad(np.exp(np.reshape(log_k, (n, n))), 1, mode="edge") * (1 + HEAT * u)
    down = (k[1:, 1:-1] + k[:-1, 1:-1]) / 2 * (u[1:, 1:-1] - u[:-1, 1:-1])
    right = (k[1:-1, 1:] + k[1:-1, :-1]) / 2 * (u[1:-1, 1:] - u[1:-1, :-1])
    return np.ravel(down[1:] - down[:-1] + right[:, 1:] - right[:, :-1] + source)


def roughness(log_k, n):
    """Differences between neighbouring cells: what is to be small unless the measurements say otherwise."""
    field = np.reshape(log_k, (n, n))
    return np.concatenate([np.ravel(np.diff(field, axis=0)), np.ravel(np.diff(field, axis=1))])


def patterns(n):
    """Where the Jacobians have entries: found once, for all steps. Each cell meets its neighbours only."""
    u, log_k = np.linspace(0, 1, n * n), np.zeros(n * n)
    source = np.ones((n, n))
    by_u = ad.sparsity(imbalance)(u, log_k, source)
    by_k = ad.sparsity(imbalance, 1)(u, log_k, source)
    return by_u, by_k


def temperatures(log_k, source, by_u):
    """The temperatures at rest, by Newton's method: each step solves with the sparse Jacobian by temperature."""
    u = np.zeros(source.size)
    slope = ad.sparse_jacobian(imbalance, pattern=by_u)
    for _ in range(30):
        step = spsolve(slope(u, log_k, source), -imbalance(u, log_k, source))
        u = u + step
        if np.max(np.abs(step)) < 1e-12:
            break
    return u


def rms(a):
    """The root of the mean square."""
    return float(np.sqrt(np.mean(a**2)))


def main(n=30, noise=1e-4, smoothness=2.5e-3, steps=12):
    """Recover the conductivities of n * n cells. Returns them, their errors before and after, and the misfits."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    true = np.ravel(0.8 * np.exp(-((x - 0.35) ** 2 + (y - 0.6) ** 2) / 0.03) - 0.6 * (x > 0.6))
    source = np.full((n, n), 8.0) / n**2
    by_u, by_k = patterns(n)
    at_rest = temperatures(true, source, by_u)
    measured = at_rest + noise * np.random.default_rng(0).normal(size=n * n)

    # Temperatures and conductivities are unknowns together, and the equation is one more thing to be fulfilled
    # (Haber, Ascher and Oldenburg, 2000). So nothing is ever dense, and a step is one sparse least-squares solve.
    m, firm = n * n, 1e3 / noise
    slope_u, slope_k = ad.sparse_jacobian(imbalance, pattern=by_u), ad.sparse_jacobian(imbalance, 1, pattern=by_k)
    rough = ad.sparse_jacobian(roughness)(np.zeros(m), n) * (smoothness / noise)
    u, log_k = measured.copy(), np.zeros(m)
    before, misfits = rms(log_k - true), [rms(temperatures(log_k, source, by_u) - measured) / noise]
    for _ in range(steps):
        residual = np.concatenate([firm * imbalance(u, log_k, source), (u - measured) / noise, rough @ log_k])
        here = (u, log_k, source)
        jacobian = block_array(
            [[firm * slope_u(*here), firm * slope_k(*here)], [eye_array(m) / noise, None], [None, rough]]
        )
        step = spsolve((jacobian.T @ jacobian).tocsc(), -jacobian.T @ residual)
        step *= min(1.0, 1.0 / np.max(np.abs(step[m:])))
        u, log_k = u + step[:m], log_k + step[m:]
        misfits.append(rms(temperatures(log_k, source, by_u) - measured) / noise)
        if np.max(np.abs(step)) < 1e-8:
            break
    after = rms(log_k - true)
    print(f"{m} cells; the Jacobian by temperature has {by_u.nnz} entries of {m * m}")
    print(f"error of log conductivity  before {before:.3f}  after {after:.3f}")
    print(f"misfit in units of noise   before {misfits[0]:.1f}  after {misfits[-1]:.2f}  in {len(misfits) - 1} steps")
    for name, field in (("true", true), ("found", log_k)):
        print(name)
        for row in np.reshape(field, (n, n))[:: max(1, n // 12)]:
            print("  " + "".join(" ░▒▓█"[int(np.clip(2.5 + 2 * v, 0, 4))] * 2 for v in row[:: max(1, n // 24)]))
    return {"true": true, "found": log_k, "before": before, "after": after, "misfits": misfits, "source": source}


if __name__ == "__main__":
    main()
