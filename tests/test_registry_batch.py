"""Batching of everything in the registry: `vmap` against a loop, alone and with both kinds of derivatives."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.batch.rules import rule_of
from adjoint.core.box import raw
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.op import rule_of as rule_of_gradient
from adjoint.core.registry import ENTRIES
from adjoint.testing import walk
from adjoint.testing.cases import cases, outputs, writes
from tests.foreign import foreign
from tests.walk.batch import check_derivatives, check_values, combinations, stacks
from tests.walk.edges import outcome

DIFFERENTIABLE = list(walk())
every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


@every_entry
def test_vmap_is_a_loop(entry):
    for stack in stacks(entry):
        check_values(stack)


@every_entry
def test_vmap_and_derivatives_nest(entry):
    for stack in stacks(entry)[:2]:
        check_derivatives(stack, np.random.default_rng(0))


# What gives as many numbers as its values say, numbers of a kind that they say, or is refused for other values.
BY_VALUES = """eigvals geomspace lstsq matrix_root poly polydiv polymul real_if_close roots trim_zeros"""


@every_entry
def test_vmap_of_no_samples_gives_none_of_their_shape(entry):
    for stack in stacks(entry, 1) if entry.name not in BY_VALUES.split() else ():
        (point,) = stack.points
        none = [np.empty((0, *np.shape(a)), np.asarray(a).dtype) for a in point]
        try:
            found = outputs(ad.vmap(stack.case.f)(*none))
        except ad.BatchedValueError:  # it is called for one sample after another: refused
            continue
        wanted = [(0, *x.shape) for x in outputs(stack.case.f(*point))]
        assert [x.shape for x in found] == wanted


# Public functions look at the shapes before; no observations are refused; what is written has to be a sample's.
INNER = [
    "convolution",
    "corrcoef",
    "histogram",
    "histogramdd",
    "lu_solved",
    "matrix_root",
    "copyto",
    "fill_diagonal",
    "put",
    "putmask",
]


@every_entry
def test_vmap_of_samples_without_elements(entry):
    """Each length in turn is 0, in all arrays that have it."""
    for stack in stacks(entry, 1) if entry.name not in INNER else ():
        f, point = stack.case.f, stack.points[0]
        for length in {n for a in point for n in np.shape(a)}:
            given = [np.zeros([0 if n == length else n for n in np.shape(a)], a.dtype) for a in point]
            given = [x if length in np.shape(a) else a for x, a in zip(given, point, strict=True)]
            wanted = outcome(lambda f=f, given=given: f(*given))
            for batched in combinations(stack) if wanted.error is None else ():
                args = [np.stack([x, x]) if yes else x for x, yes in zip(given, batched, strict=True)]
                found = outcome(lambda: ad.vmap(f, tuple(0 if yes else None for yes in batched))(*args))
                assert found.error is None, (length, batched)
                assert [(x.shape, x.dtype) for x in found.value] == [((2, *x.shape), x.dtype) for x in wanted.value]


def indices(entry):
    """The sample calls of `entry` that have arrays of whole numbers, and these for four samples."""
    for case in cases(entry):
        leaves, rebuild = flatten((case.args, case.kwargs))
        places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.size]

        def f(*chosen, leaves=leaves, rebuild=rebuild, places=places):
            given = list(leaves)
            for k, x in zip(places, chosen, strict=True):
                given[k] = x
            args, kwargs = rebuild(given)
            return entry(*args, **kwargs)

        if places:
            yield f, [np.stack([np.roll(leaves[k], i) for i in range(4)]) for k in places]


INDEXED = [entry for entry in DIFFERENTIABLE if not writes(entry) and any(True for _ in indices(entry))]


@pytest.mark.parametrize("entry", INDEXED, ids=lambda e: e.name)
def test_indices_that_differ_between_samples_are_a_loop(entry):
    for f, stacked in indices(entry):
        try:
            found = flatten(ad.vmap(f)(*stacked))[0]
        except (ad.BatchedValueError, ad.ArgumentError):  # one index for all samples, or several calls: refused
            continue
        each = [flatten(f(*(x[i] for x in stacked)))[0] for i in range(4)]
        for x, column in zip(found, zip(*each, strict=True), strict=True):
            np.testing.assert_allclose(x, np.stack(column), rtol=1e-12)


# SciPy takes one matrix at a time, or the answer is one thing for all samples, or its shape depends on values.
ONE_BY_ONE = {
    "matrix_logarithm", "frechet_of_logarithm", "lyapunov", "discrete_lyapunov", "riccati",
    "det_keeping_factors", "slogdet_keeping_factors", "solve_keeping_factors",  # not used inside vmap
    "one_gru_step", "gru_steps", "one_lstm_step", "lstm_steps", "rnn_steps", "normalized",  # as well
    "argwhere", "nonzero", "flatnonzero", "order_by", "allclose", "array_equal", "array_equiv",
    "ravel_multi_index", "array_repr", "array_str", "array2string",
    "save", "savez", "savez_compressed", "savetxt",
}  # fmt: skip


def test_few_operations_take_one_sample_after_another():
    loops = {
        op.name
        for op in ENTRIES.values()
        if isinstance(op, Op) and rule_of(op).__name__ == "one_by_one" and "once" not in op.flags
        if not (getattr(op.forward, "__module__", None) or "").startswith("test")  # other tests' own operations
    }
    assert loops <= ONE_BY_ONE, loops - ONE_BY_ONE


A, B = np.round(np.random.default_rng(0).standard_normal((2, 4, 3, 5)) * 2, 1)
K = np.random.default_rng(1).integers(0, 15, (4, 3, 5))

# Functions that answer with truth values or positions, of one sample's a, b and k.
CONSTANT = {
    "argmax": lambda a, b, k: (np.argmax(a), np.argmax(a, axis=0), np.argmax(a, 1, keepdims=True)),
    "argsort": lambda a, b, k: (np.argsort(a), np.argsort(a, axis=0), np.argsort(a, axis=None)),
    "argpartition": lambda a, b, k: np.argpartition(a, 2, axis=None)[2:3],
    "argpartition along": lambda a, b, k: np.take_along_axis(a, np.argpartition(a, 1, axis=0), 0)[1],
    "all, any": lambda a, b, k: (np.all(a > -9), np.any(a > b, axis=0), np.count_nonzero(a > b, axis=1)),
    "searchsorted": lambda a, b, k: (np.searchsorted(np.arange(-3.0, 3.0), a), np.searchsorted(np.sort(a[0]), b)),
    "digitize": lambda a, b, k: np.digitize(a, np.arange(-3.0, 3.0)),
    "isin": lambda a, b, k: (np.isin(k, [1, 2, 3]), np.isin(k, k[0])),
    "unravel_index": lambda a, b, k: np.unravel_index(k, (3, 5)),
    "packbits": lambda a, b, k: (np.packbits(k > 7), np.packbits(k > 7, axis=1)),
    "lexsort": lambda a, b, k: np.lexsort(a),
    "close": lambda a, b, k: (np.isclose(a, b), np.allclose(a, a), np.array_equal(a, b)),
    "compared": lambda a, b, k: (a > b[0], (a == b) | (a < 0), ~(a > 0), np.logical_and(a, b), np.isfinite(a)),
    "rank": lambda a, b, k: np.linalg.matrix_rank(a),
    "signs": lambda a, b, k: (np.sign(a), np.signbit(a), np.floor(a), np.frexp(a), k % 4, np.gcd(k, 6), k << 1),
    "shapes": lambda a, b, k: (np.zeros(np.shape(a)), np.ones_like(a), np.full_like(a, np.ndim(a))),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_answers_that_vary_in_steps_are_a_loop(name):
    f = CONSTANT[name]
    for axes in [(0, 0, 0), (0, None, None), (None, None, 0)]:
        args = [x if axis == 0 else x[0] for x, axis in zip((A, B, K), axes, strict=True)]
        found = flatten(ad.vmap(f, axes)(*args))[0]
        points = [[x if axis is None else x[i] for x, axis in zip(args, axes, strict=True)] for i in range(4)]
        each = [flatten(f(*point))[0] for point in points]
        for x, column in zip(found, zip(*each, strict=True), strict=True):
            np.testing.assert_array_equal(x, np.stack(column))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.nonzero(a > 0)[0],
        lambda a: np.unique(np.maximum(a, 0.0)),
        lambda a: a[a > 0],
        lambda a: np.trim_zeros(np.maximum(a[0], 0.0)),
        foreign("lambda a: np.float64(float(a[0, 0]))"),
        lambda a: a if a[0, 0] > 0 else -a,
    ],
)
def test_what_depends_on_values_is_refused(f):
    with pytest.raises(ad.BatchedValueError):
        ad.vmap(f)(np.random.default_rng(0).standard_normal((5, 2, 4)))


# -- The walk can fail ----------------------------------------------------------------------------------


def made(**fields):
    """An operation that is not in the registry, with the sample of a vector."""
    given = {"name": "doubled", "forward": lambda a: 2 * a, "inputs": ("a",), "samples": lambda r: [((r(3),), {})]}
    return Op(**{**given, "rules": (rule_of_gradient(lambda g: 2 * g),), **fields})


WRONG = {
    "other samples": made(batch=lambda a: 2 * a[::-1]),
    "a little off": made(batch=lambda a: 2.000001 * a),
    "another shape": made(batch=lambda a: 2 * a[:, :2]),
    "another dtype": made(batch=lambda a: (2 * a).astype(np.float32)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_batch_rules_are_caught(name):
    (stack,) = stacks(WRONG[name])
    with pytest.raises(ad.GradientMismatchError):
        check_values(stack)


def test_gradient_rules_that_mix_samples_are_caught():
    mixing = made(rules=(rule_of_gradient(lambda g, a: 2 * g + np.sum(raw(a)) - np.sum(a)),))
    (stack,) = stacks(mixing)
    check_values(stack)
    with pytest.raises(ad.GradientMismatchError):
        check_derivatives(stack, np.random.default_rng(0))
