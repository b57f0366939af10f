"""Which fast paths to try for a call: a table, looked up by what tells their arguments apart, and by nothing else.

A fast path checks its arguments itself, so a wrong choice here only costs time. For functions that got arrays of
several lengths, and a text, the generated function reads ::

    def select(args, kwargs):
        try:
            p1 = args[k1] if len(args) > k1 else None
            p2 = args[k2] if len(args) > k2 else None
            found = get((p1.shape if type(p1) is ndarray else None, p2 if type(p2) in plain else None), rest)
        except ValueError: return rest
        return found if type(found) is tuple else found(args, kwargs)

No expression in it runs code of the user's. If the arguments of several fast paths look alike, one more such function
looks at what these read elsewhere: globals, attributes, the variables of closures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.compiler.trace.guards import Binding, CellBinding
from adjoint.core.codegen import defined
from adjoint.core.types import Value
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.call.fast_path import Direct

Select = Callable[[Value, Value], "tuple[Direct, ...]"]

PLAIN = frozenset((int, bool, str, bytes, range))
MOST = 1024  # fast paths of a function
MOST_ALIKE = 2  # that are tried in turn
_ANY = object()  # of a feature in which calls of one fast path may differ


class Thing(NamedTuple):
    """Something from outside of the arguments, known by its identity."""

    thing: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


# How a part is found in the part around it, `{0}`: a text, and the key in it, `{1}`.
PathStep = tuple[str, str | int | Thing]


class Feature(NamedTuple):
    """Something of the arguments, or of what else the function reads.

    Attributes:
        path: where the part is.
        ask: the expression of that part, `{0}`.
        otherwise: what it gives for a part that is not there.
    """

    path: tuple[PathStep, ...]
    ask: str
    otherwise: Hashable = None


Seen = dict[Feature, Hashable]


class Sight(NamedTuple):
    """The features that distinguish calls of one fast path from others: in the arguments, and outside of them."""

    arguments: Seen
    outside: Seen


class Selector:
    """The fast paths of one function.

    Attributes:
        known: each with what tells its calls from others; the latest is the last.
        select: from a call's arguments to the fast paths that may take them.
        by_dtype: whether dtypes tell some of them apart, which fast paths leave to native code.
    """

    def __init__(self) -> None:
        self.known: dict[Direct, Sight] = {}
        self.by_dtype = False
        self._features: tuple[Feature, ...] = ()
        self.select: Select = lambda args, kwargs: ()

    def add(self, direct: Direct, sight: Sight) -> None:
        """Take one more fast path; it is the first of those that look alike."""
        before = self.known  # other threads may put another one in its place
        known = {other: before[other] for other in list(before)[1 - MOST :] if other is not direct}
        seen = {other: each.arguments for other, each in known.items()}
        self._features = _with_features_of(sight.arguments, seen, self._features)
        self.known = {**known, direct: sight}
        self._write()

    def keep(self, directs: Collection[Direct | None]) -> None:
        """Let go of all others."""
        kept = {direct: sight for direct, sight in self.known.items() if direct in directs}
        if len(kept) < len(self.known):
            self.known = kept
            self._write()

    def _write(self) -> None:
        """The function, with one more for each group of those whose arguments look alike."""
        known = self.known
        groups, rest = _grouped({direct: sight.arguments for direct, sight in known.items()}, self._features)
        found: dict[Value, Value] = {}
        for key, alike in groups.items():
            outside = {direct: known[direct].outside for direct in reversed(alike)}
            features: tuple[Feature, ...] = ()
            for k, direct in enumerate(outside):
                features = _with_features_of(outside[direct], dict(islice(outside.items(), k)), features)
            if len(alike) <= MOST_ALIKE or not features:
                found[key] = *alike, *rest
                continue
            inner, others = _grouped(outside, features)
            others = *others, *rest
            found[key] = _written(features, {key: (*own, *others) for key, own in inner.items()}, others)
        self.select = _written(self._features, found, rest)
        self.by_dtype = any("dtype" in feature.ask for feature in self._features)


def _grouped(
    known: Mapping[Direct, Seen], features: Sequence[Feature]
) -> tuple[dict[Value, tuple[Direct, ...]], tuple[Direct, ...]]:
    """The fast paths by what the features are of their calls, the latest first; and those that have to be tried."""
    groups: dict[Value, tuple[Direct, ...]] = {}
    rest: tuple[Direct, ...] = ()
    for direct, seen in known.items():
        key = _key(features, seen)
        if key is None:
            rest = direct, *rest
        else:
            groups[key] = direct, *groups.get(key, ())
    return groups, rest


def _written(features: Sequence[Feature], found: Mapping[Value, Value], rest: tuple[Direct, ...]) -> Select:
    """The function that looks into a table of fast paths, or of further such functions."""
    scope = {"ndarray": np.ndarray, "Tensor": Tensor, "plain": PLAIN, "get": found.get, "rest": rest}
    names: dict[tuple[PathStep, ...], str] = {(): ""}
    lines = ["def select(args, kwargs):", "    try:"]
    for path in (feature.path[:k] for feature in features for k in range(1, len(feature.path) + 1)):
        if path not in names:
            (text, key), n = path[-1], len(names)
            scope[f"k{n}"], names[path] = key.thing if isinstance(key, Thing) else key, f"p{n}"
            lines.append(f"        p{n} = {text.format(names[path[:-1]], f'k{n}')}")
    asked = [feature.ask.format(names[feature.path]) for feature in features]
    lines += [f"        found = get(({', '.join(asked)}{',' * bool(asked)}), rest)",
              "    except ValueError: return rest",
              "    return found if type(found) is tuple else found(args, kwargs)"]  # fmt: skip
    select: Select = defined("\n".join(lines), "choice of a fast path", scope, "select")
    return select


def _with_features_of(seen: Seen, known: Mapping[Direct, Seen], features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """The features, and further ones that distinguish one more kind of calls from those that are known."""
    key = _key(features, seen)
    for other in [other for other in known.values() if _key(features, other) == key]:
        if _key(features, other) == _key(features, seen):
            features += tuple(islice(_apart(seen, other), 1))
    return features


def _key(features: Sequence[Feature], seen: Seen) -> tuple[Hashable, ...] | None:
    """The values of the features for arguments of this kind; None if they are not known."""
    key = tuple([seen.get(feature, feature.otherwise) for feature in features])
    return None if any(value is _ANY for value in key) else key


def _apart(one: Seen, other: Seen) -> Iterator[Feature]:
    """The features in which two kinds of arguments surely differ."""
    for seen in (one, other):
        for feature in seen:
            a, b = (each.get(feature, feature.otherwise) for each in (one, other))
            if a is not _ANY and b is not _ANY and a != b:
                yield feature


def seen_of(args: Sequence[Value], kwargs: Mapping[str, Value], leaves: Sequence[Value], varies: set[int]) -> Seen:
    """The features of arguments of this structure, with numbers of `leaves` in it, of which some vary."""
    seen: Seen = {Feature((), "len(args)"): len(args), Feature((), "len(kwargs)"): len(kwargs)}
    pending: list[tuple[tuple[PathStep, ...], Value]] = []
    pending += [((("args[{1}] if len(args) > {1} else None", i),), part) for i, part in enumerate(args)]
    pending += [((("kwargs.get({1})", name),), part) for name, part in kwargs.items()]
    for path, part in pending:
        kind = type(part)
        if kind is int:
            seen.update(_of_leaf(path, leaves[part], part in varies))
            continue
        seen[Feature(path, "id(type({0}))", id(type(None)))] = id(kind)
        if part is not None:
            is_one = f"type({{0}}) is {kind.__name__}"
            seen[Feature(path, f"len({{0}}) if {is_one} else None")] = len(part)
            seen[Feature(path, "id({0})", id(None))] = _ANY
            there = is_one if kind is dict else f"{is_one} and len({{0}}) > {{1}}"
            get = "{0}.get({1}) if " if kind is dict else "{0}[{1}] if "
            items = part.items() if kind is dict else enumerate(part)
            pending += [
                ((*path, (f"{get}{there} else None", key)), inner) for key, inner in items if type(key) in (str, int)
            ]
    return seen


def _of_leaf(path: tuple[PathStep, ...], x: Value, varies: bool) -> Iterator[tuple[Feature, Hashable]]:
    """The features of an array, or another thing in which there are no further ones."""
    kind = type(x)
    yield Feature(path, "id(type({0}))", id(type(None))), id(kind)
    data, name, fits = x, "{0}", "type({0}) is ndarray"
    if kind is Tensor:
        data, name, fits = x.held, "{0}.held", "type({0}) is Tensor and type({0}.held) is ndarray"
        yield Feature(path, "{0}.node is None if type({0}) is Tensor else None"), x.node is None
    if type(data) is np.ndarray:
        in_order = data.flags.c_contiguous
        yield Feature(path, f"{name}.shape if {fits} else None"), data.shape
        yield Feature(path, f"{name}.dtype if {fits} else None"), data.dtype
        yield Feature(path, f"{name}.flags.c_contiguous if {fits} else None"), in_order
        yield Feature(path, f"{name}.strides if {fits} else None"), _ANY if in_order else data.strides
    if kind in PLAIN:
        yield Feature(path, "{0} if type({0}) in plain else None"), _ANY if varies else x
    yield Feature(path, "id({0})", id(None)), _ANY if varies or kind in PLAIN else id(x)


def outside_of(values: Sequence[tuple[Binding, Value, bool]]) -> Seen:
    """The features of what a function reads besides its arguments: what guards say of items of dictionaries."""
    seen: Seen = {}
    for place, value, equal in values:
        if type(place) is CellBinding:
            path: tuple[PathStep, ...] = ("{1}", Thing(place.holder)), ("{0}.cell_contents", "")
        elif type(place) is Binding and type(place.holder) is dict and type(place.key) in (str, int):
            path = ("{1}", Thing(place.holder)), ("{0}.get({1})", place.key)
        else:
            continue
        if equal:
            seen[Feature(path, "{0} if type({0}) in plain else None", _ANY)] = value if type(value) in PLAIN else None
        else:
            seen[Feature(path, "id({0})", _ANY)] = id(value)
    return seen
