"""A variational autoencoder puts digits on a plane (Kingma and Welling, "Auto-Encoding Variational Bayes", 2014)."""

import numpy as np

import adjoint as ad
from adjoint import nn


def as_shares(pictures):
    """Pixels from 0 to 1, single precision."""
    return (pictures / np.max(pictures)).astype(np.float32)


class VAE(nn.Module):
    """From pictures to the mean and the log-variance of a place, and from a place drawn there to a picture."""

    def __init__(self, pixels, width, places, rng):
        def dense(inputs, outputs):
            return nn.Linear(inputs, outputs, rng=rng, dtype=np.float32)

        self.encoder = nn.Sequential(dense(pixels, width), nn.ReLU(), dense(width, 2 * places))
        self.decoder = nn.Sequential(dense(places, width), nn.ReLU(), dense(width, pixels))
        self.rng = rng

    def forward(self, x):
        mean, log_variance = np.split(self.encoder(x), 2, axis=1)
        noise = self.rng.standard_normal(mean.shape, dtype=np.float32) if self.training else 0.0
        return self.decoder(mean + np.exp(0.5 * log_variance) * noise), mean, log_variance


def loss(answer, x):
    """What a picture costs in nats: to say its pixels, and how its place differs from a normal one."""
    logits, mean, log_variance = answer
    pixels = np.sum(nn.binary_cross_entropy_with_logits(logits, x, reduction="none"), axis=1)
    places = 0.5 * np.sum(np.exp(log_variance) + mean**2 - 1 - log_variance, axis=1)
    return np.mean(pixels + places)


def draw(model, x, labels, path):
    """Where the digits lie on the plane, and what the decoder makes of a grid of places."""
    from matplotlib.figure import Figure

    with ad.no_grad():
        _, means, _ = model(x)
        means, steps = means.numpy(), np.linspace(-2.2, 2.2, 13, dtype=np.float32)
        grid = np.array([[a, b] for b in steps[::-1] for a in steps])
        pictures = 1 / (1 + np.exp(-model.decoder(grid).numpy()))
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    dots = left.scatter(*means.T, c=labels, cmap="tab10", s=8)
    left.legend(*dots.legend_elements(), loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="digit")
    left.set(title="where digits lie", xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
    framed = np.pad(pictures.reshape(13, 13, 8, 8), ((0, 0), (0, 0), (2, 2), (2, 2)))
    tiles = framed.transpose(0, 2, 1, 3).reshape(13 * 12, 13 * 12)
    right.imshow(tiles, cmap="gray_r", extent=(-2.4, 2.4, -2.4, 2.4))
    right.set(title="what the decoder draws at each place", xlabel="first coordinate")
    figure.savefig(path, dpi=110)


def main(epochs=15, path=None):
    """Learn without labels. Returns the cost on pictures not seen, and how often neighbours on the plane are alike."""
    digits = ad.data.digits()
    x = as_shares(digits.x)
    rows = np.random.default_rng(0).permutation(len(x))
    x, labels = x[rows], digits.y[rows]
    model = VAE(64, 128, 2, np.random.default_rng(1))
    history = ad.train.fit(
        model,
        x[:1500],
        loss=loss,
        optimizer=ad.optim.Adam(model.parameters(), lr=3e-3),
        scheduler="cosine",
        validation=x[1500:],
        epochs=epochs,
        batch_size=50,
    )
    with ad.no_grad():
        places = model(x)[1].numpy()
    distances = np.sum((places[1500:, None] - places[None, :1500]) ** 2, axis=2)
    nearest = labels[np.argsort(distances, axis=1)[:, :5]]
    alike = float(np.mean(nearest == labels[1500:, None]))
    print(f"a picture costs {history['validation_loss'][-1]:.1f} nats; {alike:.0%} of the neighbours are of its digit")
    if path is not None:
        draw(model, x, labels, path)
    return {"history": history, "alike": alike}


if __name__ == "__main__":
    main(epochs=60, path="digits_vae.png")
