"""Which functions are given twins because of lists: those whose lists only a look at all of their names shows."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.3, 0.7, 1.1])
V = np.array([1.0, -0.5, 0.25])


def load(name, path):
    """The module at `path`, as a package of its own: the classes of other tests are no reason for twins there."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LISTED = load("adjoint_tests_listed", pathlib.Path(__file__).parent / "listed.py")
every_program = pytest.mark.parametrize("f", LISTED.PROGRAMS, ids=lambda f: f.__name__)


def slope(f, direction, h=1e-5):
    a, b = direction * h, 2 * direction * h
    return (8 * (f(X + a) - f(X - a)) - (f(X + b) - f(X - b))) / (12 * h)


@every_program
def test_derivatives(f):
    value, gradient = ad.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    assert gradient @ V == pytest.approx(slope(f, V), rel=1e-7)
    assert ad.jvp(f, (X,), (V,))[1] == pytest.approx(slope(f, V), rel=1e-7)
    assert ad.hessian(f)(X) @ V == pytest.approx(slope(ad.grad(f), V), rel=1e-5, abs=1e-7)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([X, X]))[1], gradient, rtol=1e-12)


@every_program
def test_compiled(f):
    compiled, gradient = ad.compile(f, wait=True), ad.compile(ad.grad(f), wait=True)
    for x in (X, 1.01 * X, 0.99 * X):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(gradient(x), ad.grad(f)(x), rtol=1e-10)


PLAIN = """
import numpy as np
from adjoint.twin.follow import twins_for

def pair(x):
    return x + 1.0, np.sum(x)

def mixed(x, w):
    y, total = pair(x)
    for i in range(3):
        y = np.tanh(np.dot(w, y) + np.pi * i)
    return np.sum(np.logaddexp.reduce(y)) / total + np.max(x[1:]) + np.reshape(y, -1)[0]

print([twins_for(f).matters(f) for f in (pair, mixed)])
"""


def test_functions_without_lists_have_no_twin(tmp_path):
    path = tmp_path / "plain.py"  # in a process of its own: packages that others name are followed in this one
    path.write_text(PLAIN)
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=100)
    assert run.stdout == "[False, False]\n"


@pytest.mark.parametrize("terms", [100, 900])
def test_a_sum_of_many_terms(terms, tmp_path):
    path = tmp_path / "terms.py"
    total = " + ".join(f"x[{i % 3}]" for i in range(terms))
    path.write_text(f"import numpy as np\n\n\ndef f(x):\n    a = [x[0], x[1]]\n    return np.prod(a) + {total}\n")
    f, limit = load(f"adjoint_tests_terms_{terms}", path).f, sys.getrecursionlimit()
    wanted = np.array([X[1], X[0], 0.0]) + np.bincount(np.arange(terms) % 3)
    np.testing.assert_allclose(ad.grad(f)(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(ad.jacfwd(f)(X), wanted, rtol=1e-12)
    compiled = ad.compile(ad.grad(f), wait=True)
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), wanted, rtol=1e-12)
    assert "specialization" in compiled.explain()
    assert sys.getrecursionlimit() == limit
