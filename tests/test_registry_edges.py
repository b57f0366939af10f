"""The registry's walk along the edges: special values, ties, empty arrays, numbers without axes, wrong calls.

What happens is NumPy's own: the same value, or an error where NumPy raises one. Exceptions stand in one table, each
with its reason.
"""

import itertools
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.protocol import detached
from adjoint.testing import walk
from adjoint.testing.cases import carried_out, cases, gradients
from adjoint.testing.coordinates import to_arrays, to_vector
from adjoint.testing.differences import along
from tests.walk.edges import level_values, other_shapes, outcome, planted_values, rotations, wrong_calls


def every(names, reason):
    return {name: reason for name in names.split()}  # noqa: C420 - fromkeys would not split


REORDERED = "it adds in another order, which makes nan of one infinity and an infinity of another"
INNER = "its public function has looked at the shapes"
RANK = "LAPACK takes inverses, which a matrix of lower rank has not: refused"
LOGM = "SciPy's logarithm warns again of the same singular matrix"
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
LENIENT = "we take a number for an array of one element, where NumPy fails in passing"
ENDLESS = "LAPACK may not return from infinities: always refused"
CARELESS = "NumPy reads what happens to lie in memory"

ONE_SIDED = "a convention of one side: docs/conventions.md"
JUMPS = "the value jumps there, which no gradient sees"
KEPT = "which elements are kept, and how many, changes there"
MANY = "several values are one there: one of many subgradients, whose sum is right"
STEEP = "no limit near by: the matrix, or an argument, is singular there"

# Where a law of this file does not hold, and why: {law: {entry: {part of the variant's name: reason}}}.
EXCEPT = {
    "value": {
        **every("einsum lstsq matrix_power poly polyfit det slogdet vecdot", {"inf": REORDERED, "nan": REORDERED}),
        "banded_solve": {"": RANK},
        "frechet_of_logarithm": {"": LOGM},
        "gradient": {
            "argument 1 zero": "as tied",
            "argument 1 tied": "points that coincide: a division by zero of another form",
        },
        "hyp1f1": {"inf": "SciPy's function does not return"},
        "interp": {
            "argument 1": "its points do not rise any more, for which NumPy promises nothing",
            "inf": REORDERED,
            "nan": REORDERED,
        },
        "matrix_logarithm": {"": LOGM},
        "svd": {"inf": ENDLESS},
        **every("lu_solved unitary_factor_and_svd", {"": RANK}),
        "riccati": {"": "loops on the border of stability have no derivative"},
        "cov": {"zero": "weights of nothing"},
        "eigvalsh": {"inf": "LAPACK's other driver ends with nan"},
    },
    "shape": {
        **every(
            "affine banded_solve convolution convolution_by_spectra convolve_full det_keeping_factors "
            "discrete_lyapunov from_half_spectrum lyapunov matrix_exponential matrix_root overlap_add packed_lu "
            "place_at rational_filter scatter_add slogdet_keeping_factors solve_assuming "
            "solve_keeping_factors sylvester tall_qr thin_svd triangular_solve",
            {"": INNER},
        ),
        **every("average polyfit prod roots sum tensorinv poly", {"without": LENIENT}),
        "einsum": {"without": CARELESS},
        "choose": {"0, 1 without axes": "choices are broadcast against the index first"},
        **every("cov corrcoef", {"": "no degree of freedom is left: refused, with what to do"}),
        "cumulative_prod": {"without": "the first of no elements is no element"},
        "cumulative_sum": {"without": "as cumulative_prod"},
        "gradient": {"1 without axes": "a spacing of one number is taken for all steps alike"},
        "histogram": {"without": "edges of no bins are refused"},
        "histogramdd": {"without rows": "as histogram, with weights of another count"},
        "max": {"without axes": LENIENT},
        "min": {"without axes": LENIENT},
        "median": {"without columns": "NumPy's own reshape fails"},
        "nanquantile": {"without": "NumPy forgets the axis of `q`"},
        "pad": {"without axes": "a number has no side to pad"},
        "piecewise": {"without axes": "conditions of a number are refused"},
        "polydiv": {"without": LENIENT},
        "put": {"without": "nothing to put changes nothing; a number has one place"},
        "apply_along_axis": {"without": "no row, and so no call that would tell the shape: refused"},
        "irfft": {"without": CARELESS},
        "svd": {"without": "columns that are not determined are refused"},
        "qr": {"without": "columns that are not determined are refused"},
        "put_into_axis": {"0, 1 without axes": LENIENT, **({"1 without": LENIENT} if NUMPY < (2, 4) else {})},
    },
    "finite": {
        "between": {"argument 1 with inf": "its public function refuses low > high", "argument 2 with -inf": "as inf"},
        "hyp1f1": {"inf": "SciPy's function does not return"},
        "lu_solved": {"": RANK},
        "svd": {"inf": ENDLESS},
        "tklmbda": {"argument 1 with inf": "SciPy's value at an infinite shape is not the limit that its slope has"},
    },
    "kinks": {
        "eigh": {"zero": "eigenvectors of equal values have no derivative; those of a triangle near by have"},
        **every("elu gate leaky_relu prelu relu relu6", {"zero": ONE_SIDED}),
        **every("copysign divmod fmod heaviside remainder", {"": JUMPS}),
        **every("interp histogram histogram2d histogram_bin_edges histogramdd polydiv", {"": JUMPS}),
        **every("setdiff1d setxor1d intersect1d trim_zeros union1d polymul", {"": KEPT}),
        **every("unique unique_all unique_counts unique_inverse unique_values", {"": KEPT}),
        **every("eigvals eigvalsh matrix_norm singular_values svdvals symmetric_eigenvalues", {"": MANY}),
        "norm": {"tied": MANY},
        **every("det_keeping_factors matrix_root packed_lu polyfit qr riccati tall_qr elliprj", {"": STEEP}),
        **every("frechet_of_logarithm matrix_logarithm unitary_factor_and_svd", {"": STEEP}),
        **every("between clamp clamp_between", {"zero": ONE_SIDED, "all tied": ONE_SIDED}),
        "exponential_unit": {"zero": ONE_SIDED},
        **every("pseudo_huber probability_cross_entropy", {"all zero": "0 / 0 near by"}),
    },
    "wrong": {
        "ediff1d": {"objects": "as text", "text": "texts and numbers are put together, as np.concatenate does"},
        "select": {"text": "as ediff1d"},
        "setdiff1d": {"objects": "objects that have no order are compared as NumPy's np.isin does"},
    },
}
# Ties that are broken by position, not shared: as if the elements grew with it (0), or fell (1).
IN_ORDER = {**every("partition partition_along running_max sort sort_along sort_complex", 0), "running_min": 1}

NUMPYS = [f for f in vars(np).values() if isinstance(f, np.ufunc)]
LINEAR = [e for e in walk() if isinstance(e, Op) and e.kind == "linear"]
every_entry = pytest.mark.parametrize("entry", list(walk()), ids=lambda e: e.name)


def allowed(law, entry, variants):
    """The variants for which `law` holds."""
    parts = EXCEPT[law].get(entry.name, ())
    return ((name, *rest) for name, *rest in variants if not any(part in name for part in parts))


def plain_outcome(case, arrays):
    """What NumPy does; or, for an operation that is no function of NumPy's, what ours does with arrays."""
    call = case.with_arrays(arrays)
    if not case.entry.answers:
        return outcome(lambda: case.f(*arrays))
    return outcome(lambda: carried_out(case.entry, case.entry.answers[0], *call))


def tensor_outcome(case, arrays):
    return outcome(lambda: case.f(*(ad.Tensor(a, requires_grad=True) for a in arrays)))


def refused_alike(ours, theirs):
    return ours.refused or type(ours.error) is type(theirs.error)


def assert_same_outcome(case, where, ours, theirs):
    """The same arrays: bit by bit where the operation is NumPy's own function."""
    own = isinstance(case.entry, Op) and case.entry.forward in case.entry.answers
    if theirs.error is not None:
        assert refused_alike(ours, theirs), f"{where}: NumPy raises {theirs.error!r}; we {ours.error or ours.value!r}"
        return
    assert ours.error is None, f"{where}: NumPy gives {theirs.value}; we raise {ours.error!r}"
    assert ours.warned <= theirs.warned, f"{where}: we warn"
    assert len(ours.value) == len(theirs.value), where
    for a, b in zip(ours.value, theirs.value, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), where
        if own or a.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b, err_msg=where)
        else:
            scale = np.max(np.abs(b), where=np.isfinite(b), initial=1.0)
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * scale, err_msg=where)


def gradient_at(case, arrays, warned=frozenset()):
    """The gradient at `arrays`. It gives no warning that the call itself does not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        for category in warned:
            warnings.simplefilter("ignore", category)
        return gradients(case, arrays)


def assert_edges(case, variants):
    for name, arrays in variants:
        where = f"{case.entry.name}{tuple(map(np.shape, case.arrays))}, {name}"
        theirs = plain_outcome(case, arrays)
        ours = tensor_outcome(case, arrays)
        assert_same_outcome(case, where, ours, theirs)
        if ours.error is None:
            again = gradient_at(case, arrays, ours.warned)
            for a, g, g2 in zip(arrays, gradient_at(case, arrays, ours.warned), again, strict=True):
                assert (g.shape, g.dtype) == (np.shape(a), a.dtype), where
                np.testing.assert_array_equal(g, g2, err_msg=where)


@every_entry
def test_special_values(entry):
    """NumPy's value, and a gradient that neither fails nor varies."""
    for case in cases(entry):
        assert_edges(case, allowed("value", entry, planted_values(case)))
        assert_edges(case, allowed("value", entry, level_values(case)))


@every_entry
def test_arrays_without_elements_and_without_axes(entry):
    for case in cases(entry):
        assert_edges(case, allowed("shape", entry, other_shapes(case)))


@every_entry
def test_kinks_and_ties(entry):
    """Where all elements are equal, or 0: the limit of gradients near by, or the mean of them if there are several."""
    for case in cases(entry)[:2]:
        for name, arrays in allowed("kinks", entry, level_values(case)):
            plain = plain_outcome(case, arrays)
            if plain.error or not all(np.all(np.isfinite(out)) for out in plain.value):
                continue
            here = to_vector(gradient_at(case, arrays, plain.warned))
            steps = rotations(arrays, 1e-7)
            near = np.array([to_vector(gradient_at(case, a, (Warning,))) for a in itertools.islice(steps, 2)])
            if np.allclose(near, here, rtol=1e-4, atol=1e-4):  # it is smooth there
                continue
            near = np.array([*near, *(to_vector(gradient_at(case, a, (Warning,))) for a in steps)])
            settled = np.all(np.abs(near) < 1e4, axis=0)  # not nan either
            near = near[:, settled]
            expected = near[IN_ORDER[entry.name]] if entry.name in IN_ORDER else np.mean(near, axis=0)
            assert here[settled] == pytest.approx(expected, rel=1e-4, abs=1e-4), f"{entry.name}, {name}"


def coordinates(value):
    """The real and imaginary parts of a value's arrays, one after the other."""
    return [
        part
        for out in flatten(value)[0]
        if np.result_type(detached(out)).kind in "fc"
        for part in ((np.real(out), np.imag(out)) if np.result_type(detached(out)).kind == "c" else (out,))
    ]


@every_entry
def test_a_finite_gradient_is_that_of_the_values(entry):
    """One element nan, infinite or 0: the gradient's finite numbers, along one direction, against differences.

    Linear operations give nothing but finite numbers.
    """
    for case in cases(entry)[:2]:
        for name, arrays in allowed("finite", entry, planted_values(case)):
            where = f"{entry.name}{tuple(map(np.shape, arrays))}, {name}"
            plain = plain_outcome(case, arrays)
            if plain.error:
                continue
            usable = [np.isfinite(part) for part in coordinates(plain.value)]

            def total(*given, case=case, usable=usable):
                """The weighted sum of those results that are finite at `arrays`."""
                parts = coordinates(case.f(*given))
                weights = [np.cos(np.reshape(np.arange(float(np.size(u))), np.shape(u)) + 1.0) for u in usable]
                return sum(np.sum(np.where(u, p, 0.0) * w) for p, u, w in zip(parts, usable, weights, strict=True))

            def value(vector, arrays=arrays, total=total):
                return np.array([total(*to_arrays(vector, arrays))])

            with np.errstate(all="ignore"), warnings.catch_warnings():
                for category in plain.warned:
                    warnings.simplefilter("ignore", category)
                gradient = to_vector(list(ad.grad(total, tuple(range(len(arrays))))(*arrays)))
            assert entry not in LINEAR or np.all(np.isfinite(gradient)), where
            x = to_vector(arrays)
            direction = np.where(
                np.isfinite(x) & (x != 0) & np.isfinite(gradient), np.sin(1.0 + np.arange(len(x))), 0.0
            )
            numeric = outcome(lambda v=value, x=x, d=direction: along(v, x, d))
            if numeric.error is None and np.isfinite(numeric.value[1][0]):  # it is smooth there
                expected, error = numeric.value[0][0], numeric.value[1][0]
                ours = np.sum(gradient[direction != 0] * direction[direction != 0])
                size = 1 + np.sum(np.abs(gradient[direction != 0]))
                assert abs(ours - expected) < 1e-5 * size + 10 * error, f"{where}: {ours}, differences say {expected}"


@every_entry
def test_wrong_calls_are_refused_as_numpy_refuses_them(entry):
    refused = 0
    for case in cases(entry)[:2]:
        for name, (args, kwargs) in allowed("wrong", entry, wrong_calls(case)):
            where = f"{entry.name}, {name}"
            function = entry.answers[0] if entry.answers else entry
            theirs = outcome(lambda f=function, a=args, k=kwargs: carried_out(entry, f, a, k))
            boxed, rebuild = flatten((args, kwargs))
            boxed = [ad.tensor(x) if any(x is a for a in case.arrays) else x for x in boxed]
            args, kwargs = rebuild(boxed)
            ours = outcome(lambda a=args, k=kwargs: carried_out(entry, entry, a, k))
            if theirs.error is not None:
                assert refused_alike(ours, theirs), (
                    f"{where}: NumPy raises {theirs.error!r}; we {ours.error or ours.value!r}"
                )
            elif ours.error is not None:
                assert ours.refused, f"{where}: {ours.error!r}"  # our own reasons are good ones, too
            if name == "no_such_argument":
                assert ours.refused, where
                assert name in str(ours.error), f"{where}: {ours.error}"
            refused += ours.refused
    assert refused


OF_SCIPY = [
    e for e in walk() if isinstance(e, Op) and e.kind == "elementwise" and e.answers and e.forward not in NUMPYS
]
OUTSIDE = np.array([-40.3, -3.3, -0.4, 0.3, 1.7, 7.5, 40.3])


@pytest.mark.parametrize("entry", OF_SCIPY, ids=lambda e: e.name)
def test_there_is_no_slope_where_there_is_no_value(entry):
    """Where a function of SciPy's is nan at finite arguments, so is its gradient: formulas go on outside."""
    case = next(case for case in cases(entry) if case.arrays)
    for i in range(len(case.arrays)):
        point = [np.full(OUTSIDE.shape, np.reshape(a, -1)[0]) for a in case.arrays]
        point[i] = OUTSIDE
        theirs = outcome(lambda point=point: case.f(*point))
        if theirs.error is None and all(out.shape == OUTSIDE.shape for out in theirs.value):
            nowhere = np.all([np.isnan(out) for out in theirs.value], axis=0)
            found = gradient_at(case, point, (Warning,))
            assert not np.any(np.isfinite(found[i][nowhere]) & (found[i][nowhere] != 0)), f"argument {i}: {found[i]}"
