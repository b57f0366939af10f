"""Inside `vmap`: whole numbers and truth values that differ between samples, stored and used as places."""

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.1, 0.9, 0.45, 0.3])
ROWS = np.stack([X, X[::-1], X * 0.5, X[[1, 0, 3, 2]]])


def counted(x):
    counts = np.zeros(4)
    np.add.at(counts, np.digitize(x, [0, 0.25, 0.5, 0.75]) - 1, np.square(x))
    np.subtract.at(counts, [np.argmax(x), 0], x[:2])
    return counts


def in_two_places(x):
    p, q, m = np.argmax(x), np.argmin(x), np.outer(x, x)
    m[p, :] = 0.0
    m[[p, 0]] += 1.0
    m[:, (p,)] *= 2.0
    m[[p, q], [q, p]] = x[:2]
    return m


def from_two_places(x):
    p, q = np.argmax(x), np.argmin(x)
    return np.outer(x, x)[[p, q], [q, p]] + np.multiply(x, 2.0)[[p, q]] + np.arange(5.0)[[p, q]] * x[[q, 0]]


def ranked(x):
    rank = np.zeros(4, int)
    rank[np.argsort(x)] = np.arange(4)
    return rank * x


def traced_back(x):
    best = np.zeros((2, 2), dtype=int)
    best[1, 0] = x.argmax()
    best[0] = x[:2].argmin()
    path = [int(x.argmax())]
    path.insert(0, best[1, path[0] % 2])
    return sum(x[best[k, 0]] * (k + 1) for k in range(2)) + x[path] + np.outer(x, x)[range(2), path]


def masked(x):
    large, used = np.zeros(4, dtype=bool), np.zeros(4, bool)
    large[x > 0.4] = True
    used[np.argmax(x)] = True
    return np.where(large, x, 0).sum() + np.where(used, 2 * x, x) + large.sum() * x[0] + (~large & used).any() * x[2]


def the_same_in_all(x):
    """Whole numbers that are written, and are the same for all samples, stay whole numbers."""
    n, seen, counts = np.zeros(3, dtype=int), np.zeros(4, bool), np.zeros(2, int)
    n[1] += 2
    seen[2] = True
    made = np.zeros(n[1] + 2)
    made[n[1]] = x[0]
    if seen[2] and not seen[1]:
        made[0] = x[1]
    for j in range(3):
        counts[j % 2] += 1
    while counts[0] > 0:
        counts[0] -= 1
    rest = np.arange(counts[1] + 1).sum() + len(n.tolist()) + "abc".index("abc"[n[1]]) + float(n[1])
    return made * sum([x[i] for i in n]) + rest * x[2] + [4, 5, 6][n[1]] * x[3]


@pytest.mark.parametrize(
    "f",
    [counted, in_two_places, from_two_places, ranked, traced_back, masked, the_same_in_all],
    ids=lambda f: f.__name__,
)
def test_places(f):
    np.testing.assert_allclose(ad.vmap(f)(ROWS), [f(row) for row in ROWS], rtol=1e-14)
    wanted = [ad.jacobian(f)(row) for row in ROWS]
    np.testing.assert_allclose(ad.vmap(ad.jacobian(f))(ROWS), wanted, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ad.vmap(ad.jacfwd(f))(ROWS), wanted, rtol=1e-13, atol=1e-15)
    compiled = ad.compile(f, wait=True)
    for row in ROWS:
        np.testing.assert_allclose(compiled(row), f(row), rtol=1e-13)


def test_values_that_are_the_same_for_all_samples_leave():
    seen = []
    leaving = eval("lambda t: (t.tolist(), t.item(1), t.numpy().tolist(), float(t[1]))")  # without source: no twin

    def f(x):
        same = np.zeros(3)
        same[1] = 2.0
        seen.append(leaving(same))
        return x + same[1]

    np.testing.assert_array_equal(ad.vmap(f)(ROWS), ROWS + 2.0)
    assert seen == [([0.0, 2.0, 0.0], 2.0, [0.0, 2.0, 0.0], 2.0)]
    with pytest.raises(ad.BatchedValueError, match="many samples"):
        ad.vmap(lambda x: leaving(x)[1] * x)(ROWS)
