"""What happens when a function of NumPy or SciPy is given a tensor: one `Status` for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import NamedTuple

import numpy as np

from adjoint.arrays.like import CONVERSIONS, CREATIONS
from adjoint.core.op import Op
from adjoint.core.registry import Composite, Entry, answer
from adjoint.core.rules.pullbacks import NO_RULE, NotDifferentiable
from adjoint.core.types import Function


class Status(Enum):
    """What a function does with a tensor in a graph."""

    DIFFERENTIABLE = "differentiable"
    CONSTANT = "constant"
    IN_PLACE = "in place"
    NOT_DIFFERENTIABLE = "not differentiable"
    NOT_SUPPORTED = "not supported"
    NO_TENSOR = "takes no tensor"


class Coverage(NamedTuple):
    """The status of a function, and what else there is to say: the reason, or the way to do it."""

    status: Status
    note: str = ""


# Functions that NumPy does not hand to tensors (no dispatch), and so have no operation. Names, because not every
# version of NumPy has each of them. A tensor in a graph raises there, because it cannot be made an array.
_OUTSIDE = {
    "dtype finfo iinfo isdtype issubdtype promote_types mintypecode typename": "about types",
    "errstate geterr seterr geterrcall seterrcall getbufsize setbufsize get_printoptions set_printoptions printoptions "
    "show_config show_runtime get_include info": "about NumPy itself",
    "load fromregex memmap": "reads a file; make its array a tensor: `ad.tensor(np.load(path))`",
    "from_dlpack": "a tensor outside a graph shares its memory",
    "bartlett blackman hamming hanning": "makes a window from its length",
    "kaiser": "makes a window from numbers; by `beta`: `np.i0(beta * np.sqrt(1 - x**2)) / np.i0(beta)`",
    "indices diag_indices tril_indices triu_indices mask_indices ndindex broadcast_shapes": "makes positions",
    "base_repr binary_repr format_float_positional format_float_scientific": "makes text; pass `t.item()`",
    "isscalar iterable isfortran": "asks what an object is",
    "busday_count busday_offset busdaycalendar is_busday datetime_as_string datetime_data": "about dates",
    "matrix asmatrix bmat": "makes a `np.matrix`, which is no tensor; use `@` and `np.block`",
    "recarray record": "makes arrays with named fields",
    "nditer nested_iters ndenumerate flatiter": "walks over memory; use `for row in t`",
    "broadcast": "walks over memory; use `np.broadcast_arrays`",
    "vectorize frompyfunc ufunc": "calls Python for each element; use `np.stack([f(x) for x in t])`",
    "ndarray": "is the array; use `ad.tensor`",
    "asarray_chkfinite": "use `np.asarray(t, like=t)`",
    "as_strided": "makes arrays from addresses; use `sliding_window_view`, `reshape` or an index",
    "LinAlgError": "is an exception",
}
# Functions without dispatch that are written in calls which tensors answer.
_THROUGH = {
    "fftfreq rfftfreq": "by `d`",
    "poly1d": "keeps a tensor of coefficients",
    "row_stack": "`np.vstack` under its old name",
}


def place_of(function: object) -> Coverage | None:
    """The status of a NumPy or SciPy callable; None for one that nothing is known of."""
    entry = answer(function)
    if entry is not None:
        return _registered(entry)  # type: ignore[arg-type]  # the registry holds entries alone
    if isinstance(function, type) and issubclass(function, np.generic):
        return Coverage(Status.NO_TENSOR, "is a type of number")
    if function in CONVERSIONS:
        return Coverage(Status.DIFFERENTIABLE, "with `like=t`; without it, a tensor in a graph raises")
    if function in CREATIONS:
        return Coverage(Status.CONSTANT, "with `like=t`: a tensor to write into")
    name = getattr(function, "__name__", "")
    for rows, status in ((_OUTSIDE, Status.NO_TENSOR), (_THROUGH, Status.DIFFERENTIABLE)):
        for names, note in rows.items():
            if name in names.split():
                return Coverage(status, note)
    return None


def _registered(entry: Entry) -> Coverage:
    if isinstance(entry, Composite):
        for flag, status in (("in_place", Status.IN_PLACE), ("not_supported", Status.NOT_SUPPORTED)):
            if flag in entry.flags:
                return Coverage(status, f"use {entry.note}" if entry.note else "")
        return Coverage(Status.DIFFERENTIABLE, entry.note)
    if entry.kind == "constant":
        return Coverage(Status.CONSTANT, "a tensor to write into" if "creates" in entry.flags else "")
    reasons = refusals(entry)
    if len(reasons) == len(entry.inputs):
        return Coverage(Status.NOT_DIFFERENTIABLE, "; ".join(dict.fromkeys(reasons.values())))
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons.items():
        by_reason.setdefault(why, []).append(f"`{name}`")
    notes = [f"not by {', '.join(names)}: {why}" for why, names in by_reason.items()]
    return Coverage(Status.DIFFERENTIABLE, "; ".join(notes))


def refusals(op: Op) -> dict[str, str]:
    """The inputs by which an operation has no derivative, and why."""
    return {
        name: rule.function.why
        for name, rule in zip(op.inputs, op.rules, strict=False)
        if isinstance(rule.function, NotDifferentiable) and (rule is not NO_RULE or len(op.inputs) > 1)
    }


def namespaces() -> dict[str, dict[str, Function]]:
    """Every public function and class of NumPy's namespaces, and every ufunc of `scipy.special`, by name."""
    from scipy import special

    modules = (np, np.linalg, np.fft, np.lib.stride_tricks)
    walked = {module.__name__: dict(_public(module)) for module in modules}
    walked["scipy.special"] = {name: f for name, f in _public(special) if isinstance(_undressed(f), np.ufunc)}
    return walked


def _public(module: ModuleType) -> Iterator[tuple[str, Function]]:
    for name in sorted(dir(module), key=lambda name: (name.lower(), name)):
        # `test` runs NumPy's own tests.
        if not name.startswith("_") and name != "test" and callable(found := getattr(module, name)):
            yield name, found


def _undressed(function: object) -> object:
    return getattr(function, "__wrapped__", function)
