"""Python's numbers, NumPy's, and arrays without axes stay what they are in transforms: every operator of each."""

import itertools
import math
import operator

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad
from adjoint.core.box import Box, raw

# Python 3.12 and later warn of `~` on their truth values, in plain programs too.
pytestmark = pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")

# How a number of each kind comes from the argument.
KINDS = {
    "float": lambda x: float(x),
    "int": lambda x: int(10 * x) - 6,
    "bool": lambda x: float(x) > 0.1,
    "zero": lambda x: float(x) - float(x),
    "negative": lambda x: -float(x),
    "np.float64": lambda x: np.float64(x),
    "0-d array": lambda x: np.array(x),
    "array": lambda x: np.array([x, 2 * x]),
}
CONSTANTS = {"2.5": 2.5, "2": 2, "0": 0, "True": True, "-1": -1, "1j": 1j, "np 2": np.float64(2.0), "list": [1, 2]}
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_"]
UNARY = ["neg", "pos", "abs", "invert", "not_", "truth"]
ERRORS = (ZeroDivisionError, OverflowError, TypeError, ValueError)
# As `==` is written: `operator.eq` might be a container that looks a number up, which is reported.
WRITTEN = {"eq": lambda a, b: a == b}
# A complex number of Python's takes NumPy's float for one of Python's; both answers are right.
EITHER = {("1j", "np.float64")}


def grad(f, x):
    ad.grad(f)(x)


def jvp(f, x):
    ad.jvp(f, (x,), (1.0,))


def jacfwd(f, x):
    ad.jacfwd(f)(x)


def hessian(f, x):
    ad.hessian(f)(x)


def vmap(f, x):
    ad.vmap(f)(np.array([x, x]))


MODES = {"grad": grad, "jvp": jvp, "jacfwd": jacfwd, "hessian": hessian, "vmap": vmap}


def asked(op, left, right, seen):
    """A function that notes what an operator gives or raises."""

    def f(x):
        given = (left(x),) if right is None else (left(x), right(x))
        try:
            result = op(*given)
        except ERRORS as error:
            seen.append((type(error), None))
        else:
            seen.append((type(result), result))
        return x * x

    return f


def number(kind):
    return KINDS.get(kind) or (lambda x: CONSTANTS[kind])


def cases():
    every = [*KINDS, *CONSTANTS]
    for left, right in itertools.product(every, every):
        if (left in KINDS or right in KINDS) and (left, right) not in EITHER:
            yield pytest.param(left, right, id=f"{left}, {right}")


def compare(mode, names, left, right):
    x, wrong = 0.7, []
    for name in names:
        op = WRITTEN.get(name) or getattr(operator, name)
        plain, inside = [], []
        with np.errstate(all="ignore"):
            asked(op, left, right, plain)(np.float64(x) if mode == "vmap" else x)
            MODES[mode](asked(op, left, right, inside), x)
        (kind, value), (found, got) = plain[0], inside[0]
        if found is not kind:
            wrong.append(f"{name}: {kind.__name__} in Python, {found.__name__} here")
            continue
        values = np.asarray(raw(got)) if isinstance(got, Box) else got
        if value is not None and not np.allclose(values, value, rtol=1e-12, equal_nan=True):
            wrong.append(f"{name}: {value} in Python, {values} here")
    assert not wrong


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(("left", "right"), list(cases()))
def test_operators(mode, left, right):
    compare(mode, BINARY, number(left), number(right))


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("kind", list(KINDS))
def test_operators_of_one(mode, kind):
    compare(mode, UNARY, KINDS[kind], None)


def counted(x):
    return ((x > 0) + (x > 0.2) + (x > 0.4)) * x * x


def inverted(x):
    return (~(x > 0) + 4) * x * x


def sorted_by(x):
    return ((x > 0.5) - (x < 0.5) + [1, 2, 3][x > 0.5]) * x * x


def divided(x):
    try:
        return 1 / (x - x)
    except ZeroDivisionError:
        return x * x


def divided_in_other_ways(x):
    found = 0.0
    for divide in (lambda: x % (x - x), lambda: x // 0, lambda: divmod(x, 0.0)[0], lambda: (x - x) ** -1):
        try:
            found = found + divide()
        except ZeroDivisionError:
            found = found + x * x
    return found


def overflowing(x):
    try:
        return (x * 1e200) ** 2
    except OverflowError:
        return x * x


def rooted(x):
    return abs((-x) ** 0.5)


def compared_with_a_list(x):
    return x * (x == [1]) + x * (x != (1,)) + x * x


def by_class(x):
    return (5 if x.__class__ is float else 1) * x * x


def by_type(x):
    return {float: 5.0, np.float64: 1.0}.get(type(x), 0.0) * x * x


def by_name(x):
    return x * x * (5 if type(math.sin(x)).__name__ == "float" else 1)


def by_attribute(x):
    return (1 if hasattr(x, "shape") or hasattr(x, "__getitem__") else 5) * x * x


def by_error(x):
    try:
        return x * x * len(x.shape)
    except AttributeError:
        return 5 * x * x


def by_index(x):
    try:
        return x[0] * x
    except TypeError:
        return 5 * x * x


def generic(x):
    return x * x if isinstance(x, np.generic) else 5 * x * x


def as_an_array(x):
    return 5 * x * x if isinstance(np.array(x), np.ndarray) else x


def of_an_element(x):
    a = np.array([x, 2 * x])
    return a[0] * a.sum() * (5 if type(a[0]) is float or type(a.sum()) is float else 1)


def from_an_array(x):
    a = np.array([x, 2 * x])
    return x * sum(5 if type(q) is float else 1 for q in (a.tolist()[0], a[0].item(), float(a[1])))


def in_single_precision(x):
    return float((x * np.ones(2, np.float32)).dtype == np.float32) * x * x


def summed_in_place(x):
    s = np.zeros(())
    t = s
    t += x
    return s * x


def kept_in_a_list(x):
    s, found = np.array(0.0), []
    for _ in range(3):
        s += x
        found.append(s)
    return sum(found) * x


def shared_array(x):
    a = np.asarray(x, dtype=float)
    b = a
    b += 1
    return a[()] * x


def shown_array(x):
    a = np.zeros(())
    a[...] = x
    c = a[...]
    c *= 2
    return a * x


def tripled(v):
    v *= 3


def written_by_a_function(x):
    s = np.array(x)
    tripled(s)
    return s * x


def numbers_of_numpy(x):
    total = 0.0
    for s in (np.nan_to_num(x), np.interp(x, [0.0, 1.0], [0.0, 2.0]), np.einsum("i,i->", np.array([x, x]), np.ones(2))):
        t = s
        t *= 2
        total = total + s
    return total * x


def repeated(x):
    return x * x * len([0.0] * round(x * 7)) * len((1, 2) * (int(x * 7) // 2))


def long_whole_numbers(x):
    return round(x * 1e6) ** 5 * x * 1e-24


@ad.custom_vjp
def counting(x):
    return ((x > 0) + (x > 0.1)) * x


counting.defvjp(lambda x: (counting(x), x), lambda x, g: (g * ((x > 0) + (x > 0.1)),))


def with_a_rule(x):
    y = counting(x)
    return y * x * (5 if type(y) is float else 1)


def solved(x):
    root = optimize.brentq(lambda t: ((t > 0) + (t > 0.2)) * t**2 - x, 0.0, 9.0, xtol=1e-14)
    return root * x * (5 if type(root) is float else 1)


PROGRAMS = (
    *(
        counted,
        inverted,
        sorted_by,
        divided,
        divided_in_other_ways,
        overflowing,
        rooted,
        compared_with_a_list,
        by_class,
        by_type,
        by_name,
    ),
    *(by_attribute, by_error, by_index, generic, as_an_array, of_an_element, from_an_array, in_single_precision),
    *(summed_in_place, kept_in_a_list, shared_array, shown_array, written_by_a_function, numbers_of_numpy, repeated),
    *(with_a_rule, solved),
)
HOW = {
    "grad": ad.grad,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1],
    "jacfwd": ad.jacfwd,
    "differentiable": lambda f: lambda x: ad.grad(ad.checkpoint(ad.differentiable(f)))(x),
    "compiled": lambda f: ad.grad(ad.compile(f)),
    "compiled gradient": lambda f: ad.compile(ad.grad(f)),
}


@pytest.mark.parametrize("how", list(HOW))
@pytest.mark.parametrize("f", [pytest.param(f, id=f.__name__) for f in PROGRAMS])
def test_programs(f, how):
    x, h = 0.7, 1e-6
    wanted = (f(x + h) - f(x - h)) / (2 * h)
    derivative = HOW[how](f)
    for _ in range(2):
        assert derivative(x) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("f", [pytest.param(f, id=f.__name__) for f in PROGRAMS])
def test_programs_in_second_order(f):
    x, h = 0.7, 1e-5
    slope = ad.grad(f)
    wanted = (slope(x + h) - slope(x - h)) / (2 * h)
    for second in (ad.hessian(f), ad.grad(slope), ad.jacfwd(ad.jacfwd(f))):
        assert second(x) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", [pytest.param(f, id=f.__name__) for f in PROGRAMS])
def test_programs_of_samples(f):
    def of_float(x):
        return f(float(x))

    xs = np.array([0.7, 0.71])
    for program in (f, of_float):
        with np.errstate(all="ignore"):
            try:
                wanted = [program(x) for x in xs]
            except (TypeError, IndexError):  # NumPy's truth values do not subtract, and its numbers have no elements
                continue
            np.testing.assert_allclose(ad.vmap(program)(xs), wanted, rtol=1e-12)


def test_whole_numbers_of_samples_that_are_too_long():
    xs = np.array([0.7, 0.71])
    np.testing.assert_allclose(
        ad.vmap(lambda x: long_whole_numbers(x * 1e-3))(xs), [long_whole_numbers(x * 1e-3) for x in xs]
    )
    with pytest.raises(ad.BatchedValueError, match="64 bits"):
        ad.vmap(long_whole_numbers)(xs)


def test_errors_that_some_samples_raise():
    with pytest.raises(ad.BatchedValueError, match="ZeroDivisionError for some"):
        ad.vmap(lambda x: 1 / float(x))(np.array([0.0, 1.0]))
    with pytest.raises(ZeroDivisionError):
        ad.vmap(lambda x: 1 / float(x))(np.zeros(2))
    with pytest.raises(ad.BatchedValueError, match="complex number for some"):
        ad.vmap(lambda x: float(x) ** 0.5)(np.array([-1.0, 1.0]))


def test_texts_are_python_s():
    seen = []

    def f(x):
        seen.append((repr(x), f"{x!r}", str([x, x > 0]), str({"a": x}), "{!r}".format((x,)), repr(np.sin(x))))  # noqa: UP032 - as people write it
        return x * x

    f(0.7)
    for transform in (ad.grad, ad.jacfwd, ad.hessian):
        transform(f)(0.7)
    assert len(set(seen)) == 1
