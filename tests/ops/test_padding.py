"""`np.pad`: every mode against NumPy and differences, what it is padded with, and wrong calls."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
X = np.random.default_rng(0).normal(size=(3, 5))
WAYS = [
    *(("reflect", {"reflect_type": kind}) for kind in ("even", "odd")),
    *(("symmetric", {"reflect_type": kind}) for kind in ("even", "odd")),
    *(
        (mode, {"stat_length": k})
        for mode in ("maximum", "mean", "median", "minimum")
        for k in (None, 2, ((1, 2), (9, 3)))
    ),
    *(("linear_ramp", {"end_values": end}) for end in (0, 2.5, (1, 2), ((1, 2), (3, 4)))),
    *(("constant", {"constant_values": value}) for value in (0, 2.5, (1, 2), ((1, 2), (3, 4)))),
]


@pytest.mark.parametrize(("mode", "options"), WAYS, ids=lambda way: str(way))
@pytest.mark.parametrize(
    "widths", [((0, 2), (3, 0)), ((7, 8), (11, 13)), *([{-1: (2, 1)}] if NUMPY >= (2, 4) else [])], ids=str
)
def test_every_mode(mode, options, widths):
    def padded(x):
        return np.pad(x, widths, mode, **options)

    for x in (X, X[:1], X[:2, :1], X.astype(np.float32)):
        ours, numpys = padded(ad.tensor(x, requires_grad=True)), padded(x)
        assert ours.dtype == numpys.dtype
        np.testing.assert_allclose(ours.detach(), numpys, rtol=1e-12, atol=1e-5 if x.dtype == np.float32 else 1e-12)
    check_grads(padded, (X[:2, :3],))


def test_complex_constants_keep_their_imaginary_part():
    z = X + 2j * X[::-1]
    np.testing.assert_array_equal(np.pad(ad.tensor(z), 1, constant_values=3 + 4j), np.pad(z, 1, constant_values=3 + 4j))


@pytest.mark.parametrize("border", [lambda t: t[0] ** 2, lambda t: (t[0], 3.0), lambda t: t[:2] * 2])
@pytest.mark.parametrize(("mode", "option"), [("constant", "constant_values"), ("linear_ramp", "end_values")])
def test_a_border_has_its_gradient(mode, option, border):
    check_grads(lambda t: np.pad(t, (2, 3), mode, **{option: border(t)}), (X[0],), order=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "edge", "stat_length": 2}, "mode 'edge' takes no options; got stat_length="),
        ({"stat_length": 2}, "takes only constant_values="),
        ({"mode": "empty"}, "takes mode constant, .*; got 'empty'"),
        ({"pad_width": -1}, "cannot be negative; got -1. To cut, take a slice"),
    ],
)
def test_wrong_calls(arguments, message):
    with pytest.raises(ad.AdjointError, match=message):
        np.pad(ad.tensor(X[0], requires_grad=True), **{"pad_width": 1} | arguments)
