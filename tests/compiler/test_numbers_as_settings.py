"""Whole numbers that vary, where operations take them as settings: compiled calls give what plain ones give."""

import gc

import numpy as np
import pytest

import adjoint as ad
from adjoint.graph.node import frozen
from adjoint.graph.symbol import Symbol

X = np.arange(24.0).reshape(2, 3, 4) + 0.5
CALLS = {
    "an axis": lambda x, n: np.sum(x, axis=n % 3),
    "an axis that is not there": lambda x, n: np.cumsum(x, axis=n),
    "steps": lambda x, n: np.roll(x, n, axis=1),
    "times": lambda x, n: np.repeat(x, n, axis=0),
    "a shape": lambda x, n: np.broadcast_to(x[0, 0], (n + 1, 4)),
    "a place": lambda x, n: x[n % 2, n % 3, n],
    "an end": lambda x, n: x[..., :n],
    "a stride": lambda x, n: x[..., :: n + 1],
    "places": lambda x, n: x[[n % 2, 0]],
    "an order": lambda x, n: np.diff(x, n=n),
    "digits": lambda x, n: np.round(x / 3, n),
    "degrees of freedom": lambda x, n: np.var(x, axis=0, ddof=n - 5),
    "too many degrees of freedom": lambda x, n: np.std(x, axis=0, ddof=n),
    "widths": lambda x, n: np.pad(x, ((0, n), (0, 0), (n, 0))),
    "an offset": lambda x, n: np.tril(x, n),
    "a length": lambda x, n: np.full(n, np.sum(x)),
    "a power of a matrix": lambda x, n: np.linalg.matrix_power(x[0, :, :3], n),
    "a window": lambda x, n: np.lib.stride_tricks.sliding_window_view(x[0, 0], n + 1),
    "a limit of a loop": lambda x, n: sum(x[0, 0, i] for i in range(n)),
    "a key": lambda x, n: {0: x, 1: x * 2, 2: x * 3, 3: -x}[n],
}


def outcome(f, *args):
    with np.errstate(all="ignore"):
        try:
            return f(*args)
        except Exception as error:
            return type(error).__mro__


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_numbers_that_vary(name):
    f = CALLS[name]
    compiled = ad.compile(f, wait=True)
    for n in (0, 1, 2, 3, 2, 1, 0, 3, 4, 5, 7, 2):
        expected, found = outcome(f, X, n), outcome(compiled, X, n)
        if isinstance(expected, tuple):
            assert issubclass(found[0], expected[0]), (n, found)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=str(n))


def test_settings_are_looked_up_without_a_question():
    asked = []

    class Watched(Symbol):
        __slots__ = ()

        def __hash__(self):
            asked.append("hash")
            return 0

    watched = object.__new__(Watched)
    key = frozen({"stop": slice(None, watched)})
    assert key == frozen({"stop": slice(None, watched)})
    {key: 1}.get(key)
    del key
    gc.collect()
    assert asked == []
