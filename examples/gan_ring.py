"""A generative adversarial network learns eight clouds on a ring (Goodfellow et al., 2014)."""

from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import nn


def clouds(count, rng, modes=8, radius=2.0, spread=0.05):
    """Points around `modes` places on a circle."""
    angles = 2 * np.pi * rng.integers(modes, size=count) / modes
    places = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return (places + rng.normal(scale=spread, size=(count, 2))).astype(np.float32)


def network(inputs, outputs, width, rng):
    made = {"rng": rng, "dtype": np.float32}
    return nn.Sequential(
        nn.Linear(inputs, width, **made), nn.LeakyReLU(0.2), nn.Linear(width, width, **made), nn.LeakyReLU(0.2),
        nn.Linear(width, outputs, **made),
    )  # fmt: skip


def judged(judge, points, real):
    """How wrong the judge is if all points are real, or none is."""
    logits = judge(points)
    return nn.binary_cross_entropy_with_logits(logits, np.full(logits.shape, float(real), np.float32))


@ad.compile(wait=True)
def duel(maker, judge, maker_step, judge_step, real, noise):
    """The judge learns to tell real points from made ones; then the maker learns to be taken for real."""
    made = maker(noise)
    judge_loss = judged(judge, real, True) + judged(judge, made.detach(), False)
    judge_step.zero_grad()
    judge_loss.backward(retain_graph=False)
    judge_step.step()
    maker_loss = judged(judge, made, True)
    maker_step.zero_grad()
    maker_loss.backward(retain_graph=False)
    maker_step.step()
    return maker_loss.detach(), judge_loss.detach()


def on_the_ring(points, modes=8, radius=2.0, near=0.3):
    """The share of points that are near one of the places, and how many of the places have such points."""
    angles = 2 * np.pi * np.arange(modes) / modes
    places = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    distances = np.linalg.norm(points[:, None] - places[None], axis=2)
    close = distances.min(axis=1) < near
    counts = np.bincount(distances.argmin(axis=1)[close], minlength=modes)
    return float(np.mean(close)), int(np.sum(counts > len(points) / modes / 10))


def main(epochs=30, folder=None):
    """Train both networks; with `folder`, a run that was killed goes on. Returns how good the made points are."""
    rng = np.random.default_rng(0)
    real = clouds(6400, rng)
    maker, judge = network(8, 2, 96, rng), network(2, 1, 96, rng)
    maker_step = ad.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.5, 0.999))
    judge_step = ad.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))
    loader = ad.data.DataLoader(real, batch_size=128, shuffle=True, drop_last=True, seed=1)
    checkpoint = None
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        checkpoint = ad.train.Checkpoint(Path(folder) / "gan.safetensors", maker=maker, judge=judge, loader=loader,
                                         maker_step=maker_step, judge_step=judge_step, also=rng)  # fmt: skip
        if checkpoint.exists():
            checkpoint.load()
    while loader.epoch < epochs:
        for points in loader:
            noise = rng.standard_normal((len(points), 8), dtype=np.float32)
            maker_loss, judge_loss = duel(maker, judge, maker_step, judge_step, points, noise)
        if checkpoint is not None:
            checkpoint.save()
        if loader.epoch % 10 == 0:
            print(f"epoch {loader.epoch:3d}   maker {maker_loss.item():.3f}   judge {judge_loss.item():.3f}")
    with ad.no_grad():
        points = maker(rng.standard_normal((2000, 8), dtype=np.float32)).numpy()
    share, modes = on_the_ring(points)
    print(f"{share:.0%} of the points that it makes lie in one of {modes} clouds of 8")
    return {"share": share, "modes": modes, "points": points, "maker": maker.state_dict()}


if __name__ == "__main__":
    main(epochs=120)
