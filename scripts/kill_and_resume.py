"""Kill trainings at random moments, go on with them, and compare every bit with the training that was never killed.

    python scripts/kill_and_resume.py --kills 1000

Each process that trains is forked from this one, so that a kill costs no imports. A third of the runs are compiled, and
of a third the data are loaded by processes of their own.
Prints how many runs and kills there were, and fails at the first difference. Needs a system that forks.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a forked process can not use this one's threads

import numpy as np

import adjoint as ad
from adjoint import nn, optim
from adjoint.train.fit import CHECKPOINT

KINDS = ("eager", "compiled", "loaded")
MOST = 10  # kills of one run


def blurred(batch: Any, rng: np.random.Generator) -> Any:
    """Noise of the loader's generator: another one for each batch."""
    x, y = batch
    return x + rng.normal(scale=0.1, size=x.shape).astype(x.dtype), y


def train(folder: str, kind: str) -> None:
    """A training in which everything that can be lost is used: dropout, momenta, a schedule, an order, noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 6)).astype(np.float32)
    y = (x @ rng.normal(size=6) > 0).astype(int)
    model = nn.Sequential(
        nn.Linear(6, 16, rng=1, dtype=np.float32), nn.BatchNorm1d(16, dtype=np.float32), nn.ReLU(),
        nn.Dropout(0.3, rng=2), nn.Linear(16, 2, rng=3, dtype=np.float32),
    )  # fmt: skip
    adam = optim.AdamW(model.parameters(), lr=0.02)
    loader = ad.data.DataLoader((x[:90], y[:90]), 16, shuffle=True, seed=4, transform=blurred,
                                num_workers=2 if kind == "loaded" else 0)  # fmt: skip
    ad.train.fit(
        model, loader, optimizer=adam, scheduler=optim.lr_scheduler.ExponentialLR(adam, 0.8), metrics=["accuracy"],
        validation=(x[90:], y[90:]), epochs=5, accumulate=2, clip_norm=1.0, compiled=kind == "compiled", folder=folder,
        resume=True, save_every=1, progress=False,
    )  # fmt: skip


def left_by(folder: Path) -> dict[str, Any]:
    """All that a finished run has left, without its times."""
    rows = [line.split(",")[:-1] for line in (folder / "metrics.csv").read_text().splitlines()]
    files = {name: (folder / name).read_bytes() for name in ("model.safetensors", "last.safetensors")}
    kept = ad.io.load(folder / CHECKPOINT)
    return {"rows": rows, **files, "optimizer": repr(kept["parts"]["optimizer"]), "drawn": repr(kept["generators"])}


def run_killed(folder: Path, kind: str, rng: np.random.Generator, longest: float, most: int) -> int:
    """Train in `folder` with up to `most` kills, each after up to `longest` seconds; how many there were."""
    fork = multiprocessing.get_context("fork")
    kills = 0
    while True:
        process = fork.Process(target=train, args=(str(folder), kind))
        process.start()
        if kills < most:
            time.sleep(rng.uniform(0, longest / 2))
            process.kill()
        process.join()
        if process.exitcode == 0:
            return kills
        if process.exitcode != -9:
            raise SystemExit(f"a resumed run failed with exit code {process.exitcode} after {kills} kills in {folder}")
        kills += 1
        if (folder / CHECKPOINT).exists():
            ad.io.load(folder / CHECKPOINT)  # the old or the new one: whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as name:
        os.environ["ADJOINT_CACHE"] = str(Path(name) / "native")
        wanted, longest = {}, {}
        for kind in KINDS:
            train(str(Path(name) / kind), kind)  # here, so that everything is loaded in the processes that are forked
            wanted[kind] = left_by(Path(name) / kind)
            start = time.perf_counter()
            run_killed(Path(name) / f"{kind}-again", kind, rng, 0.0, 0)
            longest[kind] = time.perf_counter() - start
        kills = runs = 0
        while kills < options.kills:
            kind, folder = KINDS[runs % len(KINDS)], Path(name) / f"run-{runs}"
            kills += run_killed(folder, kind, rng, longest[kind], min(options.kills - kills, MOST))
            found = left_by(folder)
            for what, value in wanted[kind].items():
                if found[what] != value:
                    raise SystemExit(f"run {runs} ({kind}): {what} differs from that of the run that was never killed")
            runs += 1
    print(f"{kills} kills in {runs} runs: every bit as without")


if __name__ == "__main__":
    main()
