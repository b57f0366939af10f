"""Somebody else's library, which is not rewritten: programs that lose a derivative, and programs that only look."""

import array
import bisect
import cmath
import collections
import copy
import decimal
import fractions
import functools
import heapq
import math
import operator
import statistics
import struct

import numpy as np
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

__name__ = "strangers"  # a package of its own: the tests' own functions are rewritten, these are not


class Mean:
    def __init__(self):
        self.total = 0.0
        self.n = 0

    def add(self, v):
        self.total += v
        self.n += 1

    @property
    def mean(self):
        return self.total / self.n


class Settings(collections.UserDict):
    pass


Point = collections.namedtuple("Point", "a b")


def gen(x):
    for v in x:
        yield v.item()


def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k)

    return w


@deco
def root(v):
    return math.sqrt(v)


@functools.lru_cache(None)
def cached(v):
    return math.sqrt(v)


def scale(v, k=2.0):
    return v * k


def clampd(v):
    return min(max(v, 0.5), 2.5)


def mid(f, a, b):
    for _ in range(60):
        m = (a + b) / 2
        if f(m) > 0:
            b = m
        else:
            a = m
    return m


def loses_1(x):
    t = 0.0
    for v in x.tolist():
        t += math.sqrt(v)
    return t * np.sum(x)


def loses_2(x):
    a = Mean()
    for v in gen(x):
        a.add(v)
    return a.mean * np.sum(x)


def loses_3(x):
    return root(x[0].item()) * np.sum(x)


def loses_4(x):
    return cached(x[0].item()) * np.sum(x)


def loses_5(x):
    return functools.reduce(operator.mul, x.tolist()) * np.sum(x)


def loses_6(x):
    return sum(map(math.sqrt, x.tolist())) * np.sum(x)


def loses_7(x):
    return sum(math.sqrt(v) for v in x.tolist()) * np.sum(x)


def loses_8(x):
    return max(x.tolist(), key=lambda v: -v) * np.sum(x)


def loses_9(x):
    d = {"k": x[0].item()}
    return math.exp(d["k"]) * np.sum(x)


def loses_10(x):
    c = Settings()
    c["k"] = x[0].item()
    return math.exp(c["k"]) * np.sum(x)


def loses_11(x):
    p = Point(x[0].item(), 1.0)
    return (p.a**2) * np.sum(x)


def loses_12(x):
    return struct.unpack("d", struct.pack("d", x[0].item()))[0] * np.sum(x)


def loses_15(x):
    return array.array("d", x.tolist())[0] * np.sum(x)


def loses_16(x):
    return float(fractions.Fraction(x[0].item())) * np.sum(x)


def loses_17(x):
    return float(decimal.Decimal(x[0].item())) * np.sum(x)


def loses_18(x):
    return cmath.exp(1j * x[0].item()).real * np.sum(x)


def loses_20(x):
    return scipy.optimize.newton(lambda r: (r * r - x[0]).item(), 1.0) * np.sum(x)


def loses_21(x):
    return scipy.special.gamma(x[0].item()) * np.sum(x)


def loses_22(x):
    return scipy.interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 4, 9.0])(x[0].item()) * np.sum(x)


def loses_23(x):
    return scipy.stats.norm.pdf(x[0].item()) * np.sum(x)


def loses_24(x):
    return math.hypot(*x.tolist()) * np.sum(x)


def loses_25(x):
    return math.fsum(x.tolist()) * np.sum(x)


def loses_26(x):
    return statistics.fmean(x.tolist()) * np.sum(x)


def loses_27(x):
    return sorted(x.tolist())[0] * np.sum(x)


def loses_28(x):
    return np.linalg.det(np.diag(x.numpy())) * np.sum(x)


def loses_29(x):
    return np.sum(np.random.default_rng(0).normal(x[0].item(), 1.0, 3) * x)


def loses_30(x):
    return scale(k=x[0].item(), v=1.0) * np.sum(x)


def loses_31(x):
    return functools.partial(operator.mul, 2.0)(x[0].item()) * np.sum(x)


def loses_32(x):
    return clampd(x[0].item()) * np.sum(x)


def loses_33(x):
    return [v * 2 for v in x.tolist()][1] * np.sum(x)


def loses_34(x):
    return {i: 2 * v for i, v in enumerate(x.tolist())}[0] * np.sum(x)


def loses_35(x):
    a = [0.0] * 3
    a[0] = x[0].item()
    return np.sum(np.array(a) * x)


def loses_36(x):
    return np.array(x.tolist()) @ x


def loses_37(x):
    return np.asarray([v.item() for v in x]) @ x


def loses_38(x):
    return np.fromiter(gen(x), float) @ x


def loses_39(x):
    return np.sum(x) * np.float64(x[0].item())


def loses_40(x):
    return np.sum(x) * complex(x[0].item()).real


def loses_41(x):
    v = x[0].item()
    v += 1.0
    v *= 2
    return math.log(v) * np.sum(x)


def loses_42(x):
    (a, b, *_) = x.tolist()
    return a * b * np.sum(x)


def loses_43(x):
    return math.pow(x[0].item(), 2) * np.sum(x)


def loses_44(x):
    return pow(x[0].item(), 2) * np.sum(x)


def loses_45(x):
    return round(x[0].item(), 6) * np.sum(x)


def loses_46(x):
    return np.polyfit(np.arange(3.0), x.numpy(), 1)[0] * np.sum(x)


def loses_47(x):
    return scipy.linalg.solve(np.diag(x.numpy()), np.ones(3)) @ x


def loses_48(x):
    return scipy.optimize.minimize_scalar(lambda r: (r - x[0].item()) ** 2).x * np.sum(x)


def loses_49(x):
    return scipy.optimize.brentq(lambda r: r**3 - x[0].item(), 0, 3) * np.sum(x)


def loses_50(x):
    return np.sum(x) * np.trapezoid([x[0].item(), 1.0], [0, 1.0])


def loses_51(x):
    return np.sum(x) * copy.copy(x[0].item())


def loses_52(x):
    return np.sum(x) * copy.deepcopy([x[0].item()])[0]


def loses_53(x):
    return np.sum(x) * x[0].item().__float__()


def loses_54(x):
    return np.sum(x) * x[0].item().real


def loses_55(x):
    return np.sum(x) * next(iter(x.tolist()))


def loses_56(x):
    return np.sum(x) * x.numpy().flat[0]


def loses_57(x):
    return np.sum(x) * x.numpy().item(0)


def loses_58(x):
    return np.sum(x) * memoryview(x.numpy())[0]


def loses_59(x):
    return np.sum(x) * x.numpy().tobytes().__len__()


def loses_60(x):
    return np.sum(x) * np.frombuffer(x.numpy().tobytes())[0]


def looks_1(x):
    if statistics.fmean(x.tolist()) > 0:
        return np.sum(x**2)
    return np.sum(x)


def looks_2(x):
    i = bisect.bisect([0.0, 1.0, 2.0, 3.0], x[0].item())
    return np.sum(x**2) * i


def looks_3(x):
    o = sorted(range(3), key=lambda i: x[i].item())
    return x[o[0]] * 2 + x[o[-1]]


def looks_4(x):
    while np.max(np.abs(x.numpy())) > 1.0:
        x = x * 0.5
    return np.sum(x)


def looks_5(x):
    n = math.ceil(x[0].item())
    return np.sum(x) * n


def looks_6(x):
    k = round(x[0].item())
    return np.sum(x) * k


def looks_7(x):
    assert math.isfinite(x[0].item())
    return np.sum(x * x)


def looks_8(x):
    if math.isclose(x[0].item(), 3.0):
        return x[0]
    return np.sum(x * x)


def looks_9(x):
    log = []
    for v in x:
        log.append(v.item())
        log.append(math.sqrt(v.item()))
    return np.sum(x * x)


def looks_10(x):
    h = []
    for i, v in enumerate(x):
        heapq.heappush(h, (v.item(), i))
    return x[heapq.heappop(h)[1]] * 3


def looks_11(x):
    s = f"{x[0].item()}"
    return np.sum(x) * len(s[:1])


def looks_12(x):
    tol = 1e-6 * abs(x[0].item())
    y = x
    for _ in range(50):
        z = 0.5 * (y + x / y)
        if abs((z - y)[0].item()) < tol:
            break
        y = z
    return np.sum(y)


def looks_13(x):
    best = None
    for v in x:
        if best is None or v.item() < best.item():
            best = v
    return best * best


def looks_14(x):
    np.testing.assert_allclose(x.numpy(), x.numpy() + 0)
    return np.sum(x * x)


def looks_15(x):
    u = np.unique(x.numpy())
    return np.sum(x) * len(u)


def looks_16(x):
    seen = {round(v.item(), 3) for v in x}
    return np.sum(x) * len(seen)


def looks_18(x):
    h = np.histogram(x.numpy(), 3)[0]
    return np.sum(x * h)


def looks_19(x):
    if np.linalg.norm(x.numpy()) < 100:
        return np.sum(x * x)
    return np.sum(x)


def looks_20(x):
    if math.sqrt(x[0].item()) > 0.5:
        return np.sum(x * x)
    return np.sum(x)
