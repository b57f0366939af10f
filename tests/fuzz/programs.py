"""Random programs: statements drawn from templates; NumPy itself says which fit, by running them."""

import functools
import itertools
import linecache
import math
import random
import re
import warnings

import numpy as np

from . import own
from .statements import families, leaf

LARGEST, MOST = 200.0, 40  # of a value's numbers, and how many of them
NAMES = "abc"
GIVEN = {
    "np": np,
    "own": own,
    "math": math,
    "functools": functools,
    "itertools": itertools,
}  # what programs name besides their arguments
KINDS = {"m": "b", "i": "iu", "r": "f", "s": "f"}  # of what stands for a letter in templates


class Program:
    """A function of a few arrays, as text, and how its arguments are drawn."""

    def __init__(self, text, arguments, function=None):
        self.text, self.arguments = text, arguments
        self.function = function or made(text)
        self.ran = None  # the arguments of seed 0 and what NumPy gives for them, once it is known to fit

    def point(self, seed):
        """The arguments; other values, of the same shapes and layouts, for another seed."""
        rng = np.random.default_rng(seed)

        def draw(*shape, dtype=float):
            values = np.asarray(rng.uniform(-1.2, 1.2, shape))
            if np.dtype(dtype).kind == "c":
                values = values + 1j * rng.uniform(-1.2, 1.2, shape)
            return np.asarray(values, dtype)

        return [np.asarray(eval(drawing(text), {"draw": draw, "np": np})) for text in self.arguments]

    def fits(self):
        """Whether NumPy runs it without complaint, to numbers of modest size, and its arguments stay as they are."""
        given = self.point(0)
        before = [x.copy() for x in given]
        try:
            with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")
                results = self.function(*given)
        except Exception:
            return False
        if not isinstance(results, tuple) or not all(getattr(x, "dtype", np.dtype(bool)).kind in "fc" for x in results):
            return False
        if not all(map(modest, results)) or not all(map(np.array_equal, given, before)):
            return False
        self.ran = given, results
        return True

    def __str__(self):
        return f"# arguments: {'; '.join(self.arguments)}\n{self.text.strip()}\n"


@functools.cache
def drawing(text):
    return compile(text, "<argument>", "eval")


def made(text):
    """The function of a text."""
    file = f"<program {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = GIVEN | {"__name__": __name__}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def read(entry):
    """The program that was written as text."""
    first, _, text = entry.strip().partition("\n")
    return Program(text + "\n", first.removeprefix("# arguments: ").split("; "))


def generate(seed, kind="any"):
    """The program of a seed."""
    return written(random.Random(seed), kind)[0]


def generate_many(seed, most, kind="any"):
    """The program of a seed, and the same text for arguments of other layouts, dtypes and shapes, as far as it runs."""
    rng = random.Random(seed)
    first, shapes = written(rng, kind)
    yield first
    tried = {tuple(first.arguments)}
    for _ in range(2 * (most - 1)):
        others = [leaf(rng, shape if rng.random() < 0.75 else None, kind) for shape in shapes]
        program = Program(first.text, [text for _, text in others], first.function)
        if tuple(program.arguments) not in tried and len(tried) < most and program.fits():
            tried.add(tuple(program.arguments))
            yield program


def written(rng, kind="any"):
    """A program, and the shapes of its arguments."""
    shapes, arguments = zip(*(leaf(rng, kind=kind) for _ in range(rng.randint(1, 3))), strict=True)
    start = Program("def f(): pass", arguments, print).point(0)
    lines, space = [], afresh([], start)
    wanted = rng.randint(5, 25)
    for _ in range(wanted * 25):
        line = fill(rng, space, start, kind)
        if line is None:
            continue
        if runs(line, space):
            lines.append(line)
        elif re.match(r"v\d+ = .*\Z", line):  # an expression, which changes nothing but its name
            space.pop(line.partition(" ")[0], None)
        else:
            space = afresh(lines, start)
        if len(lines) == wanted:
            break
    results = [name for name, _ in arrays(space, "fc") if name not in NAMES] or [NAMES[0]]
    results = list(dict.fromkeys([results[-1], *rng.choices(results, k=rng.randint(0, 5))]))
    body = "\n".join(f"    {part}" for line in lines for part in line.split("\n"))
    text = f"def f({', '.join(NAMES[: len(start)])}):\n{body}\n    return {', '.join(results)},\n"
    return Program(text, list(arguments)), shapes


def afresh(lines, start):
    """What the names stand for after `lines`."""
    space = GIVEN | dict(zip(NAMES, start, strict=False))
    for line in lines:
        assert runs(line, space)
    return space


def runs(line, space):
    """Whether NumPy runs the line, to values of modest size."""
    before = {name: id(x) for name, x in space.items()}
    try:
        with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(line, space)
    except Exception:
        return False
    finally:
        space.pop("__builtins__", None)
    new = line.startswith("v") and "\n" not in line  # an expression: nothing else has changed
    return all(modest(x) for name, x in space.items() if is_value(name) and not (new and before.get(name) == id(x)))


def modest(x):
    """Whether it is an array of a few numbers of modest size."""
    return isinstance(x, np.ndarray | np.generic) and x.size <= MOST and x.dtype.kind in "biufc" and (
        x.dtype.kind in "biu" or not x.size or bool(np.abs(x).max() < LARGEST)
    )  # fmt: skip


def is_value(name):
    """Whether the name stands for an array of the program's: an argument, or ``v`` and a number."""
    return name in NAMES or (name[0] == "v" and name[1:].isdigit())


def arrays(space, kinds):
    """The names that stand for arrays of some kinds, in the order in which they came."""
    return [(name, x) for name, x in space.items() if is_value(name) and x.dtype.kind in kinds]


def may_be_written(x):
    with warnings.catch_warnings(action="ignore"):  # of results of np.broadcast_arrays
        return isinstance(x, np.ndarray) and x.flags.writeable


def fill(rng, space, start, kind="any"):
    """A line with names of the program in it; None if there is nothing of a kind that it wants."""
    template = rng.choice(rng.choices(*families(kind))[0])
    inputs = [space[name] for name in NAMES[: len(start)]]
    names = {"v": f"v{sum(is_value(name) for name in space)}", "n": str(rng.randint(1, 3))}
    names["c"] = repr(round(rng.uniform(-0.9, 1.4), 2))
    names["ax"] = rng.choice(["0", "-1", "1", "0"])
    for key in dict.fromkeys(re.findall(r"{(\w+)}", template)):
        if key in names:
            continue
        found = arrays(space, KINDS.get(key, "fc"))
        if key in "tu":  # arguments stay as they are
            found = [(name, x) for name, x in found if not any(np.may_share_memory(x, y) for y in inputs)]
            found = [(name, x) for name, x in found if may_be_written(x)]
        if key == "u":  # beside {t}, and apart from it
            found = [(name, x) for name, x in found if not np.may_share_memory(x, space[names["t"]])]
        if not found:
            return None
        late = found[-4:] if rng.random() < 0.6 else found
        names[key] = rng.choice(late)[0]
    return template.format_map(names)
