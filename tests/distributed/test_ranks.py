"""Programs of several ranks, each in processes of its own; without mpiexec they are left out by name."""

import contextlib
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import adjoint as ad
from adjoint.distributed.world import HEADER, line

PROGRAMS = Path(__file__).parent / "programs"
MPIEXEC = Path(sys.executable).parent / "mpiexec"
needs_mpi = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the mpich wheel is not installed")


def started(program, ranks, *args, folder=None):
    """The program on so many ranks; "adjoint" is the command."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "HYDRA"))}
    called = ["-m", "adjoint"] if program == "adjoint" else [PROGRAMS / f"{program}.py", str(ranks)]
    command = [MPIEXEC, "-n", str(ranks), sys.executable, *called, *args]
    env["PYTHONPATH"] = str(Path(ad.__file__).parents[1])
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, cwd=folder)


def run(program, ranks, *args, folder=None):
    """The program, ended."""
    process = started(program, ranks, *args, folder=folder)
    out, errors = process.communicate(timeout=240)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", ["collectives", "parallel", "unusual", "compiled"])
def test_programs(program, ranks):
    done = run(program, ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("done") == ranks


@needs_mpi
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")
@pytest.mark.parametrize(("ranks", "bind"), [(2, "1"), (2, "0"), ("more", "1")])
def test_cores(ranks, bind, monkeypatch):
    monkeypatch.setenv("ADJOINT_BIND", bind)
    if ranks == "more":  # than there are cores
        ranks = min(8, len(os.sched_getaffinity(0)) + 1)
    done = run("cores", ranks)
    assert done.stdout.count("done") == ranks, done.stdout + done.stderr


@needs_mpi
def test_messages():
    done = run("messages", 2)
    assert done.stdout.count("done") == 2, done.stdout + done.stderr


LOST = {
    "raises": "rank 1 of 2 ended by ValueError: a bad row",
    "is late": "rank 0 waited 1 s for rank 1 in barrier()",
    "calls another": "rank 0 calls all_gather of float64 (3,), rank 1 calls all_reduce(op='sum') of float64 (3,)",
    "has another shape": "all_reduce(op='sum') of float64 (4,)",
    "is killed": "KILLED",
    "leaves at once": "rank 1 of 2 ended by os._exit(3); all ranks end",
    "ends": "rank 0 waits for rank 1 in barrier(): that rank has ended",
    "leaves the backward pass out": "waited 1 s for rank 1 in all_reduce(op='sum') of float64 (3,)",
}


@needs_mpi
@pytest.mark.parametrize("case", LOST)
def test_a_rank_that_does_not_answer_ends_the_run(case):
    start = time.monotonic()
    done = run("lost", 2, case)
    assert done.returncode != 0
    assert LOST[case].lower() in (done.stdout + done.stderr).lower()
    assert "os._exit(0)" not in done.stderr  # of a child, which is no rank
    assert time.monotonic() - start < 60


def test_a_compiled_step_alone():
    w = ad.nn.Parameter(np.ones(3))
    adam = ad.distributed.ShardedOptimizer(ad.optim.Adam([w], lr=0.1))

    @ad.compile(wait=True)
    def step():
        adam.zero_grad()
        np.sum(w**2).backward()
        adam.step()

    for k in range(4):
        adam.param_groups[0]["lr"] = 0.1 + 0.1 * k
        step()
    assert "native:" in step.explain(), step.explain()
    assert adam.steps == 4
    v = ad.nn.Parameter(np.ones(3))
    plain = ad.optim.Adam([v])
    for k in range(4):
        plain.param_groups[0]["lr"] = 0.1 + 0.1 * k
        plain.zero_grad()
        np.sum(v**2).backward()
        plain.step()
    np.testing.assert_allclose(w.tolist(), v.tolist(), rtol=1e-13)
    adam.optimizer = ad.optim.SGD([w], lr=0.5)  # another one takes its place
    before = w.detach().numpy().copy()
    step()
    np.testing.assert_allclose(w.tolist(), 0.0 * before, atol=1e-15)


def test_alone():
    d = ad.distributed
    x = np.arange(6.0).reshape(2, 3)
    for op in ("sum", "mean", "max", "min"):
        np.testing.assert_array_equal(d.all_reduce(x, op), x)
    np.testing.assert_array_equal(d.all_gather(x), x[None])
    np.testing.assert_array_equal(d.broadcast(x), x)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(d.all_reduce(x) ** 2))(x), 2 * x)
    assert d.gather_objects([1]) == [[1]]
    with d.only_first() as first:
        assert first


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: d.all_reduce(np.ones(2), "product"), "'sum', 'mean', 'max' or 'min'; got 'product'"),
        (lambda d: d.broadcast(np.ones(2), root=1), "numbered 0 to 0; got 1"),
        (lambda d: d.send(np.ones(2), to=0), "another rank, one of none; got 0"),
        (lambda d: d.reduce_scatter(np.ones(2)), "first axis has 1 elements"),
        (lambda d: d.set_timeout(0), "more than 0 seconds"),
        (lambda d: d.all_reduce(np.array(["a"])), "of numbers; got an array of <U1"),
        (
            lambda d: d.ShardedOptimizer(ad.optim.LBFGS([ad.tensor([1.0], requires_grad=True)])),
            "such as Adam; got LBFGS",
        ),
    ],
)
def test_wrong_calls(call, words):
    with pytest.raises(ad.AdjointError, match=words.replace("(", r"\(")):
        call(ad.distributed)


def test_the_simulation_of_many_ranks(capsys, monkeypatch):
    """What it says where it can be computed by hand: all hidden, one bucket behind the step, latency alone."""
    simulate = importlib.import_module("scripts.simulate_ranks")
    assert simulate.step_time(1, 0.3, 1e6, 1e6, 1.0, 1.0) == 0.3
    assert simulate.step_time(4, 0.3, 4e6, 1e6, 1e9, 0.0) == pytest.approx(0.3 + 2 * 3 / 4 * 1e-3)
    assert simulate.step_time(5, 0.3, 8.0, 8.0, 1e9, 1e-3) == pytest.approx(0.3 + 8e-3, rel=1e-6)
    given = "--step 0.2 --bytes 40e6 --bandwidth 1.25e9 --latency 5e-6"
    monkeypatch.setattr(sys, "argv", ["simulate_ranks.py", *given.split()])
    simulate.main()
    told = capsys.readouterr().out
    assert "SIMULATED, not measured" in told
    assert len(told.splitlines()) == 3 + 11


def test_long_calls_that_differ_at_their_end_differ():
    a, b = (line(f"a call of {list(range(100))}, {end}") for end in (1, 2))
    assert len(a) == len(b) == HEADER
    assert a.tobytes() != b.tobytes()


def test_without_mpi4py_it_says_what_to_install():
    code = "import sys; sys.modules['mpi4py'] = None; import adjoint as ad; ad.distributed.rank()"
    env = {**os.environ, "PMI_RANK": "0", "PYTHONPATH": str(Path(ad.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "pip install 'adjoint[mpi]'" in done.stderr


def weights(file):
    with np.load(file) as kept:
        return {name: kept[name] for name in kept}


@needs_mpi
@pytest.mark.parametrize("kind", ["plain", "sharded", "compiled", "compiled sharded"])
def test_training_on_ranks_is_the_training_of_one_process(tmp_path, kind):
    """Dropout, uneven batches, augmentation: the weights are those of one process; also after a resume on others."""
    runs = {name: str(tmp_path / f"{name} {kind}") for name in ("alone", "three", "changing")}
    assert run("training", 1, runs["alone"], "4", str(tmp_path / "a.npz")).returncode == 0
    done = run("training", 3, runs["three"], "4", str(tmp_path / "b.npz"))
    assert done.returncode == 0, done.stderr
    assert run("training", 2, runs["changing"], "2", str(tmp_path / "c.npz")).returncode == 0
    done = run("training", 4, runs["changing"], "4", str(tmp_path / "c.npz"))
    assert done.returncode == 0, done.stderr
    alone = weights(tmp_path / "a.npz")
    for other in ("b.npz", "c.npz"):
        found = weights(tmp_path / other)
        assert found.keys() == alone.keys()
        for name, value in alone.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12, err_msg=name)
    again = tmp_path / "again"
    assert run("training", 3, f"{again} {kind}", "4", str(tmp_path / "d.npz")).returncode == 0
    for name, value in weights(tmp_path / "b.npz").items():
        assert weights(tmp_path / "d.npz")[name].tobytes() == value.tobytes(), "another run, other bits"


def ranks_of(folder):
    """The processes of a training that keeps its run in `folder`."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[0] == sys.executable.encode() and str(folder).encode() in words:
                yield int(path.parent.name)


@needs_mpi
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds the ranks in /proc")
def test_a_killed_rank_ends_the_run_which_goes_on_with_another_number(tmp_path):
    assert run("training", 1, str(tmp_path / "alone"), "3", str(tmp_path / "a.npz")).returncode == 0
    folder = tmp_path / "killed"
    process = started("training", 3, str(folder), "3", str(tmp_path / "b.npz"), "0.3")
    end = time.monotonic() + 60
    while not (folder / "checkpoint.safetensors").exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(max(ranks_of(folder)), signal.SIGKILL)
    killed = time.monotonic()
    told = "".join(process.communicate(timeout=60))
    assert process.returncode != 0
    assert "killed" in told.lower(), told
    assert time.monotonic() - killed < 20
    assert not (tmp_path / "b.npz").exists()
    done = run("training", 2, str(folder), "3", str(tmp_path / "b.npz"))
    assert done.returncode == 0, done.stderr
    for name, value in weights(tmp_path / "a.npz").items():
        np.testing.assert_allclose(weights(tmp_path / "b.npz")[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


@needs_mpi
def test_ranks_that_share_the_pieces_of_a_batch_have_the_same_bits(tmp_path):
    for ranks in (1, 2, 4):
        done = run("pieces", ranks, str(tmp_path / f"{ranks}.npz"))
        assert done.returncode == 0, done.stderr
    alone, *others = (weights(tmp_path / f"{ranks}.npz") for ranks in (1, 2, 4))
    assert len(alone) > 40
    for found in others:
        assert [name for name in alone if found[name].tobytes() != alone[name].tobytes()] == []


@needs_mpi
@pytest.mark.parametrize(("dtype", "ranks", "off"), [("float64", 4, 1e-12), ("float32", 4, 0.0), ("float32", 3, 1e-6)])
def test_the_command_gives_the_weights_of_one_process(tmp_path, dtype, ranks, off):
    """Three ranks in float32 for two epochs: rounding differs, so later a ReLU may fall on the other side."""
    settings = ["train", "digits", "--batch", "64", "--dtype", dtype, "--eager", "--seed", "1"]
    for n in (1, ranks):
        done = run("adjoint", n, *settings, "--epochs", "2", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("Test accuracy") == 1
        assert (
            re.findall(r"rank (\d) is \d+ at ", done.stdout.replace("\n", " "))
            == [str(k) for k in range(n)][: n if n > 1 else 0]
        )
    kept = [load_file(tmp_path / "runs" / f"digits-{k}" / "last.safetensors") for k in (1, 2)]
    for name, value in kept[0].items():
        np.testing.assert_allclose(kept[1][name], value, rtol=0, atol=off, err_msg=name)


@needs_mpi
def test_the_command_says_what_is_wrong_once(tmp_path):
    done = run("adjoint", 2, "train", "nothing.csv", folder=tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("adjoint: nothing.csv") == 1, done.stderr
