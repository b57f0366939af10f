"""Texts of random programs with loops within loops, of numbers that are known and of numbers that values decide."""

import numpy as np

from tests.compiler.looping import function

__all__ = ["function", "generate"]

BEFORE = """\
def f(x, n):
    s, r, y, c, k, last, p, i, j, t = x[0], x[1], x[:3] * 1.0, 0.3, 0, 0.0, 0.0, 0, 0, 0
    A, wave = np.reshape(np.tile(x, 40), (20, 20)), np.tile(x, 3)
    M, seen, d = np.reshape(x[:9], (3, 3)) * 0.3, [], {"a": x[2]}
    def h(v): return np.sin(v) * x[1]
"""
AFTER = """\
    return s + r + np.sum(y) + c + k * 0.01 + np.sum(last) + p + d["a"] * 0.1 + sum(seen) + 0.01 * i + 0.001 * j
"""
NUMBERS = ["s", "s", "r", "x[0]", "0.5", "y[0]", "np.sum(y)", "c", "k * 0.1", "p", "d['a']", "h(s)", "M[1, 0]", "x[3]"]
BY_TURN = ["A[i % 20, j % 20]", "wave[i]", "wave[j]", "0.1 * i", "0.05 * j", "A[3, j % 20]", "wave[19 - j]",
           "A[j % 20, i % 20]", "i * j * 0.01", "wave[i % 5]"]  # fmt: skip
ARRAYS = [
    "y",
    "M @ y",
    "y[::-1]",
    "x[:3]",
    "np.stack([s, r, y[1]])",
    "np.array([s, y[0], r])",
    "A[i % 20, :3]",
    "y * s",
]
STATEMENTS = [
    "s = {0}", "r, s = s * 0.5, {0}", "y = {1}", "y = {1}", "s += {0}", "k += 1", "k = k + 2", "c = c * 0.9", "p = {0}",
    "last = {0}", "d['a'] = {0}", "if {2}:\n    s = {0}", "if {2}:\n    s = {0}\nelse:\n    r = {0}", "k = 0",
    "if {2}:\n    k += 1", "s = {0} if {2} else r", "s = np.where({2}, {0}, r)", "p = 0.0", "y = y * 1.0\ny[0] = {0}",
    "if {2}: break", "if {2}: continue", "s = s * 0.5 + h({0})", "seen.append({0})",
]  # fmt: skip
ASKS = ["s > 0.3", "r < s", "y[0] > y[1]", "np.sum(y) > 0.5", "k > 3", "abs(s) < 0.1", "s < 0.0 or r > 0.4", "i == 2",
        "j == 3", "p > 0.2 and s < 0.5", "wave[j] > 0.4"]  # fmt: skip


def generate(seed):
    """The text of a random program."""
    rng = np.random.default_rng(seed)

    def pick(choices):
        return choices[rng.integers(len(choices))]

    def number(depth=0):
        if rng.random() < 0.25:
            return pick(BY_TURN)
        if depth > 1 or rng.random() < 0.4:
            return pick(NUMBERS)
        a, b = number(depth + 1), number(depth + 1)
        return pick([f"np.sin({a})", f"np.tanh({a} + {b})", f"({a}) * np.cos({b})", f"({a} - {b}) * 0.5",
                     f"({a}) / (2.0 + ({b}) ** 2)", f"np.sqrt(np.abs({a}) + 0.1)"])  # fmt: skip

    def array():
        return pick([f"np.tanh({pick(ARRAYS)} * {number(1)})", f"0.5 * {pick(ARRAYS)} + np.sin({number(1)})"])

    def statement(simple):
        text = pick(STATEMENTS)
        while simple and ("if" in text or "append" in text):
            text = pick(STATEMENTS)
        return text.format(number(), array(), pick(ASKS))

    def loop(depth):
        simple = rng.random() < 0.6
        body = [statement(simple) for _ in range(rng.integers(1, 4))]
        if depth:
            body.insert(rng.integers(len(body) + 1), loop(depth - 1))
            body += [] if rng.random() < 0.8 else [loop(0)]
        name = "jit"[depth]
        if rng.random() < 0.6:
            count = pick([3, 14, 14, 16]) if depth else pick([5, 20, 20, f"{pick([13, 15])} + 2 * 3", "i + 13", "n"])
            head, first = f"for {name} in {pick(['range({})', 'range({})', 'range(1, {})'])}:".format(count), []
        else:
            budget = f"b{depth}"
            start = pick(["1.0", "1.0 + x[3] * x[3]", "1.0 + abs(s)", "x[3] * x[3]"])
            first = [f"{budget} = {start}"]
            test = f"{budget} > {pick(['0.05', '0.1', 'x[4] * x[4] * 0.1'])}"
            test = pick([test, test, f"{test} and s < 9.0"])
            shrink = f"{budget} = {budget} * {pick(['0.7', '(0.6 + 0.2 * np.sin(s) ** 2)'])} - 0.01"
            count = f"{name} = {name} + 1" if rng.random() < 0.4 else "pass"
            if rng.random() < 0.3 and not any("continue" in part for part in body):  # or it would not end
                head, body = "while True:", [shrink, *body, f"if not ({test}): break"]
            else:
                head, body = f"while {test}:", [shrink, count, *body]
            if rng.random() < 0.5:
                body = body[:1] + [body[1 + q] for q in rng.permutation(len(body) - 2)] + body[-1:]
        lines = "\n".join(body).splitlines()
        return "\n".join([*first, head, *(f"    {line}" for line in lines)])

    made = loop(pick([1, 1, 1, 1, 1, 2]))
    return BEFORE + "\n".join(f"    {line}" for line in made.splitlines()) + "\n" + AFTER
