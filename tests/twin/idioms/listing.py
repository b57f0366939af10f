"""Lists of numbers that NumPy's functions are given, and that come from somewhere else: calls, loops, containers."""

import numpy as np

_Z = np.exp(1j * np.linspace(0.1, 2.0, 5))


def _coefficients(x):
    return [x[0], x[1]], [1.0, x[0]]


def _squares(x):
    found = []
    for i, value in enumerate(x):
        found.append(value * value + i)
    return found


def _stream(x):
    for value in x:
        yield [value, value * value]


class _Filter:
    def __init__(self, x):
        self.b, self.a = [x[0], x[1]], [1.0, x[1]]

    def both(self):
        return self.b, self.a

    @property
    def numerator(self):
        return self.b


def list_of_a_function(x=(0.3, 1.2)):
    return np.mean(_squares(x))


def list_of_a_call_in_a_name(x=(0.3, 1.2)):
    squares = _squares(x)
    return np.cumsum(squares)


def lists_unpacked_from_a_function(x=(0.3, 1.2)):
    b, a = _coefficients(x)
    return np.abs(np.polyval(b, _Z) / np.polyval(a, _Z))


def lists_of_a_method(x=(0.3, 1.2)):
    b, a = _Filter(x).both()
    return np.abs(np.polyval(b[::-1], _Z) / np.polyval(a, _Z))


def list_of_a_property(x=(0.3, 1.2)):
    return np.sum(_Filter(x).numerator) * np.mean(_squares(x)[:1])


def list_in_a_dictionary(x=(0.3, 1.2)):
    parts = {"a": [x[0], x[1]], "b": 2.0}
    return np.sum(parts["a"]) ** parts["b"]


def row_of_lists(x=(0.3, 1.2)):
    rows = [[x[0], 1.0], [x[1], x[0]]]
    return np.sum(rows[0]) * np.prod(rows[1])


def list_repeated_and_added(x=(0.3, 1.2)):
    return np.max([x[0]] * 2 + [x[1]]) * np.prod((x[0], x[1])[::-1])


def list_chosen(x=(0.3, 1.2)):
    chosen = [x[0], x[1]] if x[0] > 0 else [x[1]]
    return np.prod(chosen)


def list_starred(x=(0.3, 1.2)):
    first, *rest = x
    return np.sum(rest) * first


def list_turned_around(x=(0.3, 1.2, 0.7)):
    values = list(x)
    other = values
    for _ in range(3):
        other = other[::-1]
    return np.diff(other)


def list_of_an_inner_function(x=(0.3, 1.2)):
    def powers(value):
        return [value, value**2]

    def twice(value):
        return value, 2 * value

    return np.sum(powers(x[0])) * np.prod(twice(x[1])) + np.sum(*[powers(x[1])])


def groups_of_items(x=(0.3, 1.2, 0.7)):
    groups = {}
    for i, value in enumerate(x):
        groups.setdefault(i % 2, []).append(value)
    return sum(np.std(group) * (key + 1) for key, group in groups.items()) + np.mean(groups[0])


def list_extended(x=(0.3, 1.2, 0.7)):
    found = []
    found += [x[0]]
    found.extend(x[1:])
    return np.std(found)


def lists_of_a_generator(x=(0.3, 1.2)):
    return sum(np.sum(pair) * np.prod(pair) for pair in _stream(x))


def list_from_a_list(x=(0.3, 1.2)):
    stack = [[x[0]], [x[1], x[0]]]
    top = stack.pop()
    return np.var(top) + np.sum(stack[0])
