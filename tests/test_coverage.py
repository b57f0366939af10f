"""Every function of NumPy and every ufunc of `scipy.special` has one status, and does what its status promises."""

import contextlib
import io
import sys
import warnings

import numpy as np
import pytest
import scipy
from scipy import special

import adjoint as ad
from adjoint.arrays.like import CONVERSIONS, CREATIONS
from adjoint.core.box import Box
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, answer
from adjoint.testing import samples
from scripts import coverage
from tests.walk.coverage import Status, namespaces, place_of, refusals

FUNCTIONS = {id(f): f for functions in namespaces().values() for f in functions.values()}
NAMES = {id(f): f"{module}.{name}" for module, fs in namespaces().items() for name, f in fs.items()}


def having(status):
    chosen = [f for f in FUNCTIONS.values() if (place := place_of(f)) is not None and place.status is status]
    return pytest.mark.parametrize("function", chosen, ids=[NAMES[id(f)] for f in chosen])


def in_graph(values):
    """A tensor that was computed from a leaf."""
    return ad.tensor(np.asarray(values, float), requires_grad=True) * 1.0


def test_every_function_has_a_status():
    unknown = [NAMES[i] for i, f in FUNCTIONS.items() if place_of(f) is None]
    assert not unknown, f"new, or forgotten: {unknown}"


def test_a_function_that_nobody_knows_has_none():
    """So that the test before this one can fail."""
    assert place_of(lambda x: x) is None
    assert place_of(special.logsumexp) is None or answer(special.logsumexp) is not None


def test_the_walk_sees_what_numpy_has():
    names = namespaces()
    assert {"sin", "einsum", "errstate", "float32"} <= set(names["numpy"])
    assert set(np.linalg.__all__) - {"linalg"} <= set(names["numpy.linalg"])
    assert set(np.fft.__all__) <= set(names["numpy.fft"])
    assert len(names["scipy.special"]) > 200
    for module in ("numpy", "numpy.linalg", "numpy.fft"):
        public = sys.modules[module].__all__
        plain = [n for n in public if n[0] != "_" and callable(getattr(sys.modules[module], n))]
        assert set(plain) - {"test"} <= set(names[module])


def test_rows_without_an_operation_are_about_functions_without_one():
    """A function that NumPy hands to tensors has its status in the registry, beside its operation."""
    dates = ["busday_count", "busday_offset", "is_busday", "datetime_as_string"]
    for f in FUNCTIONS.values():
        dispatched = hasattr(f, "_implementation") or isinstance(f, np.ufunc)
        assert not dispatched or answer(f) is not None or f.__name__ in dates or f in CONVERSIONS | CREATIONS


def test_the_page_is_up_to_date():
    text = coverage.PAGE.read_text(encoding="utf-8")
    if f"for NumPy {np.__version__} and SciPy {scipy.__version__}." not in text:
        pytest.skip("the page is about other versions of NumPy or SciPy")
    assert text == coverage.page(), "run `python scripts/coverage.py`"


# -- Each status keeps its promise ----------------------------------------------------------------------

VALUES, WHOLE = np.array([1.0, 2.0]), np.array([0, 1])
# Arguments that some function or other takes; each call gets them anew, as tensors.
ARGUMENTS = [
    (VALUES,),
    (VALUES, VALUES),
    (VALUES, VALUES, VALUES),
    (VALUES, 1),
    (np.eye(2),),
    (WHOLE,),
    (WHOLE, WHOLE),
    (WHOLE, (2, 2)),
    ([WHOLE, WHOLE], (2, 2)),
    ("ij,ij", np.eye(2), np.eye(2)),
    (np.array([1, 2], np.uint8),),
    (VALUES, np.dtype(float), "safe"),
]


def boxed(arguments):
    """The same with tensors for arrays, in a graph where they can be."""
    leaves, rebuild = flatten(arguments)
    return rebuild([(in_graph(x) if x.dtype == float else ad.tensor(x)) if np.ndim(x) else x for x in leaves])


def attempts(function):
    """The results of those calls that `function` takes."""
    for arguments in ARGUMENTS:
        if isinstance(function, np.ufunc) and len(arguments) != function.nin:
            continue
        with contextlib.suppress(TypeError, ValueError, IndexError, AttributeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = boxed(arguments)
            result = function(*given)
            if not any(result is x for x in given):  # an `out` that is given by its place
                yield result


@having(Status.CONSTANT)
def test_constants_are_plain(function, tmp_path):
    """Plain arrays, numbers, text, or nothing; or a tensor to write into, which requires no gradient."""
    if function in CREATIONS:
        pytest.skip("it makes arrays from sizes: see `test_arrays_like_a_tensor`")
    if function.__name__.startswith("save"):
        function(tmp_path / "file", in_graph(VALUES))
        assert len(list(tmp_path.iterdir())) == 1
        return
    if function is np.isnat:
        pytest.skip("no tensor holds dates")
    results = list(attempts(function))
    assert results, f"none of the calls tried is one of {function.__name__}"
    creates = "creates" in answer(function).flags
    for leaf in (x for result in results for x in flatten(result)[0]):
        assert isinstance(leaf, Box) == creates
        assert not (creates and leaf.requires_grad)
        assert not (isinstance(leaf, np.ndarray) and leaf.dtype == object)


@having(Status.NOT_DIFFERENTIABLE)
def test_functions_without_a_derivative_say_why(function):
    why = place_of(function).note
    with pytest.raises(ad.NotDifferentiableError) as caught:
        function(*(in_graph(2.0) for _ in range(function.nin)))
    assert why in str(caught.value)
    assert ".detach()" in str(caught.value)


@having(Status.NOT_SUPPORTED)
def test_unsupported_functions_name_the_call_to_make(function):
    with pytest.raises(ad.NotSupportedError) as caught:
        function(1, in_graph(0.2))
    assert place_of(function).note in str(caught.value)
    assert ".detach()" in str(caught.value)
    assert function(2, ad.tensor(0.3)) == function(2, 0.3)


@having(Status.IN_PLACE)
def test_what_is_written_in_place_is_written_into_tensors_alone(function):
    for args, kwargs in samples(answer(function)):
        first, *rest = (x.copy() if isinstance(x, np.ndarray) else x for x in args)
        rest = [in_graph(x) if isinstance(x, np.ndarray) and x.dtype == float else x for x in rest]
        if any(isinstance(x, Box) for x in rest):
            with pytest.raises(ad.LeavesGraphError, match=r"detach\(\)"):
                function(first, *rest, **kwargs)
            target = ad.tensor(first)
            assert function(target, *rest, **kwargs) is None
            assert target.requires_grad


@having(Status.NO_TENSOR)
def test_what_takes_no_tensor_takes_none_silently(function):
    """An error; or an answer that holds none of its numbers: a type, a truth value, a text."""
    if function in (np.printoptions, np.load, np.memmap, np.fromregex):
        pytest.skip("its arguments are names")
    if function is np.object_:
        pytest.skip("its result holds the tensors themselves")
    t = in_graph(VALUES)
    for arguments in [(t,), (t[0],), ([t, t],), (t, t)]:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                result = function(*arguments)
            except (ad.AdjointError, TypeError, ValueError, AttributeError, KeyError):
                continue
        kind = getattr(result, "dtype", np.dtype(bool))
        assert not isinstance(result, Box)
        assert isinstance(result, type(np.finfo(float))) or np.dtype(kind).kind in "bUS" or isinstance(result, np.dtype)


@pytest.mark.parametrize(
    "go",
    [
        lambda t: np.asarray(t),
        lambda t: np.array([t, t]),
        lambda t: np.ascontiguousarray(t),
        lambda t: np.full(2, t[0]),
        lambda t: np.arange(t[0]),
        lambda t: np.vectorize(lambda x: x)(t),
        lambda t: list(np.ndenumerate(t)),
        lambda t: np.broadcast(t, t),
        lambda t: np.float64(t[0]),
        lambda t: np.lib.stride_tricks.as_strided(t, (2, 2)),
        lambda t: np.from_dlpack(t),
        lambda t: np.kaiser(4, t[0]),
        lambda t: np.ma.array(t),
        lambda t: np.polynomial.Polynomial(t),
        lambda t: np.random.default_rng(0).normal(t),
    ],
)
def test_leaving_the_graph_is_an_error(go):
    with pytest.raises(ad.LeavesGraphError, match=r"detach\(\)"):
        go(in_graph(VALUES))


def test_leaving_the_graph_is_the_cause_of_an_error_of_numpys():
    with pytest.raises(ValueError, match="sequence") as caught:
        np.fromiter(in_graph(VALUES), float)
    assert isinstance(caught.value.__cause__, ad.LeavesGraphError)


@pytest.mark.parametrize("go", [np.emath.sqrt, np.emath.log])
def test_modules_that_are_left_out_refuse(go):
    with pytest.raises(ad.NotSupportedError, match=r"detach\(\)"):
        go(in_graph(VALUES))


def test_a_users_own_ufunc_is_refused():
    with pytest.raises(ad.NotSupportedError, match=r"detach\(\)"):
        np.frompyfunc(lambda x: x + 1, 1, 1)(in_graph(VALUES))


def refused_inputs():
    for entry in ENTRIES.values():
        if isinstance(entry, Op) and samples(entry) and entry.answers and isinstance(entry.answers[0], np.ufunc):
            reasons = refusals(entry)
            for i, name in enumerate(entry.inputs):
                if name in reasons and isinstance(samples(entry)[0].args[i], float):
                    yield pytest.param(entry, i, reasons[name], id=f"{entry.name}-{name}")


@pytest.mark.parametrize(("entry", "i", "why"), list(refused_inputs()))
def test_arguments_without_a_derivative_say_why(entry, i, why):
    args = list(samples(entry)[0].args)
    args[i] = in_graph(args[i])
    with pytest.raises(ad.NotDifferentiableError) as caught:
        entry.answers[0](*args)
    assert why in str(caught.value)


# -- Without an operation, and differentiable -------------------------------------------------------------


@pytest.mark.parametrize("function", sorted(CONVERSIONS, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_conversions_like_a_tensor_keep_the_graph(function):
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ad.grad(lambda t: np.sum(function(t, like=t) ** 2))(x), 2 * x)
    rows = function([in_graph(x), in_graph(x)], np.float32, like=in_graph(VALUES))
    assert rows.shape == (2, 2)
    assert rows.dtype == np.float32
    assert rows.requires_grad
    plain = function([1, 2], like=in_graph(VALUES))
    assert isinstance(plain, ad.Tensor)
    assert not plain.requires_grad


@pytest.mark.parametrize(
    "make",
    [
        lambda t: np.zeros((2, 3), like=t),
        lambda t: np.ones(3, np.float32, like=t),
        lambda t: np.empty(3, like=t),
        lambda t: np.full((2, 2), 7.0, like=t),
        lambda t: np.full((2, 2), t[0], like=t),
        lambda t: np.eye(3, like=t),
        lambda t: np.identity(2, like=t),
        lambda t: np.tri(3, like=t),
        lambda t: np.arange(1.0, 4.0, like=t),
        lambda t: np.fromfunction(lambda i: i * 1.0, (3,), like=t),
        lambda t: np.fromiter([1.0, 2.0], float, like=t),
        lambda t: np.frombuffer(b"12345678", like=t),
        lambda t: np.fromstring("1 2", sep=" ", like=t),
        lambda t: np.loadtxt(["1 2"], like=t),
        lambda t: np.genfromtxt(["1 2"], like=t),
    ],
)
def test_arrays_like_a_tensor(make):
    made = make(in_graph(VALUES))
    assert isinstance(made, ad.Tensor)
    values = np.array(made.detach())
    made[0] = in_graph(2.0) * 3.0
    values[0] = 6.0
    np.testing.assert_array_equal(made.detach().numpy(), values)
    assert made.requires_grad


def test_a_loop_that_fills_an_array_like_its_argument():
    def squares(x):
        out = np.empty(3, like=x)
        for i in range(3):
            out[i] = x[i] ** 2
        return np.sum(out)

    np.testing.assert_array_equal(ad.grad(squares)(np.arange(3.0)), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(ad.hessian(squares)(np.arange(3.0)), 2 * np.eye(3))


def test_arithmetic_carries_tensors_through_undispatched_functions():
    assert ad.grad(lambda c: np.poly1d(c)(2.0))(np.ones(3)).tolist() == [4.0, 2.0, 1.0]
    assert ad.grad(lambda c: (np.poly1d(c) * np.poly1d(c)).deriv()(1.0))(np.ones(2)).tolist() == [6.0, 2.0]
    assert ad.grad(lambda d: np.sum(np.fft.rfftfreq(4, d) ** 2))(0.5) == pytest.approx(-2 * (0.5**2 + 1) / 0.5)
    assert ad.grad(lambda d: np.sum(np.fft.fftfreq(4, d) ** 2))(0.5) == pytest.approx(-2 * (0.5**2 * 2 + 1) / 0.5)


# -- Boxes wherever they are among the arguments ---------------------------------------------------------


@pytest.mark.parametrize(
    "go",
    [
        lambda t: np.argmax(a=t),
        lambda t: np.isclose(a=t, b=t),
        lambda t: np.lexsort((t, t)),
        lambda t: np.searchsorted(np.arange(3.0), v=t),
        lambda t: np.array_equal(t, [t[0], t[1]]),
        lambda t: np.einsum_path("i,i", t, t)[0],
    ],
)
def test_constants_take_boxes_by_name_and_in_lists(go):
    np.testing.assert_equal(go(in_graph(VALUES)), go(np.array([1.0, 2.0])))
