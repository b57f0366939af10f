"""What all tests share."""

import gc
import os
import random
import signal
import tempfile

import pytest

from adjoint.core.registry import ANSWERS, entries
from adjoint.testing import walk

list(walk())  # which loads rarer families, too: what is collected depends on no other test
ENTRIES = entries()


def pytest_configure(config):
    """Ctrl-C interrupts, also where tests run in the background of a shell, which has it ignored.

    Workers and programs that tests start keep their bytecode, where the environment says that Python writes none:
    each would compile all modules anew, for a second.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        folder = tempfile.TemporaryDirectory(prefix="bytecode")
        config.add_cleanup(folder.cleanup)
        os.environ["PYTHONPYCACHEPREFIX"] = folder.name


def pytest_collection():
    """All that is made while tests are collected stays, so none of it is looked through for garbage."""
    gc.disable()


def pytest_collection_finish():
    """Nor later: each full collection would look through all tests, and all that was imported."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """What a file leaves stays, too: else each full collection that a test asks for would take a second or two."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items):
    """With ADJOINT_SHUFFLE=seed in the environment, run the tests in a random order: none may need another.

    With ADJOINT_PART=k/n, run every n-th of them, from the k-th on.
    """
    seed, part = os.environ.get("ADJOINT_SHUFFLE"), os.environ.get("ADJOINT_PART")
    if seed:
        random.Random(seed).shuffle(items)
    if part:
        first, each = map(int, part.split("/"))
        items[:] = items[first::each]


@pytest.fixture(scope="session", autouse=True)
def native_code_elsewhere(tmp_path_factory, pytestconfig):
    """Native code goes to a folder of the tests', not to the user's: one for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(pytestconfig, "workerinput"):
        folder = folder.parent
    (folder / "native").mkdir(0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJOINT_CACHE", str(folder / "native"))
        yield


def ours(entry):
    """Whether the library itself holds `entry`: a family of it may load during a test."""
    function = getattr(entry, "forward", None) or entry.function
    return getattr(function, "__module__", None) is None or function.__module__.partition(".")[0] in LIBRARIES


LIBRARIES = {"adjoint", "numpy", "scipy", "builtins", "math"}


@pytest.fixture(autouse=True)
def registry_restored():
    """A test's own operations go with the test."""
    before = len(ENTRIES)
    yield
    if len(ENTRIES) != before:
        for name in list(ENTRIES)[before:]:
            if not ours(ENTRIES[name]):
                gone = ENTRIES.pop(name)
                for function in gone.answers:
                    ANSWERS.pop(function)
