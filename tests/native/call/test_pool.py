"""Steps in parts on several cores give the bits of one thread, whoever calls, and whatever becomes of the workers."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint import native, nn, optim
from adjoint.core.errors import AdjointError
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES
from adjoint.native.call import pool, segment
from adjoint.native.codegen.loops import kernels

pytestmark = pytest.mark.skipif(not pool.supported(), reason="there are no workers here")
OPERATIONS = [name for name, op in sorted(ENTRIES.items())
              if type(op) is Op and op.samples and not op.multiple and op.kind != "constant"]  # fmt: skip


@pytest.fixture(autouse=True)
def as_before():
    yield
    ad.set_threads(None)


@pytest.fixture
def smallest(monkeypatch):
    """Everything that can be cut is cut, place by place."""
    monkeypatch.setattr(pool, "LEAST", 0)
    monkeypatch.setattr(pool, "PART", 1e-9)
    monkeypatch.setattr(kernels, "_QUANTUM", 1)


def parts_of(program):
    """How many parts the steps of a native program have."""
    steps = [step for plan in program.plans for step in plan.steps if step.split is not None]
    return [len(list(segment._parts(step.split, [0] * 64, step.numbers))) or 1 for step in steps]


def program_of(f, *args):
    graph = ad.capture(f, *args)
    return native.build(graph.inputs, graph.outputs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_in_parts_gives_the_same_bits(name, monkeypatch):
    op = ENTRIES[name]

    def r(*shape, low=-1.0, high=1.0):
        return np.random.default_rng(1).uniform(low, high, shape) if shape else float(low + 0.3 * (high - low))

    for sample in op.samples(r):
        args, given = op.bind(sample.args, sample.kwargs)
        if not all(isinstance(a, np.ndarray | float) for a in args):
            continue
        try:
            graph = ad.capture(lambda *xs: op(*xs, **given), *args)
            whole = native.build(graph.inputs, graph.outputs)
        except (AdjointError, ValueError):
            continue
        with monkeypatch.context() as patch:
            patch.setattr(pool, "LEAST", 0)
            patch.setattr(pool, "PART", 1e-9)
            patch.setattr(kernels, "_QUANTUM", 1)
            cut = native.build(graph.inputs, graph.outputs)
        for threads in (1, 3):
            ad.set_threads(threads)
            for a, b in zip(whole(*args), cut(*args), strict=True):
                assert a.tobytes() == b.tobytes()


def shapes(x, y, w):
    inner = np.sin(x) * np.exp(-y) + x[::-1] * y.T.reshape(y.shape)
    return (
        inner, np.sum(np.sqrt(np.abs(x) + 1) * y, axis=1), np.sum(np.tanh(x) * y, axis=0), np.sum(x * y),
        np.max(inner, axis=-1), np.where(x > 0, x, w), np.cumsum(x, axis=0), (x * 2)[3:, ::2] + 1, x.T * 3, x @ y.T,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_number_of_threads_gives_the_same_bits(dtype, smallest):
    rng = np.random.default_rng(0)
    x, y, w = (rng.normal(size=shape).astype(dtype) for shape in ((37, 29), (37, 29), (29,)))
    program = program_of(shapes, x, y, w)
    assert max(parts_of(program)) > 5
    found = []
    for threads in (1, 2, 3, 7):
        ad.set_threads(threads)
        found += [[a.tobytes() for a in program(x, y, w)] for _ in range(50)]
    assert all(bits == found[0] for bits in found)
    for got, right in zip(program(x, y, w), shapes(x, y, w), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4 if dtype is np.float32 else 1e-11, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [8, 37, 64, 128, 200])
def test_products_in_parts_give_the_same_bits(dtype, rows, monkeypatch):
    rng = np.random.default_rng(0)
    x, y, b = (rng.normal(size=shape).astype(dtype) for shape in ((rows, 50), (50, 70), (70,)))
    z, s = rng.normal(size=(rows, 70)).astype(dtype), rng.normal(size=(6, rows, 50)).astype(dtype)

    def products(x, y, b, z, s):
        return np.tanh(x @ y + b) * z, x.T @ z, z @ y.T, s @ y, (s @ y) * z + b, s @ np.swapaxes(s, 1, 2)

    whole = program_of(products, x, y, b, z, s)
    few = sum(parts_of(whole))
    for name, value in (("LEAST", 0), ("PART", 1e-9)):
        monkeypatch.setattr(pool, name, value)
    cut = program_of(products, x, y, b, z, s)
    assert sum(parts_of(cut)) > few
    expected = [a.tobytes() for a in whole(x, y, b, z, s)]
    for threads in (1, 2, 3):
        ad.set_threads(threads)
        for _ in range(20):
            assert [a.tobytes() for a in cut(x, y, b, z, s)] == expected


def test_large_steps_are_cut_and_small_ones_are_not():
    f = lambda x: np.sin(x) * np.exp(x)
    assert parts_of(program_of(f, np.zeros(300))) == [1]
    large = parts_of(program_of(f, np.zeros(1_000_000)))
    assert max(large) > 8


def test_a_training_gives_the_same_bits_for_any_number_of_threads(smallest):
    def trained(threads):
        ad.set_threads(threads)
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(30, 40), nn.Tanh(), nn.LayerNorm(40), nn.Linear(40, 3))
        for p in model.parameters():
            with ad.no_grad():
                p[...] = rng.normal(size=p.shape)
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        @ad.compile(wait=True)
        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(rng.normal(size=(50, 30)), rng.integers(0, 3, 50)).item() for _ in range(10)]
        return losses, [p.numpy().tobytes() for p in model.parameters()]

    expected = trained(1)
    assert trained(2) == expected
    assert trained(4) == expected


def test_many_callers_at_once_get_serial_bits(smallest):
    ad.set_threads(3)
    f = ad.compile(ad.grad(lambda x: np.sum(np.tanh(x) ** 2 * np.sin(x))), wait=True)
    xs = [np.linspace(-1, 1, 400) * k for k in range(8)]
    expected = [f(x).tobytes() for x in xs]
    wrong = []

    def work(k):
        wrong.extend((k, n) for n in range(300) if f(xs[(k + n) % 8]).tobytes() != expected[(k + n) % 8])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_jobs_one_after_another_lose_no_part(smallest):
    ad.set_threads(4)
    program = program_of(lambda x: x * 2 + 1, np.zeros(64))
    for k in range(5000):
        x = np.full(64, float(k))
        assert (program(x)[0] == 2 * k + 1).all()


def apart(tmp_path, body, **env):
    begin = """
        import os
        import numpy as np, adjoint as ad
        from adjoint.native.call import pool
        f = ad.compile(lambda x: np.sin(x) * np.exp(x), wait=True)
        x = np.linspace(0, 1, 400_000)
        expected = f(x).tobytes()
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(begin) + textwrap.dedent(body))
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, **env},
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_computes_alone_and_then_with_workers_of_its_own(tmp_path):
    done = apart(tmp_path, """
        ad.set_threads(3)
        for _ in range(20):
            pid = os.fork()
            assert f(x).tobytes() == expected
            if pid == 0:
                ad.set_threads(2)
                assert f(x).tobytes() == expected and len(pool._workers) == 2
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        print("done")
    """)  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


def test_the_environment_says_how_many(tmp_path):
    done = apart(tmp_path, "print(pool.threads(), len(pool._workers))", ADJOINT_THREADS="3")
    assert done.stdout.split() == ["3", "3"], done.stderr
    done = apart(tmp_path, "print(pool.threads(), len(pool._workers))", ADJOINT_THREADS="1")
    assert done.stdout.split() == ["1", "0"], done.stderr
    done = apart(tmp_path, "ad.set_threads(None)", ADJOINT_THREADS="many")
    assert "ADJOINT_THREADS is a number from 1 to 64; got 'many'" in done.stderr


def test_wrong_numbers_are_refused():
    for count in (0, -2, 65, 1.5):
        with pytest.raises(ad.ArgumentError, match="a number from 1 to 64, or None"):
            ad.set_threads(count)
