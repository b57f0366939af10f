"""Arrays of many rows and short axes, written out element by element."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.plan.elements.rows import written_out
from adjoint.native.plan.rewriting.decompose import primitive

ROWS = 300


def built(f, *args):
    graph = ad.capture(f, *args)
    return native.build(graph.inputs, graph.outputs), graph


def is_written_out(f, *args):
    return written_out(primitive(ad.capture(f, *args).outputs)) is not None


def cross(a, b):
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turned(p):
    """A point that is turned by a vector, and seen from the origin."""
    a, x = p[:3], p[3:]
    t = np.sqrt(np.sum(a**2) + 1e-9)
    moved = x + np.sin(t) / t * cross(a, x) + (1 - np.cos(t)) / t**2 * cross(a, cross(a, x))
    return moved[:2] / (moved[2] + 9.0)


def test_jacobians_of_many_small_functions_are_one_kernel():
    x = np.random.default_rng(0).normal(size=(ROWS, 6))
    program, _ = built(ad.vmap(ad.jacfwd(turned)), x)
    expected = np.stack([ad.jacobian(turned)(row) for row in x])
    np.testing.assert_allclose(program(x)[0], expected, rtol=1e-11, atol=1e-12)
    assert [step.by for plan in program.plans for step in plan.steps] == ["kernel", "check"]


@pytest.mark.parametrize("rows", [256, 257, 263, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_rows(rows, dtype):
    x = np.random.default_rng(rows).normal(size=(rows, 6)).astype(dtype)
    f = ad.vmap(ad.jacfwd(turned))
    program, graph = built(f, x)
    assert is_written_out(f, x)
    tolerance = 1e-3 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(program(x)[0], graph.run([x])[0], rtol=tolerance, atol=tolerance)


def test_what_is_not_finite_is_what_numpy_gives():
    x = np.random.default_rng(0).normal(size=(ROWS, 6))
    x[3, 4], x[7, 0], x[8, 5], x[9] = np.inf, np.nan, 1e300, 0
    program, graph = built(ad.vmap(ad.jacfwd(turned)), x)
    with np.errstate(all="ignore"):
        expected = graph.run([x])[0]
    assert np.isnan(expected).any()
    np.testing.assert_allclose(program(x)[0], expected, rtol=1e-9, atol=1e-12)


def test_a_matrix_of_zeros_and_ones_keeps_nan():
    swap = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])

    def f(x):
        parts = [swap @ row for row in (x[0], x[1], cross(x[0], x[1]))]
        return np.sum(np.stack(parts) * np.sin(x), axis=0) + cross(parts[0], parts[1])

    x = np.random.default_rng(0).normal(size=(ROWS, 3, 3))
    program, graph = built(ad.vmap(f), x)
    np.testing.assert_allclose(program(x)[0], graph.run([x])[0], rtol=1e-12)
    x[5, 0, 0], x[6, 1, 2] = np.inf, np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.isnan(program(x)[0]), np.isnan(graph.run([x])[0]))


def test_plain_programs_stay_as_they_are():
    x = np.ones((ROWS, 3))
    assert not is_written_out(lambda x: np.tanh(x) * 2 + np.sin(x), x)
    assert not is_written_out(lambda x: np.stack([x[:, 0], x[:, 1]]), x)


def program_of(seed):
    """A random program of rows, written with indices, stacks, short sums, small products and constants."""
    rng = np.random.default_rng(seed)
    constants = [rng.choice([0.0, 1.0, -1.0, 0.5], size=(3, 3)) for _ in range(3)]
    steps = rng.integers(0, 11, size=rng.integers(6, 14)).tolist()
    picks = rng.integers(0, 3, size=(len(steps), 3)).tolist()

    def f(x):
        known = [x[:3], x[3:6], np.sin(x[:3]) + 1.5]
        for step, (i, j, k) in zip(steps, picks, strict=True):
            a, b = known[-1 - i % len(known)], known[-1 - j % len(known)]
            if step == 0:
                new = cross(a, b)
            elif step == 1:
                new = constants[k] @ a
            elif step == 2:
                new = a * b - a[k]
            elif step == 3:
                new = np.concatenate([a[k:], b[:k]])
            elif step == 4:
                new = np.stack([np.sum(a * b), a[k], np.max(b)])
            elif step == 5:
                new = a / (1 + np.sum(b**2))
            elif step == 6:
                new = (a[:, None] * b[None]) @ np.cos(a)
            elif step == 7:
                new = np.where(a > b, np.tanh(a), b[k])
            elif step == 8:
                new = np.pad(np.sqrt(1 + a[1:] ** 2), (k % 2, 1 - k % 2))
            elif step == 9:
                new = np.outer(a, b).T[k] - np.stack([a, b], axis=1)[:, j % 2]
            else:
                new = -(constants[k] * a).sum(axis=1) + np.array([0.0, 1.0, 2.0])
            known.append(new / (1 + np.max(np.abs(new))) if step in (0, 6, 9) else new)
        return known[-1] + 0.1 * known[-2]

    return f


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed):
    rng, f = np.random.default_rng(seed), program_of(seed)
    x = rng.normal(size=(int(rng.choice([256, 261, 272])), 6))
    for g in (
        ad.vmap(f),
        ad.vmap(ad.jacfwd(f)),
        ad.vmap(ad.jacobian(f)),
        ad.grad(lambda x: np.sum(ad.vmap(f)(x) ** 2)),
    ):
        program, graph = built(g, x)
        expected = graph.run([x])
        for found, wanted in zip(program(x), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        y = x.copy()
        y[rng.integers(0, len(x), 3), rng.integers(0, 6, 3)] = rng.choice([np.inf, -np.inf, np.nan])
        with np.errstate(all="ignore"):
            expected = graph.run([y])
        for found, wanted in zip(program(y), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
