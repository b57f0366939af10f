"""Arrays with named fields in compiled functions: these run as they are, with the values of the plain ones."""

import numpy as np
import pytest

import adjoint as ad

KIND = [("a", float), ("b", float)]
X = np.array([1.3, 0.7])
PROGRAMS = {
    "rows": lambda x: np.array([(x[0], 1.0), (x[1], 2.0)], dtype=KIND)["a"],
    "a record": lambda x: np.array((x[0], 1.0), np.dtype(KIND))["b"] * x[1],
    "unnamed": lambda x: np.array([(x[0], x[1])], dtype="f8,f8")["f1"],
    "asarray": lambda x: np.asarray([(x[0], 1.0)], dtype=KIND)["a"][0],
    "fromiter": lambda x: np.fromiter([(v, 1.0) for v in x], dtype=KIND)["a"],
    "rows of an iterator": lambda x: np.array(list(zip(x, x, strict=True)), dtype=KIND)["b"],
    "an array": lambda x: np.array(x, dtype=KIND)["b"],
    "astype": lambda x: x.astype(KIND)["a"],
    "full": lambda x: np.full(2, x[0], dtype=KIND)["b"],
    "filled": lambda x: filled(x)[1]["b"] + filled(x)["a"],
    "joined": lambda x: np.concatenate([np.array([(x[0], 1.0)], dtype=KIND)] * 2)["a"].sum(),
    "other precision": lambda x: np.array([(x[0], 1.0)], dtype=KIND).astype([("a", "f4"), ("b", "f4")])["a"],
    "sorted": lambda x: np.sort(np.array([(x[0], 1.0), (x[1], 2.0)], dtype=KIND), order="a")["b"],
    "masked": lambda x: filled(x)[filled(x)["a"] > 1.0]["b"].sum(),
    "records": lambda x: np.rec.fromarrays([x, x**2], names="a,b").b,
    "texts": lambda x: np.array([x[0], x[1]], dtype="S8").astype(float),
    "objects": lambda x: np.array([x[0], x[1]], dtype=object)[0] * x[1],
}


def filled(x):
    made = np.zeros(2, dtype=KIND)
    made["a"], made["b"] = x, 2 * x
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_the_plain_ones(name):
    compiled = ad.compile(PROGRAMS[name])
    for factor in (1.0, 2.0, 3.0, 0.5):
        found, wanted = compiled(factor * X), PROGRAMS[name](factor * X)
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=1e-14)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
