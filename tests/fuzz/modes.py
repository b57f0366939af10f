"""What a program gives in each mode beside what it has to: NumPy's values, differences, another mode's derivative."""

import re
import warnings
from collections import Counter

import numpy as np

import adjoint as ad
from adjoint.testing.coordinates import to_arrays, to_vector
from adjoint.testing.differences import along

CLOSE, NEAR = 1e-9, 2e-5  # to another mode's derivative; to differences
LARGEST = 1e6  # derivatives above say more of the program than of a mode
refusals: Counter[str] = Counter()  # programs that a mode refuses with an error of its own, by mode and error


def check(program, native=False):
    """The first mode in which the program is wrong, and how; None if there is none. It must be wrong nearby, too."""
    point = program.point(0)
    said = first_wrong(program, point, native)
    if said is None:
        return None
    rng = np.random.default_rng(1)
    nudged = [as_laid_out(x * (1 + 1e-3 * rng.uniform(-1, 1, x.shape)), x) for x in point]
    again = first_wrong(program, nudged, native)
    return said if again is not None and kind(again) == kind(said) else None


def kind(said):
    """The mode and what is wrong there, without the numbers."""
    return said.split(" | ")[0]


def first_wrong(program, point, native):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case = Case(program.function, point, native)
        except NotOfNumPy:
            return None
        for mode in (plain, reverse, forward, differences, tensors, checkpointed, second, batched, compiled):
            try:
                for what, found, wanted, close in mode(case):
                    if case.large(wanted):
                        continue
                    how = difference(found, wanted, close)
                    if how:
                        return f"{mode.__name__}: {what} | {how}"
            except NotOfNumPy:  # at other values than the program was made at
                return None
            except ad.AdjointError as error:
                refusals[f"{mode.__name__}: {type(error).__name__}: {str(error)[:70]!r}"] += 1
                if mode in (reverse, forward):  # the others are compared with these
                    return None
            except Exception as error:
                return f"{mode.__name__}: {type(error).__name__}: {re.sub('[^a-z ]+', '.', str(error))[:60]} | {error}"
    return None


def difference(found, wanted, close):
    """How two rows of arrays differ, if they do."""
    if len(found) != len(wanted):
        return f"{len(found)} values, not {len(wanted)}"
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            return f"{x.shape} of {x.dtype}, not {y.shape} of {y.dtype}"
        scale = max(1.0, float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))))
        if not np.allclose(x, y, rtol=0.0, atol=close * scale, equal_nan=True):
            return f"{x.tolist()}, not {y.tolist()}"
    return None


def as_laid_out(values, like):
    """`values` in memory of the strides of `like`, as far as they can be had: reversed, transposed, broadcast axes."""
    order = sorted(range(like.ndim), key=lambda axis: -abs(like.strides[axis]))
    new = np.ascontiguousarray(np.transpose(values, order)).transpose(np.argsort(order)) if like.ndim else values
    back = tuple(slice(None, None, -1) if step < 0 else slice(None) for step in like.strides)
    if any(step < 0 for step in like.strides):
        new = new[back].copy(order="K")[back]
    return np.asarray(new)


class NotOfNumPy(Exception):  # noqa: N818 - it ends the comparison, and is no error
    """NumPy itself does not run the program."""


class Case:
    """A function at a point, a direction, and weights of its values."""

    def __init__(self, f, point, native):
        self.f, self.point, self.native = f, tuple(point), native
        self.rng = np.random.default_rng(2)
        self.value = self.plain(*point)
        self.direction, self.weights = self.random(self.point), self.random(self.value)
        self.loss = weighed(f, self.weights)

    def random(self, likes):
        return tuple(to_arrays(self.rng.normal(size=to_vector([x]).size), [x])[0] for x in likes)

    def plain(self, *args):
        """What NumPy says."""
        before = [x.copy() for x in args]
        try:
            value = self.f(*args)
        except Exception as error:
            raise NotOfNumPy from error
        if not all(np.array_equal(x, y) for x, y in zip(args, before, strict=True)):
            raise NotOfNumPy  # here a copy was a view: what modes make of a written argument is their own
        return value

    def large(self, arrays):
        return any(np.any(np.abs(x) > LARGEST) for x in arrays)

    def gradient(self, *args):
        return ad.grad(self.loss, tuple(range(len(args))))(*args)

    def pulled(self, *args):
        value, pullback = ad.vjp(self.f, *args)
        return value, pullback(tuple(self.weights))


def weighed(f, weights):
    """One real number of all values of `f`."""

    def loss(*args):
        total = 0.0
        for y, w in zip(f(*args), weights, strict=True):
            total = total + np.sum(y.real * w.real) + 0.1 * np.sum(y.real**2)
            if np.iscomplexobj(w):
                total = total + np.sum(y.imag * w.imag)
        return total

    return loss


def inner(x, y):
    return to_vector(x) @ to_vector(y)


def plain(case):
    """The program leaves its arguments as they are, and is what it is twice."""
    yield "values again", case.f(*case.point), case.value, 0.0


def reverse(case):
    value, case.cotangents = case.pulled(*case.point)
    yield "values", value, case.value, 1e-12
    like = difference([np.zeros_like(c) for c in case.cotangents], [np.zeros_like(x) for x in case.point], 0.0)
    assert like is None, f"a cotangent is {like}"


def forward(case):
    value, case.tangents = ad.jvp(case.f, case.point, case.direction)
    yield "values", value, case.value, 1e-12
    products = [inner(case.weights, case.tangents)], [inner(case.cotangents, case.direction)]
    yield "<w, Jv> is not <J'w, v>", *products, CLOSE


def differences(case):
    x, v = to_vector(case.point), to_vector(case.direction)

    def vector(f):
        return lambda x: to_vector(f(*map(as_laid_out, to_arrays(x, case.point), case.point)))

    for what, f, found in [("first", case.plain, case.tangents), ("second", case.gradient, None)]:
        if found is None:
            case.bent = found = ad.jvp(case.gradient, case.point, case.direction)[1]
        estimate = along(vector(f), x, v)
        known = estimate.errors < NEAR * (1 + np.abs(estimate.values))
        yield f"{what} derivatives", [to_vector(found)[known]], [estimate.values[known]], NEAR


def tensors(case):
    leaves = [ad.tensor(x, requires_grad=True) for x in case.point]
    value = case.f(*leaves)
    there = [t.numpy() for t in leaves]
    yield "values", [y.numpy() if isinstance(y, ad.Tensor) else y for y in value], case.plain(*there), 1e-12
    loss = case.loss(*leaves)
    if isinstance(loss, ad.Tensor) and loss.requires_grad:
        loss.backward()
        found = [np.zeros(t.shape, t.dtype) if t.grad is None else t.grad.numpy() for t in leaves]
        yield "gradients", found, case.gradient(*there), CLOSE


def checkpointed(case):
    value, pullback = ad.vjp(ad.checkpoint(ad.differentiable(case.f)), *case.point)
    yield "values", value, case.value, 1e-12
    yield "cotangents", pullback(tuple(case.weights)), case.cotangents, CLOSE


def second(case):
    numbers = tuple(range(len(case.point)))

    def slope(*args):
        return sum(np.sum((g * np.conj(v)).real) for g, v in zip(case.gradient(*args), case.direction, strict=True))

    yield "reverse over reverse", ad.grad(slope, numbers)(*case.point), case.bent, CLOSE
    along_it = ad.grad(lambda *args: ad.jvp(case.loss, args, case.direction)[1], numbers)
    yield "reverse over forward", along_it(*case.point), case.bent, CLOSE


def batched(case):
    axes = [case.rng.choice([0, -1, 1, None] if x.ndim else [0, None]) for x in case.point]
    if all(axis is None for axis in axes):
        axes[0] = 0
    stacked, rows = [], []
    for x, axis in zip(case.point, axes, strict=True):
        near = [x * (1 + 0.01 * case.rng.uniform(-1, 1, x.shape)) for _ in range(3)]
        stacked.append(x if axis is None else np.stack(near, axis=axis))
        rows.append([x] * 3 if axis is None else [np.moveaxis(stacked[-1], axis, 0)[k, ...] for k in range(3)])
    out = case.rng.choice([0, -1])
    for what, f, reference in [("values", case.f, case.plain), ("gradients", case.gradient, case.gradient)]:
        single = [reference(*row) for row in zip(*rows, strict=True)]
        if len({tuple(y.shape for y in ys) for ys in single}) == 1:
            wanted = [np.stack(ys, axis=out) for ys in zip(*single, strict=True)]
            yield what, ad.vmap(f, in_axes=tuple(axes), out_axes=int(out))(*stacked), wanted, CLOSE


def compiled(case):
    """The first call, and later ones, with values that change."""
    rng = np.random.default_rng(3)
    points = [case.point]
    for far in (0.0, 0.01, 2.0, 0.01):
        changed = [as_laid_out(x * (1 + far * rng.uniform(-1, 1, x.shape)), x) for x in case.point]
        points = [*points, tuple(changed)]
    for backend in ["numpy", "native"] if case.native else ["numpy"]:
        f = ad.compile(lambda *args: case.pulled(*args), wait=True, backend=backend)
        for k, point in enumerate(points):
            case.plain(*point)
            (wanted, cotangents), (value, pulled) = case.pulled(*point), f(*point)
            if not case.large(wanted) and not case.large(cotangents):
                yield f"{backend}, call {k}, values", value, wanted, CLOSE
                yield f"{backend}, call {k}, cotangents", pulled, cotangents, CLOSE
