"""Axes that a sample of vmap does not have: NumPy's error, and never the axis of the samples."""

import numpy as np
import pytest

import adjoint as ad

ALONG = {
    "sum": lambda x, axis: np.sum(x, axis=axis),
    "add.reduce": lambda x, axis: np.add.reduce(x, axis=axis),
    "max": lambda x, axis: np.max(x, axis=axis),
    "std": lambda x, axis: np.std(x, axis=axis),
    "any": lambda x, axis: np.any(x > 1, axis=axis),
    "argmax": lambda x, axis: np.argmax(x, axis=axis),
    "count_nonzero": lambda x, axis: np.count_nonzero(x, axis=axis),
    "average": lambda x, axis: np.average(x, axis=axis),
    "nansum": lambda x, axis: np.nansum(x, axis=axis),
    "cumsum": lambda x, axis: np.cumsum(x, axis=axis),
    "sort": lambda x, axis: np.sort(x, axis=axis),
    "argsort": lambda x, axis: np.argsort(x, axis=axis),
    "argpartition": lambda x, axis: np.argpartition(x, 1, axis=axis),
    "roll": lambda x, axis: np.roll(x, 1, axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "concatenate": lambda x, axis: np.concatenate([x, x], axis=axis),
    "stack": lambda x, axis: np.stack([x, x], axis=axis + (1 if axis > 0 else -1)),
    "expand_dims": lambda x, axis: np.expand_dims(x, axis + (1 if axis > 0 else -1)),
    "transpose": lambda x, axis: np.transpose(x, (axis, *range(1, x.ndim))),
    "swapaxes": lambda x, axis: np.swapaxes(x, 0, axis),
    "unwrap": lambda x, axis: np.unwrap(x, axis=axis),
    "fft": lambda x, axis: np.fft.fft(x, axis=axis),
    "tensordot": lambda x, axis: np.tensordot(x, x, axes=([axis], [axis])),
    "reduceat": lambda x, axis: np.add.reduceat(x, [0, 1], axis=axis),
}


@pytest.mark.parametrize("f", ALONG.values(), ids=ALONG)
@pytest.mark.parametrize("ndim", [1, 2])
def test_an_axis_that_a_sample_does_not_have(f, ndim):
    x = np.arange(1.0, 1 + 3**ndim).reshape((3,) * ndim)
    for axis in (-ndim - 1, ndim, ndim + 1):
        with pytest.raises((ValueError, IndexError)):
            f(x, axis)
        for call in (
            lambda axis=axis: ad.vmap(lambda x: f(x, axis))(np.stack([x, 2 * x, x])),
            lambda axis=axis: ad.vmap(lambda x: f(x, axis), -1, -1)(np.stack([x, 2 * x, x], -1)),
            lambda axis=axis: ad.vmap(lambda x: ad.vjp(lambda x: f(x, axis), x)[0])(np.stack([x, x])),
            lambda axis=axis: f(ad.tensor(x, requires_grad=True), axis),
        ):
            with pytest.raises((ValueError, IndexError)):
                call()


def test_the_message_counts_axes_of_a_sample():
    with pytest.raises(np.exceptions.AxisError, match="axis -2 is out of bounds for array of dimension 1"):
        ad.vmap(lambda x: np.sum(x, axis=-2))(np.ones((4, 3)))
    with pytest.raises(np.exceptions.AxisError, match="axis 1 is out of bounds for array of dimension 1"):
        ad.vmap(lambda x: np.sum(x, axis=1))(np.ones((4, 3)))


@pytest.mark.parametrize("axes", [([0], [5]), ([-4], [0]), ([2], [0])])
def test_products_along_an_axis_that_is_not_there(axes):
    x = np.ones((2, 2))
    for f in (lambda t: np.tensordot(t, x, axes), lambda t: np.tensordot(x, t, axes)):
        with pytest.raises(IndexError):
            f(x)
        with pytest.raises(IndexError):
            f(ad.tensor(x, requires_grad=True))


def test_indices_of_reduceat_are_not_counted_from_the_end():
    for indices in ([-1], [0, -2], [0, 6]):
        with pytest.raises(IndexError):
            np.add.reduceat(np.arange(6.0), indices)
        with pytest.raises(IndexError):
            np.add.reduceat(ad.tensor(np.arange(6.0)), indices)


def test_running_sums_of_numbers_and_along_two_axes():
    t = ad.tensor(np.ones((2, 3)), requires_grad=True)
    with pytest.raises(TypeError):
        np.add.accumulate(np.sum(t))
    with pytest.raises(TypeError):
        np.cumsum(t, axis=(0,))
    with pytest.raises(ValueError, match="one axis"):
        np.add.accumulate(t, axis=(0, 1))
    np.testing.assert_array_equal(np.add.accumulate(t, axis=(1,)).numpy(), np.cumsum(np.ones((2, 3)), 1))
