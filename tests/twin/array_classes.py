"""Classes that derive from NumPy's arrays, as strangers write them: each function takes one array of floats."""

import math

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


class Named(np.ndarray):
    """NumPy's own example: an array with one more attribute."""

    def __new__(cls, values, info=1.0):
        obj = np.asarray(values).view(cls)
        obj.info = info
        return obj

    def __array_finalize__(self, obj):
        if obj is None:
            return
        self.info = getattr(obj, "info", 0.5)

    def scaled(self):
        return self * self.info

    @property
    def first(self):
        return self[0] * self.info


@program
def attribute_of_a_view(x):
    return Named(x, 3.0).scaled()


@program
def attribute_of_slices(x):
    return Named(x, 3.0)[1:].scaled() + Named(x, 2.0)[::-1][:-1].info


@program
def attribute_of_ufuncs(x):
    q = np.sin(Named(x, 3.0)) + 1.0
    return q * q.info


@program
def attribute_of_copies(x):
    q = Named(x, 3.0)
    r = q.copy()
    r[0] = x[1] * x[2]
    r.info = 5.0
    return np.concatenate([q.scaled(), r.scaled(), np.array(r, subok=True).scaled()])


@program
def attribute_of_views(x):
    return x.view(Named).scaled() + Named(x, 4.0).view(Named).info


@program
def attribute_of_reductions(x):
    s = Named(x, 3.0).sum()
    return s * s.info + Named(x.reshape(1, -1), 2.0).mean(axis=0).info * x


@program
def property_of_a_class(x):
    return Named(x, 3.0).first ** 2 + x


@program
def attribute_that_is_a_tensor(x):
    return Named(x, x[0] ** 2).scaled()[1:].scaled()


@program
def reshaped_and_turned(x):
    q = Named(np.outer(x, x + 1.0), 3.0).T
    return q @ q * q.info + q.reshape(9)[1].real + q.ravel().info


@program
def is_instance(x):
    q = Named(x)
    right = isinstance(q, Named) and isinstance(q, np.ndarray) and isinstance(q[1:], Named) and type(q) is Named
    wrong = isinstance(q[0], Named) or isinstance(np.asarray(q), Named) or isinstance(x, Named)
    return x**2 if right and not wrong and q.__class__ is Named and issubclass(type(q), np.ndarray) else 5.0 * x


@program
def as_plain_arrays(x):
    q = Named(x, 3.0)
    plain = q.view(np.ndarray) * 2.0 + np.asarray(q) + np.array(q)
    return plain if type(plain) is np.ndarray and not hasattr(plain, "info") else 7.0 * x


@program
def plain_array_first(x):
    r = np.arange(x.size) * Named(x, 3.0) - np.ones(x.size) / Named(x, 2.0)
    return r * r.info


@program
def stacked_and_where(x):
    q = Named(x, 3.0)
    r = np.stack([q, x])
    return np.where(q > 0.5, q, -x) + r.sum(axis=0) + np.linalg.norm(q) + np.dot(q, q)


@program
def loops_over_it(x):
    total = 0.0
    for v in Named(x, 3.0):
        total += math.sin(v) * float(v)
    return total + sum(Named(x)) + max(Named(x))


@program
def in_place(x):
    q = Named(x.copy(), 3.0)
    q *= 2.0
    q[0] += x[1]
    q[1:] -= x[0]
    return q.scaled()


@program
def writes_through_a_view(x):
    a = np.zeros(3)
    q = a.view(Named)
    q[0] = x[0] * x[1]
    q[1:] = x[1:3]
    return a * 2.0 + q.scaled()


CONSTANT = Named(np.array([1.0, 2.0, 4.0, 8.0]), 3.0)


@program
def constant_of_the_module(x):
    q = CONSTANT[: x.size] * x
    return q * q.info + (x + CONSTANT[: x.size]).scaled()


@program
def ufunc_of_a_constant(x):
    q = np.multiply(CONSTANT[: x.size], x)
    return q.scaled() + np.hypot(x, CONSTANT[: x.size]).info


class Bare(np.ndarray):
    """A class with methods alone."""

    def norm(self):
        return np.sqrt((self**2).sum())

    def unit(self):
        return self / self.norm()


@program
def bare_made_by_shape(x):
    v = Bare((3,))
    v[0], v[1], v[2] = x[0], 2.0 * x[1], x[2] ** 2
    return v.unit()


@program
def bare_by_view(x):
    return x.view(Bare).unit().unit() * x.view(Bare).norm()


class Vector(np.ndarray):
    """Made of its parts, by NumPy's own way to make arrays."""

    def __new__(cls, x=0.0, y=0.0, z=0.0):
        obj = np.ndarray.__new__(cls, (3,), dtype=float)
        obj[:] = x, y, z
        return obj

    x = property(lambda self: self[0])
    y = property(lambda self: self[1])

    @property
    def z(self):
        return self[2]

    @z.setter
    def z(self, value):
        self[2] = value

    @classmethod
    def of(cls, parts):
        return cls(*parts)

    @staticmethod
    def axis():
        return Vector(0.0, 0.0, 1.0)

    def cross(self, other):
        return Vector(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def __abs__(self):
        return math.sqrt(self.dot(self))


@program
def vector_of_parts(x):
    v = Vector(x[0], x[1] * x[2], 2.0)
    w = Vector.of(x[:3])
    w.z = x[0] * w.x
    return v.cross(w) + abs(v) * Vector.axis() + w.y


class Quaternion(np.ndarray):
    """With products of its own."""

    def __new__(cls, q=None, normalise=True):
        q = np.array([1.0, 0.0, 0.0, 0.0]) if q is None else np.array(q, dtype=float)
        if normalise:
            q = q / np.linalg.norm(q)
        return super().__new__(cls, (4,), float, q)

    @property
    def w(self):
        return self.view(np.ndarray)[0]

    @property
    def v(self):
        return self.view(np.ndarray)[1:]

    @property
    def conjugate(self):
        return Quaternion(np.array([1.0, -1.0, -1.0, -1.0]) * self.view(np.ndarray), normalise=False)

    def __mul__(self, other):
        if not isinstance(other, Quaternion):
            return Quaternion(np.asarray(self) * other, normalise=False)
        w = self.w * other.w - self.v @ other.v
        v = self.w * other.v + other.w * self.v + np.cross(self.v, other.v)
        return Quaternion([w, *v], normalise=False)

    def __rmul__(self, other):
        return Quaternion(np.asarray(self) * other * 10.0, normalise=False)

    def __imul__(self, other):
        self[:] = np.asarray(self * other)
        return self

    def rotate(self, a):
        return (self * Quaternion([0.0, *a], normalise=False) * self.conjugate).v


@program
def quaternion_rotates(x):
    return Quaternion([1.0, x[0], x[1], x[2]]).rotate(np.array([x[1], 2.0, x[0]]))


@program
def quaternion_products(x):
    q = Quaternion([1.0, x[0], x[1], x[2]])
    p = Quaternion()
    p *= q
    return 2.0 * q + np.ones(4) * p + x[0] * q + x[:1] * q + q * x[1]


class Seconds(np.ndarray):
    """Answers NumPy's functions: a unit for each operation."""

    __array_priority__ = 10.0

    def __new__(cls, values, power=1):
        obj = np.array(values, dtype=float).view(cls)
        obj.power = power
        return obj

    def __array_finalize__(self, obj):
        if obj is not None:
            self.power = getattr(obj, "power", 1)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = tuple(x.view(np.ndarray) if isinstance(x, Seconds) else x for x in inputs)
        if out:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Seconds) else x for x in out)
        result = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
        if result is NotImplemented:
            return NotImplemented
        powers = [getattr(x, "power", 0) for x in inputs]
        if ufunc is np.multiply and method == "__call__":
            power = sum(powers)
        elif ufunc is np.true_divide:
            power = powers[0] - powers[1]
        elif ufunc is np.sqrt:
            power = powers[0] / 2
        else:
            power = powers[0]
        made = np.asarray(result).view(Seconds)
        made.power = power
        if out:
            out[0].power = power
            return out[0]
        return made

    @property
    def value(self):
        return self.view(np.ndarray) * 60.0**self.power


@program
def units_of_ufuncs(x):
    t = Seconds(x)
    return (t * t + t * 2.0 * t).value + np.sqrt(t * t).value + (3.0 / t).value


@program
def units_of_reductions(x):
    t = Seconds(x)
    return (t * t).sum().value + np.sum(t * t).value + t.mean().value * x + np.max(t * t).value + t.std().value


@program
def units_in_place(x):
    t = Seconds(x.copy())
    t *= Seconds(x[::-1])
    return t.value


@program
def units_of_differences(x):
    t = Seconds(x, 2)
    return np.diff(t).value + np.cumsum(t)[1:].value + t.clip(0.1, 5.0)[1:].value


class Noted(np.ndarray):
    """Answers NumPy's other functions."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __array_function__(self, func, types, args, kwargs):
        if func is np.concatenate:
            return 2.0 * np.concatenate([np.asarray(a) for a in args[0]])
        if not all(issubclass(t, np.ndarray) for t in types):
            return NotImplemented
        return super().__array_function__(func, types, args, kwargs)


@program
def functions_of_its_own(x):
    q = Noted(x)
    return np.concatenate([q, x]), np.mean(q) * x, np.outer(q, x) @ x


class Wrapped(np.ndarray):
    """Says what becomes of results by ``__array_wrap__``."""

    def __new__(cls, values, count=0):
        obj = np.asarray(values).view(cls)
        obj.count = count
        return obj

    def __array_finalize__(self, obj):
        self.count = getattr(obj, "count", 0)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        made = super().__array_wrap__(array, context, return_scalar)
        if made.shape == ():
            return made[()]
        made.count = self.count + 1
        return made


@program
def counts_results(x):
    q = np.exp(np.sin(Wrapped(x)) * 2.0)
    return q * q.count + q.sum() * x


class Periodic(np.ndarray):
    """With an index of its own."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __getitem__(self, index):
        if isinstance(index, int):
            return super().__getitem__(index % len(self))
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        super().__setitem__(index % len(self) if isinstance(index, int) else index, value)


@program
def indices_of_its_own(x):
    q = Periodic(x.copy())
    q[x.size + 1] = x[0] * x[1]
    return np.array([q[i] * q[i + 1] for i in range(2 * x.size)]) + q[1:][7]


class Angle(Named):
    """Derives from a class of the same kind."""

    def __new__(cls, values, turns=0):
        obj = super().__new__(cls, values, info=2.0)
        obj.turns = turns
        return obj

    def __array_finalize__(self, obj):
        super().__array_finalize__(obj)
        self.turns = getattr(obj, "turns", 0)

    def scaled(self):
        return super().scaled() + self.turns

    @property
    def first(self):
        return super().first + self.turns

    def half(self):
        return type(self)(self / 2.0, self.turns + 1)

    def same(self):
        return self.view(type(self))


@program
def class_of_a_class(x):
    a = Angle(x, 3)
    return a.half().scaled() + a.same().first + a[1:].scaled().sum() + isinstance(a.half(), Named)


class Mixin:
    def doubled(self):
        return self + self

    def total(self):
        return float(np.sum(self.doubled()))


class Mixed(Mixin, np.ndarray):
    def __new__(cls, values, **kwargs):
        obj = np.asanyarray(values, dtype=float).view(cls)
        obj.__dict__.update(kwargs)
        return obj

    def __init__(self, values, **kwargs):
        self.started = self[0]

    def __array_finalize__(self, obj):
        self.__dict__.update(getattr(obj, "__dict__", {}))


@program
def class_with_a_mixin(x):
    q = Mixed(x, weight=3.0)
    return q.doubled() * q.weight + q.total() + q.started + (q + 1.0).weight


class Structure:
    """Holds arrays of a class."""

    def __init__(self, values):
        self.parts = {"a": Named(values, 2.0), "b": [Named(values[::-1], 3.0)]}

    def total(self):
        return self.parts["a"].scaled() * self.parts["b"][0].scaled()


@program
def held_by_objects(x):
    return Structure(x).total()


class Matrix(np.ndarray):
    """Products by ``*``, as in old programs."""

    def __new__(cls, data):
        return np.atleast_2d(np.asarray(data, dtype=float)).view(cls)

    def __mul__(self, other):
        return np.dot(np.asarray(self), np.asarray(other)).view(Matrix)

    def __rmul__(self, other):
        return np.dot(np.asarray(other), np.asarray(self)).view(Matrix)

    def __pow__(self, n):
        out = Matrix(np.eye(len(self)))
        for _ in range(n):
            out = out * self
        return out

    @property
    def H(self):  # noqa: N802
        return self.conj().T

    @property
    def I(self):  # noqa: N802, E743
        return np.linalg.inv(self).view(Matrix)


@program
def matrix_products(x):
    m = Matrix([[x[0], x[1]], [0.3, x[2]]])
    return (m * m.H + m**3 * m.I + np.ones((2, 2)) * m).ravel()


@program
def argument_of_a_function(x):
    def area(shape):
        return shape.first * shape[1] if isinstance(shape, Named) else 0.0

    return area(Named(x, 2.0)) + area(Named(x, 3.0)[1:])


@program
def sorted_and_searched(x):
    q = Named(x.copy(), 3.0)
    order = q.argsort()
    r = np.sort(q)
    q.sort()
    return r * r.info + q[order].scaled() + np.take(q, [0, 1, 2]) * q.take([1, 1, 0]).info


@program
def copies_by_module(x):
    import copy

    q = Named(x, 3.0)
    return copy.copy(q).scaled() + copy.deepcopy(q).scaled()


@program
def like_it(x):
    q = np.zeros_like(Named(x, 3.0))
    r = np.empty_like(Named(x, 4.0))
    q[0] = x[1] ** 2
    r[:] = x
    return q.scaled() + r.scaled()


@program
def constants_in_products(x):
    c = CONSTANT[: x.size]
    return np.dot(c, x) * np.dot(x, c) + c.dot(x) + x.dot(c) + c @ x + x @ c


@program
def classes_of_products(x):
    square = Named(np.outer(x, x), 5.0)
    left, right = x.dot(square), square.dot(x)
    return np.asarray(left) * getattr(left, "info", 7.0) + np.asarray(right) * getattr(right, "info", 7.0)


@program
def plain_array_in_place(x):
    a = x.copy()
    a += CONSTANT[: x.size]
    a *= Named(x, 2.0)
    return a * getattr(a, "info", 7.0)


@program
def written_by_out(x):
    o, plain = Named(np.zeros(3), 5.0), np.zeros(3)
    r = np.multiply(x, 3.0, out=o)
    np.add(Named(x, 2.0), x, out=plain)
    return r.scaled() + o.scaled() + plain


@program
def lists_of_them(x):
    several = [Named(x, 2.0), Named(2.0 * x, 3.0)]
    total = sum(several).scaled() + np.array(several)[1] ** 2 + np.stack(several)[0]
    return total + max(several, key=lambda q: q.scaled().sum()).scaled() + [1.0, 2.0, 3.0] * Named(x, 2.0)


@program
def class_made_inside(x):
    class Local(np.ndarray):
        def twice(self):
            return self * 2.0

    v = x.view(Local)
    return v.twice() * isinstance(v.twice(), Local) + 2.0**v


class Setting:
    def __init__(self):
        self.weights = CONSTANT[:3]
        self.ones = np.ones(3).view(Named)

    def go(self, x):
        return (self.weights * x).scaled() + (x * self.ones).scaled()


SETTING = Setting()


@program
def constants_of_objects(x):
    return SETTING.go(x)


@program
def masks_and_shapes(x):
    q = Named(x.copy(), 2.0)
    q[q > 0.6] = 0.1 * x[0]
    r = Named(np.outer(x, x), 3.0)
    r.shape = (9,)
    np.put(q, [1], x[2])
    return q.scaled() * r[:3].scaled() + r[None, :3].scaled()[0] + q[[0, 2, 2]].scaled()


@program
def linear_algebra(x):
    m = Named(np.outer(x, x) + np.eye(3), 2.0)
    r = np.linalg.solve(m, x)
    return (
        r * getattr(r, "info", 7.0) + np.linalg.inv(m)[0] + np.trace(m) + np.linalg.det(m) + np.linalg.norm(m, axis=0)
    )


@program
def numpys_functions(x):
    q = Named(x, 2.0)
    total = (
        np.interp(0.5, [0.0, 1.0, 2.0], q) + np.trapezoid(q) + np.gradient(q) + np.median(q) + np.einsum("i,i->", q, x)
    )
    return (
        total + np.roll(q, 1) + np.flip(q).scaled() + np.tile(q, 2)[1:4] + np.clip(a=q, a_min=0.5, a_max=0.9).scaled()
    )


class Mark:
    """No array: it answers operators itself, and NumPy's arrays ask it by its priority."""

    __array_priority__ = 3.0

    def __init__(self, weight):
        self.weight = weight

    def __rtruediv__(self, other):
        return np.asarray(other) / self.weight

    def __radd__(self, other):
        return other.scaled() + self.weight

    def __rpow__(self, other):
        return np.asarray(other) ** 2 * self.weight

    def __gt__(self, other):
        return np.asarray(other) * self.weight


@program
def operands_of_higher_priority(x):
    q, mark = Named(x, 2.0), Mark(x[1])
    return q / mark + (q + mark) + q**mark + (q < mark)
