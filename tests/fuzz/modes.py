"""What a program gives in each mode beside what it has to: NumPy's values, differences, another mode's derivative."""

import re
import warnings
from collections import Counter
from functools import cached_property
from unittest import mock

import numpy as np

import adjoint as ad
from adjoint.arrays import later
from adjoint.core import constructors
from adjoint.testing.coordinates import to_arrays, to_vector
from adjoint.testing.differences import along

from . import rounding

CLOSE, NEAR = 1e-9, 2e-5  # to another mode's derivative; to differences
STEP = 1.07e-5  # of differences, where they do at once
DEGENERATE = re.compile(
    r"svd|eig|cond|pinv|qr|norm|std|hypot|angle|arctan2|\*\* (0|-)"
)  # where derivatives may not exist
NOISY = re.compile(r"eigh|eigvalsh|cholesky")  # of a nearly Hermitian matrix its Hermitian part: docs/conventions.md
OTHERWISE = re.compile(r"logaddexp\.(reduce|accumulate)|vecdot|einsum")  # added in another order: docs/conventions.md
COUNTS = re.compile(r"union1d|unique|intersect1d|setdiff1d|setxor1d|trim_zeros")
LAST_DIGIT = 1e-14  # of sums in another order
LARGEST = 1e6  # derivatives above say more of the program than of a mode
ran: Counter[str] = Counter()  # programs that were right in a mode
refusals: Counter[str] = Counter()  # programs that a mode refuses with an error of its own, by mode and error


def check(program, native=False, modes=None, seed=1):
    """The first mode in which the program is wrong, and how; None if there is none. It must be wrong nearby, too."""
    point, _ = program.ran or (program.point(0), None)
    said = first_wrong(program, point, native, modes, seed)
    if said is None:
        return None
    if modes is not None:  # whether it is the same twice
        modes = {*modes, "plain"}
    rng = np.random.default_rng(1)
    nudged = [as_laid_out((x * (1 + 1e-3 * rng.uniform(-1, 1, x.shape))).astype(x.dtype), x) for x in point]
    again = first_wrong(program, nudged, native, modes, seed)
    same = again is not None and kind(again) == kind(said)
    if not same or (not said.startswith("plain") and decided_by_rounding(program, point, native, seed)):
        return None
    return said


def decided_by_rounding(program, point, native, seed):
    """Whether rounding decides the values or, where numbers are nearly 0 and `abs` turns them, the gradient."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = Case(program, point, native, seed)
        return rounding.decides(program, point, as_laid_out) or rounding.moves(case.gradient, point, as_laid_out)


def kind(said):
    """The mode and what is wrong there, without the numbers."""
    return said.split(" | ")[0]


def first_wrong(program, point, native, modes, seed):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case = Case(program, point, native, seed, whole=modes is None or "whole" in modes)
        except NotOfNumPy:
            return None
        for mode in MODES:
            if modes is not None and mode.__name__ not in modes:
                continue
            try:
                for what, found, wanted, close in mode(case):
                    if case.large(wanted) or case.without_derivative(found, wanted):
                        continue
                    if what.endswith("values") and NOISY.search(program.text):
                        close = 0.02
                    eager = what == "values" and mode in (reverse, forward, tensors, checkpointed)
                    eager = eager and not OTHERWISE.search(program.text)
                    how = difference(found, wanted, close if eager else case.coarse(close))
                    if how:
                        return f"{mode.__name__}: {what} | {how}"
                ran[mode.__name__] += 1
            except NotOfNumPy:  # at other values than the program was made at
                return None
            except ad.AdjointError as error:
                refusals[f"{mode.__name__}: {type(error).__name__}: {str(error)[:70]!r}"] += 1
                if mode in (reverse, forward):  # the others are compared with these
                    return None
            except Exception as error:
                # NumPy's own: of plain arrays and their methods, and of memory that is written as it is.
                own = ("setting an array element", "read-only", "output must be an array")
                if any(text in str(error) for text in own) or counted(program, error):
                    if mode in (plain, reverse, forward):
                        return None
                    continue
                return f"{mode.__name__}: {type(error).__name__}: {re.sub('[^a-z ]+', '.', str(error))[:60]} | {error}"
    return None


def counted(program, error):
    """Whether it is a matter of rounding how many elements there are."""
    return isinstance(error, ValueError) and "broadcast together" in str(error) and COUNTS.search(program.text)


def difference(found, wanted, close):
    """How two rows of arrays differ, if they do."""
    if len(found) != len(wanted):
        return f"{len(found)} values, not {len(wanted)}"
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"{x.shape} of {x.dtype}, not {y.shape} of {y.dtype}"
        if not x.size or np.abs(x - y).max() <= close:  # most are
            continue
        if close and y.dtype.kind in "fc":
            close = max(close, 8.0 * float(np.finfo(y.dtype).eps))
        scale = max(1.0, float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))))
        if not np.allclose(x, y, rtol=0.0, atol=close * scale, equal_nan=True):
            wrong = ~np.isclose(x, y, rtol=0.0, atol=close * scale, equal_nan=True)
            return f"{np.sum(wrong)} of {x.size} numbers: {x[wrong][:4].tolist()}, not {y[wrong][:4].tolist()}"
    return None


def as_laid_out(values, like):
    """`values` in memory of the strides of `like`, as far as they can be had: reversed, transposed, broadcast axes."""
    if any(step == 0 and n > 1 for n, step in zip(like.shape, like.strides, strict=True)):  # repeated numbers are one
        once = tuple(slice(0, 1) if step == 0 else slice(None) for step in like.strides)
        return np.broadcast_to(as_laid_out(values[once], like[once]), like.shape)
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

    def __init__(self, program, point, native, seed, whole=True):
        self.f, self.point, self.native, self.whole = program.function, tuple(point), native, whole
        self.rng = np.random.default_rng(seed)
        self.value = program.ran[1] if program.ran and program.ran[0] is point else self.plain(*point)
        self.direction, self.weights = self.random(self.point), self.random(self.value)
        self.loss = weighed(self.f, self.weights)
        self.text = program.text
        self.degenerate, self.rounds = bool(DEGENERATE.search(program.text)), "std" in program.text
        self.digits = min(x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) for x in (*self.point, *self.value))
        for dtype in re.findall(r"np\.(float16|float32|complex64)", program.text):
            self.digits = min(self.digits, 2 if dtype == "float16" else 4)

        if "own.narrow" in program.text:
            self.digits = min(self.digits, 4)

    def coarse(self, close):
        """What is close in the least precise dtype of the arguments and values."""
        return max(close, {8: 0.0, 4: 1e-3, 2: 0.05}[self.digits])

    def random(self, likes):
        draws = [to_arrays(self.rng.normal(size=to_vector([x]).size), [x])[0] for x in likes]
        return tuple(as_laid_out(y, x) if np.ndim(x) else y for y, x in zip(draws, likes, strict=True))

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

    def fits(self, point):
        """Whether the values there are of the shapes that the weights have."""
        return [np.shape(y) for y in self.plain(*point)] == [np.shape(w) for w in self.weights]

    def without_derivative(self, found, wanted):
        """Whether there is none to compare with: the root of a constant 0 has none, nor has one of two equal values."""
        return any(np.any(np.isnan(x)) for x in [*wanted, *(found if self.degenerate else [])])

    def large(self, arrays):
        return any(np.any(np.abs(x) > LARGEST) for x in arrays)

    def gradient(self, *args):
        return ad.grad(self.loss, tuple(range(len(args))))(*args)

    def some(self, choices):
        """One of the choices; all of them, if the program is to be seen whole."""
        return choices if self.whole else [choices[self.rng.integers(len(choices))]]

    @cached_property
    def slopes(self):
        """The gradient at the point."""
        return self.gradient(*self.point)

    @cached_property
    def bent(self):
        """How the gradient changes in the direction: forward over reverse."""
        return ad.jvp(self.gradient, self.point, self.direction)[1]

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
    terms = np.abs(to_vector(case.weights)) @ np.abs(to_vector(case.tangents))  # of these, rounding is a part
    scale = max(1.0, terms) if np.isfinite(terms) else 1.0
    products = [inner(case.weights, case.tangents) / scale], [inner(case.cotangents, case.direction) / scale]
    yield "<w, Jv> is not <J'w, v>", *products, CLOSE


def vectors(case, f):
    """`f` from the coordinates of the arguments to those of its values."""
    return lambda x: to_vector(f(*map(as_laid_out, to_arrays(x, case.point), case.point)))


def between(f, x, v):
    """The derivative of `f` along `v`, about."""
    return (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)


def near(found, rough):
    return bool(np.all(np.abs(found - rough) < NEAR * (1 + np.abs(rough)) / 2))


def differences(case):
    """The cotangents as one number; if it is not that of differences, each number of the tangents."""
    if case.digits < 8:
        return
    x, v, f = to_vector(case.point), to_vector(case.direction), vectors(case, case.plain)
    if near(inner(case.cotangents, case.direction), to_vector(case.weights) @ between(f, x, v)):
        return
    yield from forward(case)
    yield from known_differences("first derivatives", f, x, v, to_vector(case.tangents), case.rounds)


def curvature(case):
    if case.digits < 8:
        return
    x, v, f, found = (
        to_vector(case.point),
        to_vector(case.direction),
        vectors(case, case.gradient),
        to_vector(case.bent),
    )
    if not near(found, between(f, x, v)):
        yield from known_differences("second derivatives", f, x, v, found, case.rounds)


def known_differences(what, f, x, v, found, rounds):
    """Those derivatives that differences give well; `rounds`, if values may be roots of what is rounding."""
    estimate = along(f, x, v)
    known = estimate.errors < NEAR * (1 + np.abs(estimate.values))
    # The root of a constant 0 has no derivative, nor has that of what would be 0 but for rounding.
    known &= (np.isfinite(found) & (not rounds)) | (np.abs(estimate.values) > NEAR)
    yield what, [found[known]], [estimate.values[known]], NEAR


def tensors(case):
    leaves = [ad.tensor(x, requires_grad=True) for x in case.point]
    value = (ad.differentiable(case.f) if case.rng.random() < 0.5 else case.f)(*leaves)
    there = [t.numpy() for t in leaves]
    if not case.fits(there):  # they lie otherwise than the arguments
        return
    yield "values", [y.numpy() if isinstance(y, ad.Tensor) else y for y in value], case.plain(*there), 1e-12
    loss = case.loss(*leaves)
    if isinstance(loss, ad.Tensor) and loss.requires_grad:
        loss.backward()
        found = [np.zeros(t.shape, t.dtype) if t.grad is None else t.grad.numpy() for t in leaves]
        same = all(np.array_equal(x, y) and x.strides == y.strides for x, y in zip(there, case.point, strict=True))
        yield "gradients", found, case.slopes if same else case.gradient(*there), CLOSE


def ahead(case):
    """Operations that are handed over give the numbers of those that are not, forward and backward."""

    def run():
        leaves = [ad.tensor(x, requires_grad=True) for x in case.point]
        value, loss = (
            ad.differentiable(each)(*(t * 1 if t.ndim else np.copy(t) for t in leaves)) for each in (case.f, case.loss)
        )
        if isinstance(loss, ad.Tensor) and loss.requires_grad:
            loss.backward()
        value = [np.array(y.numpy() if isinstance(y, ad.Tensor) else y) for y in value]
        return value, [np.zeros(t.shape, t.dtype) if t.grad is None else t.grad.numpy() for t in leaves]

    with mock.patch.object(constructors, "FILLED", 0):  # as with large arrays
        value, gradients = run()
        with mock.patch.object(later, "LARGE", 1), ad.asynchronous(threads=2):
            found, slopes = run()
    # Quotients of complex numbers, and places to interpolate at, have other formulas, and shares of a gradient may be
    # added in another order: docs/howto/run_ahead.md.
    plain = not any(map(np.iscomplexobj, [*case.point, *value]))
    yield "values", found, value, 0.0 if plain else CLOSE
    yield "gradients", slopes, gradients, LAST_DIGIT if plain and "interp" not in case.text else CLOSE


def checkpointed(case):
    value, pullback = ad.vjp(ad.checkpoint(ad.differentiable(case.f)), *case.point)
    yield "values", value, case.value, 1e-12
    yield "cotangents", pullback(tuple(case.weights)), case.cotangents, CLOSE


def second(case):
    if case.digits < 4:  # half precision overflows where derivatives are large
        return
    numbers = tuple(range(len(case.point)))

    def slope(*args):
        return sum(np.sum((g * np.conj(v)).real) for g, v in zip(case.gradient(*args), case.direction, strict=True))

    def apart(gradient):  # of a value that is there in ranks only, numbers that are one do not change apart
        return [once(g, x) for g, x in zip(gradient, case.point, strict=True)] if case.degenerate else gradient

    def reverse_over_reverse():
        return apart(ad.grad(slope, numbers)(*case.point)), apart(case.bent)

    def reverse_over_forward():
        along_it = ad.grad(lambda *args: ad.jvp(case.loss, args, case.direction)[1], numbers)
        return apart(along_it(*case.point)), apart(case.bent)

    def forward_over_forward():
        _, twice = ad.jvp(lambda *args: ad.jvp(case.loss, args, case.direction)[1], case.point, case.direction)
        return [float(twice)], [inner(case.bent, case.direction)]

    for way in case.some([reverse_over_reverse, reverse_over_forward, forward_over_forward]):
        yield way.__name__.replace("_", " "), *way(), CLOSE


def once(g, x):
    """The cotangent of the numbers that `x` repeats."""
    axes = tuple(axis for axis, step in enumerate(x.strides) if step == 0 and x.shape[axis] > 1)
    return np.sum(g, axis=axes, keepdims=True)


def batched(case):
    axes = [case.rng.choice([0, -1, 1, None] if x.ndim else [0, None]) for x in case.point]
    if all(axis is None for axis in axes):
        axes[0] = 0
    stacked, rows = [], []
    for x, axis in zip(case.point, axes, strict=True):
        near = [(x * (1 + 0.01 * case.rng.uniform(-1, 1, x.shape))).astype(x.dtype) for _ in range(2)]
        stacked.append(x if axis is None else pile(near, axis, case.rng.integers(5)))
        rows.append([x] * 2 if axis is None else [np.moveaxis(stacked[-1], axis, 0)[k] for k in range(2)])
    out = case.rng.choice([0, -1])
    pairs = [("values", case.f, case.plain), ("gradients", case.gradient, case.gradient)]
    for what, f, reference in case.some(pairs):
        if not all(case.fits(row) for row in zip(*rows, strict=True)):
            return
        single = [reference(*row) for row in zip(*rows, strict=True)]
        if len({tuple((y.shape, y.dtype) for y in ys) for ys in single}) == 1:
            wanted = [np.stack(ys, axis=out) for ys in zip(*single, strict=True)]
            yield what, ad.vmap(f, in_axes=tuple(axes), out_axes=int(out))(*stacked), wanted, CLOSE


def pile(samples, axis, layout):
    """Samples in one array, which lies in memory in one of a few ways."""
    if layout == 1:
        return np.asfortranarray(np.stack(samples, axis))
    if layout == 2:
        return np.flip(np.stack(samples[::-1], axis), axis)
    if layout == 3:
        return np.moveaxis(np.stack(samples, -1), -1, axis)
    if layout == 4:
        return np.moveaxis(np.broadcast_to(samples[0], (len(samples), *samples[0].shape)), 0, axis)
    return np.stack(samples, axis)


def compiled(case):
    """The first call, and later ones, with values that change."""
    rng = np.random.default_rng(3)
    points = [case.point]
    for far in (0.0, 0.01, 2.0, 0.01) if case.whole else (0.01, 2.0):
        near = [(x * (1 + far * rng.uniform(-1, 1, x.shape))).astype(x.dtype) for x in case.point]
        changed = [as_laid_out(y, x) for y, x in zip(near, case.point, strict=True)]
        points = [*points, tuple(changed)]
    for backend in ["numpy", "native"] if case.native else ["numpy"]:
        f = ad.compile(lambda *args: case.pulled(*args), wait=True, backend=backend)
        for k, point in enumerate(points):
            if not case.fits(point):
                continue
            (wanted, cotangents), (value, pulled) = case.pulled(*point), f(*point)
            if not case.large(wanted) and not case.large(cotangents):
                yield f"{backend}, call {k}, values", value, wanted, CLOSE
                yield f"{backend}, call {k}, cotangents", pulled, cotangents, CLOSE


def linearized(case):
    value, tangents_of = ad.linearize(case.f, *case.point)
    yield "values", value, case.value, 1e-12
    yield "tangents", tangents_of(*case.direction), ad.jvp(case.f, case.point, case.direction)[1], CLOSE


def captured(case):
    """A graph of the program, as a function: its value, and its derivatives."""
    graph = ad.capture(case.f, *case.point)
    value, cotangents = ad.vjp(graph, *case.point)
    yield "values", value, case.value, CLOSE
    yield "cotangents", cotangents(tuple(case.weights)), case.cotangents, CLOSE
    tangents = (ad.jvp(f, case.point, case.direction)[1] for f in (graph, case.f))
    yield "tangents", *tangents, CLOSE


MODES = (plain, reverse, differences, forward, curvature, tensors, ahead, checkpointed, second, batched)
MODES += (linearized, captured, compiled)
ALWAYS = {"reverse", "differences"}
# One of these besides: for so many programs of a hundred.
ELSE = {"forward": 47, "tensors": 16, "ahead": 4, "checkpointed": 8, "second": 6, "curvature": 3, "batched": 11}
ELSE |= {"linearized": 2, "captured": 2, "compiled": 1}
ELSE_OF_KINDS = ELSE | {"forward": 28, "tensors": 20, "batched": 20, "compiled": 4}


def drawn(rng, kind="any"):
    """The modes that a program runs in: the first derivatives by reverse mode and by differences, and another one."""
    often = ELSE if kind == "any" else ELSE_OF_KINDS
    return {*ALWAYS, rng.choices(list(often), often.values())[0]}
