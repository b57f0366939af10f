"""Lists that NumPy's functions are given: whether a function needs a twin is found by what its names are bound to."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.twin.syntax.lists import UNKNOWN, Lists
from adjoint.twin.syntax.names import MISSING

# In a program of its own: where other classes are loaded, most functions need twins for these.
ALONE = """
import inspect, sys
import numpy as np
import adjoint as ad
sys.path.insert(0, sys.argv[1])
import listing

def slopes(f, x, h=1e-3):
    parts = [[np.asarray(f(x + k * h * d)) for k in (-2, -1, 1, 2)] for d in np.eye(x.size)]
    return np.stack([(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in parts], axis=-1)

found = [f for name, f in vars(listing).items() if inspect.isfunction(f) and not name.startswith("_")]
for f in found:
    x = np.array(f.__defaults__[0])
    np.testing.assert_allclose(ad.jacobian(f)(x), slopes(f, x), rtol=1e-6, atol=1e-9, err_msg=f.__name__)
print(len(found))
"""


def test_functions_alone():
    folder = Path(__file__).parent / "idioms"
    run = subprocess.run(
        [sys.executable, "-c", ALONE, str(folder)], capture_output=True, text=True, check=False, timeout=200
    )
    assert not run.returncode, run.stderr
    assert int(run.stdout) >= 15


DEPTHS = [
    ("x", 0),
    ("[x]", 1),
    ("[[x], (y, z)]", 2),
    ("[x][::-1]", 1),
    ("[[x]][0]", 1),
    ("[x] + [y]", 1),
    ("[x] * 3", 1),
    ("x * 3 + y", 0),
    ("x if y else [z]", 1),
    ("x or [z]", 1),
    ("[v for v in x]", 1),
    ("{'a': [x]}", 2),
    ("{'a': [x]}['a']", 1),
    ("x.sum()", 0),
    ("x.tolist()", UNKNOWN),
    ("x.unknown()", UNKNOWN),
    ("x.weights", UNKNOWN),
    ("x.T", 0),
    ("x[0]", 0),
    ("list(x)", 1),
    ("sorted([[x]])", 2),
    ("zip(x, y)", 2),
    ("enumerate(x)", 2),
    ("made(x)", UNKNOWN),
    ("inner(x)", 2),
    ("again(x)", 1),
    ("flow(x)", 2),
    ("short(x)", 1),
    ("rest", 1),
    ("groups", 2),
    ("group", 1),
    ("deep", UNKNOWN),
]

AROUND = """
def f(x, y, z, made):
    def inner(v):
        return [[v]]
    def again(v):
        return again(v) if v else [v]
    def flow(v):
        yield [v]
    short = lambda v: (v, v)
    a, *rest = x
    groups = {{}}
    groups.setdefault(0, []).append(x)
    for key, group in groups.items():
        pass
    deep = []
    deep.append(deep)
    return {}
"""


@pytest.mark.parametrize(("expression", "depth"), DEPTHS)
def test_depth(expression, depth):
    function = ast.parse(AROUND.format(expression)).body[0]
    lists = Lists(function, lambda node: MISSING, lambda f: 0)
    assert lists.result == depth
