"""LBFGS asks for losses where PyTorch's does: evaluation by evaluation."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim

# Losses at each evaluation, by PyTorch 2.13: from (-1.2, 1), two steps of 6 iterations.
LOSSES = {
    None: [
        6.776,
        5.29846230399,
        4.52977167343,
        4.04796827361,
        3.94876411897,
        3.89299205561,
        3.81688467903,
        3.68203245426,
        3.46735602954,
        3.24078795754,
        3.04295365533,
        2.75605068359,
    ],
    "strong_wolfe": [
        6.776,
        13.1062655568,
        4.04727891772,
        4.01746468362,
        3.76122158279,
        3.45911027868,
        3.12611192886,
        3.12611192886,
        2.66910449806,
        1.6542250725,
        2.4486362045,
        1.36102935558,
        0.927413579394,
        0.549507699138,
    ],
}


@pytest.mark.parametrize("search", LOSSES)
def test_every_evaluation_is_pytorchs(search):
    w = ad.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = optim.LBFGS([w], lr=1.0 if search else 0.5, max_iter=6, line_search_fn=search)
    found = []

    def closure():
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2
        loss.backward()
        found.append(loss.item())
        return loss

    for _ in range(2):
        optimizer.step(closure)
    np.testing.assert_allclose(found, LOSSES[search], rtol=1e-9)
