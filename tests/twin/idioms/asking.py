"""Code that asks what it was given, and says something about it."""

import collections.abc
import copy
import dataclasses
import fractions
import io
import json
import numbers

import numpy as np


def isinstance_array(x=(0.3, 1.2)):
    return x * 2 if isinstance(x, np.ndarray) else x * 0


def isinstance_float(x=(0.3, 1.2)):
    return x[0] ** 2 if isinstance(x[0], float) else x[0] * 0


def isinstance_number(x=(0.3, 1.2)):
    return x[0] ** 2 if isinstance(x[0], numbers.Number) and not isinstance(x, numbers.Number) else x[0] * 0


def isinstance_real(x=(0.3, 1.2)):
    return x[1] ** 2 if isinstance(x[0], (int, numbers.Real)) else x[0] * 0


def isinstance_floating(x=(0.3, 1.2)):
    return x[1] ** 2 if isinstance(x[0], np.floating) else x[0] * 0


def isinstance_union(x=(0.3, 1.2)):
    return x[1] ** 2 if isinstance(x[0], int | float) else x[0] * 0


def isinstance_iterable(x=(0.3, 1.2)):
    if isinstance(x, collections.abc.Iterable) and not isinstance(x[0], collections.abc.Iterable):
        return x**2
    return x * 0


def isinstance_list(x=(0.3, 1.2)):
    values = list(x) if not isinstance(x, (list, tuple)) else x
    return values[0] * values[1]


def type_is_array(x=(0.3, 1.2)):
    return x**2 if type(x) is np.ndarray else x * 0


def type_of_item(x=(0.3, 1.2)):
    return x[0] ** 2 if issubclass(type(x[0]), float) else x[0] * 0


def class_attribute(x=(0.3, 1.2)):
    return x**2 if x.__class__ is np.ndarray else x * 0


def is_scalar(x=(0.3, 1.2)):
    return x[0] ** 2 if np.isscalar(x[0]) and not np.isscalar(x) else x[0] * 0


def is_iterable(x=(0.3, 1.2)):
    return x[0] ** 2 if np.iterable(x) and not np.iterable(x[0]) else x[0] * 0


def has_length(x=(0.3, 1.2)):
    return x[0] ** 2 if hasattr(x, "__len__") and not hasattr(x[0], "__len__") else x[0] * 0


def has_shape(x=(0.3, 1.2)):
    return x**2 if hasattr(x, "shape") and hasattr(x, "dtype") else x * 0


def has_names_of_other_libraries(x=(0.3, 1.2)):
    if hasattr(x, "detach"):
        x = x.detach()
    if callable(getattr(x, "numpy", None)) or hasattr(x[0], "cpu"):
        return x * 0
    return x**2


def has_a_method_that_went(x=(0.3, 1.2)):
    return x.ptp() if hasattr(x, "ptp") else 3 * x.max() - x.min() * getattr(x[0], "nothing", 2.0)


def callable_or_value(x=(0.3, 1.2)):
    def value(v):
        return v(x[0]) if callable(v) else v

    return value(x[1]) * value(lambda t: t**2)


def ndim_of_values(x=(0.3, 1.2)):
    return x**2 if np.ndim(x) == 1 and np.ndim(x[0]) == 0 and np.size(x) == 2 else x * 0


def shape_of_list(x=(0.3, 1.2)):
    return x[0] * np.shape([x[0], x[1], 1.0])[0]


def floating_dtype(x=(0.3, 1.2)):
    return x**2 if np.issubdtype(x.dtype, np.floating) and x.dtype == np.float64 else x * 0


def real_object(x=(0.3, 1.2)):
    return x**2 if np.isrealobj(x) and not np.iscomplexobj(x) else x * 0


def finite_values(x=(0.3, 1.2)):
    if not np.all(np.isfinite(x)):
        raise ValueError("bad values")
    return x**3


def asserted_shape(x=(0.3, 1.2)):
    assert x.ndim == 1
    assert x.shape == (2,)
    assert len(x) == 2
    return x**3


def asserted_close(x=(0.3, 1.2)):
    np.testing.assert_allclose(x * 2, x + x)
    np.testing.assert_array_equal(x, x)
    return x**2


def all_close(x=(0.3, 1.2)):
    return x**2 if np.allclose(x, [x[0], x[1]]) else x * 0


def formatted_string(x=(0.3, 1.2)):
    text = f"{x[0]:.3f} and {x[1]}"
    return x[0] * x[1] if text else x[0]


def formatted_percent(x=(0.3, 1.2)):
    text = "%.3f %g" % (x[0], x[1])  # noqa: UP031 - as people write it
    return x[0] * x[1] if text else x[0]


def formatted_method(x=(0.3, 1.2)):
    text = "{:.3f} {b:.2e}".format(x[0], b=x[1])  # noqa: UP032 - as people write it
    return x[0] * x[1] if text else x[0]


def printed(x=(0.3, 1.2)):
    out = io.StringIO()
    print("loss", x[0], x, file=out)
    return x**2 if out.getvalue() else x * 0


def text_of_values(x=(0.3, 1.2)):
    return x**2 if str(x) and repr(x[0]) else x * 0


def item_of_scalar(x=(0.3, 1.2)):
    return x[0].item() * x[1].item() ** 2


def item_of_index(x=(0.3, 1.2)):
    return x.item(1) ** 2 * x.item(0)


def item_of_sum(x=(0.3, 1.2)):
    return np.sum(x**2).item()


def list_of_array(x=(0.3, 1.2)):
    a, b = x.tolist()
    return a * b**2


def nested_list_of_array(x=(0.3, 1.2, 2.0, 3.0)):
    rows = x.reshape(2, 2).tolist()
    return rows[0][1] * rows[1][0] + sum(rows[1])


def copy_of_array(x=(0.3, 1.2)):
    y = copy.copy(x)
    y[0] = y[1] ** 2
    return y * x


def deepcopy_of_array(x=(0.3, 1.2)):
    y = copy.deepcopy(x)
    y *= 2.0
    return y * x


def deepcopy_of_dictionary(x=(0.3, 1.2)):
    params = {"w": x * 2, "b": [x[0], 1.0]}
    other = copy.deepcopy(params)
    other["w"] += 1.0
    return params["w"] * other["w"] + other["b"][0]


def memory_of_array(x=(0.3, 1.2)):
    return x * x.itemsize + x.nbytes * x**2


def flags_of_array(x=(0.3, 1.2)):
    return x**2 if x.flags["C_CONTIGUOUS"] and x.flags.writeable in (True, False) else x * 0


def strides_of_array(x=(0.3, 1.2)):
    return x * x.strides[0]


def dictionary_of_values(x=(0.3, 1.2)):
    params = {"a": x[0], "b": x[1]}
    return params["a"] * params["b"] ** 2 + sum(params.values())


def keyword_arguments(x=(0.3, 1.2)):
    def model(a, b=1.0, *, c=2.0):
        return a * b**c

    options = {"b": x[1], "c": 3}
    return model(x[0], **options)


@dataclasses.dataclass
class _Point:
    x: float
    y: float

    def norm(self):
        return np.sqrt(float(self.x) ** 2 + float(self.y) ** 2)

    def __add__(self, other):
        return _Point(self.x + other.x, self.y + other.y)


def dataclass_of_values(x=(0.3, 1.2)):
    return (_Point(x[0], x[1]) + _Point(1.0, x[0])).norm()


class _Vector:
    def __init__(self, *parts):
        self.parts = np.array(parts)

    def __mul__(self, k):
        return _Vector(*(self.parts * k))

    @property
    def length(self):
        return np.sqrt(self.parts.dot(self.parts))


def class_of_values(x=(0.3, 1.2)):
    return (_Vector(x[0], x[1], 1.0) * x[0]).length


def scalar_or_array(x=(0.3, 1.2)):
    def f(v):
        v = np.atleast_1d(np.asarray(v, dtype=float))
        out = np.empty_like(v)
        out[:] = np.tanh(v)
        return out[0] if out.size == 1 else out

    return f(x[0]) + f(x)


def type_conversion(x=(0.3, 1.2)):
    return np.float64(x[0]) * np.float64(x[1]) ** 2


def astype_float(x=(0.3, 1.2)):
    return x.astype(float) ** 2 + x.astype(np.float64)


def joined_text(x=(0.3, 1.2)):
    text = ", ".join(f"{v:.2f}" for v in x)
    return x**2 if text else x * 0


def json_text(x=(0.3, 1.2)):
    text = json.dumps({"loss": float(x[0]), "all": x.tolist()})
    return x**2 if text else x * 0


def fraction_beside(x=(0.3, 1.2)):
    return fractions.Fraction(1, 3) * x[0] + x[1] / fractions.Fraction(2, 3)
