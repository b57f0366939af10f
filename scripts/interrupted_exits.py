"""Programs that are interrupted while native code is made beside them: each must end, and say nothing but what it must.

``python scripts/interrupted_exits.py --runs 100`` starts so many processes, a few at a time, sends each Ctrl-C at
random moments, also while it ends, and counts those that stall, crash, or write something else than Python's own
traceback of the interrupt. The exit status is 1 if there are some. It needs signals, so that it runs on Unix only.
"""

from __future__ import annotations

import argparse
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

PATIENCE = 120.0  # seconds in which a process must end
NOTICED = 30.0  # seconds in which it must notice an interrupt
PROGRAM = """
import itertools, signal, sys, traceback
import numpy as np
import adjoint as ad

endings, survived = sys.argv[1], 0
x = np.linspace(0.1, 0.9, 50)
# Modules are loaded before: Python makes other errors of an interrupt in the midst of that.
warm = ad.compile(ad.grad(lambda x: np.sum(np.tanh(x) + np.sin(x))), wait=True)
warm(x), warm(x)
unnoticed = []


def interrupt(number, frame):
    if unnoticed:  # and asked once more: where the first one was lost
        print("lost", *unnoticed, file=sys.stderr)
    unnoticed[:] = traceback.format_stack(frame)
    raise KeyboardInterrupt


signal.signal(signal.SIGINT, interrupt)
print("ready", flush=True)


def work(number):
    for k in itertools.count(number * 1000):
        def f(x):
            y = x * (k + 0.5)
            for _ in range(3 + k % 7):
                y = np.tanh(y) + np.sin(x * k)
            return np.sum(y)

        compiled = ad.compile(ad.grad(f) if k % 2 else f)
        for _ in range(4):
            compiled(x)


while survived < int(sys.argv[2]):
    try:
        work(survived)
    except KeyboardInterrupt:
        survived += 1
        unnoticed.clear()
        print("interrupted", flush=True)
        if endings == "uncaught" and survived == int(sys.argv[2]):
            raise
"""
BAD = re.compile(r"Exception ignored|llvm|^lost", re.MULTILINE)  # what nothing may say


def outcome(rng: random.Random, program: Path) -> tuple[str, str]:
    """What became of one process, and what it said."""
    ending, times = rng.choice(["caught", "uncaught"]), rng.randint(1, 3)
    command = [sys.executable, str(program), ending, str(times)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    for _ in range(times):
        time.sleep(rng.expovariate(2.0))
        process.send_signal(signal.SIGINT)
        if not select.select([process.stdout], [], [], NOTICED)[0]:
            process.send_signal(signal.SIGINT)  # it says where it lost the first one
        process.stdout.readline()
    late = rng.random() < 0.3
    if late:  # once more, while it ends
        time.sleep(rng.expovariate(20.0))
        process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        return "stalled", process.communicate()[1]
    if process.returncode not in ((0, 1, 130, -2) if late else (0, 130, -2)):
        return f"ended with {process.returncode}", said
    # A late interrupt may come anywhere in the interpreter's own end: what it says of that is its own.
    if (said.strip() and not said.strip().endswith("KeyboardInterrupt")) or (BAD.search(said) and not late):
        return "said something else", said
    return "ended well", ""


def main() -> int:
    """Start the processes, and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100, help="how many processes")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    given = parser.parse_args()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:  # a file, since functions are recorded by their source
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        for k in range(given.runs):
            what, said = outcome(random.Random(given.seed + k), program)
            found[what] += 1
            if what != "ended well":
                print(f"run {given.seed + k}: {what}\n{said[-3000:]}", flush=True)
    print(f"{given.runs} processes: {', '.join(f'{often} {what}' for what, often in found.items())}")
    return int(found["ended well"] < given.runs)


if __name__ == "__main__":
    sys.exit(main())
