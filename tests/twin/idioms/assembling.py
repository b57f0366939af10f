"""Arrays put together from numbers."""

import numpy as np


def list_of_scalars(x=(0.3, 1.2)):
    return np.array([x[0] * x[1], x[0] ** 2, np.sin(x[1])])


def tuple_of_scalars(x=(0.3, 1.2)):
    return np.array((x[0] + x[1], x[0] - x[1]))


def rotation_matrix(x=(0.4, 1.0, -2.0)):
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.array([[c, -s], [s, c]]) @ x[1:]


def rotation_matrix_3d(x=(0.4, 1.1, 0.3)):
    ca, sa = np.cos(x[0]), np.sin(x[0])
    cb, sb = np.cos(x[1]), np.sin(x[1])
    rz = np.array([[ca, -sa, 0], [sa, ca, 0], [0, 0, 1]])
    ry = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    return rz @ ry @ np.array([1.0, x[2], x[2] ** 2])


def constants_among_scalars(x=(0.7, 2.0)):
    return np.array([1, x[0], 0.0, x[1], -3])


def booleans_among_scalars(x=(0.7, 2.0)):
    return np.array([True, x[0], False, x[1]])


def list_of_rows(x=(1.0, 2.0, 3.0)):
    return np.array([x, x**2, np.ones(3)])


def list_of_rows_and_lists(x=(1.0, 2.0, 3.0)):
    return np.array([x * 2, [1.0, x[0], x[1]]])


def three_levels(x=(1.0, 2.0)):
    return np.array([[[x[0], 1.0], [2.0, x[1]]], [[x[0] * x[1], 0.0], [0.0, 5.0]]])


def asarray_of_tensor(x=(1.0, 2.0)):
    x = np.asarray(x)
    return x * x[::-1]


def asarray_of_list(x=(1.0, 2.0)):
    return np.asarray([x[1], x[0] * 3])


def asarray_with_dtype(x=(1.0, 2.0)):
    return np.asarray([x[1], x[0], 4], dtype=float) ** 2


def asarray_float64(x=(1.0, 2.0)):
    return np.asarray(x, dtype=np.float64) ** 3


def asanyarray_of_list(x=(1.0, 2.0)):
    return np.asanyarray([x[0], 2 * x[1]]) ** 2


def ascontiguous(x=(1.0, 2.0, 3.0, 4.0)):
    return np.ascontiguousarray(x.reshape(2, 2).T) ** 2


def asfortran(x=(1.0, 2.0, 3.0, 4.0)):
    return np.asfortranarray(x.reshape(2, 2)) ** 2


def required(x=(1.0, 2.0)):
    return np.require(x, dtype=float, requirements=["C"]) ** 2


def checked_finite(x=(1.0, 2.0)):
    return np.asarray_chkfinite(x) ** 2


def array_copy(x=(1.0, 2.0)):
    y = np.array(x)
    y[0] = y[1] ** 2
    return y + x


def array_copy_keyword(x=(1.0, 2.0)):
    y = np.array(x, copy=True)
    y *= 2.0
    return y * x


def array_ndmin(x=(1.0, 2.0)):
    return np.array([x[0], x[1] ** 2], ndmin=2) @ np.ones((2, 1))


def array_as_row(x=(1.0, 2.0)):
    return np.array(x, ndmin=2).T @ np.array([x])


def array_of_complex(x=(1.0, 2.0)):
    z = np.array([x[0] + 1j * x[1], 2j])
    return np.abs(z**2).sum() + z[0].real * z[0].imag


def array_dtype_complex(x=(1.0, 2.0)):
    z = np.array([x[0], x[1]], dtype=complex) * (1 + 2j)
    return z.real + z.imag


def array_of_one_scalar(x=(1.0, 2.0)):
    return np.array(x[0]) * x[1]


def array_of_comprehension(x=(1.0, 2.0, 3.0)):
    return np.array([np.exp(-v) * i for i, v in enumerate(x)])


def array_of_nested_comprehension(x=(1.0, 2.0, 3.0)):
    return np.array([[np.sin(a * b) for a in x] for b in x])


def array_of_generator_list(x=(1.0, 2.0, 3.0)):
    return np.array(list(v * v for v in x))  # noqa: C400 - as people write it


def array_of_map(x=(1.0, 2.0, 3.0)):
    return np.array(list(map(np.sin, x)))


def gram_matrix(x=(1.0, 2.0, 3.0)):
    return np.array([[np.exp(-((a - b) ** 2)) for a in x] for b in x]).sum(axis=0)


def zipped_columns(x=(1.0, 2.0, 3.0)):
    return np.array(list(zip(x, x**2, strict=True)))


def list_then_append(x=(1.0, 2.0)):
    rows = []
    v = x[0]
    for _ in range(4):
        v = np.sin(v) * x[1]
        rows.append(v)
    return np.array(rows)


def list_of_states(x=(1.0, 0.5)):
    state, history = x, []
    for _ in range(3):
        state = state + 0.1 * np.array([state[1], -np.sin(state[0])])
        history.append(state)
    return np.array(history)


def transposed_list(x=(1.0, 2.0, 3.0)):
    return np.array([x, 2 * x]).T @ np.array([1.0, x[0]])


def stack_of_arrays(x=(1.0, 2.0)):
    return np.stack([np.array([x[0], 1.0]), np.array([0.0, x[1]])])


def vstack_of_lists(x=(1.0, 2.0)):
    return np.vstack(([x[0], 1.0], [2.0, x[1]]))


def hstack_of_scalars(x=(1.0, 2.0)):
    return np.hstack([x[0], x, 3.0])


def hstack_of_lists(x=(1.0, 2.0)):
    return np.hstack(([x[0]], [x[1], 4.0]))


def concatenate_lists(x=(1.0, 2.0)):
    return np.concatenate(([x[0]], x[1:] ** 2, [1.0]))


def concatenate_with_list_of_scalars(x=(1.0, 2.0)):
    return np.concatenate([x, [x[0] * x[1]]])


def column_stack_lists(x=(1.0, 2.0)):
    return np.column_stack(([x[0], x[1]], [x[1], 1.0]))


def append_scalar(x=(1.0, 2.0)):
    return np.append(x, x[0] * 2) ** 2


def append_list(x=(1.0, 2.0)):
    return np.append([0.0], [x[0], x[1]])


def insert_scalar(x=(1.0, 2.0)):
    return np.insert(x, 1, x[0] ** 2)


def block_matrix(x=(1.0, 2.0)):
    a = np.array([[x[0], 0.0], [0.0, x[1]]])
    return np.block([[a, np.zeros((2, 1))], [np.ones((1, 2)), np.array([[x[0]]])]])


def block_of_scalars(x=(1.0, 2.0)):
    return np.block([[x[0], 1.0], [0.0, x[1]]]) @ np.ones(2)


def row_builder(x=(1.0, 2.0)):
    return np.r_[x[0], 0.5, x**2]


def row_builder_of_slices(x=(1.0, 2.0)):
    return np.r_[x, 0:3, x[0] * x[1]]


def column_builder(x=(1.0, 2.0, 3.0)):
    return np.c_[x, x**2, np.ones(3)]


def column_builder_of_lists(x=(1.0, 2.0)):
    return np.c_[[x[0], x[1]], [1.0, 2.0]]


def from_iterator(x=(1.0, 2.0, 3.0)):
    return np.fromiter((v * v for v in x), dtype=float)


def from_iterator_with_count(x=(1.0, 2.0, 3.0)):
    return np.fromiter((np.sin(v) for v in x), float, count=2)


def full_of_scalar(x=(1.0, 2.0)):
    return np.full(3, x[0]) * np.arange(3) + x[1]


def full_of_array(x=(1.0, 2.0)):
    return np.full((3, 2), x) ** 2


def full_of_list(x=(1.0, 2.0)):
    return np.full((2, 2), [x[0], x[1] ** 2])


def full_like_scalar(x=(1.0, 2.0)):
    return np.full_like(np.zeros(3), x[0] * x[1])


def linspace_between(x=(1.0, 2.0)):
    return np.linspace(x[0], x[1], 5) ** 2


def linspace_from_zero(x=(1.0, 2.0)):
    t = np.linspace(0, x[1], 4)
    return np.exp(-x[0] * t)


def logspace_between(x=(0.1, 0.7)):
    return np.logspace(x[0], x[1], 3)


def geomspace_between(x=(1.5, 7.0)):
    return np.geomspace(x[0], x[1], 4)


def arange_with_step(x=(0.3, 1.7)):
    return np.arange(0, x[1], x[0]) ** 2


def arange_with_start(x=(0.3, 1.75)):
    return np.sin(np.arange(x[0], 2.0, 0.5) * x[1])


def repeat_scalar(x=(1.0, 2.0)):
    return np.repeat(x[0], 3) * np.array([1.0, x[1], 2.0])


def tile_list(x=(1.0, 2.0)):
    return np.tile([x[0], x[1]], 2)


def diag_of_list(x=(1.0, 2.0)):
    return np.diag([x[0], x[1] ** 2]) @ np.ones(2)


def sum_of_list(x=(1.0, 2.0)):
    return np.sum([x[0] ** 2, x[1], 3.0])


def mean_of_list(x=(1.0, 2.0)):
    return np.mean([x[0] ** 2, x[1], 3.0])


def dot_of_lists(x=(1.0, 2.0)):
    return np.dot([[x[0], 1.0], [0.0, x[1]]], [x[1], 2.0])


def linalg_of_lists(x=(1.0, 2.0)):
    return np.linalg.solve([[2.0 + x[0], 1.0], [0.5, x[1]]], [1.0, x[0]])


def determinant_of_list(x=(1.0, 2.0)):
    return np.linalg.det([[x[0], 2.0], [x[1], x[0] * x[1]]])


def norm_of_list(x=(1.0, 2.0)):
    return np.linalg.norm([x[0], 2 * x[1], 1.0])


def cross_of_lists(x=(1.0, 2.0)):
    return np.cross([x[0], 0.0, 1.0], [0.0, x[1], x[0]])


def polyval_of_list(x=(1.0, 2.0)):
    return np.polyval([x[0], x[1], 1.0], x[0] * 0.5)


def maximum_of_list(x=(1.0, 2.0)):
    return np.max([x[0] ** 2, x[1], -1.0])


def sin_of_list(x=(1.0, 2.0)):
    return np.sin([x[0], x[1] * 2])


def where_of_lists(x=(1.0, 2.0)):
    return np.where([True, False], [x[0], x[1]], [x[1] ** 2, x[0] ** 2])


def interpolation_table(x=(0.5, 2.0)):
    return np.interp(x[0] + 0.25, [0.0, 1.0, 2.0], [0.0, x[1], x[1] ** 2])


def trapezoid_of_list(x=(0.5, 2.0)):
    return np.trapezoid([x[0], x[1], x[0] * x[1]], dx=0.5)


def meshgrid_of_lists(x=(0.5, 2.0)):
    a, b = np.meshgrid([x[0], 1.0], [x[1], 3.0])
    return a * b


def outer_of_lists(x=(0.5, 2.0)):
    return np.outer([x[0], 1.0], [x[1], x[0]])


def object_array(x=(0.5, 2.0)):
    a = np.array([x[0], x[1], None], dtype=object)
    return a[0] * a[1]


def cumsum_of_list(x=(0.5, 2.0)):
    return np.cumsum([x[0], x[1], x[0] ** 2])


def objects_as_floats(x=(0.3, 1.2)):
    made = np.array([x[0], 2.0, x[1]], dtype=object)
    return made.astype(float) ** 2 + (made * 2).astype(np.float64)
