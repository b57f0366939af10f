"""Programs of somebody else's, which are not rewritten: what `test_leaks` tries."""

import contextlib
import copy
import ctypes
import json
import logging
import math
import operator
import pickle
import statistics
import threading

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize

import adjoint as ad

__name__ = "strangers"  # a package of its own: the tests' own functions are rewritten, these are not

KEPT = []


def helper(v):
    return math.sin(v)


def show(v, title="v"):
    print(f"{title}: {v:.3f}")


def as_float(v):
    return float(v)


def value_of(t):
    return t.item()


def converged(a, b):
    return abs(a - b) < 1e-3


class Library:
    """Stands for a package that reads numbers in Python and computes with them in C."""

    def __init__(self, c=0.0):
        self.c = c

    def __call__(self, x):
        return math.exp(x.item())

    def scaled(self, x):
        return self.c * x


# -- Programs that lose a derivative: each takes a number and gives one -----------------------------------------------

BY_ARITHMETIC = {
    "item": lambda x: x * x.item(),
    "item on the left": lambda x: x.item() * x,
    "item of a result": lambda x: x * (x * x).item(),
    "two steps": lambda x: x * (2.0 * x.item() - 1.0) ** 2,
    "by a function": lambda x: value_of(x) * x,
    "tolist": lambda x: np.stack([x, x]).tolist()[1] * x,
    "numpy": lambda x: np.sum(np.stack([x, x]).numpy()) * x,
    "an element of numpy": lambda x: np.stack([x, x]).numpy()[0] * x,
    "numpy, in a loop": lambda x: sum(v for v in np.stack([x, x]).numpy()) * x,
    "a norm of numpy": lambda x: np.linalg.norm(np.stack([x, x]).numpy()) * x,
    "a ufunc": lambda x: np.sin(x.item()) * x,
    "a NumPy function": lambda x: np.clip(x.item(), 0.0, 3.0) * x,
    "a NumPy scalar": lambda x: np.float64(3.0) * x.item() * x,
    "an array": lambda x: np.sum(np.ones(2) * x.item() * x),
    "abs": lambda x: abs(x.item()) * x,
    "max": lambda x: max(x.item(), 1.0) * x,
    "sum": lambda x: sum([x.item(), 1.0]) * x,
    "joined": lambda x: np.sum(np.stack([x, x.item()]) * x),
    "stored in a tensor": lambda x: stored(x),
    "kept, then used": lambda x: Library(x.item()).scaled(x),
    "methodcaller": lambda x: operator.methodcaller("item")(x) * x,
    "statistics": lambda x: statistics.mean([x.item(), 3.0]) * x,
}
BY_OTHERS = {
    "math": lambda x: x * math.sin(x.item()),
    "math of a result": lambda x: x * math.sin(2.0 * x.item()),
    "a function that calls math": lambda x: helper(x.item()) * x,
    "an object that calls math": lambda x: Library()(x) * x,
    "math, after a comparison": lambda x: compared_then_used(x),
    "float": lambda x: float(x.item()) * x,
    "float by a function": lambda x: float(value_of(x)) * x,
    "a function that makes a float": lambda x: as_float(x.item()) * x,
    "np.array": lambda x: np.sum(np.array([x.item(), 1.0]) * x),
    "np.full": lambda x: np.sum(np.full(2, x.item()) * x),
    "written into an array": lambda x: written(x),
    "a root finder": lambda x: x * scipy.optimize.brentq(lambda r: (r * r - x).item(), 0.0, 5.0),
    "a quadrature": lambda x: x * scipy.integrate.quad(lambda s: s * x.item(), 0.0, 1.0)[0],
    "a matrix function": lambda x: np.sum(scipy.linalg.expm(np.outer(np.stack([x, x]), [1.0, 2.0]).numpy())) * x,
    "a C function": lambda x: C_SINE(x.item()) * x,
    "a callback from C": lambda x: ctypes.CFUNCTYPE(ctypes.c_double)(lambda: x.item())() * x,
    "np.vectorize": lambda x: np.sum(np.vectorize(lambda k: (x * k).item())(np.arange(3.0))) * x,
    "np.fromiter": lambda x: np.sum(np.fromiter((x.item() for _ in range(3)), float)) * x,
    "a thread": lambda x: in_a_thread(x) * x,
    "code without source": lambda x: executed("import math; y = math.sin(x.item()) * x", x),
}
LOST = {
    "the result": lambda x: x.item(),
    "the result, a float": lambda x: float(x.item()),
    "all dependence": lambda x: Library()(x) * 1.0,
    "kept, and all dependence": lambda x: math.sin(kept(x).c) * 1.0,
}


class Remembering:
    """Computes anew where its argument is another one than at the last call."""

    def __init__(self, same, copied=np.array):
        self.same, self.copied, self.last, self.result = same, copied, None, None

    def __call__(self, x):
        if self.last is None or not self.same(x, self.last):
            self.last, self.result = self.copied(x), np.sum(x * x)
        return self.result


class RememberingNumber:
    """The same for one number, compared by an operator."""

    last = None

    def __call__(self, x):
        if x == self.last:
            return self.kept
        self.last, self.kept = x, x * x
        return self.kept


class RememberingTwo(RememberingNumber):
    def __call__(self, x, y=2.0):
        if self.last is None or (x, y) != self.last:
            self.last, self.kept = (x, y), x * x * y
        return self.kept


class Changing(RememberingNumber):
    def __call__(self, x):
        if self.last is None or x != self.last:
            self.last, self.kept = x, x * x
        return self.kept


_LAST = {"x": None}


def remembering_in_a_dictionary(x):
    if _LAST["x"] is not None and _LAST["x"] == x:
        return _LAST["y"]
    _LAST["x"], _LAST["y"] = x, x * x
    return _LAST["y"]


_last = _kept = None


def remembering_in_globals(x):
    global _last, _kept
    if _last is None or x != _last:
        _last, _kept = x, x * x
    return _kept


REMEMBERED_NUMBERS = [
    RememberingNumber(),
    RememberingTwo(),
    Changing(),
    remembering_in_a_dictionary,
    remembering_in_globals,
]


def at_a_known_place(x):
    return at_a_known_place.value if x == at_a_known_place.place else x * 0.0


at_a_known_place.place, at_a_known_place.value = 2.0, 3.0


def until_it_stays(x):
    last, now = None, x
    while now != last:
        last, now = now, x
    return 3.0


NOT_REMEMBERED = [at_a_known_place, until_it_stays]


REMEMBERED = {
    "np.array_equal": Remembering(np.array_equal),
    "np.allclose": Remembering(np.allclose),
    "np.array_equiv": Remembering(np.array_equiv),
    "==": Remembering(lambda x, last: (x == last).all()),
    "np.all": Remembering(lambda x, last: np.all(np.equal(x, last))),
    "bytes": Remembering(lambda x, last: x.tobytes() == last, lambda x: x.tobytes()),
}


def stored(x):
    out = np.zeros_like(x, shape=2)
    out[0] = x.item()
    return np.sum(out) * x


def written(x):
    out = np.zeros(2)
    out[0] = x.item()
    return np.sum(out * x)


def compared_then_used(x):
    v = x.item()
    return math.log(v) * x if v > 1.0 else x


def kept(x):
    library = Library()
    library.c = x.item()
    return library


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(math.sin(x.item())))
    thread.start()
    thread.join()
    return found[0]


def executed(text, x):
    names = {"x": x}
    exec(text, names)
    return names["y"]


C_SINE = ctypes.CDLL(None).sin
C_SINE.restype, C_SINE.argtypes = ctypes.c_double, [ctypes.c_double]

LEAKS = BY_ARITHMETIC | BY_OTHERS | LOST

# -- Legitimate programs ----------------------------------------------------------------------------------------------


def looked_at(x):
    v = x.item()
    if v > 1.0 and v != 3.0 and v:
        x = x * x
    return (x + 0.0) * len(range(int(v)))


def until_converged(x):
    y, last = x, x.item() + 1.0
    while abs(y.item() - last) > 1e-3:
        last, y = y.item(), 0.5 * (y + x / y)
    return y


def with_a_helper_that_compares(x):
    y = x
    while not converged(y.item(), 1.0):
        y = np.sqrt(y)
    return y


def printed(x):
    print(x.item(), f"{x.item():.2f}", "%g" % x.item(), str(x.item()), "{:.1f}".format(x.item()), repr(x.numpy()))  # noqa: UP031, UP032 - each form
    show(x.item())
    show(v=x.item())
    logging.getLogger("leaks").debug("%f", x.item())
    json.dumps({"v": x.item()})
    return x * x


def collected(x):
    KEPT.append(x.item())
    KEPT.append(float(x.item()))
    KEPT.extend([x.item(), *np.stack([x, x]).tolist()])
    losses = {"loss": x.item()}
    losses["again"] = x.item()
    return x * x


def averaged_for_printing(x):
    print(np.mean([x.item(), 2.0]), round(x.item(), 2), sum([x.item()]) / 2)
    return x * x


def indexed(x):
    return np.arange(10.0)[int(x.item())] * x * np.sum(np.ones(int(x.item())))


def asserted(x):
    y = x * x
    assert abs(y.item() - x.item() ** 2) < 1e-9, f"{y.item()}"
    assert np.isfinite(y.numpy())
    assert np.allclose(y.numpy(), 4.0)
    return y


def detached(x):
    return x * x.detach().item() + ad.stop_gradient(x) * x


def without_grad(x):
    with ad.no_grad():
        scale = x.item() + math.sin(x.item())
    return x * scale


def of_a_constant(x):
    c = ad.tensor(3.0)
    return x * c.item() * math.sin(c.item())


def of_a_parameter(x):
    w = ad.tensor(3.0, requires_grad=True)
    return x * w.item()


def tried(x):
    with contextlib.suppress(Exception):
        x = float(x)
    return x * x


def sorted_by_value(x):
    a, b = sorted([x * 3.0, x * 2.0], key=lambda t: t.item())
    return a * 2.0 + b


def without_source(x):
    return executed("print(x.item()); y = x * x", x)


LEGITIMATE = [
    *(looked_at, until_converged, with_a_helper_that_compares, printed, collected, averaged_for_printing, indexed),
    *(asserted, detached, without_grad, of_a_constant, of_a_parameter, tried, sorted_by_value, without_source),
]


# -- Refusals that somebody swallows ----------------------------------------------------------------------------------


def swallowed(conversion, otherwise):
    def function(x):
        try:
            v = conversion(x)
        except Exception:
            v = otherwise
        return v * 1.0

    return function


CONVERSIONS = {
    "float": float,
    "a NumPy function without a rule": np.emath.sqrt,
    "a ufunc without a rule": np.frompyfunc(math.sin, 1, 1),
    "complex": lambda x: complex(x).real,
    "int": int,
    "np.asarray": lambda x: np.sum(np.asarray(x)),
    "np.array": lambda x: np.sum(np.array([x, x])),
    "math": math.sin,
    "written into an array": lambda x: np.zeros(1).__setitem__(0, x),
    "np.fromiter": lambda x: np.fromiter([x], float),
    "memoryview": lambda x: np.from_dlpack(x),
}


def refused_and_no_part(x):
    try:
        v = float(x * x)
    except Exception:
        v = 1.0
    return x * v


def compared_only(x, y):
    return y * y if x.item() > 0 else y


def with_other_results(x):
    return x * x, {"value": x.item(), "array": np.stack([x, x]).numpy()}


def times_its_value(x):
    return x * x.item()


def trying(error):
    def function(x):
        try:
            v = float(x)
        except error:
            v = 1.0
        return x * v

    return function


def examining(found):
    def function(x):
        v, c, a = x.item(), (x * 1j).item(), np.stack([x, x]).numpy()
        found.append(isinstance(v, float) and isinstance(c, complex) and isinstance(a, np.ndarray))
        found.append((v + 1, 1 - v, -v, v**2, 7 // v, divmod(7, v), abs(-v)) == (3, -1, -2, 4, 3, (3, 1), 2))
        found.append((hash(v), repr(v), f"{v:.1f}", {v: 1}[2.0]) == (hash(2.0), "2.0", "2.0", 1))
        found.append(type(pickle.loads(pickle.dumps(v))) is float and copy.deepcopy(v) == copy.copy(v) == 2.0)
        found.append(type(pickle.loads(pickle.dumps(a))) is np.ndarray and repr(a) == repr(np.array([2.0, 2.0])))
        found.append(a.sum() == 4 and a.tolist() == [2.0, 2.0] and a[0] == 2 and a.mean() == 2 and c == 2j)
        found.append((np.float32(1) * np.ones(1, np.float32) * v).dtype == np.float32)
        return x * x

    return function


def failing(x):
    KEPT.append(x.item())
    raise ZeroDivisionError
