"""Programs of numbers: every way to call them, every form of results, and what goes to the Python function."""

import gc
import sys
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import NotSupportedError
from adjoint.native.call import scalar_program
from adjoint.native.call.scalar_program import Numbers


def refused(*args, **named):
    return "elsewhere", args, named


def built(f, *examples, otherwise=refused, **options):
    graph = ad.capture(f, *examples)
    return Numbers(graph.inputs, graph.outputs, otherwise, **options)


def weighted(x, y):
    return x * np.sin(y)


def test_numbers_come_in_order_or_by_name_in_any_order():
    run = built(weighted, 2.0, 3.0, form="one").run
    expected = 2.0 * np.sin(3.0)
    for found in (run(2.0, 3.0), run(x=2.0, y=3.0), run(y=3.0, x=2.0), run(2, np.float64(3)), run(x=2, y=3)):
        assert type(found) is float
        assert found == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((2.0,), {}),
        ((2.0, 3.0, 4.0), {}),
        ((2.0,), {"y": 3.0}),
        ((), {"x": 2.0}),
        ((), {"x": 2.0, "z": 3.0}),
        ((), {"x": 2.0, "y": 3.0, "z": 4.0}),
        ((2.0, "3"), {}),
        ((2.0, np.float32(3)), {}),
        ((True, 3.0), {}),
        ((10**400, 3.0), {}),
        ((2.0, None), {}),
        ((), {}),
    ],
)
def test_anything_else_goes_elsewhere_as_it_came(args, named):
    assert built(weighted, 2.0, 3.0).run(*args, **named) == ("elsewhere", args, named)


def test_names_that_are_made_at_run_time_are_understood():
    name = "".join(["var", "iable"])
    assert name is not sys.intern("variable")
    run = built(lambda other, variable: variable + other, 0.5, 1.0, form="one").run
    assert run(variable=1.0, other=0.5) == run(**{name: 1.0, "other": 0.5}) == 1.5


def test_the_number_that_python_uses_to_say_that_something_went_wrong():
    assert built(lambda x: x * 2.0, 1.0, form="one").run(-1) == -2.0


@pytest.mark.parametrize(
    ("form", "keys", "expected"),
    [
        ("tuple", (), (6.0, 5.0, True)),
        ("named", ("p", "q", "r"), {"p": 6.0, "q": 5.0, "r": True}),
        ("one and named", ("q", "r"), (6.0, {"q": 5.0, "r": True})),
    ],
)
def test_forms_of_results(form, keys, expected):
    run = built(lambda x, y: (x * y, x + y, x < y), 2.0, 3.0, form=form, keys=keys).run
    found = run(2.0, 3.0)
    assert found == expected
    assert run(2.0, 3.0) is not found


def test_results_are_python_s_own_and_each_call_s_own():
    run = built(lambda x: (x, x < 0.0, 3.0), 1.0).run
    assert run(1.5) == (1.5, False, 3.0)
    assert [type(x) for x in run(1.5)] == [float, bool, float]
    kept = built(lambda x: x * 2.0, 1.0, form="named", keys=("k",)).run
    first = kept(1.0)
    first["k"] = 0.0
    assert kept(1.0) == {"k": 2.0}


def test_many_keys_and_no_arguments():
    names = [f"k{i}" for i in range(50)]
    run = built(lambda x: tuple(x * float(i) for i in range(50)), 1.0, form="named", keys=names).run
    assert run(2.0) == {name: 2.0 * i for i, name in enumerate(names)}
    assert list(run(2.0)) == names


@pytest.mark.parametrize("count", [scalar_program.WRITTEN_OUT - 1, scalar_program.WRITTEN_OUT + 5])
def test_long_code_is_written_out_or_called(count):
    def f(x):
        return sum(np.sin(x * k) * np.exp(-x / k) for k in range(1, count)) + 0.0

    program = built(f, 1.0, form="one")
    for x in (0.3, 2.0, -1.7):
        assert program.run(x) == pytest.approx(f(x), rel=1e-13, abs=1e-13)
    assert ("define internal double @sin" in program.llvm) == (2 * count > scalar_program.WRITTEN_OUT)


def test_what_has_no_native_code_says_so(monkeypatch):
    monkeypatch.setattr(scalar_program, "kind_of", lambda node: ("numpy", "not today"))
    with pytest.raises(NotSupportedError, match=r"sin has no native code \(not today\)"):
        built(np.sin, 2.5)


def test_references_are_given_back():
    run = built(lambda x, y: (x * y, x + y), 1.5, 2.5, form="one and named", keys=("s",)).run
    value = 1234.5
    before = sys.getrefcount(value)
    for _ in range(1000):
        run(value, 2.0)
        run(y=2.0, x=value)
        run(value)
    assert sys.getrefcount(value) == before
    gc.collect()
    run(1.5, 2.5)
    before = sys.getallocatedblocks()
    for _ in range(1000):
        run(x=1.5, y=2.5)
    assert sys.getallocatedblocks() - before < 100


def test_a_program_that_refers_to_itself_is_freed():
    class Owner:
        def otherwise(self, *args, **named):
            return self

    owner = Owner()
    owner.run = built(weighted, 1.0, 2.0, otherwise=owner.otherwise).run
    assert owner.run() is owner
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
