"""NumPy's idioms differentiate as they are written: the table of idioms, in every transform."""

import importlib.util
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5's, of its own arrays

FOLDER = Path(__file__).parent / "idioms"
FILES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


def loaded():
    """The package of idioms, as one that a user has imported."""
    spec = importlib.util.spec_from_file_location(
        "idioms", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules["idioms"] = package
    spec.loader.exec_module(package)
    return package


PACKAGE = loaded()


def idioms():
    for stem in FILES:
        module = importlib.import_module(f"idioms.{stem}")
        for name, f in vars(module).items():
            if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_"):
                yield pytest.param(f, id=f"{stem}-{name}")


IDIOMS = list(idioms())
# What does not work in a mode, and why.
NOT_YET: dict[tuple[str, str], str] = {}


def table(mode):
    """The idioms, those that do not work in `mode` as expected failures."""
    found = []
    for case in IDIOMS:
        why = NOT_YET.get((case.values[0].__name__, mode))
        marks = [pytest.mark.xfail(strict=True, reason=why)] if why else []
        found.append(pytest.param(*case.values, id=case.id, marks=marks))
    return pytest.mark.parametrize("f", found)


def point(f):
    return np.array(f.__defaults__[0])


def slopes(f, x, h=1e-3):
    """The derivatives of `f` by each element of `x`, from differences of fourth order."""
    parts = []
    for direction in np.eye(x.size):
        a, b, c, d = (np.asarray(f(x + k * h * direction)) for k in (-2, -1, 1, 2))
        parts.append((a - 8 * b + 8 * c - d) / (12 * h))
    return np.stack(parts, axis=-1)


def close(got, wanted, scale=1.0):
    """Equal to a millionth: a rule that is 0.1 % wrong is seen."""
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6 * max(1.0, scale))


def test_the_table_is_long():
    names = [case.values[0].__name__ for case in IDIOMS]
    assert len(names) >= 200
    assert len(set(names)) == len(names)
    assert {name for name, _ in NOT_YET} <= set(names)


@table("grad")
def test_grad(f):
    x, loss = point(f), PACKAGE.loss(f)
    value, gradient = ad.value_and_grad(loss)(x)
    np.testing.assert_allclose(value, loss(x), rtol=1e-12, atol=1e-12)
    wanted = slopes(loss, x)
    assert np.any(wanted)
    close(gradient, wanted, np.max(np.abs(wanted)) * 1e-3)


@table("jvp")
def test_jvp(f):
    x, loss = point(f), PACKAGE.loss(f)
    direction = np.cos(np.arange(x.size) + 0.5)
    value, change = ad.jvp(loss, (x,), (direction,))
    np.testing.assert_allclose(value, loss(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(change, ad.grad(loss)(x) @ direction, rtol=1e-10, atol=1e-12)


@table("alone")
def test_alone(f):
    x = point(f)
    wanted = slopes(f, x)
    wanted = wanted.astype(float) if wanted.dtype == object else wanted
    close(ad.jacobian(f)(x), wanted, np.max(np.abs(wanted)) * 1e-3)


@table("vmap")
def test_vmap(f):
    loss = PACKAGE.loss(f)
    rows = np.stack([point(f) * k for k in (1.0, 1.0005, 0.9995)])
    np.testing.assert_allclose(ad.vmap(loss)(rows), [loss(row) for row in rows], rtol=1e-12, atol=1e-12)


@table("hessian")
def test_hessian(f):
    x, loss = point(f), PACKAGE.loss(f)
    wanted = slopes(ad.grad(loss), x)
    close(ad.hessian(loss)(x), wanted, np.max(np.abs(wanted)) * 1e-3)
    direction = np.cos(np.arange(x.size) + 0.5)
    given, change = ad.jvp(PACKAGE.gradient(f), (x,), (direction,))
    np.testing.assert_allclose(given, ad.grad(loss)(x), rtol=1e-10, atol=1e-12)
    close(change, wanted @ direction, np.max(np.abs(wanted)) * 1e-3)


@table("constant")
def test_constants(f):
    x, loss = point(f), PACKAGE.loss(f)
    kept = x.copy()
    value, slope = ad.value_and_grad(PACKAGE.beside(f, x))(1.5)
    np.testing.assert_allclose([value, slope], [2.25 * loss(x), 3.0 * loss(x)], rtol=1e-12)
    np.testing.assert_array_equal(x, kept)
    assert ad.vmap(PACKAGE.beside(f, x))(np.ones(2)) == pytest.approx(loss(x), rel=1e-12)


@table("compile")
def test_compile(f):
    loss = PACKAGE.loss(f)
    compiled, gradient = ad.compile(loss), ad.grad(ad.compile(loss))
    for k in (1.0, 1.0005, 0.9995):
        x = point(f) * k
        np.testing.assert_allclose(compiled(x), loss(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(gradient(x), ad.grad(loss)(x), rtol=1e-9, atol=1e-11)
