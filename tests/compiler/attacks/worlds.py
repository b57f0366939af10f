"""A world is a program, what it is called with, and what is changed between the calls; it is lived plain and compiled.

A world is text: a module, a line `---`, and statements that are executed one after the other in that module. Functions
that are to be compiled have the decorator `@compiled`. Each expression is evaluated several times. After each time,
what it gave, raised, printed and warned of is kept, and all that the module's names lead to.
"""

import ast
import contextlib
import contextvars
import io
import itertools
import linecache
import logging
import os
import random
import sys
import types
import warnings
from pathlib import Path

import numpy as np

import adjoint as ad

from .seen import Seen, close, close_but_for_zeros, scrubbed

NATIVE, EXACT = 1e-9, 0.0
# Of these NumPy does not say in which order they add, and compiled programs take another one.
UNORDERED = ("einsum", "polyfit", "add.at", "subtract.at")
MODES = {  # how it is compiled, how often an expression is evaluated, and how near numbers have to be
    "numpy": ({"wait": True, "backend": "numpy"}, 2, EXACT),
    "native": ({"wait": True}, 2, NATIVE),
    "default": ({}, 3, NATIVE),
}
FLOATING = (
    "divide by zero",
    "invalid value",
    "overflow",
    "underflow",
    "Mean of empty",
    "Degrees of freedom",
    "All-NaN",
)
HINT = "() without keywords "  # what PyTorch means by a name: said by the first call
NAMES = itertools.count()
HEADER = """import numpy as np
import adjoint as ad
from adjoint import nn, optim
X = np.array([0.5, -1.25, 2.0])
"""


def split(text):
    """The module and the statements of a world."""
    module, found, script = text.partition("\n---\n")
    assert found, f"there is no line --- in\n{text}"
    return HEADER + module, script


class World:
    """One life of a world: `compile` is what the decorator does, `path` the file that its source is in."""

    def __init__(self, text, path, options, times, seed=0):
        module, script = split(text)
        self.options, self.times = options, times
        self.tree = ast.parse("\n" * (module.count("\n") + 2) + script, str(path))
        source = f"{module}\n# ---\n{script}"
        if not path.exists() or path.read_text() != source:
            path.write_text(source)
        linecache.checkcache(str(path))
        self.module, self.path = types.ModuleType(path.stem), path
        self.folder = path.parent / f"{path.stem}_{next(NAMES)}"
        self.space = vars(self.module)
        self.space.update(__file__=str(path), compiled=self.compiled, FOLDER=self.folder)
        self.originals = {"made": [], "own": {"__wrapped__"}}
        self.trace = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that are called, say
            self.code = compile(module, str(path), "exec")
        self.seed = seed

    def compiled(self, f=None, **more):
        """The decorator: nothing, or `ad.compile`."""
        if f is None:
            return lambda f: self.compiled(f, **more)
        if self.options is None:
            return f
        made = ad.compile(f, **self.options, **more)
        self.originals[id(made)] = f
        self.originals["made"].append((made, f))
        self.originals["own"] |= set(vars(made))
        return made

    def live(self):
        """Execute all of it; what was seen, statement by statement."""
        random.seed(self.seed)
        np.random.seed(self.seed)  # noqa: NPY002 - worlds draw from it
        sys.modules[self.module.__name__] = self.module
        self.folder.mkdir()
        state, folder = np.geterr(), Path.cwd()
        try:
            os.chdir(self.folder)
            contextvars.copy_context().run(self.run)
        finally:
            os.chdir(folder)
            np.seterr(**state)
            del sys.modules[self.module.__name__]
        return self.trace

    def run(self):
        if not self.step("module", self.code, exec):
            raise AssertionError(f"a world that cannot be built: {self.trace[-1]}")
        for node in self.tree.body:
            label = f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}"
            if isinstance(node, ast.Expr):
                code = compile(ast.Expression(node.value), str(self.path), "eval")
                for k in range(self.times):
                    self.step(f"{label} (time {k + 1})", code, eval)
            else:
                self.step(label, compile(ast.Module([node], []), str(self.path), "exec"), exec)

    def step(self, label, code, do):
        """Execute one thing, and keep what is seen after it; whether it raised nothing."""
        result, error, out = None, None, io.StringIO()
        handler = logging.StreamHandler(out)
        logging.getLogger("world").addHandler(handler)
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(out):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(out):
                try:
                    result = do(code, self.space)
                except Exception as e:
                    error = e
        logging.getLogger("world").removeHandler(handler)
        raised = (type(error).__name__, scrubbed(str(error)), type(error and error.__cause__).__name__)
        error = None  # whose traceback keeps what the call has left, generators say
        seen = Seen.all(self.space, self.originals, result)
        seen.tokens.insert(0, ("raised", raised))
        seen.add("printed", scrubbed(out.getvalue()).replace(str(self.folder), "FOLDER"))
        kept = [w for w in warned if not str(w.message).startswith(FLOATING) and HINT not in str(w.message)]
        seen.add("warned", [(w.category.__name__, str(w.message), w.lineno) for w in kept])
        seen.overlaps()
        seen.walk("random", random.getstate()[1][-1])
        seen.walk("np.random", int(np.random.get_state()[2]))  # noqa: NPY002 - the state of the old generator is compared
        seen.walk("np.geterr()", np.geterr())
        seen.add("files", sorted((p.name, p.read_bytes()) for p in self.folder.iterdir()))
        self.trace.append((label, seen.tokens))
        return raised[0] == "NoneType"


def difference(plain, compiled, rtol):
    """The first difference of two lives, in words; or None."""
    if len(plain) != len(compiled):
        return f"{len(compiled)} steps instead of {len(plain)}"
    for (label, a), (_, b) in zip(plain, compiled, strict=True):
        for (path, x), (other, y) in itertools.zip_longest(a, b, fillvalue=("nothing more", "")):
            if path != other or not (close(x, y, rtol) or (".grad" in path and close_but_for_zeros(x, y))):
                found = f"{y!r}" if path == other else f"{other}: {y!r}"
                return f"{label}: {path} is {x!r}, compiled {found}"
    return None


def compare(text, folder, *modes, seed=0):
    """Live a world plain, and compiled in each mode; the first difference, or None."""
    path, plain = Path(folder) / f"world{next(NAMES)}.py", {}
    for mode in modes:
        found, _ = lived(text, path, mode, seed, plain)
        if found is not None:
            return f"{mode}: {found}"
    return None


def lived(text, path, mode, seed=0, plain=None):
    """The first difference of the plain and the compiled life, and whether all that was compiled was recorded too.

    Args:
        text: the world.
        path: its file, which errors and classes name: that of the plain life.
        mode: one of `MODES`.
        seed: of what it draws.
        plain: the plain lives that other modes had, by how often expressions were evaluated: this one's is added.
    """
    options, times, rtol = MODES[mode]
    rtol = NATIVE if any(name in text for name in UNORDERED) else rtol
    plain = {} if plain is None else plain
    if times not in plain:
        plain[times] = World(text, path, None, times, seed).live()
    world = World(text, path, options, times, seed)
    found = difference(plain[times], world.live(), rtol)
    return found, not any("runs as it is" in made.explain() for made, _ in world.originals["made"])
