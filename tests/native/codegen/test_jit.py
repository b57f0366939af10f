"""From text to code: equal functions are compiled once, found on disk by other processes, and freed."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.core import version
from adjoint.native.codegen import disk_cache, jit


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the environment's."""
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def python(program, *args, folder):
    """Another process, whose native code goes to `folder`."""
    file = folder.parent / f"program{len(list(folder.parent.glob('program*')))}-{threading.get_ident()}.py"
    file.write_text(program)  # functions are recorded from their source
    environment = {**os.environ, "ADJOINT_CACHE": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    file = folder.parent / "program.py"  # functions without a file are not recorded
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "always::RuntimeWarning", str(file), *args],
        env=environment, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


PROGRAMS = """
import sys
import threading
import numpy as np
import adjoint as ad
from adjoint.native.codegen import jit as engine

compiled = []
really = engine._object
engine._object = lambda text: compiled.append(text) or really(text)

def product(x):
    return np.sum(np.tanh(x @ x.T) ** 2)

def curve(x):
    return np.sum(np.exp(-x) * np.sin(x))

def both(x):
    return product(x) + curve(x)

functions = {"product": product, "curve": curve, "both": both}
x = np.linspace(-1.0, 1.0, 30).reshape(5, 6)
for name in sys.argv[1:]:
    f = ad.compile(lambda x: ad.grad(functions[name])(x), wait=True)
    f(x)
    assert "define void @k" in f.llvm and f.assembly
    print(f(x).tobytes().hex())
print(len(compiled))
"""


def test_a_second_process_compiles_nothing(folder):
    first = python(PROGRAMS, "product", "curve", folder=folder).stdout.split()
    assert int(first[-1]) >= 3  # the way in, and each program
    files = sorted(os.listdir(folder))
    second = python(PROGRAMS, "product", "curve", folder=folder)
    assert second.stdout.split() == [*first[:-1], "0"]
    assert not second.stderr
    assert sorted(os.listdir(folder)) == files


def test_processes_at_once_do_not_disturb_each_other(folder):
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda names: python(PROGRAMS, *names, folder=folder), [("curve", "both")] * 2))
    first, second = (done.stdout.split()[:-1] for done in both)
    assert first == second
    assert not any(done.stderr for done in both)
    assert python(PROGRAMS, "curve", "both", folder=folder).stdout.split() == [*first, "0"]


def test_what_is_there_is_found_in_another_order_too(folder):
    first = python(PROGRAMS, "product", "curve", folder=folder).stdout.split()
    second = python(PROGRAMS, "curve", "product", folder=folder).stdout.split()
    assert second == [first[1], first[0], "0"]


BESIDE = """
import sys
import threading
import numpy as np
import adjoint as ad

def wave(x):
    return x * np.sin(x)

def both(x):
    return x @ x, wave(x)

f = ad.compile(globals()[sys.argv[1]], wait=True)
x = np.linspace(-1e10, 1e10, 36).reshape(6, 6)  # of which the C library takes the sines
f(x)
assert np.allclose(f(x), globals()[sys.argv[1]](x))
print(f.llvm.count("define void @k"))
"""


def test_code_beside_what_calls_blas_is_not_loaded_where_that_has_no_address(folder):
    python(BESIDE, "both", folder=folder)
    assert python(BESIDE, "wave", folder=folder).stdout.split() == ["1"]


def test_a_second_process_survives_what_happened_to_the_files(folder):
    first = python(PROGRAMS, "both", folder=folder).stdout
    for file in folder.iterdir():
        data = bytearray(file.read_bytes())
        data[-1] ^= 255
        file.write_bytes(data)
    second = python(PROGRAMS, "both", folder=folder)
    assert second.stdout == first
    assert second.stderr.count("RuntimeWarning") == 1
    assert "damaged" in second.stderr
    assert python(PROGRAMS, "both", folder=folder).stdout.split() == [*first.split()[:-1], "0"]


TEXT = "define i32 @seven() {\n  ret i32 7\n}"


def test_code_is_read_instead_of_compiled(folder, monkeypatch):
    assert jit.module(TEXT).fresh
    monkeypatch.delattr(jit, "_object")
    made = jit.module(TEXT)
    assert not made.fresh
    assert made.address("seven")
    assert "seven" in jit.assembly_of(made.text)
    with pytest.raises(NameError):
        jit.module(TEXT.replace("7", "8"))


def test_what_code_names_may_lie_anywhere_and_elsewhere_in_another_process(folder):
    for fresh, address in ((True, 0x123456789ABCDEF0), (False, 0x0FEDCBA987654321)):
        name = jit.external("test_far", address)
        ask = f"define i64 @far() {{\n  ret i64 ptrtoint (ptr {name} to i64)\n}}"
        made = jit.module(f"{name} = external global i8\n{ask}")
        assert made.fresh is fresh
        assert ctypes.CFUNCTYPE(ctypes.c_uint64)(made.address("far"))() == address


def test_without_a_folder_code_is_compiled_each_time(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "off")
    assert jit.module(TEXT).fresh
    assert jit.module(TEXT).fresh


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [(disk_cache, "FORMAT", 99), (jit, "LEVEL", 3), (jit, "MODEL", "small"), (jit, "RELOC", "pic"),
     (jit, "_processor", lambda: ("pentium", "+sse2")), (version, "VERSION", "0.0.1"),
     (jit.llvmlite, "__version__", "0.1"), (jit.llvm, "llvm_version_info", (3, 1, 0))],
)  # fmt: skip
def test_code_belongs_to_thecircumstances(monkeypatch, owner, name, value):
    before = jit.circumstances.__wrapped__()
    assert jit.circumstances.__wrapped__() == before
    monkeypatch.setattr(owner, name, value)
    assert jit.circumstances.__wrapped__() != before


@pytest.fixture
def forgetful(monkeypatch):
    """Builds a program as another process would, which knows of no kernel."""

    def build():
        monkeypatch.setattr(jit, "_known", WeakValueDictionary())
        graph = ad.capture(lambda x: np.sinh(x * 1.25) + np.cos(x - 1.25), np.ones(5))
        return native.build(graph.inputs, graph.outputs)

    return build


def test_a_module_that_was_removed_is_compiled_again(folder, forgetful):
    x = np.linspace(0.0, 1.0, 5)
    first = forgetful()
    (before,) = first(x)
    files = {file.name: file.stat().st_size for file in folder.iterdir()}
    os.unlink(folder / f"{jit._key(first.modules[0].text)}.native")
    made = forgetful()
    assert [module.fresh for module in made.modules] == [True]
    assert made(x)[0].tobytes() == before.tobytes()
    assert {file.name: file.stat().st_size for file in folder.iterdir()} == files
    assert [module.fresh for module in forgetful().modules] == [False]


def test_a_folder_that_is_refused_never_reaches_the_user(folder):
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    f = ad.compile(lambda x: np.sinh(x * 2.5) - np.cos(x - 2.5))
    for _ in range(2):
        f(np.ones(3))
    for thread in threading.enumerate():
        if thread.name == "adjoint compiler":
            thread.join()
    assert f(np.ones(3)).tolist() == pytest.approx((np.sinh(2.5) - np.cos(np.full(3, -1.5))).tolist())
    assert f.llvm
    assert not list(folder.iterdir())


def test_the_collector_leaves_engines_to_who_compiles():
    """A module in a cycle dies while another thread compiles: nobody else frees its code, for the second time."""
    ad.compile(np.tanh, wait=True)(np.ones(3))
    held, done = threading.Event(), threading.Event()

    def compiling():
        with jit.COMPILING:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=compiling)
    made = jit.NativeModule("define double @f(double %x) { ret double %x }")
    left, cycle = made._engine, [made]
    cycle.append(cycle)
    left.kept = cycle  # so that the collector finds the engine, too
    thread.start()
    held.wait(60)
    closed = []
    left.close = lambda: closed.append(threading.current_thread())
    del made, cycle, left
    gc.collect()
    try:
        assert not closed
    finally:
        done.set()
        thread.join()
        jit._gone.clear()
