"""Axes, shapes and shifts may be tuples, lists or arrays of whole numbers: where NumPy takes one, so does each mode."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.op import SampleCall
from adjoint.testing import samples, walk
from adjoint.testing.cases import outputs, writes
from tests.walk.memory import LayoutTrial

KINDS = {"lists": list, "arrays": np.array, "NumPy's numbers": lambda numbers: tuple(map(np.int64, numbers))}


def is_sequence(x):
    return isinstance(x, tuple) and len(x) > 0 and all(type(k) is int for k in x)


def changed(sample, kind):
    """The sample call with each tuple of whole numbers as a sequence of another kind; None if there is none."""
    every = [*sample.args, *sample.kwargs.values()]
    if not any(map(is_sequence, every)):
        return None
    other = [KINDS[kind](x) if is_sequence(x) else x for x in every]
    n = len(sample.args)
    return SampleCall(tuple(other[:n]), dict(zip(sample.kwargs, other[n:], strict=True)))


def cotangents(f, *arrays):
    value, pullback = ad.vjp(f, *arrays)
    return value, pullback([np.cos(np.ones(np.shape(y))).astype(np.result_type(y)) for y in value])


MODES = {
    "plain": lambda f, xs: f(*xs),
    "reverse": lambda f, xs: cotangents(f, *xs),
    "forward": lambda f, xs: ad.jvp(f, xs, [np.cos(x) for x in xs]),
    "vmap": lambda f, xs: ad.vmap(lambda *each: cotangents(f, *each))(*(np.stack([x, x + 0.01]) for x in xs)),
}
ENTRIES = [entry for entry in walk() if not writes(entry) and any(changed(s, "lists") for s in samples(entry))]
SETTINGS_OF_OUR_OWN = {"pick"}  # no call of NumPy's


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_sequences_of_whole_numbers(entry, kind):
    for sample in samples(entry):
        other = changed(sample, kind)
        if other is None or entry.name in SETTINGS_OF_OUR_OWN:
            continue
        one, another = LayoutTrial(entry, sample, "C"), LayoutTrial(entry, other, "C")
        with warnings.catch_warnings(action="ignore"):
            try:
                another.called(*another.arrays)
            except Exception:  # NumPy takes no such sequence there
                continue
            for mode, run in MODES.items():
                found, wanted = (run(lambda *xs, t=t: t.called(*xs)[1], t.arrays) for t in (another, one))
                for x, y in zip(outputs(found), outputs(wanted), strict=True):
                    assert np.allclose(x, y, equal_nan=True), f"{entry.name}, {mode}, {other}"


def test_the_registry_has_settings_of_this_kind():
    assert len(ENTRIES) > 20
