"""Random programs: statements drawn from templates; NumPy itself says which fit, by running them."""

import linecache
import random
import re
import textwrap
import warnings

import numpy as np

from .statements import ARGUMENTS, FAMILIES

LARGEST, MOST = 200.0, 40  # of a value's numbers, and how many of them
NAMES = "abc"


class Program:
    """A function of a few arrays, as text, and how its arguments are drawn."""

    def __init__(self, text, arguments):
        self.text, self.arguments = text, arguments
        file = f"<program {hash(text)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        space = {"np": np, "__name__": __name__}
        exec(compile(text, file, "exec"), space)
        self.function = space["f"]

    def point(self, seed):
        """The arguments; other values, of the same shapes and layouts, for another seed."""
        rng = np.random.default_rng(seed)

        def draw(*shape):
            return np.asarray(rng.uniform(-1.2, 1.2, shape))

        return [np.asarray(eval(text, {"draw": draw, "np": np})) for text in self.arguments]

    def fits(self):
        """Whether NumPy runs it without complaint, to numbers of modest size, and its arguments stay as they are."""
        given = self.point(0)
        before = [x.copy() for x in given]
        *body, last = self.text.rstrip().split("\n")[1:]
        space = {"np": np} | dict(zip(NAMES, given, strict=False))
        if not runs(textwrap.dedent("\n".join(body)), space):
            return False
        results = eval(last.strip().removeprefix("return "), space)
        if not isinstance(results, tuple) or not all(getattr(x, "dtype", np.dtype(bool)).kind in "fc" for x in results):
            return False
        return all(np.array_equal(x, y) for x, y in zip(given, before, strict=True))

    def __str__(self):
        return f"# arguments: {'; '.join(self.arguments)}\n{self.text.strip()}\n"


def read(entry):
    """The program that was written as text."""
    first, _, text = entry.strip().partition("\n")
    return Program(text + "\n", first.removeprefix("# arguments: ").split("; "))


def generate(seed):
    """The program of a seed."""
    rng = random.Random(seed)
    arguments = [rng.choice(ARGUMENTS) for _ in range(rng.randint(1, 3))]
    start = Program("def f(): pass", arguments).point(0)
    lines, space = [], afresh([], start)
    wanted = rng.randint(5, 25)
    for _ in range(wanted * 25):
        line = fill(rng, space, start)
        if line is None:
            continue
        if runs(line, space):
            lines.append(line)
        else:
            space = afresh(lines, start)
        if len(lines) == wanted:
            break
    results = [name for name, x in arrays(space, "fc") if name not in NAMES] or [NAMES[0]]
    results = list(dict.fromkeys([results[-1], *rng.choices(results, k=rng.randint(0, 5))]))
    body = "\n".join(f"    {part}" for line in lines for part in line.split("\n"))
    return Program(f"def f({', '.join(NAMES[: len(start)])}):\n{body}\n    return {', '.join(results)},\n", arguments)


def afresh(lines, start):
    """What the names stand for after `lines`."""
    space = {"np": np} | dict(zip(NAMES, start, strict=False))
    for line in lines:
        assert runs(line, space)
    return space


def runs(line, space):
    """Whether NumPy runs the line, to values of modest size."""
    try:
        with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(line, space)
    except Exception:
        return False
    space.pop("__builtins__")
    values = [x for name, x in space.items() if name not in ("np", "j")]
    return all(
        isinstance(x, np.ndarray | np.generic) and 0 < x.size <= MOST
        and (x.dtype.kind in "bi" or (x.dtype.itemsize >= 8 and np.all(np.abs(x) < LARGEST)))
        for x in values
    )  # fmt: skip


def arrays(space, kinds):
    """The names that stand for arrays of some kinds, in the order in which they came."""
    return [(name, x) for name, x in space.items() if name not in ("np", "j") and x.dtype.kind in kinds]


def fill(rng, space, start):
    """A line with names of the program in it; None if there is nothing of a kind that it wants."""
    family = rng.choices(FAMILIES, [often for often, _ in FAMILIES])[0][1]
    template = rng.choice(family)
    inputs = [space[name] for name in NAMES[: len(start)]]
    names = {"v": f"v{sum(name.startswith('v') for name in space)}", "n": str(rng.randint(1, 3))}
    names["c"] = repr(round(rng.uniform(-0.9, 1.4), 2))
    names["ax"] = rng.choice(["0", "-1", "1", "0"])
    for key in set(re.findall(r"{(\w+)}", template)) - set(names):
        found = arrays(space, {"m": "b", "i": "i", "r": "f", "s": "f"}.get(key, "fc"))
        if key == "t":  # arguments stay as they are
            found = [(name, x) for name, x in found if isinstance(x, np.ndarray) and x.flags.writeable]
            found = [(name, x) for name, x in found if not any(np.may_share_memory(x, y) for y in inputs)]
        if not found:
            return None
        late = found[-4:] if rng.random() < 0.6 else found
        names[key] = rng.choice(late)[0]
    return template.format_map(names)
