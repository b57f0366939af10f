"""Texts of random programs whose loops do what users' loops do, and a function of such a text."""

import linecache
import math

import numpy as np

import adjoint as ad

BEFORE = """\
def f(x, n):
    outer = x
    def h(v): return np.sin(v) * outer[1]
    def g(v, e):
        z = v * 0.5
        for j in range(2): z = np.tanh(z + e * 0.1)
        return z
    s, r, y, out, rows = x[0], x[1], x[:3] * 1.0, [x[0]], [x[:3]]
    m, M = np.reshape(x[:9], (3, 3)), np.reshape(np.concatenate([x, x, x])[: 3 * len(x)], (len(x), 3))
    w, a = np.linspace(0.0, 1.0, n), np.zeros(n + 1)
    c, k, last, p, t = 0.3, 0, 0.0, 0.0, 0
    dd, tup, W = {"a": x[2], "b": x[1:4]}, (x[0], x[:3]), [x[0], x[1]]
"""
AFTER = """\
    return (s + r + np.sum(y) + np.sum(np.stack(out)) + np.sum(np.stack(rows) ** 2) + c + k * 0.01 + np.sum(a)
            + np.sum(last) + p + dd["a"] * 0.1 + np.sum(dd["b"]) + tup[0] + np.sum(tup[1]) + W[0] * W[1])
"""
HEADS = [
    "for t in range(n):",
    "for t in range(n):",
    "for t, xt in enumerate(x[:n]):\n    s = s + xt * 0.01",
    "for t, (u, v) in enumerate(zip(x, M)):\n    if t >= n: break\n    s = s + u * v[0]",
    "t = -1\nfor xt in x[:n]:\n    t = t + 1\n    s = s + xt * 0.01",
    "t = -1\nfor xt, v in zip(x[:n], M[::-1]):\n    t = t + 1\n    if xt > v[1]: s = s + v[0]",
    "t = n\nfor xt in reversed(x[:n]):\n    t = t - 1\n    r = max(r, xt)",
    "for t, (u, (v, w0, _)) in enumerate(zip(x[:n], M)):\n    if u > v: s = s + w0\n    last = u",
    "t = -1\nwhile t < n - 1:\n    t = t + 1",
    "t = -1\nwhile s < 3.0:\n    t = t + 1\n    if t >= n - 1: break",
    "for t in range(n - 1, -1, -1):",
    "for t in range(0, n, 2):",
]
NUMBERS = ["s", "s", "r", "x[t]", "x[n - 1 - t]", "x[0]", "x[t % 3]", "0.5", "0.01 * t", "y[0]", "y[2]", "w[t]",
           "np.sum(y)", "c", "k * 0.1", "float(t)", "dd['a']", "tup[0]", "tup[1][1]", "out[-1]", "h(s)", "m[1, 0]",
           "x[2 * t % n]"]  # fmt: skip
ARRAYS = ["y", "m @ y", "y[::-1]", "x[:3]", "np.stack([s, r, y[1]])", "np.array([s, y[0], r])", "M[t]", "M[:, 0][:3]",
          "np.concatenate([y[1:], y[:1]])", "x[t : t + 1] * y", "dd['b']", "g(y, s)", "y.copy()", "np.exp(-y * y)",
          "M[t % 4]", "y * M[n - 1 - t, 1]"]  # fmt: skip
STATEMENTS = [
    "s = {0}", "r, s = s * 0.5, {0}", "y = {1}", "y = {1}", "s += {0}", "y += {2}", "out.append({2})",
    "rows.append({3})", "c = c * 0.9 + 0.01 * t", "k = k + 1", "k += t", "y = y * 1.0\ny[t % 3] = {0}",
    "y = y * 1.0\ny[0] = {0}", "s = s + 0.1 if {4} else s * 0.9", "if {4}:\n    s = s * {0}", "if t == n - 2: break",
    "if t > n - 5: continue", "if {4}: return s * {0}", "for q in range(3):\n    s = np.sin(s + x[q])",
    "for q in range(14):\n    s = np.sin(s + 0.1 * q)", "dd['a'] = {0}", "dd = {{'a': {0}, 'b': {1}}}",
    "tup = ({0}, {1})", "p = {0}\ns = s + p * 0.1", "z = np.zeros(3)\nz[0] = s\nz[t % 2] += {0}\ny = y * 0.9 + z",
    "a[t] = {0}", "a[t] += {0}", "s = s + a[t - 1]", "if t == 5: y = y.astype(np.float32)", "last = {2}",
    "s = s + ad.grad(lambda u: np.sum(np.sin(u * {2})))(s) * 0.1", "y, yold = {1}, y\ns = s + np.sum(yold) * 0.1",
    "prev = y\ny *= 0.9\ns = s * 0.5 + prev[0]", "L = [{0}, {0}]\nfor e in L:\n    s = s * 0.5 + e",
    "W = [v * 0.99 for v in W]\ns = s + W[0]", "W[t % 2] = {0}", "s = float(s) * 0.9",
    "s = s + math.sqrt(abs(float(s)) + 1.0)", "s = s * (0.9 if hasattr({2}, 'shape') else 0.8)",
]  # fmt: skip
TESTS = ["t == 0", "t == n - 1", "s > 0.3", "t > 3", "t % 2", "t == 5", "t == 7", "s > 5.0"]


def generate(seed):
    """The text of a random program."""
    rng = np.random.default_rng(seed)

    def pick(choices):
        return choices[rng.integers(len(choices))]

    def number(depth=0):
        if depth > 2 or rng.random() < 0.35:
            return pick(NUMBERS)
        a, b = number(depth + 1), number(depth + 1)
        return pick([f"np.sin({a})", f"np.tanh({a} + {b})", f"({a}) * np.cos({b})", f"({a} - {b}) * 0.5",
                     f"np.maximum({a}, {b})", f"({a}) / (2.0 + ({b}) ** 2)", f"np.where({a} > 0.1, {a}, {b})",
                     f"np.sqrt(np.abs({a}) + 0.1)"])  # fmt: skip

    def array():
        one = pick(ARRAYS)
        return pick([f"np.tanh({one} * {number(2)})", f"0.5 * {one} + {number(2)}",
                     f"np.where({one} > 0.0, y, {one} * 0.3)"])  # fmt: skip

    def statement():
        return pick(STATEMENTS).format(number(), array(), pick(["s", "y[1]", "r", "x[t]", "0.1"]),
                                       pick(["y", "y * s", "x[:3]"]), pick(TESTS))  # fmt: skip

    head, *first = pick(HEADS).split(":\n", 1) if pick([0, 1]) else ["for t in range(n)"]
    lines = [*(line for part in first for line in part.splitlines())]
    before, head = ([*head.splitlines()[:-1]], head.splitlines()[-1])
    body = "\n".join(statement() for _ in range(rng.integers(2, 7))).splitlines()
    after = pick(["", "s = s * 2.0", "y = y + s", "for t in range(n):\n        s = s * 0.9 + x[t]"])
    made = [f"    {line}" for line in before] + [f"    {head.rstrip(':')}:"] + [f"    {line}" for line in lines]
    return BEFORE + "\n".join([*made, *(f"        {line}" for line in body), f"    {after}"]) + "\n" + AFTER


def function(source):
    """The function of a text, whose source is at hand."""
    name = f"<looping {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "ad": ad, "math": math, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]
