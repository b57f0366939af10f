"""Truth values of Python's in recorded functions: arithmetic counts them, `is` tells them from others."""

import numpy as np
import pytest

import adjoint as ad


def counted(x):
    return ((x > 0) + (x > 0.2) + (x > 0.9)) * x


def in_turn(x):
    n = x > 0
    n += x > 0.2
    n -= x > 0.9
    return n


def signs(x):
    return (x > 0.5) - (x < 0.5), -(x > 0), +(x > 0), ~(x > 0), abs(x > 0), 3 - (x > 0)


def quotients(x):
    return (x > 0) // True, (x > 0) % (x > -1), (x > 0) / (x > -1), divmod(x > 0, x > -1), (x > 0) ** 2


def identities(x):
    return (x > 0) is True, (x > 0) is (x > 0.5), (x > 0) is None, type(x > 0) is bool


def beside_numpy(x):
    return (x > 0) + np.True_, (x > 0) + np.array([True, False]), (x > 0) + np.float32(1)


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # of later Pythons
@pytest.mark.parametrize("f", [counted, in_turn, signs, quotients, identities, beside_numpy])
def test_are_python_s(f):
    def shown(value):
        return [(type(x), str(x)) for x in (value if isinstance(value, tuple) else (value,))]

    compiled = ad.compile(f)
    for x in (0.7, 0.7, 0.3, 0.95, 0.7):
        assert shown(compiled(x)) == shown(f(x))


def test_count_in_a_captured_function():
    graph = ad.capture(counted, 0.7)
    assert [float(graph(x)) for x in (0.7, 0.1, 0.95)] == [counted(x) for x in (0.7, 0.1, 0.95)]
