"""The statements of random programs, as templates, and the arrays that programs take.

In ``templates/``, ``{x}`` and ``{y}`` stand for values, ``{r}`` and ``{s}`` for real ones, ``{t}`` for memory of the
program's own to be written, ``{m}`` for truth values, ``{i}`` for whole numbers, ``{v}`` for the new name, ``{c}``
for a constant, ``{ax}`` for an axis and ``{n}`` for a small number. A template whose shapes do not fit is drawn again.
"""

import functools
from pathlib import Path

FOLDER = Path(__file__).parent / "templates"
OFTEN = {"elementwise": 6, "reductions": 5, "shapes": 7, "products": 3, "masks": 3, "writes": 6, "blocks": 4}
WITHOUT_A_NAME = ("writes", "blocks")  # the others are expressions, which get a name


def templates(family):
    """The templates of a family: one a line; of blocks, one a paragraph."""
    text = (FOLDER / f"{family}.txt").read_text()
    if family == "blocks":
        return text.strip().split("\n\n")
    lines = text.split("\n")[:-1]
    return lines if family in WITHOUT_A_NAME else [f"{{v}} = {line}" for line in lines]


FAMILIES = [(often, templates(family)) for family, often in OFTEN.items()]

SHAPES = [
    "2, 3",
    "3",
    "",
    "3, 3",
    "3, 2",
    "2, 2",
    "2, 1",
    "1, 3",
    "2, 2, 3",
    "2, 3, 2",
    "4",
    "2",
    "1",
    "1, 2, 3",
    "0",
    "0, 3",
    "2, 0",
]
SHAPES_OFTEN = [9, 8, 5, 8, 6, 6, 3, 3, 4, 4, 3, 3, 1, 1, 0.5, 0.5, 0.5]
DTYPES = ["", "complex", "np.float32", "np.complex64", "np.float16"]
DTYPES_OFTEN = [20, 6, 2, 0.7, 0.7]


@functools.cache
def layouts(shape, dtype):
    """Expressions of arrays of one shape in every layout."""
    return list(laid_out(shape, dtype))


def laid_out(shape, dtype):
    sizes = [int(n) for n in shape.split(", ") if n]
    kind = f", dtype={dtype}" if dtype else ""

    def draw(sizes):
        return f"draw({', '.join(map(str, sizes))}{kind})".replace("(, ", "(")

    yield draw(sizes)
    if sizes:
        yield draw(sizes) + "[::-1]"
        yield draw([*sizes[:-1], 2 * sizes[-1]]) + "[..., ::2]"
        yield f"np.broadcast_to({draw(sizes[1:])}, ({shape},))"
        yield draw(sizes) + "[..., ::-1]"
    if len(sizes) > 1:
        yield draw(sizes[::-1]) + ".T"
        yield f"np.asfortranarray({draw(sizes)})"
        yield draw([sizes[1], sizes[0], *sizes[2:]]) + ".swapaxes(0, 1)"
        yield draw(sizes[::-1]) + ".T[::-1]"
        yield f"np.broadcast_to({draw([*sizes[:-1], 1])}, ({shape}))"


def leaf(rng, shape=None):
    """The shape of an argument, one that is drawn if none is given, and how it is made."""
    if shape is None:
        shape = rng.choices(SHAPES, SHAPES_OFTEN)[0]
    every = layouts(shape, rng.choices(DTYPES, DTYPES_OFTEN)[0])
    return shape, every[0] if rng.random() < 0.4 else rng.choice(every)
