"""Inside vmap, whole numbers of arrays that are made inside are settings: shapes, axes, shifts, powers.

Where samples differ in them, there is no one setting, and an error says so.
"""

import numpy as np
import pytest

import adjoint as ad

ROWS = np.arange(12.0).reshape(2, 6) * 0.1

SETTINGS = {
    "reshape": lambda x, n: np.reshape(x, (3, n[0])),
    "method": lambda x, n: x.reshape(-1, n[0]) * 2.0,
    "zeros": lambda x, n: np.zeros((3, n[0])) + x[0],
    "full": lambda x, n: np.full((n[0], 2), x[0]),
    "tile": lambda x, n: np.tile(x, (n[0], 2)),
    "repeat": lambda x, n: np.repeat(x, n[0]),
    "roll": lambda x, n: np.roll(x, n[0]),
    "roll of axes": lambda x, n: np.roll(x.reshape(2, 3), (n[0], 1), (0, 1)),
    "pad": lambda x, n: np.pad(x, (n[0], 1)),
    "broadcast": lambda x, n: np.broadcast_to(x, (n[0], 6)),
    "power": lambda x, n: np.linalg.matrix_power(np.outer(x, x), n[0]),
    "difference": lambda x, n: np.diff(x, n[0]),
    "transform": lambda x, n: np.abs(np.fft.rfft(x, 4 * n[0])),
    "axis": lambda x, n: np.sum(x.reshape(2, 3), axis=n[0] - 1),
    "diagonal": lambda x, n: np.diag(x, n[0]),
    "triangle": lambda x, n: np.tril(np.outer(x, x), n[0]),
    "moved": lambda x, n: np.moveaxis(x.reshape(1, 2, 3), n[0], 0),
    "transposed": lambda x, n: np.transpose(x.reshape(1, 2, 3), (n[0], 0, 1)),
    "resized": lambda x, n: np.resize(x, (n[0], 2)),
    "deleted": lambda x, n: np.delete(x, n),
    "split": lambda x, n: np.split(x, n[0])[0],
    "loop": lambda x, n: sum(x[i + j] for i, j in np.ndindex(n[0], n[1])),
}


def of_array(f):
    def program(x):
        numbers = np.array([2, 3])
        return f(x, numbers)

    return program


@pytest.mark.parametrize("f", SETTINGS.values(), ids=SETTINGS)
def test_numbers_of_arrays_made_inside(f):
    program = of_array(f)
    wanted = np.array([program(row) for row in ROWS])
    np.testing.assert_allclose(ad.vmap(program)(ROWS), wanted, rtol=1e-12)
    slopes = ad.vmap(ad.grad(lambda x: np.sum(program(x) ** 2)))(ROWS)
    np.testing.assert_allclose(slopes, [ad.grad(lambda x: np.sum(program(x) ** 2))(row) for row in ROWS], rtol=1e-12)


@pytest.mark.parametrize("name", ["reshape", "roll of axes", "broadcast", "transposed"])
def test_numbers_that_differ_are_no_setting(name):
    def program(x):
        numbers = np.array([2, 3]) + (x[0] > 0.3).astype(int)
        return SETTINGS[name](x, numbers)

    with pytest.raises(ad.BatchedValueError):
        ad.vmap(program)(ROWS)
