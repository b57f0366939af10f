"""Arrays of objects that are filled at once, and shapes that are set in place."""

import numpy as np


def objects_by_slice(x=(0.5, 2.0)):
    o = np.empty(3, dtype=object)
    o[:] = [x[0], x[0] * x[1], 2.0]
    return o[0] * o[1] + o[2]


def objects_in_part(x=(0.5, 2.0)):
    o = np.zeros(3, dtype=object)
    o[1:] = x[0], x[1] ** 2
    return o.sum()


def objects_in_rows(x=(0.5, 2.0)):
    o = np.empty((2, 2), dtype=object)
    o[:] = [[x[0], x[1]], [1.0, x[0] * x[1]]]
    return (o @ o)[0, 1]


def objects_of_one(x=(0.5, 2.0)):
    o = np.empty(2, dtype=object)
    o[:] = x[0]
    return o[0] * o[1]


def objects_of_an_array(x=(0.5, 2.0)):
    o = np.empty(2, dtype=object)
    o[...] = x * x[0]
    o *= 2
    return np.sum(o * o[1])


def objects_of_several_kinds(x=(0.5, 2.0)):
    o = np.full(3, None, dtype=object)
    o[:] = [np.ones(2) * x[0], x[1], "mass"]
    return o[0] * o[1]


def objects_by_fill(x=(0.5, 2.0)):
    o = np.empty(2, dtype=object)
    o.fill(x[1])
    o.put([1], [x[0]])
    return np.prod(o)


def _objects(x):
    o = np.empty(2, dtype=object)
    o[0], o[1] = x[0] * x[1], x[1]
    return o


def objects_times_an_array(x=(0.5, 2.0)):
    return np.sum(_objects(x) * x) + np.sum(x / _objects(x))


def objects_times_a_number(x=(0.5, 2.0)):
    return list(_objects(x) * x[0] - x[1] ** _objects(x))


def objects_in_products(x=(0.5, 2.0)):
    return np.dot(_objects(x), x) + x @ _objects(x)


def objects_chosen(x=(0.5, 2.0)):
    o = _objects(x)
    return list(np.where(o > x[0], o, x[0] * np.square(o)))


def objects_of_no_axes(x=(0.5, 2.0)):
    o = np.empty((), dtype=object)
    o[()] = x[1]
    return o * x[0]


def objects_into_numbers(x=(0.5, 2.0)):
    a = np.zeros(3)
    a[1:] = _objects(x)
    return a * x[0]


def shape_of_what_is_filled(x=(0.5, 2.0)):
    a = np.zeros(6)
    a[0], a[3] = x[0], x[1]
    a.shape = (2, 3)
    a[1, 2] = x[0] * x[1]
    return a @ a.T


def shape_before_it_is_filled(x=(0.5, 2.0)):
    a = np.zeros(6)
    a.shape = (2, 3)
    a[0, 1] = x[0]
    a[1] = x[1]
    return a


def shape_of_a_result(x=(0.5, 2.0)):
    a = np.arange(6.0) * x[0] + x[1]
    a.shape = -1, 2
    return a[:, 0] * a[2, 1]


def shape_beside_views(x=(0.5, 2.0)):
    a = np.arange(6.0) * x[0]
    line, odd = a.reshape(6), a[1::2]
    a.shape = (3, 2)
    line.shape = (2, 3)
    a[1] = x[1]
    odd[0] = x[0] ** 2
    line[:, 0] *= 3.0
    return a[:, 0] * a[:, 1] + odd


def shape_that_needs_a_copy(x=(0.5, 2.0)):
    a = (np.arange(6.0).reshape(2, 3) * x[0]).T
    try:
        a.shape = (6,)
    except AttributeError:
        a = a * x[1]
    return a


def shorter_by_resize(x=(0.5, 2.0)):
    a = np.arange(6.0) * x[0]
    a.resize(2, 2)
    return a @ x


def longer_by_resize(x=(0.5, 2.0)):
    a = np.zeros(2)
    a[:] = x
    a.resize((2, 3), refcheck=False)
    a[1, 2] = a[0, 1] ** 2
    return a
