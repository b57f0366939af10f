"""NumPy functions on lists and tuples that hold tensors, wherever these were made."""

from collections import deque, namedtuple

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


State = namedtuple("State", "a b c")


@program
def f1(x):
    d = {"a": x[0], "b": x[1]}
    return np.mean(list(d.values()))


def helper(v):
    return np.mean(v)


@program
def f2(x):
    return helper([x[0], x[1]])


@program
def f3(x):
    return np.sum(sorted(x))


@program
def f4(x):
    return np.median(tuple(x))


@program
def f5(x):
    return np.dot((2.0, 3.0, 1.0), tuple(x * 1))


@program
def f6(x):
    d = deque(maxlen=2)
    d.append(x[0])
    d.append(x[1])
    return np.mean(d)


@program
def f7(x):
    s = State(x[0], 0.0, c=x[1])
    return np.sum(s)


class A:
    def __init__(self, x):
        self.v = [x[0], x[1]]

    def m(self):
        return np.prod(self.v)


@program
def f8(x):
    return A(x).m()


@program
def f9(x):
    return chained([x[0], 2.0 * x[1]])


def chained(v):
    return helper(v)
