"""An LSTM foresees a chaotic series, the Mackey-Glass equation (Mackey and Glass, Science 197, 1977)."""

import numpy as np

import adjoint as ad
from adjoint import nn


def mackey_glass(count, delay=17, every=6):
    """Values of x' = 0.2 x(t - delay) / (1 + x(t - delay)**10) - 0.1 x in steps of 1, every `every` steps."""
    x = np.full(delay + 1 + (count + 50) * every, 1.2)
    for t in range(delay, len(x) - 1):
        late = x[t - delay]
        x[t + 1] = x[t] + 0.2 * late / (1 + late**10) - 0.1 * x[t]
    return x[delay + 1 + 50 * every :: every][:count]


def windows(series, length):
    """Pieces of the series (n, length, 1), and the value behind each (n, 1)."""
    pieces = np.lib.stride_tricks.sliding_window_view(series, length + 1).astype(np.float32)
    return pieces[:, :-1, None].copy(), pieces[:, -1:].copy()


class Foresee(nn.Module):
    """How the next value differs from the last one."""

    def __init__(self, width, rng):
        self.lstm = nn.LSTM(1, width, batch_first=True, rng=rng, dtype=np.float32)
        self.head = nn.Linear(width, 1, rng=rng, dtype=np.float32)

    def forward(self, x):
        out, _ = self.lstm(x)
        return x[:, -1] + self.head(out[:, -1])


def main(epochs=15, length=16, width=24):
    """Learn from the first part of the series. Returns errors on the rest, beside those of two simple forecasts."""
    series = mackey_glass(900)
    x, y = windows((series - series.mean()) / series.std(), length)
    learned, unseen = slice(0, 600), slice(600 + length, None)
    model = Foresee(width, np.random.default_rng(0))
    history = ad.train.fit(
        model,
        (x[learned], y[learned]),
        optimizer=ad.optim.Adam(model.parameters(), lr=5e-3),
        scheduler="cosine",
        clip_norm=1.0,
        epochs=epochs,
        batch_size=32,
    )
    with ad.no_grad():
        found = model(x[unseen]).numpy()
    rows = np.column_stack([x[learned, :, 0], np.ones(600)])
    linear = np.column_stack([x[unseen, :, 0], np.ones(len(found))]) @ np.linalg.lstsq(rows, y[learned])[0]
    errors = {name: float(np.sqrt(np.mean((forecast - y[unseen]) ** 2)))
              for name, forecast in (("LSTM", found), ("as before", x[unseen, -1]), ("linear", linear))}  # fmt: skip
    for name, error in errors.items():
        print(f"{name:>10}: root mean squared error {error:.4f} of the deviation of the series")
    return {"errors": errors, "history": history}


if __name__ == "__main__":
    main(epochs=60)
