"""Programs on disk: found again by any process that records the same, and by none that records something else."""

import shutil
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.compiler.backend import Runner
from adjoint.core.objects.plain import NotPlainError, PlainData
from adjoint.core.op import Op
from adjoint.graph import canonical
from adjoint.graph.canonical import Canonical
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import call
from adjoint.native import Program, stored
from adjoint.native.stored import Stored

X = np.linspace(0.1, 0.9, 12).reshape(3, 4)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of the test's own; the source is taken to be as it was when it was loaded."""
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(stored, "_sources", lambda: "as it is")
    return tmp_path / "kept"


def runner(f, *args, **options):
    """What runs `f`, recorded anew."""
    compiled = ad.compile(f, wait=True, **options)
    compiled(*args)
    return compiled._latest.runner


def key(f, *args, into=None, fastmath=False):
    """The key of the program of `f`."""
    return stored.key_of(Canonical(), runner(f, *args, backend="numpy").graph, into or {}, fastmath)


# -- Programs come back -----------------------------------------------------------------------------------


def recurrence(x, w):
    h = np.zeros(4)
    for _ in range(400):
        h = np.tanh(x[0] + w @ h)
    return np.sum(h**2)


def asked(x):
    return np.sin(x) if np.sum(x) > 0 else np.cos(x)


PROGRAMS = {
    "elementwise": (lambda x: np.tanh(x) * 3.0 + np.exp(-x), (X,)),
    "gradient": (ad.grad(lambda x: np.sum(np.tanh(x) ** 2)), (X,)),
    "product": (ad.grad(lambda x: np.sum(np.tanh(x @ x.T))), (X,)),
    "loop": (ad.grad(recurrence, (0, 1)), (X, np.eye(4) * 0.3)),
    "guards": (asked, (X,)),
    "index": (lambda x: x[np.array([2, 0, 1])] + np.where(x > 0.5, x, -x), (X,)),
    "steps of NumPy's": (lambda x: np.sort(np.linalg.inv(x @ x.T + np.eye(3)) * 2.0, axis=0), (X,)),
    "complex numbers": (lambda x: np.abs(np.fft.ifft(np.fft.fft(x) * np.sinh(x + 1j))), (X,)),
    "half spectra": (lambda x: np.fft.irfft(np.fft.rfft(x) * 2j), (X,)),
    "whole numbers": (lambda x: np.cumsum(np.arange(4)) * (x > 0.3), (X,)),
    "single precision": (lambda x: np.exp(x) @ np.full((4, 2), 0.5, np.float32), (X.astype(np.float32),)),
    "constants": (lambda x: x + np.arange(12.0).reshape(3, 4) + np.full((3, 4), np.nan), (X,)),
    "a number": (lambda x, s: x * s, (X, 0.5)),
    "several results": (lambda x: {"a": x + 1, "b": (np.sum(x), x)}, (X,)),
    "a large array": (lambda x: np.sum(np.tanh(x), axis=1), (np.linspace(0, 1, 400_000).reshape(400, 1000),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_from_disk_gives_the_same_bits(name):
    f, args = PROGRAMS[name]
    first = ad.compile(f, wait=True)
    expected = first(*args)
    assert type(first._latest.runner.native) is Program
    again = ad.compile(f, wait=True)
    found = again(*args)
    assert type(again._latest.runner.native) is Stored
    same(expected, found)
    same(expected, again(*args))


def same(a, b):
    a, b = (ad.core.objects.trees.flatten(x)[0] if not isinstance(x, np.ndarray) else [x] for x in (a, b))
    assert [np.asarray(x).tobytes() for x in a] == [np.asarray(x).tobytes() for x in b]


def step_of(seed=0):
    """A training step: it reads state, writes it in place, and has two programs if its result goes on."""
    rng = np.random.default_rng(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    for p in model.parameters():
        p.data[...] = rng.normal(size=p.shape)
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, model


def test_a_training_step_from_disk_writes_the_same():
    states = []
    for kind in (Program, Stored):
        step, model = step_of()
        compiled = ad.compile(step, wait=True)
        losses = [compiled(X).item() for _ in range(5)]
        assert type(compiled._latest.runner.native) is kind
        states.append([np.float64(losses).tobytes(), *[p.data.tobytes() for p in model.parameters()]])
    assert states[0] == states[1]


def test_backward_passes_come_from_disk_too():
    slopes = []
    for kind in (Program, Stored):
        f = ad.compile(lambda x: np.tanh(x) ** 2, wait=True)
        x = ad.tensor(X, requires_grad=True)
        np.sum(f(x)).backward()
        assert type(f._latest.back_runner.native) is kind
        slopes.append(x.grad.data.tobytes())
    assert slopes[0] == slopes[1]


def test_draws_are_those_of_the_generator_at_hand():
    def drawn(seed):
        rng = np.random.default_rng(seed)
        f = ad.compile(lambda x: x * rng.random(4) + rng.normal(size=4), wait=True)
        f(X)
        return f._latest.runner.native, f(X)

    (a, first), (b, second), (_, third) = drawn(1), drawn(1), drawn(2)
    assert (type(a), type(b)) == (Program, Stored)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_reports_plan_it_again():
    f, args = PROGRAMS["loop"]
    told = []
    for _ in range(2):
        compiled = ad.compile(f, wait=True)
        compiled(*args)
        told.append((compiled.explain(), str(compiled.plan), compiled.llvm, compiled._latest.runner.native.count))
        compiled.schedule()
    assert told[0] == told[1]
    assert "one loop" in told[0][0]


SCRIPT = """
import sys, numpy as np, adjoint as ad
from adjoint.native.plan.planner import Planner
if sys.argv[1] == "again":
    def plan(self):
        raise AssertionError("it is planned again")
    Planner.plan = plan
f = ad.compile(ad.grad(lambda x: np.sum(np.tanh(x @ x.T) * np.exp(-x[:, :3]))), wait=True)
x = np.linspace(0.1, 0.9, 12).reshape(3, 4)
f(x)
print(type(f._latest.runner.native).__name__, f(x).tobytes().hex())
"""


def process(script, word):
    found = subprocess.run([sys.executable, script, word], capture_output=True, text=True, check=True)
    return found.stdout.split()


def test_another_process_does_not_plan(script):
    time.sleep(stored._SECOND)
    (first, expected), (second, found) = process(script, "first"), process(script, "again")
    assert (first, second) == ("Program", "Stored")
    assert found == expected


def test_two_processes_at_once(script, folder):
    time.sleep(stored._SECOND)
    command = [sys.executable, script, "first"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    a, b = (one.communicate()[0].split() for one in both)
    assert a[1] == b[1] == process(script, "again")[1]
    assert not list(folder.glob("*.part"))


# -- Keys -------------------------------------------------------------------------------------------------

K = np.array([0.5, -0.0, 2.0, np.nan])
OTHERS = {
    "a constant": (lambda x: x * 2.0, lambda x: x * 2.0000000000000004),
    "the sign of zero": (lambda x: x + 0.0, lambda x: x + -0.0),
    "nan": (lambda x: x * K, lambda x: x * np.where(np.isnan(K), -K, K)),
    "the dtype of a constant": (lambda x: x + np.float64(2), lambda x: x + np.float32(2)),
    "a number of Python's": (lambda x: x + 2.0, lambda x: x + np.float64(2.0)),
    "whole and float": (lambda x: x + 2, lambda x: x + 2.0),
    "truth": (lambda x: x + 1, lambda x: x + True),
    "the order of arguments": (lambda x: x - x[::-1], lambda x: x[::-1] - x),
    "an axis": (lambda x: np.sum(x, axis=0), lambda x: np.sum(x, axis=1)),
    "an axis from the end": (lambda x: np.cumsum(x, axis=0), lambda x: np.cumsum(x, axis=1)),
    "an index": (lambda x: x[1] + 1, lambda x: x[2] + 1),
    "a slice": (lambda x: x[:2] + 1, lambda x: x[1:] + 1),
    "an index array": (lambda x: x[np.array([0, 1])], lambda x: x[np.array([0, 2])]),
    "the operation": (np.sin, np.cos),
    "what is shared": (lambda x: np.sin(x) + np.cos(x), lambda x: np.sin(x) + np.sin(x)),
    "the results": (lambda x: (x + 1, x + 2), lambda x: (x + 2, x + 1)),
    "how often one result": (lambda x: (x + 1, x + 1), lambda x: x + 1),
    "a conversion": (lambda x: x.astype(np.float32), lambda x: x.astype(np.float16)),
    "how many turns": (lambda x: chain(x, 40), lambda x: chain(x, 41)),
    "a turn": (lambda x: chain(x, 40), lambda x: chain(x, 40, 0.25)),
    "one element everywhere": (lambda x: x + np.full((3, 4), 1.5), lambda x: x + np.full((3, 4), 1.25)),
    "a large constant": (lambda x: x + np.sum(np.arange(9000.0)[:, None, None] * x, axis=0),
                         lambda x: x + np.sum(np.arange(1.0, 9001.0)[:, None, None] * x, axis=0)),
    "an answer": (lambda x: x + 1 if np.sum(x) > 1 else x, lambda x: x + 1 if np.sum(x) > 2 else x),
}  # fmt: skip


def chain(x, turns, factor=0.5):
    for _ in range(turns):
        x = np.tanh(np.sin(x) + factor)
    return x


@pytest.mark.parametrize("name", OTHERS)
def test_another_program_has_another_key(name):
    f, g = OTHERS[name]
    assert key(f, X) == key(f, X)
    assert key(f, X) != key(g, X)


@pytest.mark.parametrize("name", OTHERS)
def test_another_program_is_not_taken(name):
    f, g = OTHERS[name]
    ad.compile(f, wait=True)(X)
    compiled = ad.compile(g, wait=True)
    with np.errstate(all="ignore"):
        expected, found = ad.core.objects.trees.flatten(g(X))[0], ad.core.objects.trees.flatten(compiled(X))[0]
    assert type(compiled._latest.runner.native) is Program
    assert [np.asarray(x).dtype for x in expected] == [np.asarray(x).dtype for x in found]
    np.testing.assert_allclose(np.stack(expected), np.stack(found), rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [(X, X.astype(np.float32)), (X, X[:2]), (X, X.reshape(4, 3)), (1.5, np.float64(1.5)), (np.array(1.5), 1.5)],
)
def test_other_arguments_have_another_key(one, other):
    assert key(lambda x: np.tanh(x), one) != key(lambda x: np.tanh(x), other)


def test_what_is_asked_of_the_program_is_in_the_key():
    plain = key(np.sin, X)
    assert plain != key(np.sin, X, fastmath=True)
    assert plain != key(np.sin, X, into={0: 0})


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [(stored.np, "__version__", "0.0"), (stored, "_scipy", lambda: "0.0"), (stored, "_processor", lambda: ["none"]),
     (stored.sys, "version", "4.0"), (stored, "FORMAT", -1), (stored.jit, "circumstances", lambda: "another processor"),
     (stored, "_sources", lambda: "another"), (stored.array_entry, "supported", lambda: False)],
)  # fmt: skip
def test_circumstances_are_in_the_key(monkeypatch, owner, name, value):
    graph = runner(np.sin, X, backend="numpy").graph
    before = stored.key_of(Canonical(), graph, {}, False)
    monkeypatch.setattr(owner, name, value)
    assert stored.key_of(Canonical(), graph, {}, False) != before


@pytest.mark.parametrize("name", ["ADJOINT_SOMETHING", "NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE"])
def test_the_environment_is_in_the_key(monkeypatch, name):
    graph = runner(np.sin, X, backend="numpy").graph
    before = stored.key_of(Canonical(), graph, {}, False)
    monkeypatch.setenv(name, "AVX2")
    assert stored.key_of(Canonical(), graph, {}, False) != before


def test_generators_are_told_apart():
    a, b = np.random.default_rng(0), np.random.default_rng(0)
    assert key(lambda x: x + a.random(4) + b.random(4), X) != key(lambda x: x + a.random(4) + a.random(4), X)
    assert key(lambda x: x + a.random(4), X) == key(lambda x: x + b.random(4), X)


def test_a_rule_of_the_users_is_part_of_the_program():
    def made(factor):
        @ad.custom_vjp
        def f(x):
            return x * 2.0

        f.defvjp(lambda x: (f(x), None), lambda _, g: (g * factor,))
        return ad.grad(lambda x: np.sum(f(x)))

    assert key(made(2.0), X) != key(made(3.0), X)


def test_operations_of_the_users_have_no_key():
    def doubled(x):
        return x + x

    mine = ad.elementwise(doubled, vjp=lambda g: g * 2.0, name="doubled_by_me")
    assert key(lambda x: mine(x), X) is None
    compiled = ad.compile(lambda x: mine(x) + 1.0, wait=True)
    np.testing.assert_array_equal(compiled(X), X + X + 1.0)


@pytest.mark.parametrize(
    "op",
    [
        Op("sin", lambda x: x, ("x",)),
        Op("sin", partial(np.full, 3), ("x",)),
        Op("tripled", np.frompyfunc(lambda x: 3 * x, 1, 1), ("x",)),
        Op("tripled", type("Tripled", (), {"__call__": lambda _, x: 3 * x})(), ("x",)),
    ],
    ids=["function", "partial", "ufunc", "object"],
)
def test_operations_that_are_nowhere_to_be_found_are_not_plain(op):
    with pytest.raises(NotPlainError):
        PlainData([]).data(op)


def test_an_operation_by_a_librarys_name_is_another_one():
    """What looks like ours, and does something else, is not found by its name."""
    graph = runner(np.sin, X, backend="numpy").graph
    (node,) = graph.outputs
    assert node.op is not None
    other = node.op.replace(kind="linear")
    made = graph.replaced([call(other, node.args, node.settings, node.shape, node.dtype)])
    assert stored.key_of(Canonical(), made, {}, False) is None
    data = PlainData([]).data(node.op)
    with pytest.raises(NotPlainError, match="another operation"):
        PlainData([]).value((*data[:-2], ("sin", "linear"), data[-1]))


def test_every_part_of_a_loop_is_in_the_key_or_left_out_on_purpose():
    parts = {*canonical.PARTS_OF_A_LOOP, *canonical.NOT_OF_A_LOOP, "body"}
    assert parts == set(Loop.__slots__), "say in graph/canonical.py whether it decides what the loop computes"


def test_a_source_that_was_changed_keeps_nothing(monkeypatch):
    monkeypatch.undo()
    known = stored._sources.__wrapped__()
    monkeypatch.setattr(stored, "LOADED", time.time() - 1e9)
    assert stored._sources.__wrapped__() is None
    monkeypatch.setattr(stored, "LOADED", time.time() + 1e9)
    assert stored._sources.__wrapped__() is not None
    assert known in (None, stored._sources.__wrapped__())


VALUES = [
    None, True, 1, 1.5, -0.0, float("nan"), 1j, "a", b"b", (1, (2,)), [1, [2.0]], slice(None, 2, -1), ...,
    np.float32(1.5), np.bool_(True), np.datetime64("2020-01-01"), np.dtype(np.float16), np.dtype("U3"), np.float64,
    np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.array(2.5), np.broadcast_to(np.float32(2), (3, 2)), np.sin, np.sum,
    {"a": 1, "b": (2, {})}, np.add, int, ad.core.registry.operation("reduce_sum"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[f"{k}" for k in range(len(VALUES))])
def test_values_come_back_from_their_data(value):
    found = PlainData([]).value(PlainData([]).data(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    if isinstance(value, np.ndarray):
        assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes())
        assert any(found.strides) == any(value.strides)


def test_data_of_different_values_differ():
    once = [repr(PlainData([]).data(value)) for value in VALUES]
    assert len(set(once)) == len(once)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, np.array([None]), lambda: 1, np.dtype([("a", int)]), type("Mine", (), {}), np.ma.zeros(2)],
)
def test_what_is_of_this_process_alone_is_not_plain(value):
    with pytest.raises(NotPlainError):
        PlainData([]).data(value)


# -- Files ------------------------------------------------------------------------------------------------


HARMS = (None, lambda b: b[:-1], lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:-9] + b"?" + b[-8:])


def test_whatever_is_missing_or_damaged_it_is_made_again(folder, tmp_path):
    f, args = PROGRAMS["product"]
    expected = ad.compile(f, wait=True)(*args)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    for name in sorted(path.name for path in whole.iterdir()):
        for harm in (
            None,
            lambda b: b[:-1],
            lambda b: b[: len(b) // 2],
            lambda b: b"",
            lambda b: b[:-9] + b"?" + b[-8:],
        ):
            shutil.rmtree(folder)
            shutil.copytree(whole, folder)
            path = folder / name
            path.unlink() if harm is None else path.write_bytes(harm(path.read_bytes()))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # which says that a file is damaged
                same(expected, ad.compile(f, wait=True)(*args))


def test_a_file_of_another_format_is_made_again(folder):
    f, args = PROGRAMS["product"]
    first = ad.compile(f, wait=True)
    expected = first(*args)
    key = stored.key_of(Canonical(), first._latest.graph, {}, (False, "auto"))
    for content in (b"", b"nonsense", stored.marshal.dumps((1, 2, 3)), stored.marshal.dumps("text")):
        stored.disk.store().save({key: content})
        same(expected, ad.compile(f, wait=True)(*args))


def test_no_folder_means_no_key(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "off")
    f, args = PROGRAMS["product"]
    assert key(f, *args) is None
    assert type(runner(f, *args).native) is Program


def test_a_full_disk_is_no_error(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stored.disk.Store, "_write", full)
    f, args = PROGRAMS["product"]
    for _ in range(2):
        found = runner(f, *args)
        assert isinstance(found, Runner)
        assert type(found.native) is Program


def test_large_constants_stay_in_the_process(folder):
    big = np.random.default_rng(0).normal(size=(300, 300))
    f = lambda x: np.tanh(x @ big)
    for kind in (Program, Stored):
        compiled = ad.compile(f, wait=True)
        np.testing.assert_allclose(compiled(np.ones((2, 300))), f(np.ones((2, 300))), rtol=1e-12)
        assert type(compiled._latest.runner.native) is kind
    assert max(path.stat().st_size for path in folder.iterdir()) < big.nbytes / 4
