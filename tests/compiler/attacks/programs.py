"""Random worlds: functions of Python and NumPy over objects, containers and closures; changes between their calls.

What they are made of is in `themes/`: templates in sections, with places for random parts. Each world has the theme
`core` and a few others. Templates with `!` are left out of quiet worlds: what a trace may refuse hides the rest.
"""

import contextlib
import functools
import random
import re
import warnings
from pathlib import Path

FOLDER = Path(__file__).parent / "themes"
SPECIAL = ("core", "owner", "second")
THEMES = sorted(path.stem for path in FOLDER.glob("*.txt") if path.stem not in SPECIAL)
ERRORS = ["ValueError", "KeyError", "IndexError", "TypeError", "ZeroDivisionError", "AttributeError", "RuntimeError"]
CONSTANTS = ["0.5", "-1.0", "2.0", "1.5", "0.0", "-0.25", "3.0"]
COMMON = ["f(X)", "f(X)", "f(X, {c})", "f(X, {c})", "f(X, {i})", "f(-X, {c})", "f(A, {c})", "f(o.a, 1.0)"]
PLACE = re.compile(r"\{([nabcit]|error)\}")
SECTIONS = {"n": "numbers", "a": "arrays", "b": "truths"}
SHORT = {"n": ["{c}", "y", "G", "N", "o.k"], "a": ["x", "A", "o.a", "t", "B"], "b": ["FLAG", "o.on"]}
OWNER = """\
import copy
class Owner:
    shared = np.ones(3)
    def __init__(self):
        self.k, self.n, self.on, self.items = 0.5, 0, True, []
        self.a = np.array([0.25, -0.5, 1.0])
    @property
    def twice(self):
        return self.k * 2
    def tick(self):
        self.n += 1
        return self.n
    def scaled(self, v):
        return v * self.k
"""
HEIRS = """\
class Heir(Owner):
    def scaled(self, v):
        return super().scaled(v) + 1.0
own, other, heir = Owner(), Owner(), Heir()
"""


@functools.cache
def theme(name):
    """The sections of a theme: templates, each with whether it is quiet; of `setup` the text."""
    found = {}
    for block in re.split("^== ", (FOLDER / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]:
        section, _, text = block.partition("\n")
        parts = [text] if section == "setup" else text.strip().split("\n\n" if section == "blocks" else " | ")
        if section not in ("setup", "blocks"):
            parts = [part for line in text.strip().splitlines() for part in line.split(" | ")]
        found[section] = [(part.removeprefix("!"), part[0] != "!") for part in parts]
    return found


class Program:
    """One random world, as text; of its themes `about` is one."""

    def __init__(self, seed, about=None):
        self.random = random.Random(seed)
        self.quiet = self.random.random() < 0.7
        self.method = self.random.random() < 0.2
        self.names = ["core", *self.random.sample(THEMES, self.random.randint(1, 3))] + ["owner"] * self.method
        if about is not None and about not in self.names:
            self.names[1] = about
        self.write()
        while not self.compiles():
            self.write()

    def compiles(self):
        """Whether it is Python at all: a name may be used before it is declared global."""
        with contextlib.suppress(SyntaxError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(self.text.replace("---", ""), "program", "exec")
            return True
        return False

    def write(self):
        """One try."""
        setup = "".join(theme(name)["setup"][0][0] for name in self.names if name != "owner")
        own = self.names
        self.names = [name for name in own if name != "owner"]
        second = self.function("g", 3) if self.random.random() < 0.25 else []
        self.names = [*own, *["second"] * bool(second)]
        lines = self.function("f", 6)
        if self.method:
            lines = [*OWNER.splitlines(), *("    " + line for line in lines), *HEIRS.splitlines()]
            lines = [line.replace("def f(x", "def f(self, x") for line in lines]
        self.script = "\n".join(self.steps())
        self.names = own
        self.text = "\n".join([setup + "\n".join([*second, *lines]), "---", self.script, ""])

    def function(self, name, most):
        """Lines of one compiled function."""
        body = [line for _ in range(self.random.randint(1, most)) for line in self.statement(1)]
        result = self.fill(self.choice("results"))
        declared = dict.fromkeys(line.strip() for line in body if line.strip().startswith("global "))
        body = [line for line in body if not line.strip().startswith("global ")]
        for k in reversed([k for k, line in enumerate(body) if line.lstrip().startswith("def ")]):
            inner = " " * (len(body[k]) - len(body[k].lstrip()) + 4)
            body[k + 1 : k + 1] = [inner + line for line in declared]
        head = ["@compiled", f"def {name}(x, y=1.0, *rest, z=None, **kw):", *(f"    {line}" for line in declared)]
        return [*head, "    t, s, u = x, x * 0.5, y", *body, f"    return {result}"]

    def fill(self, template, depth=0):
        """The template with random parts in its places."""

        def part(found):
            name = found[1]
            if name == "t":
                return self.random.choice("ttsu")
            if name not in SECTIONS:
                return self.random.choice({"c": CONSTANTS, "i": "0123", "error": ERRORS}[name])
            leaf = depth > 2 or self.random.random() < 0.3
            return self.fill(self.random.choice(SHORT[name]) if leaf else self.choice(SECTIONS[name]), depth + 1)

        return PLACE.sub(part, template)

    def choice(self, section):
        """A template of one of the world's themes."""
        while True:
            found, quiet = self.random.choice(theme(self.random.choice(self.names)).get(section, [("", False)]))
            if found and (quiet or not self.quiet):
                return found

    def statement(self, indent):
        """Lines of one statement."""
        if indent > 3 or self.random.random() < 0.62:
            return ["    " * indent + part for part in self.fill(self.choice("simple")).split("; ")]
        lines = []
        for line in self.choice("blocks").splitlines():
            inner = line.strip()
            depth = indent + (len(line) - len(inner)) // 4
            lines += self.statement(depth) if inner == "S" else ["    " * depth + self.fill(inner)]
        return lines

    def steps(self):
        """Calls, and changes between them."""
        for _ in range(self.random.randint(3, 5)):
            yield self.called(self.random.choice(COMMON) if self.random.random() < 0.5 else self.loud("calls"))
            for _ in range(self.random.randint(0, 2)):
                yield self.fill(self.loud("changes"))
        yield self.called("f(X, 1.0)")

    def loud(self, section):
        """As `choice`, with what makes noise."""
        return self.random.choice(theme(self.random.choice([n for n in self.names if section in theme(n)]))[section])[0]

    def called(self, template):
        """A call of the function, or of the method that it is."""
        return re.sub(r"(?<![\w.])f\(", "own.f(", self.fill(template)) if self.method else self.fill(template)
