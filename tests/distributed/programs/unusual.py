"""DataParallel where passes end early, parameters come and go, models are two, and gradients are changed by hand."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributed as dist
from adjoint import nn, optim

dist.set_timeout(20)
rank, size = dist.rank(), dist.size()
xs = [np.random.default_rng(50 + k).normal(size=(5, 4)) for k in range(size)]


def made(seed=0, bucket=200):
    net = nn.Sequential(
        nn.Linear(4, 12, rng=seed, dtype="float64"), nn.Tanh(), nn.Linear(12, 2, rng=seed + 1, dtype="float64")
    )
    return net, dist.DataParallel(net, bucket=bucket)


def expected(net, losses):
    """The mean over ranks of the gradients, computed here alone; `losses` are functions of a network and examples."""
    found = [np.zeros(p.shape) for p in net.parameters()]
    for x in xs:
        for loss in losses:
            alone = ad.grad(
                lambda parameters, x=x, loss=loss: loss(lambda z: nn.functional_call(net, parameters, z), x)
            )({name: np.array(p.numpy()) for name, p in net.named_parameters()})
            found = [f + g / size for f, g in zip(found, alone.values(), strict=True)]
    return found


def same(net, found):
    for p, g in zip(net.parameters(), found, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g, rtol=1e-11, atol=1e-14)


def square(model, x):
    return np.mean(model(x) ** 2)


# Gradients that no leaf keeps are the rank's own, and send nothing.
net, model = made()
if rank == size - 1:
    own = ad.autograd.grad(square(model, xs[rank]), list(net.parameters()))
    alone = ad.autograd.grad(square(net, xs[rank]), list(net.parameters()))
    for a, b in zip(own, alone, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
square(model, xs[rank]).backward()
same(net, expected(net, [square]))

# A pass that ends in an error on all ranks leaves nothing behind.
net, model = made()


class StopError(Exception):
    pass


def stop(g):
    raise StopError


with net[0].weight.register_hook(stop), pytest.raises(StopError):
    square(model, xs[rank] + 1).backward()
square(model, xs[rank]).backward()
same(net, expected(net, [square]))

# On one rank only, all ranks are told when it goes on.
net, model = made(bucket=8)
if rank == 0:
    with net[0].weight.register_hook(stop), pytest.raises(StopError):
        square(model, xs[rank]).backward()
with pytest.raises(dist.DistributedError, match="same calls"):
    square(model, xs[rank]).backward()

# Weights that are not those of the others any more: after they are made equal, nothing is left of that pass.
net, model = made(bucket=8)
if rank == 0:
    net[2].weight.data[...] += 1.0
with pytest.raises(dist.DistributedError, match="are not those of rank 0"):
    square(model, xs[rank] + 1).backward()
net.zero_grad()
dist.spread(net)
square(model, xs[rank]).backward()
same(net, expected(net, [square]))

# Two models of one shape, in another order on each rank.
(one, first), (two, second) = made(), made(7)
a, b = (first, second) if rank % 2 else (second, first)
loss = square(a, xs[rank])
with pytest.raises(dist.DistributedError, match="DataParallel number"):
    loss.backward()

# Two losses of one graph, one after the other, and two models in one loss.
net, model = made()
y = model(xs[rank])
np.mean(y**2).backward()
np.mean(np.sin(y)).backward()
same(net, expected(net, [square, lambda m, x: np.mean(np.sin(m(x)))]))
(one, first), (two, second) = made(), made(7)
np.mean(first(xs[rank]) * second(xs[rank])).backward()
same(one, expected(one, [lambda m, x: np.mean(m(x) * two(x).detach())]))
same(two, expected(two, [lambda m, x: np.mean(one(x).detach() * m(x))]))

# Frozen, thawed, given another dtype.
net, model = made()
net[0].requires_grad_(False)
square(model, xs[rank]).backward()
assert net[0].weight.grad is None
net[0].requires_grad_(True)
net.zero_grad()
square(model, xs[rank]).backward()
same(net, expected(net, [square]))

# Gradients over several batches, then clipped by their norm, as one process does.
net, model = made()
for _ in range(3):
    square(model, xs[rank]).backward()
whole = [3 * g for g in expected(net, [square])]
norm = np.sqrt(sum(np.sum(g**2) for g in whole))
found = optim.clip_grad_norm(net.parameters(), norm / 2)
np.testing.assert_allclose(float(found), norm, rtol=1e-11)
same(net, [g / 2 for g in whole])

# Hooks see this rank's gradient; what they make of it is averaged.
net, model = made()
seen = []
with net[2].weight.register_hook(lambda g: seen.append(g.numpy()) or 2 * g):
    square(model, xs[rank]).backward()
own = ad.autograd.grad(square(net, xs[rank]), net[2].weight)[0].numpy()
np.testing.assert_allclose(seen[0], own, rtol=1e-12)
found = expected(net, [square])
found[2] *= 2
same(net, found)

# The array of a gradient is the user's: written in place, it changes no later step, and no other gradient.
net, model = made(bucket=1 << 20)
square(model, xs[rank]).backward()
net[2].weight.grad.data[...] = 100.0
kept = net[0].weight.grad.numpy().copy()
net.zero_grad()
square(model, xs[rank]).backward()
same(net, expected(net, [square]))
np.testing.assert_array_equal(net[0].weight.grad.numpy(), kept)

# The running statistics of normalisations are the same on all ranks: the mean of what each has seen.
net = nn.Sequential(nn.BatchNorm1d(4, dtype="float64"), nn.Linear(4, 2, rng=0, dtype="float64"))
model = dist.DataParallel(net)
for k in range(3):
    np.mean(model(xs[rank] + k) ** 2).backward()
means, squares = np.zeros(4), np.ones(4)
for k in range(3):
    means = np.mean([0.9 * means + 0.1 * np.mean(x + k, 0) for x in xs], 0)
    squares = np.mean([0.9 * squares + 0.1 * np.var(x, 0, ddof=1) for x in xs], 0)
np.testing.assert_allclose(net[0].running_mean.numpy(), means, rtol=1e-12)
np.testing.assert_allclose(net[0].running_var.numpy(), squares, rtol=1e-12)
assert len({bits.tobytes() for bits in dist.all_gather(net[0].running_var.numpy())}) == 1

# An update that one rank leaves out is noticed at the next backward pass, on all ranks; then all can be made equal.
net, model = made()
adam = ad.optim.Adam(net.parameters(), lr=1e-5)
square(model, xs[rank]).backward()
if rank:
    adam.step()
for go in (lambda: square(model, xs[rank]).backward(), lambda: dist.average_gradients(list(net.parameters()))):
    with pytest.raises(dist.DistributedError, match="are not those of rank 0 any more"):
        go()
dist.spread(net)
net.zero_grad()
square(model, xs[rank]).backward()
same(net, expected(net, [square]))

# A transform would take gradients that nobody averages.
net, model = made()
with pytest.raises(ad.GradientError, match=r"model\.module"):
    ad.grad(lambda p: np.sum(nn.functional_call(model, p, xs[rank])))(
        {f"module.{name}": p.numpy() for name, p in net.named_parameters()}
    )
by_input = ad.grad(lambda x: square(model, x))(xs[rank])  # by the examples it is this rank's own
alone = ad.grad(lambda x: square(net, x))(xs[rank])
np.testing.assert_allclose(by_input.numpy(), alone.numpy(), rtol=1e-12)
dist.barrier()
print("done")
