"""What Python has does what it does in a twin, too: values and derivatives of ordinary programs."""

import contextlib
import subprocess
import sys
import threading
import traceback
import warnings
from collections import Counter

import numpy as np
import pytest

import adjoint as ad
from adjoint.twin import policy
from adjoint.twin.policy import patterns
from tests.foreign import foreign
from tests.twin import habits, identities, language, sequences
from tests.twin.language import PROGRAMS

X = np.array([0.3, 0.7, 1.1])
V = np.array([1.0, -0.5, 0.25])


def gradient_by_differences(f, h=1e-5):
    rows = np.eye(3) * h
    return np.array([(8 * (f(X + e) - f(X - e)) - (f(X + 2 * e) - f(X - 2 * e))) / (12 * h) for e in rows])


@pytest.mark.parametrize("f", [*PROGRAMS, *sequences.PROGRAMS], ids=lambda f: f.__name__)
class TestPrograms:
    def test_value_and_gradient(self, f):
        plain = f(X.copy())
        value, gradient = ad.value_and_grad(f)(X)
        np.testing.assert_allclose(value, plain, rtol=1e-12)
        np.testing.assert_allclose(gradient, gradient_by_differences(f), rtol=1e-7, atol=1e-8)

    def test_forward(self, f):
        value, tangent = ad.jvp(f, (X,), (V,))
        np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
        np.testing.assert_allclose(tangent, ad.grad(f)(X) @ V, rtol=1e-10, atol=1e-12)

    def test_second_order(self, f):
        hessian, h = ad.hessian(f)(X), 1e-5
        columns = [(ad.grad(f)(X + e) - ad.grad(f)(X - e)) / (2 * h) for e in np.eye(3) * h]
        np.testing.assert_allclose(hessian, np.array(columns).T, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(hessian @ V, ad.grad(lambda x: ad.grad(f)(x) @ V)(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("f", [*identities.PROGRAMS, *habits.PROGRAMS], ids=lambda f: f.__name__)
def test_identities(f):
    x, h = 1.3, 1e-2 if f is identities.dt else 1e-6  # dt computes in single precision
    slope = (f(x + h) - f(x - h)) / (2 * h)
    value, gradient = ad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    assert gradient == pytest.approx(slope, rel=1e-5)
    assert ad.jvp(f, (x,), (1.0,))[1] == pytest.approx(gradient, rel=1e-12)


@pytest.mark.parametrize("number", [float, np.float64])
@pytest.mark.parametrize(
    "first", [ad.grad, ad.jacfwd, ad.jacrev, lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1]], ids=lambda f: f.__name__
)
def test_a_number_has_no_aliases_that_are_written(first, number):
    def f(x):
        y = x
        y *= 2
        return x * y

    x = number(0.7)
    assert first(f)(x) == pytest.approx(2.8)
    assert ad.hessian(f)(x) == pytest.approx(4.0)
    assert first(first(f))(x) == pytest.approx(4.0)


def test_what_needs_no_twin_runs_as_it_is(tmp_path):
    (tmp_path / "plain_program.py").write_text(
        "import numpy as np\ndef f(x): return np.sum(np.sin(x) * x) + g(x[0])\n"
        "def g(y): return 2.0 * y\ndef h(x): return np.array([g(x)])\ndef k(x): return h(x)[0]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "from plain_program import *; from adjoint.twin.follow import follow\n"
         "print(*(follow(each, (np.ones(2),)) is each for each in (f, g, h, k, np.linalg.det)))"],
        capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "True", "False", "False", "True"]


def test_the_users_objects_stay_as_they_are():
    def f(x):
        return np.array([x, x]).sum()

    code, names = f.__code__, set(vars(np))
    ad.grad(f)(1.0)
    assert f.__code__ is code
    assert set(vars(np)) == names
    disc = language.Disc(2.0)
    ad.grad(lambda r: language.Disc(r).area() + disc.area())(1.0)
    assert type(disc) is language.Disc


def test_instances_keep_their_class():
    found = []

    def f(r):
        disc = language.Disc(r)
        found.append(type(disc))
        return disc.area()

    ad.grad(f)(1.0)
    assert found == [language.Disc]


def test_tracebacks_show_the_users_lines():
    def f(x):
        y = np.array([x, x])
        raise RuntimeError(y.shape)

    with pytest.raises(RuntimeError) as error:
        ad.grad(f)(1.0)
    last = traceback.extract_tb(error.value.__traceback__)[-1]
    assert (last.filename, last.name, last.line) == (__file__, "f", "raise RuntimeError(y.shape)")


def test_warnings_point_at_the_users_line():
    def f(x):
        warnings.warn(f"{np.array([x]).size}", UserWarning, stacklevel=1)
        return float(x)

    with pytest.warns(UserWarning, match="1") as found:
        ad.grad(f)(1.0)
    assert found[0].filename == __file__


def test_functions_that_are_replaced_are_seen(monkeypatch):
    def f(x):
        return helper(x)  # noqa: F821 - the test sets it

    scope = f.__globals__
    monkeypatch.setitem(scope, "helper", np.sin)
    assert ad.grad(f)(0.5) == np.cos(0.5)

    def other(x):
        return np.array([x, x**2])[1]

    monkeypatch.setitem(scope, "helper", other)
    assert ad.grad(f)(0.5) == 1.0
    monkeypatch.setattr(other, "__code__", (lambda x: float(x) * 3).__code__)
    assert ad.grad(f)(0.5) == 3.0


def test_classes_of_a_later_cell_are_seen():
    """A notebook's cells are files of their own, which grow one module."""
    cells = [
        "import numpy as np, adjoint as ad\ndef f(x, v): return v * x\nprint(ad.grad(f)(1.0, 2.0))\n",
        "class V:\n    def __mul__(self, x): return np.array([x, 3 * x])[1]\nprint(ad.grad(f)(1.0, V()))\n",
    ]
    program = (
        f"import linecache\nfor i, cell in enumerate({cells}):\n"
        "    linecache.cache[f'<{i}>'] = len(cell), None, cell.splitlines(True), f'<{i}>'\n"
        "    exec(compile(cell, f'<{i}>', 'exec'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["2.0", "3.0"]


def test_two_threads_do_not_meet(tmp_path, monkeypatch):
    (tmp_path / "site-packages").mkdir()
    for name in ("first_stranger", "second_stranger"):
        (tmp_path / "site-packages" / f"{name}.py").write_text("import math\ndef f(x): return math.sin(x) ** 2\n")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    import first_stranger
    import second_stranger

    found = {}

    def work(name, mine, other):
        for _ in range(200):
            with ad.through(name):
                found.setdefault((name, "mine"), set()).add(float(ad.grad(lambda x: mine.f(x))(0.5)))
                try:
                    ad.grad(lambda x: other.f(x))(0.5)
                    found.setdefault((name, "other"), set()).add("followed")
                except ad.LeavesGraphError:
                    found.setdefault((name, "other"), set()).add("refused")

    jobs = [("first_stranger", first_stranger, second_stranger), ("second_stranger", second_stranger, first_stranger)]
    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: len(values) for key, values in found.items()} == dict.fromkeys(found, 1)
    assert found["first_stranger", "other"] == {"refused"}
    assert not {"first_stranger", "second_stranger"} & patterns()  # nothing is left of the blocks


class TestThrough:
    @pytest.fixture(autouse=True)
    def _stranger(self, tmp_path, monkeypatch):
        (tmp_path / "site-packages").mkdir()
        (tmp_path / "site-packages" / "stranger.py").write_text(
            "import math\nfrom numpy import zeros\n"
            "def f(x):\n    a = zeros(2)\n    a[0] = math.sin(x)\n    return a.sum()\n"
            "class C:\n    k = staticmethod(math.exp)\n    def __init__(self, x): self.x = float(x)\n"
            "    @property\n    def y(self): return C.k(self.x)\n"
        )
        monkeypatch.syspath_prepend(tmp_path / "site-packages")
        yield
        sys.modules.pop("stranger", None)

    @pytest.fixture
    def everywhere(self, monkeypatch):
        monkeypatch.setattr(policy, "_times", Counter())
        monkeypatch.setattr(policy, "_everywhere", frozenset())

        def found():  # by a thread that begins with nothing
            names = []
            thread = threading.Thread(target=lambda: names.append(set(patterns())))
            thread.start()
            thread.join()
            return names[0]

        return found

    def test_inside_of_a_block(self):
        def f(x):
            import stranger

            return stranger.f(x) + stranger.C(x).y

        with pytest.raises(ad.LeavesGraphError):
            ad.grad(f)(0.5)
        with ad.through("stran*"):
            assert ad.grad(f)(0.5) == pytest.approx(np.cos(0.5) + np.exp(0.5), rel=1e-14)
        with pytest.raises(ad.LeavesGraphError):
            ad.grad(f)(0.5)

    def test_as_a_decorator(self):
        @ad.through("stranger")
        def slope(x):
            import stranger

            return ad.grad(stranger.f)(x)

        assert slope(0.5) == pytest.approx(np.cos(0.5), rel=1e-14)

    def test_the_package_of_the_function_itself(self):
        import stranger

        assert ad.grad(stranger.f)(0.5) == pytest.approx(np.cos(0.5), rel=1e-14)

    def test_a_call_holds_in_every_thread(self, everywhere):
        assert everywhere() == set()
        block = ad.through("stranger")
        assert everywhere() == {"stranger"}
        ad.through("stranger")
        with block:
            assert everywhere() == {"stranger"}  # the other call's
        assert everywhere() == {"stranger"}

    def test_a_block_that_was_called_before_holds_inside_only(self, everywhere):
        block = ad.through("stranger")
        with block, block:
            assert "stranger" in patterns()
            assert everywhere() == set()
        assert "stranger" not in patterns()

    def test_no_other_thread_follows_before_a_block_begins(self, everywhere, monkeypatch):
        seen = []
        begin = ad.through.entering
        monkeypatch.setattr(ad.through, "entering", lambda self: (seen.append(everywhere()), begin(self))[1])
        make = lambda: ad.through("stranger")
        with ad.through("stranger"), ad.through(*["stranger"]) as block, make():
            seen.append(everywhere())
        with contextlib.ExitStack() as stack:
            stack.enter_context(block)
            seen.append(everywhere())
        assert seen == [set()] * 6

    @pytest.mark.parametrize("names", [(), (3,), ("numpy",), ("scipy.linalg",)])
    def test_bad_names(self, names):
        with pytest.raises(ad.ArgumentError, match="takes the names of packages"):
            ad.through(*names)


class TestEagerly:
    def test_a_function(self):
        @ad.differentiable
        def f(x, k=2.0):
            return np.array([x, x * k]).sum() * float(x)

        assert f(2.0) == 12.0
        assert type(f(2.0)) is np.float64
        t = ad.tensor(2.0, requires_grad=True)
        f(t).backward()
        assert t.grad.item() == 12.0

    def test_a_class(self):
        @ad.differentiable
        class Scale:
            def __init__(self, k):
                self.k = np.array([k, 2 * k])

            @property
            def total(self):
                return float(self.k.sum())

            def times(self, x):
                return np.array([x, 1.0]) @ self.k

        t = ad.tensor(2.0, requires_grad=True)
        s = Scale(t)
        (s.total + s.times(3.0)).backward()
        assert t.grad.item() == 3.0 + 5.0
        assert Scale(2.0).total == 6.0

    def test_a_module(self):
        class Net(ad.nn.Module):
            def __init__(self):
                self.w = ad.nn.Parameter(np.array([1.0, 2.0]))

            def forward(self, x):
                out = np.zeros(2)
                for i in range(2):
                    out[i] = float(self.w[i]) * x
                return out

        net = Net()
        net(3.0).sum().backward()
        np.testing.assert_array_equal(net.w.grad, [3.0, 3.0])


def test_without_source_the_plain_function_runs():
    f = foreign("lambda x: np.array([x])[0]")
    assert f(1.0) == 1.0
    with pytest.raises(ad.LeavesGraphError):
        ad.grad(f)(1.0)


def marked(x):
    return np.array([x[0], 2.0])


def test_attributes_of_functions_that_are_asked_for_by_builtins():
    seen = []

    def f(x):
        marked.calls = getattr(marked, "calls", 0) + 1
        setattr(marked, "late", hasattr(marked, "late"))  # noqa: B010 - the call is what is tested
        seen.append((getattr(marked, "calls", None), marked.late, id(marked), callable(marked)))
        return np.sum(marked(x))

    for _ in range(3):
        ad.grad(f)(np.ones(2))
    assert seen == [(1, False, id(marked), True), (2, True, id(marked), True), (3, True, id(marked), True)]
