"""Texts of random programs with loops of many turns, of which later ones may do something else, and their functions."""

import linecache
import math

import numpy as np

import adjoint as ad

TURNS = 40
BEFORE = """\
def f(x):
    calls, box, q = [0], Box(), 0
    def wave(v): return np.sin(v) * x[1]
    s, r, y, out, rows, grown = x[0], x[1], x[:3] * 1.0, [x[0]], [], []
    A, m = np.reshape(x[: 3 * n], (n, 3)), np.reshape(x[:9], (3, 3))
    w, a, c, k, p, tag, flag = np.linspace(0.0, 1.0, n), np.zeros(n + 1), 0.3, 0, x[2], "", True
    d, many, state = {"a": x[2]}, (), {"n": 0, "v": x[0]}
    table, vectors = {i: 0.1 * i for i in range(n)}, [x[i : i + 3] for i in range(n)]
"""
USED = {
    "tick(": "    def tick():\n        calls[0] += 1\n        return calls[0]\n",
    "tock(": "    def tock():\n        nonlocal q\n        q = q + 1\n        return q\n",
    "late(": "    def late(v): return v * (0.5 if len(out) > 30 else 0.25)\n",
    "kept(": "    def kept(v, held=[0]):\n        held.append(1)\n"
             "        return v * (0.5 if len(held) % 37 == 30 else 0.25)\n",
    "_it)": "    _it = iter(range(n))\n",
    "_gen)": "    _gen = (0.01 * i for i in range(n + 9))\n",
}  # fmt: skip
AFTER = """\
    return (s + r + np.sum(y) + np.sum(np.stack(out)) + sum(np.sum(e) for e in rows) + sum(grown) + c + k * 0.01
            + np.sum(a) + p + d["a"] * 0.1 + len(many) + 0.1 * q + calls[0] + box.n * 0.1 + len(tag) + state["v"])
"""
HEADS = [
    "for t in range(n):", "for t in range(n):", "for _ in range(n):", "for row in A:", "for xt in x[:n]:",
    "for u, v, _ in A:", "for t in range(n - 1, -1, -1):", "for t in range(2, 2 * n, 2):",
    "for t, row in enumerate(A):", "for t, row in zip(range(n), A):", "for t in w:", "for t in range(n - 3):",
    "for t, (u, v) in enumerate(zip(x[2 : n + 2], x[n : 2 * n])):", "for t, u in enumerate(x[: n + 2], 3):",
    "for p, t in zip(x[: n - 2], range(0, 3 * n, 3)):", "for t, row in list(enumerate(A)):",
    "for u, v in zip(x[2 : n + 2], x[n : 2 * n]):", "for u, v in zip(x[: n - 1], A[:, 1]):",
]  # fmt: skip
NUMBERS = [
    "s", "s", "r", "y[0]", "x[3]", "0.5", "np.sum(y)", "c", "p", "d['a']", "wave(s)", "m[1, 0]", "w[3]", "out[0]",
]  # fmt: skip
OF = {
    "t": [
        "x[t]", "x[t]", "x[t]", "A[t, 1]", "A[t, 2]", "np.sum(A[t])", "A[t] @ y", "x[t + 3]", "x[n + 2 - t]",
        "x[2 * t + 1]", "x[t + 1]", "x[t - 1]", "x[t % 5]", "0.01 * t", "w[t]", "table[t]", "LIST[t]", "LIST[t % 3]",
        "np.sum(vectors[t])", "np.sum(A[t])", "x[-t - 1]", "GLOBAL[t]", "np.sum(x[t : t + 2])", "x[t * t % n]",
        "x[min(t, 20)]", "float(t)", "A[t % n, t % 3]", "x[3 * n - 7 + t]", "x[0] / (t + 1)", "s * (2 * t + 1) * 0.01",
        "y[1] * (t % 3)", "np.sqrt(t + 1.0)", "x[t] * t // 7", "math.sin(t)", "0.1 ** t", "t / (t - 50)", "abs(3 - t)",
        "x[1] * (t * t - t) / 99", "x[2] / (t - 30)", "1 / (t - 30)", "np.float32(t)", "y[0] * 10 ** t", "r * 3 ** -t",
    ],
    "row": [
        "row[0]", "np.sum(row)", "row @ y", "row[1] * 0.1",
    ],
    "xt": [
        "xt", "np.sin(xt)", "xt * 0.1",
    ],
    "u": [
        "u", "v",
    ],
}  # fmt: skip
ARRAYS = [
    "y", "m @ y", "y[::-1]", "np.array([s, y[0], r])", "np.concatenate([y[1:], y[:1]])", "np.exp(-y * y)",
]  # fmt: skip
PLAIN = [
    "s = {0}", "r, s = s * 0.5, {0}", "y = {1}", "y = {1}", "s += {0}", "y = y * 0.5 + {0}", "grown.append({0})",
    "rows.append({1})", "p = {0}\ns = s + p * 0.1", "prev = y\ny = {1}\ns = s + np.sum(prev) * 0.1",
    "for j in range(3): s = np.sin(s + x[j])", "for j in range(14): s = np.sin(s + 0.1 * j)", "s = s * 0.99",
    "for e in ({0}, {0}): s = s * 0.5 + e", "out.append({0} + 0.1 * out[-1])",
    "out.append(out[-1] * 0.5)\ns = s + out[-2]",
    "rows.append({1})\nrows.append(rows[-1] * 0.5)", "rows.append({1} if not rows else rows[-1] * 0.5 + {1})",
]  # fmt: skip
HOSTILE = [
    "d['a'] = {0}", "state['v'] = {0}", "out.append({0})\ns = s * (1.0 if len(out) < 20 else 0.5)",
    "s = s + (0.1 if tick() < 25 else {0})", "s = s + (0.1 if tock() != 30 else {0})",
    "box.step()\ns = s * (0.9 if box.n % 10 else 0.8)", "COUNT[0] += 1\ns = s * (0.9 if COUNT[0] % 7 else 0.8)",
    "s = s + 0.01 * next(_it)", "s = s + next(_gen)", "c = c * 0.9", "k = k + 1", "k += 1\nif k == 29: s = {0}",
    "tag = tag + 'a'\ns = s * (0.9 if tag != 'a' * 17 else 0.2)", "flag = not flag\ns = s * (0.9 if flag else 0.8)",
    "many = (*many, 1)\ns = s * (0.9 if len(many) < 22 else 0.4)", "state['n'] += 1\nif state['n'] > 33: s = {0}",
    "s = late(s)\nout.append(s)", "s = kept(s)", "f.calls = {0}", "if k < 31: s = {0}",
    "out.append({0})\ns = s + out[-1] * 0.1", "out.append({0})\ns = s + out[-2] * 0.1",
    "out.append({0})\nif out[25:]: s = s * 0.5", "if {2}: s = {0}", "s = s * 0.9 if {2} else {0}", "if {2}: break",
    "if {2}: continue", "if {2}: return s", "if {2}: raise ValueError('no')", "a[{3}] = {0}",
    "a[{3}] += {0}\ns = s + a[0]", "y[0] = {0}", "y = y * 1.0\ny[1] = {0}", "y *= 0.9", "m = m * 0.9", "m[0] = y",
    "A[0] = y", "q = q + 1", "del tag\ntag = ''", "for j in range({3} % 4): s = s * 0.9",
    "for j in range(14): s = s * 0.9 + x[j] * x[{3}]", "vectors[0] = y",
    "for j in range(13):\n    if j == {3}: s = {0}", "x = x * 0.99", "w = w[1:]\ns = s + len(w) * 0.01",
    "table[1] += 0.1", "many = {{**dict(many), 'a': s}}\nmany = ()", "if s > 1.0: s = s * 0.1",
    "s = s + (1 if isinstance({3}, int) else 2)", "tag = str({3})\ns = s * (0.9 if '7' in tag else 0.8)",
    "box.last = s\ns = s + box.last * 0.1", "box = Box()",
    "box.n = box.n + 1 if box.n < 20 else box.n\ns = s + box.n * 0.01", "s = s + SLOTS.next() * 0.01",
    "L = [s] * ({3} % 3)", "rows.append(y)\ny *= 0.9\ny = y + rows[-1]", "s += 0.1 * out[-1]\nout.append(s)",
    "s = s * (0.9 if out[-1] is s else 0.8)\nout.append(s)", "rows.append(y * 1.0)\nrows[-1][1] = {0}",
    "y += 0.01 * (rows[-1] if rows else y)\nrows.append(y)", "rows = rows + [y]\ns = s + np.sum(rows[-1])",
]  # fmt: skip
TESTS = [
    "{t} == 31", "{t} > 25", "{t} == n - 1", "{t} % 2", "{t} == 0", "s > 2.0", "len(grown) > 17", "k > 28",
    "{t} in table",
]  # fmt: skip


class Box:
    def __init__(self):
        self.n, self.last = 0, 0.0

    def step(self):
        self.n += 1


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def next(self):
        self.n += 1
        return self.n % 5


def generate(seed):
    """The text of a random program."""
    rng = np.random.default_rng(seed)

    def pick(choices):
        return choices[rng.integers(len(choices))]

    head = pick(HEADS)
    own = [part for name, parts in OF.items() if f" {name} in" in head or f" {name}," in head for part in parts]
    if "w:" in head or "row in" in head:
        own = [part for part in own if "t]" not in part and "t " not in part] or ["0.2"]
    counts = "t" if " t in r" in head else "calls[0]"

    def number(depth=0):
        if depth > 1 or rng.random() < 0.4:
            return pick(own) if own and rng.random() < 0.6 else pick(NUMBERS)
        a, b = number(depth + 1), number(depth + 1)
        return pick([f"np.sin({a})", f"np.tanh({a} + {b})", f"({a}) * np.cos({b})", f"({a} - {b}) * 0.5",
                     f"({a}) / (2.0 + ({b}) ** 2)", f"np.maximum({a}, {b})"])  # fmt: skip

    def statement(hostile):
        return pick(HOSTILE if hostile else PLAIN).format(
            number(), f"np.tanh({pick(ARRAYS)} + {number(1)})", pick(TESTS).format(t=counts), counts
        )

    body = [statement(False) for _ in range(rng.integers(1, 5))]
    for _ in range(pick([0, 0, 0, 1, 1, 2])):
        body.insert(rng.integers(len(body) + 1), statement(True))
    lines = "\n".join(body)
    after = pick(
        ["", "s = s * 2.0", *(f"for t in range(n): {each}" for each in ("s = s + x[t]", "rows.append(x[t] * s)"))]
    )
    known = "".join(text for name, text in USED.items() if name in lines)
    indented = "".join(f"        {line}\n" for line in lines.splitlines())
    return f"{BEFORE}{known}    {head}\n{indented}    {after}\n{AFTER}"


def function(source):
    """The function of a text, whose source is at hand."""
    name = f"<settling {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "ad": ad, "math": math, "n": TURNS, "Box": Box, "COUNT": [0], "SLOTS": Slots(),
             "__name__": __name__, "GLOBAL": np.linspace(0.0, 1.0, TURNS),
             "LIST": [0.1 * i for i in range(33)]}  # fmt: skip
    exec(compile(source, name, "exec"), scope)
    return scope["f"]
