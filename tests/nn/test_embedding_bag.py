"""Bags of embeddings whose lengths differ."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn


@pytest.mark.parametrize("compiled", [False, True])
def test_what_fills_up_short_bags_is_not_counted_by_scale_grad_by_freq(compiled):
    numbers, offsets = np.array([0, 2, 2, 4, 4, 4, 1]), np.array([0, 2, 2, 5])

    def total(weight):
        return nn.functional.embedding_bag(numbers, weight, offsets, mode="sum", scale_grad_by_freq=True).sum()

    gradient = ad.compile(ad.grad(total)) if compiled else ad.grad(total)
    np.testing.assert_allclose(gradient(np.ones((5, 1)))[:, 0], [1, 1, 1, 0, 1])
