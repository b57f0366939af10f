"""Random programs that use arrays of somebody else's, who overwrites them between the operations and before the pass.

``python tests/tape/foreign_programs.py 10000`` runs that many; the suite runs a sample.
"""

import sys

import numpy as np
import scipy.sparse

import adjoint as ad
from adjoint.tape.writes import foreign as watch


@ad.custom_vjp
def scaled(y, a):
    return y * a


scaled.defvjp(lambda y, a: (y * a, a), lambda a, g: (g * a, None))


@ad.op
def gate(y, *, weights):
    return y * weights


@gate.backward
def _(g, weights):
    return (g * weights,)


class Pool:
    """The arrays that are written to, of `n` elements or n by n."""

    def __init__(self, rng, n, memory):
        self.rng = rng
        self.vectors = [rng.uniform(0.5, 1.5, n) for _ in range(3)] + [memory]
        self.long = rng.uniform(0.5, 1.5, 3 * n)
        self.vectors += [self.long[::3], self.long[: 2 * n : 2][::-1], self.long[n : 2 * n]]
        self.single = rng.uniform(0.5, 1.5, n).astype(np.float32)
        self.complex = rng.uniform(0.5, 1.5, n) + 1j * rng.uniform(0.5, 1.5, n)
        self.mask, self.places = rng.random(n) > 0.5, rng.integers(0, n, n)
        self.matrix = rng.uniform(-1, 1, (n, n)) / n + np.eye(n)
        self.knots, self.heights = np.linspace(-3.0, 3.0, n + 1), rng.uniform(0, 1, n + 1)
        self.sparse = scipy.sparse.csr_array(np.eye(n) * rng.uniform(0.5, 1.5, n))

    def floats(self):
        return [*self.vectors, self.long, self.single, self.complex, self.matrix, self.heights, self.sparse.data]

    def vector(self):
        return self.vectors[self.rng.integers(len(self.vectors))]

    def write(self):
        """Overwrite something, in one of the ways in which programs do."""
        rng = self.rng
        if rng.random() < 0.2:
            rng.shuffle(self.mask)
            self.places[rng.integers(len(self.places))] = rng.integers(len(self.places))
            return
        a = self.floats()[rng.integers(len(self.floats()))]
        kind = rng.integers(6)
        if kind == 0:
            a.flat[rng.integers(a.size)] *= 1.5
        elif kind == 1:
            a *= -1
        elif kind == 2:
            a[...] = 1.0
        elif kind == 3:
            a[...] = np.roll(a, 1)
        elif kind == 4:
            a[...] = np.flip(a)
        else:
            i, j = rng.integers(a.size, size=2)
            a.flat[i], a.flat[j] = -a.flat[i], -a.flat[j]


def written_into(y, index, value):
    y = y * 1.0
    y[index] = value
    return y


def scaled_in_place(y, a):
    y = y * 1.0
    y *= a
    return y


def added_at(y, places, a):
    y = y * 1.0
    np.add.at(y, places, a)
    return y * y


# What a program does next with `y`; `c` takes an array of the pool, or a copy of it.
STEPS = {
    "multiply": lambda y, p, c: y * c(p.vector()),
    "reflected": lambda y, p, c: c(p.vector()) * y,
    "divide": lambda y, p, c: y / (2.0 + c(p.vector())),
    "view": lambda y, p, c: y * c(p.vector())[::-1],
    "repeated": lambda y, p, c: np.sum(y * np.broadcast_to(c(p.vector()), (2, y.size)), axis=0),
    "single": lambda y, p, c: y * c(p.single),
    "complex": lambda y, p, c: np.abs(y * c(p.complex)),
    "power": lambda y, p, c: np.abs(y) ** c(p.heights)[1:],
    "where": lambda y, p, c: np.where(c(p.mask), y * 2.0, c(p.vector())),
    "mask": lambda y, p, c: written_into(y, c(p.mask), 0.3),
    "index": lambda y, p, c: y[c(p.places)] * y,
    "take": lambda y, p, c: np.take(y, c(p.places)) * y,
    "put": lambda y, p, c: written_into(y, c(p.places), c(p.vector())) * y,
    "add.at": lambda y, p, c: added_at(y, c(p.places), c(p.vector())),
    "in place": lambda y, p, c: scaled_in_place(y, c(p.vector())),
    "matmul": lambda y, p, c: c(p.matrix) @ y,
    "matmul, left": lambda y, p, c: y @ c(p.matrix),
    "transposed": lambda y, p, c: c(p.matrix).T @ y,
    "einsum": lambda y, p, c: np.einsum("ij,j,i->i", c(p.matrix), y, c(p.vector())),
    "solve": lambda y, p, c: np.linalg.solve(c(p.matrix) + 3 * np.eye(y.size), y),
    "maximum": lambda y, p, c: np.maximum(y, c(p.vector())),
    "clip": lambda y, p, c: np.clip(y, -c(p.vector()), c(p.vector())),
    "convolve": lambda y, p, c: np.convolve(y, c(p.heights)[:3], "same"),
    "interp": lambda y, p, c: np.interp(y, p.knots, c(p.heights)) + y,
    "sum where": lambda y, p, c: y * np.sum(y, where=c(p.mask)),
    "sparse": lambda y, p, c: c(p.sparse) @ y,
    "constant tensor": lambda y, p, c: y * ad.Tensor(c(p.vector())),
    "custom_vjp": lambda y, p, c: scaled(y, c(p.vector())),
    "gate": lambda y, p, c: gate(y, weights=c(p.vector())),
    "checkpoint": lambda y, p, c: checkpointed(y, c(p.vector()), c(p.matrix)),
    "list": lambda y, p, c: y * c(p.vector()).tolist(),
}


def checkpointed(y, a, m):
    return ad.checkpoint(lambda y: np.sin(y * a) + m @ y)(y)


def gradients(seed, memory, copies):
    """The gradient of program number `seed`; with `copies`, each array is copied when it is used."""
    rng = np.random.default_rng(seed)
    n = len(memory)
    pool, x = Pool(rng, n, memory), rng.uniform(0.5, 1.5, n)
    names = rng.choice(list(STEPS), rng.integers(1, 7)).tolist()
    mode = rng.choice(["backward", "grad", "create_graph", "vjp"])

    def program(t):
        y = t
        for name in names:
            y = STEPS[name](y, pool, (lambda a: a.copy()) if copies else lambda a: a)
            y = y / (1e-3 + np.sqrt(np.sum(y * y))) * 3.0
            if rng.random() < 0.5:
                pool.write()
        return np.sum(y * y * c_last(pool, copies))

    def c_last(pool, copies):
        return pool.vector().copy() if copies else pool.vector()

    if mode == "grad":
        return names, ad.grad(program)(x)
    if mode == "vjp":
        _, pullback = ad.vjp(program, x)
        for _ in range(3):
            pool.write()
        return names, pullback(1.0)[0]
    t = ad.tensor(x, requires_grad=True)
    loss = program(t)
    for _ in range(3):
        pool.write()
    loss.backward(create_graph=mode == "create_graph")
    found = t.grad.numpy().copy()
    if mode == "create_graph":
        first, t.grad = t.grad, None
        pool.write()
        np.sum(first**2).backward()
        found = np.concatenate([found, t.grad.numpy()])
    return names, found


def attack(seed, size, shown=None):
    """Run program `seed` on arrays of `size`; whether it gave a gradient (which is then right) or an error.

    `shown` is an array that stands for one of them, of memory that is not NumPy's.
    """

    def memory():
        numbers = np.random.default_rng(seed).uniform(0.5, 1.5, size)
        if shown is None:
            return numbers
        shown[:] = numbers
        return shown

    with np.errstate(all="ignore"):
        names, right = gradients(seed, memory(), copies=True)
        try:
            _, found = gradients(seed, memory(), copies=False)
        except (ad.InPlaceError, ad.GradientError):
            return False
    np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-12, err_msg=f"{seed}, {size}: {names}")
    return True


def main(count):
    right = 0
    for seed in range(count):
        size = int(np.random.default_rng(seed).choice([3, 5, 16, 17, 40, 100, 300]))
        watch.COPIED = (1 << 25, 0, 500)[seed % 3]
        right += attack(seed, size)
    print(f"{count} programs: {right} gradients, all right; {count - right} errors")


if __name__ == "__main__":
    main(int(sys.argv[1]))
