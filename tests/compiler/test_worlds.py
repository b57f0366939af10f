"""Random functions that read and write parameters, arrays and gradients, ask, and draw: compiled, they do the same."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core.objects.trees import flatten

SHAPES = [(1,), (3,), (4,), (2, 3)]


class Writer:
    """Writes one function: of an array `x` and a number `y`, on a world `s` of tensors w… and arrays m…"""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shape = self.random.choice(SHAPES)
        self.tensors = [f"w{i}" for i in range(self.random.randint(1, 3))]
        self.arrays = [f"m{i}" for i in range(self.random.randint(0, 2))]
        lines = [line for _ in range(self.random.randint(2, 7)) for line in self.statement()]
        result = self.random.choice(["t", f"({self.value()}, t)", self.value(), f"s.{self.tensors[0]}", "(x, t)"])
        self.text = "\n    ".join(["def f(x, y):", "t = x * 1.0", *lines, f"return {result}"])

    def value(self, depth=0):
        names = [f"s.{name}" for name in (*self.tensors, *self.arrays)]
        leaf = self.random.choice([*names, f"s.{self.tensors[0]}.data", "x", "y", "t", "0.5", "-1.0", "3"])
        if depth > 2 or self.random.random() < 0.35:
            return leaf
        inner, other = self.value(depth + 1), self.value(depth + 1)
        array = f"({inner}) * np.ones(shape)"
        return self.random.choice(
            [
                f"({inner} {self.random.choice('+-*')} {other})",
                f"np.{self.random.choice(['sin', 'tanh', 'exp', 'square', 'abs'])}({inner} * 0.1)",
                f"np.sort({array}, axis=-1)",
                f"({array})[::-1]",
                f"np.cumsum({array}, axis=-1)",
                f"np.where({inner} > 0.5, {other}, {inner})",
                f"np.sum({inner})",
                f"np.roll({array}, 1)",
                f"np.sum(np.take({array}, [0, -1, 0], axis=-1))",
                f"s.drop({array})",
                f"np.max({array}, axis=-1, keepdims=True)",
            ]
        )

    def statement(self):
        v, w = self.value(), self.random.choice(self.tensors)
        place = self.random.choice([*(f"{name}.data" for name in self.tensors), *self.arrays])
        backward = [f"loss = np.sum(s.{w} * s.{w} * ({v}))", "if loss.requires_grad: loss.backward()"]
        kinds = [
            [f"t = {v}"],
            [f"s.{place}[...] = ({v}) * np.ones(shape) * 0.3"],
            [f"s.{place}[..., 0] = np.sum({v}) * 0.1"],
            [f"s.{place}[...] *= 0.5"],
            [f"if np.sum({v}) > {self.random.choice([0, 1, -1, 5])}: t = t * 1.5", "else: t = t + 0.25"],
            backward,
            backward,
            [f"s.{w}.grad = None"],
            ["x[...] = x * 0.9"],
            [f"u = s.{w}.grad", "if u is not None: t = t + np.sum(u)"],
        ]
        if self.arrays:
            kinds.append([f"s.{self.arrays[0]} = ({v}) * np.ones(shape) * 0.2"])
            kinds.append([f"s.{self.arrays[0]}, s.{self.arrays[-1]} = s.{self.arrays[-1]}, s.{self.arrays[0]}"])
        return self.random.choice(kinds)

    def world(self, seed):
        """The function, and its world."""
        rng, s = np.random.default_rng(seed), SimpleNamespace()
        for name in self.tensors:
            setattr(s, name, ad.tensor(rng.normal(size=self.shape), requires_grad=True))
        for name in self.arrays:
            setattr(s, name, rng.normal(size=self.shape))
        s.drop = nn.Dropout(0.4, rng=rng)
        scope = {"np": np, "s": s, "shape": self.shape}
        exec(self.text, scope)
        return scope["f"], s

    def seen(self, s):
        """All that can be seen of a world."""
        things = [getattr(s, name) for name in (*self.tensors, *self.arrays)]
        grads = [t.grad for t in things if isinstance(t, ad.Tensor) and t.node is not None and t.is_leaf]
        return [*things, *(0.0 if g is None else g for g in grads), float(s.drop.rng.random())]


def outcome(f, *args):
    try:
        return [np.array(x.data if isinstance(x, ad.Tensor) else x) for x in flatten(f(*args))[0]]
    except (ValueError, TypeError, IndexError, ad.LeavesGraphError) as error:
        return type(error)


@pytest.mark.parametrize(("backend", "seed"), [*(("numpy", k) for k in range(60)), *(("native", k) for k in range(16))])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of overflows, which compiled code does not notice
def test_a_world_and_its_compiled_twin(backend, seed):
    writer = Writer(seed)
    (plain, s), (f, twin) = writer.world(seed), writer.world(seed)
    compiled = ad.compile(f, wait=True, backend=backend)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        x, y = rng.normal(size=writer.shape), float(rng.normal())
        own = x.copy()
        expected, found = outcome(plain, x, y), outcome(compiled, own, y)
        if isinstance(expected, type):
            assert found is expected
            return
        a = [*expected, *flatten(writer.seen(s))[0], x]
        b = [*found, *flatten(writer.seen(twin))[0], own]
        assert len(a) == len(b)
        for v, w in zip(a, b, strict=True):
            v, w = (np.asarray(z.data if isinstance(z, ad.Tensor) else z) for z in (v, w))
            assert (v.shape, v.dtype) == (w.shape, w.dtype), writer.text
            np.testing.assert_allclose(w, v, rtol=1e-9, atol=1e-9, err_msg=writer.text)
