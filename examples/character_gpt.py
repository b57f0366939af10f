"""A small GPT learns a nursery rhyme letter by letter, and writes it (Radford et al., 2018)."""

import numpy as np

import adjoint as ad
from adjoint import nn

CHAIN = [
    ("the house that Jack built", ""), ("the malt", "lay in"), ("the rat", "ate"), ("the cat", "killed"),
    ("the dog", "worried"), ("the cow with the crumpled horn", "tossed"), ("the maiden all forlorn", "milked"),
    ("the man all tattered and torn", "kissed"), ("the priest all shaven and shorn", "married"),
    ("the cock that crowed in the morn", "waked"), ("the farmer sowing his corn", "kept"),
]  # fmt: skip


def windows(codes, length):
    """Every piece of `length` codes, and the piece that begins one later: two arrays (pieces, length)."""
    pieces = np.lib.stride_tricks.sliding_window_view(codes, length + 1)
    return pieces[:, :-1].copy(), pieces[:, 1:].copy()


def rhyme(count):
    """The first verses of "This is the house that Jack built": each says all that came before."""
    verses, tail = [], ""
    for thing, does in CHAIN[:count]:
        tail = f"{thing}\nthat {does} {tail}" if does else thing
        verses.append(f"This is {tail}.\n")
    return "\n".join(verses)


class Block(nn.Module):
    """Attention to what came before, then two layers for each place; each beside a shortcut."""

    def __init__(self, width, heads, rng):
        self.norm1 = nn.LayerNorm(width, dtype=np.float32)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True, rng=rng, dtype=np.float32)
        self.norm2 = nn.LayerNorm(width, dtype=np.float32)
        self.wide = nn.Linear(width, 4 * width, rng=rng, dtype=np.float32)
        self.narrow = nn.Linear(4 * width, width, rng=rng, dtype=np.float32)

    def forward(self, x):
        y = self.norm1(x)
        unseen = np.triu(np.ones((x.shape[1], x.shape[1]), dtype=bool), 1)  # True where a letter is not seen yet
        out, _ = self.attention(y, y, y, need_weights=False, attn_mask=unseen)
        x = x + out
        return x + self.narrow(nn.functional.gelu(self.wide(self.norm2(x))))


class GPT(nn.Module):
    """From codes (n, length) to logits of the next ones (n, length, letters)."""

    def __init__(self, letters, length, width, heads, layers, rng):
        self.length = length
        self.letter = nn.Embedding(letters, width, rng=rng, dtype=np.float32)
        self.place = nn.Embedding(length, width, rng=rng, dtype=np.float32)
        self.blocks = [Block(width, heads, rng) for _ in range(layers)]
        self.norm = nn.LayerNorm(width, dtype=np.float32)
        self.head = nn.Linear(width, letters, rng=rng, dtype=np.float32)

    def forward(self, codes):
        x = self.letter(codes) + self.place(np.arange(codes.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def write(self, codes, count):
        """Go on with `codes` by the likeliest letter, `count` times."""
        codes = list(codes)
        with ad.no_grad():
            for _ in range(count):
                logits = self(np.array([codes[-self.length :]])).numpy()[0, -1]
                codes.append(int(logits.argmax()))
        return codes


def loss(logits, codes):
    return nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), codes.reshape(-1))


def right(logits, codes):
    """The share of letters that are foreseen."""
    return np.mean(logits.argmax(axis=-1) == codes)


def main(epochs=16, verses=7, length=32, letters=200):
    """Learn the rhyme, and write. Returns the text, what it writes after the first letters, and the history."""
    text = rhyme(verses)
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(letter) for letter in text])
    model = GPT(len(alphabet), length, width=48, heads=4, layers=2, rng=np.random.default_rng(0))
    history = ad.train.fit(
        model,
        windows(codes, length),
        loss=loss,
        metrics={"accuracy": right},
        optimizer=ad.optim.AdamW(model.parameters(), lr=3e-3),
        scheduler="cosine",
        clip_norm=1.0,
        epochs=epochs,
        batch_size=32,
        compiled=True,
    )
    written = model.write(codes[:length], letters)
    written = "".join(alphabet[code] for code in written)
    print(written)
    return {"text": text, "written": written, "history": history}


if __name__ == "__main__":
    main(epochs=15, verses=len(CHAIN), letters=400)
