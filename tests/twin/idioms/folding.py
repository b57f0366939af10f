"""Special methods of one's own classes that Python's and NumPy's compiled code calls: sums, folds, ``__array__``."""

import functools
import itertools
import math
import operator

import numpy as np
from numpy.polynomial import Polynomial


class _Vector:
    def __init__(self, x, y):
        self.parts = np.array([x, y])

    def __add__(self, other):
        return _Vector(math.hypot(self.parts[0], 0) + other.parts[0], float(self.parts[1]) + other.parts[1])

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __mul__(self, other):
        return _Vector(math.exp(self.parts[0]) * other.parts[0], self.parts[1] * other.parts[1])

    def __neg__(self):
        return _Vector(-math.fabs(self.parts[0]), -self.parts[1])

    def __lt__(self, other):
        return math.fabs(self.parts[0]) < math.fabs(other.parts[0])

    def __array__(self, dtype=None, copy=None):
        return np.array([self.parts[0], math.sin(self.parts[1])], dtype=dtype)


def _vectors(x):
    return [_Vector(value, value * i) for i, value in enumerate(x, 1)]


def sum_of_vectors(x=(0.3, 1.2, 0.7)):
    return sum(_vectors(x)).parts


def sum_from_a_vector(x=(0.3, 1.2, 0.7)):
    return sum((v for v in _vectors(x)), _Vector(1.0, x[0])).parts


def sum_of_polynomials(x=(0.3, 1.2, 0.7)):
    return sum([Polynomial(x), 2 * Polynomial(x[:2])])(0.4) ** 2


def vectors_reduced(x=(0.3, 1.2, 0.7)):
    return functools.reduce(operator.add, _vectors(x)).parts + functools.reduce(operator.mul, _vectors(x)).parts


def vectors_accumulated(x=(0.3, 1.2, 0.7)):
    sums, products = itertools.accumulate(_vectors(x)), itertools.accumulate(_vectors(x), operator.mul)
    return np.concatenate([v.parts for v in (*sums, *products)])


def product_of_vectors(x=(0.3, 1.2, 0.7)):
    return math.prod(_vectors(x)[1:], start=_vectors(x)[0]).parts


def operators_as_functions(x=(0.3, 1.2, 0.7)):
    a, b, _ = _vectors(x)
    c = operator.iadd(operator.neg(a), b)
    return operator.add(c, a).parts * (2.0 if operator.lt(a, b) else 3.0)


def object_as_an_array(x=(0.3, 1.2, 0.7)):
    a, b, _ = _vectors(x)
    return np.asarray(a) * np.dot(a, x[:2]) + np.exp(b) + np.linalg.norm(a)


def objects_as_arrays(x=(0.3, 1.2, 0.7)):
    a, b, _ = _vectors(x)
    return np.array([a, b]).ravel() * np.mean([a, b], axis=0)[0] + np.vstack([a, x[1:]]).ravel()
