"""The statements of random programs, as templates, and the arrays that programs take.

In ``templates/``, ``{x}`` and ``{y}`` stand for values, ``{r}`` and ``{s}`` for real ones, ``{t}`` for memory of the
program's own to be written, ``{m}`` for truth values, ``{i}`` for whole numbers, ``{v}`` for the new name, ``{c}``
for a constant, ``{ax}`` for an axis and ``{n}`` for a small number. A template whose shapes do not fit is drawn again.
"""

import functools
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "templates"
WITHOUT_A_NAME = (
    "writes",
    "blocks",
    "mixed_writes",
    "out",
    "out_blocks",
    "usual_writes",
    "usual_blocks",
)  # the others are expressions, with a name


class Kind(NamedTuple):
    """What programs of a kind are drawn from: families of templates and dtypes of arguments, and how often each."""

    families: dict[str, float]
    dtypes: dict[str, float]


DTYPES = {"": 20, "complex": 6, "np.float32": 2, "np.complex64": 0.7, "np.float16": 0.7}
MIXED = {"": 6, "complex": 3, "np.float32": 6, "np.complex64": 3, "np.float16": 3}
KINDS = {
    "any": Kind(
        {"elementwise": 6, "reductions": 5, "shapes": 7, "products": 3, "masks": 3, "writes": 6, "blocks": 4}, DTYPES
    ),
    "mixed": Kind(
        {"mixed": 24, "mixed_writes": 12, "elementwise": 2, "reductions": 2, "shapes": 4, "masks": 2, "writes": 2},
        MIXED,
    ),
    "out": Kind(
        {"out": 24, "out_blocks": 6, "elementwise": 3, "shapes": 4, "masks": 3, "writes": 2}, DTYPES | {"np.float32": 4}
    ),
    "usual": Kind(
        {"usual": 16, "usual_writes": 12, "usual_blocks": 8, "elementwise": 2, "shapes": 3, "masks": 3, "writes": 2},
        DTYPES | {"np.float32": 4},
    ),
    "own": Kind({"own": 20, "elementwise": 4, "reductions": 2, "shapes": 4, "masks": 1, "writes": 3}, MIXED | {"": 12}),
}


def templates(family):
    """The templates of a family: one a line; of blocks, one a paragraph."""
    text = (FOLDER / f"{family}.txt").read_text()
    if family.endswith("blocks"):
        return text.strip().split("\n\n")
    lines = text.split("\n")[:-1]
    return lines if family in WITHOUT_A_NAME else [f"{{v}} = {line}" for line in lines]


@functools.cache
def families(kind):
    """The templates of each family that programs of `kind` have, and how often they have one of it."""
    return [templates(family) for family in KINDS[kind].families], list(KINDS[kind].families.values())


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


def leaf(rng, shape=None, kind="any"):
    """The shape of an argument, one that is drawn if none is given, and how it is made."""
    if shape is None:
        shape = rng.choices(SHAPES, SHAPES_OFTEN)[0]
    every = layouts(shape, rng.choices(list(KINDS[kind].dtypes), list(KINDS[kind].dtypes.values()))[0])
    return shape, every[0] if rng.random() < 0.4 else rng.choice(every)
