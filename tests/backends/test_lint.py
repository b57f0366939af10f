"""Rules make nothing on the host that meets arrays from elsewhere, and look at no values: read from their source."""

import ast
from pathlib import Path

import pytest

import adjoint as ad

OPS = Path(ad.__file__).parent / "ops"
FILES = sorted(OPS.rglob("*.py"))
MADE = {"eye", "identity", "tri", "arange", "linspace", "zeros", "ones", "full", "empty"}
LOOKS = {"any", "all", "count_nonzero", "array_equal", "allclose"}
#: The functions that may: what they make is of shapes or places alone, and they look at what lies here. A new one goes
#: through `beside`, `maybe_any` and their like (`core/backend.py`), or belongs here for one of these reasons.
MAY = {
    "activation.py": "_by_places total",
    "calculus.py": "interp",
    "cholesky.py": "_on_diagonal _lower_half",
    "columns.py": "_places _turned_places few_columns",  # of NumPy's arrays alone
    "complex.py": "_filling _joined modf nan_to_num",
    "convolution.py": "vander _leading",
    "copying.py": "axes_of_each",
    "creation.py": "linspace logspace geomspace insert delete piecewise",
    "cumulative.py": "_shares _cumulative",
    "determinants.py": "_sign_of det_keeping_factors _slogdet_keeping",
    "einsum.py": "_on_diagonals",
    "few_steps.py": "lstm_rows rnn_rows",  # of NumPy's arrays alone
    "fused.py": "_few_numbers",  # which goes to where labels are
    "gaps.py": "_on_diagonal",
    "histograms.py": "_ends _histogram",
    "in_place.py": "fill_diagonal accumulate_at",
    "lapack.py": "well_posed each_matrix where_triangle",
    "least_squares.py": "lstsq _drops",
    "lu.py": "lu_of lu_cotangent lu_tangent _triangles",
    "matrices.py": "positive complex_positive hermitian_part as_hermitian",
    "minors.py": "_balanced _products_of_others _sum_of_minors minors",  # of NumPy's arrays alone
    "moments.py": "_number_of",
    "nan_reductions.py": "_gaps",
    "padding.py": "_mirrored _mirrored_odd",
    "polynomials.py": "roots polydiv _extent",
    "pooling.py": "_laid_out _numbers _picked _put_apart _put_few first_inside",
    "nan_quantiles.py": "_numbers_first",
    "quantiles.py": "position_of",
    "reading.py": "with_rows",
    "lstm.py": "_lstm_swept lstm_steps",
    "recurrence.py": "gru_steps rnn_steps",
    "repeating.py": "_unrepeat resize",
    "pytorch.py": "stride",
    "pytorch_shapes.py": "_window",
    "reshaping.py": "_reshape_each rollaxis squeeze <module>",
    "restrided.py": "_offsets",
    "selection.py": "_places _on_diagonal diag",
    "sets.py": "setxor1d",
    "statistics.py": "average",
    "sums.py": "_logaddexp_reduced _started shared _like",
    "triangular.py": "triangular_solve",
    "writing.py": "numbered written written_once _numbered_like last_writer",
}


def calls(tree, names):
    """The calls of NumPy's functions `names`, each with the nodes around it, the outermost first."""

    def visit(node, around):
        function = getattr(node, "func", None)
        if isinstance(function, ast.Attribute) and function.attr in names and ast.unparse(function.value) == "np":
            yield node, around
        for child in ast.iter_child_nodes(node):
            yield from visit(child, [*around, node])

    yield from visit(tree, [])


def is_moved(around):
    """Whether what is made goes to where the operand is, or into a sample of the tests."""
    names = [ast.unparse(n.func) for n in around if isinstance(n, ast.Call)]
    samples = any(isinstance(n, ast.keyword) and n.arg in ("samples", "errors") for n in around)
    return samples or not {"beside", "as_beside"}.isdisjoint(names)


def decides(node, around):
    """Whether a branch is taken by what `node` gives."""
    branches = [n for n in around if isinstance(n, ast.If | ast.IfExp | ast.While)]
    return any(node is part for n in branches for part in ast.walk(n.test))


def offenders(text):
    """The functions in which something is made on the host, or looked at."""
    tree = ast.parse(text)
    places = [around for _, around in calls(tree, MADE) if not is_moved(around)]
    places += [around for node, around in calls(tree, LOOKS) if decides(node, around)]
    return {next((n.name for n in reversed(p) if isinstance(n, ast.FunctionDef)), "<module>") for p in places}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_rules_make_and_ask_nothing_here(file):
    assert offenders(file.read_text(encoding="utf-8")) == set(MAY.get(file.name, "").split())


def test_an_offender_is_found():
    assert offenders("def f(x):\n    return x + np.eye(3)") == {"f"}
    assert offenders("def f(x):\n    return x + beside(x, np.eye(3))") == set()
    assert offenders("def f(x):\n    if np.any(x):\n        return x") == {"f"}
    assert offenders("def f(x):\n    return np.any(x)") == set()


@pytest.mark.parametrize("file", sorted((OPS / "special").glob("*.py")), ids=lambda file: file.name)
def test_rules_for_numbers_choose_numbers(file):
    """Of numbers, `numpy.where` gives an array, which may meet arrays from elsewhere; `where` of `forms` a number."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    plain = {around[-1] for _, around in calls(tree, {"where"})}
    inside = {n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name == "where" for n in ast.walk(f)}
    assert not plain - inside
