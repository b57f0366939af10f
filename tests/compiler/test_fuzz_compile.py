"""A sample of random programs, compiled against plain; `scripts/fuzz_compile.py` runs as many as one likes."""

import importlib.util
import signal
from pathlib import Path

import pytest

from tests.compiler.attacks.known import SEEDS
from tests.compiler.attacks.programs import Program
from tests.compiler.attacks.shorten import shortest
from tests.compiler.attacks.worlds import World, compare

KNOWN = pytest.mark.xfail(reason="of a class that the table of attacks lists", strict=True)
SAMPLE = [pytest.param(seed, marks=[KNOWN] if seed in SEEDS else []) for seed in range(64)]


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_random_program(seed, tmp_path):
    text = Program(seed).text
    found = compare(text, tmp_path, "native" if seed % 8 == 7 else "numpy", seed=seed)
    assert found is None, f"python scripts/fuzz_compile.py --programs 1 --seed {seed}\n{found}"


def test_programs_are_the_same_for_a_seed_and_do_something(tmp_path):
    assert Program(3).text == Program(3).text != Program(4).text
    raised = calls = 0
    for seed in range(40):
        trace = World(Program(seed).text, tmp_path / f"{seed}.py", None, 1, seed).live()
        seen = [dict(tokens) for label, tokens in trace if "f(" in label]
        calls += len(seen)
        raised += sum(tokens["raised"][0] != "NoneType" for tokens in seen)
    assert calls > 120
    assert 0.05 < raised / calls < 0.5


def test_a_program_is_made_short():
    def differs(text):
        return "L.append(" in text and "def f(" in text and "f(X" in text.partition("---")[2]

    seed = next(seed for seed in range(1000) if differs(Program(seed).text))
    short = shortest(Program(seed).text, differs)
    assert differs(short)
    assert len(short.splitlines()) < 9, short


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="no timers on this system")
def test_a_program_that_does_not_end_is_stopped_and_left_out(monkeypatch, tmp_path):
    path = Path(__file__).parents[2] / "scripts" / "fuzz_compile.py"
    spec = importlib.util.spec_from_file_location("fuzz_compile", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "LONGEST", 0.3)
    endless = "A = [1.0]\n@compiled\ndef f(x):\n    for v in A:\n        A.append(0.5)\n---\nf(X)\n"
    assert script.outcome(endless, str(tmp_path), "numpy", 0) == (None, False)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
