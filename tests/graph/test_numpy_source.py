"""Operations written as NumPy compute what they do, bit for bit."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad
import adjoint.scipy.sparse
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, operation
from adjoint.graph.text.numpy_source import TEMPLATES, index_text, literal, spelled
from adjoint.testing import samples, walk

# Their settings hold the pattern of a sparse matrix, which has no text.
OF_PATTERNS = {"sparse_product", "sparse_solution"}
OPS = [e for e in walk() if isinstance(e, Op) and e.samples is not None and e.name not in OF_PATTERNS]


def kinds(x):
    return [np.asarray(y) for y in (x if isinstance(x, tuple | list) else [x])]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_operation_is_written_as_what_it_computes(op):
    for args, kwargs in samples(op):
        arrays, settings = op.bind(tuple(args), dict(kwargs))
        names = [f"a{i}" for i in range(len(arrays))]
        with np.errstate(all="ignore"):
            expected = kinds(op.forward(*arrays, **settings))
            plain = [type(a) in (bool, int, float, complex) for a in arrays]
            shapes = [np.shape(a) for a in arrays]
            lines = spelled(op, names, settings, "out", expected[0].dtype, shapes, plain)
            namespace = {"np": np, "scipy": scipy, "operation": operation, **dict(zip(names, arrays, strict=True))}
            before = [np.array(a) for a in arrays]
            exec("\n".join(lines), namespace)
        for a, b in zip(arrays, before, strict=True):
            assert np.array_equal(a, b), "the text writes into an argument"
        for a, b in zip(kinds(namespace["out"]), expected, strict=True):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), lines


@pytest.mark.parametrize("name", sorted(OF_PATTERNS))
def test_patterns_are_not_written(name):
    op = operation(name)
    args, kwargs = samples(op)[0]
    arrays, settings = op.bind(tuple(args), dict(kwargs))
    with pytest.raises(ad.NotSupportedError, match="Pattern cannot be written"):
        spelled(
            op,
            ["a", "b"][: len(arrays)],
            settings,
            "out",
            np.dtype(float),
            [np.shape(a) for a in arrays],
            [False] * len(arrays),
        )


def test_templates_are_of_operations_that_exist():
    assert not [name for name in TEMPLATES if name not in ENTRIES]


@pytest.mark.parametrize(
    "value",
    [
        1,
        -0.0,
        1e-320,
        float("nan"),
        float("-inf"),
        True,
        None,
        1.5 - 0.0j,
        complex(-0.0, float("inf")),
        np.float32(0.1),
        np.int8(-3),
        np.bool_(True),
        np.complex64(1j),
        np.float64("nan"),
        np.float16(65504),
        np.arange(3.0),
        np.zeros((2, 3), np.float32),
        -np.zeros(3),
        np.ones((1, 2), int),
        np.array([np.nan, -np.nan, -0.0]),
        np.arange(100.0) / 7,
        np.empty((0, 3)),
        np.array(2.5),
        np.array([1 + 2j]),
    ],
    ids=repr,
)
def test_literals_are_read_back_bit_for_bit(value):
    found = eval(literal(value), {"np": np})
    assert type(found) is type(value)
    a, b = np.asarray(found), np.asarray(value)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert value is None or a.tobytes() == b.tobytes()


def test_literals_of_settings():
    for value in [(1, (2, None)), ("C",), [], (), np.dtype(np.float32), np.float64, slice(1, None, -2), ..., "a'b"]:
        assert eval(literal(value), {"np": np}) == value
    with pytest.raises(TypeError, match="function"):
        literal(lambda: None)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (2, "2"),
        (slice(1, None), "1:"),
        ((slice(None), None, ...), ":, None, ..."),
        (slice(None, None, -1), "::-1"),
        ((3,), "3,"),
        ((), "()"),
    ],
)
def test_indices(index, text):
    assert index_text(index) == text
    assert np.array_equal(eval(f"a[{text}]", {"a": np.arange(24).reshape(4, 6)}), np.arange(24).reshape(4, 6)[index])
