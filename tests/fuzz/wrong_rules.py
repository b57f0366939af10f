"""Rules of users whose cotangents do not fit: each is refused by name, or, where it is harmless, converted.

``python -m tests.fuzz.wrong_rules 20000`` draws so many: a function, a wrong cotangent, dtype, shape and mode each.
"""

import random
import sys
import warnings
from collections import Counter

import numpy as np

import adjoint as ad

SHAPES = [(), (3,), (2, 3), (1, 3), (3, 1), (2, 2), (0,), (1,), (2, 1, 3)]
DTYPES = [np.float64, np.float32, np.float16, np.complex128, np.complex64]
REFUSED, CONVERTED, ZERO, REAL = "refused", "converted", "zero", "real"

#: What a rule gives in the place of its cotangent `c`, and what becomes of it.
CHANGES = {
    "right": (lambda c: c, CONVERTED),
    "an axis in front": (lambda c: c[None], REFUSED),
    "an axis behind": (lambda c: c[..., None], REFUSED),
    "flat": (lambda c: np.reshape(c, -1), REFUSED),
    "the sum": (lambda c: np.sum(c), REFUSED),
    "sums of columns": (lambda c: np.sum(c, axis=0), REFUSED),
    "sums with an axis kept": (lambda c: np.sum(c, axis=0, keepdims=True), REFUSED),
    "turned": (lambda c: c.T, REFUSED),
    "too short": (lambda c: c[:-1], REFUSED),
    "the first row": (lambda c: c[0], REFUSED),
    "twice": (lambda c: np.stack([c, c]), REFUSED),
    "broadcast": (lambda c: np.broadcast_to(c, (2, *np.shape(c))), REFUSED),
    "complex": (lambda c: c * (1 + 1e-3j), REFUSED),
    "complex without an imaginary part": (lambda c: c + 0j, REFUSED),
    "real": (lambda c: np.real(c), REAL),
    "whole numbers": (lambda c: np.ones(np.shape(c), int), REFUSED),
    "truth values": (lambda c: np.ones(np.shape(c), bool), REFUSED),
    "objects": (lambda c: np.full(np.shape(c), None), REFUSED),
    "a text": (lambda c: "c", REFUSED),
    "a list": (lambda c: [c], REFUSED),
    "a dict": (lambda c: {"c": c}, REFUSED),
    "none": (lambda c: None, ZERO),
    "double precision": (lambda c: c.astype(np.result_type(c.dtype, np.float64)), CONVERTED),
    "single precision": (lambda c: c.astype(np.complex64 if c.dtype.kind == "c" else np.float32), CONVERTED),
    "half precision": (lambda c: c if c.dtype.kind == "c" else c.astype(np.float16), CONVERTED),
    "in columns": (lambda c: np.copy(c, order="F"), CONVERTED),
    "read-only": (lambda c: np.broadcast_to(c, np.shape(c)), CONVERTED),
}
#: What a rule gives in the place of the tuple of its cotangents.
AROUND = {
    "no tuple": (lambda c: c, REFUSED),
    "too many": (lambda c: (c, c), REFUSED),
    "none at all": (lambda c: (), REFUSED),
    "nested": (lambda c: ((c,),), REFUSED),
}
FACTOR = 1.7


def by_custom_vjp(change, around):
    """``1.7 x`` whose rule gives a changed cotangent."""
    f = ad.custom_vjp(lambda x: x * FACTOR)
    f.defvjp(lambda x: (x * FACTOR, None), lambda _, g: around(change(g * FACTOR)))
    return f


def by_custom_jvp(change, around):
    """The same, whose tangent is changed."""
    f = ad.custom_jvp(lambda x: x * FACTOR)
    f.defjvp(lambda xs, ts: (xs[0] * FACTOR, change(ts[0] * FACTOR)))
    return f


def by_op(change, around):
    """The same as a gate, whose rule gives one cotangent without a tuple."""

    def forward(x):
        return x * FACTOR

    return ad.op(forward, lambda g: change(g * FACTOR))


MAKERS = {"custom_vjp": by_custom_vjp, "custom_jvp": by_custom_jvp, "op": by_op}


def loss_of(f):
    return lambda x: np.sum(np.real(f(x)))


def by_tensors(f, x):
    t = ad.tensor(x, requires_grad=True)
    loss_of(f)(t).backward()
    return np.zeros_like(x) if t.grad is None else t.grad.numpy()


def compiled_later(f, x):
    g = ad.compile(ad.grad(loss_of(f)), wait=True)
    found = [g(x) for _ in range(3)]
    assert all(np.array_equal(y, found[0]) for y in found)
    return found[-1]


MODES = {
    "grad": lambda f, x: ad.grad(loss_of(f))(x),
    "tensors": by_tensors,
    "samples": lambda f, x: ad.vmap(ad.grad(loss_of(f)))(np.stack([x, x]))[1],
    "checkpoint": lambda f, x: ad.grad(ad.checkpoint(loss_of(f)))(x),
    "in a tree": lambda f, x: ad.grad(lambda xs: loss_of(f)(xs["x"]))({"x": x})["x"],
    "of two": lambda f, x: ad.grad(lambda x, y: loss_of(f)(x * y))(x, np.ones_like(x)),
    "compiled": compiled_later,
}


def expected(maker, what, wanted, x, right, changed):
    """What a changed rule has to give: an array, or None for an error."""
    if wanted == CONVERTED or (wanted == REFUSED and fits(changed, right)):
        return right
    if wanted == ZERO:
        return np.zeros_like(x)
    if wanted == REAL:
        return np.real(right).astype(x.dtype)
    if maker == "op" and ((what == "complex" and x.dtype.kind == "f") or "imaginary" in what):
        return right  # of a gate's cotangents the real part is taken
    if maker == "op" and what == "a list":  # of cotangents
        return right
    if what == "complex" and x.dtype.kind == "c":  # another right one; forward rules are transposed
        return np.conj(changed) if maker == "custom_jvp" else changed
    return None


def fits(changed, right):
    """Whether a change was none, for this shape."""
    if (
        not isinstance(changed, np.ndarray | np.generic)
        or changed.shape != right.shape
        or changed.dtype.kind not in "fc"
    ):
        return False
    return bool(np.array_equal(changed, right)) and (changed.dtype.kind == right.dtype.kind)


def drawn(rng):
    """What one trial is: the maker, what is wrong, the mode, shape and dtype."""
    maker = rng.choices(list(MAKERS), [6, 3, 3])[0]
    changes = [*CHANGES, *(AROUND if maker == "custom_vjp" else ())]
    mode = rng.choices(list(MODES), [4, 4, 4, 2, 2, 2, 1])[0]
    return maker, rng.choice(changes), mode, rng.choice(SHAPES), rng.choice(DTYPES)


def wrong(maker, what, mode, shape, dtype):
    """What is wrong with the answer to one trial; None if nothing is."""
    change, around, wanted = (lambda c: c), (lambda c: (c,)), REFUSED
    if what in CHANGES:
        change, wanted = CHANGES[what]
    else:
        around = AROUND[what][0]
    x = np.full(shape, 0.5, dtype)
    right = np.full(shape, FACTOR).astype(dtype)
    try:
        changed = change(right)
    except Exception:  # not of this shape
        return None
    wants = expected(maker, what, wanted, x, right, changed if what in CHANGES else None)
    if maker == "custom_jvp" and (wanted == REAL and x.dtype.kind == "c"):  # no linear map of complex numbers
        return None
    try:
        found = MODES[mode](MAKERS[maker](change, around), x)
    except (ad.AdjointError, TypeError, ValueError, IndexError) as error:
        if wants is not None:
            return f"refused: {type(error).__name__}: {error}"
        return None if isinstance(error, ad.AdjointError) else f"not by name: {type(error).__name__}: {error}"
    if wants is None:
        return f"answered: {np.asarray(found).tolist()}"
    found = np.asarray(found)
    if found.shape != x.shape or found.dtype != x.dtype:
        return f"a gradient of shape {found.shape} and {found.dtype}"
    close = 2e-3 if dtype is np.float16 or "half" in what else 1e-6 if "single" in what else 4 * np.finfo(dtype).eps
    return None if np.allclose(found, wants, rtol=close, atol=0) else f"{found.tolist()}, not {wants.tolist()}"


def run(trials, seed=0):
    """The trials that are answered wrongly."""
    rng, found = random.Random(seed), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(trials):
            trial = drawn(rng)
            if said := wrong(*trial):
                found.append((trial, said))
    return found


if __name__ == "__main__":
    trials = int(sys.argv[1])
    found = run(trials, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for (trial, _), often in Counter(((t[:3], s.split(":")[0]), s.partition(":")[0]) for t, s in found).most_common(40):
        print(often, *trial)
    for trial, said in found[:10]:
        print(trial, said[:200])
    print(f"wrong rules: {trials:,} trials, {len(found)} answered wrongly")
    sys.exit(bool(found))
