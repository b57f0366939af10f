"""Warnings name the line of the user's program, in every mode."""

import threading
import traceback
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.messages import warned

ZERO = np.array([0.0, 1.0])
HUGE = np.full(3, 1e308)


def tensor(values=ZERO):
    return ad.tensor(values, requires_grad=True)


def overwritten():
    t = tensor() * 1.0
    t /= 0.0


CASES = {
    "function": lambda: np.log(tensor()),
    "method": lambda: tensor().log(),
    "operator": lambda: 1.0 / tensor(),
    "power": lambda: tensor() ** -1.0,
    "number": lambda: np.log(ad.tensor(0.0, requires_grad=True)),
    "in place": overwritten,
    "constant": lambda: np.log(ad.tensor(ZERO)),
    "no_grad": lambda: ad.no_grad(lambda: np.log(tensor()))(),
    "own function": lambda: np.sum(tensor(HUGE)),
    "dtype": lambda: tensor(HUGE).astype("float32"),
    "backward": lambda: np.sum(np.sqrt(tensor())).backward(),
    "gradient": lambda: ad.grad(lambda x: np.sqrt(x))(0.0),
    "second": lambda: ad.hessian(lambda x: np.sum(x**1.5))(ZERO),
    "forward": lambda: ad.jvp(lambda x: x / x, (ZERO,), (ZERO,)),
    "forward rule": lambda: ad.jvp(np.sqrt, (ZERO,), (ZERO,)),
    "samples": lambda: ad.vmap(np.log)(ZERO),
    "samples of two": lambda: ad.vmap(lambda x, y: x / y)(ZERO, ZERO * 0.0),
    "both": lambda: ad.vmap(ad.grad(lambda x: np.sqrt(x)))(ZERO),
}


@pytest.mark.parametrize("name", CASES)
def test_warnings_name_the_users_line(name):
    with pytest.warns(RuntimeWarning, match="divide by zero|overflow|invalid value") as found:
        CASES[name]()
    assert {warning.filename for warning in found} == {__file__}


def test_what_a_warning_says_and_its_line_are_numpys():
    def lines(x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            np.log(x)
            1.0 / (x - 1.0)
            np.sqrt(x - 0.5)  # fmt: skip
        return [(str(w.message), w.category, w.filename, w.lineno) for w in found]

    assert lines(tensor()) == lines(ZERO)


def test_a_line_warns_once_as_in_numpy():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            np.log(tensor())
    assert len(found) == 1


def test_filters_by_module_and_errors_hold():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__)
        np.log(tensor())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log") as caught:
            np.log(tensor())
    assert "During handling" not in "".join(traceback.format_exception(caught.value))


def test_values_are_those_without_warnings():
    def slopes():
        t = tensor()
        np.sum(np.log(t) + t / t + t**-0.5).backward()
        return t.grad.numpy()

    with np.errstate(all="ignore"):
        silent = slopes()
    with pytest.warns(RuntimeWarning):
        np.testing.assert_array_equal(slopes(), silent)


def emitted(run, action="always"):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        run()
    return found


def several(x, n):
    y = x / x
    s = np.log(y * 0.0)
    for _ in range(n):
        s = np.sum(
            1.0 / s
        ) + x  # fmt: skip
    return np.sum(s - s) + np.exp(y * 1e3)


MODES = {
    "value": lambda n: lambda x: several(x, n),
    "tangent": lambda n: lambda x: ad.jvp(lambda x: several(x, n), (x,), (x,)),
    "samples": lambda n: ad.vmap(lambda x: several(x, n)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 40])  # a loop of its own
def test_steps_of_compiled_functions_warn_at_the_lines_of_the_plain_one(mode, n):
    f = MODES[mode](n)

    def lines(g):
        found = emitted(lambda: g(np.array([0.0, 1.0, 2.0])))
        return {(w.filename, w.lineno) for w in found}, [str(w.message) for w in found]

    step = ad.compile(f, wait=True, backend="numpy")
    places, messages = lines(f)
    assert len(places) > 2
    step(np.ones(3))  # recorded where nothing warns
    for _ in range(3):
        found, said = lines(step)
        assert found == places
        assert said == messages or mode != "value"
    with np.errstate(all="ignore"):
        expected = f(np.array([0.0, 1.0, 2.0]))
    with pytest.warns(RuntimeWarning):
        np.testing.assert_array_equal(step(np.array([0.0, 1.0, 2.0])), expected)


def test_a_compiled_gradient_warns_where_it_is_asked_for():
    step = ad.compile(ad.grad(lambda x: np.sum(np.sqrt(x))), wait=True, backend="numpy")
    step(np.ones(2))

    def run():
        step(ZERO)
        warnings.warn("here", UserWarning, stacklevel=1)

    for _ in range(3):
        *found, here = emitted(run)
        assert [(w.filename, w.lineno) for w in found] == [(__file__, here.lineno - 1)]


def test_a_compiled_step_warns_once_a_line():
    step = ad.compile(lambda x: np.log(x), wait=True, backend="numpy")
    step(np.ones(2))
    assert len(emitted(lambda: [step(ZERO) for _ in range(5)], "default")) == 1


def test_captured_programs_and_expressions_warn_at_the_users_line():
    graph = ad.capture(lambda x: np.log(x) + np.sum(1.0 / x), ZERO + 1.0)
    e = ad.expr("log(x) + 1/x")
    for run in (lambda: graph(ZERO), lambda: e(x=ZERO), lambda: e.gradient(x=ZERO), lambda: e(x=np.zeros(20_000))):
        for _ in range(3):
            assert {w.filename for w in emitted(run)} == {__file__}


def test_what_the_user_has_numpy_do_is_done():
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.log(tensor())
    said = []
    with np.errstate(divide="call", call=lambda kind, _: said.append(kind)):
        np.log(tensor())
    assert said == ["divide by zero"]
    with np.errstate(over="call", call=lambda *_: said.append("over")), pytest.warns(RuntimeWarning, match="divide"):
        np.log(tensor())  # the user takes some of NumPy's messages
    assert said == ["divide by zero"]


def test_warnings_of_another_kind_in_a_rule_are_given():
    """A rule that casts complex numbers: the warning is no error, though adjoint's own code refuses warnings."""
    names = {"np": np, "__name__": "adjoint.rule", "__warningregistry__": warned.REFUSES}
    exec("def f(x): return x.astype(float)\n", names)
    scope = {"f": names["f"], "__name__": "adjoint.rule"}
    exec(warned.guarded("def g(x, y):\n    return f(x)\n", "g", scope), scope)
    for _ in range(2):
        with pytest.warns(np.exceptions.ComplexWarning):
            assert scope["g"](np.array([1.0 + 1.0j]), 0) == 1.0


def test_errors_of_types_stay_errors():
    with pytest.raises(TypeError, match="bitwise_and"):
        np.bitwise_and(ad.tensor(ZERO), 1.5)


def test_threads_warn_at_their_own_lines():
    found = []

    def run():
        for _ in range(50):
            np.log(tensor())

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *args: found.append(args[2])  # catch_warnings puts it back
        threads = [threading.Thread(target=run) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert found == [__file__] * 200
