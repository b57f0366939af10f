"""Random chains of elementwise operations, reductions and writes on arrays of 14 dtypes, natively beside NumPy.

``python -m tests.fuzz.chains 2000 7`` runs so many, from seed 7 on. Values are those that loops get wrong: both zeros,
infinities, nan, the ends of each dtype. Arrays lie in larger ones, which are compared too: nothing else may be written.

``python -m tests.fuzz.chains 200 7 large``: of arrays that several threads share, on one and on three of them. Sums
need to have the same bits on both, no more: NumPy takes them in another order.
"""

import random
import re
import sys
import warnings

import numpy as np

import adjoint as ad

from .programs import made

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
SHAPES = ((37,), (33,), (64,), (1,), (), (5, 19), (3, 1, 8))
LARGE = ((131_073,), (262_144,), (2, 70_001), (70_001, 2), (3, 65_536), (512, 257), (8, 131, 129), (1, 150_000))
LAYOUTS = ("plain", "turned", "gaps", "backwards")
NUMBERS = (
    "2 -3 0.5 True 1e300 1e-5 np.float32(2.5) np.int8(5) np.uint8(200) np.float16(3) 1j 2**40 -0.0 np.inf np.nan 7 0 1"
)
EXACT = (
    "negative abs sign square floor ceil rint trunc conj real imag isnan signbit isfinite invert logical_not round sqrt"
)
EXACT_OF_TWO = (
    "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin less less_equal equal "
    "not_equal logical_and logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift "
    "copysign heaviside nextafter gcd"
)
CHOSEN = "max min argmax argmin any all sort diff count_nonzero nanmax"
# The last digits of these may differ: nothing is made of their results, which could be anything then.
ROUNDED = "exp log1p tanh sinh cbrt arctan exp2 log2 angle"
ROUNDED_OF_TWO = "power arctan2 hypot logaddexp"
ROUNDED_SUMS = "sum mean prod var std cumsum cumprod nansum median"
# What does not fit is refused by NumPy: floating-point numbers beyond the whole ones become anything.
WRITES = (
    "np.copyto({t}, {x})",
    "{t}[..., 1:] = {t}[..., :-1]",
    "{t}[..., ::2] += {n}",
    "{t}[..., 0] = {n}",
    "np.add({t}, {x}, out={t})",
    "np.negative({t}, out={t}, where={t} > 0)",
    "np.copyto({t}, {x}, where={x} > 0)",
)
# NumPy chooses between zeros of different sign by where they lie in a vector.
EITHER_ZERO = re.compile(r"f?m(ax|in)|sort|diff")


def text_of(rnd):
    """A function of three arrays that gives back all that it computes."""
    names, results, lines = ["a", "b", "c"], [], []
    for k in range(rnd.randint(1, 5)):
        x, y, z = (rnd.choice(names) for _ in range(3))
        n, draw, exact = rnd.choice(NUMBERS.split()), rnd.random(), rnd.random() < 0.75
        if draw < 0.25:
            value = f"np.{rnd.choice((EXACT if exact else ROUNDED).split())}({x})"
        elif draw < 0.65:
            function = rnd.choice((EXACT_OF_TWO if exact else ROUNDED_OF_TWO).split())
            value = f"np.{function}({x}, {rnd.choice([y, y, n])})"
        elif draw < 0.75:
            value, exact = f"np.where({x}, {y}, {rnd.choice([z, n])})", True
        elif draw < 0.85:
            value, exact = f"{x}.astype('{rnd.choice(('f4', 'f8', 'c8', 'c16', '?'))}')", True
        else:
            value = (
                f"np.{rnd.choice((CHOSEN if exact else ROUNDED_SUMS).split())}({x}, axis={rnd.choice((-1, 0, None))})"
            )
        if rnd.random() < 0.3:
            lines.append("    " + rnd.choice(WRITES).format(t=rnd.choice(names), x=y, n=n))
        lines.append(f"    v{k} = {value}")
        results.append(f"v{k}")
        names += [f"v{k}"] if exact else []
    return "def f(a, b, c):\n" + "\n".join(lines) + f"\n    return {', '.join(results)},\n"


def numbers(dtype, rng, n):
    """`n` numbers of `dtype`, many of them special."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = [info.min, info.max, 0, 1, 2, 7, info.max - 1, info.min + 1]
        small = rng.integers(max(info.min, -20), 20, n).astype(dtype)
        return np.where(rng.random(n) < 0.3, rng.choice(np.array(ends, dtype), n), small).astype(dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, 65504.0, -7.0, 2049.0])
    parts = [
        np.where(rng.random(n) < 0.35, rng.choice(special, n), rng.normal(size=n) * np.exp(2 * rng.normal(size=n)))
        for _ in range(1 + (dtype.kind == "c"))
    ]
    return (parts[0] + 1j * parts[1] if len(parts) > 1 else parts[0]).astype(dtype)


def laid(dtype, shape, layout, rng):
    """An array of `shape`, and the larger one that it lies in."""
    n = int(np.prod(shape))
    memory = numbers(dtype, rng, 4 * n + 64)
    if layout == "turned":
        return memory[3 : 3 + n].reshape(shape[::-1]).T, memory
    if layout == "gaps" and shape:
        return memory[5 : 5 + 2 * n].reshape(*shape[:-1], -1)[..., ::2], memory
    array = memory[3 : 3 + n].reshape(shape)
    return (array[..., ::-1] if layout == "backwards" and shape else array), memory


def differ(x, y, signs, sums=False):
    """How two arrays differ, if they do; of `sums`, which overflow by the order in which they are taken, if finite."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype}{x.shape}, not {y.dtype}{y.shape}"
    if y.dtype.kind not in "fc":
        return "" if np.array_equal(x, y) else f"{x[x != y][:3]}, not {y[x != y][:3]}"
    eps, tiny = np.finfo(y.dtype).eps, np.finfo(y.dtype).tiny
    whole = np.isclose(x, y, rtol=16 * eps, atol=tiny)
    for p, q in ((np.real(x), np.real(y)), (np.imag(x), np.imag(y))):
        right = whole | np.isclose(p, q, rtol=16 * eps, atol=tiny, equal_nan=True)
        right |= sums & ~(np.isfinite(x) & np.isfinite(y))
        if signs and y.dtype.kind == "f":
            right &= (np.signbit(p) == np.signbit(q)) | (p != 0) | (q != 0)
        if not np.all(right):
            return f"{p[~right][:3]}, not {q[~right][:3]}"
    return ""


def on_threads(fast, given, call):
    """What `fast` gives on three threads, and its memory; the number of a result that has other bits on one thread."""
    results = []
    for threads in (1, 3):
        ad.set_threads(threads)
        arrays, memory = given(call)
        results.append([np.array(x) for x in fast(*arrays)])
    ad.set_threads(None)
    same = [x.tobytes() == y.tobytes() or np.array_equal(x, y, equal_nan=True) for x, y in zip(*results, strict=True)]
    return results[1], memory, None if all(same) else same.index(False)


def wrong(seed, shapes=SHAPES):
    """What is wrong with the program of `seed`: "" if nothing, None if it is no program of NumPy's."""
    rnd = random.Random(seed)
    text, shape, large = text_of(rnd), rnd.choice(shapes), shapes is LARGE
    kinds = [(rnd.choice(DTYPES), rnd.choice(LAYOUTS)) for _ in range(3)]

    def given(k):
        rng = np.random.default_rng((seed, k))
        pairs = [laid(dtype, shape, layout, rng) for dtype, layout in kinds]
        return [array for array, _ in pairs], [memory for _, memory in pairs]

    f = made(text)
    fast = ad.compile(f, wait=True)
    for call in (0, 1, 2, 1):
        arrays, memory = given(call)
        try:
            wanted = [np.array(x) for x in f(*arrays)]
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
        if large and call:
            found, memory_too, other = on_threads(fast, given, call)
            if other is not None:
                return f"### seed {seed}, v{other} at call {call}: other bits on one thread\n{kinds} {shape}\n{text}"
        else:
            again, memory_too = given(call)
            found = fast(*again)
        signs = not EITHER_ZERO.search(text)
        for what, x, y in (
            *((f"v{i}", x, y) for i, (x, y) in enumerate(zip(found, wanted, strict=True))),
            *(("memory", x, y) for x, y in zip(memory_too, memory, strict=True)),
        ):
            sums = re.search(rf"{what} = np\.({ROUNDED_SUMS.replace(' ', '|')})\(", text) is not None
            if said := not (sums and large) and differ(x, y, signs, sums):
                return f"### seed {seed}, {what} at call {call}: {said}\n{kinds} {shape}\n{text}"
    return ""


def run(programs, seed, shapes=SHAPES):
    """How many programs ran, and what is wrong with those that are."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = [wrong(k, shapes) for k in range(seed, seed + programs)]
    return sum(text is not None for text in said), [text for text in said if text]


if __name__ == "__main__":
    shapes = LARGE if sys.argv[3:] == ["large"] else SHAPES
    ran, entries = run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, shapes)
    print("\n".join(entries), f"{ran} programs, {len(entries)} wrong", sep="\n")
    sys.exit(bool(entries))
