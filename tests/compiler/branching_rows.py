"""Random loops through rows of arrays: they branch on values, and their names have Python's or NumPy's floats."""

import random

HEADS = (
    ("for v in x:", ("v",)),
    ("for i, v in enumerate(x):", ("v",)),
    ("for i, v in enumerate(x, 2):", ("v",)),
    ("for u, v in zip(x, x[1:]):", ("u", "v")),
    ("for i, (u, v) in enumerate(zip(x, x[::-1])):", ("u", "v")),
    ("for v in reversed(x):", ("v",)),
    ("for v in x[1:-1]:", ("v",)),
    ("for row in x.reshape(-1, 3):\n        u, v = row[0], np.sum(row)", ("u", "v")),
    ("for i in range(len(x) - 1):\n        u, v = x[i], x[i + 1]", ("u", "v")),
)
STARTS = ("0.0", "1.0", "x[0]", "x[0] * 0.5", "0.5", "np.float64(0.25)", "-np.inf")


def is_differentiated(seed):
    """Whether the program is tried by its gradient."""
    return seed % 3 == 1


class Writer:
    """Writes the statements of one program."""

    def __init__(self, seed):
        self.random, self.differentiated = random.Random(seed), is_differentiated(seed)
        self.pick = self.random.choice
        head, self.values = self.pick(HEADS)
        self.numbered = "i" in head.split(" in ")[0]
        self.head = head

    def value(self):
        known = [*self.values, "s", "t"]
        kind = self.random.random()
        if kind < 0.35:
            return self.pick(known)
        if kind < 0.45:
            return self.pick(("0.5", "0.0", "-1.0", "2.0"))
        a, b = self.pick(known), self.pick(known)
        return self.pick((f"0.9 * {a}", f"{a} + {b}", f"{a} - {b}", f"0.3 * {a} * {b}", f"max({a}, {b})", f"abs({a})",
                          f"min({a}, 1.5)", f"np.tanh({a})", f"np.sin({a})", f"({a} if {b} > 0.2 else 0.25)",
                          *([f"{a} / (i + 1)", f"{a} * i"] if self.numbered else [])))  # fmt: skip

    def test(self):
        a, b = self.pick((*self.values, "s", "t")), self.pick((*self.values, "0.3", "-0.6", "s"))
        simple = f"{a} {self.pick(('>', '<', '>=', '<='))} {b}"
        kind = self.random.random()
        if kind < 0.15:
            return f"{simple} and {self.pick(self.values)} > -0.5"
        if kind < 0.3:
            return f"not ({simple}) or {self.pick(self.values)} > 0.9"
        return f"k < 4 and {simple}" if kind < 0.4 else simple

    def statement(self):
        kind = self.random.random()
        if kind < 0.1:
            return "k += 1"
        if kind < 0.18:
            return "s, t = t, s"
        name = self.pick("sst")
        return f"{name} {self.pick(('=', '=', '+='))} {self.value()}"

    def block(self, depth):
        lines = []
        for _ in range(self.random.randint(1, 2)):
            if depth and self.random.random() < 0.7:
                lines += [f"if {self.test()}:", *(f"    {line}" for line in self.block(depth - 1))]
                if self.random.random() < 0.3:
                    lines += [f"elif {self.test()}:", *(f"    {line}" for line in self.block(0))]
                if self.random.random() < 0.4:
                    lines += ["else:", *(f"    {line}" for line in self.block(0))]
            else:
                lines.append(self.statement())
        if depth < 2 and self.random.random() < 0.12:
            lines.append(self.pick(("break", "continue")))
        return lines

    def program(self):
        body = [*self.block(2), "t = 0.95 * t", *([] if self.random.random() < 0.5 else self.block(1))]
        starts = STARTS
        first = [f"s = {self.pick(starts)}", f"t = {self.pick(starts)}", "k = 0"]
        last = self.pick(("return s", "return s + t * 0.5", "return s * x[0] + k", "return t - s"))
        lines = [*first, *self.head.split("\n        ")[:1]]
        inner = [*self.head.split("\n        ")[1:], *body]
        otherwise = ["else:", f"    {self.statement()}"] if self.random.random() < 0.4 else []
        return "\n    ".join(["def f(x):", *lines, *(f"    {line}" for line in inner), *otherwise, last])


def generate(seed):
    """The text of a function of one array."""
    return Writer(seed).program() + "\n"
