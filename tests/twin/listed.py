"""Lists of tensors that one sees only by following the names that they go through.

No class stands here, and no other reason for a twin: `test_listed.py` loads this file as a package of its own.
"""

import itertools

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def starred(x):
    first, *rest = x
    return first * np.prod(rest)


@program
def starred_in_turn(x):
    for a, *b in [x, 2.0 * x]:
        pass
    return a * np.sum(b)


def product(*factors):
    return np.prod(factors)


@program
def parameters(x):
    return product(*x)


@program
def element(x):
    rows = [[x[0], x[1]], [x[2], 1.5]]
    return np.prod(rows[0]) + np.linalg.norm(rows[1])


@program
def part(x):
    values = [x[0], x[1], x[2]]
    return np.prod(values[1:]) + np.mean(values[::-1])


@program
def under_a_key(x):
    found = {"a": (x[0], x[1])}
    return np.prod(found["a"])


@program
def grown_under_a_key(x):
    found = {}
    found.setdefault("k", []).append(x[0])
    found.setdefault("k", []).append(x[2])
    return np.prod(found["k"])


@program
def added(x):
    a = [x[0]]
    b = [x[1], 2.0]
    return np.prod(a + b) + np.sum(a * 3)


@program
def one_or_the_other(x):
    pair = [x[0], x[1]]
    return np.prod(pair if x[0] > 0.0 else pair[:1]) + np.sum(pair and pair)


@program
def named_inside(x):
    return np.prod(pair := [x[0], x[1]]) + np.max(pair)


def both(x):
    return x[0], x[1]


def both_again(x):
    return both(x)


def others(x, n):
    return [x[0]] if n == 0 else others(x, n - 1) + [x[n]]


@program
def given(x):
    pair = both_again(x)
    return np.prod(both(x)) + np.hypot(*pair) + np.prod(pair)


@program
def given_by_itself(x):
    return np.prod(others(x, 2))


@program
def chosen_between(x):
    low, high = [], []
    for v in x:
        (low if v < 0.5 else high).append(v)
    return np.sum(low) * np.prod(high)


@program
def taken(x):
    stack = [(x[0], x[1])]
    pair = stack.pop()
    return np.sum(pair) * np.linalg.norm(pair)


@program
def combined(x):
    return sum(np.prod(pair) for pair in itertools.combinations(x, 2))


@program
def filled_constants(x):
    h = [0.0] * 4
    for i in range(3):
        h[i] = x[i] * i
    m = [[0.0, 1.0], [2.0, 3.0]]
    m[0][0] = x[0]
    return np.sum(h) + np.linalg.det(m)


@program
def named_argument(x):
    return np.average([1.0, 2.0], weights=[x[0], x[1]])


WEIGHTS = np.array([1.0, 2.0])


@program
def beside_operators(x):
    pair = [x[0], x[1]]
    total = WEIGHTS.copy()
    total += pair
    total -= both(x)[::-1]
    return (pair * WEIGHTS).sum() + WEIGHTS @ pair + (WEIGHTS / both(x)).prod() + (WEIGHTS - pair).prod() + total.prod()


@program
def compared(x):
    pair = [x[0], x[1]]
    return np.where(np.array([0.5, 0.5]) < pair, pair, 0.0).sum()
