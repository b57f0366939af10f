"""Settings without their names: what a call gives does not hang on whether it names its settings."""

import inspect

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.testing import samples, walk

R = np.random.default_rng(0)
X = R.normal(size=(2, 3, 4))
STEPS, PLACES = np.arange(5.0), np.array([0, 3, 5])
CONSTANTS = {  # functions without a derivative, of which the registry has no samples
    "argmax": (lambda x: np.argmax(x, 1, None), X),
    "nanargmin": (lambda x: np.nanargmin(x, 1), X),
    "argsort": (lambda x: np.argsort(x, 1, "stable"), X),
    "argpartition": (lambda x: np.argpartition(x, 1, 1, "introselect"), X),
    "all": (lambda x: np.all(x > 0, (0, 2)), X),
    "any, all axes kept": (lambda x: np.any(x > 0, (0, 2), None, True), X),
    "count_nonzero": (lambda x: np.count_nonzero(x > 0, (0, 2)), X),
    "searchsorted": (lambda x: np.searchsorted(STEPS, x, "right"), np.floor(X)),
    "digitize": (lambda x: np.digitize(x, STEPS, True), np.floor(X)),
    "isclose": (lambda x: np.isclose(x, 0.5, 0.1, 0.2, True), X),
    "isposinf": (lambda x: np.isposinf(x, None), X),
    "array_equal": (lambda x: np.array_equal(x, x, True), np.array([1.0, np.nan])),
    "zeros_like": (lambda x: np.zeros_like(x, np.float32) + x, X),
    "ones_like": (lambda x: np.ones_like(x, None, "C", True, (2, 2)) * x[0, 0, 0], X),
    "packbits": (lambda x: np.packbits(x > 0, 1, "little"), X),
    "unpackbits": (lambda x: np.unpackbits(np.packbits(x > 0, 1), 1, 3, "big"), X),
    "unravel_index": (lambda i: np.unravel_index(i, (2, 3), "F"), PLACES),
    "ravel_multi_index": (lambda i: np.ravel_multi_index((i % 2, i % 3), (2, 3), "wrap", "F"), PLACES),
    "isin": (lambda i: np.isin(i, [0, 1], True, True), PLACES),
    "matrix_rank": (lambda x: np.linalg.matrix_rank(x, None, True), np.einsum("aij,akj->aik", X, X)),
    "a method": (lambda x: (x > 0).all((0, 2)), X),
    "a ufunc's method": (lambda x: np.add.reduce(x, (0, 2), None, None, True), X),
}


def outputs(found):
    return [np.asarray(x.numpy() if isinstance(x, ad.Tensor) else x) for x in flatten(found)[0]]


def assert_alike(found, expected, *, exact=True):
    for x, y in zip(outputs(found), outputs(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=0 if exact else 1e-12, atol=0 if exact else 1e-12)


@pytest.mark.parametrize("name", CONSTANTS)
def test_functions_without_a_derivative(name):
    f, x = CONSTANTS[name]
    expected = f(x)
    assert_alike(f(ad.tensor(x)), expected)
    assert_alike(ad.capture(f, x)(x), expected)
    assert_alike(ad.compile(f, wait=True)(x), expected, exact=False)
    batch = ad.vmap(f)(np.stack([x, x]))
    assert_alike([y[1] for y in outputs(batch)], outputs(expected))


def placed(function, args, kwargs):
    """The arguments with as many of the settings as NumPy takes without their names."""
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    wanted = bound.arguments.keys()
    bound.apply_defaults()
    places, names, last = [], dict(bound.arguments), len(args)
    for k, parameter in enumerate(signature.parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            break
        if names[parameter.name] is np._NoValue:  # nobody writes that
            break
        places.append(names.pop(parameter.name))
        last = k + 1 if parameter.name in wanted else last
    return tuple(places[:last]), {name: value for name, value in names.items() if name in wanted}


def calls():
    for entry in walk():
        if "in_place" in entry.flags:
            continue
        for function in entry.answers[:1]:
            if not getattr(function, "__module__", "").startswith("numpy"):
                continue
            for k, (args, kwargs) in enumerate(samples(entry)):
                if kwargs:
                    yield pytest.param(function, args, kwargs, id=f"{entry.name} {k}")


@pytest.mark.parametrize(("function", "args", "kwargs"), list(calls()))
def test_functions_with_a_derivative(function, args, kwargs):
    try:
        moved = placed(function, args, kwargs)
        expected = function(*moved[0], **moved[1])
    except (TypeError, ValueError):
        pytest.skip("NumPy does not say what it takes, or takes settings by name")
    if len(moved[0]) == len(args):
        pytest.skip("NumPy takes the settings by name")
    first = moved[0][0]
    if isinstance(first, np.ndarray) and first.dtype.kind == "f":

        def f(x):
            return function(x, *moved[0][1:], **moved[1])

        assert_alike(f(ad.tensor(first, requires_grad=True)), expected, exact=False)
        assert_alike(ad.capture(f, first)(first), expected, exact=False)
