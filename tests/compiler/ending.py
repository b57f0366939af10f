"""Texts of random programs with loops that end where values say, and branches in them."""

import numpy as np

from tests.compiler.looping import function

__all__ = ["function", "generate"]

BEFORE = """\
def f(x, n):
    s, r, y, c, k, flag, trail, p, q, last = x[0], x[1], x[:3] * 1.0, 0.3, 0, False, [], 0.0, 1.0, 0.0
    d, t, held, tup = {"a": x[2], "b": x[1:4]}, 0, [x[0], x[1]], (x[0], x[:3])
    M = np.reshape(x[:9], (3, 3)) * 0.3
    z, b = s * 0.1, 0.4 + x[0] * x[0]
    def h(v): return np.sin(v) * x[1]
    o = {"n": 0}
    wave, outer = np.concatenate([x, x * 0.5, np.sin(x), x, -x]), x
    rows = np.reshape(wave, (-1, 2))
"""
AFTER = """\
    return (s + r + np.sum(y) + c + k * 0.01 + np.sum(last) + p + q + t * 0.1 + flag * 1.0 + sum(trail)
            + np.sum(d["a"]) + np.sum(d["b"]) + held[0] * held[1] + tup[0] + np.sum(tup[1]) + o["n"] * 0.01)
"""
# Each comes to an end, for whatever the rest does: `b` is a budget that shrinks with values.
TESTS = ["b > {1}", "b > {1} and s < 9.0", "b > {1} or t < {0}", "b > {1} and k < {0}", "{1} < b", "not b <= {1}",
         "b > {1} and not flag", "np.sum(y * y) * 0.0 + b > {1}", "b - {1}  > 0.0 and t < 40"]  # fmt: skip
SHRINK = ["b = b * 0.7 - 0.01", "b = b * (0.6 + 0.2 * np.sin(s) ** 2) - 0.01", "b = b - 0.05 - 0.1 * np.cos(r) ** 2"]
NUMBERS = [
    "s",
    "r",
    "x[0]",
    "x[2]",
    "0.5",
    "y[0]",
    "y[2]",
    "np.sum(y)",
    "c",
    "k * 0.1",
    "float(k)",
    "d['a']",
    "tup[0]",
    "tup[1][1]",
    "h(s)",
    "M[1, 0]",
    "b",
    "p",
    "z",
    "t * 0.05",
    "x[k % 3]",
    "np.max(y)",
]
# Read by a number that a loop goes through: rows, and places that are none.
BY_TURN = ["wave[t]", "wave[t + 1]", "wave[2 * t]", "wave[40 - t]", "rows[t % 20, 1]", "rows[t][0]", "rows[t, 1]",
           "wave[t * t % 7]", "wave[-t - 1]", "np.sum(rows[t])", "wave[t : t + 2][0]", "outer[t % 10]", "0.1 * t",
           "rows[0, t % 2]"]  # fmt: skip
ARRAYS = ["y", "M @ y", "y[::-1]", "x[:3]", "np.stack([s, r, y[1]])", "np.array([s, y[0], r])", "d['b']", "y * s",
          "np.concatenate([y[1:], y[:1]])", "np.exp(-y * y)", "np.sort(y)", "tup[1]"]  # fmt: skip
STATEMENTS = [
    "s = {0}", "r, s = s * 0.5, {0}", "y = {1}", "y = {1}", "s += {0}", "k += 1", "k = k + 2", "t = t + 1",
    "c = c * 0.9", "last = {0}", "last = {1}", "p = {0}", "w = {0}\ns = s * 0.5 + w", "d['a'] = {0}",
    "d = {{'a': {0}, 'b': {1}}}", "tup = ({0}, {1})", "z = {0}", "q = q * 0.5", "y = y * 1.0\ny[0] = {0}",
    "if {2}:\n    s = {0}", "if {2}:\n    s = {0}\nelse:\n    r = {0}", "if {2}:\n    y = {1}\nelse:\n    y = -y",
    "if {2}: break", "if {2}: continue", "if {2}:\n    k += 1", "if {2}: flag = True",
    "s = {0} if {2} else r", "if {2}:\n    s = {0}\n    break", "trail.append({0})", "held[0] = {0}",
    "held = [v * 0.9 for v in held]", "o['n'] += 1", "if {2}:\n    last = {0}\nelif {2}:\n    last = r",
    "for j in range(2): s = np.tanh(s + 0.1 * j)", "for j in range(k + 1): s = s * 0.9",
    "s = np.where({2}, {0}, r)", "y[1] = {0}", "y *= 0.9", "if {2}: raise ValueError('far')",
    "if {2}: return s + np.sum(y)", "if {2}: return {0}", "u = h({0})\nr = u",
    "while 0.2 < abs(r) < 1e9:\n    r = r * 0.5", "g = lambda v: v * s\nr = g(r) * 0.3",
]  # fmt: skip
ASKS = ["s > 0.3", "r < s", "y[0] > y[1]", "np.sum(y) > 0.5", "b < 0.4", "k > 3", "k % 2 == 0", "s > 5.0", "flag",
        "abs(s) < 0.1", "t == 2", "np.all(y > -1.0)", "b < 0.2 and s > 0.0", "s < 0.0 or r > 0.4", "t % 3 == 0",
        "wave[t] > 0.1", "t > 3 and s > 0.1"]  # fmt: skip


def generate(seed):
    """The text of a random program."""
    rng = np.random.default_rng(seed)

    def pick(choices):
        return choices[rng.integers(len(choices))]

    within = [False]

    def number(depth=0):
        if within[0] and rng.random() < 0.2:
            return pick(BY_TURN)
        if depth > 1 or rng.random() < 0.4:
            return pick(NUMBERS)
        a, b = number(depth + 1), number(depth + 1)
        return pick([f"np.sin({a})", f"np.tanh({a} + {b})", f"({a}) * np.cos({b})", f"({a} - {b}) * 0.5",
                     f"({a}) / (2.0 + ({b}) ** 2)", f"np.sqrt(np.abs({a}) + 0.1)"])  # fmt: skip

    def array():
        one = pick(ARRAYS)
        return pick([f"np.tanh({one} * {number(1)})", f"0.5 * {one} + np.sin({number(1)})"])

    def statement():
        return pick(STATEMENTS).format(number(), array(), pick(ASKS))

    def counted(count):
        """A loop over whole numbers, with branches and now and then an end."""
        within[0] = True
        body = [statement() for _ in range(count)]
        if rng.random() < 0.7:
            body.append(f"if {pick(ASKS)}:\n    s = {number()}\nelse:\n    r = r * 0.9 + {number()}")
        if rng.random() < 0.4:
            body.append(f"if {pick(ASKS)}: break")
        within[0] = False
        head = pick(
            ["range({0})", "range({0})", "range(1, {0})", "range({0}, 0, -1)", "range(0, {0}, 2)", "range(k, {0})"]
        )
        lines = "\n".join(body[i] for i in rng.permutation(len(body))).splitlines()
        return [f"for t in {head.format(rng.integers(3, 20))}:", *(f"    {line}" for line in lines)]

    def loop(count):
        if rng.random() < 0.4:
            return counted(count)
        test = pick(TESTS).format(rng.integers(1, 12), pick(["0.05", "0.1", "x[4] * x[4] * 0.1", "0.3"]))
        body = [pick(SHRINK) + "\nt = t + 1" * ("t <" in test), *(statement() for _ in range(count))]
        order = rng.permutation(len(body))
        if any("continue" in part for part in body):  # or it would not end
            order = [0, *(i for i in order if i)]
        lines = "\n".join(body[i] for i in order).splitlines()
        head = pick([f"while {test}:", f"while {test}:", f"while {test}:", "while True:"])
        first = [f"if not ({test}): break"] if head == "while True:" else []
        if rng.random() < 0.1:
            head, first = f"for t in range({rng.integers(1, 30)}):", [f"if not ({test}): break"]
        after = pick([[], [], [], ["else:", "    s = s + 0.25"]])
        return [f"b = {pick(['1.0 + x[3] * x[3]', '1.0 + abs(s)', 'x[3] * x[3]'])}", head,
                *(f"    {line}" for line in [*first, *lines]), *after]  # fmt: skip

    made = loop(rng.integers(1, 5))
    if rng.random() < 0.3:
        made += loop(rng.integers(1, 3))
    if rng.random() < 0.2:
        made = ["for a in range(3):", *(f"    {line}" for line in made)]
    return BEFORE + "\n".join(f"    {line}" for line in made) + "\n" + AFTER
