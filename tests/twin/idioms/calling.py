"""Functions that take functions, and methods of plain arrays."""

import functools
import itertools
import operator

import numpy as np

_TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])
_WEIGHTS = np.array([0.5, -1.5])


def vectorize(x=(0.3, 1.2)):
    f = np.vectorize(lambda v: v**2 if v > 1 else -v)
    return f(x)


def vectorize_of_two(x=(0.3, 1.2)):
    f = np.vectorize(lambda a, b: np.exp(-a * b))
    return f(x, np.array([[1.0], [2.0]]))


@np.vectorize
def _squared(v):
    return v * v if v > 0 else 0.0


def vectorize_decorator(x=(0.3, 1.2)):
    return _squared(x) + _squared(x[0])


def vectorize_signature(x=(0.3, 1.2, 2.0, 1.0)):
    f = np.vectorize(lambda row: np.sqrt(np.sum(row**2)), signature="(n)->()")
    return f(x.reshape(2, 2))


def vectorize_excluded(x=(0.3, 1.2)):
    f = np.vectorize(lambda v, table: v * table[0], excluded=["table"])
    return f(x, table=[2.0, 3.0])


def vectorize_otypes(x=(0.3, 1.2)):
    f = np.vectorize(lambda v: 3 * v, otypes=[float])
    return f(x)


def vectorize_over_constants(x=(0.3, 1.2)):
    f = np.vectorize(lambda k: x[0] ** k + x[1])
    return f(np.arange(1, 4))


def from_python_function(x=(0.3, 1.2)):
    f = np.frompyfunc(lambda a, b: a * b + a, 2, 1)
    return f(x, np.array([2.0, 3.0]))


def along_axis(x=(0.3, 1.2, 2.0, 1.0)):
    return np.apply_along_axis(lambda row: np.array([row[0] * row[1], row.sum()]), 1, x.reshape(2, 2))


def along_axis_to_scalar(x=(0.3, 1.2, 2.0, 1.0)):
    return np.apply_along_axis(lambda c: float(c[0]) / c[1], 0, x.reshape(2, 2))


def over_axes(x=(0.3, 1.2, 2.0, 1.0)):
    return np.apply_over_axes(np.sum, x.reshape(2, 2) ** 2, [0, 1])


def from_function(x=(0.3, 1.2)):
    return np.fromfunction(lambda i, j: x[0] * i + x[1] * j, (2, 3))


def piecewise(x=(0.3, 1.2, -0.5)):
    return np.piecewise(x, [x < 0, x >= 1], [lambda v: v**2, lambda v: np.exp(v), 0.5])


def piecewise_of_constants(x=(0.3, 1.2)):
    t = np.linspace(0.0, 1.0, 4)
    return np.piecewise(t, [t < 0.5, t >= 0.5], [lambda s: s * x[0], lambda s: x[1] + s])


def map_of_lambda(x=(0.3, 1.2)):
    return sum(map(lambda v: v**2, x))  # noqa: C417 - as people write it


def map_of_two(x=(0.3, 1.2)):
    return np.array(list(map(operator.mul, x, x[::-1])))


def filter_of_values(x=(0.3, -1.2, 2.0)):
    return sum(filter(lambda v: v > 0, x))


def reduce_of_lambda(x=(0.3, 1.2, 2.0)):
    return functools.reduce(lambda a, b: a * 0.5 + b**2, x)


def reduce_of_operator(x=(0.3, 1.2, 2.0)):
    return functools.reduce(operator.mul, x, 1.0)


def partial(x=(0.3, 1.2)):
    f = functools.partial(lambda a, b, c: a * b + c, x[0])
    return f(x[1], c=x[0] ** 2)


def accumulate(x=(0.3, 1.2, 2.0)):
    return np.array(list(itertools.accumulate(x, lambda a, b: a * b + 1)))


def starmap(x=(0.3, 1.2)):
    return sum(itertools.starmap(lambda a, b: a * b, [(x[0], x[1]), (x[1], x[1])]))


def products(x=(0.3, 1.2)):
    return sum(a * b**2 for a, b in itertools.product(x, x))


def pairs(x=(0.3, 1.2, 2.0)):
    return sum((a - b) ** 2 for a, b in itertools.combinations(x, 2))


def takewhile(x=(0.3, 1.2, 5.0)):
    return sum(itertools.takewhile(lambda v: v < 2, x**2))


def methodcaller(x=(0.3, 1.2)):
    return operator.methodcaller("sum")(x**2) + operator.methodcaller("item")(x[0])


def attrgetter(x=(0.3, 1.2)):
    return operator.attrgetter("T")(x) ** 2


def itemgetter(x=(0.3, 1.2)):
    a, b = operator.itemgetter(1, 0)(x)
    return a * b**2


def generator_of_values(x=(0.3, 1.2)):
    def values():
        for v in x:
            yield v * 2
            yield v**2

    return np.array(list(values()))


def next_of_iterator(x=(0.3, 1.2)):
    it = iter(x)
    return next(it) * next(it) ** 2


def enumerate_and_zip(x=(0.3, 1.2)):
    return sum(i * a * b for i, (a, b) in enumerate(zip(x, x[::-1] ** 2, strict=True), 1))


def unpacked(x=(0.3, 1.2, 2.0)):
    first, *rest = x
    return first * rest[0] + rest[-1] ** 2


def star_arguments(x=(0.3, 1.2)):
    return np.array([*x, *(x**2)])


def plain_dot(x=(0.3, 1.2)):
    return _TABLE.dot(x)


def plain_dot_of_list(x=(0.3, 1.2)):
    return _TABLE.dot([x[0], x[1] ** 2])


def plain_matmul(x=(0.3, 1.2)):
    return _TABLE @ x + x @ _TABLE


def plain_times(x=(0.3, 1.2)):
    return _TABLE * x + _WEIGHTS / x - _TABLE**x


def plain_clip(x=(0.3, 1.2)):
    return _TABLE.clip(x[0] + 1.0, x[1] + 2.0)


def plain_take_of_argsort(x=(0.3, 1.2)):
    return _WEIGHTS.take(np.argsort(-x)) * x


def plain_choose(x=(0.3, 1.2)):
    return np.array([1, 0]).choose([x, x**2])


def plain_searchsorted(x=(0.3, 1.2)):
    i = np.array([0.0, 1.0, 2.0]).searchsorted(x)
    return x * _TABLE[0][i - 1]


def plain_copy_written(x=(0.3, 1.2)):
    a = _TABLE.copy()
    a[0] = x
    return a @ x


def plain_astype_written(x=(0.3, 1.2)):
    a = np.array([1, 2]).astype(float)
    a[1] = x[0] * x[1]
    return a


def plain_reshape_written(x=(0.3, 1.2)):
    a = np.arange(4.0).reshape(2, 2)
    a[:, 1] = x
    return a


def index_by_ix(x=(0.3, 1.2, 2.0, 1.0)):
    return x.reshape(2, 2)[np.ix_([0, 1], [1])] ** 2


def nditer_over(x=(0.3, 1.2)):
    total = 0.0
    for v in np.nditer(x):
        total = total + v**2
    return total


def nditer_of_objects(x=(0.3, 1.2)):
    kept = np.empty((1, 2), dtype=object)
    kept[0, 0], kept[0, 1] = np.array([1.0, 2.0]) * x[0], np.array([3.0])
    total = 0.0
    for each in np.nditer(kept, flags=["refs_ok"]):
        total = total + each.item().size * x[1] ** 2 + each.item().sum()
    return total


def ndenumerate_over(x=(0.3, 1.2, 2.0, 1.0)):
    return sum((i + 2 * j + 1) * v**2 for (i, j), v in np.ndenumerate(x.reshape(2, 2)))


def ndindex_over(x=(0.3, 1.2, 2.0, 1.0)):
    a = x.reshape(2, 2)
    return sum(a[index] ** (index[0] + 1) for index in np.ndindex(2, 2))


def sliding_windows(x=(0.3, 1.2, 2.0, 1.0)):
    return np.lib.stride_tricks.sliding_window_view(x, 2).sum(axis=1) ** 2


def strided_windows(x=(0.3, 1.2, 2.0, 1.0)):
    s = x.strides[0]
    return np.lib.stride_tricks.as_strided(x, shape=(3, 2), strides=(s, s)).prod(axis=1)


def reduced(x=(0.3, 1.2, 2.0)):
    return np.add.reduce(x**2) + np.multiply.reduce(x)


def accumulated(x=(0.3, 1.2, 2.0)):
    return np.multiply.accumulate(x)


def reduced_at(x=(0.3, 1.2, 2.0)):
    return np.add.reduceat(x**2, [0, 2])


def outer_product(x=(0.3, 1.2)):
    return np.subtract.outer(x, [x[0] ** 2, 1.0])


def extended_sqrt(x=(0.3, 1.2)):
    return np.emath.sqrt(x[0]) + np.emath.sqrt(-x[1]).imag


def extended_log(x=(0.3, 1.2)):
    return np.emath.log(-x[0]).real * x[1]


def reparametrised(x=(0.3, 1.2)):
    rng = np.random.default_rng(3)
    return rng.normal(x[0], x[1], size=3) ** 2


def legacy_random(x=(0.3, 1.2)):
    rng = np.random.RandomState(3)
    return rng.normal(loc=x[0], scale=x[1]) + rng.uniform(0, x[1], 2)


def exponential_draws(x=(0.3, 1.2)):
    return np.random.default_rng(1).exponential(x[1], 2) * x[0]


def chosen_values(x=(0.3, 1.2, 2.0)):
    return np.random.default_rng(1).choice(x, size=4) ** 2


def shuffled(x=(0.3, 1.2, 2.0)):
    y = x**2
    np.random.default_rng(2).shuffle(y)
    return y * np.arange(3)


def compose(x=(0.3, 1.2)):
    def composed(*functions):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), functions)

    return composed(np.sin, lambda v: v**2, float)(x[0]) * x[1]


@functools.lru_cache
def _coefficients(n):
    return np.array([1.0 / (k + 1) for k in range(n)])


def cached_constants(x=(0.3, 1.2)):
    return _coefficients(2) * x


def fixed_point(x=(0.3, 1.2)):
    v = float(x[0])
    for _ in range(60):
        new = np.cos(v * x[1])
        if abs(new - v) < 1e-14:
            break
        v = new
    return v


def newton_by_hand(x=(2.0, 1.2)):
    v = 1.0
    for _ in range(8):
        v = v - (v**3 - x[0] * v - x[1]) / (3 * v**2 - x[0])
    return float(v)


def runge_kutta(x=(0.3, 1.2)):
    def f(t, y):
        return np.array([y[1], -np.sin(y[0]) - 0.1 * y[1] * x[1]])

    y, h = np.array([x[0], 0.0]), 0.1
    for i in range(4):
        t = i * h
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def kalman_step(x=(0.3, 1.2)):
    f = np.array([[1.0, x[0]], [0.0, 1.0]])
    p = f.dot(np.eye(2) * x[1]).dot(f.T) + np.diag([0.01, 0.02])
    h = np.array([[1.0, 0.0]])
    s = h.dot(p).dot(h.T) + 0.1
    k = p.dot(h.T).dot(np.linalg.inv(s))
    return (np.eye(2) - k.dot(h)).dot(p)


def quaternion_rotation(x=(0.3, 1.2, -0.4)):
    angle = np.linalg.norm(x)
    w, (a, b, c) = np.cos(angle / 2), np.sin(angle / 2) * x / angle
    return np.array(
        [
            [1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
            [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
            [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)],
        ]
    )


def unbound_methods(x=(0.3, 1.2)):
    total = float.__add__(float(x[0]), float(x[1])) * np.ndarray.sum(x)
    return float.__rsub__(total, 1.0) + float.__neg__(float(x[0])) * np.ndarray.dot(x, x) + np.ndarray.copy(x)
