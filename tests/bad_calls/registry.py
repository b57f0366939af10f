"""Bad calls of everything in the registry: each sample call with one argument that may not be right.

They are generated from the sample calls and the signatures, so a new operation has its bad calls by being there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.core.op import SampleCall
from adjoint.core.registry import Entry
from adjoint.testing.cases import Case, carried_out, cases, outputs, writes
from tests.walk.edges import Outcome, outcome, replaced, settings

MODES = ("eager", "grad", "jvp", "vmap", "compile", "capture")


class Unlike:
    """What is no array, and no number."""

    def __repr__(self) -> str:
        return "Unlike()"


def read_only(a: Any) -> Any:
    a = np.array(a)
    a.flags.writeable = False
    return a


# What stands in the place of an array.
INSTEAD = {
    "another shape": lambda a: np.ones((7, 11)),
    "one row more": lambda a: np.concatenate([a, a[:1]]) if a.ndim else np.stack([a, a]),
    "one column less": lambda a: a[..., :-1] if a.ndim else a,
    "nothing": lambda a: a[:0] if a.ndim else np.zeros((0,)),
    "no axes": lambda a: np.asarray(a.flat[0]) if a.size else a,
    "more axes": lambda a: a[None, None],
    "complex": lambda a: a + 1j,
    "whole": lambda a: np.asarray(np.round(np.real(a)), np.int64),
    "truth": lambda a: np.real(a) > 0,
    "half": lambda a: a.astype(np.float16) if a.dtype.kind == "f" else a.astype(np.complex64),
    "text": lambda a: np.full(a.shape, "text"),
    "objects": lambda a: np.full(a.shape, Unlike(), object),
    "dates": lambda a: np.full(a.shape, np.datetime64("2020-01-01")),
    "records": lambda a: np.zeros(a.shape, [("x", float)]),
    "a word": lambda a: "word",
    "None": lambda a: None,
    "ragged": lambda a: [[1.0], [1.0, 2.0]],
    "a table": lambda a: {"x": 1.0},
    "a set": lambda a: {1.0, 2.0},
    "a function": lambda a: len,
    "a thing": lambda a: Unlike(),
    "read-only": read_only,
    "a list": lambda a: a.tolist(),
}
# What stands in the place of a setting.
SETTINGS = {
    "word": "nonsense",
    "None": None,
    "-1": -1,
    "0": 0,
    "99": 99,
    "-99": -99,
    "1.5": 1.5,
    "nan": np.nan,
    "()": (),
    "(0, 0)": (0, 0),
    "[0]": [0],
    "[[0, 1], [1]]": [[0, 1], [1]],
    "True": True,
    "2j": 2j,
    "thing": Unlike(),
    "array": np.array([1, 0]),
    "type": float,
}
# Keyword arguments that NumPy knows in many functions.
KEYWORDS = {
    "out": [np.zeros(()), np.zeros((7, 11)), [0.0], (np.zeros(3), np.zeros(3)), "out", ()],
    "where": ["where", np.zeros((7, 11), bool)],
    "dtype": ["nonsense", str, object, int, np.complex64, 5],
    "casting": ["nonsense", "no", None],
    "order": ["Q", 3],
    "subok": ["nonsense"],
    "axis": [99, -99, 0.5, "0", (0, 0), (0, 99)],
    "keepdims": ["nonsense", 2, None],
    "no_such_argument": [1],
}


# NumPy's or SciPy's own functions end the process, or do not return.
NOT_CALLED = re.compile("mathieu_mod|obl_|pro_|hyp1f1$")
ENDS = re.compile(r"(nan)?cum\w*\[\d+\], out=0\.|mathieu_\w+\[\d+\], argument 1 nan")


class Bad(NamedTuple):
    """One call that may be wrong."""

    entry: Entry
    name: str
    call: SampleCall

    @property
    def function(self) -> Any:
        """What a user calls: NumPy's function, or ours where there is none that dispatches."""
        for function in self.entry.answers:
            if isinstance(function, np.ufunc) or function.__module__.startswith("numpy"):
                return function
        return self.entry

    @property
    def judge(self) -> Any:
        """What says whether the call is wrong."""
        return self.entry.answers[0] if self.entry.answers else self.entry

    def arrays(self) -> list[Any]:
        """The arrays of the call that can vary."""
        leaves, _ = flatten(self.call)
        return [x for x in leaves if isinstance(x, np.ndarray) and x.dtype.kind in "biufc"]


def bad_calls(entry: Entry) -> Iterator[Bad]:
    """Those of all sample calls of `entry`, each change once."""
    seen: set[str] = set()
    if NOT_CALLED.match(entry.name) or not (entry.answers or entry.name in dir(ad)):
        return  # parts of other operations are called by these alone
    for number, case in enumerate(cases(entry)):
        for name, call in _changed(case):
            whole = f"{entry.name}[{number}], {name}"
            if (number == 0 or name not in seen) and not ENDS.match(whole):
                seen.add(name)
                yield Bad(entry, whole, call)


def _changed(case: Case) -> Iterator[tuple[str, SampleCall]]:
    for i, a in enumerate(case.arrays):
        for name, change in INSTEAD.items():
            yield f"array {i} {name}", _with(case, i, change(np.asarray(a)))
    names = settings(case.entry)
    for k, value in enumerate(case.args):
        if not isinstance(value, np.ndarray):
            for name, other in SETTINGS.items():
                yield f"argument {k} {name}", SampleCall((*case.args[:k], other, *case.args[k + 1 :]), case.kwargs)
    for name in names[len(case.args) :]:
        if name not in KEYWORDS and name != "overwrite_input":
            for word, other in SETTINGS.items():
                yield f"{name}={word}", SampleCall(case.args, {**case.kwargs, name: other})
    for name, values in KEYWORDS.items():
        if name not in names[: len(case.args)]:
            for value in values:
                text = np.array2string(value) if isinstance(value, np.ndarray) and value.size < 9 else str(value)[:20]
                yield f"{name}={text}", SampleCall(case.args, {**case.kwargs, name: _own(value)})
    if case.args:
        yield "one argument less", SampleCall(case.args[:-1], case.kwargs)
        yield "the first argument less", SampleCall(case.args[1:], case.kwargs)
        yield "many arguments", SampleCall((*case.args, *([None] * 30)), case.kwargs)
        yield "an argument twice", SampleCall(case.args, {**case.kwargs, names[0].lstrip("*") if names else "a": 1.0})


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _with(case: Case, i: int, new: Any) -> SampleCall:
    """The call with another value in the place of array `i`, which may be a tree."""
    marks = [Unlike() for _ in case.arrays]
    given = replaced(case.arrays, i, marks[i])
    leaves, rebuild = flatten(case.with_arrays(given))
    return SampleCall(*rebuild([new if x is marks[i] else x for x in leaves]))


def copied(call: SampleCall) -> SampleCall:
    """The call with arrays of its own: `out=` is written into."""
    leaves, rebuild = flatten(tuple(call))
    return SampleCall(*rebuild([np.array(x) if isinstance(x, np.ndarray) and x.flags.writeable else x for x in leaves]))


def by_numpy(bad: Bad) -> Outcome:
    """What NumPy makes of it."""
    call = copied(bad.call)
    return outcome(lambda: carried_out(bad.entry, bad.judge, *call))


def by_us(bad: Bad, mode: str) -> Outcome | None:
    """What becomes of it in a mode; None where nothing in it can be a box of that mode."""
    call = copied(bad.call)
    leaves, rebuild = flatten(tuple(call))
    out = call.kwargs.get("out")
    kinds = "biufc" if mode == "eager" else "fc"
    places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.dtype.kind in kinds and x is not out]
    function, writing = bad.function, writes(bad.entry)
    if writing:  # into numbers of its own
        places = [k for k in places if leaves[k] is not call.args[0]] if mode == "eager" else []
    if not places:
        return None

    def f(*arrays: Any) -> Any:
        given = list(leaves)
        for k, x in zip(places, arrays, strict=True):
            given[k] = x
        args, kwargs = rebuild(given)
        out = function(*args, **kwargs)
        return args[0] if writing else out

    return outcome(lambda: _run(mode, f, [leaves[k] for k in places]))


def _run(mode: str, f: Any, arrays: list[Any]) -> Any:
    if mode == "eager":
        return f(*map(ad.tensor, arrays))
    if mode == "grad":
        out = f(*(ad.tensor(a, requires_grad=True) for a in arrays))
        for x in flatten(out)[0]:
            if isinstance(x, ad.Tensor) and x.requires_grad and x.dtype.kind in "fc":
                np.sum(np.abs(x)).backward(retain_graph=True)
        return out
    if mode == "jvp":
        return ad.jvp(f, arrays, [np.ones_like(a) for a in arrays])[0]
    if mode == "vmap":
        return [np.asarray(x)[0] for x in outputs(ad.vmap(f)(*(np.stack([a, a]) for a in arrays)))]
    if mode == "capture":
        return ad.capture(f, *arrays)(*arrays)
    compiled = ad.compile(f, wait=True, backend="numpy")
    compiled(*arrays)
    return compiled(*arrays)
