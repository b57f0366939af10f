"""A ResNet-8 reads handwritten digits (He et al., "Deep Residual Learning for Image Recognition", 2016)."""

import numpy as np

import adjoint as ad
from adjoint import nn


def upsampled(pictures, times):
    """Pictures (n, height, width), each pixel repeated along both axes; as (n, 1, height, width) from 0 to 1."""
    larger = np.repeat(np.repeat(pictures, times, axis=1), times, axis=2)
    return (larger / larger.max())[:, None].astype(np.float32)


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels, width, stride, rng):
        made = {"bias": False, "rng": rng, "dtype": np.float32}
        self.conv1 = nn.Conv2d(channels, width, 3, stride=stride, padding=1, **made)
        self.norm1 = nn.BatchNorm2d(width, dtype=np.float32)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, **made)
        self.norm2 = nn.BatchNorm2d(width, dtype=np.float32)
        same = stride == 1 and channels == width
        self.shortcut = nn.Identity() if same else nn.Conv2d(channels, width, 1, stride=stride, **made)

    def forward(self, x):
        inner = nn.functional.relu(self.norm1(self.conv1(x)))
        return nn.functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


def resnet8(classes, rng, width=8):
    """Eight layers with weights: one convolution, three blocks of two, one product."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1, rng=rng, dtype=np.float32),
        Block(width, width, 1, rng),
        Block(width, 2 * width, 2, rng),
        Block(2 * width, 4 * width, 2, rng),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, classes, rng=rng, dtype=np.float32),
    )


def main(epochs=12, times=1, folder=None):
    """Train on two thirds of the digits that come with scikit-learn. Returns the history and the test accuracy."""
    digits = ad.data.digits()
    pictures = upsampled(digits.x.reshape(-1, 8, 8), times)
    rows = np.random.default_rng(0).permutation(len(digits))
    learned, held_out = rows[:1200], rows[1200:]
    model = resnet8(10, np.random.default_rng(1))
    history = ad.train.fit(
        model,
        (pictures[learned], digits.y[learned]),
        optimizer=ad.optim.AdamW(model.parameters(), lr=4e-3),
        scheduler="cosine",
        metrics=["accuracy"],
        epochs=epochs,
        batch_size=32,
        compiled=True,
        folder=folder,
        resume=folder is not None,
    )
    found = ad.train.evaluate(model, ad.data.DataLoader((pictures[held_out], digits.y[held_out]), 64),
                              metrics={"accuracy": ad.train.accuracy})  # fmt: skip
    print(f"{len(held_out)} digits it has not seen: {found['accuracy']:.1%} right")
    return {"history": history, "accuracy": found["accuracy"], "model": model}


if __name__ == "__main__":
    main(epochs=15, times=2)
