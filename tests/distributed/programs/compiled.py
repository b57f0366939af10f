"""Compiled functions that exchange with other ranks: each exchange once, in order, however often a call begins."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributed as dist
from adjoint import nn, optim

dist.set_timeout(60)
rank, size = dist.rank(), dist.size()
rng = np.random.default_rng(rank)  # another one on each rank
together = np.random.default_rng(99)  # the same on all


def check(f, arguments, calls=8, **options):
    """The compiled function gives what the plain one gives, which runs after it on all ranks; in native code."""
    g = ad.compile(f, **options)
    for k in range(calls):
        args = arguments(k)
        found = g(*args)
        dist.barrier()
        np.testing.assert_allclose(np.asarray(found), np.asarray(f(*args)), rtol=1e-11, atol=1e-13, err_msg=f"{k}")
        dist.barrier()
    return g


def numbers(k):
    return (rng.normal(size=3),)


# A branch that another rank does not take: what was exchanged before is not exchanged again.
def by_own_value(x):
    total = dist.all_reduce(x)
    return total * 2 if np.sum(x) > 0 else total * 3


def by_the_product(x):
    total = dist.all_reduce(x)
    return total * 2 if np.sum(x * total) > 0 else dist_free(total)


def dist_free(x):
    return np.sin(x)


# All ranks take the branch, in which there is one exchange more, or another.
def by_the_sum(x):
    total = dist.all_reduce(x)
    if np.sum(total) > 0:
        return dist.all_reduce(total * x)
    return dist.shift(dist.all_reduce(x, "max"))


# Exchanges that nothing but the program brings in order; and some that look alike.
def several(x):
    first = dist.all_reduce(np.tanh(dist.all_reduce(x)))
    second = dist.all_reduce(x)
    third = dist.all_reduce(x * 2)
    dist.all_reduce(x)
    return first + second * third - dist.broadcast(x, root=size - 1)


# An operation that raises for the values of one rank, and is caught.
def caught(x):
    total = dist.all_reduce(x)
    try:
        inverse = np.linalg.inv(np.array([[x[0], 0.0], [0.0, 1.0]]))
    except np.linalg.LinAlgError:
        return total
    return total * inverse[0, 0]


# Recorded as far as the exchange, and then run as it is.
def not_recorded(x):
    total = dist.all_reduce(x)
    seen.append(float(total[0].item() if hasattr(total[0], "item") else total[0]))
    return total * len(dist.gather_objects(rank))


def in_a_loop(x):
    total = x
    for _ in range(12):
        total = dist.all_reduce(np.tanh(total)) / size
    return total


def the_gradient(x):
    return ad.grad(lambda x: np.sum(dist.all_gather(np.sin(x)) ** 2))(x) + ad.grad(by_own_value_summed)(x)


def by_own_value_summed(x):
    return np.sum(by_own_value(x) ** 2)


seen = []
for wait in (True, False):
    for f in (by_own_value, by_the_product, by_the_sum, several, not_recorded, in_a_loop, the_gradient):
        check(f, numbers, wait=wait)
    check(caught, lambda k: (np.array([float((k + rank) % 3), 1.0]),), wait=wait)
assert "native:" in check(several, numbers).explain()

# Whole arrays of another shape on one rank: that rank records anew, and the others do not.
check(lambda x: dist.all_reduce(np.mean(x, axis=0)), lambda k: (rng.normal(size=(3 + (rank == 0) * k, 2)),))
# Numbers of examples that differ from call to call, on each rank.
check(lambda x: dist.weighted(np.mean(x), len(x)), lambda k: (rng.normal(size=3 + rank * (k // 3)),), wait=True)
# Arrays that do not depend on the arguments.
there = np.zeros(3)


def from_outside(x):
    return x * dist.all_reduce(there)


def moved(k):
    there[...] = k + rank
    return numbers(k)


check(from_outside, moved, wait=True)


# Messages: each call sends, and takes what comes then; forward and back.
def pipeline(x):
    if rank == 0:
        return dist.send(np.sin(x), to=1)
    return np.sum(dist.recv(x, source=0) ** 2) if rank == 1 else np.sum(x)


check(pipeline, numbers, wait=True)
check(ad.grad(pipeline), numbers, wait=True)


# A step of training with the model of all ranks in it.
def trained(kind, compiled):
    layers = [nn.Linear(6, 16, rng=0), nn.Tanh(), nn.Linear(16, 3, rng=1)]
    layers[1:1] = [nn.BatchNorm1d(16)] if kind == "norm" else []
    layers[1:1] = [nn.Dropout(0.3, rng=np.random.default_rng(7 + rank))] if kind == "dropout" else []
    net = nn.Sequential(*layers)
    model = dist.DataParallel(net, bucket=300)
    adam = optim.Adam(net.parameters(), lr=0.01)
    adam = dist.ShardedOptimizer(adam) if kind == "sharded" else adam

    def gradients(x, y):
        loss = nn.cross_entropy(model(x), y)
        dist.weighted(loss, len(x)).backward()
        return loss.detach()

    def update():
        optim.clip_grad_norm(net.parameters(), 0.5)
        adam.step()

    def step(x, y):
        adam.zero_grad()
        loss = gradients(x, y)
        update()
        return loss

    f = step
    if compiled and kind == "sharded":  # its step sends what was updated
        gradients = ad.compile(gradients)
    elif compiled:
        f = ad.compile(step)
    drawn, losses = np.random.default_rng(3), []
    for k in range(10):
        n = 8 * size + (k % 4 == 3)
        x, y = drawn.normal(size=(n, 6)), drawn.integers(0, 3, n)
        if kind == "accumulate" and k % 2:
            adam.zero_grad()
            gradients(*dist.shard(x[::-1], y[::-1]))
        losses.append(f(*dist.shard(x, y)).item())
    used = gradients if kind == "sharded" else f
    if compiled:
        assert "native:" in used.explain(), used.explain()
        assert "runs as it is" not in used.explain(), used.explain()
    return losses, net.state_dict()


for kind in ("plain", "dropout", "sharded", "norm", "accumulate"):
    (plain, weights), (natively, others) = trained(kind, False), trained(kind, True)
    np.testing.assert_allclose(natively, plain, rtol=1e-9)
    for name, value in weights.items():
        np.testing.assert_allclose(others[name], value, rtol=1e-7, atol=1e-8 if kind == "norm" else 1e-11, err_msg=name)
        rows = dist.all_gather(np.asarray(others[name], float))
        assert all(row.tobytes() == rows[0].tobytes() for row in rows), name


# Parameters without axes, some that are frozen for a while, and two models in one step.
class Scaled(nn.Module):
    def __init__(self, seed):
        self.inner, self.scale = nn.Linear(4, 3, rng=seed, dtype="float64"), nn.Parameter(np.array(1.5))

    def forward(self, x):
        return self.inner(x) * self.scale


def frozen_for_a_while(compiled):
    nets = [Scaled(0), Scaled(1)]
    one, two = (dist.DataParallel(net) for net in nets)
    sgd = optim.SGD([p for net in nets for p in net.parameters()], lr=0.1)

    def step(x):
        sgd.zero_grad()
        loss = np.mean(one(x) * two(x)) + np.mean(one(x[:1]) ** 2)
        loss.backward()
        sgd.step()
        return loss.detach()

    f = ad.compile(step, wait=True) if compiled else step
    drawn = np.random.default_rng(rank)
    for k in range(9):
        if k in (3, 6):
            nets[0].inner.weight.requires_grad_(k == 6)
        f(drawn.normal(size=(5, 4)))
    assert not compiled or "native:" in f.explain(), f.explain()
    return [p.numpy() for net in nets for p in net.parameters()]


for a, b in zip(frozen_for_a_while(False), frozen_for_a_while(True), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-10)


# Exchanges in a branch that was left: an error, and no answer that another call was for.
def left(x):
    if np.sum(x) > 0:
        return dist.all_reduce(x)
    return dist.all_gather(x)[0]


g = ad.compile(left, wait=True)
for k in range(4):
    np.testing.assert_allclose(g(np.ones(3) * (-1) ** k), size * 1.0 if k % 2 == 0 else -1.0)
g(np.ones(3))
with pytest.raises(dist.DistributedError, match="same calls"):
    g(np.ones(3) * (1 if rank else -1))
# An optimiser whose step sends what it has updated: the whole function runs as it is, and says so.
w = nn.Parameter(np.ones(3))
parts = dist.ShardedOptimizer(optim.SGD([w], lr=0.1))


@ad.compile(wait=True)
def sharded():
    parts.zero_grad()
    np.sum(w**2).backward()
    parts.step()


for _ in range(3):
    sharded()
np.testing.assert_allclose(w.tolist(), 0.8**3)
assert "a ShardedOptimizer sends" in sharded.explain(), sharded.explain()

print("done", flush=True)
