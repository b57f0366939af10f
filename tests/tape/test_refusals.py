"""What a refusal says: the user's line, the function of SciPy's or NumPy's that asked, and what to call instead."""

import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.stats

import adjoint as ad
from adjoint.core.errors import RefusedError
from tests.foreign import foreign

MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])


def tensor(values):
    return ad.tensor(values, requires_grad=True)


def refusal(call, *args):
    """The text of the error that ``call(*args)`` raises, and the line it was called from."""
    line = sys._getframe(1).f_lineno
    with pytest.raises(RefusedError) as caught:
        call(*args)
    return str(caught.value), line


IDIOMS = {
    "np.asarray(t)": lambda t: np.asarray(t),
    "np.array([t[0], t[1]])": lambda t: np.array([t[0], t[1]]),
    "float(t[0])": lambda t: float(t[0]),
    "int(t[0])": lambda t: int(t[0]),
    "math.sin(t[0])": lambda t: math.sin(t[0]),
    "np.full(2, t[0])": lambda t: np.full(2, t[0]),
}


@pytest.mark.parametrize("name", IDIOMS)
def test_a_conversion_is_named_with_its_line_and_what_makes_it_work(name):
    text, _ = refusal(IDIOMS[name], tensor([1.0, 2.0]))
    line = IDIOMS[name].__code__.co_firstlineno
    assert f"test_refusals.py:{line} ({name})" in text
    assert "@ad.differentiable" in text
    assert "ad.through('test_refusals')" in text or "ad.through('tests')" in text
    assert "t.detach(), t.numpy() or t.item()" in text


def test_code_of_another_package_is_named_for_through():
    text, _ = refusal(ad.grad(foreign("lambda x: float(x)")), 1.0)
    assert "ad.through('foreign')" in text
    text, _ = refusal(lambda: ad.jvp(foreign("lambda x: np.asarray(x)"), (1.0,), (1.0,)))
    assert "ad.through('foreign')" in text
    assert "this array's tangent" in text


HAS_TWIN = {
    "scipy.linalg.expm": lambda: scipy.linalg.expm(tensor(MATRIX)),
    "scipy.linalg.eigvalsh": lambda: scipy.linalg.eigvalsh(tensor(MATRIX)),
    "scipy.signal.hilbert": lambda: scipy.signal.hilbert(tensor(np.ones(8))),
    "scipy.interpolate.CubicSpline": lambda: scipy.interpolate.CubicSpline(np.arange(4.0), tensor(np.ones(4))),
    "scipy.stats.norm": lambda: scipy.stats.norm.pdf(tensor(np.ones(3))),
}
ARRAY_API = {
    "scipy.stats.zscore": lambda: scipy.stats.zscore(tensor(np.arange(4.0))),
    "scipy.stats.skew": lambda: scipy.stats.skew(tensor(np.arange(4.0))),
}
NEITHER = {
    "scipy.ndimage.gaussian_filter": lambda: scipy.ndimage.gaussian_filter(tensor(np.ones(8)), 1.0),
    "scipy.spatial.distance.pdist": lambda: scipy.spatial.distance.pdist(tensor(MATRIX)),
}


@pytest.mark.parametrize("name", HAS_TWIN)
def test_scipys_function_is_named_and_ours_that_takes_tensors(name):
    text, _ = refusal(HAS_TWIN[name])
    line = HAS_TWIN[name].__code__.co_firstlineno
    assert f"This is {name}" in text
    assert f"called at tests/tape/test_refusals.py:{line}" in text
    assert f"adjoint.{name} takes tensors" in text
    assert "ad.through(" in text
    module, _, attribute = f"adjoint.{name}".rpartition(".")
    assert hasattr(__import__(module, fromlist=[attribute]), attribute)


@pytest.mark.parametrize("name", ARRAY_API)
def test_scipys_switch_is_named_where_scipy_says_that_it_helps(name, monkeypatch):
    monkeypatch.delenv("SCIPY_ARRAY_API", raising=False)
    text, _ = refusal(ARRAY_API[name])
    assert f"This is {name}" in text
    assert "SCIPY_ARRAY_API=1" in text


@pytest.mark.parametrize("name", ARRAY_API)
def test_scipys_switch_does_help(name):
    code = (
        f"import numpy as np, {name.rpartition('.')[0]}, adjoint as ad\n"
        f"t = ad.tensor(np.array([1.0, 2.0, 4.0]), requires_grad=True)\n"
        f"print({name}(t).requires_grad)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("name", NEITHER)
def test_a_function_without_either_is_said_to_have_none(name):
    text, _ = refusal(NEITHER[name])
    assert f"This is {name}" in text
    assert "adjoint.scipy has no such function" in text
    assert "ad.custom_vjp" in text


def test_numpys_functions_are_named():
    text, _ = refusal(lambda: np.vectorize(lambda v: v)(tensor([1.0, 2.0])))
    assert "This is numpy.vectorize, called at tests/tape/test_refusals.py:" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.emath.sqrt(tensor(1.0)),
        lambda: np.spacing(tensor(1.0)),
        lambda: ad.vmap(foreign("lambda x: float(x)"))(np.ones(2)),
        lambda: np.add(tensor([1.0]), 1.0, order="F", subok=False),
    ],
    ids=["NotSupportedError", "NotDifferentiableError", "BatchedValueError", "a setting"],
)
def test_every_refusal_says_where(call):
    text, _ = refusal(call)
    line = call.__code__.co_firstlineno
    assert f"At tests/tape/test_refusals.py:{line}" in text or "At <string>:1" in text


def test_a_refusal_can_be_sent_to_another_process():
    with pytest.raises(ad.LeavesGraphError) as caught:
        float(tensor(1.0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert "test_refusals.py" in str(again)


def test_refusals_that_are_type_errors():
    assert issubclass(ad.NotSupportedError, TypeError)
    assert issubclass(ad.NotDifferentiableError, TypeError)
    assert not issubclass(ad.LeavesGraphError, TypeError | ValueError | RuntimeError)
    assert not issubclass(ad.BatchedValueError, TypeError | ValueError | RuntimeError)
