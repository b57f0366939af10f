"""What Python makes of the results of special methods: errors for wrong types, the truth of ``__contains__``."""

import numpy as np
import pytest

import adjoint as ad


class Odd:
    """An object whose special methods give what it is told."""

    def __init__(self, gives):
        self.gives = gives

    def __bool__(self):
        return self.gives

    def __float__(self):
        return self.gives

    __int__ = __complex__ = __str__ = __repr__ = __len__ = __iter__ = __float__

    def __contains__(self, item):
        return self.gives


QUESTIONS = {
    "if": lambda x, odd: x * 2 if odd else x * 3,
    "not": lambda x, odd: x * (not odd),
    "bool": lambda x, odd: x * bool(odd),
    "all": lambda x, odd: x * all([odd]),
    "len": lambda x, odd: x * len(odd),
    "float": lambda x, odd: x * float(odd),
    "int": lambda x, odd: x * int(odd),
    "complex": lambda x, odd: x * complex(odd),
    "str": lambda x, odd: x * len(str(odd)),
    "repr": lambda x, odd: x * len(repr(odd)),
    "in": lambda x, odd: x * (3.0 in odd),
    "for": lambda x, odd: x * sum(odd),
}
RESULTS = [True, 1, 2, -1, 2.0, "1", None, np.float64(2.0), np.int64(1), 1j, [1, 2], ""]


def _outcome(f, *args):
    try:
        return f(*args).tolist()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore:.*strict subclass:DeprecationWarning")
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("where", ["argument", "made inside"])
def test_what_special_methods_give_is_taken_as_python_takes_it(name, where):
    ask, x = QUESTIONS[name], np.array([1.0, 2.0])
    seen = set()
    for gives in RESULTS:
        if where == "argument":
            f, given = ask, (x, Odd(gives))
        else:
            f, given = (lambda x, r: ask(x, Odd(r))), (x, gives)
        compiled, plain = ad.compile(f, wait=True), _outcome(f, *given)
        for _ in range(3):
            assert _outcome(compiled, *given) == plain, gives
        slope = _outcome(lambda: ad.grad(lambda x: np.sum(f(x, *given[1:]).real))(x))
        if type(plain) is list:
            np.testing.assert_allclose(slope, np.real(np.divide(plain, x)))
        else:
            assert slope == plain, gives
        seen.add(type(plain))
    assert name == "in" or tuple in seen
