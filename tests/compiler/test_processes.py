"""Compiled functions and processes: forked, spawned, ended, and killed while native code is being made."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

SETUP = """
import os, sys, threading, time, traceback
import numpy as np, adjoint as ad

def make(k, rounds=30):
    def f(x):
        for i in range(rounds):
            x = np.tanh(x) / (1.5 + i + k) + np.exp(-x * x)
            x = x - np.sum(x[i % 7 :]) / 9
        return x
    return f

def begun(k):
    f = ad.compile(make(k))
    for _ in range(3):
        f(np.ones(9))
    return f

def in_child(work):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def native(f):
    while f._latest.runner.native is None:
        time.sleep(0.01)
    return f(np.ones(9))
"""


def start(script, tmp_path, **more):
    """A process that runs `script`; it has compiled nothing yet."""
    path = tmp_path / "script.py"
    path.write_text(SETUP + script)
    env = os.environ | {"ADJOINT_CACHE": "off", "PYTHONWARNINGS": "error", "OPENBLAS_NUM_THREADS": "1"} | more
    env["PYTHONPATH"] = str(tmp_path)
    return subprocess.Popen([sys.executable, path], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process):
    try:
        out, errors = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert not errors
    return out


@POSIX
def test_forked_while_code_is_made(tmp_path):
    """The child calls, has finished what its parent had begun, and compiles by itself."""
    out = finished(start("""
for k in range(5):
    f = begun(k)
    time.sleep(k * 0.03)
    def work():
        np.testing.assert_allclose(native(f), make(k)(np.ones(9)), rtol=1e-6)
        g = ad.compile(make(k + 0.5), wait=True)
        np.testing.assert_allclose(g(np.ones(9)), make(k + 0.5)(np.ones(9)), rtol=1e-6)
        w = ad.tensor(np.ones(3), requires_grad=True)
        np.sum(w * w).backward()
    in_child(work)
    native(f)
print("done")
""", tmp_path))  # fmt: skip
    assert out == "done\n"


@POSIX
def test_forked_while_others_record(tmp_path):
    """A child does not find symbols where its parent's other threads have put them."""
    out = finished(start("""
w = ad.tensor(np.ones(3), requires_grad=True)
ad.compile(lambda x: x, backend="numpy")(1.0)  # who forks while another thread imports is lost, whatever the library
stop = threading.Event()
def record():
    k = 0
    while not stop.is_set():
        k += 1
        ad.compile(lambda x: np.sum(make(k, 5)(x) * w), backend="numpy")(np.ones(3))
threads = [threading.Thread(target=record) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(10):
    time.sleep(0.01)
    def work():
        assert type(w.held) is np.ndarray
        ad.compile(lambda x: np.sum(x * w), backend="numpy")(np.ones(3)).backward()
    in_child(work)
stop.set()
for thread in threads:
    thread.join()
print("done")
""", tmp_path))  # fmt: skip
    assert out == "done\n"


def test_spawned(tmp_path):
    (tmp_path / "functions.py").write_text(
        "import numpy as np, adjoint as ad\n"
        "@ad.compile(wait=True)\ndef named(x):\n    return np.sum(x * x)\n"
        "def plain(x):\n    return np.sum(x * 3.0)\n"
    )
    out = finished(start("""
import multiprocessing, functions
if __name__ == "__main__":
    functions.named(np.ones(2))
    other = ad.compile(functions.plain, wait=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.map(functions.named, [np.ones(2)] * 2), *pool.map(other, [np.ones(2)] * 2))
""", tmp_path))  # fmt: skip
    assert out.split() == ["2.0", "2.0", "6.0", "6.0"]


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.15, 0.4])
def test_the_end_while_code_is_made(tmp_path, delay):
    out = finished(start(f"""
kept = [begun(k) for k in range(4)]
time.sleep({delay})
print("done")
""", tmp_path))  # fmt: skip
    assert out == "done\n"


def test_the_end_while_daemons_run_native_code(tmp_path):
    out = finished(start("""
f, x = ad.compile(make(1), wait=True), np.ones(300_000)
f(x)
def work():
    while True:
        f(x)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)
late = Late()
print("done")
""", tmp_path))  # fmt: skip
    assert out == "done\n"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_killed_while_code_is_made_and_kept(tmp_path):
    """Whatever is on disk then, the next process has its answers, and no warning."""
    folder = tmp_path / "cache"
    script = """
made = [ad.compile(make(k, 12), wait=True) for k in range(4)]
print("began", flush=True)
for k, f in enumerate(made):
    np.testing.assert_allclose(f(np.ones(9)), make(k, 12)(np.ones(9)), rtol=1e-6)
print("done")
"""
    for delay in (0.05, 0.2, 0.5):
        process = start(script, tmp_path, ADJOINT_CACHE=str(folder))
        assert process.stdout.readline() == "began\n"
        time.sleep(delay)
        process.kill()
        process.communicate(timeout=60)
    for _ in range(2):
        assert finished(start(script, tmp_path, ADJOINT_CACHE=str(folder))) == "began\ndone\n"
    assert list(Path(folder).glob("*.native"))
