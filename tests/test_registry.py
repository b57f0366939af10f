"""One walk over everything in the registry: a new operation is tested by being there.

Values are compared with NumPy's own function, gradients with differences, and both in every form that an array
can come in.
"""

import inspect
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.box import Box
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.registry import ANSWERS, ENTRIES, operation
from adjoint.testing import check_grads, drawer, samples, walk
from adjoint.testing.cases import carried_out, case_of, cases, gradients, outputs, weighted

DIFFERENTIABLE = list(walk())
REFUSING = [ENTRIES[name] for name in sorted(ENTRIES) if ENTRIES[name].errors is not None]
ELEMENTWISE = [e for e in DIFFERENTIABLE if isinstance(e, Op) and e.kind == "elementwise"]
LINEAR = [e for e in DIFFERENTIABLE if isinstance(e, Op) and e.kind == "linear"]
UFUNCS = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc))


ENDLESS_IN_FLOAT32 = {"obl_ang1", "obl_rad1", "pro_ang1", "pro_rad1"}
LAYOUTS = {
    "fortran": lambda a: np.array(a, order="F"),
    "strided": lambda a: np.stack([a, a + 1.0], axis=-1)[..., 0],
    "reversed": lambda a: np.flip(np.array(np.flip(a), order="C")),
    "read_only": lambda a: np.broadcast_to(a, np.shape(a)),
}


every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


def assert_same(ours, theirs, **tolerance):
    ours, theirs = outputs(ours), outputs(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, **({"rtol": 1e-12, "atol": 1e-12} | tolerance))


@every_entry
def test_has_samples(entry):
    assert samples(entry), f"{entry.name} has a derivative and no samples=, so nothing tests it"
    varying = [case_of(entry, sample).arrays for sample in samples(entry)]
    assert any(varying), f"no sample of {entry.name} has an array to differentiate by"


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # from NumPy 2.5 on
@every_entry
def test_value_is_numpys(entry):
    for case in cases(entry):
        plain = case.f(*case.arrays)
        assert_same(case.f(*(ad.tensor(a) for a in case.arrays)), plain)
        for function in entry.answers:
            assert_same(plain, carried_out(entry, function, case.args, case.kwargs))


@every_entry
def test_reached_through_numpy(entry):
    """The NumPy function called on tensors gives a tensor with our values."""
    dispatching = [f for f in entry.answers if isinstance(f, np.ufunc) or not f.__module__.startswith("scipy")]
    for case in cases(entry):
        for function in dispatching:
            leaves, rebuild = flatten((case.args, case.kwargs))
            args, kwargs = rebuild([ad.tensor(x) if any(x is a for a in case.arrays) else x for x in leaves])
            result = carried_out(entry, function, args, kwargs)
            assert_same(result, case.f(*case.arrays))
            assert not case.arrays or any(isinstance(x, Box) for x in flatten(result)[0])


@every_entry
def test_gradients(entry):
    for case in cases(entry):
        if case.arrays:
            check_grads(case.f, case.arrays)


@every_entry
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")  # in single precision it is
def test_float32_stays(entry):
    if entry.name in ENDLESS_IN_FLOAT32:
        pytest.skip(f"scipy.special.{entry.name} itself does not return in single precision")
    if entry.name == "polydiv":
        pytest.skip("which of the remainder's leading coefficients are 0 depends on the precision")
    for case in cases(entry):
        small = [np.asarray(a, np.complex64 if a.dtype.kind == "c" else np.float32) for a in case.arrays]
        exact = gradients(case, [a.astype(b.dtype) for a, b in zip(small, case.arrays, strict=True)])
        for a, g, g64 in zip(small, gradients(case, small), exact, strict=True):
            assert g.dtype == a.dtype
            scale = max(1.0, np.max(np.abs(g64), initial=0))
            np.testing.assert_allclose(g, g64, rtol=1e-3, atol=1e-3 * scale)


@every_entry
def test_memory_layout_makes_no_difference(entry):
    for case in cases(entry):
        value, expected = case.f(*case.arrays), gradients(case, case.arrays)
        for layout in LAYOUTS.values():
            laid = [layout(a) for a in case.arrays]
            assert_same(case.f(*(ad.Tensor(a) for a in laid)), value)
            assert_same(gradients(case, laid), expected, rtol=1e-9)


@every_entry
def test_tensors_and_transforms_agree(entry):
    for case in cases(entry):
        tensors = [ad.tensor(a, requires_grad=True) for a in case.arrays]
        if tensors and isinstance(weighted(case, tensors), Box):
            transform = ad.grad(lambda *arrays: weighted(case, arrays), tuple(range(len(case.arrays))))
            assert_same(list(transform(*case.arrays)), gradients(case, case.arrays))


@every_entry
def test_arguments_are_left_alone(entry):
    for case in cases(entry):
        before = [a.copy() for a in case.arrays]
        gradients(case, case.arrays)
        for a, b in zip(case.arrays, before, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("entry", LINEAR, ids=lambda e: e.name)
def test_linear_operations_have_their_transposes(entry):
    rng = np.random.default_rng(0)
    for case in cases(entry):
        directions = [rng.standard_normal(a.shape) for a in case.arrays]
        image, pullback = ad.vjp(case.f, *directions)
        w = rng.standard_normal(np.shape(image))
        through = sum(np.sum(np.real(c * np.conj(v))) for c, v in zip(pullback(w), directions, strict=True))
        np.testing.assert_allclose(np.sum(np.real(w * np.conj(image))), through, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(case.f(*(2.5 * v for v in directions)), 2.5 * image, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("entry", ELEMENTWISE, ids=lambda e: e.name)
def test_elementwise_operations_take_empty_arrays(entry):
    leaves, rebuild = flatten(tuple(samples(entry)[0]))
    empty = [np.asarray(x)[..., :0] if np.ndim(x) else x for x in leaves]
    boxed = [ad.tensor(x, requires_grad=True) if np.size(x) == 0 and x.dtype.kind in "fc" else x for x in empty]
    args, kwargs = rebuild(boxed)
    out = entry(*args, **kwargs)
    assert out.size == 0
    if isinstance(out, Box) and out.requires_grad:
        np.sum(np.abs(out)).backward()
        assert any(x.grad is not None and x.grad.shape == x.shape for x in boxed if isinstance(x, Box))


@pytest.mark.parametrize("entry", ELEMENTWISE, ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns of invalid values: they are what is tested
def test_elementwise_operations_take_any_number(entry):
    """No value makes the gradient fail, and elements do not disturb each other."""
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.7, 1.0])
    if entry.name == "hyp1f1":
        pytest.skip("scipy.special.hyp1f1 itself does not return at infinity")
    case = next(case for case in cases(entry) if case.arrays)
    shape = case.arrays[0].shape
    others = [x for x in flatten((case.args, case.kwargs))[0] if not any(x is a for a in case.arrays)]
    if any(a.shape != shape for a in case.arrays) or any(map(np.ndim, others)):
        pytest.skip("its sample mixes shapes, which special values then do not fit")
    point = [np.full(special.shape, a.flat[0]) for a in case.arrays]
    calm = gradients(case, point)
    for i in range(len(point)):
        disturbed = list(point)
        disturbed[i] = np.where(np.arange(special.size) == 5, point[i], special)
        for g, g_calm in zip(gradients(case, disturbed), calm, strict=True):
            assert g.shape == special.shape
            np.testing.assert_array_equal(g[5], g_calm[5])


@pytest.mark.parametrize("entry", REFUSING, ids=lambda e: e.name)
def test_wrong_calls_are_refused(entry):
    for args, kwargs in entry.errors(drawer()):
        leaves, rebuild = flatten((args, kwargs))
        boxed = [
            ad.tensor(x, requires_grad=True) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in leaves
        ]
        args, kwargs = rebuild(boxed)
        with pytest.raises((ad.AdjointError, ValueError, TypeError, IndexError)) as caught:
            entry(*args, **kwargs)
        assert str(caught.value), f"{entry.name} refuses without a word"
        assert not isinstance(caught.value, RecursionError)


@pytest.mark.parametrize("name", UFUNCS)
def test_every_ufunc_has_its_place(name):
    """Differentiable, constant, or not differentiable with a reason."""
    ufunc = getattr(np, name)
    assert ufunc in ANSWERS, f"np.{name} is not in the registry"
    entry = ANSWERS[ufunc]
    if isinstance(entry, Op) and entry.kind != "constant":
        for rule in entry.rules:
            if isinstance(rule.function, ad.NotDifferentiable):
                assert rule.function.why


def test_names_and_answers_are_consistent():
    for name, entry in ENTRIES.items():
        assert entry.name == name
        assert operation(name) is entry
        for function in entry.answers:
            assert ANSWERS[function] is entry


def test_composites_take_numpys_arguments():
    """A composite has every argument of the NumPy function that it stands for, by the same name."""
    for entry in ENTRIES.values():
        for function in () if isinstance(entry, Op) else entry.answers:
            try:
                theirs = inspect.signature(function).parameters
            except (ValueError, TypeError):  # written in C, without a signature
                continue
            if isinstance(function, np.ufunc):  # whose arguments are taken care of for all ufuncs alike
                continue
            ours = inspect.signature(entry.function).parameters
            if any(p.kind is p.VAR_KEYWORD for p in ours.values()):
                continue
            missing = [n for n, p in theirs.items() if n not in ours and p.kind is not p.VAR_KEYWORD]
            if any(p.kind is p.VAR_POSITIONAL for p in ours.values()):
                missing = [n for n in missing if theirs[n].kind is theirs[n].KEYWORD_ONLY]
            missing = [n for n in missing if n not in ("interpolation", "bias", "ddof")]  # gone since NumPy 2.4
            assert not missing, f"{entry.name} lacks {missing} of {function.__name__}"


BINARY = [e for e in ELEMENTWISE if len(e.inputs) == 2 and isinstance(e.forward, np.ufunc)]


@pytest.mark.parametrize("entry", BINARY, ids=lambda e: e.name)
def test_python_numbers_do_not_widen_float32(entry):
    """``x32 ** 2.0`` and ``2.0 ** x32`` and their cotangents are float32, whatever the other argument's rule says."""
    args = samples(entry)[0].args
    for i in (0, 1):
        if (
            not isinstance(args[i], np.ndarray)
            or args[i].dtype.kind != "f"
            or isinstance(entry.rules[i].function, ad.NotDifferentiable)
        ):
            continue
        other = np.asarray(args[1 - i]).flat[0].item()
        f = (lambda x: entry(x, other)) if i == 0 else (lambda x: entry(other, x))
        x = np.asarray(args[i], np.float32)
        if f(x).dtype == np.float32:
            check_grads(f, (x,), order=1)
            leaf = ad.tensor(x, requires_grad=True)
            np.sum(f(leaf * 1)).backward()
            assert leaf.grad.dtype == np.float32


# Where complex samples made of real ones make no sense.
NOT_COMPLEX = {
    "digamma": "SciPy's zeta function, its derivative, takes real numbers only",
    "polygamma": "as digamma",
    "eigen": "eigenvectors are defined up to a complex factor",
    "symmetric_eigen": "the samples are not Hermitian any more",
    "thin_svd": "singular vectors are defined up to a complex factor",
    "unitary_factor_and_svd": "as thin_svd",
    "least_squares": "as thin_svd",
    "eig": "eigenvectors are defined up to a complex factor",
    "eigh": "the samples are not Hermitian any more",
    "gradient": "a spacing is real",
    "nan_to_num": "a part that is nan is replaced, the other kept",
    "nanmax": "the samples hold nan, whose complex multiples NumPy warns of",
    "nanmin": "as nanmax",
    "svd": "singular vectors are defined up to a complex factor",
}
FIRST_ORDER = {"gamma", "loggamma", "rgamma"}  # their second derivatives are digamma's first


def turned(a):
    """A complex array near a real one; every element turned by another angle."""
    return a * (1 + 0.3j) + 0.1j * np.cos(np.reshape(np.arange(a.size), a.shape)) if a.dtype.kind == "f" else a


@every_entry
def test_complex_arguments(entry):
    """Where NumPy's function takes complex numbers, so do we: the gradient is the direction of steepest ascent."""
    if entry.name in NOT_COMPLEX:
        pytest.skip(NOT_COMPLEX[entry.name])
    function = entry.forward if isinstance(entry, Op) else entry.answers[0] if entry.answers else None
    if isinstance(function, np.ufunc) and not any(set(t.split("->")[0]) == {"D"} for t in function.types):
        pytest.skip("it takes real numbers only")
    for case in cases(entry):
        arrays = [turned(a) for a in case.arrays]
        try:
            case.f(*arrays)
        except (TypeError, ValueError, Warning):  # NumPy does not take them
            continue
        if arrays:
            smooth = entry in ELEMENTWISE and entry.name not in FIRST_ORDER
            try:
                check_grads(case.f, arrays, order=1 + smooth)
            except (ad.DTypeError, ad.NotDifferentiableError) as refusal:
                if "for real numbers only" not in str(refusal) and "no complex derivative" not in str(refusal):
                    raise


def test_the_walk_is_the_same_whatever_was_imported_before():
    names = "from adjoint.testing import walk; print(*(entry.name for entry in walk()))"
    rooms = [m.name for m in pkgutil.walk_packages(ad.__path__, "adjoint.") if "__main__" not in m.name]
    loaded = f"import contextlib, importlib\nfor room in {rooms}:\n with contextlib.suppress(ImportError):\n  "
    programs = [names, f"{loaded}importlib.import_module(room)\n{names}"]
    found = [subprocess.run([sys.executable, "-c", p], capture_output=True, text=True, check=True) for p in programs]
    assert found[0].stdout == found[1].stdout
    assert "weighted_sum" in found[0].stdout
