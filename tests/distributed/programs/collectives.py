"""Collectives: values, the same bits everywhere, derivatives in every mode against one program that holds all parts."""

import sys

import numpy as np

import adjoint as ad
from adjoint import distributed as dist

rank, size = dist.rank(), dist.size()
parts = [np.random.default_rng(k).normal(size=(3, 4)) for k in range(size)]
x = parts[rank]

# Values.
assert size == int(sys.argv[1]), size
np.testing.assert_array_equal(dist.all_gather(x), parts)


def by_pairs(arrays):
    """The sum in the order of the ranks: (0 + 1) + (2 + 3)."""
    return arrays[0] + arrays[1] if size == 2 else (arrays[0] + arrays[1]) + (arrays[2] + arrays[3])


assert size in (2, 4)
assert dist.all_reduce(x).tobytes() == by_pairs(parts).tobytes()
np.testing.assert_array_equal(dist.all_reduce(x, "max"), np.max(parts, axis=0))
np.testing.assert_array_equal(dist.all_reduce(x, "min"), np.min(parts, axis=0))
np.testing.assert_allclose(dist.all_reduce(x, "mean"), np.mean(parts, axis=0), rtol=1e-14)
np.testing.assert_array_equal(dist.broadcast(x, root=size - 1), parts[-1])
np.testing.assert_array_equal(dist.shift(x, by=1), parts[rank - 1])
np.testing.assert_allclose(dist.reduce_scatter(np.stack([x * k for k in range(size)])), sum(parts) * rank, rtol=1e-13)
assert dist.all_reduce(2.0 * rank) == size * (size - 1)
for dtype in (np.float32, np.int64, np.complex128, bool):
    assert dist.all_gather(np.ones(3, dtype)).dtype == dtype
assert dist.all_reduce(np.zeros((0, 3))).shape == (0, 3)
assert dist.all_gather(np.array(3.0)).shape == (size,)

# A large array goes in pieces: the same sum, bit by bit.
large = [np.random.default_rng(k).normal(size=100_003) for k in range(size)]
assert dist.all_reduce(large[rank]).tobytes() == by_pairs(large).tobytes()
strided = np.asfortranarray(np.arange(12.0).reshape(3, 4)) + rank
np.testing.assert_array_equal(dist.all_reduce(strided), sum(np.arange(12.0).reshape(3, 4) + k for k in range(size)))


# Derivatives: f joins the parts of all ranks. `serial` is the same program in one process, of all parts.
def gathered(v):
    return sum((k + 1) * w for k, w in enumerate(dist.all_gather(np.sin(v))))


def serial_gathered(vs):
    return [sum((k + 1) * np.sin(w) for k, w in enumerate(vs))] * size


def scattered(v):
    return dist.reduce_scatter(np.stack([np.sin(v) * (k + 1) for k in range(size)]))


def serial_scattered(vs):
    return [sum(np.sin(w) * (k + 1) for w in vs) for k in range(size)]


CASES = {
    "sum": (lambda v: dist.all_reduce(np.sin(v)), lambda vs: [sum(map(np.sin, vs))] * size),
    "mean": (lambda v: dist.all_reduce(np.exp(v), "mean"), lambda vs: [sum(map(np.exp, vs)) / size] * size),
    "max": (lambda v: dist.all_reduce(v**3, "max"), lambda vs: [np.max(np.stack([w**3 for w in vs]), axis=0)] * size),
    "min": (lambda v: dist.all_reduce(v**3, "min"), lambda vs: [np.min(np.stack([w**3 for w in vs]), axis=0)] * size),
    "gather": (gathered, serial_gathered),
    "scatter": (scattered, serial_scattered),
    "broadcast": (lambda v: dist.broadcast(np.cos(v), root=size - 1), lambda vs: [np.cos(vs[-1])] * size),
    "shift": (lambda v: dist.shift(np.tanh(v), by=1), lambda vs: [np.tanh(vs[k - 1]) for k in range(size)]),
}


def mine(program):
    """This rank's result: a number that is not symmetric in ranks or elements."""
    return lambda v: np.sum(program(v) ** 2 * np.arange(1.0, 13.0).reshape(3, 4)) * (rank + 1.0)


def whole(program):
    """The sum of all ranks' results."""
    weights = np.arange(1.0, 13.0).reshape(3, 4)
    return lambda *vs: sum(np.sum(out**2 * weights) * (k + 1.0) for k, out in enumerate(program(vs)))


for name, (program, serial) in CASES.items():
    f, g = mine(program), whole(serial)
    numbers = tuple(range(size))
    np.testing.assert_allclose(sum(dist.all_gather(f(x))), g(*parts), rtol=1e-12, err_msg=name)
    expected = ad.grad(g, argnums=numbers)(*parts)[rank]
    np.testing.assert_allclose(ad.grad(f)(x), expected, rtol=1e-12, err_msg=name)
    t = ad.tensor(x, requires_grad=True)
    f(t).backward()
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-12, err_msg=name)
    tangent = [np.cos(p) for p in parts]
    out, derivative = ad.jvp(f, (x,), (tangent[rank],))
    np.testing.assert_allclose(
        sum(dist.all_gather(derivative)), ad.jvp(g, tuple(parts), tuple(tangent))[1], rtol=1e-12, err_msg=name
    )
    second = ad.grad(lambda v: np.sum(ad.grad(f)(v) * np.cos(x)))(x)  # of the sum of all ranks' products
    both = ad.grad(
        lambda *vs: sum(np.sum(a * b) for a, b in zip(ad.grad(g, argnums=numbers)(*vs), tangent, strict=True)),
        argnums=numbers,
    )(*parts)[rank]
    np.testing.assert_allclose(second, both, rtol=1e-11, err_msg=name)
    stack = np.stack([x, 2 * x, -x])
    np.testing.assert_allclose(ad.vmap(program)(stack), np.stack([program(v) for v in stack]), rtol=1e-13, err_msg=name)
    compiled = ad.compile(f, wait=True)
    for scale in (1.0, 1.0, 0.5, 2.0):
        np.testing.assert_allclose(compiled(x * scale), f(x * scale), rtol=1e-12, err_msg=name)


# What the other ranks give may change from call to call, also where this rank's own part does not.
@ad.compile(wait=True)
def counted(v):
    return np.sum(v) * dist.all_reduce(np.array(counts[0]))


counts = [0]
for k in range(6):
    counts[0] = k if rank else 1
    assert counted(np.ones(3)) == 3 * (1 + (size - 1) * k), k
print("done")
