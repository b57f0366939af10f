"""Random loops through rows of arrays give what the plain ones give: values, and Python's or NumPy's kinds of them."""

import numpy as np
import pytest

import adjoint as ad
from tests.compiler.branching_rows import generate, is_differentiated
from tests.compiler.looping import function
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def check(seed, backend="numpy"):
    """A random program, or its gradient, at some points. Returns whether it was recorded as a loop."""
    plain = function(generate(seed))
    f = ad.grad(plain) if is_differentiated(seed) else plain
    step, rng = ad.compile(f, wait=True, backend=backend), np.random.default_rng(seed)
    for scale in (1.0, 1.0, 0.3, 2.0, 1.0, 1.0):
        x = rng.normal(size=24) * scale
        expected = f(x)
        found = step(x)
        assert type(found) is type(expected), generate(seed)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=generate(seed))
    return "one loop" in step.explain()


def first_above(x):
    for i in range(len(x)):
        if x[i] > 1.5:
            found = i * x[i]
            break
    else:
        found = -x[0]
    return found


def first_row(x):
    found = 0.25
    for v in x:
        if v > 1.2:
            found = v
            break
        found = found + 0.1 * v
    else:
        return found * 10
    return found


def settled(x):
    y, k = x[0], 0
    while k < 40:
        new = 0.5 * (y + np.tanh(x[1] * y))
        if abs(new - y) < 1e-3:
            break
        y, k = new, k + 1
    else:
        y = y * 100
    return y + k


def left_from_within(x):
    rows, total = x.reshape(4, 6), 0.0 * x[0]
    for row in rows:
        for v in row:
            if v > 1.5:
                break
            total = total + v
        else:
            total = total * 0.5
            continue
        break
    else:
        total = total + 7.0
    return total


def ended_in_the_else(x):
    total = 0.0 * x[0]
    for i in range(20):
        for j in range(4):
            if x[i] * x[j] > 2.0:
                break
            total = total + x[i] * j
        else:
            if total > 3.0:
                break
    else:
        total = total + 100.0
    return total


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", [first_above, first_row, settled, left_from_within, ended_in_the_else],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_what_comes_if_no_break_ended_the_loop(program, mode):
    f = program if mode == "value" else ad.grad(program)
    step, rng = ad.compile(f, wait=True), np.random.default_rng(0)
    for scale in (1.0, 0.2, 1.0, 1.0, 0.2, 2.0, 1.0, 0.5, 1.0, 1.0):
        x = rng.normal(size=24) * scale
        expected, found = f(x), step(x)
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    if program in (first_above, first_row, settled):
        assert len(step._specializations[next(iter(step._specializations))]) < 4
        assert "one loop" in step.explain()


def test_random_programs():
    assert sum(check(seed, "native" if seed % 4 == 0 else "numpy") for seed in range(24)) > 10


@long_search
def test_many_random_programs():
    for seed in seeds():
        check(seed, "native" if seed % 4 == 0 else "numpy")


def overwritten(x):
    s, t = -np.inf, 0.5
    for v in x[1:-1]:
        t = 0.95 * (0.3 * v * s)
        s = s * 1.0 if t < 0.3 and v > -0.5 else v
    return t - s


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_no_path_leads_to_what_no_turn_reads(backend):
    """The first turn's `t` is infinite; a cotangent of 0 for it would be nan before the loop."""
    gradient, rng = ad.grad(overwritten), np.random.default_rng(340)
    compiled = ad.compile(gradient, wait=True, backend=backend)
    for _ in range(8):
        x = rng.normal(size=24)
        np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-12)
    assert "one loop" in compiled.explain()


def lost_root(x):
    s = np.sqrt(x[0])
    for v in x[1:]:
        s = 0.5 * s + v if v > 0.0 else v
    return s


def lost_infinity(x):
    s, t = -np.inf, x[0]
    for v in x[1:]:
        t = 0.3 * v * s if v > 0.3 else t * 0.5
        s = v
        if v < -0.3:
            t = s
    return t + s


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("program", [lost_root, lost_infinity], ids=lambda f: f.__name__)
def test_zeros_where_no_path_leads(program, backend):
    """Before the loop, or in its first turn, a partial derivative is infinite in some calls."""
    gradient, rng = ad.grad(program), np.random.default_rng(1)
    compiled = ad.compile(gradient, wait=True, backend=backend)
    for k in range(12):
        x = rng.normal(size=24)
        x[0] = abs(x[0]) * (k % 3 > 0)
        np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-12)


@pytest.mark.parametrize("seed", [1621, 1627])
def test_infinite_first_values(seed):
    check(seed)
