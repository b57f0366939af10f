"""Random worlds: functions of Python and NumPy over objects, containers and closures; changes between their calls."""

import random
import re

SETUP = """\
import contextlib
import contextvars
import functools
import math
G = 0.5
N = 2
FLAG = True
MODE = "sin"
A = np.array([1.0, -2.0, 0.5])
B = np.array([0.25, 0.5, -1.0])
V = A[::-1]
L = [1.0, -0.5, 2.0]
LA = [A, np.ones(3)]
D = {"a": 0.5, "b": -1.0}
S = {"p", "q"}
E = {}
LOG = []
F = {"s": np.sin, "h": lambda v: v * G}
rng = np.random.default_rng(3)
it = iter([0.5, 1.5, -0.5, 2.5, 1.0, 0.1, 0.2, 0.3, 0.4, 0.6])
K = contextvars.ContextVar("K", default=0.75)
class Base:
    unit = 1.5
    def go(self, v):
        return v * self.unit
class C(Base):
    def __init__(self, k):
        self.k = k
        self.n = 0
        self.a = np.ones(3) * k
        self.items = [k]
        self.on = True
    @property
    def twice(self):
        return self.k * 2
    @twice.setter
    def twice(self, v):
        self.k = v / 2
    def tick(self, by=1):
        self.n += by
        return self.n
    def keep(self, v):
        self.last = v
        return v
class P(C):
    def go(self, v):
        return super().go(v) - self.k
    def __getattr__(self, name):
        if name == "soft":
            return 0.125
        raise AttributeError(name)
class Q:
    __slots__ = ("a", "n")
    def __init__(self, a):
        self.a = a
        self.n = 1
    def __add__(self, other):
        return Q(self.a + getattr(other, "a", other))
    def __getitem__(self, k):
        self.n += 1
        return self.a[k]
    def __len__(self):
        return self.n
class M(dict):
    def __missing__(self, key):
        return 0.375
o = C(0.5)
p = P(0.75)
q = Q(np.ones(3))
m = M(a=1.0)
def helper(v, by=0.5, *, plus=0.0):
    return v * by + plus
helper.mark = 1.0
def twist(v, depth=2):
    return v if depth <= 0 else np.tanh(twist(v * 0.9, depth - 1))
def parts(v, n=3):
    total = 0.0
    for k in range(n):
        total = total + v * k
        yield total
def note(v):
    LOG.append(len(LOG))
    return v
def make():
    cell = 0.5
    count = 0
    def get(v):
        nonlocal count
        count += 1
        return v * cell
    def put(v):
        nonlocal cell
        cell = v
    return get, put
get, put = make()
@contextlib.contextmanager
def scope(name):
    LOG.append(name)
    try:
        yield len(LOG)
    finally:
        LOG.append("out")
@functools.lru_cache(maxsize=4)
def table(n):
    return np.arange(3) * n
w = ad.tensor([0.5, -1.0, 2.0], requires_grad=True)
"""
CHANGES = """G = {c} | G = {i} | G = np.float64({c}) | N += 1 | N = {i} | FLAG = not FLAG | MODE = "cos"
MODE = "sin" | A[0] = {c} | A = np.full(3, {c}) | A *= -1 | B[:] = {c} | V = A[1:] | V[0] = {c} | A, B = B, A
L.append({c}) | L.pop() | L.clear() | L.reverse() | L[0] = {c} | L = [{c}, {i}] | L.insert(0, {c})
LA.append(np.full(3, {c})) | LA[0] = np.full(3, {c}) | LA.reverse() | LA[0][1] = {c} | LA[0] = LA[-1] | D["a"] = {c}
D["a"] = D.pop("a", 1.0) | D["c"] = {c} | del D["b"] | D.clear() | D = {"b": {c}, "a": {c}} | D["b"] = None
E["x"] = {c} | E.clear() | S.add("r") | S.discard("p") | m["z"] = {c} | M.__missing__ = lambda self, key: {c}
F["s"] = np.cos | F["h"] = lambda v: v - N | del F["s"] | o.k = {c} | o.n = {i} | o.extra = {c} | del o.extra
o.a = np.full(3, {c}) | o.a[1] = {c} | o.on = not o.on | o.twice = {c} | o.items.append({c}) | o = C({c})
o = P({c}) | o.go = lambda v: v * 3 | del o.go | o.__class__ = P | vars(o)["k"] = {c} | C.unit = {c}
Base.unit = {c} | del C.unit | Base.go = lambda self, v: v - self.unit | C.tick = lambda self, by=1: by
C.go = lambda self, v: v * 2 | C.twice = property(lambda self: 7.0) | p.k = {c} | p.soft = {c} | P.go = C.go
q.a = np.full(3, {c}) | q.n = {i} | Q.__add__ = lambda self, other: self | q = Q(A) | helper = twist
helper.__defaults__ = ({c},) | helper.mark = {c} | helper.__kwdefaults__ = {"plus": {c}} | del helper.mark
def helper(v, by=1.0, *, plus={c}): return v - by + plus | put({c}) | put(np.full(3, {c})) | get, put = make()
table.cache_clear() | K.set({c}) | np.random.seed({i}) | rng = np.random.default_rng({i}) | rng.random()
it = iter([{c}, {c}]) | LOG.clear() | w.grad = None | w.data[0] = {c}
w = ad.tensor([{c}, 1.0, {c}], requires_grad=True) | w.requires_grad = not w.requires_grad | X[0] = {c}
len = lambda v: 5 | del len"""
NUMBERS = """{c} | {c} | {i} | y | y | G | N | o.k | o.n | p.k | p.soft | len(L) | len(D) | L[0] | L[-1] | D["a"]
D.get("c", 1.5) | m["zz"] | o.twice | o.unit | C.unit | getattr(o, "extra", 0.25) | helper.mark | x[0] | x.sum()
float(x[1]) | np.sum({a}) | {a}.mean().item() | K.get() | sum(L) | len(q) | q[0] | next(it) | rng.random()
o.tick() | o.tick({i}) | o.items[0] | np.float64({n}) | int({n}) | round({n}, 2) | math.sqrt(abs({n}))
math.tanh({n}) | max({n}, {n}) | min(L) | abs({n}) | ({n}+{n}) | ({n}-{n}) | ({n}*{n}) | ({n}/{n}) | ({n}//{n})
({n}%3) | ({n}**2) | ({n} if {b} else {n}) | note({n}) | sum(v * {n} for v in L) | len([v for v in L if v>{n}])
table({i})[1] | sorted(L)[0] | helper({n}) | get({n}) | sum(D.values()) | np.max({a}) | (lambda v:v+G)({n})
(z or 1.0) | kw.get("k", {n}) | sum(rest) | E.setdefault("x", {n})"""
ARRAYS = """x | x | x | A | A | B | V | o.a | p.a | q.a | LA[0] | LA[-1] | np.ones(3) | np.zeros(3) | np.arange(3.0)
np.full(3, {n}) | np.array([{n}, {n}, {n}]) | ({a}+{a}) | ({a}-{a}) | ({a}*{a}) | ({a}*{n}) | ({n}-{a}) | ({a}/{n})
np.tanh({a}) | np.sin({a}) | np.abs({a}) | np.sqrt(np.abs({a})) | {a}[::-1] | np.roll({a}, 1) | np.sort({a})
np.cumsum({a}) | np.where({a}>{n}, {a}, {a}) | np.maximum({a}, {n}) | np.clip({a},-1.0, {n}) | {a}.copy()
np.stack([{a}, {a}])[{i}%2] | np.concatenate([{a}[1:], {a}[:1]]) | helper({a}) | helper({a}, {n})
helper({a}, plus={n}) | twist({a}) | twist({a}, {i}) | o.go({a}) | p.go({a}) | o.keep({a}) | get({a}) | F["s"]({a})
F["h"]({a}) | (lambda v:v*G)({a}) | note({a}) | sum(parts({a})) | sum(LA) | list(parts({a}, {i}+1))[-1] | (q+{a}).a
rng.normal(size=3) | np.random.rand(3) | getattr(np, MODE)({a}) | ({a} if {b} else {a})
functools.reduce(lambda u, v:u+v, LA) | np.asarray([v * {n} for v in {a}]) | table({i}) | w.data | E.get("y", x)
{a}.reshape(3, 1)[:,0] | np.dot({a}, {a})*{a} | functools.partial(helper, by={n})({a}) | max(LA, key=np.sum) | {a}.T
np.minimum(*LA[:2])"""
TRUTHS = """FLAG | (MODE=="sin") | ("c" in D) | hasattr(o, "extra") | o.on | L | E | ({n}>{n}) | ({n}<=0.5)
(np.sum({a})>{n}) | (x[0]>0) | isinstance({n}, int) | (x is A) | ("p" in S) | (not {b}) | ({b} and {b})
({b} or {b}) | (y==1.0) | (z is None) | np.any({a}>1) | bool(N%2) | (type(o) is C) | (o.n%2==0) | callable(z)
np.all({a}==A) | (-1<{n}<1) | isinstance(o, P) | rest | kw | (len(LOG)>3)"""
SIMPLE = """{t} = {a} | {t} = {a} | {t} = {a} | {t} = {n} | {t} += {n} | {t} = {t} * {n} | A[{i}] = {n} | B[:] = {a}
B[...] += {a} | x[0] = {n} | x *= {n} | V[1:] = {n} | o.a[...] = {a} | o.a = {a} | o.k = {n} | o.n += 1 | o.k *= 0.5
o.extra = {n} | if hasattr(o, "extra"): del o.extra | o.twice = {n} | o.items.append({n}) | o.last = {a} | p.k = {n}
q.a = {a} | q.n += 1 | C.unit = {n} | setattr(o, MODE, {n}) | L.append({n}) | L.pop() | L[0] = {n} | L[{i} % 3] += 1
L.sort() | L.insert(0, {n}) | del L[-1] | L.extend([{n}, y]) | L[1:] = [{n}] | LA.append({a}) | LA[0] = {a}
LA[0] += {a} | LA[0], LA[-1] = LA[-1], LA[0] | D["a"] = {n} | D["a"] += 1 | D["c"] = {n} | D.pop("a", None)
D.update(c={n}) | del D["b"] | D["b"], {t} = {n}, {a} | E["y"] = {a} | E[{i}] = {n} | m["w"] = {n} | S.add(MODE)
LOG.append({n}) | print(round(float({n}), 3)) | print("at", {i}, x.shape) | helper.mark = {n} | put({n})
K.set({n}) | F["h"] = twist | global G; G = {n} | global N; N += 1 | global A; A = {a} | nothing = [{a}, {n}]
assert {b} or {b}, "no" | rng.shuffle(A) | np.add({a}, {a}, out=B) | np.copyto(B, {a}) | A[A > 0] *= 0.5
B[[0, 0]] += {n} | x.sort() | {t} = u = {a} | {t}, *_ = [{a}, 1] | {t} = [{a}, {n}][0]
if isinstance(z, list): z.append({n}) | (z if isinstance(z, dict) else kw)["k"] = {a} | kw["new"] = {n}
w.data -= 0.1 * {a} | note({n}); note({a}) | o.tick() | loss = np.sum(w * {a}); loss.backward() | w.grad = None
{t} = ad.grad(lambda v: np.sum(v * v * {n}))({a}) | {t} = np.sum(w * {a})
{t} = f"{MODE} {round(float({n}), 2)}" and {a} | rest and LOG.append(rest[0]) | np.put(A, [0], {n})
{t} = {a}; {t}[0] = {n}"""
BLOCKS = [
    ["if {b}:", ["S"], "else:", ["S"]],
    ["if {b}:", ["S", "S"]],
    ["if {b}:", ["return {a}, {n}"]],
    ["for {t} in (0.5, {n}, 2):", ["S"]],
    ["for k in range({i}):", ["S"]],
    ["for k, v in D.items():", ["t = {a} + v"]],
    ["for v in list(L):", ["if v > {n}:", ["break"], "S"], "else:", ["S"]],
    ["for k, v in enumerate({a}):", ["if v < 0: continue", "S"]],
    ["for u, v in zip({a}, L):", ["t = t + u * v", "S"]],
    ["k = 0", "while k < 3 and np.sum(np.abs(t)) < 9:", ["t = {a} + t", "k += 1"]],
    ["try:", ["S", "S"], "except ({error}) as e:", ["LOG.append(type(e).__name__)", "S"]],
    ["try:", ["S"], "except Exception as e:", ["LOG.append(str(e))"], "else:", ["S"], "finally:", ["S"]],
    ["try:", ["S", "raise {error}({i})", "S"], "except LookupError:", ["S"]],
    ["if {b}:", ["raise {error}(f'{N}')"]],
    ["with scope(MODE) as k:", ["S", "t = t * k"]],
    ["with contextlib.suppress({error}):", ["S", "S"]],
    ["with np.errstate(all='ignore'):", ["S"]],
    ["with ad.no_grad():", ["S"]],
    ["def inner(v, k={n}):", ["S", "return v * k + {n}"], "t = inner({a})"],
    ["def inner(v):", ["nonlocal t", "t = {a}", "return v"], "t = inner({a}) + t"],
    ["gs = [lambda v: v * k for k in range(3)]", "t = gs[0]({a}) + gs[{i} % 3]({n})"],
    ["def gen(v):", ["for k in range(2):", ["got = yield v * k", "S"]], "t = sum(gen({a}))"],
    ["class T:", ["k = {n}", "def go(self, v):", ["return v * self.k + G"]], "t = T().go({a})"],
    ["match z:", ["case None:", ["S"], "case [k, *_]:", ["S"], "case {'k': k}:", ["t = t + k"], "case _:", ["S"]]],
    ["if (s := {n}) > 0.5:", ["t = t * s"]],
    ["found = {k: v for k, v in D.items() if v is not None and v > {n}}", "t = t + sum(found.values())"],
    ["for v in parts({a}):", ["if np.sum(v) > {n}:", ["break"]], "t = v"],
    ["L2 = L", "L2.append({n})", "t = t + L[-1]"],
    ["o2 = o", "o2.k = {n}", "t = t * o.k"],
    ["alias = {a}", "view = alias[1:]", "view[0] = {n}", "t = t + alias"],
]
CALLS = """f(X) | f(X, {c}) | f(X, {i}) | f(-X, {c}) | f(A, {c}) | f(o.a, 1.0) | f(V) | f(X * 2, np.float64({c}))
f(X, {c}, z=L) | f(X, z=D) | f(X, z={"k": {c}}) | f(X, {c}, [1.0]) | f(X, k={c}) | f(x=X, y={c}) | f(X[:2], {c})
f(X, "a") | f(X.astype(np.float32)) | f(X, z=[]) | f(X, z=np.sin) | f({c}) | f(B, {c}, B) | f(LA[0], 0.0)"""


def listed(text):
    """The templates of one of the texts above."""
    return text.replace("\n", " | ").split(" | ")


NOISY = re.compile(r"print|np\.random|next\(|rng\.|table\(|scope\(|ad\.grad|loss|class |match |gen\(v|errstate")
ERRORS = listed("ValueError | KeyError | IndexError | TypeError | ZeroDivisionError | AttributeError | RuntimeError")
CONSTANTS = ["0.5", "-1.0", "2.0", "1.5", "0.0", "-0.25", "3.0"]
STATEMENTS, ALL_CHANGES, ALL_CALLS = listed(SIMPLE), listed(CHANGES), listed(CALLS)
COMMON = ALL_CALLS[:6]
PLACE = re.compile(r"\{([nabcit]|error)\}")
PLACES = {  # what may stand there, and the short ones of these
    "n": (listed(NUMBERS), ["{c}", "y", "G", "N", "o.k"]),
    "a": (listed(ARRAYS), ["x", "A", "o.a", "t", "B"]),
    "b": (listed(TRUTHS), ["FLAG", "o.on"]),
    "t": (["t", "t", "s", "u"], ["t"]),
    "error": (ERRORS, ERRORS),
}


class Program:
    """One random world, as text."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.quiet = self.random.random() < 0.7  # what a recording may refuse would hide the rest from it
        self.write()
        while not self.compiles():
            self.write()

    def compiles(self):
        """Whether it is Python at all: a name may be used before it is declared global."""
        try:
            compile(self.text.replace("---", ""), "program", "exec")
        except SyntaxError:
            return False
        return True

    def write(self):
        """One try."""
        body = [line for _ in range(self.random.randint(1, 6)) for line in self.statement(1)]
        result = self.fill(
            self.random.choice(["t", "t, {a}, {n}", "{'t': t, 'b': {a}}", "[t, x, t]", "o", "L, D, t", "{a}"])
        )
        declared = dict.fromkeys(line.strip() for line in body if line.strip().startswith("global "))
        body = [line for line in body if not line.strip().startswith("global ")]
        head = [
            "@compiled",
            "def f(x, y=1.0, *rest, z=None, **kw):",
            *(f"    {line}" for line in declared),
            "    t, s, u = x, x * 0.5, y",
        ]
        self.module = SETUP + "\n".join([*head, *body, f"    return {result}"])
        self.script = "\n".join(self.steps())
        self.text = f"{self.module}\n---\n{self.script}\n"

    def fill(self, template, depth=0):
        """The template with random parts in its places."""

        def part(found):
            name = found[1]
            if name not in PLACES:
                return {"c": self.random.choice(CONSTANTS), "i": self.random.choice("0123")}[name]
            leaf = depth > 2 or self.random.random() < 0.3
            return self.fill(self.choice(PLACES[name][leaf]), depth + 1)

        return PLACE.sub(part, template)

    def choice(self, templates):
        """One of these; of a quiet program, none that makes noise."""
        found = self.random.choice(templates)
        while self.quiet and NOISY.search(str(found)):
            found = self.random.choice(templates)
        return found

    def statement(self, indent):
        """Lines of one statement."""
        pad = "    " * indent
        if indent > 3 or self.random.random() < 0.62:
            return [pad + part.strip() for part in self.fill(self.choice(STATEMENTS)).split(";")]
        return self.block(self.choice(BLOCKS), indent)

    def block(self, parts, indent):
        lines = []
        for part in parts:
            if isinstance(part, list):
                lines += self.block(part, indent + 1)
            elif part == "S":
                lines += self.statement(indent)
            else:
                lines.append("    " * indent + self.fill(part))
        return lines

    def steps(self):
        """Calls, and changes between them."""
        for _ in range(self.random.randint(3, 5)):
            yield self.fill(self.random.choice(COMMON if self.random.random() < 0.6 else ALL_CALLS))
            for _ in range(self.random.randint(0, 2)):
                yield self.fill(self.random.choice(ALL_CHANGES))
        yield "f(X, 1.0)"
