"""Texts of random programs that write single elements of arrays in loops, by places that they compute."""

import numpy as np

from tests.compiler.looping import function

__all__ = ["function", "generate"]

BEFORE = """\
def f(x, n):
    a, b, s, k = np.tile(x, 3), np.tile(x[::-1], 3), x[0], 0
    d, e = np.zeros((16, 17)), a[:17] * 1.0
    d[0, 0] = x[1]
"""
AFTER = """\
    return np.sum(d[1:] * 0.5) + np.sum(np.sin(d[:, 3])) + np.sum(e * b[:17]) + s + 0.01 * k
"""
INNER = ["d[i, j - 1]", "d[i - 1, j]", "d[i - 1, j - 1]", "d[j % 16, i]", "e[j]", "e[j - 1]", "d[i, j]", "d[3, j]",
         "e[(3 * j + i) % 17]", "a[j]", "b[i + j]", "a[i] * b[j]", "0.1 * j", "d[i, 0]", "d[15, 16]",
         "np.sin(np.sum(e))", "np.tanh(np.max(d))"]  # fmt: skip
OUTER = ["e[i]", "e[i - 1]", "d[i, 1]", "d[i - 1, i]", "a[i]", "b[2 * i - 1]", "0.1 * i", "d[i - 1, 2]", "e[-1]",
         "np.tanh(np.sum(e * a[:17]))", "np.tanh(e @ b[:17])", "np.sin(np.min(e))", "0.01 * np.argmax(e)"]  # fmt: skip
TARGETS = {1: ["d[i, j]", "d[i, j]", "d[i, j]", "e[j]", "d[i, j - 1]", "e[(2 * j) % 17]", "d[-i, j]"],
           0: ["e[i]", "e[i - 1]", "d[i, 0]", "d[i, i]", "d[i - 1, 2]", "e[i % 4]"]}  # fmt: skip


def generate(seed):
    """The text of a random program."""
    rng = np.random.default_rng(seed)

    def pick(choices):
        return choices[rng.integers(len(choices))]

    def number(deep, depth=0):
        if depth > 1 or rng.random() < 0.4:
            return pick([*(INNER if deep else OUTER), "s", "x[2]"])
        p, q = number(deep, depth + 1), number(deep, depth + 1)
        return pick([f"np.sin({p})", f"np.tanh({p} + {q})", f"({p}) * np.cos({q})", f"({p} - {q}) * 0.5",
                     f"min({p}, {q})", f"max({p}, {q}, 0.1 + {p})", f"np.minimum({p}, {q})"])  # fmt: skip

    def ask(deep):
        return pick([f"{number(deep)} > {number(deep)}", f"abs({number(deep)}) < 0.4", "s > 0.2",
                     "j > i" if deep else "i > 5", f"{number(deep)} > 0.1 and s < 1.0"])  # fmt: skip

    def statement(deep):
        target, value = pick(TARGETS[deep]), number(deep)
        return pick([f"{target} = {value}", f"{target} = {value}", f"{target} += 0.3 * np.sin({value})",
                     f"s = s * 0.5 + {value}", f"c = {value}\n{target} = c * 0.5", "k += 1",
                     f"if {ask(deep)}:\n    {target} = {value}",
                     f"if {ask(deep)}:\n    {target} = {value}\nelse:\n    {pick(TARGETS[deep])} = {number(deep)}",
                     f"if {ask(deep)}:\n    s = {value}",
                     f"t = {target}\n{target} = {pick(INNER if deep else OUTER)}",
                     f"if {ask(deep)}: continue", f"if {ask(deep)}: break"]
                    [: 10 + 2 * (rng.random() < 0.1)])  # fmt: skip

    inner = [statement(1) for _ in range(rng.integers(1, 4))]
    head = pick(
        ["for j in range(1, 17):", "for j in range(1, 17):", "for j in range(15, 0, -1):", "for j in range(2, 16, 1):"]
    )
    loop = "\n".join([head, *(f"    {line}" for part in inner for line in part.splitlines())])
    outer = [statement(0) for _ in range(rng.integers(0, 3))]
    if rng.random() < 0.75:
        outer.insert(rng.integers(len(outer) + 1), loop)
    else:
        outer += [statement(0), statement(0)]
    lines = [line for part in outer for line in part.splitlines()]
    made = "\n".join([pick(["for i in range(1, 16):", "for i in range(1, 16):", "for i in range(15, 0, -1):"]),
                      *(f"    {line}" for line in lines)])  # fmt: skip
    return BEFORE + "\n".join(f"    {line}" for line in made.splitlines()) + "\n" + AFTER
