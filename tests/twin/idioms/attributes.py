"""Setting attributes by code: properties, descriptors, several targets; and arrays in defaults."""

import math

import numpy as np


class _Tank:
    def __init__(self, level, inflow):
        self.level = self.peak = level
        self.level, self._inflow, self.peak = level + inflow, inflow, math.exp(level)

    @property
    def level(self):
        return self._level[0]

    @level.setter
    def level(self, value):
        self._level = np.array([float(value), 1.0])

    @property
    def peak(self):
        return self._peak

    @peak.setter
    def peak(self, value):
        self._peak = math.sqrt(float(value))


def setters_of_several_targets(x=(0.3, 0.7)):
    tank, other = _Tank(*x), _Tank(1.0, 2.0)
    tank.peak, other.level = x[1] * 2.0, x[0]
    (tank.level, rest), other.name = (x[0] * x[1], 3.0), "other"
    return np.array([tank.level, tank.peak, other.level * rest, other.peak, tank._inflow])


class _Checked:
    def __init__(self, kind=float):
        self.kind = kind

    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name)

    def __set__(self, obj, value):
        setattr(obj, self.name, self.kind(value))


class _Spring:
    stiffness, length = _Checked(), _Checked(math.sqrt)

    def __init__(self, stiffness, length):
        self.stiffness, self.length = stiffness, length


def descriptors_that_convert(x=(0.3, 0.7)):
    spring = _Spring(*x)
    spring.stiffness += spring.length
    return np.array([spring.stiffness**2, spring.length])


def buffers_in_defaults(x=(0.3, 0.7)):
    def add(value, buffer=np.zeros(2), *, scale=np.ones(2)):  # noqa: B008 - it is kept from call to call
        buffer[1] += value
        scale *= value
        return buffer * scale

    return np.concatenate([add(x[0]), add(x[1])])
