"""A pipeline of two ranks: the loss of the second reaches the parameters of the first."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributed as dist

rank = dist.rank()
a = np.arange(1.0, 4.0)
first = ad.tensor(a, requires_grad=True)
second = ad.tensor(np.array([0.5, -1.0, 2.0]), requires_grad=True)
for _ in range(3):
    first.zero_grad(), second.zero_grad()
    if rank == 0:
        loss = dist.send(np.sin(first), to=1)
    else:
        y = dist.recv(np.zeros(3), source=0)
        assert y.requires_grad
        loss = np.sum(y**2 * second)
    loss.backward()
    if rank == 0:
        np.testing.assert_allclose(first.grad.numpy(), 2 * np.sin(a) * np.cos(a) * second.numpy(), rtol=1e-13)
    else:
        np.testing.assert_allclose(second.grad.numpy(), np.sin(a) ** 2, rtol=1e-13)

# A plain array stays one, and what is not expected is an error on the receiver.
if rank == 0:
    dist.send(np.arange(3), to=1)
    dist.send(np.zeros(3), to=1)
else:
    assert dist.recv(np.zeros(3, np.int64), source=0).tolist() == [0, 1, 2]
    with pytest.raises(dist.DistributedError, match=r"\(4,\) of rank 0, which sends a message of float64 \(3,\)"):
        dist.recv(np.zeros(4), source=0)
print("done", flush=True)
