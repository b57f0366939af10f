"""Programs that are loops: of each kind for any length, and random ones. Texts, which a test makes functions of."""

import linecache

import numpy as np

# Each takes an array `x` of `n` numbers, and makes `n` turns: what comes before, a turn, the result.
KINDS = {
    "scalars": ("a, b = x[0], x[1]", "a, b = a * np.cos(b) * 0.9 + 0.01 * t, b + 0.1 * a", "a * b"),
    "indices": ("s = 0.0", "s = s + np.sin(x[t]) * s * 0.5 + x[n - 1 - t]", "s"),
    "indices apart": ("s = x[1]", "s = s * np.sin(x[t % 3]) + x[(2 * t) % n]", "s"),
    "runge kutta": (
        "y = x[:2]\nf = lambda y: np.stack([y[1], x[2] * (1.0 - y[0] ** 2) * y[1] - y[0]])",
        "k = f(y)\nl = f(y + 0.01 * k)\ny = y + 0.01 * (k + l)",
        "np.sum(y**2)",
    ),
    "scan": ("a = np.reshape(x[:9], (3, 3))\ny = x[:3]", "y = np.tanh(a @ y + x[t])", "np.sum(y**2)"),
    "all states": (
        "a = np.reshape(x[:9], (3, 3))\ny, out = x[:3], []",
        "y = np.tanh(a @ y)\nout.append(y)",
        "np.sum(np.stack(out) ** 2)",
    ),
    "joined": ("y, out = x[:3], []", "y = np.sin(y + 0.1)\nout.append(y)", "np.sum(np.concatenate(out) ** 3)"),
    "cell": (
        "w = np.reshape(x[:8], (2, 4))\nh = c = np.zeros(4)",
        "z = np.stack([x[t], x[0]]) @ w + h\nf = 1.0 / (1.0 + np.exp(-z))\n"
        "c = f * c + (1.0 - f) * np.tanh(z)\nh = f * np.tanh(c)",
        "np.sum(h)",
    ),
    "bodies": (
        "p, v = np.reshape(x[:6], (3, 2)), np.reshape(x[1:7], (3, 2))",
        "d = p[:, None] - p[None]\nr = np.sqrt(np.sum(d**2, -1) + 0.1)\n"
        "v = v - 0.01 * np.sum(d / r[:, :, None] ** 3, 1)\np = p + 0.01 * v",
        "np.sum(p * v)",
    ),
    "fill": ("a = np.zeros(n + 1)\na[0] = x[0]", "a[t + 1] = a[t] * 0.9 + x[t]", "np.sum(a**2)"),
    "fill rows": ("a = np.zeros((n, 3))", "a[t, 1] = np.sin(x[t])\na[t, 2] = a[t, 1] * x[0]", "np.sum(a**2)"),
    "fill columns": ("a = np.zeros((3, n))", "a[:, t] = x[t] * x[:3]", "np.sum(a**2 * 0.5)"),
    "fill back": ("a = np.zeros(n + 1)", "a[n - 1 - t] = 0.5 * a[n - t] + np.cos(x[t])", "np.sum(a * a)"),
    "add in place": ("a = np.zeros(n + 2)", "a[t] += x[t] * 2.0\na[t + 1] += x[t] ** 2", "np.sum(a**3)"),
    "windows": ("s = x[0]", "s = s * 0.9 + np.sum(x[t : t + 3] * x[:3]) if t < n - 3 else s", "s"),
    "accumulators": ("s, p, m = 0.0, 1.0, x[0]", "s = s + x[t] * m\np = p * np.cos(x[t])\nm = np.maximum(m, x[t])",
                     "s * p + m"),
    "two before": ("a, b = x[0], x[1]", "a, b = b, np.sin(a + b)", "a + b"),
    "three before": ("q = [x[0], x[1], x[2]]", "q.append(np.sin(q[-3]) + 0.5 * q[-2] * q[-1])", "q[-1] + q[n // 2]"),
    "back again": ("q = [x[0]]", "q.append(np.sin(q[-1]) * x[t])",
                   "sum((-1) ** i * v * q[-1 - i] for i, v in enumerate(q))"),
    "nested": ("y = x[:3]", "for k in range(3):\n    y = np.tanh(y * x[k] + 0.1)\ny = y + x[t]", "np.sum(y)"),
    "ends differ": (
        "y = x[:2]",
        "y = np.sin(y) * x[t]\nif t == 0: y = y + 3.0\nif t == n - 1: y = y * y",
        "np.sum(y)",
    ),
    "middle differs": ("s = x[0]", "s = s * x[t] if t == n // 2 else np.sin(s) + x[t]", "s"),
    "takes turns": ("s = x[0]", "s = s * x[t] if t % 2 else np.cos(s) + x[t]", "s"),
    "asks": ("s = x[0]", "s = s * 0.9 + 0.01 * x[t] if s < 1e9 else s * 1.5", "s"),
    "asks in turns": ("s = x[0]", "s = s * 0.5 + np.sin(x[t]) if s > 0.2 else s + np.cos(x[t]) ** 2", "s"),
    "a table": ("s, w = x[0], np.linspace(0.1, 0.9, n)", "s = np.sin(s) * w[t] + x[t] / (t + 1)", "s"),
    "single precision": ("y = x[:3].astype(np.float32)", "y = np.tanh(y * 0.9) + x[t].astype(np.float32)", "np.sum(y)"),
    "whole numbers": ("s, k = x[0], np.zeros(3, int)", "k = k + np.array([1, t, 2])\ns = s + x[t] * k[1]", "s"),
    "masks": ("y = x[:4]", "y = np.where(y > x[t], np.sin(y), y + 0.3)", "np.sum(y)"),
    "views": ("y = np.reshape(x[:6], (2, 3))", "y = np.reshape(y.T * x[t], (2, 3)) + y[::-1]", "np.sum(np.sin(y))"),
}  # fmt: skip


def text(before, turn, result):
    """The text of a function."""
    indented = [("    ", before), ("        ", turn)]
    lines = [[space + line for line in part.splitlines()] for space, part in indented]
    return "\n".join(["def f(x, n):", *lines[0], "    for t in range(n):", *lines[1], f"    return {result}", ""])


def function(source):
    """The function of a text, whose source is at hand."""
    name = f"<loop {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


def generate(seed):
    """The text of a random loop over a few numbers, small arrays, and an array that is filled."""
    rng = np.random.default_rng(seed)

    def pick(*choices):
        return choices[rng.integers(len(choices))]

    def number(depth=0):
        if depth > 2 or rng.random() < 0.3:
            return pick(
                "s",
                "r",
                "x[t]",
                "x[n - 1 - t]",
                "x[0]",
                "x[1]",
                "0.5",
                "0.01 * t",
                "y[0]",
                "y[2]",
                "a[t]",
                "w[t]",
                "np.sum(y)",
            )
        a, b = number(depth + 1), number(depth + 1)
        return pick(f"np.sin({a})", f"np.tanh({a} + {b})", f"({a}) * np.cos({b})", f"({a} - {b}) * 0.5",
                    f"np.maximum({a}, {b})",
                    f"({a}) / (2.0 + ({b}) ** 2)", f"np.where({a} > 0.1, {a}, {b})")  # fmt: skip

    def array():
        one = pick(
            "y",
            "m @ y",
            "y[::-1]",
            "x[:3]",
            "np.stack([s, r, y[1]])",
            "np.concatenate([y[1:], y[:1]])",
            "x[t : t + 1] * y",
            "np.reshape(y, (3, 1))[:, 0]",
        )
        return pick(
            f"np.tanh({one} * {number(2)})", f"0.5 * {one} + {number(2)}", f"np.where({one} > 0.0, y, {one} * 0.3)"
        )

    statements = [
        lambda: f"s = {number()}",
        lambda: f"r, s = s * 0.5, {number()}",
        lambda: f"y = {array()}",
        lambda: f"a[t + 1] = {number()}",
        lambda: f"a[t] += {number()}",
        lambda: f"c[t, {pick(0, 1, ':')}] = {number()}",
        lambda: f"out.append({pick('s', 'y[1]', 'a[t]')})",
        lambda: f"rows.append({pick('y', 'y * s', 'x[:3]')})",
        lambda: f"s = s + 0.1 if {pick('t == 0', 't == n - 1', 's > 0.3', 't > 3')} else s * 0.9",
        lambda: f"for k in range(2):\n    s = np.sin(s + {pick('x[k]', 'y[k]', 'x[t]')})",
    ]
    turn = "\n".join(statements[rng.integers(len(statements))]() for _ in range(rng.integers(2, 7)))
    before = (
        "s, r, y, out, rows = x[0], x[1], x[:3], [x[0]], [x[:3]]\nm = np.reshape(x[:9], (3, 3))\n"
        "a, c, w = np.zeros(n + 1), np.zeros((n, 2)), np.linspace(0.0, 1.0, n)"
    )
    result = "s + r + np.sum(y) + np.sum(a * 0.1) + np.sum(c) + np.sum(np.stack(out)) + np.sum(np.stack(rows) ** 2)"
    return text(before, turn, result)
