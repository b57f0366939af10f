"""Objects whose classes answer for them: metaclasses, attributes that are functions, `__getattr__` and its order."""

import argparse
import cmath
import functools
import itertools
import linecache
import math
from collections import deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np


class _Counted(type):
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.prepare()
        return made


class _Single(type):
    kept = None

    def __call__(cls, *args):
        return super(_Single, cls).__call__(*args)  # noqa: UP008 - as it was written before


class _ByHand(type):
    def __call__(cls, *args):
        made = cls.__new__(cls)
        made.__init__(*args)
        return made


class _ByType(type):
    def __call__(cls, *args):
        return type.__call__(cls, *args)


class _Rows:
    def __init__(self, a, b):
        self.matrix = np.array([[a, b], [b, 2.0 * a]])
        self.extra = 0.0

    def prepare(self):
        self.extra = np.array([self.matrix[0, 0], 1.0])[0]

    def value(self):
        return np.linalg.det(self.matrix) + self.extra


class _CountedRows(_Rows, metaclass=_Counted):
    pass


class _SingleRows(_Rows, metaclass=_Single):
    pass


class _RowsByHand(_Rows, metaclass=_ByHand):
    pass


class _RowsByType(_Rows, metaclass=_ByType):
    pass


def metaclasses_that_make_instances(x=(0.3, 0.7)):
    return sum(k * kind(*x).value() for k, kind in enumerate((_CountedRows, _SingleRows, _RowsByHand, _RowsByType), 1))


def _erf(z):
    return np.vectorize(math.erf)(z)


class _Model:
    def __init__(self, f, **options):
        self.f = self.mean = f  # NumPy's generators have an `f`, its arrays a `mean`
        for name, value in options.items():
            setattr(self, name, value)
        self.__dict__.update(copy=f)

    def __call__(self, z):
        return self.f(z) + 2.0 * self.mean(z) + self.gamma(z) * self.copy(z)


@dataclass(frozen=True)
class _Law:
    power: object
    std: object = _erf

    def at(self, z):
        return self.power(z) + self.std(z) ** 2


class _Slots:
    __slots__ = ("dot",)

    def __init__(self):
        object.__setattr__(self, "dot", _erf)


_Pair = namedtuple("_Pair", "sum index")
_SPACE = SimpleNamespace(update=_erf)


def functions_in_attributes_named_as_methods(x=(0.3, 0.7)):
    model = _Model(_erf, gamma=_erf)
    return model(x[0]) + _Law(_erf).at(x[1]) + model.f(x[0] * x[1])


def functions_in_slots_and_tuples_named_as_methods(x=(0.3, 0.7)):
    pair = _Pair(_erf, index=_erf)
    return _Slots().dot(x[0]) * pair.sum(x[1]) + pair.index(x[0]) ** 2


def functions_in_namespaces_named_as_methods(x=(0.3, 0.7)):
    given = argparse.Namespace(var=_erf)
    return _SPACE.update(x[0]) + SimpleNamespace(real=_erf).real(x[1]) * given.var(x[1])


class _Lazy:
    kept = None

    def __init__(self, start):
        self.start = start

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return np.array([self.start, 3.0])[0] * len(name)

    @property
    def absent(self):
        raise AttributeError("absent")

    @property
    def square(self):
        return np.array([self.start, 2.0])[0] ** 2


def attributes_of_the_class_that_are_none(x=(0.3, 0.7)):
    lazy = _Lazy(x[0])
    if lazy.kept is None:
        lazy.kept = np.array([x[1], 1.0])[0]
    return lazy.kept * lazy.absent + lazy.square + lazy.other + getattr(lazy, "_none", x[1]) * hasattr(lazy, "_none")


class _Doubled:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        return np.array([obj.__dict__[self.name], 2.0])

    def __set__(self, obj, value):
        obj.__dict__[self.name] = value


class _Once:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        obj.__dict__[self.name] = np.array([obj.a[0], 5.0])
        return 7.0


class _Described:
    a, b = _Doubled(), _Once()


def descriptors_that_keep_values_by_their_names(x=(0.3, 0.7)):
    held = _Described()
    held.a = x[0]
    return held.a @ held.a * held.b + held.b @ np.array([x[1], 1.0])


class _Asked:
    def __init__(self, weight):
        self.weight, self.factor = weight, 2.0

    @property
    def tripled(self):
        return self.factor * 3.0

    def __getattribute__(self, name):
        if name == "refused":
            raise AttributeError(name)
        value = object.__getattribute__(self, name)
        return np.array([value, 1.0])[0] * 2.0 if name in ("weight", "tripled") else value

    def value(self):
        return self.weight + self.tripled


class _AskedTwice(_Asked):
    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def __getattr__(self, name):
        return np.array([self.weight, 1.0])[0] * len(name)


def classes_that_are_asked_for_every_attribute(x=(0.3, 0.7)):
    asked, twice = _Asked(x[0]), _AskedTwice(x[1])
    asked.weight *= 1.5
    return asked.value() * asked.tripled + twice.refused * twice.other + twice.weight * asked.weight


def class_inside_that_is_asked_for_every_attribute(x=(0.3, 0.7)):
    class Kept:
        def __init__(self, value):
            self.value = value

        def __getattribute__(self, name):
            found = super().__getattribute__(name)
            return np.array([found, 1.0])[0] ** 2 if name == "value" else found

    return Kept(x[0]).value * Kept(x[1]).value + x[0]


class _Signed:
    def __init__(self, v):
        self.v = v

    def __sub__(self, other):
        return np.array([self.v - 2.0 * other.v, 1.0])[0]

    def __rsub__(self, other):
        return np.array([self.v * 100.0 + other.v, 1.0])[0]

    def __lt__(self, other):
        return np.array([self.v, 1.0])[0] < other.v

    def __gt__(self, other):
        return np.array([self.v, 1.0])[0] > other.v + 1.0


class _Heir(_Signed):
    pass


class _OwnHeir(_Signed):
    def __rsub__(self, other):
        return np.array([self.v * 10.0 + other.v, 1.0])[0]


def operators_of_heirs(x=(0.3, 0.7)):
    less = _Signed(x[0]) < _Heir(x[1])  # asks the heir, which inherits `>`
    return (_Signed(x[0]) - _Heir(x[1])) * 3.0 + (_Signed(x[0]) - _OwnHeir(x[1])) ** 2 + x[0] * less


class _Growing:
    def __init__(self, start, count):
        self.value, self.left = start, count

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        self.value = np.array([self.value * 1.5, 1.0])[0]
        return self.value

    def __call__(self):
        return next(self)


def iterators_that_end(x=(0.3, 0.7)):
    one, two = _Growing(x[0], 1), _Growing(x[1], 3)
    first, after = next(one, 5.0), next(one, x[0] * x[1])
    calls = list(itertools.islice(iter(_Growing(x[0], 9), "never"), 2))
    return first * after + next(iter(two)) + sum(iter(two)) + next(two, 2.0) + calls[1] + next((v for v in two), x[1])


class _Series:
    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return np.array([self.values[place], 1.0])[0] * 2.0


class _Mapping:
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def keys(self):
        return list(self.values)

    def __getitem__(self, name):
        return np.array([self.values[name], 1.0])[0] * 2.0


def dictionaries_of_mappings(x=(0.3, 0.7)):
    named = dict(_Mapping({"length": x[0], "width": x[1]}), depth=x[0] * x[1])
    return named["length"] * named["width"] + named["depth"] + sum(dict(zip("ab", x, strict=True)).values())


def sequences_that_are_iterated_over(x=(0.3, 0.7)):
    s = _Series(*x, 2.0)
    first, *rest = [*s]
    pairs = sum(a * b for a, b in itertools.pairwise(s)) + list(itertools.accumulate(s))[-1]
    both = list(itertools.chain(s, s))[3] * list(itertools.product(s, s))[1][1] + deque(s, 2)[0]
    chosen = next(itertools.combinations(s, 2))[1] + list(itertools.islice(s, 2))[1]
    chosen += list(itertools.chain.from_iterable([s, [x[0]]]))[1] ** 2
    chosen += next(itertools.dropwhile(lambda v: v < 1.0, s)) + list(itertools.zip_longest(s, x))[1][0]
    return (
        first * rest[0]
        + pairs
        + both
        + chosen
        + functools.reduce(lambda a, b: a * b, s, x[1])
        + max(*s) * len((*s, 1.0))
    )


class _Number:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(np.array([self.v, 1.0])[0]) * 2.0

    def __complex__(self):
        return complex(np.array([self.v, 1.0])[0], 1.0)

    def __floor__(self):
        return np.array([self.v, 1.0])[0] * 5.0

    __ceil__ = __trunc__ = __floor__


def objects_that_are_asked_for_their_numbers(x=(0.3, 0.7)):
    a, b = _Number(x[0]), _Number(x[1])
    near = math.isclose(a, 2.0 * x[0])
    return math.sqrt(a) + math.hypot(a, b) * np.float64(b) + math.floor(a) * math.ceil(b) + math.trunc(a) + near * x[1]


def objects_in_arrays_of_numbers(x=(0.3, 0.7)):
    a, b = _Number(x[0]), _Number(x[1])
    return np.array([a, 2.0], dtype=float) * np.asarray([[b, a]], float)[0] + np.array(b, dtype="f8")


def objects_that_are_complex_numbers(x=(0.3, 0.7)):
    a, b = _Number(x[0]), _Number(x[1])
    return abs(cmath.sqrt(a)) * np.complex128(b).real + np.array([a, b], complex).real.prod() + cmath.phase(b)


class _Length:
    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        numbers = [i.v if isinstance(i, _Length) else i for i in inputs]
        return _Length(np.array([getattr(ufunc, method)(*numbers, **kwargs), 1.0])[0])

    def __array_function__(self, function, types, args, kwargs):
        return np.array([function(self.v, *args[1:], **kwargs), 1.0])[0] * 3.0


def objects_that_answer_functions_of_arrays(x=(0.3, 0.7)):
    length = _Length(x[0])
    times = np.multiply(x[1], length).v + np.multiply(length, x[1]).v ** 2 + np.sin(length).v
    return times + (x[1] * length).v * np.add(np.float64(2.0), length).v * (length - x[0] * x[1]).v


def objects_that_answer_functions_of_numpy(x=(0.3, 0.7)):
    return np.mean(_Length(np.asarray(x))) * x[0] + np.dot(_Length(np.asarray(x)), np.array([1.0, 2.0]))


def _written(source):
    """A function that a program wrote and ran, with its text where debuggers look, as SymPy leaves it."""
    name = f"<written by the tests {len(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    names = {"sin": np.sin, "array": np.array}
    exec(compile(source, name, "exec"), names)
    return names["written"]


_MATRIX = _written("def written(a, b):\n    return array([[sin(a), b], [b, a * b]])\n")
_FILLED = _written("def written(a):\n    import numpy as np\n    m = np.zeros(2)\n    m[0] = a[0]\n    return m\n")


def functions_that_were_written_by_programs(x=(0.3, 0.7)):
    return np.linalg.det(_MATRIX(*x)) + _FILLED(x)[0] * x[1]
