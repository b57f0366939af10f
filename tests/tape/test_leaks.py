"""What leaves a transform and takes part in its result is reported; what is looked at, shown or kept is not."""

import json
import math
import threading
import warnings

import numpy as np
import pytest

import adjoint as ad
from tests.foreign import foreign
from tests.tape import leaking, looking
from tests.tape.leaking import (
    CONVERSIONS,
    KEPT,
    LEAKS,
    LEGITIMATE,
    NOT_REMEMBERED,
    REMEMBERED,
    REMEMBERED_NUMBERS,
    collected,
    compared_only,
    examining,
    failing,
    refused_and_no_part,
    swallowed,
    times_its_value,
    trying,
    with_other_results,
)

TRANSFORMS = {
    "grad": lambda f: ad.grad(f)(2.0),
    "value_and_grad": lambda f: ad.value_and_grad(f)(2.0),
    "vjp": lambda f: ad.vjp(f, 2.0)[1](1.0),
    "jvp": lambda f: ad.jvp(f, (2.0,), (1.0,)),
    "jacrev": lambda f: ad.jacrev(f)(2.0),
    "jacfwd": lambda f: ad.jvp(lambda x: np.stack([f(x)]), (2.0,), (1.0,)),
    "linearize": lambda f: ad.linearize(f, 2.0),
    "hvp": lambda f: ad.hvp(f, 2.0, 1.0),
    "grad of grad": lambda f: ad.grad(ad.grad(f))(2.0),
    "jvp of grad": lambda f: ad.jvp(ad.grad(f), (2.0,), (1.0,)),
    "grad of jvp": lambda f: ad.grad(lambda x: ad.jvp(f, (x,), (1.0,))[1])(2.0),
    "a tree": lambda f: ad.grad(lambda p: f(p["x"]))({"x": 2.0}),
    "in no_grad": lambda f: ad.no_grad(lambda: ad.grad(f)(2.0))(),
}


def theirs(program):
    """A function of ours that calls somebody else's."""
    return lambda *args: program(*args)


def quietly(call):
    """What `call` gives, and the leaks that it reports."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call()
    return value, [w for w in found if issubclass(w.category, ad.LeakWarning)]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", LEAKS)
def test_what_takes_part_in_the_result_is_reported_once(name, transform):
    with np.errstate(all="ignore"):
        _, reports = quietly(lambda: TRANSFORMS[transform](theirs(LEAKS[name])))
    assert len(reports) == 1, [str(w.message) for w in reports]


@pytest.mark.parametrize("name", ["item", "math", "a root finder", "the result"])
def test_the_report_has_file_and_line_and_what_to_do(name):
    _, [report] = quietly(lambda: ad.grad(theirs(LEAKS[name]))(2.0))
    line = LEAKS[name].__code__.co_firstlineno
    assert report.filename == leaking.__file__
    assert report.lineno == line
    assert f"leaking.py:{line}: t.item() took a value out" in str(report.message)
    assert "ad.through(" in str(report.message)
    assert "ad.stop_gradient(t)" in str(report.message)


def test_the_report_names_who_computed_with_it():
    assert "math.sin computed with it" in str(quietly(lambda: ad.grad(theirs(LEAKS["math"]))(2.0))[1][0].message)
    assert "brentq computed with it" in str(quietly(lambda: ad.grad(theirs(LEAKS["a root finder"]))(2.0))[1][0].message)


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_can_be_errors(name):
    with ad.leaks("error"), pytest.raises(ad.LeavesGraphError, match="out of the transform"):
        ad.grad(theirs(LEAKS[name]))(2.0)
    with ad.leaks("ignore"):
        assert quietly(lambda: ad.grad(theirs(LEAKS[name]))(2.0))[1] == []


# -- Refusals that somebody swallows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "grad of grad", "hvp"])
def test_a_refusal_that_was_swallowed_is_reported(name, transform):
    _, reports = quietly(lambda: TRANSFORMS[transform](theirs(swallowed(CONVERSIONS[name], 3.0))))
    assert len(reports) == 1
    assert "was refused, and the error was swallowed" in str(reports[0].message)


def test_a_value_that_was_refused_and_is_no_part_of_the_result_is_reported():
    assert len(quietly(lambda: ad.grad(theirs(refused_and_no_part))(2.0))[1]) == 1


@pytest.mark.parametrize("error", [TypeError, ValueError, AttributeError, RuntimeError])
def test_refusals_are_not_what_code_that_tries_expects(error):
    with pytest.raises(ad.LeavesGraphError):
        ad.grad(theirs(trying(error)))(2.0)
    with pytest.raises(ad.BatchedValueError):
        ad.vmap(theirs(trying(error)))(np.ones(2))


def test_inside_vmap_too():
    _, reports = quietly(lambda: ad.vmap(theirs(swallowed(float, 3.0)))(np.ones(2)))
    assert len(reports) == 1


def test_numpy_does_not_swallow_a_refusal():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    assert np.array_equal([x, x], [x, x])
    assert not np.array_equal([x, x], [x, x + 1])
    for call in (np.isscalar, np.iterable, np.ndim, np.shape, np.size):
        call(x)
    with pytest.raises(ad.LeavesGraphError):
        np.testing.assert_array_equal([x, x], [x, x + 1])


@pytest.mark.parametrize("name", REMEMBERED)
def test_what_was_kept_for_an_equal_plain_array_is_reported(name):
    f, x = REMEMBERED[name], np.array([1.0, 2.0])
    f(x)
    for transform in (lambda: ad.grad(f)(x), lambda: ad.jvp(f, (x,), (x,))[1]):
        found, reports = quietly(transform)
        assert np.all(found == 0)
        assert ["equal" in str(w.message) or "tobytes" in str(w.message) for w in reports] == [True]


@pytest.mark.parametrize("kind", [float, np.float64, np.array])
@pytest.mark.parametrize("f", REMEMBERED_NUMBERS, ids=lambda f: getattr(f, "__name__", type(f).__name__))
def test_what_was_kept_for_an_equal_number_is_reported(f, kind):
    x = kind(2.0)
    f(x)
    for transform in (lambda: ad.grad(f)(x), lambda: ad.jvp(f, (x,), (kind(1.0),))[1]):
        found, reports = quietly(transform)
        assert found == 0
        assert ["found a value that is differentiated equal" in str(w.message) for w in reports] == [True]


@pytest.mark.parametrize("f", NOT_REMEMBERED, ids=lambda f: f.__name__)
def test_a_constant_at_a_known_number_is_not_reported(f):
    assert quietly(lambda: ad.grad(f)(2.0)) == (0.0, [])


def test_what_is_compared_and_then_used_is_not_reported():
    x = np.array([1.0, 2.0])
    assert quietly(lambda: ad.grad(lambda t: np.sum(t) if np.array_equal(t, x) else 0.0)(x))[1] == []
    assert quietly(lambda: ad.grad(lambda t, u: np.sum(u * (t == x).all()), (0, 1))(x, x))[1] == []


# -- Legitimate programs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", LEGITIMATE, ids=lambda f: f.__name__)
def test_no_false_alarm(function, transform, capsys):
    value, reports = quietly(lambda: TRANSFORMS[transform](theirs(function)))
    assert [str(w.message) for w in reports] == []
    assert value is not None


def test_an_argument_that_is_only_compared_may_be_without_influence():
    assert quietly(lambda: ad.grad(theirs(compared_only), (0, 1))(1.0, 2.0))[1] == []


def test_other_results_may_leave():
    (value, aux), reports = quietly(lambda: ad.grad(theirs(with_other_results), has_aux=True)(2.0))
    assert (value, reports) == (4.0, [])
    assert type(aux["value"]) is float
    assert type(aux["array"]) is np.ndarray


# -- What NumPy makes of what left, by code without source ------------------------------------------------------------

TAKEN = [
    *("x * x.numpy()", "np.where(x > 0, x.numpy(), x)", "np.stack([x, x.numpy()])", "np.concatenate([x, x.numpy()])"),
    *("x.numpy() @ x", "np.dot(x.numpy(), x)", "np.einsum('i,i', x.numpy(), x)", "np.clip(x, x.numpy() - 1, None)"),
    *("np.maximum(x.numpy(), x + 1)", "np.interp(x, np.arange(3.0), x.numpy())", "np.power(x, x.numpy()[1])"),
    *("x ** x[1].item()", "np.convolve(x, x.numpy())", "np.polyval(x.numpy(), x)", "x * np.float32(x.numpy()[0])"),
    *("np.average(x, weights=x.numpy())", "np.insert(x, 0, x[0].item())", "np.append(x, x[0].item())"),
    *("np.full_like(x, x[0].item()) * x", "np.linspace(x[0], x[1].item(), 4)", "np.outer(x.numpy(), x)"),
    *("np.array(x.numpy()) * x", "x.numpy().copy() * x", "x.numpy().astype(np.float32) * x", "np.kron(x.numpy(), x)"),
    *("np.cumsum(x.numpy()) * x", "np.fft.fft(x.numpy()).real * x", "np.linalg.norm(x.numpy()) * x"),
    *("np.linalg.solve(np.diag(x.numpy()), x)", "np.meshgrid(x, x.numpy())[1] * x", "x * max(x.tolist())"),
    *("np.trapezoid(x, x.numpy()) + x", "x * x.numpy().sum()", "x * x.numpy()[0].real", "x * x.numpy().T"),
    *("(np.copyto(a := np.ones(3), x.numpy()), x * a)[1]", "(np.put(a := np.ones(3), [0], x[0].item()), x * a)[1]"),
]
ANSWERED = [
    *("x[x.numpy() > 1.5]", "x[np.argsort(x.numpy())]", "x * (x.numpy() > 1)", "np.searchsorted(x.numpy(), 2.5) * x"),
    *("np.isclose(x, x.numpy()) * x", "x * np.allclose(x, x.numpy())", "x * np.argmax(x.numpy())"),
    *("np.sum(x) if x.numpy().max() > 1 else x", "x * (x > x[0].item())", "x * x.numpy().any()"),
    *("x * np.isfinite(x.numpy()).all()", "x * np.sign(2.0) if np.any(x.numpy() < 9) else x", "x[: int(x.numpy()[0])]"),
]
VECTOR = np.array([1.0, 2.0, 3.0])
OF_A_VECTOR = {
    "grad": lambda f: ad.grad(f)(VECTOR),
    "jvp": lambda f: ad.jvp(f, (VECTOR,), (VECTOR,)),
    "hvp": lambda f: ad.hvp(f, VECTOR, VECTOR),
}


@pytest.mark.parametrize("transform", OF_A_VECTOR)
@pytest.mark.parametrize("text", TAKEN)
def test_arrays_that_left_and_take_part_are_reported(text, transform):
    function = theirs(foreign(f"lambda x: np.sum({text})"))
    assert len(quietly(lambda: OF_A_VECTOR[transform](function))[1]) == 1


@pytest.mark.parametrize("transform", OF_A_VECTOR)
@pytest.mark.parametrize("text", ANSWERED)
def test_arrays_that_left_and_answer_a_question_are_not(text, transform):
    function = theirs(foreign(f"lambda x: np.sum({text})"))
    assert quietly(lambda: OF_A_VECTOR[transform](function))[1] == []


def test_an_array_that_left_can_be_written_into_a_tensor():
    function = foreign("lambda x: (z := np.zeros_like(x)).__setitem__(slice(None), x.numpy()) or np.sum(z * x)")
    gradient, reports = quietly(lambda: ad.grad(theirs(function))(VECTOR))
    assert gradient.tolist() == [1.0, 2.0, 3.0]
    assert len(reports) == 1


# -- Against differences -----------------------------------------------------------------------------------------------


class Numbers(np.ndarray):
    """A plain array with the one method of a tensor's that NumPy's lack."""

    def numpy(self):
        return np.asarray(self)


def by_differences(program, x, step=1e-6):
    def slope(i):
        high, low = x.copy(), x.copy()
        high[i] += step
        low[i] -= step
        return (float(program(high.view(Numbers))) - float(program(low.view(Numbers)))) / (2 * step)

    return np.array([slope(i) for i in range(len(x))])


@pytest.mark.parametrize("name", [name for name in vars(looking) if name.startswith(("loses_", "looks_"))])
def test_a_wrong_gradient_is_never_silent_and_a_right_one_never_reported(name):
    program, x = getattr(looking, name), np.array([1.3, 2.1, 1.7])
    gradient, reports = quietly(lambda: ad.grad(theirs(program))(x))
    right = np.allclose(gradient, by_differences(program, x), rtol=1e-3, atol=1e-4)
    assert right == (not reports), [str(w.message) for w in reports]


# -- What leaves is a number like any other ---------------------------------------------------------------------------


def test_outside_transforms_nothing_changes():
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    loss = np.sum(w * w)
    assert type(loss.item()) is float
    assert type(w.numpy()) is np.ndarray
    assert type(w.tolist()[0]) is float
    _, reports = quietly(lambda: np.sum(w * math.sin(loss.item())).backward())
    assert reports == []


def test_what_was_kept_is_plain_once_the_transform_is_over():
    del KEPT[:]
    ad.grad(theirs(collected))(2.0)
    assert type(KEPT[0] * 2) is float
    assert np.mean(KEPT) == 2.0
    assert json.loads(json.dumps(KEPT)) == [2.0] * len(KEPT)
    assert quietly(lambda: ad.grad(lambda x: x * KEPT[0])(1.0)) == (2.0, [])


def test_inside_too_it_is_a_number():
    found = []

    ad.grad(theirs(examining(found)))(2.0)
    assert found == [True] * 7


def test_each_thread_and_block_says_for_itself():
    seen = []
    with ad.leaks("error"):
        thread = threading.Thread(target=lambda: seen.append(quietly(lambda: ad.grad(theirs(times_its_value))(2.0))[1]))
        thread.start()
        thread.join()
        with ad.leaks("ignore"):
            assert ad.grad(theirs(times_its_value))(2.0) == 2.0
        with pytest.raises(ad.LeavesGraphError):
            ad.grad(theirs(times_its_value))(2.0)
    assert len(seen[0]) == 1
    with pytest.raises(ad.ArgumentError, match="'error', 'warn', 'ignore'"):
        ad.leaks("loud")


def test_a_transform_that_fails_leaves_nothing_behind():
    from adjoint.core.leaks import notes as leaks

    before = dict(leaks._RUNNING)  # interrupts of other tests may have left some
    for transform in ("grad", "jvp", "vjp"):
        with pytest.raises(ZeroDivisionError):
            TRANSFORMS[transform](theirs(failing))
    assert before == leaks._RUNNING


def test_a_value_that_was_kept_from_an_earlier_transform_is_reported():
    class Objective:
        x = None

        def __call__(self, x):
            if self.x is None or not np.array_equal(self.x, x):
                self.x, self.value = x.copy(), (x * x).sum()
            return self.value

    f, x = Objective(), np.array([0.7, 0.2])
    np.testing.assert_array_equal(ad.grad(f)(x), 2 * x)
    with pytest.warns(ad.LeakWarning, match="kept from an earlier derivative"):
        ad.grad(f)(x)
