"""Reading at masks that differ between samples: `vmap` against a loop, where masks choose as many elements in each."""

import numpy as np
import pytest

import adjoint as ad

X = np.random.default_rng(0).normal(size=(2, 3, 4))
K = np.array([1, 2])
MASK = np.zeros((2, 3, 4), bool)
MASK[:, 0] = [[False, True, True, False], [True, False, False, True]]
MASK[:, 1, 1] = True

READS = {
    "a truth value": lambda x, k, m, mask: x[m],
    "and a number": lambda x, k, m, mask: x[m, k],
    "a number and it": lambda x, k, m, mask: x[k, m],
    "it and a slice": lambda x, k, m, mask: x[m, :, 1:],
    "a slice and it": lambda x, k, m, mask: x[:, m],
    "it and a new axis": lambda x, k, m, mask: x[m, None],
    "behind an ellipsis": lambda x, k, m, mask: x[..., m],
    "of a plain array": lambda x, k, m, mask: np.arange(3.0)[m] * x[0, 0],
    "a truth value of all samples": lambda x, k, m, mask: x[True, k],
    "a mask": lambda x, k, m, mask: x[mask],
    "a mask of columns": lambda x, k, m, mask: x[:, mask[0]],
    "a number and a mask": lambda x, k, m, mask: x[k, mask[0]],
}


@pytest.mark.parametrize("m", [True, False])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_at_masks_is_a_loop(read, m):
    args = X, K, np.array([m, m]), MASK
    each = [[a[i] for a in args] for i in range(2)]
    np.testing.assert_array_equal(ad.vmap(read)(*args), np.stack([read(*sample) for sample in each]), strict=True)

    def slope(x, *rest):
        return ad.grad(lambda x: np.sum(read(x, *rest) ** 2))(x)

    np.testing.assert_allclose(ad.vmap(slope)(*args), np.stack([slope(*sample) for sample in each]), rtol=1e-14)
