"""Texts of random programs whose inner loops go through ranges that depend on the loops around."""

import numpy as np

from tests.compiler.looping import function

__all__ = ["function", "generate"]

BEFORE = """\
def f(x, n):
    a, b, s, m = np.tile(x, 3), np.tile(x[::-1], 3), x[0], 0
    d, e = np.outer(a[:n], b[:n]) * 0.3, a[:n + 1] * 1.0
"""
AFTER = """\
    return np.sum(np.sin(d)) + np.sum(e * b[:n + 1]) + s + 0.01 * m
"""
OUTER = ["range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(0, n, 2)", "range(n - 1)"]
INNER = ["range(i)", "range(i + 1)", "range(i, n)", "range(i + 1, n)", "range(n - i)", "range(n - i - 1)",
         "range(i - 1, -1, -1)", "range(n - 1, i, -1)", "range(i // 2)", "range(i, n, 2)", "range(max(0, i - 2), i)",
         "range(0, i, 3)", "range(i - 3)", "range(2 * i - n)"]  # fmt: skip
DEEP = ["range(j)", "range(i)", "range(j, n)", "range(i, j)", "range(j + 1, n)", "range(i - j)", "range(3)"]


def generate(seed):
    """The text of a random program."""
    rng = np.random.default_rng(seed)

    def pick(choices):
        return choices[rng.integers(len(choices))]

    def number(names, depth=0):
        if depth > 1 or rng.random() < 0.4:
            p, q = pick(names), pick(names)
            return pick([f"d[{p}, {q}]", f"d[{p}, {q}]", f"e[{p}]", f"e[{p} + 1]", f"a[{p}]", f"b[{p}]", f"e[{p} - 1]",
                         f"a[{p} + {q}]", f"0.1 * {p}", "s", "x[2]", f"a[abs({p} - {q})]", f"d[{p}, 0]"])  # fmt: skip
        p, q = number(names, depth + 1), number(names, depth + 1)
        return pick([f"np.sin({p})", f"np.tanh({p} + {q})", f"({p}) * np.cos({q})", f"({p} - {q}) * 0.5",
                     f"min({p}, {q})", f"np.maximum({p}, {q})", f"{p} / (2.0 + np.cos({q}))"])  # fmt: skip

    def ask(names):
        p, q = pick(names), pick(names)
        return pick([f"{number(names)} > {number(names)}", f"abs({number(names)}) < 0.4", "s > 0.2", f"{p} > {q}",
                     f"{p} == {q}", f"{p} % 2 == 0", f"{number(names)} > 0.1 and s < 1.0"])  # fmt: skip

    def target(names):
        p, q = pick(names), pick(names)
        return pick([f"d[{p}, {q}]", f"d[{p}, {q}]", f"e[{p}]", f"e[{p} + 1]", f"e[{p} - 1]", f"d[{q}, {p}]"])

    def statement(names):
        t, v = target(names), number(names)
        p, q = target(names), target(names)
        return pick([f"{t} = {v}", f"{t} = {v}", f"{t} -= 0.3 * np.sin({v})", f"s = s * 0.5 + {v}", f"s += 0.1 * {v}",
                     f"c = {v}\n{t} = c * 0.5", "m += 1", f"if {ask(names)}:\n    {t} = {v}",
                     f"if {ask(names)}:\n    {t} = {v}\nelse:\n    {target(names)} = {number(names)}",
                     f"if {ask(names)}:\n    s = {v}", f"{p}, {q} = {q}, {p}", f"if {ask(names)}:\n    m = {names[-1]}",
                     f"if {ask(names)}: continue", f"if {ask(names)}: break"]
                    [: 12 + 2 * (rng.random() < 0.15)])  # fmt: skip

    def loop(head, body):
        return "\n".join([head, *(f"    {line}" for part in body for line in part.splitlines())])

    def body(names, heads):
        made = [statement(names) for _ in range(rng.integers(heads is None, 3))]
        if heads is not None:
            name = "jk"[len(names) - 1]
            deeper = DEEP if len(names) == 1 and rng.random() < 0.4 else None
            inner = loop(f"for {name} in {pick(heads)}:", body([*names, name], deeper))
            made.insert(rng.integers(len(made) + 1), inner)
        return made

    made = loop(f"for i in {pick(OUTER)}:", body(["i"], INNER))
    return BEFORE + "\n".join(f"    {line}" for line in made.splitlines()) + "\n" + AFTER
