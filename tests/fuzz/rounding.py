"""Whether rounding decides what a program gives: then modes that round otherwise are not wrong."""

import re
from contextlib import suppress

import numpy as np

from .programs import GIVEN

STEP = re.compile(r"^(\s+)(v\d+) = .*$", re.M)
TRIES = 8


def decides(program, point, laid_out):
    """Whether NumPy's own values are others where each step is off by a unit in the last place, or
    each argument by a little more.

    A value may jump (a sign, the order of what is sorted), or have another shape: `np.unique` counts.
    """
    wanted = program.function(*point)
    for seed in range(TRIES):
        rng = np.random.default_rng(seed)
        near = [laid_out((x * (1 + 1e-9 * rng.uniform(-1, 1, x.shape))).astype(x.dtype), x) for x in point]
        for f, given in ((blurred(program.text, point, rng), point), (program.function, near)):
            found = None
            with suppress(Exception):  # of a shape that another step does not take
                found = f(*given)
            if found is None or any(map(differ, found, wanted)):
                return True
    return False


def moves(gradient, point, laid_out):
    """Whether the gradient is another one where each argument is off by hardly anything."""
    with suppress(Exception):  # of a program that has none
        wanted = gradient(*point)
        for seed in range(TRIES):
            rng = np.random.default_rng(seed)
            off = (1e-15, 1e-12, 1e-9)[seed % 3]
            near = [laid_out((x * (1 + off * rng.uniform(-1, 1, x.shape))).astype(x.dtype), x) for x in point]
            if any(map(differ, gradient(*near), wanted)):
                return True
    return False


def blurred(text, point, rng):
    """The program with each of its values multiplied by what is nearly 1."""

    def near_1(like):
        epsilon = np.finfo(like.dtype).eps
        factor = 1 + epsilon * rng.integers(-1, 2, like.shape)
        return factor + 1j * epsilon * rng.integers(-1, 2, like.shape) if like.dtype.kind == "c" else factor

    def blur(x):
        if getattr(x, "dtype", np.dtype(bool)).kind not in "fc" or any(np.may_share_memory(x, a) for a in point):
            return x
        if isinstance(x, np.generic):
            return (x * near_1(x)).astype(x.dtype)
        if x.flags.writeable:
            x[...] = x * near_1(x)  # where it lies: views of it show it too
        return x

    space = GIVEN | {"blur": blur, "__name__": __name__}
    exec(STEP.sub(r"\g<0>\n\1\2 = blur(\2)", text), space)
    return space["f"]


def differ(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or x.dtype != y.dtype:
        return True
    close = np.sqrt(np.finfo(y.dtype).eps)
    scale = max(1.0, float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))))
    return not np.allclose(x, y, rtol=0.0, atol=close * scale, equal_nan=True)
