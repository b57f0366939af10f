"""Three trainings in float32, of batches in four pieces: 1, 2 and 4 ranks have the same bits.

Arguments: the number of ranks, and the file for the weights, the buffers and the figures.
"""

import sys

import numpy as np

import adjoint as ad
from adjoint import nn, optim

rng = np.random.default_rng(0)
x, y = rng.normal(size=(104, 8)).astype("float32"), rng.integers(0, 3, 104)
kept = {}
for k, settings in enumerate(({"accumulate": 2}, {"compiled": True}, {"compiled": True, "clip_norm": 0.5})):
    rows = 104 if k < 2 else 99  # the last batch: of 8, or of 3, with a piece without rows
    middle = [nn.BatchNorm1d(32), nn.ReLU()] if k < 2 else [nn.ReLU()]
    net = nn.Sequential(nn.Linear(8, 32, rng=0), *middle, nn.Dropout(0.3, rng=2), nn.Linear(32, 3, rng=1))
    optimizer = optim.AdamW(net.parameters(), lr=0.02)
    if k == 0:
        optimizer = ad.distributed.ShardedOptimizer(optimizer)
    history = ad.train.fit(
        net, (x[:rows], y[:rows]), optimizer=optimizer, metrics=["accuracy"], validation=(x[:51], y[:51]),
        scheduler=optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0), batch_size=32, progress=False,
        pieces=4, epochs=4, **settings,
    )  # fmt: skip
    kept |= {f"{k} {name}": value for name, value in history.last_state.items()}
    for epoch in history.epochs:
        kept |= {f"{k} {epoch.number} {name}": value for name, value in epoch.figures.items()}
with ad.distributed.only_first() as first:
    if first:
        np.savez(sys.argv[2], **kept)
