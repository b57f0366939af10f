"""Numbers that leave a transform as bytes, text or whole numbers and come back are reported."""

import ast
import io
import json
import math
import pickle
import struct

import numpy as np
import pytest

import adjoint as ad


def ratio(x):
    n, d = x.as_integer_ratio()
    return n / d


def ratio_as_floats(x):
    n, d = float.as_integer_ratio(x)
    return float(n) / float(d)


def into_memory(x):
    file = io.BytesIO()
    np.save(file, np.array([x, 2.0 * x]))
    file.seek(0)
    return np.load(file)[0]


def into_an_archive(x):
    file = io.BytesIO()
    np.savez(file, a=np.array([x, 2.0 * x]))
    file.seek(0)
    return np.load(file)["a"][0]


def into_lines(x):
    file = io.StringIO()
    np.savetxt(file, np.array([x, 2.0 * x]))
    file.seek(0)
    return np.loadtxt(file)[0]


EXITS = {
    "as_integer_ratio": ratio,
    "float.as_integer_ratio": ratio_as_floats,
    "hex": lambda x: float.fromhex(x.hex()),
    "float.hex": lambda x: float.fromhex(float.hex(x)),
    "str": lambda x: float(str(x)),
    "a format": lambda x: float(f"{x:.17g}"),
    "%": lambda x: np.float64("%r" % x),  # noqa: UP031 - the operator is what is tested
    "literal_eval": lambda x: ast.literal_eval(repr([x, 1.0]))[0],
    "json": lambda x: json.loads(json.dumps({"a": x}))["a"],
    "tobytes": lambda x: np.frombuffer(np.array([x, 2 * x]).tobytes())[0],
    "dumps": lambda x: pickle.loads(np.array([x]).dumps())[0],
    "struct": lambda x: struct.unpack("d", struct.pack("d", x))[0],
    "astype(str)": lambda x: np.array([x]).astype(str).astype(float)[0],
    "an element of texts": lambda x: float(np.array([x]).astype("U32")[0]),
    "fromstring": lambda x: np.fromstring(" ".join(map(str, [x, 2 * x])), sep=" ")[0],
    "array2string": lambda x: float(np.array2string(np.array(x))),
    "np.save": into_memory,
    "np.savez": into_an_archive,
    "np.savetxt": into_lines,
}
MODES = {
    "grad": lambda f: ad.grad(f)(0.75),
    "jvp": lambda f: ad.jvp(f, (0.75,), (1.0,))[1],
    "hessian": lambda f: ad.hessian(lambda x: f(x) ** 2)(0.75),
    "grad of jvp": lambda f: ad.grad(lambda x: ad.jvp(f, (x,), (1.0,))[0])(0.75),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("exit", EXITS)
def test_what_comes_back_is_reported(exit, mode):
    with pytest.warns(ad.LeakWarning, match="took a value out of the transform"):
        MODES[mode](EXITS[exit])
    with ad.leaks("error"), pytest.raises(ad.LeavesGraphError):
        MODES[mode](EXITS[exit])


@pytest.mark.parametrize("exit", EXITS)
def test_a_part_of_the_result_is_enough(exit):
    with pytest.warns(ad.LeakWarning, match="computed with at"):
        ad.grad(lambda x: x * EXITS[exit](x))(0.75)


@pytest.mark.parametrize("exit", EXITS)
def test_samples_that_differ_are_refused_or_right(exit):
    xs = np.array([0.75, 0.5])
    try:
        found = ad.vmap(EXITS[exit])(xs)
    except ad.BatchedValueError:
        return
    np.testing.assert_array_equal(found, xs)


def shown(x):
    json.dumps({"loss": x, "a": [x]})
    print(x, file=io.StringIO())
    tag = f"{x:.2f} {x!r}" + str(x) + "%g" % x  # noqa: UP031 - as above
    keys = {np.array([x, 1.0]).tobytes(): 1.0, x.hex(): 2.0}
    np.save(io.BytesIO(), np.array([x]))
    n, d = x.as_integer_ratio()
    return x * len(tag) * len(keys) * (n != d) * float("2.5") * math.fsum(json.loads("[1.0, 2.0]"))


def test_what_is_only_shown_or_kept_is_not():
    with ad.leaks("error"):
        assert ad.grad(shown)(0.75) == ad.value_and_grad(shown)(0.75)[0] / 0.75


def test_outside_of_transforms_and_in_no_grad_nothing_is_noted():
    t = ad.tensor(0.75, requires_grad=True)
    assert float(str(t.item())) == 0.75
    with ad.leaks("error"):
        assert ad.grad(lambda x: x * ratio(ad.stop_gradient(x)))(0.75) == 0.75


@pytest.mark.parametrize("save", [np.save, np.savetxt])
def test_a_file_of_samples_is_refused_where_code_is_not_followed(save):
    theirs = eval("lambda x, save, io: save(io, x) or x.sum()", {"__name__": "library"})
    with pytest.raises(ad.BatchedValueError, match="save what vmap gives"):
        ad.vmap(lambda x: theirs(x, save, io.BytesIO()))(np.ones((2, 3)))
