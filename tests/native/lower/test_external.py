"""SciPy's functions and the C library's in native code: SciPy's own values, on random and on special arguments."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint import native
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, operation
from adjoint.graph.node import call, placeholder
from adjoint.native.lower.external import from_scipy
from adjoint.native.lower.table import TABLE
from adjoint.testing import samples

operation("erf")  # SciPy's functions are registered when the first is asked for
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, np.inf, -np.inf, np.nan, 1e-8, 20.0])
BY_SCIPY = sorted(
    name
    for name, entry in ENTRIES.items()
    if name not in TABLE and isinstance(entry, Op) and isinstance(entry.forward, np.ufunc)
    and from_scipy(entry.forward, ("f8",) * entry.forward.nin) is not None
)  # fmt: skip
SOLVED = ("bdtrik", "bdtrin", "nbdtrik", "nbdtrin")  # SciPy 1.18 searches otherwise for them in its ufuncs' singles
KELVIN = ("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")  # SciPy's singles are not to be had


def test_most_of_scipys_functions_are_there():
    assert len(BY_SCIPY) > 100
    assert {"gamma", "gammaln", "digamma", "j0", "betainc", "hyp2f1", "ellipk", "erfinv", "voigt_profile"} <= {
        *BY_SCIPY
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", BY_SCIPY)
def test_values_are_scipys(name, dtype):
    op = operation(name)
    rng = np.random.default_rng(0)
    if len(op.inputs) == 1:
        calls = [[np.concatenate([SPECIAL, rng.uniform(0.1, 3, 20), rng.normal(size=9) * 3])]]
    else:  # of several, only what lies in the domain: SciPy itself takes minutes for some others
        calls = [given.args for given in samples(name)]
    for given in calls:
        _check(op, [np.asarray(x, dtype) for x in given])


def _check(op, arrays):
    with np.errstate(all="ignore"):
        expected = np.asarray(op.forward(*arrays))
    inputs = [placeholder(f"x{k}", a.shape, a.dtype) for k, a in enumerate(arrays)]
    node = call(op, tuple(inputs), op.settings, expected.shape, expected.dtype)
    if from_scipy(op.forward, tuple(a.dtype.str[1:] for a in arrays)) is None:
        assert arrays[0].dtype == np.float32
        assert op.name in KELVIN
        return
    (got,) = native.build(inputs, [node])(*arrays)
    if op.name in SOLVED and expected.dtype == np.float32:
        np.testing.assert_allclose(got, expected, rtol=1e-5)
        return
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["eval_legendre", "eval_hermite", "expn", "kn", "yn"])
def test_whole_numbers_among_the_arguments(name):
    function = getattr(scipy.special, name)
    x = np.linspace(0.1, 2.0, 11)
    for n in (2, np.arange(11)):
        graph = ad.capture(lambda x, n=n: function(n, x), x)
        program = native.build(graph.inputs, graph.outputs)
        assert not program.listing().count("NumPy")
        np.testing.assert_array_equal(program(x)[0], function(n, x))


def test_gradients_of_distributions_are_native():
    def log_density(x, a, b):
        return np.sum((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - scipy.special.betaln(a, b))

    x, a, b = np.linspace(0.1, 0.9, 7), np.array(2.0), np.array(3.5)
    compiled = ad.compile(ad.grad(log_density, argnums=(0, 1, 2)), wait=True)
    found, expected = compiled(x, a, b), ad.grad(log_density, argnums=(0, 1, 2))(x, a, b)
    for got, value in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-14)
    assert "by NumPy" not in compiled.explain()
