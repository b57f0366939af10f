"""A training with dropout, a schedule and uneven batches; with a folder it can be stopped and resumed.

Arguments: the number of ranks, the folder, epochs, the file for the last weights, and seconds that each step waits.
"""

import sys
import time
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import nn, optim

_, _, folder, epochs, out, *pause = sys.argv
rng = np.random.default_rng(0)
x = rng.normal(size=(61, 5))
y = (x[:, 0] * x[:, 1] > 0).astype(int)
net = nn.Sequential(nn.Linear(5, 24, rng=1), nn.ReLU(), nn.Dropout(0.3, rng=2), nn.Linear(24, 2, rng=3))
optimizer = optim.AdamW(net.parameters(), lr=0.02)
if "sharded" in folder:
    optimizer = ad.distributed.ShardedOptimizer(optimizer)


class Waiting(ad.train.Callback):
    def on_step(self, step):
        time.sleep(float(*pause) if pause else 0.0)


history = ad.train.fit(
    net, (x[:50], y[:50]), optimizer=optimizer, metrics=["accuracy"], validation=(x[50:], y[50:]),
    scheduler=optim.lr_scheduler.StepLR(optimizer, 2, 0.5), epochs=int(epochs), batch_size=16, seed=4, accumulate=2,
    transform=lambda batch, rng: (batch[0] + 0.01 * rng.normal(size=batch[0].shape), batch[1]),
    folder=Path(folder), resume=True, progress=False, save_every=1,
    callbacks=[Waiting()], compiled="compiled" in folder,
)  # fmt: skip
with ad.distributed.only_first() as first:
    if first:
        figures = {f"figure {k}": v for k, v in history.epochs[-1].figures.items()}
        np.savez(out, *history.last_state.values(), **figures)
