"""SciPy's special functions at edges of their domains: more of the walk.

Where a function and its slope, by differences, are finite, the derivative is that slope: at poles that cancel, at 0 and
infinity, for whole and half parameters. By reverse mode and by forward mode, and the second derivative too.
"""

import functools
import itertools
import warnings

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.testing import walk

PLAIN = [0.0, -0.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 5.0, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3, 0.7]
EDGES = [*PLAIN, 1e-100, -1e-12, 1e-8, 0.996]
INFINITE = [np.inf, -np.inf]
MOST = 700  # points for one argument of a function


def whole(x, *, most):
    return (x <= most) & (x == np.floor(x))


def no_shape(*names):
    """A shape of 0: the distribution is a point, and has no density."""
    return lambda given: functools.reduce(np.logical_or, (given[name] == 0 for name in names))


def at_ends(*names):
    """Nothing, all, or almost so, of what is a probability."""
    return lambda given: functools.reduce(np.logical_or, (~((given[n] > 1e-6) & (given[n] < 0.99)) for n in names))


# Points at which a function is left out, and why.
EXCEPT = {
    # What SciPy gives for a pole, or where an integral diverges, is no function's value.
    "besselpoly": lambda given: given["lmb"] + given["nu"] <= -0.5,
    "hyp2f1": lambda given: whole(given["c"], most=0),
    "hyp1f1": lambda given: (given["b"] < 0) & (given["a"] < 0) & ~whole(given["a"], most=0),
    "hyperu": lambda given: (
        ~np.isfinite(special.hyperu(given["a"] + 1, given["b"] + 1, given["x"])) & (given["a"] != 0)
    ),
    "lpmv": lambda given: (np.abs(given["x"]) > 1) | ((np.abs(given["x"]) == 1) & (given["m"] != 0)),
    "nrdtrisd": lambda given: given["p"] == 0.5,  # infinite, but for rounding
    # SciPy's values near by have too few digits for differences, or the rule's do.
    "itairy": lambda given: np.abs(given["x"]) > 0.7,
    # Parameters for which a distribution has no density.
    "voigt_profile": lambda given: (given["sigma"] < 0) | (given["gamma"] < 0),
    **dict.fromkeys(["betainc", "betaincc", "betaincinv", "betainccinv"], no_shape("a", "b")),
    "chndtr": no_shape("df"),
    "chndtrix": lambda given: given["p"] == 0,
    **dict.fromkeys(["gammaincinv", "gammainccinv"], no_shape("shape")),
    **dict.fromkeys(["gdtria", "gdtrix"], no_shape("b")),
    "fdtri": lambda given: given["n"] == 1e-8,  # a quantile of 1e299, whose differences overflow
    # What SciPy's search gives where a probability is certain, or an argument at its end, solves nothing.
    **dict.fromkeys(["bdtrik", "bdtrin", "nbdtrik", "nbdtrin"], at_ends("y", "p")),
    **dict.fromkeys(["btdtrib", "chdtriv", "gdtrib"], at_ends("y")),
    "btdtria": lambda given: at_ends("y")(given) | (given["b"] == 1e-100),
    "stdtridf": lambda given: at_ends("y")(given) | (np.abs(given["t"]) < 1e-6),
    "fdtridfd": lambda given: (
        at_ends("y")(given)
        | (given["m"] == 1e-100)
        | (np.abs(special.fdtridfd(given["m"], given["y"], given["x"])) > 1e9)
    ),
}
# Functions whose second derivatives are not what differences say at some edges.
BENT_ELSEWHERE = {
    "huber": "a kink",
    "hyperu": "SciPy has no value of the function that it is",
    "eval_jacobi": "a polynomial of negative degree",
    "lpmv": "the rule at 1 and -1 is of the first derivative",
    **dict.fromkeys(
        ["gammaincinv", "gammainccinv", "betaincinv", "betainccinv", "chdtri", "fdtri", "gdtria", "gdtrix", "chndtrix"],
        "one over a density that is infinite or 0 there",
    ),
    **dict.fromkeys(["inv_boxcox", "inv_boxcox1p"], "the end of the domain"),
}
# SciPy's functions that do not return, or ask for all memory, at infinity; or damage memory far out.
NOT_FAR = ("hyp1f1", "exprel", "pbdv", "pbvv", "pbwa", "chndtr", "hyperu", "lpmv", "yn", "nctdtr", "obl_", "pro_")


def ufunc_of(entry):
    """The universal function of SciPy's for float64 that the operation is; None if it is none."""
    for f in entry.answers if isinstance(entry, Op) else ():
        if isinstance(f, np.ufunc) and vars(special).get(f.__name__) is f:
            return f if any(kind.startswith("d" * f.nin + "->") for kind in f.types) else None
    return None


SPECIAL = [e for e in walk() if ufunc_of(e) is not None and not e.name.startswith(("obl_", "pro_", "mathieu_"))]


def points(entry, own):
    """Rows of arguments: edges for the argument number `own`, plain numbers for the others."""
    far = not entry.name.startswith(NOT_FAR)
    axes = [EDGES + INFINITE * far if k == own else PLAIN for k in range(len(entry.inputs))]
    if entry.inputs[0] == "df":  # Student's t is normal for infinitely many degrees of freedom
        axes[0] = [*axes[0], *[np.inf] * 5]
    if np.prod([len(axis) for axis in axes]) <= MOST:
        rows = np.array(list(itertools.product(*axes)))
    else:
        rng = np.random.default_rng(own)
        rows = np.stack([rng.choice(axis, MOST) for axis in axes], axis=1)
    given = dict(zip(entry.inputs, rows.T, strict=True))
    return list(rows[~EXCEPT.get(entry.name, lambda given: np.zeros(len(rows), bool))(given)].T)


def differences(f, x):
    """The slope of the elementwise `f` where differences of several steps agree, on both sides; nan elsewhere."""
    unit = np.maximum(1.0, np.abs(x))
    here, found, before = f(x), np.full(x.shape, np.nan), None
    for h in (8e-3, 2e-3, 5e-4, 1.25e-4):
        at = {k: f(x + k * h * unit) for k in range(-4, 5)}
        both = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        right, left = (
            s * (-25 * here + 48 * at[s] - 36 * at[2 * s] + 16 * at[3 * s] - 3 * at[4 * s]) / (12 * h) for s in (1, -1)
        )
        value = np.where(np.isfinite(both), both, np.where(np.isfinite(right), right, left))
        close = 1e-5 * np.maximum(np.abs(value), 1e-3 * np.maximum(1, np.abs(here)))
        smooth = np.abs(right - left) <= 100 * close + 1e-4 * np.abs(value)
        if before is not None:
            good = (smooth | ~np.isfinite(both)) & (np.abs(value - before) <= close)
            found = np.where(good & np.isfinite(value) & np.isfinite(here) & np.isnan(found), value, found)
        before = value
    return found / unit


def check(found, f, args, own, what, digits=1e-4):
    wanted = differences(f, args[own])
    wrong = np.isfinite(wanted) & ~(np.abs(found - wanted) <= digits * np.maximum(np.abs(wanted), 1e-2))
    rows = [[x[k] for x in args] + [found[k], wanted[k]] for k in np.flatnonzero(wrong)]
    assert not rows, f"{what} at {len(rows)} of {np.isfinite(wanted).sum()} points, with slopes: {np.array(rows[:5])}"


def is_near(x):
    """Where second derivatives are looked at: not at infinity, nor so near to a pole that rules lose their digits."""
    return np.isfinite(x) & ((x == 0) | (np.abs(x) > 1e-6))


@pytest.mark.parametrize("entry", SPECIAL, ids=lambda e: e.name)
def test_slopes_at_edges(entry):
    with np.errstate(all="ignore"), special.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for own, rule in enumerate(entry.rules):
            args = points(entry, own)
            for number in range(ufunc_of(entry).nout):

                def f(x, args=args, own=own, number=number):
                    given = args if len(x) == len(args[own]) else [x[is_near(args[own])] for x in args]
                    return np.real(flatten(entry(*given[:own], x, *given[own + 1 :]))[0][number])

                def slope(x, f=f):
                    return ad.vjp(f, x)[1](np.ones(np.shape(x)))[0]

                try:
                    found = slope(args[own])
                except ad.NotDifferentiableError:
                    continue
                assert rule.function is not None
                check(found, f, args, own, "reverse mode")
                tangents = ad.jvp(f, (args[own],), (np.ones_like(args[own]),))[1]
                np.testing.assert_allclose(tangents, found, rtol=1e-9, atol=1e-9)
                if entry.name in BENT_ELSEWHERE:
                    continue
                try:
                    bent = ad.vjp(slope, args[own])[1](np.ones_like(args[own]))[0]
                except ad.AdjointError:
                    continue
                near = is_near(args[own])
                check(bent[near], slope, [x[near] for x in args], own, "second derivative", 1e-2)
