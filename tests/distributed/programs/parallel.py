"""DataParallel against one process that has all examples: whatever is done with parameters, and when."""

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributed as dist
from adjoint import nn, optim
from adjoint.distributed import parallel

dist.set_timeout(60)
rank, size = dist.rank(), dist.size()
started = []
start = parallel.Bucket.start


def noted(bucket, here):
    started.append(sys._getframe(1).f_code.co_name)
    start(bucket, here)


parallel.Bucket.start = noted


class Net(nn.Module):
    def __init__(self, seed, *, checkpointed=False):
        def linear(n, m, k):
            return nn.Linear(n, m, rng=seed + k, dtype="float64")

        self.a, self.b, self.c, self.extra = linear(4, 16, 0), linear(16, 16, 1), linear(16, 2, 2), linear(2, 2, 3)
        self.checkpointed = checkpointed

    def forward(self, x, more=False):
        h = nn.functional.relu(self.a(x))
        again = (lambda h: np.tanh(self.b(h))) if not self.checkpointed else None
        h = again(h) if again else ad.checkpoint(lambda h: np.tanh(self.b(h)))(h)
        y = self.c(np.tanh(self.b(h)))  # b is used twice
        return self.extra(y) if more else y


def plain(model, net, x, k):
    return np.mean(model(x) ** 2)


def used_before(model, net, x, k):
    penalty = np.sum(net.c.weight**2)
    return np.mean(model(x) ** 2) + penalty


LOSSES = {
    "plain": plain,
    "checkpoint": plain,
    "all parameters": lambda model, net, x, k: np.mean(model(x, more=True) ** 2),
    "one parameter on one rank only": lambda model, net, x, k: np.mean(model(x, more=k == 0) ** 2),
    "used before": used_before,
    "used after": lambda model, net, x, k: np.mean(model(x) ** 2) + np.sum(net.a.weight**2),
    "used otherwise on each rank": lambda model, net, x, k: np.mean(model(x) ** 2) + k * np.sum(net.a.weight**3),
    "two calls": lambda model, net, x, k: np.mean(model(x) ** 2) + np.mean(model(2 * x) ** 2),
    "selection": lambda model, net, x, k: (
        np.mean(model(x) ** 2) + np.sum(np.where(x[:, :1] > 99, np.sqrt(np.sum(net.c.weight) * 0.0), 0.0))
    ),
}
xs = [np.random.default_rng(100 + k).normal(size=(6, 4)) for k in range(size)]
for name, loss in LOSSES.items():
    net, alone = (Net(7 * s, checkpointed=name == "checkpoint") for s in (rank, 0))
    model = dist.DataParallel(net, bucket=256)
    for _ in range(3):  # gradients add up, as they do without it
        started.clear()
        with np.errstate(all="ignore"):
            loss(model, net, xs[rank], rank).backward()
            (sum(loss(alone, alone, xs[k], k) for k in range(size)) / size).backward()
    for (where, p), q in zip(net.named_parameters(), alone.named_parameters(), strict=True):
        assert (p.grad is None) == (q[1].grad is None), (name, where)
        if p.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q[1].grad.numpy(), rtol=1e-11, atol=1e-14, err_msg=name + where)
            assert len({g.tobytes() for g in dist.all_gather(p.grad.numpy())}) == 1, (name, where)
    if name == "plain":
        assert "put" in started, "no bucket was sent while the pass went on"

# A training: uneven batches, a sharded optimiser, and its state.
net, alone = Net(7 * rank), Net(0)
model = dist.DataParallel(net)
sharded = dist.ShardedOptimizer(optim.Adam(net.parameters(), lr=0.01))
adam = optim.Adam(alone.parameters(), lr=0.01)
rng = np.random.default_rng(3)
for step in range(12):
    x, y = rng.normal(size=(16 if step % 3 else 13, 4)), rng.integers(0, 2, 16 if step % 3 else 13)
    mine, labels = dist.shard(x, y)
    sharded.zero_grad(), adam.zero_grad()
    dist.weighted(nn.cross_entropy(model(mine, more=True), labels), len(mine)).backward()
    nn.cross_entropy(alone(x, more=True), y).backward()
    sharded.step(), adam.step()
    if step == 5:  # its state is the one of an optimiser that is not sharded, and the other way round
        whole = sharded.state_dict()
        sharded = dist.ShardedOptimizer(optim.Adam(net.parameters(), lr=0.5))
        sharded.load_state_dict(whole)
for p, q in zip(net.parameters(), alone.parameters(), strict=True):
    np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-12, atol=1e-12)
    assert len({g.tobytes() for g in dist.all_gather(p.numpy())}) == 1
held = sum(value.size for kept in sharded.optimizer._state.values() for value in kept.values())
assert held <= 1.5 * sum(p.size for p in net.parameters()), "each rank keeps its part of the state only"

# Gradients are averaged before the first call of the model, too.
net = Net(7 * rank)
model = dist.DataParallel(net)
np.mean(net(xs[rank]) ** 2).backward()
assert len({g.tobytes() for g in dist.all_gather(net.a.weight.grad.numpy())}) == 1

# What cannot be right is an error on all ranks.
for wrong in (nn.Linear(3, 2 + rank % 2), nn.Sequential(*[nn.Linear(3, 3) for _ in range(1 + rank % 2)])):
    with pytest.raises(dist.DistributedError, match=r"all ranks must make the same calls.*parameters of"):
        dist.DataParallel(wrong)
print("done")
